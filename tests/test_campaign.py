"""A bounded share of the campaign of hostile inputs and faults, and every input that failed once."""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phaselabel
from campaign import functions
from campaign.draws import HypothesisDraws
from campaign.faults import compiled_shim
from campaign.power_loss import Disk, disks_after
from campaign.subjects import Subject, WrongError, all_subjects, judged

CAMPAIGN = Path(__file__).parent / "support" / "campaign"

#: Inputs of each kind in this test; those of the slow kinds are fewer.
INPUTS = 12


def run(script, *words, timeout=300):
    return subprocess.run(
        [sys.executable, str(CAMPAIGN / script), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_every_public_name_is_tried():
    sources = "".join(path.read_text(encoding="utf-8") for path in CAMPAIGN.glob("*.py"))
    results = {"Energy", "Progress", "Segmentation", "Solution"}  # what others return, and a bar
    names = set(phaselabel.__all__) - results - {"__version__"}
    assert not [name for name in sorted(names) if not re.search(rf"\b{name}\b", sources)]


def test_no_past_failure_comes_back():
    done = run("replay.py")
    bad = [line for line in done.stdout.splitlines() if not line.endswith((" accepted", " refused"))]
    assert not bad, bad
    assert done.returncode == 0, f"the process ended at {done.stdout.splitlines()[-1:]}"


@pytest.mark.parametrize("name", [name for name, subject in all_subjects().items() if subject.weight >= 1])
def test_a_few_hostile_inputs_of_every_cheap_kind(name, tmp_path):
    subject = all_subjects()[name]
    for number in range(INPUTS):
        data = subject.make(random.Random(f"{name} test {number}"))
        verdict = judged(subject, data, tmp_path)
        assert verdict in ("accepted", "refused"), f"input {number}: {verdict}"


@pytest.mark.parametrize("name", [name for name, (_, weight) in functions.functions().items() if weight >= 2])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_functions_take_anything(name, data):
    subject = Subject(
        name, lambda rng: b"", lambda _, __: functions.functions()[name][0](HypothesisDraws(data))
    )
    verdict = judged(Subject(name, subject.make, subject.run, errors=functions.ERRORS), b"", Path())
    assert verdict in ("accepted", "refused"), verdict


def test_what_goes_wrong_is_noticed(tmp_path):
    def fail(error):
        def run(data, folder):
            raise error

        return judged(Subject("a", lambda rng: b"", run), b"", tmp_path)

    assert fail(ValueError("a sentence.")) == "refused"
    assert fail(ValueError("")).startswith("unclear error")
    assert fail(KeyError("a")).startswith("foreign error")
    assert fail(UnicodeDecodeError("utf-8", b"", 0, 1, "no")).startswith("foreign error")
    assert fail(WrongError("NaN")).startswith("wrong result")
    assert judged(Subject("a", lambda rng: b"", lambda data, folder: None), b"", tmp_path) == "accepted"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of processes")
def test_an_input_that_ends_its_process_is_kept(tmp_path):
    subject = (
        "import os, sys\n"
        "from campaign import fuzz, subjects\n"
        "def run(data, folder):\n"
        "    if data[0] % 50 == 7: os.kill(os.getpid(), 11)\n"
        "fake = {'fake': subjects.Subject('fake', lambda rng: rng.randbytes(4), run)}\n"
    )
    child, bad = tmp_path / "child.py", tmp_path / "bad"
    child.write_text(
        f"{subject}import campaign.child as child\n"
        "child.all_subjects = lambda: fake\n"
        "child.main(sys.argv[1:])\n"
    )
    parent = (
        f"{subject}import subprocess\n"
        f"sys.argv = ['fuzz', '--minutes', '0.05', '--failures', {str(bad)!r}]\n"
        "fuzz.all_subjects = lambda: fake\n"
        "real = subprocess.Popen\n"
        f"started = lambda words, **options: real([words[0], {str(child)!r}, *words[5:]], **options)\n"
        "fuzz.subprocess.Popen = started\n"
        "print(fuzz.main())\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(CAMPAIGN.parent), *sys.path])}
    words = [sys.executable, "-c", parent]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
    assert "SIGSEGV" in "".join(path.read_text() for path in bad.glob("fake-*.json")), done.stderr
    assert done.stdout.rstrip().endswith("1")


@pytest.mark.parametrize("code", [0, 77])
def test_a_guided_process_that_ends_badly_is_a_failure(code, tmp_path):
    """With an atheris that does nothing but end the process."""
    fake = (
        "import contextlib, sys\n"
        "instrument_imports = lambda **options: contextlib.nullcontext()\n"
        "Setup = lambda words, one: None\n"
        f"Fuzz = lambda: sys.exit({code})\n"
    )
    (tmp_path / "atheris.py").write_text(fake)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    words = [sys.executable, CAMPAIGN / "guided.py", "--only", "Marks", "--failures", tmp_path / "bad"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == (1 if code else 0), done.stdout + done.stderr


needs_compiler = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not (shutil.which("cc") or shutil.which("gcc")),
    reason="faults at chosen changes need Linux and a C compiler",
)


@needs_compiler
def test_a_few_faults_while_models_are_saved(tmp_path):
    done = run("faults.py", "--trials", 1, "--only", "save", "--failures", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


@needs_compiler
def test_a_file_that_is_not_flushed_is_lost_with_the_power(tmp_path):
    """The player of power losses finds what it is for: a rename without a flush."""
    shim = compiled_shim(tmp_path)
    home, log, copies = tmp_path / "home", tmp_path / "log", tmp_path / "copies"
    home.mkdir()
    copies.mkdir()
    (home / "a").write_text("old")
    before = Disk.of(home)
    code = (
        "import ctypes, os, sys\n"
        f"shim = ctypes.CDLL({str(shim)!r})\n"
        f"shim.fault_log({str(log).encode()!r}, {str(copies).encode()!r})\n"
        f"shim.fault_set({str(home).encode()!r}, 0, 0, ctypes.c_long(-1), ctypes.c_long(0))\n"
        f"os.chdir({str(home)!r})\n"
        "with open('b', 'w') as file:\n"
        "    file.write('new')\n"
        "    if len(sys.argv) > 1:\n"
        "        file.flush()\n"
        "        os.fsync(file.fileno())\n"
        "os.rename('b', 'a')\n"
    )
    for flushed in (False, True):
        log.unlink(missing_ok=True)
        (home / "a").write_text("old")
        words = [sys.executable, "-c", code, *(["flush"] if flushed else [])]
        subprocess.run(words, check=True, env=os.environ | {"LD_PRELOAD": str(shim)})
        found = set()
        for _, disk in disks_after(before, log):
            disk.write(str(home), tmp_path / "after")
            found.add((tmp_path / "after" / "a").read_text())
        assert found == ({"old", "new"} if flushed else {"old", ""})
