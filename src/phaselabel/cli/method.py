"""Options of a method in, the classifier that they describe out; for tables and for cells."""

import argparse
import math
from typing import Any

from phaselabel.cli.console import Console, between, opened, positive
from phaselabel.cli.table_plan import TablePlan


def add_method_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how the rows are labelled."""
    group = parser.add_argument_group("method")
    group.add_argument(
        "--neighbors",
        type=positive,
        metavar="N",
        help="the neighbours of a row in the graph (default: chosen)",
    )
    group.add_argument(
        "--evidence", default="auto", metavar="auto|none|FILE",
        help="what speaks besides the graph: models of the columns (auto), nothing (none), or a file of "
        "probabilities with a column per class (default: auto)",
    )  # fmt: skip
    group.add_argument(
        "--model-columns", nargs="+", metavar="COLUMN", default=[],
        help="the columns that the models see; the graph is made from all that are used (default: all)",
    )  # fmt: skip
    group.add_argument(
        "--epsilon",
        type=between(1e-6, 1e6),
        default=1.0,
        metavar="ε",
        help="the interface width (default: 1)",
    )
    group.add_argument(
        "--fidelity",
        type=between(1e-12, 1e12),
        default=30.0,
        metavar="μ",
        help="the trust in given labels (default: 30)",
    )
    group.add_argument(
        "--max-iter",
        type=positive,
        default=2000,
        metavar="N",
        help="the largest number of sweeps (default: 2000)",
    )
    group.add_argument(
        "--metric", default="euclidean", metavar="NAME",
        help="what near means: euclidean, cosine, manhattan, … (default: euclidean)",
    )  # fmt: skip
    group.add_argument(
        "--class-sizes", metavar="LIST", type=_sizes,
        help="the share of every class among all rows, as in 'a=0.9,b=0.1' (default: estimated)",
    )  # fmt: skip
    group.add_argument(
        "--abstain-below",
        type=between(0, 1),
        metavar="P",
        help="leave rows of lower confidence without a label",
    )
    group.add_argument(
        "--graph", metavar="FILE",
        help="use these edges as the graph: a table of two columns of rows, from 0, and perhaps a weight",
    )  # fmt: skip


def _sizes(text: str) -> dict[str, float]:
    """The type of --class-sizes."""
    try:
        pairs = [pair.rsplit("=", 1) for pair in text.split(",")]
        sizes = {name.strip(): float(size) for name, size in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be like 'a=0.9,b=0.1'; got {text!r}") from None
    if len(sizes) < len(pairs) or not all(0 < size < math.inf for size in sizes.values()):
        raise argparse.ArgumentTypeError(f"must name every class once, with a share above 0; got {text!r}")
    return sizes


def class_sizes_of(arguments: argparse.Namespace, classes: list[Any]) -> Any:
    """What --class-sizes says, with the classes in their own type."""
    if arguments.class_sizes is None:
        return "estimate"
    names = {str(name): name for name in classes}
    return {names.get(name, name): size for name, size in arguments.class_sizes.items()}


def refuse_graph_without_evidence(arguments: argparse.Namespace) -> None:
    """Refuse --graph where the columns of the rows would have no use."""
    if arguments.graph and arguments.evidence == "none":
        raise ValueError("--graph joins the rows, and their columns are evidence; leave out --evidence none.")


def graph_of(arguments: argparse.Namespace, n_rows: int) -> Any:
    """The graph of the edges that --graph names; None without it."""
    if arguments.graph is None:
        return None
    import numpy as np

    from phaselabel.graph import Graph
    from phaselabel.io.tables import numbers_of

    table = opened(arguments.graph, arguments)
    if not 2 <= len(table.names) <= 3:
        raise ValueError(
            f"{arguments.graph} must have two columns of rows and perhaps one of weights; it has "
            f"{len(table.names)}."
        )
    columns = [numbers_of(table, name) for name in table.names]
    for name, column in zip(table.names, columns):
        if column is None or not np.isfinite(column).all():
            raise ValueError(f"{arguments.graph} must hold numbers; column {name!r} does not.")
    ends = np.stack(columns[:2])  # type: ignore[arg-type]
    if ends.size and (ends.min() < 0 or ends.max() >= n_rows or (ends != np.floor(ends)).any()):
        raise ValueError(f"{arguments.graph} must join rows 0 to {n_rows - 1} of the table.")
    weights = columns[2] if len(columns) == 3 else None
    return Graph.from_edges(ends.astype(np.int64), weights, n_rows)


def fitted(console: Console, plan: TablePlan, arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Read the features and fit; the model and the features."""
    with console.stage("reading", plan.n_rows) as bar:
        X = plan.recipe.fit_transform(plan.table, bar)
    with console.stage("starting"):
        model = unfitted(arguments, plan)
        model.verbose = console.lively
    with console.stage("fitting"), console.sweeps(arguments.max_iter) as model.callbacks:
        model.fit(X, plan.labels.entries, graph=graph_of(arguments, plan.n_rows))
    for remark in model.remarks_:
        console.note(remark)
    return model, X


def unfitted(arguments: argparse.Namespace, plan: TablePlan) -> Any:
    """The classifier that the arguments describe."""
    from phaselabel.estimators.classifier import GinzburgLandauClassifier

    classes = sorted(plan.labels.counts)
    return GinzburgLandauClassifier(
        arguments.neighbors or "auto", epsilon=arguments.epsilon, fidelity=arguments.fidelity,
        evidence=evidence_of(arguments, classes), max_iter=arguments.max_iter, unlabeled=None,
        metric=arguments.metric, class_sizes=class_sizes_of(arguments, classes),
        abstain_below=arguments.abstain_below,
        model_columns=plan.recipe.places(arguments.model_columns) or None,
    )  # fmt: skip


def evidence_of(arguments: argparse.Namespace, classes: list[Any]) -> Any:
    """What --evidence names: "auto", None, or the probabilities in a file, a column per class."""
    if arguments.evidence in ("auto", "none"):
        return "auto" if arguments.evidence == "auto" else None
    import numpy as np

    from phaselabel.io.tables import listed, numbers_of

    table, names = opened(arguments.evidence, arguments), [str(name) for name in classes]
    if sorted(table.names) != sorted(names):
        raise ValueError(
            f"{arguments.evidence} must have a column for every class, {listed(map(repr, names))}; it has "
            f"{listed(map(repr, table.names))}."
        )
    columns = [numbers_of(table, name) for name in names]
    wrong = [name for name, column in zip(names, columns) if column is None]
    if wrong:
        raise ValueError(f"{arguments.evidence} must hold numbers; column {wrong[0]!r} does not.")
    return np.column_stack(columns)  # type: ignore[arg-type]
