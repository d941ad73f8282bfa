"""Label every row of a table from a few labels.

Reads CSV, TSV, Parquet, JSON lines, Arrow, NPY and NPZ, by the extension. The output has every row and column
of the input, in order, and three more columns: NAME_predicted (the class, also for rows with a given label),
NAME_confidence (from 0 to 1; 0 where no label reaches) and NAME_reached (whether there is a class). Rows that
look like none of the labelled ones are true in a fourth, NAME_novel. Given labels are not changed.
"""

import argparse
import math
from pathlib import Path
from typing import Any

from phaselabel.cli import cells, embedding, on_dask, photos
from phaselabel.cli.console import (
    Console,
    add_output_arguments,
    add_reading_arguments,
    between,
    given_files,
    opened,
    output_of,
    positive,
    refuse_clashes,
    say_abstained,
)
from phaselabel.cli.table_plan import TablePlan, announce, make_plan

EPILOG = """\
examples:
  phaselabel label customers.csv --label segment --out labelled.csv
  phaselabel label customers.csv --label segment --impute median --drop postcode --model model/
  phaselabel label embeddings.npy --labels labels.csv --out labels_out.parquet
  phaselabel label posts.parquet --text body --label topic
  phaselabel label posts.parquet --text body --label topic --embed
  phaselabel label photos/ --labels photos.csv --out labelled.csv
  phaselabel label cells.h5ad --label cell_type --use X_pca
  phaselabel label embeddings.parquet/ --labels labels.csv --out labelled.parquet/ --dask tcp://scheduler:8786

Columns that are used: numbers, words with at most 30 different values (one-hot), and vectors. Dates, free
text and columns that number the rows are left out unless an option names them. What is used, and how, is
printed before the work starts.

A file for --labels has one entry per row of the table (in a column of any name, or in the one that --label
names), or a column "row" (counted from 0) beside the labels.
"""


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is said of the table: its labels and its columns."""
    parser.add_argument("--label", metavar="COLUMN", help="the column with the labels")
    parser.add_argument(
        "--labels", metavar="FILE", help="a file with the labels, if they are not in the table"
    )
    parser.add_argument("--id", metavar="COLUMN", help="join --labels by this column, which both files have")
    parser.add_argument(
        "--unlabeled", metavar="VALUE", action="append",
        help="an entry that means 'no label'; may be repeated (default: empty, ? and NA; -1 in NPY and NPZ)",
    )  # fmt: skip
    parser.add_argument(
        "--missing-labels", metavar="LIST", nargs="?", const=[], type=_words,
        help="further entries that mean 'no label', separated by commas, in any case; without a list N/A, "
        "null, none, -, unknown and the like",
    )  # fmt: skip
    parser.add_argument(
        "--clean-labels", action="store_true", help="join labels that differ by case or spaces only"
    )
    group = parser.add_argument_group("features")
    group.add_argument("--features", nargs="+", metavar="COLUMN", default=[], help="use only these columns")
    group.add_argument("--drop", nargs="+", metavar="COLUMN", default=[], help="leave these columns out")
    group.add_argument(
        "--text",
        nargs="+",
        metavar="COLUMN",
        default=[],
        help="use these columns as free text (TF-IDF, cosine)",
    )
    embedding.add_arguments(group)
    group.add_argument(
        "--date", nargs="+", metavar="COLUMN", default=[], help="use these columns as dates (in days)"
    )
    group.add_argument(
        "--scale", choices=("robust", "standard", "none"),
        help="by median and quartiles, or by mean and deviation (default: standard; none for vectors)",
    )  # fmt: skip
    group.add_argument(
        "--impute", choices=("median", "mean"), help="fill missing numbers (default: refuse them)"
    )


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("table", help="the file with the table")
    add_table_arguments(parser)
    add_method_arguments(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out", metavar="FILE", help="the labelled table (default: TABLE_labelled.EXT beside it)"
    )
    group.add_argument("--report", metavar="FILE", help="write an HTML report")
    group.add_argument("--model", metavar="FOLDER", help="save the fitted model, for phaselabel predict")
    group.add_argument("--force", action="store_true", help="replace existing files")
    cells.add_arguments(parser)
    on_dask.add_arguments(parser)
    add_reading_arguments(parser)
    add_output_arguments(parser)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


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


def run(arguments: argparse.Namespace) -> None:
    """Read, print the plan, label, write."""
    from phaselabel.io import tables
    from phaselabel.io.archive import refuse_existing_archive
    from phaselabel.io.atomic import refuse_existing

    if arguments.dask:
        on_dask.run(arguments, unfitted, keep)
        return
    if cells.is_cells(arguments.table):
        cells.run(arguments)
        return
    if arguments.resume or arguments.checkpoint:
        raise ValueError("--checkpoint and --resume belong to --dask; name the cluster, or 'local'.")
    pictures = photos.is_folder_of_pictures(arguments.table)
    out = photos.output_of_folder(arguments) if pictures else output_of(arguments, "labelled")
    written = {"--out": out, "--report": arguments.report, "--model": arguments.model}
    refuse_clashes(written, given_files(arguments))
    if arguments.graph and arguments.evidence == "none":
        raise ValueError("--graph joins the rows, and their columns are evidence; leave out --evidence none.")
    if arguments.report:
        refuse_existing(arguments.report, arguments.force)
    if arguments.model:
        refuse_existing_archive(arguments.model, arguments.force)
    console = Console(arguments)
    with console.listening():
        folder = photos.open_folder(console, arguments) if pictures else None
        with console.stage("looking"):
            table = folder or opened(arguments.table, arguments)
            plan = make_plan(table, arguments, tables.survey, tables.Labels.of)
            if not pictures:
                embedding.choose(plan.recipe, arguments)
        announce(console, plan)
        embedding.prepare(console, plan.table, plan.recipe)
        _label(console, plan, out, arguments)


def _label(console: Console, plan: TablePlan, out: Path, arguments: argparse.Namespace) -> None:
    """Read the features, fit, write."""
    from phaselabel.io import tables

    model, X = fitted(console, plan, arguments)
    with console.stage("confidence"):
        confidence = model.confidence_
    with console.stage("writing"):
        reached = (model.solution_.arm >= 0) & (confidence >= (arguments.abstain_below or 0))
        novel = model.novel_ if model.novel_.any() else None
        added = tables.found_columns(
            plan.name, model.transduction_, confidence, reached, plan.labels.type, novel
        )
        tables.write_table(plan.table, added, out, overwrite=arguments.force)
    held = keep(console, model, X, plan, arguments)
    if arguments.evidence != "none":
        held = held or model.hold_out()  # without evidence the labels would have to be hidden now
    _summarise(console, model, plan.labels.rows, out, arguments, held)


def keep(console: Console, model: Any, X: Any, plan: TablePlan, arguments: argparse.Namespace) -> Any:
    """Save the model and write the report, if they are wanted; return what was found for hidden labels."""
    if arguments.model:
        with console.stage("saving"):
            from phaselabel.estimators import saving

            kept = {
                "recipe": vars(plan.recipe), "label": plan.name, "source": Path(plan.table.path).name,
                "label_type": str(plan.labels.type),
            }  # fmt: skip
            saving.save(model, arguments.model, extra=kept, overwrite=arguments.force)
    if not arguments.report:
        return None
    with console.stage("reporting"):
        return _report(model, X, plan, console.notes, arguments)


def _report(model: Any, X: Any, plan: TablePlan, notes: list[str], arguments: argparse.Namespace) -> Any:
    """Write the page; return what was found for hidden labels."""
    from phaselabel.io import tables
    from phaselabel.report.findings import gather
    from phaselabel.report.page import write

    title = Path(plan.table.path).name
    if model._fitted is None:
        findings = gather(model, X, title=title, label=plan.name)
    else:
        from phaselabel.report.sampled import gather_sample

        findings = gather_sample(model, title=title, label=plan.name)
    findings.show_rows(plan.table, [name for name, role in plan.recipe.roles.items() if role == "text"])
    findings.columns, findings.notes = list(tables.describe(plan.recipe, plan.columns, 1000)), notes
    write(findings, arguments.report, overwrite=arguments.force)
    return findings.held


def _summarise(
    console: Console, model: Any, given: Any, out: Path, arguments: argparse.Namespace, held: Any
) -> None:
    """Say what was found; the confidence is that of rows without a given label."""
    import numpy as np

    arm, below = model.solution_.arm, arguments.abstain_below
    labelled = (arm >= 0) & (model.confidence_ >= (below or 0))
    counts = np.bincount(arm[labelled], minlength=len(model.classes_))
    lost = int((arm < 0).sum())
    abstained = len(arm) - lost - int(labelled.sum())
    others = arm >= 0
    others[given] = False
    confidence = model.confidence_[others]
    console.say("flow", model.solution_.status)
    result = f"{len(arm) - lost - abstained:,} rows labelled"
    if others.any():
        sure = f"{np.mean(confidence >= 0.9):.0%} have a confidence of 0.9 or more"
        result += f"; of the {len(confidence):,} without a given label {sure}"
    console.say("result", result)
    say_abstained(console, abstained, below)
    if held is not None:
        console.say("accuracy", str(held))
    for path, what in ((out, "table"), (arguments.report, "report"), (arguments.model, "model")):
        if path:
            console.say("wrote", f"{path} ({what})")
    console.finish(
        out=str(out), report=arguments.report, model=arguments.model, converged=model.converged_,
        sweeps=model.n_iter_, unreached=lost, abstained=abstained, held_out=held and held.facts(),
        mean_confidence=float(confidence.mean()) if others.any() else None,
        predicted={str(label): int(count) for label, count in zip(model.classes_, counts)},
    )  # fmt: skip
