"""A source becomes a workspace: pictures that come and go, pictures that can't be drawn on."""

import logging

import numpy as np
import pytest
from PIL import Image

from phaselabel.studio.opening import open_workspace


def save_picture(path, bright):
    noise = np.random.default_rng(len(path.name)).integers(0, 60, (20, 20, 3))
    Image.fromarray((noise + 150 * bright).astype(np.uint8)).save(path)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(10):
        save_picture(folder / f"p{i}.png", i % 2)
    return folder


def opened(folder):
    workspace = open_workspace(folder, lambda event: None)
    workspace.prepare()
    return workspace


def answers_of(workspace):
    names = workspace.items.identifiers()[1]
    classes = workspace.answers.names
    return {names[row]: classes[number] for row, number in workspace.answers.known.items()}


def test_new_and_missing_pictures_keep_the_answers_of_the_others(folder):
    workspace = opened(folder)
    for row, name in ((3, "light"), (4, "dark"), (9, "light")):
        workspace.act("answer", {"rows": [row], "name": name})
    before = {"p3.png": "light", "p4.png": "dark", "p9.png": "light"}
    assert answers_of(workspace) == before
    workspace.close()

    save_picture(folder / "a_new_one.png", 1)  # sorts before all others
    workspace = opened(folder)
    assert answers_of(workspace) == before
    assert any("1 picture is new" in note for note in workspace.notes)
    row = workspace.items.identifiers()[1].index("a_new_one.png")
    workspace.act("answer", {"rows": [row], "name": "light"})
    workspace.act("undo", {})
    assert workspace.state()["question"]["item"]["caption"] == "a_new_one.png"
    workspace.act("redo", {})
    workspace.close()

    (folder / "p4.png").unlink()
    (folder / "p0.png").unlink()
    workspace = opened(folder)
    assert answers_of(workspace) == {"p3.png": "light", "p9.png": "light", "a_new_one.png": "light"}
    assert any("2 pictures are gone" in note for note in workspace.notes)
    row = workspace.items.identifiers()[1].index("p8.png")
    workspace.act("answer", {"rows": [row], "name": "dark"})
    workspace.close()

    save_picture(folder / "p4.png", 0)
    workspace = opened(folder)
    assert answers_of(workspace) == {**before, "a_new_one.png": "light", "p8.png": "dark"}
    workspace.close()


def test_a_label_that_is_new_in_the_folder_is_a_new_class_and_shifts_no_other(folder):
    (folder / "known.csv").write_text("file,shade\np0.png,dark\np1.png,light\n")
    workspace = open_workspace(folder, lambda event: None, label="shade")
    workspace.prepare()
    workspace.act("answer", {"rows": [3], "name": "light"})
    workspace.close()
    (folder / "known.csv").write_text("file,shade\np0.png,dark\np1.png,light\np2.png,a first one\n")
    workspace = open_workspace(folder, lambda event: None, label="shade")
    workspace.prepare()
    assert answers_of(workspace) == {
        "p0.png": "dark", "p1.png": "light", "p2.png": "a first one", "p3.png": "light",
    }  # fmt: skip
    workspace.close()


@pytest.mark.parametrize("size", [(1, 1), (1, 30), (30, 1)])
def test_a_picture_of_one_pixel_or_one_row_opens_or_says_why_not(tmp_path, size, caplog):
    Image.fromarray(np.full((*size, 3), 120, np.uint8)).save(tmp_path / "p.png")
    if size == (1, 1):
        with pytest.raises(ValueError, match="1 pixel"):
            open_workspace(tmp_path / "p.png", lambda event: None)
        assert not (tmp_path / "p.png.studio").exists()
        return
    segment_halves(open_workspace(tmp_path / "p.png", lambda event: None), caplog)


@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 3)])
def test_a_uniform_picture_can_be_drawn_on(tmp_path, shape, caplog):
    Image.fromarray(np.full(shape, 90, np.uint8)).save(tmp_path / "p.png")
    segment_halves(open_workspace(tmp_path / "p.png", lambda event: None), caplog)


def segment_halves(workspace, caplog):
    """Mark both ends and run the background work once; it gives labels or a sentence, never a traceback."""
    height, width = workspace.shape
    workspace.act("class", {"name": "a"})
    workspace.act("class", {"name": "b"})
    workspace.act("stroke", {"class": 1, "size": 1, "points": [[0.5, 0.5]]})
    workspace.act("stroke", {"class": 2, "size": 1, "points": [[width - 0.5, height - 0.5]]})
    with caplog.at_level(logging.DEBUG):
        assert workspace.prepare()
        workspace.segment_once()
    assert not [record for record in caplog.records if record.exc_info]
    if workspace.result is None:
        assert workspace.status.endswith(".")
    else:
        assert set(np.unique(workspace.result.labels)) <= {0, 1, 2}
    workspace.close()
