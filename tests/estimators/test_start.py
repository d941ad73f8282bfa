"""Where the flow starts: at an earlier answer, as far as the labels don't contradict it."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from phaselabel import GinzburgLandauClassifier, State
from phaselabel.estimators.start import agreeing, is_automatic, policy_and_start
from phaselabel.few_labels.policy import FIT, LITERAL


def test_warm_start_through_init(blobs):
    X, _, labels = blobs
    first = GinzburgLandauClassifier(init="hub").fit(X, labels)
    again = GinzburgLandauClassifier(init=first.solution_).fit(X, labels)
    assert again.n_iter_ < first.n_iter_
    np.testing.assert_array_equal(again.transduction_, first.transduction_)


def test_warm_start_from_a_model_matches_classes_by_name(blobs):
    X, y, _ = blobs
    names = np.array(["a", "b", "c"], object)[y]
    first = GinzburgLandauClassifier(n_neighbors=60).fit(
        X, np.where((np.arange(120) % 8 == 0) & (y < 2), names, None)
    )
    given = np.where((np.arange(120) % 8 == 0) & (y > 0), names, None)
    again = GinzburgLandauClassifier(n_neighbors=60, init=first, max_iter=1, tol=0).fit(X, given)
    b = y == 1
    assert np.mean(again.transduction_[b] == "b") > 0.9


def test_a_label_that_contradicts_starts_its_classes_anew(blobs):
    X, _, labels = blobs
    first = GinzburgLandauClassifier().fit(X, labels)
    now = labels.astype(np.int32)
    row = int(np.flatnonzero((labels < 0) & (first.solution_.arm == 0))[0])
    now[row] = 1
    policy, start = policy_and_start(first, np.arange(3), now)
    assert policy is FIT
    assert (start.arm[first.solution_.arm < 2] == -1).all()
    np.testing.assert_array_equal(start.arm == 2, first.solution_.arm == 2)


def test_only_an_automatic_start_spreads():
    labels = np.array([0, -1, 1], np.int32)
    assert policy_and_start("auto", np.arange(2), labels) == (FIT, "hub")
    assert policy_and_start("random", np.arange(2), labels) == (LITERAL, "random")
    assert is_automatic("auto")
    assert not is_automatic("hub")
    with pytest.raises(ValueError, match="init must be"):
        policy_and_start("middle", np.arange(2), labels)


def test_no_earlier_answer_changes_no_start():
    start = State(np.array([0, 1]), np.array([0.2, 0.3]))
    assert agreeing(start, "hub") is start


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_warm_start_is_never_worse_along_an_active_learning_run():
    X, y = load_wine(return_X_y=True)
    X, given = StandardScaler().fit_transform(X), np.where(np.arange(len(y)) == 0, y, -1)
    model = GinzburgLandauClassifier().fit(X, given)
    for _ in range(3):  # classes that are new, and labels that contradict, come on the way
        asked = model.query(6)
        given[asked] = y[asked]
        cold = GinzburgLandauClassifier().fit(X, given)
        model = GinzburgLandauClassifier(init=model).fit(X, given)
        assert np.mean(model.transduction_ == y) >= np.mean(cold.transduction_ == y) - 0.002
    assert np.mean(model.transduction_ == y) > 0.85
