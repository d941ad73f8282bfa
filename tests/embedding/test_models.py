import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import Mock

import pytest

from phaselabel.embedding import models
from text_models import write_mean_model, write_tokenizer, write_word_vectors


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def hub(home, monkeypatch):
    """A server that has one model, laid out as the public one."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    folder = home / "hub" / "sentence-transformers" / "tiny" / "resolve" / "main"
    write_word_vectors(folder, {"red": [1.0, 0.0], "blue": [0.0, 1.0]})
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(home / "hub")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(models, "CHUNK", 10)
    yield folder
    server.shutdown()
    server.server_close()


def test_a_model_is_downloaded_once_with_a_sentence(hub, home):
    said = []
    folder = models.find_model("tiny", said.append)
    assert models.weights_of(folder).read_bytes() == (hub / "onnx" / "model.onnx").read_bytes()
    assert any(
        "downloading sentence-transformers/tiny once" in sentence and "MB" in sentence for sentence in said
    )
    said.clear()
    assert models.find_model("tiny", said.append) == folder
    assert said == []


def test_a_vision_model_is_downloaded_once_with_what_it_says_of_pictures(hub, home):
    folder = home / "hub" / "some" / "eye" / "resolve" / "main"
    (folder / "onnx").mkdir(parents=True)
    write_mean_model(folder / "onnx" / "model.onnx")
    (folder / "preprocessor_config.json").write_text('{"image_mean": [0, 0, 0]}')
    said = []
    path = models.find_picture_model("some/eye", said.append)
    assert path.read_bytes() == (folder / "onnx" / "model.onnx").read_bytes()
    assert (path.parents[1] / "preprocessor_config.json").is_file()
    assert sum("downloading some/eye once" in sentence for sentence in said) == 2
    assert models.find_picture_model("some/eye") == models.find_picture_model(str(path.parents[1])) == path
    with pytest.raises(ValueError, match=r"copy its folder \(onnx/model\.onnx\) and name"):
        models.find_picture_model("")
    with pytest.raises(ValueError, match="is not a vision model"):
        models.find_picture_model(str(home))
    for name in ("eye", "some/eye.onnx", "../some/eye"):
        with pytest.raises(ValueError, match="There is no ONNX file"):
            models.find_picture_model(name)


def test_a_download_that_fails_leaves_nothing_and_names_the_way_without_a_network(hub, home):
    (hub / "onnx" / "model.onnx").unlink()
    with pytest.raises(ValueError, match="without a network, copy its folder"):
        models.find_model("tiny")
    assert list((home / "cache" / "models").iterdir()) == []


def test_a_folder_needs_its_files(home):
    write_tokenizer(home / "half", ["red"])
    with pytest.raises(ValueError, match=r"needs tokenizer\.json, and model\.onnx"):
        models.find_model(str(home / "half"))
    with pytest.raises(ValueError, match="no folder"):
        models.find_model("../nowhere/at/all")


def test_a_user_without_a_home(monkeypatch):
    monkeypatch.delenv("PHASELABEL_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(models.Path, "home", Mock(side_effect=RuntimeError))
    with pytest.raises(ValueError, match="PHASELABEL_CACHE"):
        models.cache_home()
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert models.cache_home() == models.Path("/c/phaselabel")
