"""The journal: what was confirmed is there again, whatever happened."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from phaselabel.studio.project import FORMAT, SCHEMA, Project, checked_name

OF = {"of": "a picture"}


def bodies(project):
    return [action.body["k"] for action in project.actions]


def test_undo_and_redo_are_entries_and_survive(tmp_path):
    project = Project(tmp_path / "a.studio", OF)
    for k in range(4):
        project.record("stroke", {"k": k})
    for kind in ("undo", "undo", "redo"):
        project.record(kind)
    assert bodies(project) == [0, 1, 2]
    project.close()
    again = Project(tmp_path / "a.studio", OF)
    assert bodies(again) == [0, 1, 2]
    assert [action.body["k"] for action in again.undone] == [3]
    again.record("stroke", {"k": 9})
    assert again.undone == []
    assert again.version == 8


def test_the_same_mark_counts_once(tmp_path):
    project = Project(tmp_path / "a.studio", OF)
    assert project.record("stroke", {"k": 1}, "m") is True
    assert project.record("stroke", {"k": 1}, "m") is False
    assert bodies(project) == [1]


def test_a_second_studio_on_one_project_is_refused(tmp_path):
    project = Project(tmp_path / "a.studio", OF)
    project.record("stroke", {"k": 1})
    with pytest.raises(ValueError, match="open in another studio"):
        Project(tmp_path / "a.studio", OF)


def test_another_source_and_another_file_are_refused(tmp_path):
    Project(tmp_path / "a.studio", OF).close()
    with pytest.raises(ValueError, match="made for something else"):
        Project(tmp_path / "a.studio", {"of": "another"})
    (tmp_path / "b.studio").write_text("something else entirely, and long enough not to be empty" * 20)
    with pytest.raises(ValueError, match="not a project"):
        Project(tmp_path / "b.studio", OF)
    with pytest.raises(OSError, match="can't be opened"):
        Project(tmp_path / "no" / "folder.studio", OF)


def test_nothing_can_be_changed_or_taken_out(tmp_path):
    project = Project(tmp_path / "a.studio", OF)
    project.record("stroke", {"k": 1})
    project.close()
    file = sqlite3.connect(tmp_path / "a.studio")
    for order in ("DELETE FROM event", "UPDATE event SET body = '{}'"):
        with pytest.raises(sqlite3.IntegrityError, match="append only"):
            file.execute(order)


def test_what_was_confirmed_survives_kill_9(tmp_path):
    code = (
        "import sys; from phaselabel.studio.project import Project\n"
        "project = Project('a.studio', {'of': 'a picture'})\n"
        "for k in range(10**6):\n"
        "    project.record('stroke', {'k': k, 'filling': 'x' * 500}); print(k, flush=True)\n"
    )
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        confirmed = [int(writer.stdout.readline()) for _ in range(40)][-1]
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        rest = writer.stdout.read().split()
        confirmed = int(rest[-1]) if rest and rest[-1].isdecimal() and len(rest) > 1 else confirmed
        project = Project(tmp_path / "a.studio", OF)
        found = bodies(project)
        assert found[-1] >= confirmed - 1
        assert found[found.index(0, len(found) - found[-1] - 1) :] == list(range(found[-1] + 1))
        project.close()


@pytest.mark.parametrize("name", ["", "   ", "line\nbreak\x00", "x" * 61, 7, None])
def test_names_that_are_refused(name):
    with pytest.raises(ValueError, match="class name"):
        checked_name(name)


def test_names_are_tidied_and_told_apart():
    assert checked_name("  two   words ") == "two words"
    assert checked_name("grass/dry") == "grass/dry"
    with pytest.raises(ValueError, match="already"):
        checked_name("Sky", ["sky"])


def test_a_project_whose_file_is_gone_says_so(tmp_path):
    path = tmp_path / "a.studio"
    project = Project(path, {})
    project.record("stroke", {"class": 1})
    path.rename(tmp_path / "elsewhere.studio")
    with pytest.raises(OSError, match="moved or deleted"):
        project.record("stroke", {"class": 2})
    (tmp_path / "elsewhere.studio").rename(path)
    assert project.record("stroke", {"class": 2})
    assert len(project.actions) == 2


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_of_the_one_file_has_every_entry_at_any_time(tmp_path):
    """Also while the studio is open, and after it was killed."""
    project = Project(tmp_path / "a.studio", OF)
    for k in range(47):
        project.record("stroke", {"k": k})
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "a.studio", tmp_path / "copy" / "a.studio")
    copy = Project(tmp_path / "copy" / "a.studio", OF)
    assert bodies(copy) == list(range(47))
    copy.close()
    project.close()
    assert files_of(tmp_path / "copy") == ["a.studio"]


def test_closing_twice_is_fine_and_nothing_is_recorded_afterwards(tmp_path):
    project = Project(tmp_path / "a.studio", OF)
    project.close()
    project.close()
    with pytest.raises(OSError, match="closed"):
        project.record("stroke", {"k": 1})
    assert files_of(tmp_path) == ["a.studio"]


def write_old(path, n_checkpointed, n_in_wal):
    """A project as studios before this one wrote it, with a write-ahead log; returns its connection."""
    old = sqlite3.connect(path, isolation_level=None)
    old.execute("PRAGMA journal_mode=WAL")
    old.execute("PRAGMA wal_autocheckpoint=0")
    entry = ("INSERT INTO event (kind, body) VALUES ('stroke', ?)", ('{"k": 0}',))
    if n_checkpointed:
        old.executescript(SCHEMA)
        old.executemany("INSERT INTO project VALUES (?, ?)", [("format", FORMAT), ("of", "a picture")])
        for _ in range(n_checkpointed):
            old.execute(*entry)
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if n_in_wal and not n_checkpointed:
        old.executescript(SCHEMA)
    for _ in range(n_in_wal):
        old.execute(*entry)
    return old


def test_a_project_whose_write_ahead_log_is_missing_is_not_taken_for_a_new_one(tmp_path):
    old = write_old(tmp_path / "a.studio", 0, 5)
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "a.studio", tmp_path / "copy" / "a.studio")
    with pytest.raises(ValueError, match=r"a\.studio-wal"):
        Project(tmp_path / "copy" / "a.studio", OF)
    assert files_of(tmp_path / "copy") == ["a.studio"]
    old.close()


def test_a_write_ahead_log_that_is_missing_is_noted_where_something_is_left(tmp_path):
    old = write_old(tmp_path / "a.studio", 3, 2)
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "a.studio", tmp_path / "copy" / "a.studio")
    copy = Project(tmp_path / "copy" / "a.studio", OF)
    assert len(copy.actions) == 3
    assert "a.studio-wal" in copy.notes[0]
    copy.close()
    old.close()


def test_a_project_of_before_with_its_write_ahead_log_is_whole(tmp_path):
    old = write_old(tmp_path / "a.studio", 3, 2)
    (tmp_path / "copy").mkdir()
    for name in ("a.studio", "a.studio-wal"):
        shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    copy = Project(tmp_path / "copy" / "a.studio", OF)
    assert len(copy.actions) == 5
    assert copy.notes == []
    copy.close()
    assert files_of(tmp_path / "copy") == ["a.studio"]
    old.close()


def test_a_full_disk_is_an_error_and_the_entry_can_be_recorded_later(tmp_path):
    project = Project(tmp_path / "a.studio", OF)
    (pages,) = project._file.execute("PRAGMA page_count").fetchone()
    project._file.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(OSError, match="full"):
        project.record("stroke", {"k": 1, "filling": "x" * 20000}, "id")
    assert project.actions == []
    assert project.version == 0
    project._file.execute("PRAGMA max_page_count=100000")
    assert project.record("stroke", {"k": 1, "filling": "x" * 20000}, "id")
    assert project.version == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("nonsense", "{}"),
        ("", "{}"),
        ("class", "null"),
        ("class", "{"),
        ("class", "{}"),
        ("stroke", "[]"),
        ("add", '{"layers": []}'),
        ("class", "[" * 5000),
    ],
)
def test_entries_of_a_hostile_project_are_refused_in_a_sentence(tmp_path, kind, body):
    import sqlite3

    from phaselabel.studio.strokes import Drawing

    project = Project(tmp_path / "p.studio", {})
    project.record("class", {"name": "cow"})
    project.close()
    file = sqlite3.connect(tmp_path / "p.studio")
    file.execute("INSERT INTO event (kind, body) VALUES (?, ?)", (kind, body))
    file.commit()
    file.close()
    with pytest.raises(ValueError, match=r"is damaged|can't be used"):
        Drawing.replay(Project(tmp_path / "p.studio", {}).actions, (6, 7))


def test_a_project_of_the_first_version_is_read(tmp_path):
    path = tmp_path / "p.studio"
    path.write_bytes((Path(__file__).parent / "data" / "project-version-1.sqlite").read_bytes())
    project = Project(path, {"room": "drawing", "content": "abc"})
    assert [(action.kind, action.body) for action in project.actions] == [
        ("class", {"name": "cow"}),
        ("class", {"name": "sky"}),
        ("stroke", {"class": 1, "points": [[1, 1], [3, 3]], "size": 3}),
    ]
    assert [action.number for action in project.undone] == [4]
    assert not project.record("class", {"name": "cow"}, "first")  # the request was recorded before


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("CREATE TABLE places (url TEXT)")
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="not a project of the studio"):
        Project(path, OF)
    assert path.read_bytes() == kept
