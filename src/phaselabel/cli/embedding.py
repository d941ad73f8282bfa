"""The option --embed in, texts as vectors in the cache out, with a bar."""

import argparse
from typing import TYPE_CHECKING

from phaselabel.cli.console import Console

if TYPE_CHECKING:
    from phaselabel.io.tables import Recipe, Table


def add_arguments(parser: "argparse._ArgumentGroup") -> None:
    """Add the option."""
    parser.add_argument(
        "--embed", nargs="?", const="", metavar="MODEL",
        help="compare texts by meaning, with a model on this machine: a name (default: all-MiniLM-L6-v2, "
        "English, 91 MB, downloaded once), or a folder with tokenizer.json and model.onnx; for pictures an "
        "ONNX file",
    )  # fmt: skip


def choose(recipe: "Recipe", arguments: argparse.Namespace) -> None:
    """Name the model in the recipe, so that a saved model finds it again."""
    if arguments.embed is None:
        return
    from phaselabel.embedding.models import DEFAULT_MODEL

    if "text" not in recipe.roles.values():
        raise ValueError("--embed needs a column of texts; name it with --text.")
    recipe.embed = arguments.embed or DEFAULT_MODEL


def prepare(console: Console, table: "Table", recipe: "Recipe") -> None:
    """Compute the vectors of all texts, with a bar; those of earlier runs are taken from the cache."""
    if not recipe.embed:
        return
    from phaselabel.embedding.models import find_model
    from phaselabel.embedding.texts import digest_of_model, embed_texts

    find_model(recipe.embed, lambda sentence: console.say("model", sentence))
    recipe.embed_digest = recipe.embed_digest or digest_of_model(recipe.embed)
    for name in (name for name, role in recipe.roles.items() if role == "text"):
        texts = ["" if text is None else str(text) for text in table.column(name).to_pylist()]
        distinct = list(dict.fromkeys(texts))
        with console.stage("embedding", len(distinct), unit="text") as bar:
            embed_texts(distinct, recipe.embed, bar)
