"""A folder in, the files out that the commands of README and handbook speak of."""

import sys
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from tablefiles import write_customers

#: The kinds of the cells, the most frequent first.
KINDS = ["Dendritic", "CD14+ Monocyte", "CD19+ B", "CD34+"]


def write_files(folder):
    """Write all of them; every file has a few labels."""
    write_customers(folder / "customers.csv")
    write_customers(folder / "new.csv", 40, seed=1)
    rng = np.random.default_rng(0)
    k = np.arange(200) % 2
    np.save(folder / "embeddings.npy", rng.normal(size=(200, 8)) + 4 * k[:, None])
    labels = [str(c) if i < 20 else "" for i, c in enumerate(k)]
    (folder / "labels.csv").write_text("label\n" + "\n".join(labels) + "\n")
    write_texts(folder, rng)
    write_photos(folder, rng)
    write_cells(folder / "cells.h5ad", rng)


def write_texts(folder, rng):
    """The same texts as a Parquet and as a CSV file."""
    words = ["red apple pear plum", "bolt nut screw gear"]
    k = np.arange(200) % 2
    bodies = [" ".join(rng.choice(words[c].split(), 6)) + f" {i}" for i, c in enumerate(k)]
    topics = [["fruit", "tools"][c] if i < 20 else None for i, c in enumerate(k)]
    pq.write_table(pa.table({"body": bodies, "topic": topics}), folder / "posts.parquet")
    pd.DataFrame({"body": bodies, "topic": topics}).to_csv(folder / "tickets.csv", index=False)


def write_photos(folder, rng):
    """A folder of noisy pictures of two colours, and a table that names the classes of some."""
    (folder / "photos").mkdir()
    lines = ["file,label"]
    for i in range(40):
        colour = np.array([(40, 120, 50), (220, 120, 60)][i % 2])
        pixels = np.clip(colour + rng.normal(0, 40, (48, 64, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "photos" / f"{i:03}.jpg")
        if i < 16:
            lines.append(f"{i:03}.jpg,{['forest', 'sunset'][i % 2]}")
    (folder / "photos.csv").write_text("\n".join(lines) + "\n")


def write_cells(path, rng):
    """Cells of four kinds around a centre each, with a graph of their own."""
    kind = np.repeat(np.arange(4), [50, 40, 30, 20])
    rank = np.arange(len(kind)) - np.searchsorted(kind, kind)
    column = pd.Categorical([KINDS[k] if r < 5 else None for k, r in zip(kind, rank)])
    obs = pd.DataFrame({"cell_type": column}, index=[f"c{i}" for i in range(len(kind))])
    adata = anndata.AnnData(rng.normal(size=(len(kind), 12)).astype(np.float32), obs=obs)
    adata.obsm["X_pca"] = rng.normal(size=(len(kind), 6)) + 6 * np.eye(4, 6)[kind]
    adata.obsp["connectivities"] = sparse.csr_matrix(kneighbors_graph(adata.obsm["X_pca"], 8))
    adata.write_h5ad(path)


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
