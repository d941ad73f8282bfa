"""Labels that are probably wrong: few are accused where all are right."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from made import suite_table
from phaselabel import GinzburgLandauClassifier
from phaselabel.assess.suspects import find_suspects
from phaselabel.datasets import sample_labels

#: The tables of the development suite whose rows are dense.
SUITE = (
    "anneal", "car", "kr_vs_kp", "mammography", "mnist_imb_vae20", "mushroom", "pendigits", "phoneme",
    "segment", "spambase", "sslbook_usps", "vowel", "waveform5000",
)  # fmt: skip


def test_wrong_labels_are_suspects(digits):
    X, y = digits
    labels = sample_labels(y, 50, random_state=0)
    rng = np.random.default_rng(1)
    wrong = rng.choice(np.flatnonzero(labels >= 0), 100, replace=False)
    flipped = labels.copy()
    flipped[wrong] = (labels[wrong] + rng.integers(1, 10, 100)) % 10
    clean, noisy = (GinzburgLandauClassifier().fit(X, given) for given in (labels, flipped))
    hidden = labels < 0
    loss = np.mean(clean.transduction_[hidden] == y[hidden]) - np.mean(
        noisy.transduction_[hidden] == y[hidden]
    )
    assert loss < 0.05
    found = noisy.hold_out().suspects()
    assert np.isin(found.rows, wrong).mean() >= 0.8
    assert np.isin(wrong, found.rows).mean() >= 0.5
    assert 0.1 < found.share_wrong < 0.3
    assert len(clean.suspect_labels_) <= 0.02 * 500
    assert "of 500 labels look wrong" in str(found)
    assert np.mean(found.likely == y[found.rows]) >= 0.8
    assert not (found.likely == flipped[found.rows]).any()


def test_true_labels_are_not_accused():
    accused = given = 0
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        for draw in (3, 4):
            labels = sample_labels(y, 20, random_state=draw)
            model = GinzburgLandauClassifier().fit(StandardScaler().fit_transform(X), labels)
            accused += len(model.suspect_labels_)
            given += int((labels >= 0).sum())
    assert accused <= 0.02 * given


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_true_labels_of_the_suite_are_not_accused(data_home):
    accused = given = 0
    for name in SUITE:
        X, y = suite_table(data_home, name, 400)
        labels = sample_labels(y, min(20, np.bincount(y).min()), random_state=0)
        accused += len(GinzburgLandauClassifier().fit(X, labels).suspect_labels_)
        given += int((labels >= 0).sum())
    assert given > 1000
    assert accused <= 0.02 * given


def test_a_method_that_is_often_wrong_accuses_nothing():
    rng = np.random.default_rng(0)
    believed = rng.dirichlet([0.5, 0.5, 0.5], 300)
    given = np.array([rng.choice(3, p=p) for p in believed])  # exactly as often wrong as it says
    found = find_suspects(np.arange(300), given, believed)
    assert len(found.rows) == 0
    assert str(found) == "none of 300 labels looks wrong"


def test_false_alarms_are_foretold():
    rng = np.random.default_rng(1)
    said = false = expected = 0
    for _ in range(20):
        believed = rng.dirichlet([0.2, 0.2, 0.2], 300)
        truth = np.array([rng.choice(3, p=p) for p in believed])
        given = np.where(rng.random(300) < 0.1, (truth + rng.integers(1, 3, 300)) % 3, truth)
        found = find_suspects(np.arange(300), given, believed)
        said += len(found.rows)
        false += int((given == truth)[found.rows].sum())
        expected += found.expected_false
    assert said > 100
    assert false <= 1.5 * expected
    assert false / said < 0.3


def test_nothing_to_judge():
    found = find_suspects(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 0)))
    assert str(found) == "not known: no label could be hidden"
