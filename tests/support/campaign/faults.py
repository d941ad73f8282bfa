"""Faults on purpose while commands write: ``make faults``, or ``make faults TRIALS=100``.

Afterwards every output is the old one or the new one, whole; nothing else is left once the command has run
again; and that run succeeds. Needs Linux and a C compiler for the faults at chosen changes.
"""

import argparse
import errno
import hashlib
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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from campaign.power_loss import Disk, disks_after  # noqa: E402

#: What the shim does at the chosen change.
END, FAIL = 1, 2
#: A dying disk, a full one, one that is read-only.
ERRORS = (errno.EIO, errno.ENOSPC, errno.EROFS)


@dataclass(frozen=True)
class Command:
    """A command that writes.

    Attributes
    ----------
    name : str
        Its name in the counts.
    prepare : callable
        Makes the inputs in a folder, for one of two seeds.
    words : list of str
        The command, run in that folder.
    outputs : tuple of str
        What it writes.
    """

    name: str
    prepare: Callable[[Path, int], None]
    words: list[str]
    outputs: tuple[str, ...]


def commands() -> list[Command]:
    """All of them."""
    quiet = ["--force", "--quiet"]
    label = ["label", "t.csv", "--label", "kind", "--evidence", "none", *quiet]
    return [
        Command(
            "label",
            _table,
            [*label, "--out", "o.csv", "--model", "m", "--report", "r.html"],
            ("o.csv", "m", "r.html"),
        ),
        Command("label parquet", _table, [*label, "--out", "o.parquet"], ("o.parquet",)),
        Command("predict", _model, ["predict", "m0", "new.csv", "--out", "p.csv", *quiet], ("p.csv",)),
        Command(
            "query",
            _table,
            ["query", *label[1:], "-n", "5", "--out", "ask.csv"],
            ("ask.csv",),
        ),
        Command(
            "segment", _picture, ["segment", "p.png", "--points", "p.csv", "--out", "s", "--quiet"], ("s",)
        ),
        Command(
            "segment --train",
            _pictures,
            ["segment", "--train", "marks", "images", "--out", "l", "--save", "cows", *quiet],
            ("l", "cows"),
        ),
        Command("save", _seed, ["!save", "."], ("model", "model.zip", "graph.npz")),
    ]


def _table(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines = ["a,b,c,kind"]
    for i in range(60):
        k = i % 2
        lines.append(
            f"{5 * k + rng.gauss(0, 1):.3f},{rng.gauss(0, 1):.3f},{'xy'[k]},{'pq'[k] if i < 10 else ''}"
        )
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _model(folder: Path, seed: int) -> None:
    _table(folder, seed)
    lines = (folder / "t.csv").read_text(encoding="utf-8").splitlines()
    (folder / "new.csv").write_text(
        "\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n", encoding="utf-8"
    )
    words = [
        "label",
        "t.csv",
        "--label",
        "kind",
        "--evidence",
        "none",
        "--force",
        "--quiet",
        "--out",
        "x.csv",
        "--model",
        "m0",
    ]
    subprocess.run([sys.executable, "-m", "phaselabel", *words], cwd=folder, check=True, capture_output=True)


def _picture(folder: Path, seed: int) -> None:
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 60, (14, 16, 3), dtype=np.uint8)
    pixels[:, 8:] += 150
    Image.fromarray(pixels).save(folder / "p.png")
    (folder / "p.csv").write_text(f"x,y,label\n1,{1 + seed % 5},left\n14,10,right\n", encoding="utf-8")


def _pictures(folder: Path, seed: int) -> None:
    """Two pictures, one of them with marks."""
    for name in ("images", "marks"):
        (folder / name).mkdir(exist_ok=True)
    for number, name in enumerate(("a", "b")):
        _picture(folder, seed + number)
        (folder / "p.png").replace(folder / "images" / f"{name}.png")
        (folder / "p.csv").replace(folder / "marks" / "a.csv")


def _seed(folder: Path, seed: int) -> None:
    (folder / "seed").write_text(str(seed), encoding="utf-8")


# -- judging


def digests(folder: Path, outputs: tuple[str, ...]) -> dict[str, str]:
    """What each file of the outputs holds, without the time of day."""
    out = {}
    for name in outputs:
        path = folder / name
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path] * path.exists()
        for file in files:
            if any(part.endswith(".part") for part in file.relative_to(folder).parts):
                continue  # drafts; they must be gone after the next run
            data = re.sub(rb"\d+ \w+ \d{4}, \d\d:\d\d UTC", b"", file.read_bytes())
            if file.suffix in (".npz", ".zip"):
                data = _members(file)
            out[str(file.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return out


def _members(path: Path) -> bytes:
    """The content of a zip without the times of its members; a damaged one is something else than any."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return b"".join(name.encode() + archive.read(name) for name in sorted(archive.namelist()))
    except (OSError, zipfile.BadZipFile, KeyError, EOFError):
        return b"damaged" + path.read_bytes()


def wrong_outputs(
    command: Command, now: dict[str, str], old: dict[str, str], new: dict[str, str]
) -> list[str]:
    """Outputs that are neither the old nor the new one; a model must be wholly one of them."""
    bad = []
    for name in command.outputs:
        parts = [
            {k: v for k, v in each.items() if k == name or k.startswith(f"{name}/")}
            for each in (now, old, new)
        ]
        # The files of a segmentation are exports beside each other; a model is one thing.
        if name in ("s", "l"):
            bad += [k for k, v in parts[0].items() if v not in (parts[1].get(k), parts[2].get(k))]
            bad += [k for k in parts[1] if k not in parts[0]]
        elif parts[0] not in parts[1:]:
            bad.append(name)
    return bad


def leftovers(folder: Path) -> list[str]:
    """Files that no command may leave."""
    return sorted(
        str(p.relative_to(folder)) for p in folder.rglob("*") if re.search(r"\.part$|\.tmp$|\.old$", p.name)
    )


# -- the campaign


class Campaign:
    """The server, the folders and the counts."""

    def __init__(self, shim: Path, home: Path, failures: Path) -> None:
        self.home, self.failures = home, failures
        self.counts: Counter[tuple[str, str]] = Counter()
        self.found: list[dict[str, Any]] = []
        threads = {name: "1" for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        self._server = subprocess.Popen(
            [sys.executable, str(HERE / "fault_server.py"), str(shim)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **threads, "LD_PRELOAD": str(shim)},
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == "ready\n"

    def run(self, folder: Path, words: list[str], **orders: Any) -> dict[str, Any]:
        """Run a command in a child of the server."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps({"folder": str(folder), "words": words, **orders}) + "\n")
        self._server.stdin.flush()
        return dict(json.loads(self._server.stdout.readline()))

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    def counted(self) -> dict[str, int]:
        """The counts, by command and fault."""
        return {f"{command}: {fault}": n for (command, fault), n in sorted(self.counts.items())}

    def save(self, path: Path) -> None:
        """Write the counts and the failures so far."""
        found = {"counts": self.counted(), "failures": self.found}
        path.write_text(json.dumps(found, indent=1, default=str) + "\n", encoding="utf-8")

    def note(self, command: str, fault: str, what: str, details: Any) -> None:
        """Keep a failure."""
        self.found.append({"command": command, "fault": fault, "what": what, "details": details})
        self.failures.mkdir(parents=True, exist_ok=True)
        path = self.failures / f"fault-{len(self.found):03}.json"
        path.write_text(json.dumps(self.found[-1], indent=1, default=str) + "\n", encoding="utf-8")
        print(f"FAILED {command}, {fault}: {what}", flush=True)


class Trial:
    """One command with its old and new outputs."""

    def __init__(self, campaign: Campaign, command: Command) -> None:
        self.campaign, self.command = campaign, command
        self._old, self._new = (
            campaign.home / f"{command.name.replace(' ', '-')}-{n}" for n in ("old", "new")
        )
        for seed, folder in ((1, self._old), (2, self._new)):
            folder.mkdir(parents=True)
            command.prepare(folder, seed)
            answer = campaign.run(folder, command.words)
            assert answer["code"] == 0, answer
        self.old, self.new = (digests(folder, command.outputs) for folder in (self._old, self._new))
        assert self.old != self.new
        folder = self.folder()
        answer = campaign.run(folder, command.words)
        assert answer["code"] == 0, answer
        assert digests(folder, command.outputs) == self.new, "the command is not reproducible"
        self.changes, self.seconds = answer["changes"], answer["seconds"]

    def folder(self, place: Path | None = None) -> Path:
        """New inputs with old outputs beside them."""
        folder = place or self.campaign.home / "room"
        for entry in folder.iterdir() if folder.exists() else ():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        folder.mkdir(exist_ok=True)
        shutil.copytree(self._new, folder, dirs_exist_ok=True)
        for name in self.command.outputs:
            target = folder / name
            shutil.rmtree(target, ignore_errors=True) if target.is_dir() else target.unlink(missing_ok=True)
            source = self._old / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        return folder

    def judge(
        self, fault: str, folder: Path, answer: dict[str, Any], details: Any, again: bool = True
    ) -> None:
        """Look at what is left, and run again."""
        self.campaign.counts[self.command.name, fault] += 1
        bad = wrong_outputs(self.command, digests(folder, self.command.outputs), self.old, self.new)
        if bad:
            self.campaign.note(self.command.name, fault, f"neither old nor new: {bad}", [details, answer])
        if answer.get("code") is None:
            self.campaign.note(self.command.name, fault, "stood still", [details, answer])
        if "FOREIGN" in answer.get("said", "") or "fault in phaselabel" in answer.get("said", ""):
            self.campaign.note(self.command.name, fault, "a foreign error", [details, answer])
        if again:
            answer = self.campaign.run(folder, self.command.words)
            if answer["code"] != 0 or digests(folder, self.command.outputs) != self.new:
                self.campaign.note(self.command.name, fault, "the next run failed", [details, answer])
            elif left := leftovers(folder):
                self.campaign.note(self.command.name, fault, f"left behind: {left}", details)


def kills_at_changes(trial: Trial, rng: random.Random, count: int) -> None:
    """End the process right before one of its changes."""
    moments = list(range(1, trial.changes + 1))
    for at in rng.sample(moments, min(count, len(moments))):
        folder = trial.folder()
        answer = trial.campaign.run(folder, trial.command.words, what=END, at=at)
        trial.judge("kill before a change", folder, answer, {"at": at}, again=at % 4 == 0)


def signals(trial: Trial, rng: random.Random, count: int) -> None:
    """Send a signal at a random moment: two of three in the second half, where files are written."""
    for number in range(count):
        sent = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)[number % 3]
        low = 0.5 if number % 3 else 0.0
        moment = trial.seconds * rng.uniform(low, 1.05)
        folder = trial.folder()
        answer = trial.campaign.run(folder, trial.command.words, signal=int(sent), moment=moment)
        trial.judge(sent.name, folder, answer, {"moment": moment}, again=number % 4 == 0)
        if sent != signal.SIGKILL and answer["code"] not in (0, 130, -sent):
            trial.campaign.note(trial.command.name, sent.name, f"exit code {answer['code']}", answer)
        if answer["code"] == 130 and (left := leftovers(folder)):
            trial.campaign.note(trial.command.name, sent.name, f"left behind: {left}", answer)


def errors(trial: Trial, rng: random.Random, count: int) -> None:
    """Let one change and all later ones fail: a dying disk, a full one, one that is read-only."""
    for number in range(count):
        code = ERRORS[number % 3]
        at = rng.randint(1, trial.changes)
        folder = trial.folder()
        answer = trial.campaign.run(folder, trial.command.words, what=FAIL, error=code, at=at)
        trial.judge(errno.errorcode[code], folder, answer, {"at": at}, again=number % 4 == 0)
        if answer["code"] not in (0, 1):
            trial.campaign.note(
                trial.command.name, errno.errorcode[code], f"exit code {answer['code']}", answer
            )


@contextmanager
def mounted(place: Path) -> Iterator[bool]:
    """A disk of 64 MiB in memory; False where there is no right to mount."""
    place.mkdir(exist_ok=True)
    size = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(place)]
    if subprocess.run(size, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", str(place)], check=True, capture_output=True)


@contextmanager
def little_room(place: Path, option: str) -> Iterator[None]:
    """Change a mounted disk for a while."""
    for options in (option, "rw,size=64m"):
        words = ["mount", "-o", f"remount,{options}", str(place)]
        subprocess.run(words, check=True, capture_output=True)
        if options == option:
            yield


def option_of(place: Path, rng: random.Random, number: int, most: int) -> tuple[str, str]:
    """A fault and the option of a disk: read-only, or with room for a few blocks more."""
    if number % 4 == 3:
        return "read-only folder", "ro"
    return "full disk", f"size={shutil.disk_usage(place).used + 4096 * rng.randint(0, most)}"


def small_disk(trial: Trial, rng: random.Random, count: int) -> None:
    """Run on a disk that has little room, and on one that is read-only; needs the right to mount."""
    for number in range(count):
        place = trial.campaign.home / "disk"
        with mounted(place) as there:
            if not there:
                return
            folder = trial.folder(place)
            fault, option = option_of(place, rng, number, 12)
            with little_room(place, option):
                answer = trial.campaign.run(folder, trial.command.words)
            trial.judge(fault, folder, answer, option)


def two_runs(trial: Trial, rng: random.Random, count: int) -> None:
    """Run the command three times at once, to one output."""
    for _ in range(count):
        folder = trial.folder()
        answers = trial.campaign.run(folder, trial.command.words, at_once=3)["all"]
        trial.judge("three runs at once", folder, answers[0], answers, again=False)
        if any(answer["code"] != 0 for answer in answers) or leftovers(folder):
            trial.campaign.note(
                trial.command.name, "three runs at once", "one failed, or something is left", answers
            )


def clocks(trial: Trial, rng: random.Random, count: int) -> None:
    """Run with a clock that jumps by years at every look."""
    for _ in range(count):
        folder = trial.folder()
        answer = trial.campaign.run(folder, trial.command.words, clock=10**8)
        trial.judge("a clock that jumps", folder, answer, None)
        if answer["code"] != 0:
            trial.campaign.note(
                trial.command.name, "a clock that jumps", f"exit code {answer['code']}", answer
            )


def power(trial: Trial, rng: random.Random, count: int) -> None:
    """Play what a loss of power may leave, at every change."""
    folder, log, copies = trial.folder(), trial.campaign.home / "log", trial.campaign.home / "copies"
    log.unlink(missing_ok=True)
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    before = Disk.of(folder)
    answer = trial.campaign.run(folder, trial.command.words, log=str(log), copies=str(copies))
    assert answer["code"] == 0, answer
    disks = disks_after(before, log)
    place = trial.campaign.home / "after"
    chosen = (
        disks if len(disks) <= count else sorted(rng.sample(disks, count - 1), key=disks.index) + disks[-1:]
    )
    for number, (moment, disk) in enumerate(chosen):
        disk.write(str(folder), place)
        trial.judge("loss of power", place, {"code": 0}, moment, again=number % 8 == 0)
    disks[-1][1].write(str(folder), place)
    if digests(place, trial.command.outputs) != trial.new:
        trial.campaign.note(
            trial.command.name, "loss of power", "what was reported as written was lost", disks[-1][0]
        )


class Journal:
    """A studio that records while there are faults: what it has confirmed is there afterwards, once."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._new()

    def _new(self) -> None:
        """A project with a few entries."""
        self.folder = self.campaign.home / "studio"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        answer = self.run(self.folder)
        assert answer["code"] == 0, answer
        self.changes, self.seconds, self.confirmed = answer["changes"], answer["seconds"], 12

    def run(self, folder: Path, sign: str = "", **orders: Any) -> dict[str, Any]:
        """Record twelve entries."""
        return self.campaign.run(folder, ["!journal", "p.studio", sign], **orders)

    def try_it(self, fault: str, folder: Path | None = None, **orders: Any) -> None:
        """Record under a fault, in a folder or in that of the project."""
        answer = self.run(folder or self.folder, **orders)
        answers = answer.get("all", [answer])
        said = [int(n) for one in answers for n in re.findall(r"CONFIRMED (\d+)", one["said"])]
        if any(one["code"] is None for one in answers):
            self.campaign.note("studio", fault, "stood still", answer)
        names = self.judge(fault, folder or self.folder, max(said, default=self.confirmed - 1), answer)
        if folder is None:
            self.confirmed = names
            if names > 400:
                self._new()

    def judge(self, fault: str, folder: Path, last: int, details: Any) -> int:
        """Look at what is there, and record again now and then; the number of entries."""
        from phaselabel.studio.project import Project

        self.campaign.counts["studio", fault] += 1
        project = Project(folder / "p.studio", {"room": "drawing"})
        names = [action.body["name"] for action in project.actions]
        project.close()
        if names != [f"class {n}" for n in range(len(names))] or len(names) <= last:
            self.campaign.note("studio", fault, f"{len(names)} entries, {last + 1} confirmed", details)
        if self.campaign.counts["studio", fault] % 4 == 0 and self.run(folder)["code"] != 0:
            self.campaign.note("studio", fault, "the next run failed", details)
        return len(names)


def journal(campaign: Campaign, rng: random.Random, count: int) -> None:
    """All faults for the studio; half of them kills."""
    studio = Journal(campaign)
    for number in range(count):
        at, moment = rng.randint(1, studio.changes), studio.seconds * rng.random() + 0.01
        kinds: list[tuple[str, dict[str, Any]]] = [
            *((errno.errorcode[e], {"what": FAIL, "error": e, "at": at}) for e in ERRORS),
            *((s.name, {"signal": int(s), "moment": moment}) for s in (signal.SIGINT, signal.SIGTERM)),
            ("a clock that jumps", {"clock": 10**8}),
            ("three runs at once", {"at_once": 3}),
        ]
        fault, orders = kinds[number % len(kinds)]
        studio.try_it(fault, **orders)
        if number % 2:
            studio.try_it("SIGKILL", signal=int(signal.SIGKILL), moment=moment)
        else:
            studio.try_it("kill before a change", what=END, at=at)
    for number in range(max(4, count // 8)):
        place = campaign.home / "disk"
        with mounted(place) as there:
            if there:
                shutil.copy(studio.folder / "p.studio", place)
                fault, option = option_of(place, rng, number, 3)
                with little_room(place, option):
                    answer = studio.run(place)
                said = re.findall(r"CONFIRMED (\d+)", answer["said"])
                studio.judge(fault, place, int(said[-1]) if said else studio.confirmed - 1, [option, answer])
    journal_without_power(studio, rng, count)


def journal_without_power(studio: Journal, rng: random.Random, count: int) -> None:
    """Play what a loss of power may leave; files beside the project say what was confirmed before it."""
    home, folder = studio.campaign.home, studio.folder
    log, copies = home / "log", home / "copies"
    log.unlink(missing_ok=True)
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    before = Disk.of(folder)
    answer = studio.run(folder, "sign", log=str(log), copies=str(copies))
    assert answer["code"] == 0, answer
    disks = disks_after(before, log)
    for moment, disk in rng.sample(disks, min(count, len(disks))):
        place = home / "after"
        disk.write(str(folder), place)
        signs = [int(path.name.split("-")[1]) for path in place.glob("sign-*")]
        studio.judge("loss of power", place, max(signs, default=studio.confirmed - 1), moment)


#: The faults with the share of the trials that each has.
FAULTS: list[tuple[Callable[[Trial, random.Random, int], None], float]] = [
    (kills_at_changes, 1.0),
    (signals, 0.6),
    (errors, 0.6),
    (power, 1.0),
    (small_disk, 0.2),
    (two_runs, 0.06),
    (clocks, 0.06),
]


def compiled_shim(folder: Path) -> Path | None:
    """The shim, if there is a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    out = folder / "shim.so"
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(out), str(HERE / "shim.c"), "-ldl"])
    return out if done.returncode == 0 else None


def run_campaign(
    trials: int,
    seed: int,
    failures: Path,
    only: list[str] | None = None,
    state: Path | None = None,
    kinds: list[str] | None = None,
) -> Campaign | None:
    """Run about this many trials of each command; None where there is no compiler."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        shim = compiled_shim(home)
        if shim is None:
            return None
        rng, campaign = random.Random(seed), Campaign(shim, home, failures)
        try:
            for command in commands():
                if only and command.name not in only:
                    continue
                trial = Trial(campaign, command)
                print(f"{command.name}: {trial.changes} changes, {trial.seconds:.2f} s", flush=True)
                for fault, share in FAULTS:
                    if kinds and fault.__name__ not in kinds:
                        continue
                    fault(trial, rng, max(1, round(share * trials)))
                    if state is not None:
                        campaign.save(state)
            if not only or "studio" in only:
                journal(campaign, rng, trials)
        finally:
            campaign.close()
            if state is not None:
                campaign.save(state)
        return campaign


def main() -> int:
    """Run the campaign; the exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trials", type=int, default=20, help="trials of a command with each kind of fault, about"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of commands")
    parser.add_argument(
        "--kinds", nargs="*", choices=[fault.__name__ for fault, _ in FAULTS], help="kinds of faults"
    )
    parser.add_argument("--failures", type=Path, default=Path("out/faults"))
    parser.add_argument("--state", type=Path, help="a file with the counts")
    arguments = parser.parse_args()
    start = time.time()
    campaign = run_campaign(
        arguments.trials,
        arguments.seed,
        arguments.failures,
        arguments.only,
        arguments.state,
        arguments.kinds,
    )
    if campaign is None:
        print("There is no C compiler, or this is not Linux: nothing was run.")
        return 0
    counts = campaign.counted()
    print("\n".join(f"{name:40} {n:>6}" for name, n in counts.items()))
    print(f"{sum(counts.values())} faults in {time.time() - start:.0f} s, {len(campaign.found)} failures")
    return 1 if campaign.found else 0


if __name__ == "__main__":
    sys.exit(main())
