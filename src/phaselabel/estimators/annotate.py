"""An AnnData object with a few labels in, a label and a confidence for every cell in it out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.estimators.classifier import GinzburgLandauClassifier

#: Representations that are used if none is named, the first that exists.
REPRESENTATIONS = ("X_pca_harmony", "X_scVI", "X_pca")
#: Words in a column of labels that mean "no label", besides missing values.
UNLABELED = ("", "?", "NA", "nan", "unknown", "Unknown", "unassigned", "Unassigned", "unlabeled", "Unlabeled")


def annotate(
    adata: Any,
    key: str,
    *,
    use_rep: str | None = None,
    obsp: str | None = None,
    reference: Any = None,
    unlabeled: Sequence[str] = UNLABELED,
    abstain_below: float | None = None,
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Label every cell from a few labelled cells, or from a labelled reference.

    Parameters
    ----------
    adata : AnnData
        The cells.
    key : str
        The column of ``obs`` with the labels: of ``adata`` where a few cells have one, or of ``reference``.
    use_rep : str, optional
        The representation of the cells, a name in ``obsm``, or "X". By default the first of X_pca_harmony,
        X_scVI and X_pca that exists; with ``obsp`` none is needed.
    obsp : str, optional
        A graph of your own, a name in ``obsp`` such as "connectivities". It takes the place of a graph of
        nearest neighbours.
    reference : AnnData, optional
        Labelled cells in the same representation. Their labels count beside those of ``adata``.
    unlabeled : sequence of str
        Words that mean "no label"; missing values always do.
    abstain_below : float, optional
        Cells of lower confidence get no label.
    key_added : str, optional
        How the new columns begin; ``key`` by default.
    copy : bool, default=False
        Whether to return a copy with the columns, instead of writing into ``adata``.
    **options
        Further parameters of :class:`GinzburgLandauClassifier`.

    Returns
    -------
    AnnData or None
        With ``copy=True`` the copy. New columns of ``obs``: ``<key>_predicted`` (a category, missing where
        no label is given), ``<key>_confidence``, and ``<key>_novel`` (true where a cell looks like none of
        the labelled ones: a kind may have no label). What was done is in ``uns["<key>_phaselabel"]``.

    Examples
    --------
    Any object with the parts of an AnnData object will do:

    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (50, 5)), rng.normal(6, 1, (50, 5))])
    >>> labels = ["T", *[None] * 98, "B"]
    >>> cells = SimpleNamespace(obs=pd.DataFrame({"type": labels}), obsm={"X_pca": X}, uns={}, n_obs=100)
    >>> annotate(cells, "type")
    >>> sorted((str(name), n) for name, n in cells.obs["type_predicted"].value_counts().items())
    [('B', 50), ('T', 50)]
    """
    _require_cells(adata, "adata")
    if reference is not None:
        _require_cells(reference, "reference")
    if copy:
        adata = adata.copy()
    name = key_added or key
    X, graph, used = _inputs(adata, use_rep, obsp, reference)
    labels = labels_of(adata, key, unlabeled, required=reference is None)
    if reference is not None:
        given = labels_of(reference, key, unlabeled, required=True)
        labels = np.concatenate([given, labels])
    _check(labels, key)
    model = _fitted(X, graph, labels, abstain_below, options)
    start = len(labels) - adata.n_obs
    _write(adata, name, model, start)
    adata.uns[f"{name}_phaselabel"] = {
        "use": used, "n_labels": int((labels != None).sum()),  # noqa: E711  # elementwise
        "n_reference": start, "classes": [str(c) for c in model.classes_],
        "converged": bool(model.converged_), "status": str(model.solution_.status),
        "abstain_below": float(abstain_below or 0), "n_novel": int(adata.obs[f"{name}_novel"].sum()),
        "remarks": [str(r) for r in model.remarks_],
    }  # fmt: skip
    return adata if copy else None


def _require_cells(adata: Any, which: str) -> None:
    absent = [part for part in ("obs", "obsm", "n_obs") if not hasattr(adata, part)]
    if absent:
        raise ValueError(
            f"{which} must be an AnnData object, and a {type(adata).__name__} has no {absent[0]}; open a "
            "file with anndata.read_h5ad first."
        )


def _fitted(
    X: Any, graph: Any, labels: NDArray[np.object_], abstain_below: float | None, options: dict[str, Any]
) -> GinzburgLandauClassifier:
    fixed: dict[str, Any] = {"unlabeled": None, "abstain_below": abstain_below}
    if X is None:
        return GinzburgLandauClassifier(affinity="precomputed", **fixed, **options).fit(graph, labels)
    if graph is None:
        return GinzburgLandauClassifier(**fixed, **options).fit(X, labels)
    return GinzburgLandauClassifier(**fixed, **options).fit(X, labels, graph=graph)


def _inputs(adata: Any, use_rep: str | None, obsp: str | None, reference: Any) -> tuple[Any, Any, str]:
    """Rows, graph and a word for both; the rows of the reference come first."""
    graph = None
    if obsp is not None:
        if reference is not None:
            raise ValueError(
                "obsp is a graph of adata alone; with a reference leave it out, or join the two first."
            )
        if obsp not in adata.obsp:
            raise ValueError(
                f"adata.obsp has no {obsp!r}; it has {_named(adata.obsp)}. Run scanpy.pp.neighbors first."
            )
        graph = adata.obsp[obsp].tocsr()
        # Connectivities of scanpy are symmetric up to rounding; the flow needs them exactly so.
        graph = graph.maximum(graph.T)
    if use_rep is None:
        use_rep = next((name for name in REPRESENTATIONS if name in adata.obsm), None)
        if use_rep is None and graph is None:
            raise ValueError(
                f"adata.obsm has none of {', '.join(REPRESENTATIONS)}; it has {_named(adata.obsm)}. Run "
                "scanpy.pp.pca first, or name a representation with use_rep ('X' for the matrix itself)."
            )
    if use_rep is None:
        return None, graph, f"obsp/{obsp}"
    rows = _representation(adata, use_rep, "adata")
    if reference is not None:
        other = _representation(reference, use_rep, "reference")
        if other.shape[1] != rows.shape[1]:
            raise ValueError(
                f"{use_rep!r} has {other.shape[1]:,} columns in the reference and {rows.shape[1]:,} in "
                "adata; both must be in the same representation (scanpy.tl.ingest or Harmony makes one)."
            )
        rows = np.concatenate([other, rows])
    return rows, graph, use_rep if obsp is None else f"{use_rep} and obsp/{obsp}"


def _representation(adata: Any, name: str, which: str) -> NDArray[Any]:
    if name == "X":
        return np.asarray(adata.X.toarray() if hasattr(adata.X, "toarray") else adata.X)
    if name not in adata.obsm:
        raise ValueError(f"{which}.obsm has no {name!r}; it has {_named(adata.obsm)}.")
    return np.asarray(adata.obsm[name])


def labels_of(adata: Any, key: str, unlabeled: Sequence[str], required: bool) -> NDArray[np.object_]:
    """One entry per cell, None where there is no label."""
    labels = np.full(adata.n_obs, None, object)
    if key not in adata.obs:
        if required:
            raise ValueError(f"obs has no column {key!r}; it has {_named(adata.obs.columns)}.")
        return labels
    column = adata.obs[key]
    for row in np.flatnonzero(
        column.notna().to_numpy() & ~column.astype(str).isin(list(unlabeled)).to_numpy()
    ):
        labels[row] = column.iloc[row]
    return labels


def _check(labels: NDArray[np.object_], key: str) -> None:
    classes = {label for label in labels if label is not None}
    if len(classes) < 2:
        raise ValueError(f"Column {key!r} has labels of {len(classes)} classes; at least two are needed.")
    if all(label is not None for label in labels):
        raise ValueError(
            f"Every cell has a label in {key!r} already; set those that are not known to missing."
        )


def _write(adata: Any, name: str, model: GinzburgLandauClassifier, start: int) -> None:
    """Write the columns of the cells, whose rows follow those of a reference."""
    import pandas as pd

    predicted, novel = list(model.transduction_[start:]), model.novel_
    adata.obs[f"{name}_predicted"] = pd.Categorical(predicted, categories=list(model.classes_))
    adata.obs[f"{name}_confidence"] = np.asarray(model.confidence_[start:], np.float32)
    adata.obs[f"{name}_novel"] = np.zeros(adata.n_obs, bool) if novel is None else novel[start:]


def _named(names: Any) -> str:
    words = [repr(str(name)) for name in names]
    more = [f"{len(words) - 12} more"] if len(words) > 12 else []
    return ", ".join(words[:12] + more) or "none"
