"""Label every row of a table from the few labels in it.

Reads CSV, TSV, Parquet, JSON lines, Arrow, NPY and NPZ, by the extension. The output has every row and column
of the input, in order, and three more: NAME_predicted (what the model says, also of rows that have a label),
NAME_confidence (from 0 to 1; 0 where no label reaches) and NAME_reached. Given labels are never changed.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phaselabel.cli import on_dask
from phaselabel.cli.console import (
    Console,
    add_output_arguments,
    add_reading_arguments,
    amount,
    duration,
    opened,
    output_of,
    positive,
)

EPILOG = """\
examples:
  phaselabel label customers.csv --label segment --out labelled.csv
  phaselabel label customers.csv --label segment --impute median --drop postcode --model model/
  phaselabel label embeddings.npy --labels labels.csv --out labels_out.parquet
  phaselabel label posts.parquet --text body --label topic
  phaselabel label embeddings.parquet/ --labels labels.csv --out labelled.parquet/ --dask tcp://scheduler:8786

Which columns are used: numbers, and words with up to 30 different values (one-hot). Dates, free text and
columns that number the rows are left out unless asked for. What was used, and how, is printed before the work
starts.

A file for --labels has one entry per row of the table (a column of any name, or the one that --label names),
or the columns "row" (counted from 0) and a label for the rows that have one.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to read, what to use, what to write."""
    parser.add_argument("table", help="the table")
    parser.add_argument("--label", metavar="COLUMN", help="the column with the few labels")
    parser.add_argument("--labels", metavar="FILE", help="take the labels from this file instead")
    parser.add_argument(
        "--unlabeled", metavar="VALUE", action="append",
        help="what stands for 'no label'; may be repeated (default: empty, ? and NA; -1 too in NPY and NPZ)",
    )  # fmt: skip
    group = parser.add_argument_group("features")
    group.add_argument("--features", nargs="+", metavar="COLUMN", default=[], help="use these columns only")
    group.add_argument("--drop", nargs="+", metavar="COLUMN", default=[], help="leave these columns out")
    group.add_argument("--text", nargs="+", metavar="COLUMN", default=[], help="free text: TF-IDF, cosine")
    group.add_argument("--date", nargs="+", metavar="COLUMN", default=[], help="dates, used as days")
    group.add_argument(
        "--scale", choices=("robust", "standard", "none"),
        help="median and quartiles; mean and deviation; as it is (default: standard, and none for vectors)",
    )  # fmt: skip
    group.add_argument(
        "--impute", choices=("median", "mean"), help="fill missing numbers; by default they are refused"
    )
    group = parser.add_argument_group("method")
    group.add_argument(
        "--neighbors", type=positive, metavar="N", help="neighbours of a row in the graph (default: 10)"
    )
    group.add_argument("--epsilon", type=float, default=1.0, metavar="ε", help="interface width (default: 1)")
    group.add_argument(
        "--fidelity", type=float, default=30.0, metavar="μ", help="trust in labels (default: 30)"
    )
    group.add_argument(
        "--max-iter", type=positive, default=2000, metavar="N", help="sweeps at most (default: 2000)"
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out", metavar="FILE", help="the labelled table (default: TABLE_labelled.EXT beside it)"
    )
    group.add_argument("--report", metavar="FILE", help="an HTML report on the result")
    group.add_argument("--model", metavar="FOLDER", help="keep the fitted model, for phaselabel predict")
    group.add_argument("--force", action="store_true", help="replace files that are there already")
    on_dask.add_arguments(parser)
    add_reading_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, say what will be done, do it, write."""
    from phaselabel.atomic import refuse_existing

    if arguments.dask:
        return on_dask.run(arguments)
    if arguments.resume or arguments.checkpoint:
        raise ValueError("--checkpoint and --resume belong to --dask; name the cluster, or 'local'.")
    out = output_of(arguments, "labelled")
    for path in (arguments.report, arguments.model):
        if path:
            refuse_existing(path, arguments.force)
    console = Console(arguments)
    with console.listening():
        with console.stage("looking"):
            job = _look(arguments)
        _announce(console, job, bool(arguments.report))
        _label(console, job, out, arguments)


@dataclass(frozen=True)
class _Job:
    """What is to be labelled, by what, and from what."""

    table: Any
    n_rows: int
    columns: Any
    recipe: Any
    labels: Any
    name: str

    @property
    def width(self) -> int:
        """How many features there will be."""
        widths = {
            name: max(self.columns[name].width, len(self.recipe.words.get(name, ())))
            for name in self.recipe.roles
        }
        return sum(128 if role == "text" else widths[name] for name, role in self.recipe.roles.items())


def _look(arguments: argparse.Namespace) -> _Job:
    """Look at everything once; a table that can't be used is refused before heavy libraries are loaded."""
    from phaselabel import tables

    table, name = opened(arguments.table, arguments), arguments.label or "label"
    other = None
    if arguments.labels is not None:
        other = opened(arguments.labels, arguments)
    elif arguments.label is None:
        raise ValueError(
            f"Which column of {table.path.name} has the labels? Name it with --label (it has "
            f"{tables.listed(map(repr, table.names))}), or a file of labels with --labels."
        )
    else:
        table.require([name])
    tables.refuse_found(table, name)
    columns, n_rows = tables.survey(table, [name] if name in table.names else [])
    if n_rows < 2:
        raise ValueError(f"{table.path.name} has {n_rows} rows below its header; there is nothing to label.")
    labels = tables.Labels.of(table, name, n_rows, unlabeled=arguments.unlabeled or (), other=other)
    recipe = tables.plan(
        columns, features=arguments.features, drop=arguments.drop, text=arguments.text,
        date=arguments.date, scale=arguments.scale, impute=arguments.impute,
    )  # fmt: skip
    return _Job(table, n_rows, columns, recipe, labels, name)


def _label(console: Console, job: _Job, out: Path, arguments: argparse.Namespace) -> None:
    """The work itself, stage by stage."""
    from phaselabel import tables

    with console.stage("reading", job.n_rows) as bar:
        X = job.recipe.fit_transform(job.table, bar)
    with console.stage("starting"):
        from phaselabel import storage
        from phaselabel.classifier import GinzburgLandauClassifier
    with console.stage("fitting"), console.sweeps(arguments.max_iter) as watch:
        model = GinzburgLandauClassifier(
            arguments.neighbors or "auto", epsilon=arguments.epsilon, fidelity=arguments.fidelity,
            max_iter=arguments.max_iter, unlabeled=None, callbacks=watch, verbose=console.lively,
        ).fit(X, job.labels.values)  # fmt: skip
    with console.stage("confidence"):
        confidence = model.confidence_
    with console.stage("writing"):
        reached = model.solution_.arm >= 0
        added = tables.found_columns(job.name, model.transduction_, confidence, reached, job.labels.type)
        tables.write_table(job.table, added, out, overwrite=arguments.force)
    if arguments.model:
        with console.stage("saving"):
            kept = {
                "recipe": vars(job.recipe), "label": job.name, "source": job.table.path.name,
                "label_type": str(job.labels.type),
            }  # fmt: skip
            storage.save(model, arguments.model, extra=kept, overwrite=arguments.force)
    held = None
    if arguments.report:
        with console.stage("reporting"):
            held = _report(model, X, job, console.notes, arguments)
    _summarise(console, model, confidence, out, arguments, held)


def _report(model: Any, X: Any, job: _Job, notes: list[str], arguments: argparse.Namespace) -> Any:
    """Write the page; answer what became of hidden labels."""
    from phaselabel import report, tables

    found = report.gather(model, X, title=job.table.path.name, label=job.name)
    found.show_rows(job.table)
    found.columns, found.notes = list(tables.describe(job.recipe, job.columns)), notes
    report.write(found, arguments.report, overwrite=arguments.force)
    return found.held


def _announce(console: Console, job: _Job, report: bool) -> None:
    """Everything that was decided, before the work starts."""
    from phaselabel.tables import describe, listed

    console.say("table", f"{job.table.path.name}: {job.n_rows:,} rows, {len(job.table.names):,} columns")
    for heading, words in describe(job.recipe, job.columns):
        console.say(heading, words)
    labels, name = job.labels, job.name
    counts, total = labels.counts.most_common(), labels.counts.total()
    console.say("labels", f"{name}: {total:,} of {job.n_rows:,} rows, {len(counts):,} classes")
    console.say("", listed((f"{label} {count:,}" for label, count in counts), 12))
    console.say("unlabelled", "every " + " or ".join(mark or "empty entry" for mark in labels.unlabeled))
    if len(counts) > 20 and total < 2 * len(counts):
        console.note(
            f"most classes of {name!r} have a single label; is it the right column, and are unlabelled "
            "rows marked by empty, ? or NA (--unlabeled)?"
        )
    if "-1" in labels.counts or -1 in labels.counts:
        console.note("-1 is taken as a class; if it means 'no label', pass --unlabeled -1")
    few = len(counts) if total <= 5 * len(counts) else 0
    memory, seconds = expectation(job.n_rows, job.width, few, report)
    console.say("expect", f"about {amount(memory)} of memory and {duration(seconds)}")
    console.facts |= {
        "table": str(job.table.path), "rows": job.n_rows, "features": job.recipe.roles,
        "left_out": job.recipe.left_out, "scale": job.recipe.scale, "impute": job.recipe.impute,
        "labels": {str(label): count for label, count in counts},
        "expected": {"bytes": round(memory), "seconds": round(seconds, 1)},
    }  # fmt: skip


def expectation(n_rows: int, width: int, few: int = 0, report: bool = False) -> tuple[float, float]:
    """Bytes and seconds to expect, by formulas fitted to measurements on two cores: of the right order.

    ``few`` is the number of classes where there are so few labels that they are spread first.
    """
    memory = 3.7e8 + n_rows * (40 * width + 800 + 24 * few)
    reading, flow = 6e-7 * n_rows * width, 2e-5 * n_rows
    # Few columns are searched by a tree, whose cost grows with every one of them.
    search = 1e-4 * n_rows * (width / 8) ** 2 if width <= 5 else 4e-9 * n_rows**1.5 * width
    spreading, reporting = 8e-6 * n_rows * few, report * (2 + 3e-5 * n_rows)
    return memory, 3 + reading + search + flow + spreading + reporting


def _summarise(
    console: Console, model: Any, confidence: Any, out: Path, arguments: argparse.Namespace, held: Any
) -> None:
    import numpy as np

    arm = model.solution_.arm
    counts = np.bincount(arm[arm >= 0], minlength=len(model.classes_))
    lost = int((arm < 0).sum())
    sure = float(np.mean(confidence[arm >= 0] >= 0.9))
    console.say("flow", model.solution_.status)
    console.say(
        "result", f"{len(arm) - lost:,} rows labelled, {sure:.0%} of them with confidence 0.9 or more"
    )
    if held is not None:
        console.say("accuracy", str(held))
    for path, what in ((out, "table"), (arguments.report, "report"), (arguments.model, "model")):
        if path:
            console.say("wrote", f"{path} ({what})")
    console.finish(
        out=str(out), report=arguments.report, model=arguments.model, converged=model.converged_,
        sweeps=model.n_iter_, unreached=lost, held_out=held and held.facts(),
        mean_confidence=float(confidence.mean()),
        predicted={str(label): int(count) for label, count in zip(model.classes_, counts)},
    )  # fmt: skip
