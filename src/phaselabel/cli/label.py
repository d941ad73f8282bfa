"""Label every row of a table from the few labels in it.

Reads CSV, TSV, Parquet, JSON lines, Arrow, NPY and NPZ, by the extension. The output has every row and column
of the input, in order, and three more: NAME_predicted (what the model says, also of rows that have a label),
NAME_confidence (from 0 to 1; 0 where no label reaches) and NAME_reached. Given labels are never changed.
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from phaselabel.cli.console import (
    Console,
    Sweeps,
    add_output_arguments,
    add_reading_arguments,
    amount,
    opened,
)

#: What counts as "not labelled" in a label column unless --unlabeled says otherwise.
UNLABELED = ("", "?", "NA")

EPILOG = """\
examples:
  phaselabel label customers.csv --label segment --out labelled.csv
  phaselabel label customers.csv --label segment --impute median --drop postcode --model model/
  phaselabel label embeddings.npy --labels labels.csv --out labels_out.parquet
  phaselabel label posts.parquet --text body --label topic

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
        "--neighbors", type=int, metavar="N", help="neighbours of a row in the graph (default: 10)"
    )
    group.add_argument("--epsilon", type=float, default=1.0, metavar="ε", help="interface width (default: 1)")
    group.add_argument(
        "--fidelity", type=float, default=30.0, metavar="μ", help="trust in labels (default: 30)"
    )
    group.add_argument(
        "--max-iter", type=int, default=2000, metavar="N", help="sweeps at most (default: 2000)"
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out", metavar="FILE", help="the labelled table (default: TABLE_labelled.EXT beside it)"
    )
    group.add_argument("--report", metavar="FILE", help="an HTML report on the result")
    group.add_argument("--model", metavar="FOLDER", help="keep the fitted model, for phaselabel predict")
    group.add_argument("--force", action="store_true", help="replace files that are there already")
    add_reading_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, say what will be done, do it, write."""
    out = _output(arguments)
    console = Console(arguments)
    # Only what reading needs: a file that can't be used is refused before scikit-learn and numba are loaded.
    from phaselabel import tables

    with console.stage("looking"):
        table = opened(arguments.table, arguments)
        name = arguments.label or "label"
        if arguments.labels is None:
            _require_label(table, arguments)
        columns, n_rows = tables.survey(table, [name] if name in table.names else [])
        if n_rows < 2:
            raise ValueError(
                f"{table.path.name} has {n_rows} rows below its header; there is nothing to label."
            )
        labels = _labels(table, name, n_rows, arguments)
        recipe = tables.plan(
            columns, features=arguments.features, drop=arguments.drop, text=arguments.text,
            date=arguments.date, scale=arguments.scale, impute=arguments.impute,
        )  # fmt: skip
        added_names = [f"{name}_{what}" for what in ("predicted", "confidence", "reached")]
        for new in added_names:
            if new in table.names:
                raise ValueError(
                    f"{table.path.name} has a column {new!r} already; rename it, or label the original "
                    "table again."
                )
    _announce(console, table, columns, n_rows, recipe, labels, name)

    with console.stage("reading", n_rows) as bar:
        X = recipe.fit_transform(table, bar)
    with console.stage("starting"):
        from phaselabel import storage
        from phaselabel.classifier import GinzburgLandauClassifier
    with console.stage("fitting", arguments.max_iter, "sweep") as bar, console.listening():
        model = GinzburgLandauClassifier(
            arguments.neighbors or "auto", epsilon=arguments.epsilon, fidelity=arguments.fidelity,
            max_iter=arguments.max_iter, unlabeled=None, callbacks=Sweeps(bar),
        ).fit(X, labels.values)  # fmt: skip
    with console.stage("writing"):
        reached = model.solution_.arm >= 0
        added = dict(zip(added_names, labels.columns(model.transduction_, model.confidence_, reached)))
        tables.write_table(table, added, out, overwrite=arguments.force)
    kept = {
        "recipe": vars(recipe), "label": name, "given": labels.arms(model.classes_),
        "source": table.path.name, "label_type": str(labels.type),
    }  # fmt: skip
    if arguments.model:
        with console.stage("saving"):
            storage.save(model, arguments.model, extra=kept, overwrite=arguments.force)
    accuracy = None
    if arguments.report:
        from phaselabel import report

        with console.stage("reporting"):
            found = report.gather(model, kept["given"], X, title=table.path.name, label=name)
            found.show_rows(table)
            found.columns = list(tables.describe(recipe, columns))
            found.notes = console.notes
            report.write(found, arguments.report, overwrite=arguments.force)
            accuracy = {"accuracy": found.held.accuracy, "interval": found.held.interval()}
    _summarise(console, model, labels, out, arguments, accuracy)


def _output(arguments: argparse.Namespace) -> Path:
    """Where the table goes; refused before any work where something is in the way."""
    from phaselabel.atomic import refuse_existing

    source = Path(arguments.table)
    suffix = ".csv" if source.suffix.lower() == ".npy" else source.suffix
    out = Path(arguments.out) if arguments.out else source.with_name(f"{source.stem}_labelled{suffix}")
    if out.exists() and source.exists() and out.samefile(source):
        raise ValueError(f"--out {out} is the table itself; choose another name.")
    for path in (out, arguments.report, arguments.model):
        if path:
            refuse_existing(path, arguments.force)
    return out


def _require_label(table: Any, arguments: argparse.Namespace) -> None:
    from phaselabel.tables import listed

    if arguments.label is None:
        raise ValueError(
            f"Which column of {table.path.name} has the labels? Name it with --label (it has "
            f"{listed(map(repr, table.names))}), or a file of labels with --labels."
        )
    table.require([arguments.label])


class Labels:
    """The few labels of a table, as they stand there; None where there is none."""

    def __init__(self, column: Any, unlabeled: tuple[str, ...]) -> None:
        import numpy as np
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_nested(column.type) or pa.types.is_temporal(column.type):
            raise ValueError(
                f"A column of labels can't be of type {column.type}; use words or whole numbers."
            )
        self.type = column.type
        values = column.to_pylist()
        self.values = np.empty(len(values), object)
        self.values[:] = [None if _is_none(value, unlabeled) else value for value in values]
        self.counts = Counter(value for value in self.values if value is not None)

    def arms(self, classes: Any) -> Any:
        """The class number of every row, -1 where not known."""
        import numpy as np

        number = {label: k for k, label in enumerate(classes.tolist())}
        return np.array([-1 if v is None else number[v] for v in self.values], np.int32)

    def columns(self, predicted: Any, confidence: Any, reached: Any) -> tuple[Any, Any, Any]:
        """The three new columns; labels in the type they came in."""
        return added_columns(predicted, confidence, reached, self.type)


def added_columns(predicted: Any, confidence: Any, reached: Any, kind: Any) -> tuple[Any, Any, Any]:
    """Predicted, confidence and reached as columns of a table."""
    import numpy as np
    import pyarrow as pa

    words = [label if sure else None for label, sure in zip(predicted.tolist(), reached)]
    return pa.array(words, kind), pa.array(np.round(confidence, 4)), pa.array(reached)


def _is_none(value: Any, unlabeled: tuple[str, ...]) -> bool:
    if value is None or value != value:
        return True
    text = value.strip() if isinstance(value, str) else str(value)
    return text in unlabeled


def _labels(table: Any, name: str, n_rows: int, arguments: argparse.Namespace) -> Labels:
    """The labels, from the table or from a file of their own."""
    from phaselabel.tables import ArrayTable

    source = table if arguments.labels is None else opened(arguments.labels, arguments)
    unlabeled = tuple(arguments.unlabeled or UNLABELED + ("-1",) * isinstance(source, ArrayTable))
    column = source.column(name) if arguments.labels is None else _other_column(source, n_rows, arguments)
    labels = Labels(column, unlabeled)
    where = f"Column {name!r} of {source.path.name}" if arguments.labels is None else source.path.name
    if not labels.counts:
        shown = ", ".join(repr(mark) for mark in unlabeled)
        raise ValueError(
            f"{where} has no label: every entry counts as unlabelled ({shown}); label some rows."
        )
    if len(labels.counts) == 1:
        only, count = next(iter(labels.counts.items()))
        raise ValueError(
            f"{where} has one class only, {only!r} ({count:,} rows), so there is nothing to tell "
            "apart; label "
            "some rows of another class, or check what stands for 'no label' (--unlabeled)."
        )
    return labels


def _other_column(source: Any, n_rows: int, arguments: argparse.Namespace) -> Any:
    """The column of a file of labels, spread over the rows if it says which rows it is about."""
    import pyarrow as pa

    names = [name for name in source.names if name != "row"]
    name = arguments.label if arguments.label in names else names[0] if len(names) == 1 else None
    if name is None:
        raise ValueError(
            f"{source.path.name} has {len(names)} columns ({', '.join(names[:6])}); name the one with the "
            "labels with --label."
        )
    column = source.column(name).combine_chunks()
    if "row" in source.names:
        rows = [int(row) for row in source.column("row").to_pylist()]
        if rows and not (min(rows) >= 0 and max(rows) < n_rows):
            raise ValueError(
                f"{source.path.name} speaks of row {max(rows) if min(rows) >= 0 else min(rows)}; the "
                "table has "
                f"rows 0 to {n_rows - 1}."
            )
        spread: list[Any] = [None] * n_rows
        for row, label in zip(rows, column.to_pylist()):
            spread[row] = label
        return pa.array(spread, column.type)
    if len(column) != n_rows:
        raise ValueError(
            f"{source.path.name} has {len(column):,} labels for {n_rows:,} rows; give one per row "
            "(empty where "
            "not known), or add a column 'row'."
        )
    return column


def _announce(
    console: Console, table: Any, columns: Any, n_rows: int, recipe: Any, labels: Labels, name: str
) -> None:
    """Everything that was decided, before the work starts."""
    from phaselabel.tables import describe, listed

    console.say("table", f"{table.path.name}: {n_rows:,} rows, {len(table.names):,} columns")
    for heading, words in describe(recipe, columns):
        console.say(heading, words)
    counts = sorted(labels.counts.items(), key=lambda item: -item[1])
    total = sum(labels.counts.values())
    console.say("labels", f"{name}: {total:,} of {n_rows:,} rows, {len(counts):,} classes")
    console.say("", listed((f"{label} {count:,}" for label, count in counts), 12))
    if len(counts) > 20 and total < 2 * len(counts):
        console.note(
            f"most classes of {name!r} have a single label; is it the right column, and are unlabelled "
            "rows marked by empty, ? or NA (--unlabeled)?"
        )
    if "-1" in labels.counts or -1 in labels.counts:
        console.note("-1 is taken as a class; if it means 'no label', pass --unlabeled -1")
    width = sum(
        max(column.width, len(recipe.words.get(n, ()))) for n, column in columns.items() if n in recipe.roles
    )
    memory, seconds = expectation(n_rows, width + 128 * len(recipe.terms))
    console.say("expect", f"about {amount(memory)} of memory and {seconds:.0f} s")
    console.facts |= {
        "table": str(table.path), "rows": n_rows, "features": recipe.roles, "left_out": recipe.left_out,
        "scale": recipe.scale, "impute": recipe.impute,
        "labels": {str(label): count for label, count in labels.counts.items()},
    }  # fmt: skip


def expectation(n_rows: int, width: int) -> tuple[float, float]:
    """Bytes and seconds to expect: rough, from measurements on two cores."""
    memory = 1.5e8 + n_rows * (width * 20 + 10 * 60)
    seconds = 2 + n_rows * (2e-7 * width + 5e-5)
    return memory, seconds


def _summarise(
    console: Console, model: Any, labels: Labels, out: Path, arguments: argparse.Namespace, accuracy: Any
) -> None:
    import numpy as np

    arm = model.solution_.arm
    counts = np.bincount(arm[arm >= 0], minlength=len(model.classes_))
    lost = int((arm < 0).sum())
    sure = float(np.mean(model.confidence_ >= 0.9))
    console.say("flow", model.solution_.status)
    console.say(
        "result", f"{len(arm) - lost:,} rows labelled, {sure:.0%} of them with confidence 0.9 or more"
    )
    if accuracy:
        low, high = accuracy["interval"]
        console.say(
            "accuracy", f"{accuracy['accuracy']:.1%} of hidden known labels found ({low:.1%} to {high:.1%})"
        )
    for path, what in ((out, "table"), (arguments.report, "report"), (arguments.model, "model")):
        if path:
            console.say("wrote", f"{path} ({what})")
    console.finish(
        out=str(out), report=arguments.report, model=arguments.model, converged=model.converged_,
        sweeps=model.n_iter_, unreached=lost, held_out=accuracy,
        mean_confidence=float(model.confidence_.mean()),
        predicted={str(label): int(count) for label, count in zip(model.classes_, counts)},
    )  # fmt: skip
