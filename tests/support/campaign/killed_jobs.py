"""Long jobs that can be resumed in, kills at random moments out.

``python tests/support/campaign/killed_jobs.py --trials 20``. All processes of a job are killed at once. What
it has written must be whole, and the same command, resumed, must give what an undisturbed job gives.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from campaign.faults import _pictures, digests, leftovers  # noqa: E402


@dataclass(frozen=True)
class Job:
    """A command that can be resumed.

    Attributes
    ----------
    name : str
        Its name in the counts.
    prepare : callable
        Makes its inputs in a folder.
    words : list of str
        The command, run in that folder.
    resume : list of str
        What is added to the command so that it goes on where it was killed.
    result : callable
        What it has found, from the folder; None where there is nothing yet. Raises if a file is damaged.
    """

    name: str
    prepare: Callable[[Path], None]
    words: list[str]
    resume: list[str]
    result: Callable[[Path], Any]


def jobs() -> list[Job]:
    """All of them."""
    dask = ["label", "d.parquet", "--label", "kind", "--evidence", "none", "--dask", "local"]
    return [
        Job(
            "paper",
            lambda folder: None,
            ["paper", "two-moons", "--runs", "2", "--jobs", "1", "--quiet", "--out", "o"],
            ["--resume"],
            _experiments,
        ),
        Job(
            "Dask with a checkpoint",
            _parts,
            [*dask, "--checkpoint", "c", "--out", "o.parquet", "--force", "--quiet"],
            ["--resume"],
            _labels,
        ),
        Job(
            "segment --train",
            lambda folder: _pictures(folder, 1),
            ["segment", "--train", "marks", "images", "--out", "l", "--quiet"],
            [],
            _label_images,
        ),
    ]


def _parts(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    rng = random.Random(0)
    (folder / "d.parquet").mkdir()
    for part in range(2):
        kinds = [i % 2 for i in range(60)]
        columns = {
            "a": [5 * k + rng.gauss(0, 1) for k in kinds],
            "b": [rng.gauss(0, 1) for _ in kinds],
            "kind": ["pq"[k] if i < 6 else None for i, k in enumerate(kinds)],
        }
        parquet.write_table(pyarrow.table(columns), folder / "d.parquet" / f"{part}.parquet")


def _labels(folder: Path) -> Any:
    from pyarrow import parquet

    files = sorted((folder / "o.parquet").glob("*.parquet"))
    return [parquet.read_table(file)["kind_predicted"].to_pylist() for file in files] or None


def _label_images(folder: Path) -> Any:
    """The pictures and their summaries; None while the table of all of them, the last file, is not there."""
    found = digests(folder, ("l",))
    for path in (folder / "l").glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for picture in (folder / "l").glob("*.png"):
        assert picture.read_bytes().endswith(b"IEND\xaeB`\x82"), picture
    return found if "l/summary.csv" in found else None


def _experiments(folder: Path) -> Any:
    """The accuracies; the pages are whole if they end as they must."""
    out = folder / "o"
    for page in out.glob("*.html"):
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>"), page
    for picture in out.rglob("*.png"):
        assert picture.read_bytes().endswith(b"IEND\xaeB`\x82"), picture
    if not (out / "paper.json").exists():
        return None
    document = json.loads((out / "paper.json").read_text(encoding="utf-8"))
    return re.findall(r'"accuracy[^:]*: [^,}]*', json.dumps(document["experiments"]))


def killed(words: list[str], folder: Path, moment: float) -> bool:
    """Start a job and kill all its processes; False if it was faster."""
    process = _started(words, folder)
    try:
        process.wait(moment)
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _started(words: list[str], folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *words],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "said").open("wb"),
    )


def trials(job: Job, count: int, rng: random.Random, failures: list[str]) -> int:
    """Kill a job many times and resume it every fourth time; return the number of kills."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        whole = Path(home, "whole")
        whole.mkdir()
        job.prepare(whole)
        start = time.monotonic()
        assert _started(job.words, whole).wait() == 0, (whole / "said").read_text()
        seconds, expected = time.monotonic() - start, job.result(whole)
        print(f"{job.name}: {seconds:.1f} s", flush=True)
        kills, folder = 0, Path(home, "room")
        for number in range(count):
            if number % 4 == 0:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                job.prepare(folder)
            again = job.resume if number % 4 else []
            kills += killed([*job.words, *again], folder, seconds * rng.random())
            try:
                found = job.result(folder)
            except Exception as error:
                failures.append(f"{job.name}: damaged after a kill: {error!r}")
                continue
            if found not in (None, expected):
                failures.append(f"{job.name}: another result after a kill")
            if number % 4 == 3:
                code = _started([*job.words, *job.resume], folder).wait()
                if code or job.result(folder) != expected:
                    said = (folder / "said").read_text(errors="replace")[-500:]
                    failures.append(f"{job.name}: resumed with exit code {code}: {said}")
                elif left := leftovers(folder):
                    failures.append(f"{job.name}: left behind: {left}")
        return kills


def main() -> int:
    """Kill; the exit code is 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    failures: list[str] = []
    rng = random.Random(arguments.seed)
    for job in jobs():
        if not arguments.only or job.name in arguments.only:
            kills = trials(job, arguments.trials, rng, failures)
            print(f"{job.name}: {kills} kills, {len(failures)} failures so far", flush=True)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
