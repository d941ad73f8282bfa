"""Run the paper's experiments again and put the results beside the printed ones."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from phaselabel.cli.console import positive

NAMES = ("three-moons", "two-moons", "swiss-roll", "cows", "coil", "mnist")

EPILOG = """\
Written to DIR: paper.html (the whole report in one file), paper.md, paper.json and paper/*.png. Results of
earlier commands in DIR stay in the report, so experiments can be run one at a time.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("experiment", choices=[*NAMES, "all"], help="an experiment of the paper's section 4")
    parser.add_argument(
        "--runs",
        type=positive,
        metavar="N",
        help="runs of each experiment (default: 100; 10 for cows, 20 for mnist)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("paper-out"),
        metavar="DIR",
        help="the folder for the results (default: paper-out)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file too")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="the folder of the real data sets (default: PHASELABEL_DATA)"
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="S", help="the seed of all random choices (default: 0)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the runs that an interrupted command has finished"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="processes that run at the same time (default: one per core)",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(arguments: argparse.Namespace) -> None:
    """Run, write, and print the main figures."""
    if arguments.data and not arguments.data.is_dir():
        raise ValueError(f"--data {arguments.data} is not a folder; name the folder of the data sets.")
    from phaselabel.paper import report, reproduce, results

    if arguments.json:
        results.load(arguments.json)  # refuses a file of another kind before the first run
    bars = _Bars(quiet=arguments.quiet)
    names = NAMES if arguments.experiment == "all" else (arguments.experiment,)
    try:
        doc = reproduce(
            names,
            arguments.out,
            runs=arguments.runs,
            seed=arguments.seed,
            data_home=arguments.data,
            jobs=arguments.jobs or _cores(),
            resume=arguments.resume,
            command=_command(arguments),
            watch=bars.start,
        )
    finally:
        bars.close()
    if arguments.json:
        results.write(arguments.json, results.dump(doc))
    for name in names:
        if name in doc["absent"]:
            print(f"phaselabel paper: {name} was not run. {doc['absent'][name]}", file=sys.stderr)
    shown = [e for e in doc["experiments"] if e["experiment"] in names]
    print(report.overview(doc | {"experiments": shown}))
    print(f"Report: {arguments.out / 'paper.html'}")


class _Bars:
    """One progress bar after the other, one step per method and run."""

    def __init__(self, quiet: bool) -> None:
        self._bar: Any = None
        self._quiet = quiet
        if not quiet:
            try:
                import tqdm  # noqa: F401
            except ImportError:
                raise ImportError(
                    "Progress bars need tqdm; install it with: pip install phaselabel[paper], or add --quiet"
                ) from None

    def start(self, experiment: str, steps: int) -> Any:
        self.close()
        if self._quiet:
            return lambda step: None
        from tqdm import tqdm

        self._bar = tqdm(total=steps, desc=f"{experiment:11}", unit="step", smoothing=0.1)
        self._bar.set_postfix_str("graph")
        return self._step

    def _step(self, done: str) -> None:
        self._bar.set_postfix_str(done, refresh=False)
        self._bar.update()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _command(arguments: argparse.Namespace) -> str:
    words = ["phaselabel", "paper", arguments.experiment]
    words += ["--runs", str(arguments.runs)] if arguments.runs else []
    words += ["--seed", str(arguments.seed)] if arguments.seed else []
    return shlex.join(words)


def _seed(text: str) -> int:
    return 0 if text == "0" else positive(text)
