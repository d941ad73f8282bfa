"""One process that runs many inputs within limits of memory, time and output.

The limits are the system's: a case that takes too much processor time is ended by a signal, and so is one
that writes too much. The number of the case at hand is in shared memory, so that the parent knows which
input ended the process; the same number makes the same input.
"""

import base64
import gc
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from campaign.subjects import Subject, all_subjects, judged

#: Bytes that a process may reserve beyond what it has after the first inputs, used or not.
RESERVED = 2**34
#: Processor seconds of one case.
SECONDS = 10
#: Bytes of a file that a case may write.
OUTPUT = 2**26
#: What is in shared memory: the place of the subject at hand, then for every subject the number of its case,
#: and how many cases were accepted and refused.
HEAD, PROGRESS = struct.Struct("<q"), struct.Struct("<qqq")
#: Cases of a subject before the memory counts: imports, compiled kernels, caches.
WARM_UP = 5
#: Processor seconds that a subject of weight 1 has before the next one has its turn.
TURN = 0.2

#: Events of Python that no input may cause: other programs, the network, code from pickles.
FORBIDDEN = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "pty.spawn",
    "socket.connect", "socket.getaddrinfo", "pickle.find_class", "urllib.Request",
)  # fmt: skip


def input_of(subject: Subject, number: int) -> bytes:
    """Make the input with this number."""
    return subject.make(random.Random(f"{subject.name} {number}"))


def keep_failure(folder: Path, subject: str, data: bytes, what: str, trace: str = "") -> Path:
    """Write an input that failed to a file, one for each kind of failure."""
    import hashlib

    kind = re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"", "#", what + trace[-300:])
    digest = hashlib.sha256((subject + kind).encode()).hexdigest()[:12]
    path = folder / f"{subject.replace(' ', '-')}-{digest}.json"
    if not path.exists():
        document = {"subject": subject, "what": what, "data": base64.b64encode(data).decode(), "trace": trace}
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def main(words: list[str]) -> None:
    """Run cases in turns until a moment: DEADLINE PROGRESS-FILE FAILURES SCRATCH NAME…"""
    deadline, progress_file, failures, scratch, *names = words
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    subjects = [all_subjects()[name] for name in names]
    folder = Path(scratch)
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    with open(progress_file, "r+b") as file:
        progress = mmap.mmap(file.fileno(), 0)
    _limit()
    warm: set[str] = set()
    # From the subject at hand on: a child that was ended does not begin with the first one again.
    (place,) = HEAD.unpack_from(progress, 0)
    while time.time() < float(deadline):
        subject = subjects[place % len(subjects)]
        HEAD.pack_into(progress, 0, place % len(subjects))
        if subject.name not in warm:
            for number in range(WARM_UP):
                _timed(subject, input_of(subject, -1 - number), folder)
            warm.add(subject.name)
            gc.collect()
        end = time.process_time() + TURN * subject.weight
        _turn(
            subject,
            progress,
            HEAD.size + PROGRESS.size * (place % len(subjects)),
            end,
            Path(failures),
            folder,
        )
        place += 1
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # threads of the studio need not be waited for


def _turn(subject: Subject, progress: mmap.mmap, at: int, end: float, failures: Path, folder: Path) -> None:
    number, accepted, refused = PROGRESS.unpack_from(progress, at)
    peak = _peak()
    while time.process_time() < end:
        data = input_of(subject, number)
        verdict = _timed(subject, data, folder)
        before, peak = peak, _peak()
        if peak > before + subject.used:
            verdict = f"it took {(peak - before) >> 10} MiB"
        accepted += verdict == "accepted"
        refused += verdict == "refused"
        if verdict not in ("accepted", "refused"):
            keep_failure(failures, subject.name, data, verdict, _trace(subject, data, folder))
        number += 1
        PROGRESS.pack_into(progress, at, number, accepted, refused)


def _timed(subject: Subject, data: bytes, folder: Path) -> str:
    """Judge one case; the system ends the process if it takes too long."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return judged(subject, data, folder)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _peak() -> int:
    """The most memory that the process has had in use, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit() -> None:
    here = Path("/proc/self/statm")
    if here.exists():
        used = int(here.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + RESERVED, used + RESERVED))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in FORBIDDEN and not (event == "pickle.find_class" and _numba_is_at_work()):
        raise PermissionError(f"{event} {arguments!r:.100}")


def _numba_is_at_work() -> bool:
    """Whether numba reads the cache of compiled kernels, which are pickles of its own."""
    frame = sys._getframe(2)
    while frame is not None and "/numba/" not in frame.f_code.co_filename:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def _trace(subject: Subject, data: bytes, folder: Path) -> str:
    """Where the failure came from, without the folders of this machine; empty if it does not come again."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module="phaselabel")
        try:
            subject.run(data, folder)
        except BaseException:
            said = traceback.format_exc(limit=-6)
            return re.sub(r'File "[^"]*/', 'File "', said)[-2000:]
    return ""


if __name__ == "__main__":
    main(sys.argv[1:])
