from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import phaselabel as pl

anndata = pytest.importorskip("anndata")


def cells(n=90, seed=0, labelled=9):
    """Three kinds of cells in five dimensions; the first ones have a label."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    X = rng.normal(size=(n, 5)) + 5 * np.eye(5)[kind]
    names = np.array(["B", "NK", "T"])[kind]
    column = [name if i < labelled else None for i, name in enumerate(names)]
    obs = pd.DataFrame({"type": pd.Categorical(column), "truth": names}, index=[f"c{i}" for i in range(n)])
    adata = anndata.AnnData(sparse.csr_matrix(np.maximum(X, 0)), obs=obs)
    adata.obsm["X_pca"] = X
    return adata


def test_seeds_are_spread_in_the_manner_of_scanpy():
    adata = cells()
    assert pl.annotate(adata, "type") is None
    assert (adata.obs["type_predicted"].astype(str) == adata.obs["truth"]).mean() > 0.95
    assert adata.obs["type_predicted"].dtype == "category"
    assert adata.obs["type_confidence"].between(0, 1).all()
    assert adata.uns["type_phaselabel"]["use"] == "X_pca"
    other = cells()
    copied = pl.annotate(other, "type", copy=True, key_added="new")
    assert "new_predicted" in copied.obs
    assert "new_predicted" not in other.obs


@pytest.mark.parametrize("other", ["cells.h5ad", None, np.zeros((3, 2)), pd.DataFrame({"type": ["T"]})])
def test_what_is_no_anndata_object_is_refused(other):
    with pytest.raises(ValueError, match=r"adata must be an AnnData object.*anndata\.read_h5ad"):
        pl.annotate(other, "type")
    if other is not None:
        with pytest.raises(ValueError, match="reference must be an AnnData object"):
            pl.annotate(cells(), "type", reference=other)


def test_a_reference_transfers_its_labels():
    reference, query = cells(labelled=90), cells(seed=1, labelled=0)
    del query.obs["type"]
    pl.annotate(query, "type", reference=reference)
    assert (query.obs["type_predicted"].astype(str) == query.obs["truth"]).mean() > 0.95
    assert query.uns["type_phaselabel"]["n_reference"] == 90


def test_a_graph_of_ones_own_counts_alone_and_beside_rows():
    adata = cells()
    same = (adata.obs["truth"].to_numpy()[:, None] == adata.obs["truth"].to_numpy()).astype(float)
    np.fill_diagonal(same, 0)
    adata.obsp["connectivities"] = sparse.csr_matrix(same)
    pl.annotate(adata, "type", obsp="connectivities", key_added="both")
    assert adata.uns["both_phaselabel"]["use"] == "X_pca and obsp/connectivities"
    del adata.obsm["X_pca"]
    pl.annotate(adata, "type", obsp="connectivities")
    assert (adata.obs["type_predicted"].astype(str) == adata.obs["truth"]).all()


def test_unsure_cells_get_no_label_if_wished():
    adata = cells()
    adata.obsm["X_pca"] = np.random.default_rng(0).normal(size=(90, 5))
    pl.annotate(adata, "type", abstain_below=0.9)
    unsure = adata.obs["type_confidence"] < 0.9
    assert unsure.any()
    assert adata.obs["type_predicted"].isna().equals(unsure)


def test_a_kind_that_nobody_labelled_is_noticed():
    adata = cells(n=300, labelled=60)
    adata.obs["type"] = adata.obs["type"].cat.remove_categories("T")
    pl.annotate(adata, "type")
    novel, truth = adata.obs["type_novel"], adata.obs["truth"]
    assert novel[truth == "T"].mean() > 0.9
    assert novel[truth != "T"].mean() < 0.05
    assert adata.obs["type_confidence"][novel].max() <= 0.5
    assert adata.uns["type_phaselabel"]["n_novel"] == novel.sum()
    assert any("look like none" in remark for remark in adata.uns["type_phaselabel"]["remarks"])
    reference, query = cells(n=300, labelled=300), cells(seed=1, labelled=0)
    reference = reference[reference.obs["truth"] != "T"].copy()
    pl.annotate(query, "type", reference=reference)
    assert query.obs["type_novel"][query.obs["truth"] == "T"].mean() > 0.9
    pl.annotate(adata, "type", abstain_below=0.6)
    assert adata.obs["type_predicted"][novel].isna().all()


def test_words_for_no_label_and_what_is_refused():
    adata = cells()
    adata.obs["type"] = adata.obs["type"].cat.add_categories("Unknown").fillna("Unknown")
    pl.annotate(adata, "type")
    assert "Unknown" not in adata.obs["type_predicted"].cat.categories
    for options, words in (
        ({"key": "kind"}, "obs has no column 'kind'"),
        ({"key": "truth"}, "Every cell has a label"),
        ({"key": "type", "use_rep": "X_umap"}, r"obsm has no 'X_umap'; it has 'X_pca'"),
        ({"key": "type", "obsp": "distances"}, r"scanpy\.pp\.neighbors"),
        ({"key": "type", "obsp": "d", "reference": adata}, "graph of adata alone"),
    ):
        with pytest.raises(ValueError, match=words):
            pl.annotate(adata, **options)
    wide = pd.DataFrame({f"c{i}": ["B"] for i in range(14)})
    with pytest.raises(ValueError, match=r"'c11', 2 more\.$"):
        pl.annotate(SimpleNamespace(obs=wide, obsm={"X_pca": np.ones((1, 2))}, n_obs=1), "type")
    bare = SimpleNamespace(obs=adata.obs, obsm={}, obsp={}, uns={}, n_obs=90)
    with pytest.raises(ValueError, match=r"scanpy\.pp\.pca"):
        pl.annotate(bare, "type")


def test_scanpys_own_cells():
    """Blood cells that scanpy carries: five labels per kind are spread better than by neighbours."""
    scanpy = pytest.importorskip("scanpy")
    from sklearn.neighbors import KNeighborsClassifier

    adata = scanpy.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"].to_numpy().astype(object)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(truth == kind))[:5] for kind in np.unique(truth)])
    seeds = np.full(len(truth), None, object)
    seeds[rows] = truth[rows]
    adata.obs["seed"] = pd.Categorical(seeds)
    pl.annotate(adata, "seed")
    rest = np.setdiff1d(np.arange(len(truth)), rows)
    ours = np.mean(adata.obs["seed_predicted"].to_numpy().astype(object)[rest] == truth[rest])
    X = adata.obsm["X_pca"]
    theirs = (
        KNeighborsClassifier(5).fit(X[rows], truth[rows].astype(str)).score(X[rest], truth[rest].astype(str))
    )
    assert ours > theirs
