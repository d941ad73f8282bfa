import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

import phaselabel
from phaselabel import read_image, read_marks
from phaselabel.segmentation.pictures import FORMATS, open_picture
from phaselabel.studio.items import read_items
from phaselabel.studio.opening import open_workspace

EPS = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"


@pytest.fixture
def ghostscript(tmp_path, monkeypatch):
    """A program named gs that leaves a trace when it is started."""
    folder, trace = tmp_path / "bin", tmp_path / "started"
    folder.mkdir()
    for name in ("gs", "gswin32c", "gswin64c"):
        (folder / name).write_text(f'#!/bin/sh\necho "$@" >> {trace}\nexit 1\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)  # Pillow looks for it once
    return trace


@pytest.mark.skipif(os.name == "nt", reason="the trap is a shell script")
def test_postscript_starts_no_program(tmp_path, ghostscript):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    path = pictures / "photo.png"
    path.write_text(EPS)
    with pytest.raises(ValueError, match=r"photo\.png can't be read"):
        read_image(path)
    with pytest.raises(ValueError, match=r"photo\.png can't be read"):
        read_marks(path, (10, 10))
    with pytest.raises(ValueError, match=r"photo\.png"):
        read_items(pictures)
    with pytest.raises(ValueError, match=r"photo\.png can't be read"):
        open_workspace(path, lambda event: None)
    assert not ghostscript.exists()
    assert shutil.which("gs"), "the trap was set"
    with pytest.raises((OSError, subprocess.CalledProcessError)), Image.open(path) as picture:
        picture.load()
    assert ghostscript.exists(), "Pillow alone would have started it"


def test_pictures_are_opened_in_one_place():
    source = Path(phaselabel.__file__).parent
    opened = r"(?<!def )\b(image_module|Image|PIL\.Image)\.open\("
    places = [path.name for path in source.rglob("*.py") if re.search(opened, path.read_text("utf-8"))]
    assert places == ["pictures.py"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_opened(tmp_path, name):
    path = tmp_path / "picture"
    Image.new("RGB", (5, 4), (200, 100, 50)).save(path, name)
    with open_picture(path) as picture:
        assert picture.size == (5, 4)


def test_a_picture_that_declares_far_more_than_its_file_can_hold_is_refused(tmp_path):
    Image.new("L", (8, 8)).save(tmp_path / "a.gif")
    data = bytearray((tmp_path / "a.gif").read_bytes())
    data[6:10] = (12_000).to_bytes(2, "little") * 2
    (tmp_path / "a.gif").write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.gif can't be read: its 0\.00 MiB unpack to 412 MiB or more"):
        read_image(tmp_path / "a.gif")
