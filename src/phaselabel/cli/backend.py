"""Answer Label Studio: predictions for texts, from the annotations made so far.

Add http://localhost:9090 as a model in the settings of a project whose labelling configuration has a Text and
Choices. Every annotation improves the next predictions.
"""

import argparse
from pathlib import Path

from phaselabel.cli.console import between, warn_of_host

EPILOG = """\
examples:
  phaselabel backend
  phaselabel backend --port 9090 --project tickets.sqlite --embed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--project", default="label-studio.sqlite", metavar="FILE", help="where annotations are kept"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="who may call (default: this machine)"
    )
    parser.add_argument(
        "--port", type=between(0, 65535, whole=True), default=9090, metavar="N", help="the port (9090)"
    )
    parser.add_argument(
        "--embed",
        nargs="?",
        const="",
        metavar="MODEL",
        help="compare texts by meaning, as phaselabel label does",
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve until interrupted."""
    from phaselabel.embedding.models import DEFAULT_MODEL
    from phaselabel.studio.label_studio import Backend, make_app

    embed = "" if arguments.embed is None else arguments.embed or DEFAULT_MODEL
    app = make_app(Backend(Path(arguments.project), embed))
    import uvicorn

    warn_of_host(arguments.host, "There is no token: anyone who reaches this port")
    print(f"phaselabel answers Label Studio at http://{arguments.host}:{arguments.port}", flush=True)
    uvicorn.run(app, host=arguments.host, port=arguments.port, log_level="warning")
