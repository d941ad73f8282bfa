"""Every command and every snippet of the README and the handbook runs."""

import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import sklearn

import phaselabel
import reference
from docfiles import write_files

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
#: The page that shows what its code prints.
FIRST_PAGE = ROOT / "docs" / "index.md"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
#: The pages of the user guide.
GUIDE = re.findall(r"\]\((\S+)\.md\)", (ROOT / "docs" / "guide.md").read_text(encoding="utf-8"))
#: All that is written by hand, or by a program of ours, to be read.
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
#: The most characters in a line of docs.
WIDTH = 120
#: Commands that set up a machine, or that the gate runs by itself.
NOT_RUN = ("pip install", "make ")


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_python_in_the_docs_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), scope)
    if page == FIRST_PAGE:
        _, shown = blocks(page, "text")
        printed = capsys.readouterr().out
        if sklearn.__version__.startswith("1.6."):  # with the oldest versions 95.3 %
            printed, shown = (re.sub(r"\d+\.\d", "0", text) for text in (printed, shown))
        assert printed == shown


def without_figures(line):
    """A line of output as it is on every machine."""
    return re.sub(r"\d[\d.,]*", "#", line)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=name_of)
def test_commands_in_the_docs_run(page, tmp_path, command):
    write_files(tmp_path)
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            words, *shown = part.splitlines()
            if words.startswith(NOT_RUN):
                continue
            quick = page.name != "README.md" and re.fullmatch(r"phaselabel [\w ./-]+", words)
            done = command(*words.split()[1:]) if quick else in_a_shell(words, tmp_path)
            assert done.returncode == 0, f"{words}\n{done.stderr}"
            said = [without_figures(line) for line in (done.stdout + done.stderr).splitlines()]
            for line in map(without_figures, filter(str.strip, shown)):
                begins = line.removesuffix("…")
                assert line in said or (begins != line and any(s.startswith(begins) for s in said)), words


def in_a_shell(words, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        words, shell=True, capture_output=True, text=True, cwd=folder, env=os.environ | {"PATH": path}
    )


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples" / "gallery").glob("*.py")), ids=lambda path: path.stem
)
def test_gallery_runs(script, tmp_path, monkeypatch):
    if "import scanpy" in script.read_text(encoding="utf-8"):
        pytest.importorskip("scanpy")  # `make docs` and `make integrations` have it
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    with warnings.catch_warnings():  # a script may choose its own filters
        runpy.run_path(str(script))
    plt.close("all")


def test_every_public_name_is_in_the_reference_once():
    listed = [name for names in reference.GROUPS.values() for name in names]
    assert sorted(listed) == sorted(set(phaselabel.__all__) - {"__version__"})
    names = set(reference.public_names())
    classes = {name for name in names if inspect.isclass(reference.resolved(name))}
    members = {name for name in names if name.rpartition(".")[0] in classes}
    assert {"Graph", "energy.evaluate", "datasets.load_coil"} <= names - members
    assert names - members <= {line.strip() for line in reference.page().splitlines()}


def test_the_reference_shows_inherited_members_and_none_of_scikit_learn():
    shown = reference.class_members()["phaselabel.GinzburgLandauClassifier"]
    assert {"explain", "query", "fit", "predict", "save", "confidence_"} <= set(shown)
    assert not {"get_params", "set_score_request", "n_neighbors"} & set(shown)


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_lines_wrap(page):
    """Rows of tables, captions and formulas cannot wrap; all other lines do."""
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
    assert not [
        f"{n}: {line}" for n, line in lines if len(line) > WIDTH and not line.startswith(("|", "![", "    "))
    ]


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_what_the_docs_name_exists(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:benchmarks|docs|examples|src|tests)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\(([^):#]+\.md)[^)]*\)", text):
        assert (page.parent / link).exists(), link
    for name in re.findall(r"`phaselabel\.([A-Za-z_.]+)", text):
        assert is_there(name), f"phaselabel.{name}"


def is_there(name):
    """Whether a dotted name below `phaselabel` is a module or something in one."""
    try:
        importlib.import_module(f"phaselabel.{name}")
    except ImportError:
        module, _, last = f"phaselabel.{name}".rpartition(".")
        try:
            return hasattr(importlib.import_module(module), last)
        except ImportError:
            return False
    return True


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_has_its_number_and_a_status(page):
    title, empty, status, *_ = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"# {int(page.name[:4])}. ")
    assert empty == ""
    held = re.match(r"Status: (accepted|superseded by \[(\d+)\]\((\d{4})-[^)]+\))\.", status)
    assert held, status
    assert not held[2] or int(held[2]) == int(held[3])


def test_every_page_is_in_the_handbook():
    lists = {
        page: (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for page in ("index", "guide", "background")
    }
    assert "\nREST_OF_THE_PAGES\n" in lists["background"]  # pages of any name are taken in
    for page, text in lists.items():
        for name in re.search(r"```{toctree}\n(?::.*\n)+\n(.*?)```", text, re.DOTALL)[1].split():
            made = name in ("gallery/index", "api", "REST_OF_THE_PAGES")
            assert made or (ROOT / "docs" / f"{name}.md").exists(), f"{page} lists {name}"
        for link in re.findall(r"\]\(([a-z_/.-]+\.md)\)", text):
            assert (ROOT / "docs" / link).exists(), link


#: Words of the glossary that a reader meets in the guide.
WORDS = {"hub": "hub", "leaf": "leaf", "arm": "arms?", "sweep": "sweeps?", "flow": "flow"}
#: What is no running text: code, formulas, tables, marks.
NO_PROSE = re.compile(r"```.*?^```|`[^`\n]*`|^    [^\n]*$|<!--.*?-->|^\|[^\n]*$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "page", [ROOT / "docs" / f"{name}.md" for name in ("index", "start", "method", *GUIDE)], ids=name_of
)
def test_words_of_the_glossary_are_linked(page):
    text = page.read_text(encoding="utf-8").replace("the same public hub", "")
    prose = NO_PROSE.sub("", text)
    for word, pattern in WORDS.items():
        assert not re.search(rf"\b{pattern}\b", prose) or f"glossary.md#{word})" in text, word
