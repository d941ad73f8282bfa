"""Results in, a section of docs/benchmarks.md and a JSON file beside it out."""

import json
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = Path(__file__).parent / "results"
HEAD = """# Benchmarks

Each section is written by the command it names, with every contender in the same run on the same machine.
"""


def machine():
    """What the run stood on; no name and no path of the machine."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        model = found.group(1).strip() if found else model
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}, {platform.system()}"


def versions(*packages):
    """The versions of the packages that took part."""
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (absent)")
    return ", ".join(found)


def table(rows):
    """Dictionaries with the same keys as a Markdown table."""
    keys = list(rows[0])
    lines = ["| " + " | ".join(keys) + " |", "|" + "|".join("---" for _ in keys) + "|"]
    lines += ["| " + " | ".join(str(row.get(key, "")) for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def write_section(name, title, command, text, results, packages=("numpy", "numba", "scikit-learn")):
    """Put a section into the page, in place of its older self, and the raw results into a JSON file."""
    facts = f"`{command}` · {machine()} · {versions('phaselabel', *packages)}"
    section = f"<!-- {name} -->\n## {title}\n\n{facts}\n\n{text.strip()}\n<!-- /{name} -->\n"
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    old = re.compile(f"<!-- {name} -->.*<!-- /{name} -->\n", re.DOTALL)
    page = old.sub(lambda _: section, page) if old.search(page) else page.rstrip("\n") + "\n\n" + section
    PAGE.write_text(page, encoding="utf-8")
    RESULTS.mkdir(exist_ok=True)
    record = {"command": command, "machine": machine(), "versions": versions("phaselabel", *packages)}
    (RESULTS / f"{name}.json").write_text(json.dumps(record | {"results": results}, indent=1) + "\n")
