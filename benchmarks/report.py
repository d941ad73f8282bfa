"""Results in, a section of docs/benchmarks.md and a JSON file beside it out."""

import json
import re
import textwrap
from pathlib import Path

from phaselabel.paper.results import machine, versions

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = Path(__file__).parent / "results"
HEAD = """# Benchmarks

Each section is written by the command that it names. All contenders of a section ran together on one machine.
"""


def table(rows):
    """Dictionaries with the same keys as a Markdown table."""
    keys = list(rows[0])
    lines = ["| " + " | ".join(keys) + " |", "|" + "|".join("---" for _ in keys) + "|"]
    lines += ["| " + " | ".join(str(row.get(key, "")) for key in keys) + " |" for row in rows]
    return "\n".join(lines)


def wrapped(text, width=120):
    """Prose in lines of at most 120 characters; rows of tables and pictures as they are."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("|", "!")) or len(line) <= width:
            lines.append(line)
        else:
            lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def write_section(name, title, command, text, results, packages=("numpy", "numba", "scikit-learn")):
    """Put a section into the page, in place of its older self, and the raw results into a JSON file."""
    stood = machine(), versions(("phaselabel", *packages))
    facts = f"`{command}` · {' · '.join(stood)}"
    section = wrapped(f"<!-- {name} -->\n## {title}\n\n{facts}\n\n{text.strip()}\n<!-- /{name} -->") + "\n"
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    old = re.compile(f"<!-- {name} -->.*<!-- /{name} -->\n", re.DOTALL)
    page = old.sub(lambda _: section, page) if old.search(page) else page.rstrip("\n") + "\n\n" + section
    PAGE.write_text(page, encoding="utf-8")
    RESULTS.mkdir(exist_ok=True)
    record = {"command": command, "machine": stood[0], "versions": stood[1]}
    (RESULTS / f"{name}.json").write_text(json.dumps(record | {"results": results}, indent=1) + "\n")
