"""A fitted model and the chunks of a Dask collection in, predictions as a Dask array out."""

from typing import Any, Literal

import numpy as np
from distributed import get_client
from numpy.typing import NDArray

from phaselabel.labels import decode


def predict_chunks(model: Any, X: Any, method: Literal["predict", "predict_proba"]) -> Any:
    """Predict the rows of a Dask array or data frame, chunk by chunk.

    Parameters
    ----------
    model : classifier
        A fitted model in this process; with a client it is sent to every worker once.
    X : dask array or dask DataFrame
        New rows.
    method : {"predict", "predict_proba"}
        What to predict.

    Returns
    -------
    dask array
        With the chunks of ``X``, computed when it is needed.
    """
    import dask
    import dask.array as da

    if hasattr(X, "partitions") and not hasattr(X, "chunks"):
        chunks, sizes = X.to_delayed(), [np.nan] * X.npartitions
    else:
        if len(X.chunks) != 2:
            raise ValueError(f"X must have rows and features; got an array of shape {X.shape}.")
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        chunks, sizes = X.to_delayed().ravel(), list(X.chunks[0])
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model was fitted on {model.n_features_in_}; pass the "
            "columns of the fit."
        )
    n_classes = len(model.classes_)
    # A label that is not known may be of another type than the classes.
    label = decode(np.array([-1]), model.classes_, model.unlabeled).dtype
    dtype, width = (label, ()) if method == "predict" else (np.dtype(np.float64), (n_classes,))
    call, sent = dask.delayed(_predict_chunk, pure=False), on_workers(model)
    parts = [
        da.from_delayed(call(sent, chunk, method, dtype), (size, *width), dtype)
        for chunk, size in zip(chunks, sizes)
    ]
    return da.concatenate(parts)


def on_workers(model: Any) -> Any:
    """The model, or a future of it on every worker."""
    try:
        client = get_client()
    except ValueError:
        return model
    # A key of its own: one that is made again while its data are being released is lost.
    return client.scatter(model, broadcast=True, hash=False)


def _predict_chunk(model: Any, chunk: Any, method: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    if not chunk.shape[0]:
        return np.empty((0, *((len(model.classes_),) if method == "predict_proba" else ())), dtype)
    predicted: NDArray[Any] = getattr(model, method)(chunk).astype(dtype)
    return predicted
