"""Labels that look like one class, or like none."""

import pyarrow as pa

from phaselabel.io.tables import Labels

WRITTEN = ["malignant", "Malignant", "malignant ", "benign", "N/A", "null", "-", None, "malignant"]


def test_spellings_are_joined_on_request_only():
    labels = Labels(pa.array(WRITTEN), ["", "?"])
    assert len(labels.counts) == 7
    joined = labels.without(["n/a", "NULL", "-"]).cleaned()
    assert joined.counts == {"malignant": 4, "benign": 1}
    assert joined.rows.tolist() == [0, 1, 2, 3, 8]


def test_whole_numbers_are_left_alone():
    labels = Labels(pa.array([1, 2, None, 1]), [""])
    assert labels.cleaned().values.tolist() == [1, 2, 1]
