"""A classifier and a Dask array in, the classifier fitted on the cluster, or a copy in this process, out."""

import warnings
from typing import Any

import numpy as np

from phaselabel.evidence.given import checked_columns
from phaselabel.few_labels.policy import FIT, LITERAL
from phaselabel.flow.minimize import checked_callbacks
from phaselabel.flow.schedule import FlowSettings

#: What a parameter may be on a Dask array.
ALLOWED = {"affinity": ("nearest_neighbors",), "init": ("auto", "hub")}


def fit_on_dask(model: Any, X: Any, y: Any) -> None:
    """Fit a classifier to a Dask array on its cluster; called by ``fit``."""
    from phaselabel.distributed.fitting import fit

    if len(shape := getattr(X, "shape", ())) != 2:
        raise ValueError(
            f"X must be a Dask array or data frame of rows and features; got {type(X).__name__} of "
            f"{len(shape)} dimensions."
        )
    learn(model, X, fit(X, y, settings_of(model, X), model.unlabeled, model.dask_options))


def settings_of(model: Any, X: Any) -> Any:
    """What a classifier's parameters are on a cluster; raise where one can't be used there."""
    from phaselabel.distributed.job import Settings

    for name, fits in ALLOWED.items():
        if not (isinstance(getattr(model, name), str) and getattr(model, name) in fits):
            raise ValueError(f"On a Dask array {name} must be {' or '.join(map(repr, fits))}.")
    model._check_abstention()
    evidence = model.evidence
    if isinstance(evidence, str) and evidence == "auto" and model.init == "hub":
        evidence = None
    return Settings(
        n_neighbors=model.n_neighbors, evidence=evidence,
        scale_neighbor=model.scale_neighbor, metric=model.metric, fidelity=model.fidelity,
        flow=FlowSettings(model.epsilon, model.step, model.max_iter, model.tol),
        class_sizes=model.class_sizes, policy=FIT if model.init == "auto" else LITERAL,
        callbacks=checked_callbacks(model.callbacks),
        model_columns=checked_columns(
            model.model_columns, model.evidence, X.shape[1], getattr(X, "columns", None)
        ),
    )  # fmt: skip


def learn(model: Any, X: Any, fitted: Any) -> None:
    """Keep what a fit on a cluster found."""
    from phaselabel.distributed.fitting import RemoteGraph

    model._forget()
    model._fitted = fitted
    model.classes_, model.solution_ = fitted.classes, fitted.outcome.solution
    model.graph_ = RemoteGraph(fitted)
    model.neighbor_recall_, model.n_features_in_ = fitted.outcome.graph.recall, int(X.shape[1])
    model.__dict__.pop("feature_names_in_", None)
    if hasattr(X, "columns"):
        model.feature_names_in_ = np.asarray(X.columns, object)
    model.energy_, model.n_iter_ = model.solution_.energy, model.solution_.n_iter
    model.converged_ = model.solution_.converged
    opinion = fitted.outcome.opinion
    model._believed, model.choice_ = None, None if opinion is None else opinion.choice
    model.n_neighbors_ = fitted.n_neighbors
    model.novel_ = fitted.novel
    model.transduction_ = fitted.decoded(model.unlabeled, model.abstain_below, model._client)
    # Where a flow is stopped, labels are still on their way to most of the rows that they have not reached.
    stopped = model.solution_.reason in ("limit", "callback")
    model._warn(0 if stopped else fitted.n_unreached, fitted.n_rows, stacklevel=5)
    if loud := model._judge():
        warnings.warn(" ".join(loud), UserWarning, stacklevel=4)


def gathered(model: Any) -> Any:
    """A copy of a classifier that was fitted on Dask, with all of its arrays in this process."""
    parts = model._fitted.gathered()
    # scikit-learn's clone would copy the client in dask_options.
    others = {"dask_options": None, "callbacks": ()}
    copy = type(model)(**(model.get_params(deep=False) | others))
    copy._learn(parts.points, None, parts.graph, model.classes_, parts.labels, parts.solution)
    copy._tau, copy.neighbor_recall_ = parts.tau, model.neighbor_recall_
    copy._believed, copy.choice_ = parts.opinion, model.choice_
    copy.n_neighbors_ = model.n_neighbors_
    copy.novel_ = parts.novel
    copy._calibrated = [] if parts.calibration is None else [parts.calibration]
    copy.n_features_in_, copy.remarks_ = model.n_features_in_, model.remarks_
    if hasattr(model, "feature_names_in_"):
        copy.feature_names_in_ = model.feature_names_in_
    copy.transduction_ = copy._decided(parts.solution.arm)
    return copy
