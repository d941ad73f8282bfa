import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import phaselabel.estimators.annotate
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


def test_evidence_metric_and_sizes_are_those_of_the_options(path, tmp_path, monkeypatch):
    asked = {}

    def annotate(adata, key, **options):
        asked.update(options)
        return real(adata, key, **options)

    real = phaselabel.estimators.annotate.annotate
    monkeypatch.setattr(phaselabel.estimators.annotate, "annotate", annotate)
    opinion = np.tile([0.25, 0.75], (60, 1))
    pd.DataFrame(opinion, columns=["T", "B"]).to_csv(tmp_path / "q.csv", index=False)
    words = ["--metric", "cosine", "--class-sizes", "T=0.4,B=0.6", "--evidence", str(tmp_path / "q.csv")]
    assert main(["label", str(path), "--label", "cell_type", *words]) == 0
    assert (asked["metric"], asked["class_sizes"]) == ("cosine", {"T": 0.4, "B": 0.6})
    np.testing.assert_array_equal(asked["evidence"], opinion[:, ::-1])  # in the order of the classes: B, T
    assert main(["label", str(path), "--label", "cell_type", "--force", "--evidence", "none"]) == 0
    assert asked["evidence"] is None


def test_use_is_for_cells(customers, capsys):
    assert main(["label", str(customers[0]), "--label", "segment", "--use", "X_pca"]) == 1
    assert "--use names parts of an .h5ad file" in capsys.readouterr().err


def test_what_is_wrong_is_said(path, capsys):
    for words, sentence in (
        ([], "Name it with --label"),
        (["--label", "cell_type", "--use", "X_umap"], "no 'X_umap'"),
        (["--label", "cell_type", "--use", "obsp/connectivities"], "has no 'connectivities'"),
        (["--label", "cell_type", "--out", "o.parquet"], "must end in .h5ad"),
        (["--label", "cell_type", "--report", "r.html", "--missing-labels"], ": --missing-labels, --report."),
        (["--label", "cell_type", "--embed"], "not for .h5ad files: --embed."),
        (["--label", "cell_type", "--graph", "edges.csv"], "with --use obsp/NAME"),
        (["--label", "cell_type", "--class-sizes", "B=1"], "['T'] is missing"),
        (["--label", "cell_type", "--metric", "nearby"], "metric must be one of"),
    ):
        assert main(["label", str(path), *words]) == 1
        assert sentence in capsys.readouterr().err
    broken = path.with_name("broken.h5ad")
    broken.write_bytes(path.read_bytes()[:3000])
    assert main(["label", str(broken), "--label", "cell_type"]) == 1
    said = capsys.readouterr().err
    assert "can't be read as an h5ad file" in said
    assert "Is it complete" in said
    assert not broken.with_name("broken_labelled.h5ad").exists()
