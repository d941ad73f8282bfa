"""A bad graph is reported in words; a good one is not."""

import pytest

from made import two_gaussians
from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels


def test_a_bad_graph_is_reported_in_words():
    X, _, labels = two_gaussians(0)
    with pytest.warns(UserWarning, match="only 6.% of the edges between known labels"):
        model = GinzburgLandauClassifier(evidence=None).fit(X, labels)
    assert any("crowded rows with up to" in remark for remark in model.remarks_)


def test_a_good_graph_gets_no_remark(digits, recwarn):
    X, y = digits
    model = GinzburgLandauClassifier(evidence=None).fit(X, sample_labels(y, 20, random_state=0))
    assert model.remarks_ == []
    assert model.neighbor_recall_ == 1
    assert not recwarn.list
