import numpy as np
import pandas as pd
import polars
import pytest

from phaselabel.labels import decode, encode

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "unlabeled", "classes", "arms"),
    [
        ([3, -1, 5], -1, [3, 5], [0, -1, 1]),
        ([0, 9, 1], 9, [0, 1], [0, -1, 1]),
        ([0.0, NAN, 1.0], -1, [0, 1], [0, -1, 1]),
        (["b", "a", None], -1, ["a", "b"], [1, 0, -1]),
        (["b", "a", NAN], -1, ["a", "b"], [1, 0, -1]),
        (["b", "a", -1], -1, ["a", "b"], [1, 0, -1]),
        (np.array(["b", "a", -1]), -1, ["a", "b"], [1, 0, -1]),
        (["b", "a", "?"], "?", ["a", "b"], [1, 0, -1]),
        (["b", "a", ""], -1, ["", "a", "b"], [2, 1, 0]),
        (["b", "a", ""], "", ["a", "b"], [1, 0, -1]),
        (np.ma.array([1, 2, 5], mask=[0, 1, 0]), -1, [1, 5], [0, -1, 1]),
        ([True, False, None], -1, [False, True], [1, 0, -1]),
        ([-1, 1], None, [-1, 1], [0, 1]),
        (pd.Series([1, None, 2], dtype="Int64"), -1, [1, 2], [0, -1, 1]),
        (pd.Series(["x", None, "y"]), -1, ["x", "y"], [0, -1, 1]),
        (pd.Series(["x", None, "y"], dtype="category"), -1, ["x", "y"], [0, -1, 1]),
        (polars.Series(["x", None, "y"]), -1, ["x", "y"], [0, -1, 1]),
        ([(1, 2), (0, 1), None], -1, [(0, 1), (1, 2)], [1, 0, -1]),
    ],
)
def test_labels_of_any_type(y, unlabeled, classes, arms):
    if isinstance(y, list) and isinstance(y[0], tuple):
        y = np.array([*y, None], object)[:-1]
    found, numbers = encode(y, unlabeled)
    assert found.tolist() == classes
    assert numbers.tolist() == arms


@pytest.mark.parametrize(
    ("y", "unlabeled", "word"),
    [
        ([-1, -1], -1, "no labelled row"),
        ([None, NAN], -1, "no labelled row"),
        ([1, "a", None], -1, "mixes"),
        ([0.5, 1.7, 2.1], -1, "continuous"),
        ([np.inf, 1.0], -1, "infinity"),
        ([0, 1, -1], "?", "usual marker"),
        ([[0, 1], [1, 0]], -1, "1d array"),
    ],
)
def test_bad_labels(y, unlabeled, word):
    with pytest.raises(ValueError, match=word):
        encode(y, unlabeled)


@pytest.mark.parametrize(
    ("classes", "unlabeled", "expected"),
    [
        (np.array([4, 7]), -1, [7, -1]),
        (np.array([4.0, 7.0]), NAN, [7.0, NAN]),
        (np.array(["a", "b"]), "unknown", ["b", "unknown"]),
        (np.array(["a", "b"]), -1, ["b", -1]),
        (np.array(["a", "b"]), None, ["b", None]),
        (np.array([4, 7]), NAN, [7, NAN]),
        (np.array([4, 7]), 1.5, [7, 1.5]),
        (np.array([4, 7], np.int8), 1000, [7, 1000]),
    ],
)
def test_decode_marks_what_is_lost(classes, unlabeled, expected):
    found = decode(np.array([1, -1]), classes, unlabeled).tolist()
    assert found[0] == expected[0]
    assert found[1] == expected[1] or (found[1] != found[1] and expected[1] != expected[1])


def test_decode_keeps_the_type_when_nothing_is_lost():
    assert decode(np.array([1, 0]), np.array(["a", "b"]), None).dtype.kind == "U"
