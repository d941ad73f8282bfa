"""Hidden labels: found again, honestly counted, and wrong ones pointed out."""

import numpy as np
import pytest

from phaselabel import GinzburgLandauClassifier


def fitted(graph, labels):
    return GinzburgLandauClassifier(affinity="precomputed", evidence=None).fit(graph.weights, labels)


def test_wrong_labels_are_suspected_and_accuracy_is_that_of_the_rest(digits, digits_graph):
    _, y = digits
    rng = np.random.default_rng(0)
    labels = np.full(len(y), -1)
    known = rng.choice(len(y), 300, replace=False)
    labels[known] = y[known]
    wrong = known[:12]
    labels[wrong] = (y[wrong] + 1 + rng.integers(0, 8, len(wrong))) % 10
    held = fitted(digits_graph, labels).hold_out()
    assert set(wrong) <= set(held.rows)
    suspects = set(held.suspects().rows)
    assert len(set(wrong) & suspects) >= 9
    assert len(suspects - set(wrong)) <= 3
    right = held.given == y[held.rows]
    assert np.mean(held.found[right] == held.given[right]) > 0.93
    low, high = held.interval()
    assert low < held.accuracy < high


def test_hidden_labels_are_sought_as_the_fit_was_made(digits, digits_graph):
    # With two labels per class the classifier spreads them first; so must every turn.
    from phaselabel.assess.hidden import _dealt
    from phaselabel.datasets import sample_labels

    labels = sample_labels(digits[1], 2, random_state=0)
    held = fitted(digits_graph, labels).hold_out()
    assert held.folds == 2
    turn = _dealt(held.rows, labels, 2, np.random.default_rng(0))
    for fold in range(2):
        kept = labels.copy()
        kept[held.rows[turn == fold]] = -1
        assert (kept >= 0).sum() == 10
        again = fitted(digits_graph, kept)
        assert (again.transduction_[held.rows] == held.found)[turn == fold].all()


def test_confidence_in_hidden_labels_is_honest(digits, digits_graph):
    _, y = digits
    labels = np.where(np.random.default_rng(1).random(len(y)) < 0.2, y, -1)
    held = fitted(digits_graph, labels).hold_out()
    assert abs(held.confidence.mean() - held.accuracy) < 0.03
    sure = held.confidence >= np.median(held.confidence)
    right = held.given == held.found
    assert right[sure].mean() >= right[~sure].mean()


def test_no_label_sees_itself(digits_graph, digits):
    # Shuffled labels carry nothing; only a leak could find them again.
    labels = np.full(len(digits[1]), -1)
    labels[:200] = np.random.default_rng(0).integers(0, 10, 200)
    assert fitted(digits_graph, labels).hold_out().accuracy < 0.25


@pytest.mark.parametrize("folds", [1, 0, -3, 2.5, "x", True])
@pytest.mark.parametrize("evidence", ["auto", None])
def test_a_number_of_turns_that_makes_no_sense_is_refused(folds, evidence):
    X, y = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], [0, 0, -1, 1, 1, -1]
    model = GinzburgLandauClassifier(2, evidence=evidence).fit(X, y)
    with pytest.raises(ValueError, match="folds must be a whole number of at least 2"):
        model.hold_out(folds)
    assert model.hold_out(2).folds == 2


def test_labels_alone_in_their_class_are_not_hidden(digits_graph):
    labels = np.full(digits_graph.n_vertices, -1)
    labels[[0, 1, 2]] = 0, 1, 2
    held = fitted(digits_graph, labels).hold_out()
    assert len(held.rows) == 0
    assert held.skipped == 3
    assert held.interval() == (0.0, 1.0)
    assert np.isnan(held.accuracy)
    assert str(held.suspects()) == "not known: no label could be hidden"
    assert held.confusion().shape == (0, 0)


@pytest.mark.parametrize(
    ("right", "expected"), [(0, (0.0, 0.4636)), (3, (0.0672, 0.7182)), (10, (0.5364, 1.0))]
)
def test_the_interval_is_wilsons_for_the_labels_that_are_independent(right, expected):
    from phaselabel.assess.hidden import HeldOut

    given = np.zeros(10, np.int32)
    found = np.where(np.arange(10) < right, 0, 1).astype(np.int32)
    interval = HeldOut(np.arange(10), given, found, np.ones(10), 5, 0, np.eye(2)[found]).interval()
    assert interval == pytest.approx(expected, abs=1e-4)


def test_the_interval_is_narrower_where_fewer_of_the_labels_are_hidden():
    """Ten hidden labels of a hundred, shown 98 others, say more than ten of ten that are shown 8."""
    from phaselabel.assess.hidden import HeldOut

    given = np.zeros(10, np.int32)
    found = (np.arange(10) < 3).astype(np.int32)

    def width(skipped):
        low, high = HeldOut(np.arange(10), given, found, np.ones(10), 5, skipped, np.eye(2)[found]).interval()
        return high - low

    assert width(90) < width(0)


def test_hidden_labels_count_as_the_classes_are_large():
    """Of a class that has nine rows in ten, and of one that has the tenth, as many labels are known."""
    from phaselabel.assess.hidden import HeldOut

    labels = np.repeat([0, 1], 10).astype(np.int32)
    believed = np.tile([0.95, 0.05], (20, 1))
    believed[10:15] = 0.05, 0.95
    sizes = np.array([0.9, 0.1])
    held = HeldOut.of_probabilities(np.arange(20), labels, believed, 5, np.ones(2), sizes)
    large = held.weights[:10].sum()
    assert 0.7 < large < 0.9  # found so, while half of the small class was taken for the large one
    assert held.n_found == 15
    assert held.accuracy == pytest.approx(large + (1 - large) / 2)
    alike = HeldOut(held.rows, held.given, held.found, held.confidence, 5, 0, believed)
    assert alike.accuracy == 0.75
    assert f"{held.accuracy:.1%} of the labels expected to be right" in str(held)
    assert "15 of 20 hidden known labels found" in str(held)


def test_a_class_that_takes_all_rows_does_not_vouch_for_itself():
    """Half of the hidden labels are found, all in one class: so it may have half of the rows, or all."""
    from phaselabel.assess.hidden import HeldOut

    labels = np.repeat([0, 1], 3).astype(np.int32)
    believed = np.tile([0.9, 0.1], (6, 1))
    held = HeldOut.of_probabilities(np.arange(6), labels, believed, 3, np.ones(2), np.array([0.95, 0.05]))
    assert held.accuracy == pytest.approx(0.5, abs=0.02)  # 0.95 if the class counted as it was found


def test_a_class_of_which_no_label_was_hidden_leaves_its_share_open():
    from phaselabel.assess.hidden import HeldOut

    labels = np.repeat([0, 1], [100, 1]).astype(np.int32)
    believed = np.tile([0.99, 0.01], (100, 1))
    shares = np.array([0.6, 0.4])
    held = HeldOut.of_probabilities(np.arange(100), labels, believed, 5, np.ones(2), shares)
    assert 0.5 < held.unknown < 0.9  # what rows found as class 0 say, and a deviation
    low, high = held.interval()
    assert low < 1 - held.unknown
    assert high == 1


def test_the_estimate_is_right_where_classes_are_uneven():
    """One row in twenty is of the second class, which overlaps the first; the labels are of random rows."""
    rng = np.random.default_rng(0)
    y = (rng.random(1500) < 0.05).astype(int)
    X = rng.normal(size=(1500, 4)) + 1.2 * y[:, None]
    given = np.where(rng.random(1500) < 0.15, y, -1)
    model = GinzburgLandauClassifier().fit(X, given)
    right = np.mean((model.transduction_ == y)[given < 0])
    low, high = model.hold_out().interval()
    assert low <= right <= high
    assert model.hold_out().accuracy == pytest.approx(right, abs=0.03)
    told = GinzburgLandauClassifier(class_sizes=[0.95, 0.05]).fit(X, given)
    assert told.hold_out().accuracy == pytest.approx(np.mean((told.transduction_ == y)[given < 0]), abs=0.03)


def test_in_a_notebook_it_is_one_sentence():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    held = GinzburgLandauClassifier(3, evidence=None).fit(X, np.where(np.arange(20) % 2, y, -1)).hold_out()
    assert repr(held) == f"<HeldOut: {held}>"
