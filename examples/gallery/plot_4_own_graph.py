"""
Your own graph
==============

If you have a network already, there is nothing to search: its weights are the graph. Here 200 people in four
groups, an edge where two of them talk to each other, and one known member of each group.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import phaselabel as pl

rng = np.random.default_rng(1)
group = np.repeat(np.arange(4), 50)
likely = np.where(group[:, None] == group, 0.15, 0.008)
upper = np.triu(rng.random((200, 200)) < likely, 1)
W = sparse.csr_array((upper + upper.T).astype(float))

graph = pl.Graph.from_weights(W)
print(graph)

labels = np.full(200, -1)
labels[[0, 50, 100, 150]] = 0, 1, 2, 3
solution = pl.minimize(graph, labels)
print(solution.status)
print(f"{np.mean(solution.arm == group):.1%} of the members found")

# %%
# The same through the estimator: ``GinzburgLandauClassifier(affinity="precomputed").fit(W, labels)``. For
# distances instead of similarities there is ``affinity="precomputed_nearest_neighbors"``, and for the
# ``(indices, distances)`` of a neighbour search ``similarity_graph``.

order = np.argsort(solution.arm, kind="stable")
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
shuffled = rng.permutation(200)
axes[0].spy(W[shuffled][:, shuffled], markersize=1)
axes[0].set_title("in random order")
axes[1].spy(W[order][:, order], markersize=1)
axes[1].set_title("ordered by the classes found")
for axis in axes:
    axis.set(xticks=[], yticks=[])
