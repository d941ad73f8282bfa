from pathlib import Path

import pytest

from phaselabel.cli.pictures import found_images, output_names


def test_images_are_found_once_and_in_order(tmp_path):
    for name in ("b.jpg", "a.png", "._a.png", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    names = [image.name for image in found_images([str(tmp_path), str(tmp_path / "*.png")])]
    assert names == ["a.png", "b.jpg"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no images in the folder"):
        found_images([str(tmp_path / "empty")])


def test_two_images_never_get_one_name():
    assert output_names([Path("x/a.png"), Path("y/b.png")]) == ["a", "b"]
    with pytest.raises(ValueError, match="Two images would be written as a_png"):
        output_names([Path("x/a.png"), Path("y/a.png")])
