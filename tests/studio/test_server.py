"""The server as a process: how it ends."""

import json
import shutil
import signal
import urllib.request

import numpy as np
import pytest

from phaselabel.studio.project import Project


def act(studio, kind, body):
    request = urllib.request.Request(
        studio.address + "actions", json.dumps({"kind": kind, "body": body}).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_after_ctrl_c_one_file_is_left_and_it_has_every_answer(studio, tmp_path, ending):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 4)))
    opened = studio("x.npy")
    for row in range(47):
        act(opened, "answer", {"rows": [row], "name": "ab"[row % 2]})
    opened.process.send_signal(ending)
    assert opened.process.wait(30) == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "x.npy.studio"]
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "x.npy", tmp_path / "elsewhere")
    shutil.copy(tmp_path / "x.npy.studio", tmp_path / "elsewhere")
    again = studio("elsewhere/x.npy")
    with urllib.request.urlopen(again.address + "query/state", timeout=60) as response:
        assert json.load(response)["answered"] == 47


def test_a_project_that_a_server_has_open_is_refused(studio, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 4)))
    studio("x.npy")
    with pytest.raises(ValueError, match="open in another studio"):
        Project(tmp_path / "x.npy.studio", {})
