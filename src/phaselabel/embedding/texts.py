"""Texts in, vectors of length 1 out: near in meaning is near in distance."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.embedding.bert import Bert
from phaselabel.embedding.models import cache_home, digest_of, find_model, weights_of
from phaselabel.embedding.vector_cache import VectorCache, key_of

#: Texts that are computed, and kept, at once.
TEXTS_AT_ONCE = 32
#: Tokens of a text that count, if the model does not say.
MOST_TOKENS = 256

Encoder = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]


class TextModel:
    """A model that turns texts into vectors.

    Parameters
    ----------
    folder : Path
        What :func:`find_model` returns.

    Attributes
    ----------
    digest : str
        Names the weights; vectors of another digest can't be compared.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise ImportError(
                "Embedding texts needs tokenizers; install it with: pip install 'phaselabel[embed]'"
            ) from None
        weights = weights_of(folder)
        if weights is None:
            raise ValueError(f"{folder} has no weights (model.onnx or model.safetensors).")
        self._encode: Encoder = onnx_encoder(weights) if weights.suffix == ".onnx" else Bert(folder)
        self._first_token_only = _pools_first_token(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_most_tokens(folder))
        self.digest = digest_of(weights)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of a few texts, of length 1; an empty text has a vector too."""
        tokens = [entry.ids for entry in self._tokenizer.encode_batch(list(texts))]
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, some in enumerate(tokens):
            ids[row, : len(some)], mask[row, : len(some)] = some, 1
        hidden = self._encode(ids, mask)
        if hidden.ndim == 3:
            hidden = hidden[:, 0] if self._first_token_only else _mean(hidden, mask)
        lengths = np.linalg.norm(hidden, axis=1, keepdims=True)
        return np.asarray(hidden / np.maximum(lengths, 1e-12), np.float32)


def embed_texts(texts: Sequence[str], model: str, bar: Any = None) -> NDArray[np.float32]:
    """Turn texts into vectors, each different text once, over all runs.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    model : str
        A name or a folder, as for :func:`find_model`.
    bar : object, optional
        Its ``update(n)`` is called after every n different texts.

    Returns
    -------
    ndarray of shape (n_texts, n_features)
        Rows of length 1.
    """
    loaded = text_model(str(find_model(model)))
    cache = VectorCache(cache_home() / "vectors" / f"{loaded.digest}.sqlite")
    keys = [key_of(text.encode("utf-8", "surrogatepass")) for text in texts]
    known = cache.load(set(keys))
    if bar is not None:
        bar.update(len(known))
    missing = {key: text for key, text in zip(keys, texts) if key not in known}
    # Texts of like length share a batch: little is computed for padding.
    waiting = sorted(missing.items(), key=lambda item: len(item[1]))
    for start in range(0, len(waiting), TEXTS_AT_ONCE):
        some = waiting[start : start + TEXTS_AT_ONCE]
        new = dict(zip([key for key, _ in some], loaded.vectors([text for _, text in some])))
        cache.keep(new)
        known.update(new)
        if bar is not None:
            bar.update(len(new))
    return np.stack([known[key] for key in keys])


@lru_cache(maxsize=2)
def text_model(folder: str) -> TextModel:
    """The model in a folder, loaded once."""
    return TextModel(Path(folder))


def digest_of_model(model: str) -> str:
    """The digest of the weights of a model that is on this machine, or can be downloaded."""
    weights = weights_of(find_model(model))
    return digest_of(weights) if weights else ""


def onnx_session(path: Path) -> Any:
    """Open an ONNX file with onnxruntime, on the processor."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "Running an ONNX model needs onnxruntime; install it with: pip install 'phaselabel[embed]'"
        ) from None
    options = onnxruntime.SessionOptions()
    # Threads that wait by spinning hold up the others where other programs have work too.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has an exception type per status code
        raise ValueError(
            f"{path} can't be opened as an ONNX model ({' '.join(str(error).split())})."
        ) from None


def onnx_encoder(path: Path) -> Encoder:
    """A sentence model in an ONNX file as a function of tokens and mask."""
    session = onnx_session(path)
    names = [entry.name for entry in session.get_inputs()]
    unknown = set(names) - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown or "input_ids" not in names:
        raise ValueError(
            f"{path} is not a model for texts: its inputs are {', '.join(names)}, not "
            "input_ids and attention_mask."
        )

    def encode(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return np.asarray(session.run(None, {name: given[name] for name in names})[0], np.float32)

    return encode


def _mean(hidden: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))


def _entry(path: Path, key: str) -> Any:
    return json.loads(path.read_text(encoding="utf-8")).get(key) if path.is_file() else None


def _pools_first_token(folder: Path) -> bool:
    return bool(_entry(folder / "1_Pooling" / "config.json", "pooling_mode_cls_token"))


def _most_tokens(folder: Path) -> int:
    """The tokens of a text that count: no more than the model has places for."""
    wanted = int(_entry(folder / "sentence_bert_config.json", "max_seq_length") or MOST_TOKENS)
    places = int(_entry(folder / "config.json", "max_position_embeddings") or 0)
    return min(wanted, places) if places > 0 else wanted
