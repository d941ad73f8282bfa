import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from phaselabel.cli import main

anndata = pytest.importorskip("anndata")


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 2
    column = pd.Categorical([["B", "T"][k] if i < 6 else None for i, k in enumerate(kind)])
    obs = pd.DataFrame({"cell_type": column}, index=[f"c{i}" for i in range(60)])
    adata = anndata.AnnData(np.ones((60, 3), np.float32), obs=obs)
    adata.obsm["X_pca"] = rng.normal(size=(60, 4)) + 6 * kind[:, None]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_a_file_of_cells_is_labelled(path, capsys):
    assert main(["label", str(path), "--label", "cell_type", "--use", "X_pca"]) == 0
    assert "used         X_pca; 6 labels of 2 classes" in capsys.readouterr().err
    done = anndata.read_h5ad(path.with_name("cells_labelled.h5ad"))
    assert done.obs["cell_type_predicted"].tolist() == ["B", "T"] * 30
    assert done.uns["cell_type_phaselabel"]["use"] == "X_pca"
    assert not done.obs["cell_type_novel"].any()
    out = path.with_name("cells.csv")
    assert main(["label", str(path), "--label", "cell_type", "--out", str(out)]) == 0
    assert pd.read_csv(out)["cell_type_predicted"].tolist() == ["B", "T"] * 30


def test_a_graph_of_the_file_is_used(path, capsys):
    """The graph joins cells of one kind only; the rows alone would tell nothing."""
    adata = anndata.read_h5ad(path)
    kind = np.arange(60) % 2
    adata.obsm["X_pca"][:] = np.random.default_rng(1).normal(size=(60, 4))
    adata.obsp["connectivities"] = csr_matrix((kind[:, None] == kind) & ~np.eye(60, dtype=bool), dtype=float)
    adata.write_h5ad(path)
    for use in (["obsp/connectivities"], ["X_pca", "obsp/connectivities"]):
        assert main(["label", str(path), "--label", "cell_type", "--force", "--use", *use]) == 0
        assert "obsp/connectivities" in capsys.readouterr().err
        done = anndata.read_h5ad(path.with_name("cells_labelled.h5ad"))
        assert done.obs["cell_type_predicted"].tolist() == ["B", "T"] * 30
        assert "connectivities" in done.uns["cell_type_phaselabel"]["use"]


def test_cells_without_a_label_are_counted(path, capsys):
    assert main(["label", str(path), "--label", "cell_type", "--abstain-below", "1"]) == 0
    said = capsys.readouterr().err
    assert "no label" in said
    assert "nan" not in said


def test_what_is_wrong_is_said(path, capsys):
    for words, sentence in (
        ([], "Name it with --label"),
        (["--label", "cell_type", "--use", "X_umap"], "no 'X_umap'"),
        (["--label", "cell_type", "--use", "obsp/connectivities"], "has no 'connectivities'"),
        (["--label", "cell_type", "--out", "o.parquet"], "must end in .h5ad"),
        (["--label", "cell_type", "--report", "r.html"], "are for tables"),
    ):
        assert main(["label", str(path), *words]) == 1
        assert sentence in capsys.readouterr().err
    broken = path.with_name("broken.h5ad")
    broken.write_bytes(path.read_bytes()[:3000])
    assert main(["label", str(broken), "--label", "cell_type"]) == 1
    assert "can't be read as an h5ad file" in capsys.readouterr().err
    assert not broken.with_name("broken_labelled.h5ad").exists()
