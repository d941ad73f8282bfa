"""Lines and bars for a reader, one object for a machine: what the commands on tables share."""

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """How to talk."""
    group = parser.add_argument_group("talking")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")
    group.add_argument(
        "--json", action="store_true", help="print one JSON object at the end and nothing else"
    )


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """How to read a text file that isn't quite ordinary."""
    group = parser.add_argument_group("reading text files")
    group.add_argument(
        "--delimiter", metavar="CHAR", help="the separator; by default , for .csv, tab for .tsv"
    )
    group.add_argument("--encoding", default="utf-8", metavar="NAME", help="the encoding (default: utf-8)")
    group.add_argument(
        "--decimal", choices=(".", ","), default=".", help="the mark before a number's fraction (default: .)"
    )
    group.add_argument(
        "--no-header", action="store_true", help="the first line is data; name columns c1, c2, …"
    )


def positive(word: str) -> int:
    """A whole number of at least 1, as an argument's type."""
    if not (word.isascii() and word.isdigit() and int(word) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1; got {word!r}")
    return int(word)


def output_of(arguments: argparse.Namespace, ending: str) -> Path:
    """Where the table goes: where asked, or beside the source with an ending; refused if in the way."""
    from phaselabel.atomic import refuse_existing
    from phaselabel.tables import target_format

    source = Path(arguments.table)
    if source.is_dir():
        raise ValueError(f"{source} is a folder; name the file with the table.")
    suffix = ".csv" if source.suffix.lower() == ".npy" else source.suffix
    out = Path(arguments.out) if arguments.out else source.with_name(f"{source.stem}_{ending}{suffix}")
    if out.exists() and source.exists() and out.samefile(source):
        raise ValueError(f"--out {out} is the table itself; choose another name.")
    if arguments.out:
        target_format(out)
    refuse_existing(out, arguments.force)
    return out


def opened(path: str, arguments: argparse.Namespace) -> Any:
    """The table at a path, read as the arguments say."""
    from phaselabel.tables import open_table

    delimiter = arguments.delimiter
    if delimiter is not None:
        delimiter = "\t" if delimiter in ("\\t", "tab", "TAB") else delimiter
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise ValueError(
                f"--delimiter must be one plain character (; or | or TAB); got {arguments.delimiter!r}."
            )
    return open_table(
        path, delimiter=delimiter, encoding=arguments.encoding, header=not arguments.no_header,
        decimal=arguments.decimal,
    )  # fmt: skip


class Console:
    """Talks to standard error, so that standard output stays free for ``--json``."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.json = bool(arguments.json)
        self.silent = bool(arguments.quiet or arguments.json)
        self.lively = not self.silent and sys.stderr.isatty() and find_spec("tqdm") is not None
        self.facts: dict[str, Any] = {}
        self.notes: list[str] = []
        self._seconds: dict[str, float] = {}

    def say(self, heading: str, words: str = "") -> None:
        """One line, its words in a column of their own."""
        if not self.silent:
            print(f"{heading:<12} {words}".rstrip(), file=sys.stderr, flush=True)

    def note(self, words: str) -> None:
        """Something to know before trusting the result."""
        self.notes.append(words)
        self.say("note", words)

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "row") -> Iterator[Any]:
        """A stage of the work: a line with its seconds and, on a terminal, a bar if its end is known."""
        start = perf_counter()
        bar = _terminal_bar(name, total, unit) if self.lively and total else _Bar()
        try:
            yield bar
        finally:
            bar.close()
        self._seconds[name] = perf_counter() - start
        self.say(name, f"{self._seconds[name]:.1f} s")

    @contextmanager
    def sweeps(self, most: int) -> Iterator[Callable[..., None]]:
        """A callback of the flow that moves a bar of its own, shown when the first sweep is done."""
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
        """Turn warnings into notes, each once, and what the library logs into lines."""

        def show(message: Any, *rest: Any) -> None:
            words = " ".join(str(message).split())
            if words not in self.notes:
                self.note(words)

        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self.say("note", record.getMessage())  # type: ignore[method-assign]
        logger = logging.getLogger("phaselabel")
        logger.addHandler(handler)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", FutureWarning)
                warnings.showwarning = show  # type: ignore[assignment]
                yield
        finally:
            logger.removeHandler(handler)

    def finish(self, **facts: Any) -> None:
        """The one object of ``--json``."""
        if self.json:
            seconds = {name: round(value, 3) for name, value in self._seconds.items()}
            everything = self.facts | facts | {"notes": self.notes, "seconds": seconds}
            print(json.dumps(everything, ensure_ascii=False, indent=1))


class _Bar:
    """A bar that isn't shown."""

    n = 0

    def update(self, step: int = 1) -> None:
        """Nothing to move."""

    def close(self) -> None:
        """Nothing to close."""


def _terminal_bar(name: str, total: int | None, unit: str) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc=f"{name:<12}", unit=unit, unit_scale=True, leave=False, file=sys.stderr)


def amount(n_bytes: float) -> str:
    """Bytes for a reader.

    Examples
    --------
    >>> amount(3_200_000), amount(5e9)
    ('3 MB', '5.0 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes / 1e6, 1):.0f} MB"


def duration(seconds: float) -> str:
    """Seconds for a reader, not more exactly than they are known.

    Examples
    --------
    >>> duration(7.3), duration(44), duration(200), duration(20000)
    ('7 s', '45 s', '3 min', '5.6 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds < 20 else f"{5 * round(seconds / 5)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
