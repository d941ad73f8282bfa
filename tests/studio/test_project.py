"""The journal: what was confirmed is there again, whatever happened."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from phaselabel.studio.project import Project, checked_name

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
    assert again.number == 8


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


@pytest.mark.parametrize("name", ["", "   ", "a/b", "..\\up", "line\nbreak\x00", "x" * 61, 7, None])
def test_names_that_are_refused(name):
    with pytest.raises(ValueError, match="class name"):
        checked_name(name)


def test_names_are_tidied_and_told_apart():
    assert checked_name("  two   words ") == "two words"
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
