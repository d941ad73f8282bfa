"""
Cells
=====

700 blood cells that scanpy carries, five of each kind labelled. ``phaselabel.annotate`` writes a label and a
confidence for every cell into the object, in scanpy's manner.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc

import phaselabel as pl
from phaselabel.datasets import sample_labels

adata = sc.datasets.pbmc68k_reduced()
truth = adata.obs["bulk_labels"].astype(str)
kinds, numbers = np.unique(truth, return_inverse=True)
known = sample_labels(numbers, 5, random_state=0) >= 0
adata.obs["cell_type"] = pd.Categorical(truth.where(known))

warnings.simplefilter("ignore", UserWarning)  # what it remarks is kept in the object
pl.annotate(adata, "cell_type")
print(*adata.uns["cell_type_phaselabel"]["remarks"], sep="\n")
found = adata.obs["cell_type_predicted"].astype(str)
print(f"{np.mean(found[~known] == truth[~known]):.1%} of the other {np.sum(~known)} cells are right")

# %%
# Cells that are unsure can be left without a label. What remains is right more often.

for threshold in (0.6, 0.8, 0.9):
    sure = ~known & (adata.obs["cell_type_confidence"] >= threshold)
    right = np.mean(found[sure] == truth[sure])
    print(f"abstain_below={threshold}: {sure.sum()} cells keep their label, {right:.1%} of them right")

# %%
# ``pl.annotate(query, "cell_type", reference=adata)`` transfers labels to other cells, and
# ``obsp="connectivities"`` takes scanpy's own graph.

X = adata.obsm["X_umap"]
colors = plt.get_cmap("tab10")(np.arange(10))
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
axes[0].scatter(*X[~known].T, s=3, color="lightgrey")
for kind, color in zip(kinds, colors):
    axes[0].scatter(*X[known & (truth == kind)].T, s=22, color=color)
    axes[1].scatter(*X[found == kind].T, s=5, color=color, label=kind)
shown = axes[2].scatter(*X.T, s=5, c=adata.obs["cell_type_confidence"], cmap="viridis", vmin=0, vmax=1)
figure.colorbar(shown, ax=axes[2])
figure.legend(
    *axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, markerscale=3
)
for axis, title in zip(axes, ("five labels per kind", "found", "confidence")):
    axis.set_title(title)
    axis.set_axis_off()
