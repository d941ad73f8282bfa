"""A list of words in, an exit code out: find the command, run it, turn its errors into sentences."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from phaselabel import __version__

#: Commands in the order of the help: name -> one line of help. Each lives in a module of its name.
COMMANDS: dict[str, str] = {
    "segment": "an image and a few marks in, a class for every pixel out",
    "paper": "run the paper's experiments again, beside the printed results",
    "doctor": "versions, threads, caches and data sets found on this machine",
}

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = """\
exit codes:
  0    done
  1    the input could not be processed; the message says why and what to do
  2    the command line itself is wrong
  130  interrupted; nothing half-written is left behind
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        code = import_module(f"phaselabel.cli.{arguments.command}").run(arguments)
        return int(code or OK)
    except KeyboardInterrupt:
        print("phaselabel: interrupted; nothing half-written is left behind.", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ImportError, MemoryError) as error:
        if arguments.debug:
            raise
        print(f"phaselabel {arguments.command}: {_sentence(error)}", file=sys.stderr)
        return FAILED


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; importing a command's arguments must stay cheap."""
    parser = argparse.ArgumentParser(
        prog="phaselabel",
        description="Label everything from a few labels.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"phaselabel {__version__}")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, summary in COMMANDS.items():
        module = import_module(f"phaselabel.cli.{name}")
        sub = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=getattr(module, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--debug", action="store_true", help="show the whole traceback of an error")
        module.add_arguments(sub)
    return parser


def _sentence(error: BaseException) -> str:
    """An error's text on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, MemoryError) and not str(error):
        return "not enough memory; use fewer rows or columns."
    return " ".join(str(error).split())
