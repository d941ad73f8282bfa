"""The house rules: imports point down, nothing prints, importing is cheap, examples run."""

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import phaselabel

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "phaselabel"
MODULES = sorted(SOURCE.rglob("*.py"))

#: The pipeline from the bottom up: a module may import only what stands before it.
ORDER = """
_kernels _graph_kernels
graph.graph graph.rows graph.bridges graph.exact graph.inverted graph.shortlist graph.neighbors graph.weights
graph
star energy patch descent flow callbacks
_few_label_kernels sizes spread recut guard strategy confidence query insight
atomic storage
labels
distributed distributed.folder distributed.tasks distributed.plan distributed.deal distributed.pieces
distributed.cells distributed.search distributed.assembly
distributed.blocks distributed.crew distributed.descent distributed.flow distributed.job distributed.fitting
estimator classifier selection regression binary
_image_kernels segmentation.marks segmentation.features segmentation.files segmentation.reduction
segmentation.output segmentation.pipeline segmentation
datasets
paper.recipes paper.problem paper.rivals paper.methods paper.trials paper.results
paper.figures paper.report paper
holdout
tables.table tables.text tables.columnar tables.reading
tables.columns tables.labels tables.recipe tables.writing tables
distributed.sources
report
studio studio.project studio.strokes studio.drawing studio.items studio.answers studio.labelling
studio.accuracy studio.consequences studio.answering studio.guards studio.server studio.opening
cli.console cli.on_dask
cli.label cli.predict cli.inspect cli.segment cli.paper cli.studio
cli.doctor
cli.main cli.completion cli __main__
""".split()


#: Who may print: the command line.
TALKATIVE = ("cli",)


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "phaselabel":
            inner = node.module.removeprefix("phaselabel").removeprefix(".")
            for alias in node.names:
                deeper = f"{inner}.{alias.name}".strip(".")
                yield deeper if deeper in ORDER else inner


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path):
    own = ORDER.index(name_of(path)) if name_of(path) else len(ORDER)
    for other in imports_of(path):
        assert not other or ORDER.index(other) < own, f"{name_of(path)} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_and_prints_nothing(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]
    assert first.endswith(".")
    if name_of(path).startswith(TALKATIVE):
        return
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert not [c for c in calls if isinstance(c, ast.Name) and c.id == "print"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstring_examples_run(path):
    if name_of(path) == "__main__":
        return
    module = importlib.import_module(f"phaselabel.{name_of(path)}".rstrip("."))
    assert doctest.testmod(module).failed == 0


def test_importing_touches_nothing_heavy():
    code = "import sys, phaselabel; print(sorted({'numba', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_loads():
    for name in phaselabel.__all__:
        assert getattr(phaselabel, name) is not None
    assert set(phaselabel.__all__) <= set(dir(phaselabel))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = phaselabel.no_such_name


def test_second_process_does_not_compile_again():
    code = (
        "import numpy as np, phaselabel as pl\n"
        "pl.minimize(pl.Graph.from_weights(np.ones((4, 4), np.float32)), [0, 1, -1, -1], max_iter=2)\n"
        "from phaselabel._kernels import watched_sweep\n"
        "stats = watched_sweep.serial.stats\n"
        "print(sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert runs[1] == ["0", "1"]


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(script), "--out", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()), "an example leaves something to look at"
