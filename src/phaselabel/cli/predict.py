"""Label the rows of another table with a saved model.

The table must have the columns that the model was fitted with, of the same names; they are read and scaled in
the same way. The output has every row and column of the table and three more columns: NAME_predicted,
NAME_confidence (the probability that the label is right) and NAME_reached (whether there is a label). A model
that was fitted with --abstain-below leaves rows of lower confidence empty here too.
"""

import argparse
from pathlib import Path
from typing import Any

from phaselabel.cli import embedding, on_dask
from phaselabel.cli.console import (
    Console,
    add_output_arguments,
    add_reading_arguments,
    opened,
    output_of,
    refuse_idle_options,
    say_abstained,
)

EPILOG = """\
examples:
  phaselabel label customers.csv --label segment --model model/
  phaselabel predict model/ new.csv --out predicted.csv
  phaselabel predict model/ new.parquet/ --out s3://bucket/predicted.parquet --dask tcp://scheduler:8786
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", help="a folder or zip file written by phaselabel label --model")
    parser.add_argument("table", help="the file with the new rows")
    parser.add_argument("--out", metavar="FILE", help="the result (default: TABLE_predicted.EXT beside it)")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument(
        "--embed", metavar="MODEL", help="the text model, if it is not where the saved model says"
    )
    on_dask.add_cluster_argument(parser)
    add_reading_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read the table as the model's own, vote, write."""
    refuse_idle_options(arguments)
    if arguments.dask:
        on_dask.predict(arguments, recipe_of)
        return
    from phaselabel.io.archive import kind_of

    out = output_of(arguments, "predicted")
    kind_of(Path(arguments.model))  # refuses a missing model before anything heavy is loaded
    console = Console(arguments)
    with console.listening():
        _predict(console, out, arguments)


def _predict(console: Console, out: Path, arguments: argparse.Namespace) -> None:
    with console.stage("starting"):
        from phaselabel.estimators import saving
    from phaselabel.io import tables
    from phaselabel.labels import visible

    with console.stage("opening"):
        model, kept = saving.load_with_extra(arguments.model)
        recipe, name = recipe_of(kept, arguments.model), str(kept["label"])
        table = opened(arguments.table, arguments)
        tables.refuse_found(table, name)
    console.say(
        "model", f"{arguments.model}: {name}, {len(model.classes_)} classes, {model.graph_.n_vertices:,} rows"
    )
    embedding.use(recipe, arguments.embed)
    embedding.prepare(console, table, recipe)
    with console.stage("reading") as bar:
        X = recipe.transform(table, bar)
    _note_new_words(console, table, recipe)
    with console.stage("predicting"):
        model.verbose = console.lively
        shares = model._shares(X)
        found, confidence = shares.any(axis=1), shares.max(axis=1)
        reached = found & (confidence >= (model.abstain_below or 0))
        predicted = model.classes_[shares.argmax(axis=1)]
        kind = {"int64": "int64", "double": "float64"}.get(str(kept["label_type"]))
        added = tables.found_columns(name, predicted, confidence, reached, kind)
    with console.stage("writing"):
        tables.write_table(table, added, out, overwrite=arguments.force)
    counts = tables.counted(predicted[reached])
    console.say(
        "result", tables.listed((f"{visible(label)} {count:,}" for label, count in counts.items()), 12)
    )
    lost, abstained = int((~found).sum()), int((found & ~reached).sum())
    if lost:
        console.note(f"{lost:,} rows have no neighbour with a label; they are left empty")
    say_abstained(console, abstained, model.abstain_below)
    console.say("wrote", f"{out} (table)")
    console.finish(
        table=arguments.table, model=arguments.model, out=str(out), rows=X.shape[0], predicted=counts,
        unreached=lost, abstained=abstained,
    )  # fmt: skip


def recipe_of(kept: dict[str, Any], path: str) -> Any:
    """The recipe that was saved with a model."""
    from phaselabel.io.tables import Recipe

    if not {"recipe", "label", "source", "label_type"} <= set(kept):
        raise ValueError(
            f"{path} was saved from Python and doesn't say how a table becomes its features; use "
            "phaselabel.load(path).predict(X) there, or phaselabel label --model."
        )
    return Recipe.restored(kept["recipe"])


def _note_new_words(console: Console, table: Any, recipe: Any) -> None:
    """Name the words of a category that were not in the fitted table."""
    import pyarrow.compute as pc

    from phaselabel.io.tables import listed

    for name, words in recipe.words.items():
        seen = {str(value) for value in pc.unique(table.column(name)).to_pylist()}
        new = sorted(seen - set(words) - {"", "None"})
        if new:
            console.note(f"column {name!r} has words that the model has not seen: {listed(new, 5)}")
