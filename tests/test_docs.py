"""Every command and every snippet of the README and the handbook runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import phaselabel
from tablefiles import write_customers

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
#: Commands that set up a machine, or that the gate runs by itself.
NOT_RUN = ("pip install", "make ")


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_python_in_the_docs_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), scope)


def write_files(folder):
    """What the commands of the handbook speak of."""
    write_customers(folder / "customers.csv")
    write_customers(folder / "new.csv", 40, seed=1)
    rng = np.random.default_rng(0)
    k = np.arange(200) % 2
    np.save(folder / "embeddings.npy", rng.normal(size=(200, 8)) + 4 * k[:, None])
    labels = [str(c) if i < 20 else "" for i, c in enumerate(k)]
    (folder / "labels.csv").write_text("label\n" + "\n".join(labels) + "\n")
    words = ["red apple pear plum", "bolt nut screw gear"]
    bodies = [" ".join(rng.choice(words[c].split(), 6)) + f" {i}" for i, c in enumerate(k)]
    topics = [["fruit", "tools"][c] if i < 20 else None for i, c in enumerate(k)]
    pq.write_table(pa.table({"body": bodies, "topic": topics}), folder / "posts.parquet")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=name_of)
def test_commands_in_the_docs_run(page, tmp_path):
    write_files(tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for block in blocks(page, "console"):
        for line in block.splitlines():
            command = line.removeprefix("$ ")
            if not line.startswith("$ ") or command.startswith(NOT_RUN):
                continue
            done = subprocess.run(
                command,
                shell=True,
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=os.environ | {"PATH": path},
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples" / "gallery").glob("*.py")), ids=lambda path: path.stem
)
def test_gallery_runs(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_in_the_reference():
    words = set(re.findall(r"[A-Za-z_]+", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")))
    assert set(phaselabel.__all__) - {"__version__"} <= words


def test_every_page_is_in_the_handbook():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "\n*\n" in index  # pages of any name are taken in
    for link in re.findall(r"\]\(([a-z_/.]+\.md)\)", index):
        assert (ROOT / "docs" / link).exists(), link
