"""Show what a labelled table or a saved model holds, or make its report again.

A table that phaselabel label wrote knows each row's answer; a model knows the graph and the energy too.
Give both, and the report has everything and shows the doubtful rows as they stand in the table.
"""

import argparse
from pathlib import Path
from typing import Any

from phaselabel.cli.console import Console, add_output_arguments, add_reading_arguments, opened, positive

EPILOG = """\
examples:
  phaselabel inspect labelled.csv
  phaselabel inspect model/ --report report.html
  phaselabel inspect labelled.csv --model model/ --report report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A table or a model, and what to make of it."""
    parser.add_argument("results", help="a table written by phaselabel label, or a saved model")
    parser.add_argument("--model", metavar="FOLDER", help="the model that labelled the table")
    parser.add_argument("--label", metavar="COLUMN", help="which label, if the table has several")
    parser.add_argument("--report", metavar="FILE", help="write the HTML report (needs a model)")
    parser.add_argument(
        "--rows", type=positive, default=5, metavar="N", help="doubtful rows to show (default: 5)"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")
    add_reading_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """From the model if there is one, else from the table's own columns."""
    from phaselabel.atomic import refuse_existing

    if arguments.report:
        refuse_existing(arguments.report, arguments.force)
    console = Console(arguments)
    path = Path(arguments.results)
    is_model = path.is_dir() or path.suffix == ".zip"
    model = str(path) if is_model else arguments.model
    if model:
        _from_model(console, model, None if is_model else arguments.results, arguments)
    elif arguments.report:
        raise ValueError(
            "A report needs the model as well, which knows the graph and the energy: label with "
            "--model FOLDER "
            "and pass --model FOLDER here."
        )
    else:
        _from_table(console, opened(arguments.results, arguments), arguments)


def _from_model(console: Console, path: str, table_path: str | None, arguments: argparse.Namespace) -> None:
    from phaselabel import report, storage, tables
    from phaselabel.cli.predict import recipe_of

    model, kept = storage.load(path), storage.load_extra(path)
    if not hasattr(model, "_solve"):
        raise ValueError(f"{path} holds a {type(model).__name__}; only a GinzburgLandauClassifier is shown.")
    table = opened(table_path, arguments) if table_path else None
    if table is not None:
        n_rows = sum(batch.num_rows for batch in table.batches(table.names[:1]))
        if n_rows != model.graph_.n_vertices:
            raise ValueError(
                f"{table_path} has {n_rows:,} rows but the model labelled {model.graph_.n_vertices:,}; is "
                "it the table of this model?"
            )
    found = report.gather(
        model, title=str(kept.get("source", Path(path).name)), label=str(kept.get("label", "label")),
        picture=bool(arguments.report),
    )  # fmt: skip
    if table is not None:
        found.show_rows(table)
    if "recipe" in kept:  # a model saved from Python has none
        recipe = recipe_of(kept, path)
        columns = {name: tables.Column(name, role) for name, role in recipe.roles.items()}
        found.columns = list(tables.describe(recipe, columns))
    console.say("model", f"{path}, fitted to {found.title}: {found.label}")
    console.say(
        "rows", f"{found.n_rows:,}, {found.n_given:,} of them with a label, {found.unreached:,} unreached"
    )
    for row in found.classes:
        sure = "" if row["confidence"] is None else f", mean confidence {row['confidence']:.2f}"
        console.say("class", f"{row['name']}: {row['given']:,} given, {row['found']:,} found{sure}")
    console.say("accuracy", str(found.held))
    for row in found.suspects[: arguments.rows]:
        console.say("suspect", f"row {row['row']}: given {row['given']}, the others say {row['found']}")
    for name, value in found.graph:
        console.say("graph", f"{name}: {value}")
    console.say("flow", found.status)
    if arguments.report:
        report.write(found, arguments.report, overwrite=arguments.force)
        console.say("wrote", f"{arguments.report} (report)")
    console.finish(
        rows=found.n_rows, labels=found.n_given, unreached=found.unreached, classes=found.classes,
        held_out=found.held.facts(),
        suspects=found.suspects, doubtful=found.doubtful, graph=dict(found.graph), report=arguments.report,
    )  # fmt: skip


def _from_table(console: Console, table: Any, arguments: argparse.Namespace) -> None:
    import numpy as np

    from phaselabel.tables import as_numbers, counted, text_of

    name = _label_of(table, arguments)
    predicted = np.array(text_of(table.column(f"{name}_predicted").combine_chunks()))
    confidence = as_numbers(table.column(f"{name}_confidence").combine_chunks())
    if confidence is None or not np.isfinite(confidence).all():
        raise ValueError(
            f"Column {name + '_confidence'!r} of {table.path.name} must hold a number in every row."
        )
    reached = np.array(text_of(table.column(f"{name}_reached").combine_chunks())) == "true"
    counts = counted(predicted[reached])
    console.say("table", f"{table.path.name}: {len(predicted):,} rows, labelled by {name}")
    for label, count in counts.items():
        console.say(
            "class", f"{label}: {count:,}, mean confidence {confidence[predicted == label].mean():.2f}"
        )
    console.say("unreached", f"{int((~reached).sum()):,} rows")
    shares = {str(edge): float(np.mean(confidence[reached] >= edge)) for edge in (0.7, 0.9, 0.99)}
    for edge, share in shares.items():
        console.say("confidence", f"{edge} or more: {share:.1%} of the rows")
    candidates = np.flatnonzero(reached)
    rows = candidates[np.argsort(confidence[candidates], kind="stable")][: arguments.rows]
    for row in rows:
        console.say("doubtful", f"row {row}: {predicted[row]}, confidence {confidence[row]:.3f}")
    console.finish(
        table=str(table.path), rows=len(predicted), predicted=counts, unreached=int((~reached).sum()),
        confidence=shares, doubtful=[int(row) for row in rows],
    )  # fmt: skip


def _label_of(table: Any, arguments: argparse.Namespace) -> str:
    """The label whose three columns are there."""
    suffixes = ("_predicted", "_confidence", "_reached")
    found = [
        name.removesuffix("_predicted")
        for name in table.names
        if name.endswith("_predicted")
        and all(name.removesuffix("_predicted") + s in table.names for s in suffixes)
    ]
    if arguments.label:
        table.require([arguments.label + suffix for suffix in suffixes])
        return str(arguments.label)
    if not found:
        raise ValueError(
            f"{table.path.name} was not written by phaselabel label: it has no columns NAME_predicted, "
            "NAME_confidence and NAME_reached."
        )
    if len(found) > 1:
        raise ValueError(
            f"{table.path.name} has several labels ({', '.join(found)}); choose one with --label."
        )
    return found[0]
