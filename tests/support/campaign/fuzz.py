"""Numbers in, hostile inputs run and counted: ``make fuzz``, or ``make fuzz MINUTES=120``.

Inputs of all subjects run in turns in one child process, thousands one after another. A child that dies or
stands still is replaced; the input that ended it is kept. Inputs are numbered, so that a campaign goes on
where the last one ended (``--state``), or tries numbers that no other has tried (``--first``).
"""

import argparse
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from campaign.child import HEAD, PROGRESS, input_of, keep_failure  # noqa: E402
from campaign.subjects import all_subjects  # noqa: E402

#: Seconds of the clock without a new case after which a child stands still.
STANDSTILL = 180
#: Seconds of one child at most; a new process forgets what earlier inputs have left.
LIFE = 3600


def main() -> int:
    """Run the campaign; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", nargs="*", help="names of subjects, or beginnings of names")
    parser.add_argument(
        "--failures", type=Path, default=Path("out/fuzz"), help="where failing inputs are kept"
    )
    parser.add_argument("--state", type=Path, help="a file with the counts, read and written")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input of each subject")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    subjects = all_subjects()
    names = [n for n in subjects if not arguments.only or any(n.startswith(o) for o in arguments.only)]
    if arguments.list:
        print("\n".join(names))
        return 0
    arguments.failures.mkdir(parents=True, exist_ok=True)
    state = Tally(arguments.state, arguments.first)
    end = time.time() + 60 * arguments.minutes
    scratch = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        while time.time() < end:
            run_child(names, min(end, time.time() + LIFE), state, arguments.failures.absolute(), scratch)
            state.save()
    except KeyboardInterrupt:
        pass
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        state.save()
    print(state.report())
    failed = sorted(path.name for path in arguments.failures.glob("*.json"))
    print(f"failing inputs kept in {arguments.failures}: {len(failed)}")
    print("\n".join(f"  {name}" for name in failed))
    return 1 if failed else 0


class Tally:
    """Counts by subject: inputs, accepted, refused, misbehaved, and children that ended by a signal."""

    def __init__(self, path: Path | None, first: int = 0) -> None:
        self._path, self.first, self.place, self.seconds = path, first, 0, 0.0
        self.counts: dict[str, Counter[str]] = {}
        if path is not None and path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.seconds, self.place, self.first = kept["seconds"], kept["place"], kept["first"]
            self.counts = {name: Counter(count) for name, count in kept["counts"].items()}

    def of(self, name: str) -> Counter[str]:
        """The counts of one subject."""
        return self.counts.setdefault(name, Counter())

    def save(self) -> None:
        """Write the counts to the file."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._path.with_suffix(".draft")
            kept: dict[str, Any] = {"seconds": round(self.seconds), "first": self.first, "place": self.place}
            kept["counts"] = self.counts
            draft.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            draft.replace(self._path)

    def report(self) -> str:
        """A table for the terminal."""
        total: Counter[str] = Counter()
        lines = [f"{'subject':32} {'inputs':>9} {'accepted':>9} {'refused':>9} {'failed':>7} {'signals':>8}"]
        for name, count in sorted(self.counts.items()):
            total.update(count)
            lines.append(_line(name, count))
        return "\n".join([*lines, _line("all", total), f"{self.seconds / 3600:.2f} hours"])


def _line(name: str, count: Counter[str]) -> str:
    return (
        f"{name:32} {count['inputs']:>9,} {count['accepted']:>9,} {count['refused']:>9,} "
        f"{count['failed']:>7,} {count['signals']:>8,}"
    )


def run_child(names: list[str], deadline: float, state: Tally, failures: Path, scratch: Path) -> None:
    """Run one child, and keep the input that ended it if one did."""
    start = time.time()
    with tempfile.NamedTemporaryFile(dir=scratch) as file, open(scratch / "errors", "w+b") as errors:
        file.write(HEAD.pack(state.place % len(names)))
        for name in names:
            file.write(PROGRESS.pack(state.first + state.of(name)["inputs"], 0, 0))
        file.flush()
        progress = mmap.mmap(file.fileno(), 0)
        words = [str(deadline), file.name, str(failures), str(scratch / "room"), *names]
        child = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "campaign.child", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=_environment(),
        )
        stood_still = _watched(child, progress)
        errors.seek(max(0, errors.seek(0, 2) - 4000))
        said = errors.read().decode("utf-8", "replace")
        (place,) = HEAD.unpack_from(progress, 0)
        for at, name in enumerate(names):
            count = state.of(name)
            number, accepted, refused = PROGRESS.unpack_from(progress, HEAD.size + PROGRESS.size * at)
            done = number - state.first - count["inputs"]
            count.update(inputs=done, accepted=accepted, refused=refused, failed=done - accepted - refused)
    state.seconds += time.time() - start
    state.place = place + 1
    if child.returncode != 0:
        count = state.of(names[place])
        data = input_of(all_subjects()[names[place]], state.first + count["inputs"])
        reason = "stood still" if stood_still else _signal_name(child.returncode)
        keep_failure(failures, names[place], data, f"the process ended: {reason}", said)
        count.update(inputs=1, failed=1, signals=1)


def _watched(child: subprocess.Popen[bytes], progress: mmap.mmap) -> bool:
    """Wait for a child; end it if it stands still."""
    last, since = b"", time.time()
    while child.poll() is None:
        time.sleep(0.1)
        now = bytes(progress)
        if now != last:
            last, since = now, time.time()
        if time.time() - since > STANDSTILL:
            child.kill()
            child.wait()
            return True
    return False


def _signal_name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _environment() -> dict[str, str]:
    path = [str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, path))}


if __name__ == "__main__":
    sys.exit(main())
