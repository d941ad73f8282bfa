import warnings
from datetime import date
from decimal import Decimal

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
        (["b", "a", ""], "", ["a", "b"], [1, 0, -1]),
        (np.ma.array([1, 2, 5], mask=[0, 1, 0]), -1, [1, 5], [0, -1, 1]),
        ([True, False, None], -1, [False, True], [1, 0, -1]),
        ([-1, 1], None, [-1, 1], [0, 1]),
        (pd.Series([1, None, 2], dtype="Int64"), -1, [1, 2], [0, -1, 1]),
        (pd.Series(["x", None, "y"]), -1, ["x", "y"], [0, -1, 1]),
        (pd.Series(["x", None, "y"], dtype="category"), -1, ["x", "y"], [0, -1, 1]),
        (polars.Series(["x", None, "y"]), -1, ["x", "y"], [0, -1, 1]),
        ([(1, 2), (0, 1), None], -1, [(0, 1), (1, 2)], [1, 0, -1]),
        (np.array([b"b", b"a", b"?"]), b"?", [b"a", b"b"], [1, 0, -1]),
        (np.array([b"b", b"a", b"-1"]), -1, [b"a", b"b"], [1, 0, -1]),
        (np.array(["b", "a", "?"], object), np.str_("?"), ["a", "b"], [1, 0, -1]),
        ([2**63, -1, 2**63 + 1, -5], -1, [-5, 2**63, 2**63 + 1], [1, -1, 2, 0]),
        ([2**53, None, 2**53 + 1, 2.0], -1, [2.0, 2**53, 2**53 + 1], [1, -1, 2, 0]),
        ([2**63, None, 2**63 + 1], -1, [2**63, 2**63 + 1], [0, -1, 1]),
        (["a\0", None, "a"], -1, ["a", "a\0"], [1, -1, 0]),
        (["a\0b", None, "a"], -1, ["a", "a\0b"], [1, -1, 0]),
        ([False, None, True], 0, [False, True], [0, -1, 1]),
        (np.array([False, True]), 0, [False, True], [0, 1]),
        (np.array([1, 0]), False, [0, 1], [1, 0]),
        ([Decimal("1.5"), Decimal("NaN"), Decimal(2)], -1, [Decimal("1.5"), Decimal(2)], [0, -1, 1]),
        ([np.datetime64("2024-01-01"), np.datetime64("NaT")], -1, [date(2024, 1, 1)], [0, -1]),
    ],
)
def test_labels_of_any_type(y, unlabeled, classes, arms):
    if isinstance(y, list) and isinstance(y[0], tuple):
        y = np.array([*y, None], object)[:-1]
    found, numbers = encode(y, unlabeled)
    assert found.tolist() == classes
    assert numbers.tolist() == arms


DAYS = np.array(["2024-02-01", "1970-01-01", "2024-01-01", "NaT"], "M8[D]")


@pytest.mark.parametrize("mark", [np.datetime64("1970-01-01"), np.datetime64("1970-01-01T00:00")])
@pytest.mark.parametrize("y", [DAYS, DAYS.astype("M8[ns]"), DAYS.astype("M8[D]")[:, None]])
def test_dates_and_their_marker(y, mark):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column is taken for a row of labels
        classes, arms = encode(y, mark)
    assert classes.astype("M8[D]").tolist() == [date(2024, 1, 1), date(2024, 2, 1)]
    assert arms.tolist() == [1, -1, 0, -1]
    lengths = y.ravel() - np.datetime64("1970-01-01")
    assert encode(lengths, np.timedelta64(0, "D"))[1].tolist() == [1, -1, 0, -1]
    # A marker of another kind marks nothing.
    assert encode(y.ravel(), -1)[1].tolist() == [2, 0, 1, -1]


@pytest.mark.skipif(
    not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 brought strings of variable length"
)
@pytest.mark.parametrize(
    ("y", "missing", "unlabeled"),
    [
        (["b", "?", "a"], None, "?"),
        (["b", "-1", "a"], None, -1),
        (["b", NAN, "a"], NAN, -1),
        (["b", None, "a"], None, "?"),
    ],
)
def test_strings_of_variable_length(y, missing, unlabeled):
    kind = np.dtypes.StringDType(na_object=missing)
    classes, arms = encode(np.array(y, kind), unlabeled)
    assert classes.tolist() == ["a", "b"]
    assert arms.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("y", "unlabeled", "word"),
    [
        ([-1, -1], -1, "no labelled row"),
        ([None, NAN], -1, "no labelled row"),
        ([1, "a", None], -1, "mixes"),
        ([True, None, 1], -1, r"mixes labels of several types \(bool, int\)"),
        ([True, 2, -1], -1, "mixes"),
        (np.array([2.0**53 + 2, 1.0]), -1, "floats can't tell such large numbers apart"),
        (np.array([(1, 2)], [("a", int), ("b", int)]), -1, "one label per row"),
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
        (np.array(["a", "b"]), -1, ["b", None]),
        (np.array([b"a", b"b"]), -1, [b"b", None]),
        (np.array(["a", "b"]), None, ["b", None]),
        (np.array([4, 7]), NAN, [7, NAN]),
        (np.array([4, 7]), 1.5, [7, 1.5]),
        (np.array([4, 7], np.int8), 1000, [7, 1000]),
        (np.array([b"a", b"b"]), b"none", [b"b", b"none"]),
        (np.array(["2024-01-01", "2024-02-01"], "M8[D]"), -1, [date(2024, 2, 1), None]),
        (np.array(["2024-01-01", "2024-02-01"], "M8[D]"), DAYS[1], [date(2024, 2, 1), date(1970, 1, 1)]),
        (np.array([4, 7]), (0, 0), [7, (0, 0)]),
        (np.array([False, True]), -1, [True, None]),
    ],
)
def test_decode_marks_what_is_lost(classes, unlabeled, expected):
    found = decode(np.array([1, -1]), classes, unlabeled).tolist()
    assert found[0] == expected[0]
    assert found[1] == expected[1] or (found[1] != found[1] and expected[1] != expected[1])


def test_decode_keeps_the_type_when_nothing_is_lost():
    assert decode(np.array([1, 0]), np.array(["a", "b"]), None).dtype.kind == "U"


@pytest.mark.parametrize(
    "y", [["b", "a", "", " "], np.array(["b", "a", "", " "]), pd.Series(["b", "a", "", " "])]
)
def test_empty_strings_are_no_class(y):
    with pytest.warns(UserWarning, match="2 entries of y are empty strings; they count as not labelled"):
        classes, arms = encode(y)
    assert classes.tolist() == ["a", "b"]
    assert arms.tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, None, 2], dtype="Int64"),
        pd.array([1, None, 2], dtype="UInt8"),
        pd.DataFrame({"y": pd.array([1, None, 2], dtype="Int64")}),
        polars.Series([1, None, 2]),
    ],
)
def test_whole_numbers_with_gaps_stay_whole_numbers(y):
    assert encode(y)[0].dtype.kind in "iu"


def test_labels_with_gaps_compare_with_strings_of_a_data_frame():
    found = decode(np.array([1, -1]), np.array(["a", "b"]))
    assert (pd.Series(["b", "a"]) == found).tolist() == [True, False]


def test_a_marker_that_an_unsigned_type_has_changed_is_announced():
    y = np.array([0, 1, -1, -1, -1]).astype(np.uint8)
    with pytest.warns(UserWarning, match="3 of 5 entries of y are 255.* Pass unlabeled=255"):
        encode(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode(y, unlabeled=255)[1].tolist() == [0, 1, -1, -1, -1]
        encode(np.array([0, 1, 255, 2, 3], np.uint8))
        encode(np.array([0, 1, -1, -1, -1]))


@pytest.mark.parametrize("word", ["nan", "None"])
def test_missing_values_that_became_text_get_a_warning(word):
    y = pd.Series(["a", float("nan") if word == "nan" else None, "b"], dtype=object).map(str)
    with pytest.warns(UserWarning, match=f"1 of the labels in y is '{word}', .* Pass unlabeled='{word}'"):
        assert encode(y)[0].tolist() == sorted(["a", word, "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode(y, word)[0].tolist() == ["a", "b"]
