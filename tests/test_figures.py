"""Figures that README and handbook quote are those of their measurements."""

import re

import pytest

import figures


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_marked_figures_are_as_measured(page):
    text = page.read_text(encoding="utf-8")
    assert figures.filled(text) == text, "python docs/figures.py writes them anew"


def test_a_figure_that_was_not_measured_is_replaced():
    wrong = "with two labels 12.3<!-- few-labels: digits, 2 --> %"
    assert figures.filled(wrong) == wrong.replace("12.3", figures.figure("few-labels", "digits, 2"))


@pytest.mark.parametrize(
    "mark",
    [
        "contest: ours 7",
        "contest: ahead 1",
        "paper: three-moons magic",
        "rumour: x",
        "cells: 5, luck",
        "few-labels: digits, 9",
        "cells: missing kind, Dragon",
    ],
)
def test_a_mark_that_names_nothing_is_refused(mark):
    with pytest.raises(KeyError):
        figures.filled(f"1.0<!-- {mark} -->")


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/compare.md"])
def test_what_the_front_pages_say_of_the_contest_is_marked(name):
    text = (figures.DOCS.parent / name).read_text(encoding="utf-8")
    assert "<!-- contest: ours 20 -->" in text or "<!-- contest: behind 1 -->" in text
    bare = figures.MARK.sub("", text)
    assert not re.search(r"\b\d\d\.\d (?:and \d\d\.\d )?%", bare)


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_mnist_with_one_label_has_one_measurement(page):
    """Other pages quote it with a mark; the flow alone and thinned rows say what they are."""
    text = figures.MARK.sub("", page.read_text(encoding="utf-8"))
    assert not re.search(r"70,000[^|.]*one label per class[^|]{0,40}\d\d\.\d", text)
    assert not re.search(r"^\|[^\n]*MNIST(?:, | \| )1 \|[^\n]*\d\d\.\d", text, re.MULTILINE)


def test_sections_of_an_older_version_say_so():
    text = (figures.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        measured = re.search(r"phaselabel\s+(\d[\w.]*)", body)[1].rstrip(".")
        assert measured.startswith("0.2.0") or "version 0.1.0" in title or "**Of version 0.1.0**" in body, (
            title
        )


@pytest.mark.parametrize("page", figures.pages(), ids=lambda page: page.name)
def test_three_moons_with_25_labels_have_one_measurement(page):
    """It stands in the page of the paper; other pages quote it with a mark, or leave it."""
    if page.name != "paper.md":
        text = figures.MARK.sub("", page.read_text(encoding="utf-8"))
        assert not re.search(r"[Tt]hree moons[^|.]*25[^|]{0,40}\d\d\.\d", text)
        assert not re.search(r"^\|[^\n]*three moons \| 25 \|", text, re.MULTILINE)
