"""The page: complete, self-contained, and safe against what stands in a table."""

import html.parser
import re

import numpy as np
import pytest

import phaselabel as pl
from phaselabel import report

VOID = {"meta", "circle", "polyline", "br"}


class Balance(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.scripts = [], 0

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(digits):
    X, y = digits
    X, y = X[:400], y[:400]
    names = np.array([f"<script>alert({k})</script>" for k in range(10)], object)
    labels = np.where(np.arange(400) < 120, names[y], None)
    labels[3] = names[(y[3] + 5) % 10]
    model = pl.GinzburgLandauClassifier(unlabeled=None).fit(X, labels)
    found = report.gather(model, title='"><img onerror=x>', label="digit")
    return found, report.render(found)


def test_page_is_whole_and_escapes_everything(page):
    _, text = page
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    assert balance.scripts == 0
    assert "<img" not in text
    assert not re.search(r"(src|href)\s*=", text)
    assert "&lt;script&gt;" in text


def test_page_shows_what_was_found(page):
    found, text = page
    assert 3 in [row["row"] for row in found.suspects]
    assert f"{found.held.accuracy:.1%}" in text
    assert len(found.picture["points"]) == text.count("<circle") == 400
    assert sum(row["given"] for row in found.classes) == 120
    assert found.histogram.sum() + found.unreached == 400
    confidences = [row["confidence"] for row in found.doubtful]
    assert confidences == sorted(confidences)


def test_page_without_anything_to_hide():
    X = np.r_[np.zeros((5, 1)), np.ones((5, 1)) * 9, np.ones((5, 1)) * 99] + np.arange(15)[:, None] / 50
    labels = np.full(15, -1)
    labels[[0, 5]] = 0, 1
    with pytest.warns(UserWarning, match="no label"):
        model = pl.GinzburgLandauClassifier(3).fit(X, labels)
    found = report.gather(model)
    text = report.render(found)
    assert "single label" in text
    assert found.unreached == 5
