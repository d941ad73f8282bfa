"""Small models of texts and pictures, made of nothing."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace


def write_tokenizer(folder, words):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(
        WordLevel({"[PAD]": 0, "[UNK]": 1, **{w: k for k, w in enumerate(words, 2)}}, "[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def save_onnx(path, nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes, "made", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_word_vectors(folder, vectors):
    """A text model as an ONNX file: a token has the vector of its word."""
    table = np.zeros((len(vectors) + 2, len(next(iter(vectors.values())))), np.float32)
    table[2:] = list(vectors.values())
    write_tokenizer(folder, list(vectors))
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
        for name in ("input_ids", "attention_mask")
    )
    hidden = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", table.shape[1]])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    save_onnx(folder / "model.onnx", nodes, [ids, mask], [hidden], {"table": table})


def write_mean_model(path, shape=("n", 3, 8, 8)):
    """A vision model that answers the mean of each channel."""
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, ["n", 3])
    nodes = [helper.make_node("ReduceMean", ["pixels"], ["out"], axes=[2, 3], keepdims=0)]
    save_onnx(path, nodes, [pixels], [out], {})


def write_safetensors(path, arrays):
    header, blocks, start = {}, [], 0
    for name, array in arrays.items():
        block = np.ascontiguousarray(array, "<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [start, start + len(block)],
        }
        blocks.append(block)
        start += len(block)
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(blocks))


def write_bert(folder, n_layers=2, width=8, heads=2, n_words=20, seed=0):
    """A BERT model with random weights; returns them."""
    rng = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (n_words, width),
        "embeddings.position_embeddings.weight": (32, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    linear = {"embeddings.LayerNorm": None}
    for k in range(n_layers):
        name = f"encoder.layer.{k}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear[f"{name}attention.{part}"] = (width, width)
        linear |= {f"{name}attention.output.LayerNorm": None, f"{name}output.LayerNorm": None}
        linear |= {f"{name}intermediate.dense": (2 * width, width), f"{name}output.dense": (width, 2 * width)}
    for name, shape in linear.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape or (width,), ((shape or (width,))[0],)
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", arrays)
    config = {
        "model_type": "bert", "hidden_act": "gelu", "num_attention_heads": heads, "layer_norm_eps": 1e-12,
        "num_hidden_layers": n_layers, "max_position_embeddings": 32,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return arrays
