import json
import math

import numpy as np
import pytest

from phaselabel.embedding.bert import Bert, read_safetensors
from text_models import write_bert


def naive_bert(weights, ids, heads, n_layers):
    """The encoder of one text, token by token and head by head."""

    def linear(vector, name):
        return weights[f"{name}.weight"] @ vector + weights[f"{name}.bias"]

    def normalised(vector, name):
        spread = math.sqrt(sum((v - vector.mean()) ** 2 for v in vector) / len(vector) + 1e-12)
        return (vector - vector.mean()) / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = [
        normalised(
            weights["embeddings.word_embeddings.weight"][token]
            + weights["embeddings.position_embeddings.weight"][place]
            + weights["embeddings.token_type_embeddings.weight"][0],
            "embeddings.LayerNorm",
        )
        for place, token in enumerate(ids)
    ]
    for layer in range(n_layers):
        name = f"encoder.layer.{layer}."
        query, key, value = (
            [linear(v, f"{name}attention.self.{part}") for v in x] for part in ("query", "key", "value")
        )
        size = len(x[0]) // heads
        context = [np.zeros(len(x[0])) for _ in x]
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            for i in range(len(x)):
                scores = [math.exp(query[i][part] @ key[j][part] / math.sqrt(size)) for j in range(len(x))]
                context[i][part] = sum(s * value[j][part] for j, s in enumerate(scores)) / sum(scores)
        x = [
            normalised(v + linear(c, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm")
            for v, c in zip(x, context)
        ]
        wide = [
            np.array(
                [0.5 * u * (1 + math.erf(u / math.sqrt(2))) for u in linear(v, f"{name}intermediate.dense")]
            )
            for v in x
        ]
        x = [
            normalised(v + linear(w, f"{name}output.dense"), f"{name}output.LayerNorm")
            for v, w in zip(x, wide)
        ]
    return np.array(x)


def test_the_encoder_is_its_slow_twin_and_padding_changes_nothing(tmp_path):
    weights = write_bert(tmp_path)
    texts = [[3, 5, 7, 2], [4, 4]]
    ids, mask = np.zeros((2, 4), np.int64), np.zeros((2, 4), np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
    vectors = Bert(tmp_path)(ids, mask)
    for row, text in enumerate(texts):
        expected = naive_bert(weights, text, heads=2, n_layers=2)
        np.testing.assert_allclose(vectors[row, : len(text)], expected, atol=2e-5)


def test_other_architectures_are_refused(tmp_path):
    write_bert(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(ValueError, match=r"'gpt2'.*export it to model\.onnx"):
        Bert(tmp_path)


@pytest.mark.parametrize("keep", [0, 5, 200, -4])
def test_a_damaged_file_is_refused(tmp_path, keep):
    write_bert(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="is damaged"):
        read_safetensors(path)
