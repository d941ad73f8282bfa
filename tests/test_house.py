"""The house rules: imports point down, nothing prints, importing is cheap, examples run."""

import ast
import doctest
import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import phaselabel
from phaselabel._kernels import flow as flow_kernels
from rooms import MODULES, PAGE, ROOMS, ROOT, SOURCE, imports_of, name_of, redrawn, room_of

#: The rooms that may print.
PRINTING = ("cli",)

#: Names that say nothing about what a module does.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "tools", "core"}


def test_every_room_has_its_place():
    assert {room_of(name_of(path)) for path in MODULES} - {""} == set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path):
    own = room_of(name_of(path))
    for other in filter(None, imports_of(path)):
        assert ROOMS.index(room_of(other)) <= ROOMS.index(own), f"{name_of(path)} imports {other}"


def test_no_modules_import_each_other_in_a_circle():
    waiting = {name_of(path): set(filter(None, imports_of(path))) - {name_of(path)} for path in MODULES}
    while waiting:
        free = {name for name, needs in waiting.items() if not needs & set(waiting)}
        assert free, f"a circle among {sorted(waiting)}"
        waiting = {name: needs for name, needs in waiting.items() if name not in free}


def test_the_drawing_of_the_rooms_is_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- rooms -->") == 1
    assert text == redrawn(text), "run: python tests/support/rooms.py"


def test_things_are_where_contributing_says():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = text.split("<!-- places -->")[1].split("<!-- /places -->")[0]
    places = re.findall(r"`(\w+)` in `([\w/]+\.\w+)`", listed)
    assert len(places) > 12
    for name, module in places:
        assert re.search(rf"\b{name}\b", (SOURCE / module).read_text(encoding="utf-8")), f"{name} in {module}"


def test_the_calls_from_fit_to_the_kernel_are_those_listed(monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    section = re.search(r"## From fit to the kernel\n(.*?)\n## ", text, re.DOTALL)[1]
    listed = re.findall(r"^\d\. `([\w.]+)` \(`([\w/]+\.py)`\)", section, re.MULTILINE)
    assert len(listed) == 5
    kernel, stacks = flow_kernels.watched_sweep, []
    original = kernel.sized

    def recording(size):
        frame, stack = sys._getframe(1), []
        while frame:
            stack.append((frame.f_code.co_qualname, Path(frame.f_code.co_filename)))
            frame = frame.f_back
        stacks.append([call for call in stack if call[1].is_relative_to(SOURCE)])
        return original(size)

    monkeypatch.setattr(kernel, "sized", recording)
    phaselabel.GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    # Experts may run flows of their own before; the flow of the fit comes last.
    assert stacks[-1] == [(name, SOURCE / file) for name, file in reversed(listed)]


def test_kernels_import_numpy_and_numba_only():
    for path in (path for path in MODULES if room_of(name_of(path)) == "_kernels"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            outside = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"phaselabel"}
            assert outside <= {"numpy", "numba"}, f"{name_of(path)} imports {outside}"


TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT / "tests")))
def test_tests_are_where_the_name_of_the_module_says(path):
    """`tests/flow/test_star.py` tests `flow/star.py`; the tests of a whole package have its name."""
    if path.stem in ("test_house", "test_docs", "test_figures", "test_campaign"):
        return
    *folders, _ = path.relative_to(ROOT / "tests").parts
    place = SOURCE.joinpath(*("_kernels" if folder == "kernels" else folder for folder in folders))
    subject = path.stem.removeprefix("test_")
    modules = (place / f"{subject}.py", place / f"{subject}.js", place / subject / "__init__.py")
    assert any(module.is_file() for module in modules) or (place.name == subject and place.is_dir())


KERNELS = [name_of(path) for path in MODULES if name_of(path).startswith("_kernels.")]


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "_kernels.compile"])
def test_fast_math_keeps_nan_and_infinity(name):
    values = vars(importlib.import_module(f"phaselabel.{name}")).values()
    pairs = [value for value in values if hasattr(value, "parallel")]
    single = [value for value in values if hasattr(value, "targetoptions")]
    kernels = single + [flavour for pair in pairs for flavour in (pair.serial, pair.parallel)]
    assert kernels
    for kernel in kernels:
        flags = kernel.targetoptions["fastmath"]
        assert isinstance(flags, set), kernel
        assert not flags & {"fast", "nnan", "ninf"}, kernel


def test_tests_do_not_measure_time():
    watch = re.compile(r"perf_counter|process_time|time\.time\(")
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS if path.stem != "test_house"}
    assert not [str(path) for path, text in texts.items() if watch.search(text)]


def test_no_data_set_is_kept():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    kept = re.compile(r"\.(npy|npz|mat|gz|parquet|arrow)$")
    assert not [name for name in listed.stdout.splitlines() if kept.search(name)]


def test_no_module_has_an_empty_name():
    assert not {part for path in MODULES for part in name_of(path).split(".")} & EMPTY_NAMES


def test_nothing_that_a_run_leaves_behind_is_kept():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    left = r"\.part(/|$)|\.old$|\.tmp$|\.log$|\.studio(-wal|-shm|-journal|-graph)?$"
    assert not [name for name in listed.stdout.splitlines() if re.search(left, name)]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_and_prints_nothing(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]
    assert first.endswith(".")
    if name_of(path).startswith(PRINTING):
        return
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert not [c for c in calls if isinstance(c, ast.Name) and c.id == "print"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstring_examples_run(path):
    if name_of(path) == "__main__":
        return
    module = importlib.import_module(f"phaselabel.{name_of(path)}".rstrip("."))
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_vertices_and_rows_are_things(path):
    """Plain words: no sentence in the source speaks of a vertex or a row as of a person."""
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"\b(?:nobody|everybody|anybody|whom|deaf|guests?)\b", text, re.IGNORECASE)


def test_importing_touches_nothing_heavy():
    code = "import sys, phaselabel; print(sorted({'numba', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_loads():
    for name in phaselabel.__all__:
        assert getattr(phaselabel, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = phaselabel.no_such_name


def test_second_process_does_not_compile_again():
    code = (
        "import numpy as np, phaselabel as pl\n"
        "pl.minimize(pl.Graph.from_weights(np.ones((4, 4), np.float32)), [0, 1, -1, -1], max_iter=2)\n"
        "from phaselabel._kernels.flow import watched_sweep\n"
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


#: Examples that can do less than they do by default.
LESS = {
    "three_moons": ["--draws", "2"],
    "coins_and_cells": ["--max-pixels", "3000"],
    "one_of_two_flowers": ["--max-pixels", "3000"],
}


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, str(script), "--out", str(tmp_path), *LESS.get(script.stem, [])],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()), "an example leaves something to look at"


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["version"]["path"] == "src/phaselabel/__init__.py"
    assert "version" in project["project"]["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "\nversion:" not in citation  # a second place that would have to follow
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE).group(1) == phaselabel.__version__


def yaml_of(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_hooks_run_what_lint_runs():
    recipe = re.search(
        r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    commands = [line.strip().removeprefix("$(BIN)/") for line in recipe[1].splitlines()]
    (local,) = yaml_of(".pre-commit-config.yaml")["repos"]
    hooks = [hook["entry"] for hook in local["hooks"] if "stages" not in hook]
    assert commands == hooks


def test_the_workflow_runs_every_system_and_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    jobs = yaml_of(".github/workflows/tests.yml")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert project["requires-python"] == f">={matrix['python'][0]}"
    oldest = {"os": "ubuntu-latest", "python": matrix["python"][0], "dependencies": "oldest"}
    assert oldest in matrix["include"]
    makes = {step.get("run") for name in ("lint", "docs") for step in jobs[name]["steps"]}
    assert {"make lint", "make docs"} <= makes


def release_check():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / ".ci" / "release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_section_of_a_version_becomes_its_release_notes():
    module = release_check()
    text = "# Changes\n\n## 2.0.0 — unreleased\n\n- new\n\n## 1.0.0\n\n- old\n"
    assert module.release_notes("2.0.0", text) == "- new\n"
    assert module.release_notes("1.0.0", text) == "- old\n"
    with pytest.raises(SystemExit, match="nothing under"):
        module.release_notes("3.0.0", text)
    with pytest.raises(SystemExit, match="a release has a day"):
        module.release_notes("2.0.0", text, dated=True)
    assert module.release_notes("2.0.0", text.replace("unreleased", "2026-01-31"), dated=True) == "- new\n"
    notes = module.release_notes(phaselabel.__version__)
    assert notes.startswith("### ")
    assert "](" not in notes  # a link of the repository leads nowhere on the page of a release


def test_links_of_the_published_readme_lead_into_the_repository():
    module, address = release_check(), "https://example.org/a/b"
    assert module.published_readme("![A](c/d.png) [e](f.md#g) [x](https://x.org) [b](#g)", address, "v1") == (
        f"![A]({address}/raw/v1/c/d.png) [e]({address}/blob/v1/f.md#g) [x](https://x.org) [b](#g)"
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", module.published_readme(readme, address, "v1"))
    assert len(targets) > 20
    assert all(target.startswith("https://") for target in targets)


def test_the_conda_recipe_agrees_with_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = yaml_of("conda/recipe.yaml")
    assert recipe["context"]["version"] == phaselabel.__version__
    run = {entry.replace(" ", "") for entry in recipe["requirements"]["run"]}
    assert run == {*project["dependencies"], f"python{project['requires-python']}"}
    assert recipe["about"]["license"] == project["license"]


def test_publishing_needs_no_token_and_waits_for_the_checks():
    jobs = yaml_of(".github/workflows/release.yml")["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert any("make release-check" in step.get("run", "") for step in jobs["build"]["steps"])
    assert "secrets" not in (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "containers").glob("*.Dockerfile")), ids=lambda path: path.stem
)
def test_containers_install_extras_that_exist(path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"\$wheel\[([\w,]+)\]", path.read_text(encoding="utf-8"))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_torch_is_required_by_nothing_that_is_published():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *(entry for extra in extras for entry in extra)]
    assert not [entry for entry in required if entry.startswith("torch")]
