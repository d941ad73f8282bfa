"""The page: complete, self-contained, and safe against hostile text in a table."""

import html.parser
import re
from dataclasses import replace

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


def test_spaces_around_a_class_are_seen_and_notes_are_sentences(findings):
    classes = [dict(findings.classes[0], name="benign ")]
    notes = ["column 'x' has an odd cell", "Few labels."]
    text = render(replace(findings, classes=classes, notes=notes))
    assert "&#39;benign &#39;</td>" in text
    assert '<p class="note">Column &#39;x&#39; has an odd cell.</p><p class="note">Few labels.</p>' in text


def test_rows_that_are_too_unsure_are_counted(digits):
    X, y = digits[0][:300], digits[1][:300]
    model = pl.GinzburgLandauClassifier(abstain_below=0.9)
    model.fit(X, np.where(np.arange(300) < 40, y, -1))
    findings = gather(model, picture=False)
    assert findings.n_abstained == (model.transduction_ == -1).sum() > 1
    said = f"No label was written for {findings.n_abstained} rows whose confidence is below 0.9."
    assert f"rely on them. {said} No label was found for 2 rows " in render(replace(findings, unreached=2))
    assert "No label was written" not in render(replace(findings, n_abstained=0))


def test_the_figure_does_not_hold_for_rows_that_look_like_no_label(findings):
    said = "The figure above does not hold for 1 row that look"
    assert said not in render(findings)
    assert said in render(replace(findings, n_novel=1))


#: The right edge of every element that sticks out of the window; a table may scroll by itself.
STICKS_OUT = """() => [...document.querySelectorAll('body *')]
  .filter(e => !e.parentElement.closest('.scroll, svg') && e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => `${e.tagName}.${e.className} ${e.getBoundingClientRect().right}`)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_the_window(findings, tmp_path, page_of, check, width, scheme):
    word = "w" * 200
    rows = [row | {"shown": f"{word} 1 · b {word}"} for row in findings.query]
    wide = replace(
        findings, title=word, label=word, query=rows, notes=[f"column {word!r} is odd"],
        columns=[("left out", f"{word}: a date"), ("numbers", ", ".join(map(str, range(300))))],
        mistakes=[(word, word, 3)], unreached=2, n_novel=2, abstain_below=0.5, n_abstained=2,
    )  # fmt: skip
    for name, found in (("plain", findings), ("wide", wide)):
        write(found, tmp_path / f"{name}.html")
        page = page_of(f"file://{tmp_path / name}.html", width, 800, color_scheme=scheme)
        page.evaluate("document.querySelector('details').open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(STICKS_OUT) == []
        check(page, name)
