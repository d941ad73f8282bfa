"""The option --embed in, a model on this disk and texts as vectors in the cache out, with a bar."""

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
        "English, 91 MB, downloaded once), or a folder with tokenizer.json and model.onnx; for pictures a "
        "name (default: Xenova/dinov2-small, 89 MB, downloaded once), or an ONNX file",
    )  # fmt: skip


def choose(recipe: "Recipe", arguments: argparse.Namespace) -> None:
    """Name the model in the recipe, so that a saved model finds it again."""
    if arguments.embed is None:
        return
    from phaselabel.embedding.models import DEFAULT_MODEL

    if "text" not in recipe.roles.values():
        raise ValueError("--embed needs a column of texts; name it with --text.")
    recipe.embed = arguments.embed or DEFAULT_MODEL


def use(recipe: "Recipe", named: str | None) -> None:
    """Take the text model that the user names, or else that of a saved model.

    A saved model may be a stranger's: nothing is downloaded because it says so.
    """
    from phaselabel.embedding.models import find_model

    if named and not recipe.embed:
        raise ValueError("--embed names a text model, and this model has no embedded texts; leave it out.")
    recipe.embed = named or recipe.embed
    if recipe.embed and not named:
        try:
            find_model(recipe.embed, download=False)
        except FileNotFoundError as error:
            raise ValueError(
                f"{error}, and it is not downloaded because a file says so; add --embed {recipe.embed} if "
                "you trust it, or name the folder that holds it."
            ) from None


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


def prepare_pictures(console: Console, model: str | None) -> None:
    """Find the vision model for pictures, or download it."""
    if model is not None:
        from phaselabel.embedding.models import find_picture_model

        find_picture_model(model, lambda sentence: console.say("model", sentence))
