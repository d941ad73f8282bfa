"""Lines and bars for a reader, one object for a machine: what the commands on tables share."""

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
        "--no-header", action="store_true", help="the first line is data; name columns c1, c2, …"
    )


def opened(path: str, arguments: argparse.Namespace) -> Any:
    """The table at a path, read as the arguments say."""
    from phaselabel.tables import open_table

    delimiter = arguments.delimiter
    if delimiter is not None:
        delimiter = "\t" if delimiter == "\\t" else delimiter
        if len(delimiter) != 1:
            raise ValueError(f"--delimiter must be one character; got {arguments.delimiter!r}.")
    return open_table(path, delimiter=delimiter, encoding=arguments.encoding, header=not arguments.no_header)


class Console:
    """Talks to standard error, so that standard output stays free for ``--json``."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.json = bool(arguments.json)
        self.silent = bool(arguments.quiet or arguments.json)
        self.lively = not self.silent and sys.stderr.isatty()
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
        """A stage of the work: a bar on a terminal, a line with its seconds in a log."""
        start = perf_counter()
        bar = _Bar() if not self.lively else _terminal_bar(name, total, unit)
        try:
            yield bar
        finally:
            bar.close()
        self._seconds[name] = perf_counter() - start
        self.say(name, f"{self._seconds[name]:.1f} s")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Turn warnings into notes, each once."""

        def show(message: Any, *rest: Any) -> None:
            words = " ".join(str(message).split())
            if words not in self.notes:
                self.note(words)

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            warnings.showwarning = show  # type: ignore[assignment]
            yield

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
    try:
        from tqdm import tqdm
    except ImportError:
        return _Bar()
    return tqdm(total=total, desc=f"{name:<12}", unit=unit, unit_scale=True, leave=False, file=sys.stderr)


class Sweeps:
    """A callback of the flow that moves a bar."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._last = 0

    def __call__(self, sweep: int, state: Any, energy: Any) -> None:
        """Move on to this sweep."""
        self._bar.update(sweep - self._last)
        self._last = sweep


def amount(n_bytes: float) -> str:
    """Bytes for a reader.

    Examples
    --------
    >>> amount(3_200_000), amount(5e9)
    ('3 MB', '5.0 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes / 1e6, 1):.0f} MB"
