"""What the classifiers share: scores, new rows, and errors that name what is wrong."""

from datetime import date

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from phaselabel import BinaryGinzburgLandauClassifier, GinzburgLandauClassifier


@pytest.fixture(scope="module")
def two_heaps():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 9]
    y = np.full(60, -1)
    y[[0, 1, 30, 31]] = 0, 0, 1, 1
    return X, y


def test_score_counts_labelled_rows_only(two_heaps):
    X, y = two_heaps
    model = GinzburgLandauClassifier(5, evidence=None).fit(X, y)
    assert model.score(X, y) == 1.0
    wrong = y.copy()
    wrong[0] = 1
    assert model.score(X, wrong) == 0.75
    assert model.score(X, wrong, sample_weight=np.where(wrong < 0, 100, 1 + (np.arange(60) == 0))) == 0.6
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(X, np.full(60, -1))


def test_a_row_without_a_prediction_is_wrong():
    X = np.r_[np.zeros(5), np.full(5, 99.0)][:, None] + np.arange(10)[:, None] / 50
    with pytest.warns(UserWarning, match="They are returned as -1 "):
        model = GinzburgLandauClassifier(2, evidence=None).fit(X, [0, 0, *[-1] * 8])
    with pytest.warns(UserWarning, match="They are returned as None "):
        words = GinzburgLandauClassifier(2, evidence=None).fit(X, ["a", "b", *[""] * 8])
    assert words.transduction_[-1] is None
    assert model.score(X, [0, 0, -1, -1, -1, 0, -1, -1, -1, -1]) == pytest.approx(2 / 3)


def test_score_of_strings_with_gaps(two_heaps):
    X, y = two_heaps
    words = np.array(["a", "b", None], object)[y]
    assert GinzburgLandauClassifier(5, evidence=None).fit(X, words).score(X, pd.Series(words)) == 1.0
    assert BinaryGinzburgLandauClassifier(5).fit(X, words).score(X, words) == 1.0


def test_plain_grid_search_ignores_unlabelled_rows(two_heaps):
    X, y = two_heaps
    search = GridSearchCV(GinzburgLandauClassifier(evidence=None), {"n_neighbors": [3, 5]}, cv=2).fit(X, y)
    assert search.best_score_ == 1.0


def test_errors_name_the_row(two_heaps):
    X, y = two_heaps
    model = GinzburgLandauClassifier(5, evidence=None).fit(X, y)
    with pytest.raises(ValueError, match=r"contains NaN in row 1 \(column 0"):
        model.predict([[0, 0], [np.nan, 1]])
    frame = pd.DataFrame({"age": [1.0, np.nan, np.nan], "weight": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"NaN in 2 rows, the first is row 1 \(column 'age'"):
        GinzburgLandauClassifier().fit(frame, [0, 1, -1])
    with pytest.raises(ValueError, match=r"infinity .* row 0 \(column 1"):
        model.predict([[0, np.inf]])


def test_graphs_of_other_libraries_are_named():
    club = nx.karate_club_graph()
    for affinity in ("nearest_neighbors", "precomputed"):
        with pytest.raises(ValueError, match=r"pass Graph.from_networkx\(X\)"):
            GinzburgLandauClassifier(affinity=affinity).fit(club, [0, 1] + [-1] * 32)


@pytest.mark.parametrize("row", [[5, 6], 1.5, "a", None, True])
def test_explain_wants_one_row(two_heaps, row):
    model = GinzburgLandauClassifier(5, evidence=None).fit(*two_heaps)
    with pytest.raises(ValueError, match="row must be a whole number between 0 and 59"):
        model.explain(row)


def test_class_sizes_that_name_other_classes(two_heaps):
    with pytest.raises(ValueError, match=r"exactly the 2 classes .* \[2\] has no label"):
        GinzburgLandauClassifier(class_sizes={0: 0.3, 1: 0.3, 2: 0.4}).fit(*two_heaps)
    with pytest.raises(ValueError, match=r"\[1\] is missing"):
        GinzburgLandauClassifier(class_sizes={0: 0.3}).fit(*two_heaps)


@pytest.mark.parametrize("evidence", ["auto", None])
def test_a_warm_start_is_never_worse(digits, evidence):
    X, y = digits[0][:400], digits[1][:400]
    labels = np.full(400, -1)
    labels[0] = y[0]
    warm = GinzburgLandauClassifier(evidence=evidence).fit(X, labels)
    for n in (5, 10, 25):
        rows = warm.query(n)
        labels[rows] = y[rows]
        cold = GinzburgLandauClassifier(evidence=evidence).fit(X, labels)
        warm = GinzburgLandauClassifier(evidence=evidence, init=warm).fit(X, labels)
        hidden = labels < 0
        of_cold, of_warm = (np.mean(model.transduction_[hidden] == y[hidden]) for model in (cold, warm))
        assert of_warm >= of_cold - 0.002


def test_an_earlier_answer_does_not_reveal_hidden_labels(two_heaps):
    X, _ = two_heaps
    y = np.random.default_rng(0).integers(0, 2, 60)
    first = GinzburgLandauClassifier(5, evidence=None).fit(X, y)
    again = GinzburgLandauClassifier(5, evidence=None, init=first).fit(X, y)
    assert again.hold_out().accuracy == first.hold_out().accuracy


def test_rows_that_have_a_class_by_evidence_are_not_counted_as_lost():
    """Four pairs of rows: two with a label, one with evidence only, one with neither."""
    weights = np.kron(np.eye(4), [[0.0, 1.0], [1.0, 0.0]])
    given = np.full((8, 2), np.nan)
    given[4] = 0.1, 0.9
    model = GinzburgLandauClassifier(affinity="precomputed", evidence=given)
    with pytest.warns(UserWarning, match="2 of 8 rows have no label"):
        model.fit(weights, [0, -1, 1, -1, -1, -1, -1, -1])
    assert model.transduction_.tolist() == [0, 0, 1, 1, 1, 1, -1, -1]


@pytest.mark.parametrize("evidence", ["auto", None])
def test_new_rows_may_be_dense_or_sparse_whatever_was_fitted(two_heaps, evidence):
    X, y = two_heaps
    for fitted in (X, sparse.csr_array(X)):
        model = GinzburgLandauClassifier(evidence=evidence).fit(fitted, y)
        found = [model.predict_proba(rows) for rows in (X + 0.01, sparse.csr_array(X + 0.01))]
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["Barolo", "Nebbiolo", "Barolo", "1.5"], "Column 'kind' of X holds words, such as 'Barolo'"),
        (pd.to_datetime(["2024-01-01"] * 4), "Column 'kind' of X holds dates, such as '2024-01-01"),
        ([date(2024, 1, 1)] * 4, "Column 'kind' of X holds dates, such as '2024-01-01'"),
    ],
)
def test_a_column_of_words_or_dates_is_named(column, said):
    X = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "kind": column})
    with pytest.raises(ValueError, match=f"{said}.*; make numbers of it, for instance with sklearn"):
        GinzburgLandauClassifier(1).fit(X, [0, -1, 1, -1])
    with pytest.raises(ValueError, match="Column 1 of X holds"):
        GinzburgLandauClassifier(1).fit(X.to_numpy().tolist(), [0, -1, 1, -1])


def test_wrong_labels_are_overruled_at_low_fidelity_or_made_unknown(two_heaps):
    """As the handbook says of wrong labels."""
    X, y = two_heaps
    y = np.where(np.arange(60) % 3, np.repeat([0, 1], 30), -1)
    y[[1, 31]] = 1, 0  # wrong
    literal = GinzburgLandauClassifier(5, fidelity=0.01, evidence=None, init="hub").fit(X, y)
    assert literal.transduction_[[1, 31]].tolist() == [0, 1]
    usual = GinzburgLandauClassifier(5).fit(X, y)
    assert usual.transduction_[[1, 31]].tolist() == [1, 0]
    y[usual.suspect_labels_] = -1
    assert GinzburgLandauClassifier(5).fit(X, y).transduction_[[1, 31]].tolist() == [0, 1]
