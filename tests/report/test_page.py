"""The page: complete, self-contained, and safe against hostile text in a table."""

import html.parser
import re

import numpy as np
import pytest

import phaselabel as pl
from phaselabel.report.findings import gather
from phaselabel.report.page import render, write

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


def test_page_is_whole_and_escapes_everything(findings):
    text = render(findings)
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    assert balance.scripts == 0
    assert "<img" not in text
    assert not re.search(r"(src|href)\s*=", text)
    assert "&lt;script&gt;" in text


def test_page_shows_the_findings(findings):
    text = render(findings)
    assert f"About {100 * findings.held.accuracy:.0f} of 100 labels are expected to be right" in text
    assert text.index("expected to be right") < text.index("Where the answer comes from")
    for word in ("hub", "arm", "sweep", "Energy"):  # only in the appendix
        body = re.sub(r"(?s)<style>.*?</style>", "", text)
        assert not re.search(rf"\b{word}s?\b", body[: body.index("Appendix")])
    assert all(side["name"] in text for side in findings.sides)
    assert "teaches most" not in text
    assert len(findings.picture["points"]) == text.count("<circle") == 400
    assert str(findings.accused).split(";")[0] in text


def test_page_without_labels_to_hide(tmp_path):
    X = np.arange(10)[:, None] + 90 * (np.arange(10)[:, None] > 4)
    labels = np.where(np.arange(10) % 5 == 0, np.arange(10) // 5, -1)
    findings = gather(pl.GinzburgLandauClassifier(3).fit(X, labels))
    write(findings, tmp_path / "r.html")
    assert "single label" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.raises(FileExistsError):
        write(findings, tmp_path / "r.html")
    write(findings, tmp_path / "r.html", overwrite=True)
