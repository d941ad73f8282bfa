"""Label by drawing or by answering, on a page in your browser.

A picture is opened for drawing: draw a few strokes, and the whole picture is segmented. A table, an array or
a folder of pictures is opened for answering: answer the next best question, and all items are labelled. With
--mode drawing the pictures of a folder are segmented by one model. Every action is saved in a project file,
beside the source unless --project names another; open the source again to continue.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from phaselabel.cli import embedding
from phaselabel.cli.console import (
    Console,
    add_reading_arguments,
    between,
    reading_options,
    refuse_idle_options,
    warn_of_host,
)

EPILOG = """\
examples:
  phaselabel studio photo.jpg
  phaselabel studio digits.npz
  phaselabel studio folder/of/images
  phaselabel studio tickets.csv --text body --embed

The page is served to this machine only, and its address contains a secret. With --host other machines can
reach it: anyone with the address can then see your data and change your labels, and the connection is not
encrypted. Use --host only in networks that you trust, or use an ssh tunnel instead.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: what to label and where to serve the page."""
    parser.add_argument("source", help="a picture, a table, an NPY or NPZ file, or a folder of pictures")
    parser.add_argument("--project", metavar="FILE", help="the file of the project (default: SOURCE.studio)")
    parser.add_argument("--mode", choices=("drawing", "answering"), help="by default the extension decides")
    group = parser.add_argument_group("answering")
    group.add_argument("--classes", metavar="A,B,C", help="names of the first classes")
    group.add_argument(
        "--label", metavar="COLUMN",
        help="the column with labels that are known; for a folder, a column of a table in it, or 'folder' "
        "for the names of the folders inside it",
    )  # fmt: skip
    group.add_argument("--features", nargs="+", metavar="COLUMN", default=[], help="use these columns only")
    group.add_argument("--drop", nargs="+", metavar="COLUMN", default=[], help="leave these columns out")
    group.add_argument("--text", nargs="+", metavar="COLUMN", default=[], help="free text: TF-IDF, cosine")
    embedding.add_arguments(group)
    group.add_argument("--date", nargs="+", metavar="COLUMN", default=[], help="dates, used as days")
    group.add_argument("--impute", choices=("median", "mean"), help="fill missing numbers")
    group.add_argument(
        "--evidence", default="auto", metavar="auto|none|FILE",
        help="what speaks besides the graph: models of the features (auto), nothing (none), or a file of "
        "probabilities with a column per class (default: auto)",
    )  # fmt: skip
    group.add_argument("--annotator", metavar="NAME", help="your name, for a column of the exports")
    group.add_argument(
        "--picture", metavar="COLUMN",
        help="the column with the file of a picture, in the folder of the table: show it instead of the row",
    )  # fmt: skip
    group.add_argument("--shape", metavar="HxW", help="show rows of numbers as pictures of this size")
    add_reading_arguments(parser)
    group = parser.add_argument_group("serving")
    group.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="open the page to other machines (see below)"
    )
    group.add_argument(
        "--port",
        type=between(0, 65535, whole=True),
        default=0,
        metavar="N",
        help="the port (default: any free)",
    )
    group.add_argument(
        "--people", metavar="A,B",
        help="print an address with a token of its own for each of these people; answers carry their names",
    )  # fmt: skip
    group.add_argument("--no-browser", action="store_true", help="print the address, do not open a browser")


def run(arguments: argparse.Namespace) -> None:
    """Open the project and serve its page."""
    # Libraries that are loaded later have threads of their own. Beside a browser they must not spin.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from phaselabel.studio.opening import open_workspace
    from phaselabel.studio.server import serve

    refuse_idle_options(arguments)

    def opened(publish: Any) -> Any:
        workspace = open_workspace(Path(arguments.source), publish, **_options(arguments))
        for heading, text in workspace.description:
            print(f"{heading:<12} {text}", file=sys.stderr)
        for note in workspace.notes:
            print(f"{'note':<12} {note}", file=sys.stderr)
        return workspace

    def on_ready(addresses: dict[str, str]) -> None:
        warn_of_host(arguments.host, "Anyone with the address below")
        for name, address in addresses.items():
            print(f"The studio is open{f' for {name}' if name else ''} at {address}", flush=True)
        print("Every action is saved at once; Ctrl-C closes the studio.", file=sys.stderr, flush=True)
        if not arguments.no_browser:
            import webbrowser

            webbrowser.open(next(iter(addresses.values())))

    people = _people(arguments.people)
    serve(opened, arguments.host, arguments.port, on_ready, people)


def _people(text: str | None) -> list[str]:
    """The names in ``--people``, each once."""
    names = [" ".join(name.split()) for name in (text or "").split(",")]
    if text and (not all(names) or len(set(names)) < len(names)):
        raise ValueError(f"--people takes different names with commas between them; got {text!r}.")
    return [name for name in names if name]


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    names = (
        "project", "mode", "classes", "label", "features", "drop", "text", "date", "impute", "shape",
        "evidence", "annotator", "picture",
    )  # fmt: skip
    console = Console(argparse.Namespace(quiet=False, json=False))
    if Path(arguments.source).is_dir() and arguments.mode != "drawing":
        embedding.prepare_pictures(console, arguments.embed)

    def prepare(table: Any, recipe: Any) -> None:
        embedding.choose(recipe, arguments)
        embedding.prepare(console, table, recipe)

    return {
        **{name: getattr(arguments, name) for name in names}, "embed": arguments.embed,
        "n_people": len(_people(arguments.people)), "reading": reading_options(arguments),
        "prepare": prepare, "stage": console.stage,
    }  # fmt: skip
