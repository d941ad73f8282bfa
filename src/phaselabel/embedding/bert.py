"""A folder with the weights of a BERT model in, vectors for tokens out, with NumPy alone.

Sentence models are published as safetensors files; not all of them come as ONNX. Six layers of matrix
products need no further library.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

#: The element types of safetensors files that are read.
ELEMENTS: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
}
#: The header of a safetensors file has at most this many bytes.
LARGEST_HEADER = 100_000_000

Floats = NDArray[np.float32]


class Bert:
    """A BERT encoder.

    Parameters
    ----------
    folder : Path
        Holds ``config.json`` and ``model.safetensors``.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(
                f"{folder} holds a model of type {config.get('model_type')!r}, and only 'bert' can run "
                "without ONNX; export it to model.onnx."
            )
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._eps = float(config.get("layer_norm_eps", 1e-12))
        self._weights = read_safetensors(folder / "model.safetensors")

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        """Vectors for tokens.

        Parameters
        ----------
        ids, mask : ndarray of shape (n_texts, n_tokens)
            The tokens, and 1 where there is one.

        Returns
        -------
        ndarray of shape (n_texts, n_tokens, n_features)
            The vectors of the last layer.
        """
        weights = self._weights
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        x = self._normalised(x, "embeddings.LayerNorm")
        hidden = np.where(mask[:, None, None, :] == 1, np.float32(0), np.float32(-1e9))
        # Several threads wait for each other by spinning: beside other programs they are seven times slower.
        with threadpool_limits(1, "blas"):
            for layer in range(self._layers):
                x = self._layer(x, hidden, f"encoder.layer.{layer}.")
        return x

    def _layer(self, x: Floats, hidden: Floats, name: str) -> Floats:
        query, key, value = (
            self._split(self._linear(x, f"{name}attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(query.shape[-1])) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        context = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        context = context.swapaxes(1, 2).reshape(x.shape)
        x = self._normalised(
            x + self._linear(context, f"{name}attention.output.dense"), f"{name}attention.output.LayerNorm"
        )
        wide = _gelu(self._linear(x, f"{name}intermediate.dense"))
        return self._normalised(x + self._linear(wide, f"{name}output.dense"), f"{name}output.LayerNorm")

    def _linear(self, x: Floats, name: str) -> Floats:
        flat = x.reshape(-1, x.shape[-1])  # one large product instead of one per text
        product = flat @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return np.asarray(product.reshape(*x.shape[:-1], -1))

    def _split(self, x: Floats) -> Floats:
        n_texts, n_tokens, width = x.shape
        return x.reshape(n_texts, n_tokens, self._heads, width // self._heads).swapaxes(1, 2)

    def _normalised(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(self._eps))
        return np.asarray(centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])


def _gelu(x: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(0.5 * x * (1 + erf(x / np.float32(np.sqrt(2)))), np.float32)


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a safetensors file.

    Parameters
    ----------
    path : Path
        The file: the length of a JSON header in 8 bytes, the header, and the arrays one after another.

    Returns
    -------
    dict of str to ndarray
        The arrays; floats have single precision.
    """
    content = path.read_bytes()
    try:
        length = int.from_bytes(content[:8], "little")
        if len(content) < 8 or length > min(LARGEST_HEADER, len(content) - 8):
            raise ValueError("the header is cut off")
        header = json.loads(content[8 : 8 + length])
        arrays = {
            name: _array(content, 8 + length, entry)
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); take another copy.") from None
    return arrays


def _array(content: bytes, start: int, entry: dict[str, Any]) -> NDArray[Any]:
    if entry["dtype"] not in ELEMENTS:
        raise ValueError(f"elements of type {entry['dtype']} are not read")
    dtype, (begin, end) = ELEMENTS[entry["dtype"]], entry["data_offsets"]
    if not 0 <= begin <= end <= len(content) - start or (end - begin) % dtype.itemsize:
        raise ValueError("an array lies outside of the file")
    flat = np.frombuffer(content, dtype, (end - begin) // dtype.itemsize, start + begin)
    array = flat.reshape(entry["shape"])
    return array.astype(np.float32) if dtype.kind == "f" else array
