"""Show what a table would be read as, or what a result or a saved model holds, or write its report.

Of a table that is not labelled yet it shows the whole plan: what is done with each column and, with --label,
with each label; nothing is fitted. A table written by phaselabel label holds the class of each row; a model
holds the graph and the energy too. With both, the report is complete and shows rows as they are in the table.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from phaselabel.cli.console import (
    Console,
    add_output_arguments,
    add_reading_arguments,
    opened,
    positive,
    refuse_clashes,
    refuse_idle_options,
)
from phaselabel.cli.label import add_table_arguments
from phaselabel.cli.table_plan import announce, make_plan

if TYPE_CHECKING:
    from phaselabel.io.tables import Table
    from phaselabel.report.findings import Findings

EPILOG = """\
examples:
  phaselabel inspect raw.csv --label segment
  phaselabel inspect labelled.csv
  phaselabel inspect model/ --report report.html
  phaselabel inspect labelled.csv --model model/ --report report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("results", help="a table, one written by phaselabel label, or a saved model")
    parser.add_argument("--model", metavar="FOLDER", help="the model that labelled the table")
    add_table_arguments(parser)
    parser.add_argument("--report", metavar="FILE", help="write the HTML report (needs a model)")
    parser.add_argument(
        "--rows",
        type=positive,
        default=5,
        metavar="N",
        help="the number of doubtful rows to show (default: 5)",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    add_reading_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Show the model if there is one, else the columns of the table."""
    from phaselabel.io.atomic import refuse_existing

    refuse_idle_options(arguments)
    if arguments.report:
        read = [arguments.results, arguments.model, arguments.labels]
        refuse_clashes({"--report": arguments.report}, read, arguments.model or arguments.results)
        refuse_existing(arguments.report, arguments.force)
    console = Console(arguments)
    path = Path(arguments.results)
    is_model = path.is_dir() or path.suffix == ".zip"
    model = str(path) if is_model else arguments.model
    if model:
        _from_model(console, model, None if is_model else arguments.results, arguments)
    elif arguments.report:
        raise ValueError(
            "A report needs the model too, which holds the graph and the energy: label with --model FOLDER "
            "and pass --model FOLDER here."
        )
    else:
        table = opened(arguments.results, arguments)
        if any(name.endswith("_predicted") for name in table.names):
            _from_table(console, table, arguments)
        else:
            with console.listening():
                _plan(console, table, arguments)


def _from_model(console: Console, path: str, table_path: str | None, arguments: argparse.Namespace) -> None:
    from phaselabel.cli.predict import recipe_of
    from phaselabel.estimators import saving
    from phaselabel.estimators.classifier import GinzburgLandauClassifier
    from phaselabel.io import tables
    from phaselabel.report.findings import gather
    from phaselabel.report.page import write

    model, kept = saving.load_with_extra(path)
    if not isinstance(model, GinzburgLandauClassifier):
        raise ValueError(f"{path} holds a {type(model).__name__}; only a GinzburgLandauClassifier is shown.")
    table = opened(table_path, arguments) if table_path else None
    if table is not None:
        n_rows = sum(batch.num_rows for batch in table.batches(table.names[:1]))
        if n_rows != model.graph_.n_vertices:
            raise ValueError(
                f"{table_path} has {n_rows:,} rows but the model labelled {model.graph_.n_vertices:,}; is "
                "it the table of this model?"
            )
    findings = gather(
        model, title=str(kept.get("source", Path(path).name)), label=str(kept.get("label", "label")),
        picture=bool(arguments.report),
    )  # fmt: skip
    if table is not None:
        findings.show_rows(table)
    if "recipe" in kept:  # a model saved from Python has none
        recipe = recipe_of(kept, path)
        columns = {name: tables.Column(name, role) for name, role in recipe.roles.items()}
        findings.columns = list(tables.describe(recipe, columns, 1000))
    console.say("model", f"{path}, fitted to {findings.title}: {findings.label}")
    _print_findings(console, findings, arguments.rows)
    if arguments.report:
        write(findings, arguments.report, overwrite=arguments.force)
        console.say("wrote", f"{arguments.report} (report)")
    console.finish(
        rows=findings.n_rows, labels=findings.n_given, unreached=findings.unreached,
        classes=findings.classes, held_out=findings.held.facts(), suspects=findings.suspects,
        doubtful=findings.doubtful, graph=dict(findings.graph), report=arguments.report,
    )  # fmt: skip


def _print_findings(console: Console, findings: "Findings", most_suspects: int) -> None:
    counts = (
        f"{findings.n_rows:,}, {findings.n_given:,} of them with a label, {findings.unreached:,} unreached"
    )
    console.say("rows", counts)
    for row in findings.classes:
        sure = "" if row["confidence"] is None else f", mean confidence {row['confidence']:.2f}"
        console.say("class", f"{row['name']}: {row['given']:,} given, {row['found']:,} found{sure}")
    console.say("accuracy", str(findings.held))
    if findings.accused is not None:
        console.say("suspects", str(findings.accused))
    for suspect in findings.suspects[:most_suspects]:
        words = f"row {suspect['row']}: given {suspect['given']}, the others say {suspect['found']}"
        console.say("suspect", words)
    for name, value in findings.graph:
        console.say("graph", f"{name}: {value}")
    console.say("flow", findings.status)


def _plan(console: Console, table: "Table", arguments: argparse.Namespace) -> None:
    """Show what phaselabel label would do, without doing it."""
    from phaselabel.io import tables

    if arguments.label or arguments.labels:
        plan = make_plan(table, arguments, tables.survey, tables.Labels.of, dry=True)
        announce(console, plan)
        faults = tables.unusable_numbers(plan.columns, plan.recipe)
        if faults:
            console.note(f"phaselabel label would refuse this table: {faults}")
            console.say("", "this was a dry run")
        else:
            console.say("", "this was a dry run; phaselabel label with the same options labels the rows")
        console.finish()
        return
    columns, n_rows = tables.survey(table)
    recipe = tables.plan(
        columns, features=arguments.features, drop=arguments.drop, text=arguments.text,
        date=arguments.date, scale=arguments.scale, impute=arguments.impute, dry=True,
    )  # fmt: skip
    console.say("table", f"{table.path.name}: {n_rows:,} rows, {len(table.names):,} columns")
    for heading, words in tables.describe(recipe, columns):
        console.say(heading, words)
    for words in tables.odd_cells(columns, recipe):
        console.note(words)
    faults = tables.unusable_numbers(columns, recipe)
    if faults:
        console.note(f"phaselabel label would refuse this table: {faults}")
    console.say("", "name the column with the labels with --label to see what is done with them")
    console.finish(
        table=arguments.results, rows=n_rows, features=recipe.roles, left_out=recipe.left_out,
        columns={name: column.kind for name, column in columns.items()},
    )  # fmt: skip


def _from_table(console: Console, table: "Table", arguments: argparse.Namespace) -> None:
    import numpy as np

    from phaselabel.io.tables import as_numbers, counted, text_of

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
        table=arguments.results, rows=len(predicted), predicted=counts, unreached=int((~reached).sum()),
        confidence=shares, doubtful=[int(row) for row in rows],
    )  # fmt: skip


def _label_of(table: "Table", arguments: argparse.Namespace) -> str:
    """The label whose three columns the table has."""
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
