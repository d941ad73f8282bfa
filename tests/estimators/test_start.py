"""Where the flow starts: at an earlier answer, as far as the labels don't contradict it."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from made import accuracy, suite_table
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


def answered_in_rounds(X, y, rounds, evidence):
    """Answers to ``query`` from one label; a warm model and a cold one after each round, and the labels."""
    given = np.where(np.arange(len(y)) == 0, y, -1)
    model = GinzburgLandauClassifier(evidence=evidence).fit(X, given)
    for n in rounds:  # classes that are new, and labels that contradict, come on the way
        asked = model.query(n)
        given[asked] = y[asked]
        cold = GinzburgLandauClassifier(evidence=evidence).fit(X, given)
        model = GinzburgLandauClassifier(evidence=evidence, init=model).fit(X, given)
        yield model, cold, given


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_warm_start_is_never_worse_along_an_active_learning_run():
    X, y = load_wine(return_X_y=True)
    for warm, cold, given in answered_in_rounds(StandardScaler().fit_transform(X), y, (6, 6, 6), "auto"):
        assert accuracy(warm, y, given) >= accuracy(cold, y, given) - 0.2
    assert accuracy(warm, y, given) > 85


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("name", "evidence", "rounds"),
    [
        ("segment", "auto", (6, 6, 6)),
        # Few labels are spread, whatever the start; the last round has more than 50 per class.
        *(
            (name, None, (5, 25, 80, 120))
            for name in ("kr_vs_kp", "mammography", "phoneme", "spambase", "sslbook_usps", "waveform5000")
        ),
        *((name, None, (5, 25, 80)) for name in ("anneal", "car", "vowel")),
    ],
)
def test_a_warm_start_is_never_worse_on_the_suite(data_home, name, evidence, rounds):
    X, y = suite_table(data_home, name, 600)
    for warm, cold, given in answered_in_rounds(X, y, rounds, evidence):
        assert accuracy(warm, y, given) >= accuracy(cold, y, given) - 0.2
    spread = (given >= 0).sum() <= 50 * len(np.unique(y))
    assert spread == (len(rounds) == 3)
