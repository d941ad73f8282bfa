"""The sources in, files ready to publish in dist/ out: built, checked, installed and tried.

``make release-check`` runs it. The wheel is installed into an empty environment for every Python at hand, and
the README's snippets and commands run there, in a folder without the sources.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
#: The Pythons that are tried where they are installed.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: The largest wheel, in bytes: neither data nor pictures belong into it.
LARGEST_WHEEL = 1_000_000
#: The extras that the README's commands need.
EXTRAS = "files,images,cells"
#: Runs every Python block of a page in one namespace, from the installed package.
SNIPPETS = """
import re, sys, phaselabel
assert not phaselabel.__file__.startswith(sys.argv[2]), phaselabel.__file__
assert phaselabel.__version__ == sys.argv[3], phaselabel.__version__
scope = {}
for block in re.findall(r"^```python\\n(.*?)^```", open(sys.argv[1], encoding="utf-8").read(), re.S | re.M):
    exec(compile(block, sys.argv[1], "exec"), scope)
"""


def main() -> None:
    """Run every check; the first that fails ends the program with its sentence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", default="", help="the tag to publish; it must be v and the version")
    parser.add_argument("--repository", default="", help="its address, into which links of the README lead")
    parser.add_argument("--python", action="append", default=[], help="try this Python only")
    arguments = parser.parse_args()
    version = version_of_source()
    if arguments.tag and arguments.tag != f"v{version}":
        sys.exit(f"The tag is {arguments.tag}, the version in the source {version}; they must agree.")
    notes = release_notes(version, dated=bool(arguments.tag))
    wheel = build(arguments.repository, arguments.tag or "HEAD")
    check_files(wheel)
    check_citation(version)
    check_recipe()
    (DIST / "release-notes.md").write_text(notes, encoding="utf-8")
    pythons = arguments.python or list(at_hand())
    for python in pythons:
        try_wheel(wheel, python, version)
    print(f"phaselabel {version} is ready in {DIST}; tried with {len(pythons)} Pythons.")


def version_of_source() -> str:
    """The version, from the one place where it stands."""
    text = (ROOT / "src" / "phaselabel" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)[1]


def release_notes(version: str, text: str | None = None, *, dated: bool = False) -> str:
    """The section of the changelog for a version, without its heading; with ``dated`` that has a day."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8") if text is None else text
    section = re.search(
        rf"^## {re.escape(version)}\b([^\n]*)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE
    )
    if not section or not section[2].strip():
        sys.exit(f"CHANGELOG.md has nothing under '## {version}'; write what changed.")
    if dated and not re.fullmatch(r" — \d{4}-\d\d-\d\d", section[1]):
        sys.exit(f"CHANGELOG.md has '## {version}{section[1]}'; a release has a day, as in '— 2026-01-31'.")
    return section[2].strip() + "\n"


def published_readme(text: str, repository: str, tag: str) -> str:
    """The README with links into the repository: on the page of a package index its own lead nowhere."""
    return re.sub(
        r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)",
        lambda found: f"{found[1]}{found[2]}({repository}/{'raw' if found[1] else 'blob'}/{tag}/{found[3]})",
        text,
    )


def copy_sources(folder: Path, repository: str, tag: str) -> None:
    """Copy what is published; with the address of the repository, README and metadata name it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    published = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for name in ("pyproject.toml", ".gitignore", *published):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, folder / name)
    if repository:
        readme = folder / "README.md"
        text = published_readme(readme.read_text(encoding="utf-8"), repository, tag)
        readme.write_text(text, encoding="utf-8")
        with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[project.urls]\nRepository = "{repository}"\n')


def build(repository: str, tag: str) -> Path:
    """Build the sdist and, from the sdist, the wheel; check metadata and long description."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="phaselabel-sources-") as folder:
        copy_sources(Path(folder), repository, tag)
        run(sys.executable, "-m", "build", "--outdir", str(DIST), folder)
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(DIST.iterdir())))
    (wheel,) = DIST.glob("*.whl")
    return wheel


def check_files(wheel: Path) -> None:
    """Refuse a wheel that is too large or holds anything besides the package."""
    names = zipfile.ZipFile(wheel).namelist()
    outside = [name for name in names if not re.match(r"phaselabel(-[^/]+\.dist-info)?/", name)]
    if outside:
        sys.exit(f"The wheel holds {outside[0]}, which is not of the package.")
    size = wheel.stat().st_size
    if size > LARGEST_WHEEL:
        sys.exit(f"The wheel has {size:,} bytes; at most {LARGEST_WHEEL:,} are allowed.")
    print(f"{wheel.name}: {size:,} bytes, {len(names)} files")


def check_citation(version: str) -> None:
    """Convert CITATION.cff to the record that Zenodo makes of it; it must be complete."""
    converter = Path(sys.executable).with_name("cffconvert")
    command = [str(converter), "-i", str(ROOT / "CITATION.cff"), "-f", "zenodo"]
    record = json.loads(run(*command, quiet=True))
    licence = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]
    missing = [key for key in ("title", "creators", "license") if not record.get(key)]
    if missing:
        sys.exit(f"CITATION.cff gives Zenodo no {missing[0]}; add it.")
    if record["license"]["id"] != licence:
        sys.exit(f"CITATION.cff says {record['license']['id']}, pyproject.toml {licence}; they must agree.")
    print(f"Zenodo record: {record['title']}, {record['license']['id']}, version {version} from the tag")


def check_recipe() -> None:
    """Let rattler-build render the conda recipe; its requirements must be those of the package."""
    from rattler_build import Stage0Recipe

    path = ROOT / "conda" / "recipe.yaml"
    rendered = Stage0Recipe.from_yaml(path.read_text(encoding="utf-8")).render()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {re.split(r"[<>=]", entry)[0] for entry in project["dependencies"]}
    theirs = recipe_requirements(rendered)
    if ours - theirs:
        sys.exit(f"conda/recipe.yaml does not require {', '.join(sorted(ours - theirs))}; add it.")
    print(f"conda recipe: {len(theirs)} run requirements")


def recipe_requirements(rendered: list[Any]) -> set[str]:
    """The names of the run requirements of a rendered recipe."""
    (variant,) = rendered
    return {str(entry).split()[0].strip("'\"") for entry in variant.recipe.to_dict()["requirements"]["run"]}


def at_hand() -> Iterator[str]:
    """The Pythons that are installed here and can run."""
    for version in PYTHONS:
        for python in (shutil.which(f"python{version}"), *pyenv(version)):
            asked = python and subprocess.run([python, "-c", "import venv"], capture_output=True)
            if asked and asked.returncode == 0:
                yield python
                break


def pyenv(version: str) -> list[str]:
    """The Pythons of one version that pyenv installed."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return [str(path) for path in root.glob(f"versions/{version}.*/bin/python")]


def try_wheel(wheel: Path, python: str, version: str) -> None:
    """Install the wheel into an empty environment; run the README's snippets and commands there."""
    with tempfile.TemporaryDirectory(prefix="phaselabel-release-") as folder:
        home = Path(folder)
        run(python, "-m", "venv", str(home / "env"))
        bin_folder = home / "env" / ("Scripts" if os.name == "nt" else "bin")
        inside = str(bin_folder / "python")
        run(inside, "-m", "pip", "install", "--quiet", "--prefer-binary", f"{wheel}[{EXTRAS}]")
        run(inside, "-m", "pip", "check")
        work = home / "work"
        work.mkdir()
        readme = ROOT / "README.md"
        run(inside, "-I", "-c", SNIPPETS, str(readme), str(ROOT), version, cwd=work)
        run(inside, str(ROOT / "tests" / "support" / "docfiles.py"), str(work))
        path = os.pathsep.join([str(bin_folder), os.environ.get("PATH", "")])
        for command in commands_of(readme):
            run(*command.split(), cwd=work, env=os.environ | {"PATH": path, "PYTHONPATH": ""})
        seconds = run(
            inside, "-I", "-c",
            "import time; start = time.perf_counter(); import phaselabel; print(time.perf_counter() - start)",
            cwd=work, quiet=True,
        )  # fmt: skip
        print(f"{python}: installed, the README runs; import phaselabel takes {float(seconds) * 1e3:.0f} ms")


def commands_of(page: Path) -> Iterator[str]:
    """The commands of a page's console blocks, without those that install."""
    for block in re.findall(
        r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in block.splitlines():
            if line.startswith("$ phaselabel"):
                yield line.removeprefix("$ ")


def run(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None, quiet: bool = False) -> str:
    """Run a command; what it printed is shown where it fails."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:6])} failed:\n{done.stdout}{done.stderr}")
    if not quiet:
        print(
            "ran",
            " ".join(word if len(word) < 60 else f"{word[:30].strip()}…" for word in command[:7]).replace(
                "\n", " "
            ),
        )
    return done.stdout


if __name__ == "__main__":
    main()
