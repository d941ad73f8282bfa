"""
Your own graph
==============

If you have a network already, there is nothing to search: its weights are the graph. Here 34 members of a
karate club, the times that two of them met outside of it (Zachary 1977), and one known member of each of the
two clubs into which it broke: the instructor and the president.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import phaselabel as pl

club = nx.karate_club_graph()
truth = np.array([club.nodes[member]["club"] == "Officer" for member in club]).astype(int)
graph = pl.Graph.from_weights(nx.to_scipy_sparse_array(club, weight="weight", dtype=float))
print(graph)

labels = np.full(34, -1)
labels[[0, 33]] = 0, 1
solution = pl.minimize(graph, labels)
print(solution.status)
print(f"{np.sum(solution.arm == truth)} of {len(truth)} members found")

# %%
# The same through the estimator, which also gives a confidence:
# ``GinzburgLandauClassifier(affinity="precomputed").fit(W, labels)``. For distances instead of similarities
# there is ``affinity="precomputed_nearest_neighbors"``, and for the ``(indices, distances)`` of a neighbour
# search ``similarity_graph``.

place = nx.spring_layout(club, seed=3)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axis, shown, title in zip(axes, (labels, solution.arm), ("known", "found")):
    colors = np.array(["#0072B2", "#E69F00", "lightgrey"])[shown]
    edges = np.where(shown == truth, "white", "black") if title == "found" else "white"
    nx.draw_networkx_edges(club, place, ax=axis, edge_color="lightgrey")
    nx.draw_networkx_nodes(club, place, ax=axis, node_size=160, node_color=colors, edgecolors=edges)
    axis.set_title(title)
    axis.set_axis_off()
