"""The parameter ``init`` and the labels in, the policy and the state that the flow starts from out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from phaselabel.estimators.graph_classifier import GraphClassifier
from phaselabel.few_labels.policy import FIT, LITERAL, Policy
from phaselabel.flow.star import State, checked_state

#: Starts that have a name.
STARTS = ("auto", "hub", "random")


def policy_and_start(init: Any, classes: NDArray[Any], labels: NDArray[np.int32]) -> tuple[Policy, Any]:
    """How to solve, and from where; an ``init`` that makes no sense is refused."""
    start = earlier_answer(init, classes, labels) if isinstance(init, GraphClassifier) else init
    if not isinstance(start, str):
        checked_state(start, len(labels), len(classes), "init")
    elif start not in STARTS:
        raise ValueError(
            f"init must be 'auto', 'hub', 'random', a fitted classifier or a State; got {start!r}."
        )
    if isinstance(init, GraphClassifier):
        return FIT, start
    return (FIT, "hub") if is_automatic(init) else (LITERAL, start)


def is_automatic(init: Any) -> bool:
    """Whether the start of the flow is not given as a state; a fitted classifier only saves sweeps."""
    return isinstance(init, GraphClassifier) or (isinstance(init, str) and init == "auto")


def earlier_answer(model: Any, classes: NDArray[Any], labels: NDArray[np.int32]) -> State:
    """What a fitted classifier found and the labels don't contradict, the rest at the hub.

    A class that is new has rows among those of the earlier classes, so then everything starts anew.
    """
    check_is_fitted(model, "solution_")
    earlier = model.classes_.tolist()
    now = classes.tolist()
    match = np.array([now.index(name) if name in now else -1 for name in earlier] + [-1], np.int32)
    arm = match[model.solution_.arm]
    if len(arm) == len(labels):
        wrong = (labels >= 0) & (arm >= 0) & (arm != labels)
        restarted = np.union1d(arm[wrong], labels[wrong])
        new_class = any(name not in earlier for name in now)
        arm = np.where(np.isin(arm, restarted) | new_class, -1, arm).astype(np.int32)
    return State(arm, np.where(arm >= 0, model.solution_.height, 0.0))


def agreeing(start: State, earlier: Any) -> State:
    """A start at the heights of an earlier answer, if there is one, where both are on the same arm.

    Examples
    --------
    >>> start = State(np.array([0, 1]), np.array([0.1, 0.1]))
    >>> agreeing(start, State(np.array([0, 0]), np.array([0.5, 0.5]))).height.tolist()
    [0.5, 0.1]
    """
    if not isinstance(earlier, State):
        return start
    same = (earlier.arm == start.arm) & (earlier.height > start.height)
    return State(start.arm, np.where(same, earlier.height, start.height))
