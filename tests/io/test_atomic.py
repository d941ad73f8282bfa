"""Writing: the old or the new content is there at every moment, nothing else is lost, nothing is left."""

import errno
import os
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

from phaselabel.io import atomic
from phaselabel.io.atomic import refuse_existing, replacing, restore

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows has neither these files nor these locks")


def owns(folder):
    """A folder of this test holds one file, whose content is a number."""
    return [entry.name for entry in folder.iterdir()] == ["number"]


def write_folder(path, number, **options):
    with replacing(path, **{"folder": True, "owns": owns} | options) as draft:
        draft.mkdir()
        (draft / "number").write_text(str(number))


def write_file(path, text, meanwhile=lambda: None, **options):
    with replacing(path, **options) as draft:
        draft.write_text(text)
        meanwhile()


def fail(error):
    raise error


@pytest.fixture(params=["swap", "two steps"])
def swap(request, monkeypatch):
    """Both ways to replace a folder."""
    if request.param == "two steps":
        monkeypatch.setattr("phaselabel.io.swap.swap", lambda one, other: False)
    return request.param


def test_a_file_is_complete_or_absent(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write_file(tmp_path / "a", "half", lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []
    with replacing(tmp_path / "a") as draft:
        assert draft.name == "a"
        draft.write_text("whole")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_text() == "whole"
    with pytest.raises(FileExistsError, match="there already"), replacing(tmp_path / "a"):
        pass
    with replacing(tmp_path / "a", overwrite=True) as draft:
        draft.write_text("new")
        assert (tmp_path / "a").read_text() == "whole"
    assert (tmp_path / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_that_another_process_wrote_meanwhile_is_kept(tmp_path):
    with pytest.raises(FileExistsError, match="there already"):
        write_file(tmp_path / "a", "mine", lambda: (tmp_path / "a").write_text("other"))
    assert (tmp_path / "a").read_text() == "other"

    def write_other():
        (tmp_path / "f").mkdir()
        (tmp_path / "f" / "number").write_text("other")

    def write_mine():
        with replacing(tmp_path / "f", folder=True) as draft:
            draft.mkdir()
            write_other()

    with pytest.raises(FileExistsError, match="did not write"):
        write_mine()
    assert (tmp_path / "f" / "number").read_text() == "other"


def test_a_folder_is_replaced_by_a_folder(tmp_path, swap):
    write_folder(tmp_path / "f", 1)
    with pytest.raises(FileExistsError, match="there already"):
        write_folder(tmp_path / "f", 2)
    write_folder(tmp_path / "f", 3, overwrite=True)
    assert (tmp_path / "f" / "number").read_text() == "3"
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", 4, overwrite=True)
    assert (tmp_path / "empty" / "number").read_text() == "4"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "f"]


def test_a_folder_with_other_files_is_never_replaced(tmp_path, swap):
    (tmp_path / "results" / "papers").mkdir(parents=True)
    (tmp_path / "results" / "papers" / "thesis.tex").write_text("three years")
    (tmp_path / "results" / "number").write_text("1")
    with pytest.raises(FileExistsError, match="phaselabel did not write"):
        write_folder(tmp_path / "results", 2, overwrite=True)
    assert (tmp_path / "results" / "papers" / "thesis.tex").read_text() == "three years"
    for overwrite in (False, True):  # nobody is told that it may be replaced, if it never is
        with pytest.raises(FileExistsError, match="is a folder, and a file"):
            refuse_existing(tmp_path / "results", overwrite)
        with pytest.raises(FileExistsError, match="phaselabel did not write"):
            refuse_existing(tmp_path / "results", overwrite, folder=True)
    with (
        pytest.raises(FileExistsError, match="is a folder, and a file"),
        replacing(tmp_path / "results", True),
    ):
        pass
    (tmp_path / "file").write_text("text")
    with pytest.raises(FileExistsError, match="is a file, and a folder"):
        write_folder(tmp_path / "file", 2, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "results"]


def test_a_file_that_appears_in_the_folder_at_the_last_moment_is_kept(tmp_path, swap):
    write_folder(tmp_path / "f", 1)
    answers = iter([True, True, False])

    def sees_it_late(folder):
        return next(answers, False)

    (tmp_path / "f" / "thesis.tex").write_text("three years")
    with pytest.raises(FileExistsError, match="did not write"):
        write_folder(tmp_path / "f", 2, overwrite=True, owns=sees_it_late)
    assert (tmp_path / "f" / "thesis.tex").read_text() == "three years"
    assert (tmp_path / "f" / "number").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_folder_that_is_replaced_while_it_is_looked_at(tmp_path):
    write_folder(tmp_path / "f", 1)
    looks = []

    def looks_slowly(folder):
        looks.append(folder)
        if len(looks) == 1:  # another process replaces the folder: its old files are gone
            write_folder(tmp_path / "f", 2, overwrite=True)
            return False
        return owns(folder)

    refuse_existing(tmp_path / "f", True, folder=True, owns=looks_slowly)
    assert len(looks) == 2


@POSIX
def test_links_pipes_and_devices_are_never_replaced(tmp_path):
    write_folder(tmp_path / "f", 1)
    (tmp_path / "a").write_text("old")
    (tmp_path / "to file").symlink_to(tmp_path / "a")
    (tmp_path / "to folder").symlink_to(tmp_path / "f")
    (tmp_path / "to nothing").symlink_to(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    for name, kind in (("to file", "link"), ("to nothing", "link"), ("pipe", "device, pipe or socket")):
        with (
            pytest.raises(FileExistsError, match=f"is a {kind} and is never"),
            replacing(tmp_path / name, True),
        ):
            pass
    with pytest.raises(FileExistsError, match="is a link and is never"):
        write_folder(tmp_path / "to folder", 2, overwrite=True)
    with pytest.raises(FileExistsError, match="is a device"), replacing("/dev/null", True):
        pass
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "f" / "number").read_text() == "1"


def test_places_that_do_not_exist(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="There is no folder"), replacing(tmp_path / "none" / "a"):
        pass
    monkeypatch.chdir(tmp_path)
    for path in (".", "..", "/"):
        with pytest.raises(FileExistsError, match="is a folder, and a file"), replacing(path, True):
            pass
    with replacing("x" * 250) as draft:
        draft.write_text("a long name")
    assert Path("x" * 250).read_text() == "a long name"


def test_errors_name_the_path(tmp_path):
    for error in (OSError("100 requested and 50 written"), OSError(errno.ENOSPC, "No space left", ".x.part")):
        with pytest.raises(OSError, match="No space left") as raised:
            write_file(tmp_path / "a", "text", lambda error=error: fail(error))
        assert raised.value.filename == str(tmp_path / "a")
    with pytest.raises(FileNotFoundError) as raised, replacing(tmp_path / "a"):
        pass  # nothing is written
    assert raised.value.filename == str(tmp_path / "a")


@pytest.mark.parametrize("folder", [False, True])
def test_many_threads_write_to_one_path(tmp_path, folder, swap):
    failures, numbers = [], count()

    def write():
        for _ in range(25):
            number = next(numbers)
            try:
                if folder:
                    write_folder(tmp_path / "x", number, overwrite=True)
                else:
                    with replacing(tmp_path / "x", True) as draft:
                        draft.write_text(str(number))
            except Exception as error:
                failures.append(repr(error))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert 0 <= int((tmp_path / "x" / "number" if folder else tmp_path / "x").read_text()) < 100
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from phaselabel.io import atomic, swap
from test_atomic import write_folder
path, step, way = Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
calls = 0
def counted(function):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
if way == "two steps":
    swap.swap = lambda one, other: False
else:
    swap.swap = counted(swap.swap)
for name in ("mkdir", "rename", "fsync", "rmdir", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
write_folder(path, "new", overwrite=True)
print("done")
"""


@POSIX
@pytest.mark.parametrize("way", ["swap", "two steps"])
def test_a_kill_before_any_step_leaves_the_old_or_the_new_folder(tmp_path, way):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    moved = 0
    for step in range(1, 40):
        place = tmp_path / str(step)
        place.mkdir()
        write_folder(place / "f", "old")
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(place / "f"), str(step), way],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if way == "swap":
            assert (place / "f" / "number").read_text() in ("old", "new")
        moved += not (place / "f").exists()
        restore(place / "f")
        assert (place / "f" / "number").read_text() in ("old", "new")
        assert [path.name for path in place.iterdir()] == ["f"], "leftovers are removed"
        if done.returncode == 0:
            assert (place / "f" / "number").read_text() == "new"
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    else:
        pytest.fail("the process never came to its end")
    assert step > 8
    assert (moved > 0) == (way == "two steps")


@POSIX
def test_a_draft_that_is_being_written_is_no_leftover(tmp_path):
    with replacing(tmp_path / "a") as draft:
        draft.write_text("first")
        with replacing(tmp_path / "a") as second:
            second.write_text("second")
        assert draft.exists()
        restore(tmp_path / "a")
        assert draft.exists()
        (tmp_path / "a").unlink()
    assert (tmp_path / "a").read_text() == "first"


def test_other_hidden_folders_are_no_leftovers(tmp_path):
    names = [
        ".a.1234.part",
        ".a.0123456789abcdef.part",
        ".b.0123456789abcdef.part",
        ".a.0123456789abcdeg.part",
    ]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").touch()
    with replacing(tmp_path / "a") as draft:
        draft.touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "a"])


def test_everything_is_flushed_before_it_is_renamed(tmp_path, monkeypatch):
    events = []

    def recorded(name, function):
        def call(*arguments, **options):
            what = os.fstat(arguments[0]).st_ino if name == "fsync" else name
            events.append(what)
            return function(*arguments, **options)

        return call

    with replacing(tmp_path / "f", folder=True) as draft:
        (draft / "inner").mkdir(parents=True)
        (draft / "inner" / "deep").write_text("x")
        inodes = [path.stat().st_ino for path in (draft / "inner" / "deep", draft / "inner", draft)]
        for name in ("fsync", "rename"):
            monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    assert events == [*inodes, "rename", tmp_path.stat().st_ino]


def test_abandoning_removes_every_draft(tmp_path):
    called = []
    atomic.on_abandon(lambda: called.append(1))
    try:
        with pytest.raises(FileNotFoundError):
            write_file(tmp_path / "a", "half", atomic.abandon)
    finally:
        atomic._on_abandon.pop()
    assert called == [1]
    assert list(tmp_path.iterdir()) == []
