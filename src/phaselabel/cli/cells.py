"""An h5ad file with a few labelled cells in, the same file with a label for every cell out."""

import argparse
from pathlib import Path
from typing import Any

from phaselabel.cli.console import Console, refuse_clashes
from phaselabel.cli.method import class_sizes_of, evidence_of

#: How a graph in ``obsp`` is named with ``--use``.
GRAPH = "obsp/"

#: Options of ``phaselabel label`` that mean nothing here.
FOR_TABLES = (
    "labels", "id", "missing_labels", "clean_labels", "features", "drop", "text", "embed", "date", "scale",
    "impute", "model_columns", "graph", "report", "model",
)  # fmt: skip
#: Those that may stand without a value, which is then empty.
MAY_BE_EMPTY = ("embed", "missing_labels")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for cells."""
    group = parser.add_argument_group("cells (.h5ad)")
    group.add_argument(
        "--use", nargs="+", metavar="NAME", default=[],
        help="a representation in obsm (X_pca), or a graph (obsp/connectivities), or both",
    )  # fmt: skip


def is_cells(path: str) -> bool:
    """Whether the name of a file is that of an AnnData object."""
    return path.lower().endswith(".h5ad")


def run(arguments: argparse.Namespace) -> None:
    """Read, label, write."""
    from phaselabel.io.atomic import refuse_existing, replacing

    source = Path(arguments.table)
    out = Path(arguments.out) if arguments.out else source.with_name(f"{source.stem}_labelled.h5ad")
    if out.suffix.lower() not in (".h5ad", ".csv"):
        raise ValueError(f"--out {out} must end in .h5ad (everything) or .csv (the columns of the cells).")
    if arguments.label is None:
        raise ValueError(f"Which column of obs has the labels? Name it with --label (in {source.name}).")
    _refuse_table_options(arguments)
    graphs = [name.removeprefix(GRAPH) for name in arguments.use if name.startswith(GRAPH)]
    rows = [name for name in arguments.use if not name.startswith(GRAPH)]
    if len(graphs) > 1 or len(rows) > 1:
        raise ValueError(f"--use takes one representation and one graph; got {' '.join(arguments.use)}.")
    refuse_clashes({"--out": out}, [source])
    refuse_existing(out, arguments.force)
    console = Console(arguments)
    with console.listening():
        with console.stage("reading"):
            adata = _read(source)
        console.say("cells", f"{source.name}: {adata.n_obs:,} cells, {adata.n_vars:,} genes")
        with console.stage("fitting"):
            done = _annotated(adata, arguments, next(iter(rows), None), next(iter(graphs), None))
        console.say("used", f"{done['use']}; {done['n_labels']:,} labels of {len(done['classes'])} classes")
        with console.stage("writing"), replacing(out, arguments.force) as part:
            if out.suffix.lower() == ".csv":
                adata.obs.to_csv(part)
            else:
                adata.write_h5ad(part, compression="gzip")
        for remark in done["remarks"]:
            console.note(remark)
        found = adata.obs[f"{arguments.label}_predicted"]
        counts = {str(label): int(count) for label, count in found.value_counts().items()}
        without = [f"no label {int(found.isna().sum()):,}"] if found.isna().any() else []
        each = [f"{label} {count:,}" for label, count in counts.items()]
        console.say("result", ", ".join(each + without))
        console.say("wrote", str(out))
        console.finish(out=str(out), cells=adata.n_obs, predicted=counts, **done)


def _refuse_table_options(arguments: argparse.Namespace) -> None:
    given = {name: getattr(arguments, name) for name in FOR_TABLES}
    named = [name for name, value in given.items() if value or (name in MAY_BE_EMPTY and value is not None)]
    if named:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in named)
        instead = "; name a graph of the file with --use obsp/NAME" if "graph" in named else ""
        raise ValueError(f"Options for tables, not for .h5ad files: {options}. Leave them out{instead}.")


def _annotated(
    adata: Any, arguments: argparse.Namespace, rows: str | None, graph: str | None
) -> dict[str, Any]:
    from phaselabel.estimators.annotate import UNLABELED, annotate, labels_of

    unlabeled = [*UNLABELED, *(arguments.unlabeled or ())]
    labels = labels_of(adata, arguments.label, unlabeled, required=True)
    classes = sorted({label for label in labels if label is not None}, key=str)
    annotate(
        adata, arguments.label, use_rep=rows, obsp=graph, abstain_below=arguments.abstain_below,
        unlabeled=unlabeled, n_neighbors=arguments.neighbors or "auto", epsilon=arguments.epsilon,
        fidelity=arguments.fidelity, max_iter=arguments.max_iter, metric=arguments.metric,
        evidence=evidence_of(arguments, classes), class_sizes=class_sizes_of(arguments, classes),
    )  # fmt: skip
    return dict(adata.uns[f"{arguments.label}_phaselabel"])


def _read(path: Path) -> Any:
    try:
        import anndata
    except ImportError:
        raise ImportError(
            "Reading .h5ad needs anndata; install it with: pip install 'phaselabel[cells]'"
        ) from None
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    try:
        return anndata.read_h5ad(path)
    except Exception as error:  # h5py and anndata raise many kinds for damaged files
        raise ValueError(
            f"{path.name} can't be read as an h5ad file ({' '.join(str(error).split())[:150]}). "
            "Is it complete, and written by anndata?"
        ) from None
