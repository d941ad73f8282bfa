"""Archives: values come back as they were; a hostile file raises ValueError or OSError, nothing else."""

import json
import os
import threading
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from phaselabel.io import archive as archive_module
from phaselabel.io.archive import Archive, is_archive, write_archive


@dataclass(frozen=True)
class Pair:
    left: object
    right: object


MAKERS = {"Pair": Pair}

VALUES = {
    "none": None,
    "numbers": [1, -2.5, True, 2**200, float("inf")],
    "text": "ä \0 \ud800 \n",
    "bytes": b"\0\xff?",
    "tuple": ((1,), (), ("a", ("b",))),
    "keys": {1: "a", (2, 3): "b", "c": {"d": 4}},
    "scalars": [np.float32(0.5), np.datetime64("2024-01-01"), np.timedelta64(3, "s"), np.bytes_(b"x")],
    "record": Pair(1, Pair((2,), None)),
}


def stored(tmp_path, values, name="a"):
    write_archive(tmp_path / name, {}, {"extra": values}, MAKERS, overwrite=True)
    with Archive(tmp_path / name, MAKERS) as archive:
        return archive.decode(archive.manifest["extra"])


@pytest.mark.parametrize("name", ["a", "a.zip"])
def test_plain_values_come_back(tmp_path, name):
    assert stored(tmp_path, VALUES, name) == VALUES


@pytest.mark.parametrize("name", ["a", "a.zip"])
def test_arrays_come_back(tmp_path, name):
    tuples = np.empty(2, object)
    tuples[:] = [(1, 2), (3, 4)]
    values = {
        "dates": np.array(["2024-01-01", "NaT"], "M8[D]"),
        "bytes": np.array([b"a", b"bc"]),
        "big": np.arange(3, dtype=">f8"),
        "empty": np.zeros((0, 4)),
        "objects": np.array(["a\0", None, 5, 2.5, b"x", True], object),
        "tuples": tuples,
    }
    found = stored(tmp_path, values, name)
    for key, array in values.items():
        assert found[key].shape == array.shape
        assert found[key].dtype == array.dtype.newbyteorder("=")
        assert [type(v) for v in found[key].tolist()] == [type(v) for v in array.tolist()]
        assert str(found[key].tolist()) == str(array.tolist())
    matrix = sparse.csr_array(sparse.random(5, 7, density=0.4, random_state=np.random.default_rng(0)))
    again = stored(tmp_path, {"m": matrix}, name)["m"]
    assert isinstance(again, sparse.csr_array)
    assert (again != matrix).nnz == 0


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, np.array([[object()]]), np.array([object()])])
def test_values_that_need_pickle_are_refused(tmp_path, value):
    with pytest.raises(ValueError, match="without pickle"):
        write_archive(tmp_path / "a", {}, {"extra": {"value": value}}, MAKERS)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path):
    write_archive(tmp_path / "a", {}, {"extra": {"x": np.arange(5), "y": np.arange(5)}}, MAKERS)
    return tmp_path / "a"


def load(path):
    with Archive(path, MAKERS) as archive:
        return archive.decode(archive.manifest["extra"])


@pytest.mark.parametrize("version", [True, -5, 0, 1.0, "1", None, [1]])
def test_versions_that_are_none(folder, version):
    manifest = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(manifest | {"version": version}))
    with pytest.raises(ValueError, match="no version of the format"):
        load(folder)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
@pytest.mark.parametrize("name", ["model.json", "array-000.npy"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing"])
def test_what_is_no_file(folder, name, kind):
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "device":
        (folder / name).symlink_to("/dev/zero")
    elif kind == "folder":
        (folder / name).mkdir()
    with pytest.raises((ValueError, OSError), match=r"is not a file|no model\.json|can't be read|directory"):
        load(folder)
    assert is_archive(folder) == ((kind, name) == ("nothing", "array-000.npy"))


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
def test_a_pipe_is_no_archive(tmp_path):
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(ValueError, match="device, pipe or socket"):
        load(tmp_path / "a.zip")
    with pytest.raises(FileNotFoundError, match="There is no model"):
        load(tmp_path / "none" / "a")


def test_a_manifest_that_is_too_large(folder, monkeypatch):
    monkeypatch.setattr("phaselabel.io.archive.MOST_JSON", 100)
    with pytest.raises(ValueError, match="too large"):
        load(folder)
    with pytest.raises(ValueError, match="the limit"):
        write_archive(folder, {}, {"extra": {"x": "y" * 100}}, {}, overwrite=True)


def test_one_array_is_not_many(tmp_path):
    write_archive(tmp_path / "a.zip", {}, {"extra": {"x": [np.zeros(1000)] * 3}}, {})
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(tmp_path / "b.zip", "w") as new:
        manifest = json.loads(old.read("model.json"))
        items = manifest["extra"]["dict"]["x"]["list"]
        manifest["extra"]["dict"]["x"]["list"] = items[:1] * 200
        new.writestr("model.json", json.dumps(manifest))
        new.writestr("array-000.npy", old.read("array-000.npy"))
    with pytest.raises(ValueError, match="names array 0 twice"):
        load(tmp_path / "b.zip")


def test_zip_members_that_do_not_belong(tmp_path):
    write_archive(tmp_path / "a.zip", {}, {"extra": {"x": np.zeros(1000)}}, {})
    for extra, words in (("thesis.tex", "holds 'thesis.tex'"), ("model.json", "two files of one name")):
        (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes())
        with zipfile.ZipFile(tmp_path / "b.zip", "a") as archive:
            if extra == "model.json":
                with pytest.warns(UserWarning, match="Duplicate"):
                    archive.writestr(extra, "{}")
            else:
                archive.writestr(extra, "text")
        with pytest.raises(ValueError, match=words):
            load(tmp_path / "b.zip")
        assert not is_archive(tmp_path / "b.zip")


def test_only_an_archive_is_an_archive(tmp_path, folder):
    assert is_archive(folder)
    for name, other in (("thesis.tex", "text"), ("array-1.npy", ""), ("array-000.npy.bak", "")):
        (folder / name).write_text(other)
        assert not is_archive(folder)
        (folder / name).unlink()
    (folder / "array-007.npy").symlink_to(folder / "array-000.npy")
    assert not is_archive(folder)
    (folder / "array-007.npy").unlink()
    (folder / "papers").mkdir()
    assert not is_archive(folder)
    (tmp_path / "empty").mkdir()
    (tmp_path / "thesis.zip").write_text("text")
    assert not is_archive(tmp_path / "empty")
    assert not is_archive(tmp_path / "thesis.zip")
    assert not is_archive(tmp_path / "none")


def test_readers_see_one_archive_while_others_write(tmp_path):
    path, stop, mixed = tmp_path / "a", threading.Event(), []
    names = {str(i): None for i in range(6)}

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            write_archive(path, {}, {"extra": {k: np.full(9, number) for k in names}}, {}, overwrite=True)

    def read():
        try:
            read_often()
        except Exception as error:  # of a thread, which would be lost
            mixed.append(error)

    def read_often():
        for _ in range(150):
            with Archive(path, {}) as archive:
                try:
                    found = {int(v) for a in archive.decode(archive.manifest["extra"]).values() for v in a}
                except ValueError:
                    if not archive.replaced():
                        mixed.append("damaged")
                    continue
            if len(found) > 1:
                mixed.append(found)

    write_archive(path, {}, {"extra": {k: np.zeros(9) for k in names}}, {})
    writer = threading.Thread(target=write)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (writer, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    writer.join()
    assert mixed == []


@pytest.mark.parametrize("name", ["a", "a.zip"])
def test_damaged_bytes_raise_one_kind_of_error(tmp_path, name):
    values = {"x": np.arange(5), "m": sparse.eye_array(4, format="csr"), "r": Pair((1,), b"x"), "s": "text"}
    write_archive(tmp_path / name, {}, {"extra": values}, MAKERS)
    path = tmp_path / name
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    rng = np.random.default_rng(0)
    opened = 0
    for _ in range(600):
        file = files[rng.integers(len(files))]
        good = file.read_bytes()
        bad = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(bad)))
            bad[place : place + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(0, 9)))
        file.write_bytes(bad)
        try:
            load(path)
            opened += 1
        except (ValueError, OSError):
            pass
        file.write_bytes(good)
    assert 0 < opened < 600


def test_a_folder_that_is_replaced_while_it_is_opened_is_opened_again(tmp_path, monkeypatch):
    path, real = tmp_path / "a", archive_module._opened
    write_archive(path, {}, {"extra": {"x": 1}}, {})

    def slow(path):
        files = real(path)
        if not opened:
            opened.append(files)
            write_archive(path, {}, {"extra": {"x": 2}}, {}, overwrite=True)
        return files

    opened = []
    monkeypatch.setattr(archive_module, "_opened", slow)
    with Archive(path, {}) as archive:
        assert archive.decode(archive.manifest["extra"]) == {"x": 2}
