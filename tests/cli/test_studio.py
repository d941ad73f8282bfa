import argparse

import numpy as np
import pytest
from PIL import Image

from phaselabel.cli import studio
from phaselabel.studio.items import read_items
from phaselabel.studio.opening import open_workspace
from text_models import write_mean_model, write_word_vectors

WORDS = {"cat": [1.0, 0.1], "dog": [1.0, 0.0], "ship": [0.0, 1.0], "boat": [0.1, 1.0]}


@pytest.fixture
def options():
    """The options of a command line, as the studio opens a source with them."""

    def parsed(*words):
        parser = argparse.ArgumentParser()
        studio.add_arguments(parser)
        arguments = parser.parse_args([str(word) for word in words])
        return studio._options(arguments)

    return parsed


def test_texts_are_compared_by_meaning(tmp_path, options, monkeypatch, capsys):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    write_word_vectors(tmp_path / "model", WORDS)
    source = tmp_path / "tickets.csv"
    source.write_text("body\n" + "".join(f"{word} {i}\n" for i, word in enumerate([*WORDS] * 10)))
    given = options(source, "--text", "body", "--embed", tmp_path / "model")
    workspace = open_workspace(source, lambda event: None, **given)
    assert ("text", f"embedded by {tmp_path / 'model'}, cosine: body") in workspace.description
    assert "embedding" in capsys.readouterr().err
    workspace.prepare()
    workspace.act("answer", {"rows": [0], "name": "pet"})
    workspace.act("answer", {"rows": [2], "name": "sea"})
    found = workspace.export("labels.csv").decode().splitlines()
    assert [line.split(",")[1] for line in found[1:5]] == ["pet", "pet", "sea", "sea"]
    workspace.close()


def test_pictures_are_compared_by_a_model_of_ones_own(tmp_path, options, monkeypatch):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    write_mean_model(tmp_path / "model.onnx")
    (tmp_path / "photos").mkdir()
    for i in range(4):
        Image.new("RGB", (9, 9), (200 * (i % 2), 0, 50)).save(tmp_path / "photos" / f"{i}.png")
    given = options(tmp_path / "photos", "--embed", tmp_path / "model.onnx")
    wanted = {name: given[name] for name in ("embed", "stage", "prepare")}
    items = read_items(tmp_path / "photos", **wanted)
    assert items.description == [("compared by", "vectors of model.onnx")]
    np.testing.assert_array_equal(items.X[0], items.X[2])
    assert np.abs(items.X[0] - items.X[1]).max() > 0.1


def test_embed_where_it_means_nothing_is_refused(tmp_path, options, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    np.save(tmp_path / "rows.npy", np.eye(9))
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "photos" / "a.png")
    for source, words in (
        (tmp_path / "rows.npy", "--embed is for texts and pictures"),
        (tmp_path / "photos", "dinov2-small could not be downloaded"),
        (tmp_path / "photos" / "a.png", "leave it out here"),
    ):
        with pytest.raises(ValueError, match=words):
            open_workspace(source, lambda event: None, **options(source, "--embed"))
