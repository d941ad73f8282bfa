import pytest

from phaselabel.io.photo_folders import labels_by_file, pictures_below, pictures_in
from phaselabel.io.tables import open_table


@pytest.fixture
def folder(tmp_path):
    for name in ("z.png", "._z.png", "a/b.jpg", "a/._b.jpg", ".hidden/c.png", "notes.txt", "A.PNG"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "folder.png").mkdir()
    return tmp_path


def test_hidden_files_and_folders_are_no_pictures(folder):
    assert pictures_in(folder) == ["A.PNG", "z.png"]
    assert pictures_below(folder) == ["A.PNG", "z.png", "a/b.jpg"]


def test_entries_that_mean_no_label_are_left_out(folder):
    (folder / "known.csv").write_text("file,kind\nz.png,cat\na/b.jpg, ? \nA.PNG,none\n")
    table = open_table(folder / "known.csv")
    assert labels_by_file(table, "file", "kind") == {"z.png": "cat", "A.PNG": "none"}
    assert labels_by_file(table, "file", "kind", ["?", "none"]) == {"z.png": "cat"}
