"""Label by drawing or by answering, on a page in your browser.

A picture opens the drawing room: draw a few strokes, watch the segmentation follow. A table, an array or a
folder of pictures opens the answering room: answer the next best question. Everything you do is kept in a
project file beside the input; opening it again goes on where you stopped.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

EPILOG = """\
examples:
  phaselabel studio photo.jpg
  phaselabel studio digits.npz
  phaselabel studio folder/of/images
  phaselabel studio table.csv --text body

The page is served to this machine alone, under an address with a secret in it. With --host others can reach
it: whoever knows the address can then see your data and change your labels, and anybody on the way can read
along, because the connection is not encrypted. Use it in networks you trust, or tunnel through ssh instead.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to label and where to serve the page."""
    parser.add_argument("source", help="a picture, a table, an NPY or NPZ file, or a folder of pictures")
    parser.add_argument("--project", metavar="FILE", help="where to keep the work (default: SOURCE.studio)")
    parser.add_argument("--room", choices=("drawing", "answering"), help="if the extension leaves it open")
    group = parser.add_argument_group("answering")
    group.add_argument("--classes", metavar="A,B,C", help="names of the classes to begin with")
    group.add_argument("--label", metavar="COLUMN", help="a column with labels that are known already")
    group.add_argument("--features", nargs="+", metavar="COLUMN", default=[], help="use these columns only")
    group.add_argument("--drop", nargs="+", metavar="COLUMN", default=[], help="leave these columns out")
    group.add_argument("--text", nargs="+", metavar="COLUMN", default=[], help="free text: TF-IDF, cosine")
    group.add_argument("--impute", choices=("median", "mean"), help="fill missing numbers")
    group.add_argument("--shape", metavar="HxW", help="show rows of numbers as pictures of this size")
    group = parser.add_argument_group("serving")
    group.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="open the page to other machines (see below)"
    )
    group.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    group.add_argument("--no-browser", action="store_true", help="print the address, open nothing")


def run(arguments: argparse.Namespace) -> None:
    """Open the project, serve its page."""
    from phaselabel.studio.guards import is_loopback
    from phaselabel.studio.opening import room_for
    from phaselabel.studio.server import serve

    def make_room(tell: Any) -> Any:
        return room_for(Path(arguments.source), tell, **_options(arguments))

    def ready(address: str) -> None:
        if not is_loopback(arguments.host):
            print(
                f"Warning: --host {arguments.host} lets other machines in. Whoever has the address below "
                "can see your data and change your labels, and the connection is not encrypted.",
                file=sys.stderr,
            )
        print(f"The studio is open at {address}", flush=True)
        print("Everything you do is saved at once; Ctrl-C closes it.", file=sys.stderr, flush=True)
        if not arguments.no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(make_room, arguments.host, arguments.port, ready)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("project", "room", "classes", "label", "features", "drop", "text", "impute", "shape")
    return {name: getattr(arguments, name) for name in names}
