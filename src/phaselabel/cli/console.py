"""Arguments and results in, printed lines and bars, or one JSON object, out; for the commands on tables."""

import argparse
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is printed."""
    group = parser.add_argument_group("printing")
    group.add_argument("--quiet", action="store_true", help="print errors only")
    group.add_argument("--json", action="store_true", help="print only one JSON object, at the end")


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a text file is read."""
    group = parser.add_argument_group("reading files")
    group.add_argument(
        "--delimiter", metavar="CHAR", help="the separator (default: , for .csv, tab for .tsv)"
    )
    group.add_argument("--encoding", default="utf-8", metavar="NAME", help="the encoding (default: utf-8)")
    group.add_argument("--decimal", choices=(".", ","), default=".", help="the decimal mark (default: .)")
    group.add_argument(
        "--no-header", action="store_true", help="the first line is data; the columns are called c1, c2, …"
    )
    group.add_argument(
        "--sheet", metavar="NAME", help="the sheet of a workbook, or the table of a database, to read"
    )


def positive(word: str) -> int:
    """The type of an argument that is a whole number of at least 1."""
    if not (word.isascii() and word.isdigit() and int(word) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {word!r}")
    return int(word)


def between(low: float, high: float, whole: bool = False) -> Callable[[str], Any]:
    """The type of an argument that is a number, or a whole number, from one number to another."""
    kind, what = (int, "whole number") if whole else (float, "number")

    def read(word: str) -> Any:
        try:
            if low <= kind(word) <= high:
                return kind(word)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"must be a {what} between {low:g} and {high:g}; got {word!r}")

    return read


def output_of(arguments: argparse.Namespace, ending: str) -> Path:
    """The file to write: ``--out``, or one beside the source whose name ends in ``ending``."""
    from phaselabel.io.atomic import refuse_existing
    from phaselabel.io.tables import target_format

    source = Path(arguments.table)
    if source.is_dir():
        raise ValueError(f"{source} is a folder; name the file with the table.")
    out = Path(arguments.out) if arguments.out else source.with_name(_named(source, ending))
    if out.exists() and source.exists() and out.samefile(source):
        raise ValueError(f"--out {out} is the table itself; choose another name.")
    if arguments.out:
        target_format(out)
    refuse_existing(out, arguments.force)
    return out


def refuse_clashes(written: Mapping[str, Any], read: Iterable[Any], folder: Any = None) -> None:
    """Raise if a file that is read would be replaced, or if two results would be one file.

    Parameters
    ----------
    written : dict of str to path
        The results by their options; None where there is none.
    read : iterable of paths
        What the command reads; None among them is left out.
    folder : path, optional
        A folder of which every file is read: a model, or a table in many files.
    """
    taken = {os.path.realpath(path): "a file that is read" for path in read if path}
    whole = Path(os.path.realpath(folder)) if folder else None
    for option, path in written.items():
        if path:
            place = os.path.realpath(path)
            if whole and whole in Path(place).parents and os.path.isfile(place):
                taken[place] = "a file that is read"
            if place in taken:
                raise ValueError(f"{option} {path} is {taken[place]}; choose another name.")
            taken[place] = f"the file of {option} too"


def refuse_idle_options(arguments: argparse.Namespace) -> None:
    """Refuse ``--id`` and ``--sheet`` where nothing that is read has a use for them."""
    if getattr(arguments, "id", None) and arguments.labels is None:
        raise ValueError("--id joins the labels of another file; name it with --labels, or leave --id out.")
    if arguments.sheet:
        from phaselabel.io.tables.reading import DATABASES, WORKBOOKS

        names = ("table", "results", "source", "labels", "graph", "evidence")
        files = [str(getattr(arguments, name, None)) for name in names]
        if not any(file.lower().endswith((*DATABASES, *WORKBOOKS)) for file in files):
            raise ValueError(
                "--sheet names a part of an Excel, SQLite or DuckDB file, and none is given; leave it out."
            )


def given_files(arguments: argparse.Namespace) -> list[str]:
    """The files that a command on a table reads."""
    named = [arguments.table, arguments.labels, arguments.graph]
    return [*filter(None, named), *([] if arguments.evidence in ("auto", "none") else [arguments.evidence])]


def _named(source: Path, ending: str) -> str:
    """The name of the output: that of the source, with an ending and an extension that can be written."""
    plain = Path(source.stem) if source.suffix.lower() in (".gz", ".bz2", ".xz", ".zst") else source
    readable_only = (".npy", ".xlsx", ".xlsm", ".sqlite", ".sqlite3", ".db", ".duckdb", ".ddb")
    suffix = ".csv" if plain.suffix.lower() in readable_only else plain.suffix
    return f"{plain.stem}_{ending}{suffix}"


def warn_of_host(host: str, who: str) -> None:
    """Say what an address means that other machines can reach; ``who`` begins the second sentence."""
    from phaselabel.studio.security import is_loopback

    if not is_loopback(host):
        print(
            f"Warning: --host {host} lets other machines in. {who} can see your data and change your labels, "
            "and the connection is not encrypted.",
            file=sys.stderr,
        )


def opened(path: str, arguments: argparse.Namespace) -> Any:
    """The table at a path, read as the arguments say."""
    from phaselabel.io.tables import open_table

    return open_table(path, **reading_options(arguments))


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the arguments say about reading a text file, as options of ``open_table``."""
    delimiter = arguments.delimiter
    if delimiter is not None:
        delimiter = "\t" if delimiter in ("\\t", "tab", "TAB") else delimiter
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise ValueError(
                f"--delimiter must be one plain character (; or | or TAB); got {arguments.delimiter!r}."
            )
    return {
        "delimiter": delimiter, "encoding": arguments.encoding, "header": not arguments.no_header,
        "decimal": arguments.decimal, "sheet": arguments.sheet,
    }  # fmt: skip


class Console:
    """Prints to standard error, so that standard output is free for ``--json``.

    Attributes
    ----------
    json, silent, lively : bool
        Whether to print JSON at the end, whether to print no lines, whether to show bars.
    facts : dict
        Entries of the JSON object.
    notes : list of str
        What the user should know before trusting the result.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self.json = bool(arguments.json)
        self.silent = bool(arguments.quiet or arguments.json)
        self.lively = not self.silent and sys.stderr.isatty() and find_spec("tqdm") is not None
        self.facts: dict[str, Any] = {}
        self.notes: list[str] = []
        self._seconds: dict[str, float] = {}

    def say(self, heading: str, words: str = "") -> None:
        """Print one line, also where a name from the data has a line break or steers the terminal."""
        if not self.silent:
            words = "".join(letter if letter.isprintable() else " " for letter in words)
            print(f"{heading:<12} {words}".rstrip(), file=sys.stderr, flush=True)

    def note(self, words: str) -> None:
        """Print something that the user should know before trusting the result, unless a note has said it."""
        words = as_options(words, self._arguments)
        if not any(words in said for said in self.notes):
            self.notes.append(words)
            self.say("note", words)

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "row") -> Iterator[Any]:
        """A stage of the work: a line with its seconds. With ``total`` a bar, or lines if it is long."""
        start = perf_counter()
        bar: Any = _Bar()
        if total and not self.silent:
            bar = _terminal_bar(name, total, unit) if self.lively else _Lines(self.say, name, total, unit)
        try:
            yield bar
        finally:
            bar.close()
        self._seconds[name] = perf_counter() - start
        self.say(name, f"{self._seconds[name]:.1f} s")

    @contextmanager
    def sweeps(self, most: int) -> Iterator[Callable[..., None]]:
        """A callback of the flow that moves a bar, which is shown after the first sweep."""
        bars: list[Any] = []

        def watch(sweep: int, state: Any, energy: Any) -> None:
            if not bars:
                bars.append(_terminal_bar("flow, at most", most, "sweep") if self.lively else _Bar())
            bars[0].update(sweep - bars[0].n)

        try:
            yield watch
        finally:
            for bar in bars:
                bar.close()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Turn warnings into notes, each once, and log entries into lines."""

        def show(message: Any, *rest: Any) -> None:
            self.note(" ".join(str(message).split()))

        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self.say("note", record.getMessage())  # type: ignore[method-assign]
        logger = logging.getLogger("phaselabel")
        logger.addHandler(handler)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                # The plan of a table says so of more words, and names an option.
                warnings.filterwarnings("ignore", ".* which is what a missing value becomes as text")
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", FutureWarning)
                warnings.showwarning = show  # type: ignore[assignment]
                yield
        finally:
            logger.removeHandler(handler)

    def finish(self, **facts: Any) -> None:
        """Print the object of ``--json``."""
        if self.json:
            seconds = {name: round(value, 3) for name, value in self._seconds.items()}
            everything = self.facts | facts | {"notes": self.notes, "seconds": seconds}
            print(json.dumps(everything, ensure_ascii=False, indent=1))


def say_abstained(console: Console, n_rows: int, below: float | None) -> None:
    """Say how many rows have a class that is not sure enough to be written."""
    if n_rows:
        console.say("abstained", f"{n_rows:,} rows have a confidence below {below:g}; they are left empty")


#: Where bars can't be drawn, a long stage prints a line after so many seconds.
SECONDS_A_LINE = 10.0

#: The options that stand for parameters.
OPTIONS = {
    "n_neighbors": "--neighbors", "class_sizes": "--class-sizes", "abstain_below": "--abstain-below",
    "max_iter": "--max-iter", "fidelity": "--fidelity", "epsilon": "--epsilon", "metric": "--metric",
    "overwrite=True": "--force", "model_columns": "--model-columns",
}  # fmt: skip


def as_options(words: str, arguments: argparse.Namespace) -> str:
    """A sentence about parameters with the options of the command in their place, where it has them.

    Examples
    --------
    >>> as_options("label one row in each part, or raise n_neighbors.", argparse.Namespace(neighbors=10))
    'label one row in each part, or raise --neighbors.'
    """
    for name, option in OPTIONS.items():
        if not hasattr(arguments, option.strip("-").replace("-", "_")):
            continue
        if name.isalpha():  # a common word too: only where it is what must be changed
            words = re.sub(rf"^{name}(?= must)", option, words)
        else:
            words = re.sub(rf"(?<![\w-]){name}(?!\w)", option, words)
    return words


class _Lines:
    """Where bars can't be drawn: a line every so often that says how far a stage has come."""

    def __init__(self, say: Callable[[str, str], None], name: str, total: int, unit: str) -> None:
        self._say, self._name, self._total, self._unit = say, name, total, unit
        self._start = self._last = perf_counter()
        self.n = 0

    def update(self, step: int = 1) -> None:
        """Count, and print a line if the last one is SECONDS_A_LINE old."""
        self.n += step
        now = perf_counter()
        if now - self._last < SECONDS_A_LINE or self.n >= self._total:
            return
        self._last = now
        left = (now - self._start) * (self._total - self.n) / max(self.n, 1)
        words = f"{left / 60:.0f} min" if left >= 120 else f"{left:.0f} s"
        self._say(self._name, f"{self.n:,} of {self._total:,} {self._unit}s, about {words} left")

    def close(self) -> None:
        """Do nothing."""


class _Bar:
    """A bar that is not shown."""

    n = 0

    def update(self, step: int = 1) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _terminal_bar(name: str, total: int | None, unit: str) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc=f"{name:<12}", unit=unit, unit_scale=True, leave=False, file=sys.stderr)


def amount(n_bytes: float) -> str:
    """A number of bytes as text.

    Examples
    --------
    >>> amount(3_200_000), amount(5e9)
    ('3 MB', '5.0 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes / 1e6, 1):.0f} MB"
