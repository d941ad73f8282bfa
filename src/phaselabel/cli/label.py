"""Label every row of a table from a few labels.

Reads CSV, TSV and JSON lines, also compressed, Parquet, Arrow, NPY, NPZ, Excel, SQLite and DuckDB, by the
extension. The output has every row and column
of the input, in order, and three more columns: NAME_predicted (the class, also for rows with a given label),
NAME_confidence (from 0 to 1; 0 where no label reaches) and NAME_reached (whether there is a class). Rows that
look like none of the labelled ones are true in a fourth, NAME_novel. Given labels are not changed.
"""

import argparse
from pathlib import Path
from typing import Any

from phaselabel.cli import cells, embedding, on_dask, photos
from phaselabel.cli.console import (
    Console,
    add_output_arguments,
    add_reading_arguments,
    given_files,
    opened,
    output_of,
    refuse_clashes,
    refuse_idle_options,
    say_abstained,
)
from phaselabel.cli.method import add_method_arguments, fitted, refuse_graph_without_evidence
from phaselabel.cli.table_plan import TablePlan, announce, make_plan
from phaselabel.io.photo_folders import pictures_below

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
        help="an entry that means 'no label', as empty ones do; may be repeated (default: ? and NA; -1 in "
        "NPY and NPZ)",
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


def run(arguments: argparse.Namespace) -> None:
    """Read, print the plan, label, write."""
    from phaselabel.io import tables
    from phaselabel.io.archive import refuse_existing_archive
    from phaselabel.io.atomic import refuse_existing

    if arguments.use and not cells.is_cells(arguments.table):
        raise ValueError("--use names parts of an .h5ad file; choose the columns of a table with --features.")
    refuse_idle_options(arguments)
    if arguments.dask:
        on_dask.run(arguments, keep)
        return
    on_dask.refuse_without_cluster(arguments)
    if cells.is_cells(arguments.table):
        cells.run(arguments)
        return
    pictures = photos.is_folder_of_pictures(arguments.table)
    out = photos.output_of_folder(arguments) if pictures else output_of(arguments, "labelled")
    written = {"--out": out, "--report": arguments.report, "--model": arguments.model}
    read = given_files(arguments)
    if pictures:
        read += [f"{arguments.table}/{name}" for name in pictures_below(Path(arguments.table))]
    refuse_clashes(written, read)
    refuse_graph_without_evidence(arguments)
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
