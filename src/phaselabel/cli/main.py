"""A list of words in, an exit code out: find the command, run it, turn its errors into sentences."""

import argparse
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from phaselabel import __version__
from phaselabel.cli.console import as_options
from phaselabel.io import atomic

#: The commands in the order of the help, each with one line of help. Each has a module of its name.
COMMANDS: dict[str, str] = {
    "segment": "an image and a few marks in, a class for every pixel out",
    "paper": "run the paper's experiments again, beside the printed results",
    "label": "label every row of a table from a few labels",
    "query": "choose the rows whose labels would help most, as a table to fill in",
    "predict": "label the rows of another table with a saved model",
    "studio": "label by drawing or by answering questions, on a page in your browser",
    "backend": "answer Label Studio: predictions for texts from the annotations so far",
    "inspect": "show what a table would be read as, or what a result or a saved model holds",
    "doctor": "show versions, threads, caches and data sets on this machine",
    "completion": "print a script that completes commands and options in your shell",
}

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

EXAMPLES = """\
examples:
  phaselabel label customers.csv --label segment --out labelled.csv
  phaselabel label embeddings.npy --labels labels.csv --out labels_out.parquet
  phaselabel label posts.parquet --text body --label topic --report report.html
  phaselabel predict model/ new.csv --out predicted.csv

"phaselabel COMMAND --help" explains a command, with examples.

"""

EXIT_CODES = """\
exit codes:
  0    done
  1    the input could not be processed; the message says why and what to do
  2    the command line itself is wrong
  130  interrupted; no incomplete file is left
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``phaselabel``; by default those of this process.

    Returns
    -------
    int
        The exit code.
    """
    _open_streams()
    try:
        arguments = build_parser().parse_args(argv)
    except KeyboardInterrupt:
        return _interrupted()
    try:
        code = _interruptible(lambda: import_module(f"phaselabel.cli.{arguments.command}").run(arguments))
        sys.stdout.flush()
        return int(code or OK)
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        # The reader of our output has gone; without this Python reports it once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if arguments.debug:
            raise
        words = as_options(_sentence(error), arguments)
        print(f"phaselabel {arguments.command}: {words}", file=sys.stderr)
        return FAILED


def _open_streams() -> None:
    """Open streams that were closed; otherwise the first files to be opened would take their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="phaselabel",
        description="Label everything from a few labels.",
        epilog=EXAMPLES + EXIT_CODES,
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


def _interruptible(work: Callable[[], Any]) -> Any:
    """Do the work in a second thread, so that the first one receives Ctrl-C while a kernel computes."""
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = work()
        except BaseException as error:
            outcome["error"] = error

    worker = threading.Thread(target=run, name="phaselabel", daemon=True)
    here = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if here else None
    try:
        worker.start()
        while worker.is_alive():
            worker.join(0.2)
    except KeyboardInterrupt:
        # The worker may be in compiled code, which can't be stopped; so the process ends here.
        _interrupted()
        os._exit(INTERRUPTED)
    finally:
        if here:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
    if "error" in outcome:
        raise outcome["error"]
    return outcome.get("result")


def _interrupted() -> int:
    """Remove incomplete files, and say so."""
    atomic.abandon()
    print("phaselabel: interrupted; no incomplete file is left.", file=sys.stderr, flush=True)
    return INTERRUPTED


def _sentence(error: BaseException) -> str:
    """The text of an error on one line."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        where = f" for {error.filename}; it was not written" if error.filename else ""
        return f"no space left on the disk{where}. Free some space or choose another place."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, MemoryError) and not str(error):
        return "not enough memory; use fewer rows or columns."
    words = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError | ImportError | MemoryError):
        return words
    return f"this is a fault in phaselabel ({type(error).__name__}: {words}); --debug shows where."
