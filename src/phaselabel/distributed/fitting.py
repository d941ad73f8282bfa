"""A Dask array, labels of any type and settings in; labels and confidence as Dask arrays out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.descent import check_sweeps_per_round
from phaselabel.distributed.job import Job, Outcome, Settings, connected
from phaselabel.labels import decode, encode, is_known
from phaselabel.star import checked_fidelity

OPTIONS = ("client", "checkpoint", "resume", "sweeps_per_round", "progress")


class Fitted:
    """What a fit on a Dask array leaves: the answers here as Dask arrays, the graph in blocks on disk.

    Attributes
    ----------
    classes : ndarray
        The distinct labels.
    labels : dask array
        A label for every row.
    outcome : Outcome
        The flow's answer, and what it cost.
    """

    def __init__(self, job: Job, outcome: Outcome, known: tuple[Any, Any, Any], settings: Settings) -> None:
        self.classes, self._rows, self._arms = known
        self._job, self.outcome, self._settings = job, outcome, settings

    @property
    def n_unreached(self) -> int:
        """How many rows no label has reached."""
        return self.outcome.deal.n_rows - int(self.outcome.class_sizes.sum())

    def confidence(self, client: Any = None) -> Any:
        """The probability that each label is right, made when first asked for."""
        if self.outcome.confidence is None:
            with connected(client) as own:
                self._job.confide(
                    own, self.outcome, self._rows, self._arms, len(self.classes), self._settings
                )
        return self.outcome.confidence

    def decoded(self, unlabeled: Any, below: float | None = None, client: Any = None) -> Any:
        """The labels themselves; ``unlabeled`` where none reaches, or where confidence is below a bar."""
        arm: Any = self.outcome.solution.arm
        lost = np.array([-1] if self.n_unreached or below is not None else [0])
        dtype = decode(lost, self.classes, unlabeled).dtype
        sure = [] if below is None else [self.confidence(client)]
        return arm.map_blocks(
            _decoded, *sure, classes=self.classes, unlabeled=unlabeled, below=below, kind=dtype, dtype=dtype,
            name=f"phaselabel-labels-{id(self):x}",
        )  # fmt: skip

    def __repr__(self) -> str:
        done = self.outcome
        return (
            f"Graph in {done.deal.n_blocks} blocks ({done.deal.n_rows} vertices, {done.n_edges} edges, "
            f"{done.n_cut} of them cut)"
        )


class RemoteGraph:
    """Stands where a model keeps its graph; says why it is not here."""

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            "This model was fitted on a Dask array, and its graph stayed with the cluster: it has labels and "
            "confidence of the fitted rows, but can't predict others, explain, or be saved. Fit new rows "
            "together with the old ones."
        )

    def __repr__(self) -> str:
        return repr(self._fitted)


def _decoded(arm: Any, *sure: Any, classes: Any, unlabeled: Any, below: Any, kind: Any) -> NDArray[Any]:
    arm = np.where(sure[0] < below, -1, arm) if sure else arm
    return decode(arm, classes, unlabeled).astype(kind)


def fit(
    X: Any, y: Any, settings: Settings, unlabeled: Any = -1, options: dict[str, Any] | None = None
) -> Fitted:
    """Label every row of a Dask array.

    Parameters
    ----------
    X : dask array of shape (n, d)
        The rows.
    y : array-like or dask array of shape (n,)
        Labels of any type; ``unlabeled`` (or a missing value) where not known.
    settings : Settings
        Neighbours, metric, flow.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known".
    options : dict, optional
        ``client``, ``checkpoint`` (a folder that all workers see), ``resume``, ``sweeps_per_round`` and
        ``progress``.
    """
    given = dict(options or {})
    for name in given:
        if name not in OPTIONS:
            raise ValueError(f"dask_options may have {', '.join(OPTIONS)}; got {name!r}.")
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "buif":
        raise ValueError(f"X must be a Dask array of numbers, rows by features; got {X.dtype} {X.shape}.")
    settings.sweeps_per_round = given.get("sweeps_per_round", "auto")
    check_sweeps_per_round(settings.sweeps_per_round)
    with connected(given.get("client")) as client:
        if np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        rows, values, n = known_labels(y, unlabeled, client)
        if n != X.shape[0]:
            raise ValueError(f"y must have one entry per row of X, {X.shape[0]}; got {n}.")
        classes, arms = encode(values, None)
        return fit_known(X, rows, arms, classes, settings, client, given)


def fit_known(
    X: Any, rows: Any, arms: Any, classes: Any, settings: Settings, client: Any, options: dict[str, Any]
) -> Fitted:
    """The same where the known rows and their classes are at hand."""
    if np.ndim(settings.fidelity):
        settings.fidelity = np.asarray(settings.fidelity)[rows]
    checked_fidelity(settings.fidelity, arms)
    if not 1 <= settings.n_neighbors < X.shape[0]:
        raise ValueError(
            f"n_neighbors={settings.n_neighbors} must be smaller than the number of rows, {X.shape[0]}."
        )
    job = Job(
        client,
        options.get("checkpoint"),
        resume=options.get("resume", False),
        progress=options.get("progress"),
    )
    outcome = job.run(X, rows, arms, len(classes), settings)
    return Fitted(job, outcome, (classes, rows, arms), settings)


def known_labels(y: Any, unlabeled: Any, client: Any) -> tuple[NDArray[np.int64], NDArray[Any], int]:
    """The rows that have a label, their labels, and how many rows there are; only labels come here."""
    if not hasattr(y, "__dask_graph__"):
        y = np.array(y, object) if isinstance(y, list | tuple) else np.asarray(y)
        rows = np.flatnonzero(is_known(y, unlabeled))
        found, n = y[rows], len(y)
    else:
        import dask

        pick = dask.delayed(_known_in, pure=False)
        parts = client.gather(client.compute([pick(part, unlabeled) for part in y.to_delayed().ravel()]))
        first = np.concatenate([[0], np.cumsum([size for _, _, size in parts])])
        rows = np.concatenate([some + start for (some, _, _), start in zip(parts, first)])
        found, n = np.concatenate([values for _, values, _ in parts]), int(first[-1])
    if not len(rows):
        raise ValueError(
            f"y has no labelled row: all {n} entries are missing or equal to unlabeled={unlabeled!r}; label "
            "at least one row, or name the marker with unlabeled=."
        )
    return rows, found, n


def _known_in(part: Any, unlabeled: Any) -> tuple[NDArray[np.int64], NDArray[Any], int]:
    part = np.asarray(part)
    rows = np.flatnonzero(is_known(part, unlabeled))
    return rows, part[rows], len(part)
