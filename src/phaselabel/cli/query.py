"""Choose the rows whose labels would help most, and write them as a table to fill in.

The output has the number of each row, an empty column for the label, the present guess, its confidence, and
the columns of the table. Fill in the labels and pass the file to phaselabel label as --labels: its labels are
added to those of the table.
"""

import argparse
from typing import Any

from phaselabel.cli import embedding
from phaselabel.cli.console import (
    Console,
    add_output_arguments,
    add_reading_arguments,
    given_files,
    opened,
    positive,
    refuse_clashes,
    refuse_idle_options,
)
from phaselabel.cli.label import add_table_arguments
from phaselabel.cli.method import add_method_arguments, fitted, refuse_graph_without_evidence
from phaselabel.cli.table_plan import announce, make_plan

EPILOG = """\
examples:
  phaselabel query customers.csv --label segment -n 20 --out ask.csv
  phaselabel label customers.csv --label segment --labels ask.csv      (once ask.csv is filled in)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("table", help="the file with the table")
    add_table_arguments(parser)
    add_method_arguments(parser)
    group = parser.add_argument_group("output")
    group.add_argument("-n", type=positive, default=20, metavar="N", help="how many rows (default: 20)")
    group.add_argument("--out", metavar="FILE", default="ask.csv", help="the CSV file (default: ask.csv)")
    group.add_argument("--force", action="store_true", help="replace an existing file")
    add_reading_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, print the plan, fit, choose, write."""
    from phaselabel.io import tables
    from phaselabel.io.atomic import refuse_existing

    if tables.target_format(arguments.out) != ".csv":
        raise ValueError(f"--out must be a .csv file, to be filled in; got {arguments.out}.")
    refuse_graph_without_evidence(arguments)
    refuse_idle_options(arguments)
    refuse_clashes({"--out": arguments.out}, given_files(arguments))
    refuse_existing(arguments.out, arguments.force)
    console = Console(arguments)
    with console.listening():
        with console.stage("looking"):
            table = opened(arguments.table, arguments)
            plan = make_plan(table, arguments, tables.survey, tables.Labels.of)
            embedding.choose(plan.recipe, arguments)
        announce(console, plan)
        embedding.prepare(console, plan.table, plan.recipe)
        model, _ = fitted(console, plan, arguments)
        with console.stage("choosing"):
            rows = [int(row) for row in model.query(arguments.n)]
    _write(table, plan.name, model, rows, arguments)
    console.say("wrote", f"{arguments.out} ({len(rows)} rows to label)")
    console.finish(out=arguments.out, query=rows)


def _write(table: Any, name: str, model: Any, rows: list[int], arguments: argparse.Namespace) -> None:
    """Write the rows with the table's own fields, the best first."""
    import csv

    from phaselabel.io.atomic import replacing

    confidence = model.confidence_
    shown = [column for column in table.names if column not in ("row", name)]
    fields = _fields(table, shown, set(rows))
    with (
        replacing(arguments.out, arguments.force) as part,
        part.open("w", newline="", encoding="utf-8") as file,
    ):
        out = csv.writer(file)
        out.writerow(["row", name, f"{name}_guess", f"{name}_confidence", *shown])
        for row in rows:
            guess = model.transduction_[row]
            out.writerow([row, "", "" if guess is None else guess, f"{confidence[row]:.4f}", *fields[row]])


def _fields(table: Any, names: list[str], wanted: set[int]) -> dict[int, list[Any]]:
    """The fields of some rows."""
    fields: dict[int, list[Any]] = {row: [] for row in wanted}
    if not names:
        return fields
    start = 0
    for batch in table.batches(names):
        for row in wanted:
            if start <= row < start + batch.num_rows:
                values = batch.slice(row - start, 1).to_pylist()[0]
                fields[row] = [values[name] for name in names]
        start += batch.num_rows
    return fields
