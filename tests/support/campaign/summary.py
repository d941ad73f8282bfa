"""Counts of a campaign in, the tables of docs/campaign.md out.

``python tests/support/campaign/summary.py --fuzz FILE --faults FILE``: the files that the
campaigns wrote with ``--state``.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "campaign.md"
#: The groups of the table, by the beginnings of the subjects' names.
GROUPS = {
    "tables": ("table", "zarr"),
    "pictures and cubes": ("picture", "image"),
    "marks": ("marks",),
    "saved models, graphs, projects": ("model", "predict", "graph", "studio"),
    "HTTP requests to the studio": ("http",),
    "commands": ("command",),
    "functions and classes": (),
}


def group_of(name: str) -> str:
    """The group of a subject."""
    return next((g for g, starts in GROUPS.items() if name.startswith(starts)), "functions and classes")


def fuzz_table(counts: dict[str, Counter[str]]) -> str:
    """Inputs by kind."""
    groups: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for name, count in counts.items():
        groups[group_of(name)].update(count)
    total: Counter[str] = Counter()
    lines = [
        "| kind | inputs | accepted | refused in a sentence | failed |",
        "|---|---|---|---|---|",
    ]
    for group, count in groups.items():
        total.update(count)
        lines.append(_row(group, count))
    return "\n".join([*lines, _row("**all**", total)])


def _row(name: str, count: Counter[str]) -> str:
    cells = (count[key] for key in ("inputs", "accepted", "refused", "failed"))
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"


def fault_table(counts: dict[str, int]) -> str:
    """Faults by command."""
    commands = list(dict.fromkeys(name.split(": ")[0] for name in counts))
    faults = list(dict.fromkeys(name.split(": ")[1] for name in counts))
    lines = ["| fault | " + " | ".join(commands) + " |", "|---" * (len(commands) + 1) + "|"]
    for fault in faults:
        cells = " | ".join(f"{counts.get(f'{command}: {fault}', 0)}" for command in commands)
        lines.append(f"| {fault} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fuzz", type=Path, nargs="+", required=True)
    parser.add_argument("--faults", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for path in arguments.fuzz:
        for name, count in json.loads(path.read_text())["counts"].items():
            counts.setdefault(name, Counter()).update(count)
    faults: Counter[str] = Counter()
    for path in arguments.faults:
        faults.update(json.loads(path.read_text())["counts"])
    page = PAGE.read_text(encoding="utf-8")
    for name, text in {"inputs": fuzz_table(counts), "faults": fault_table(faults)}.items():
        mark = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
        page = mark.sub(lambda _, name=name, text=text: f"<!-- {name} -->\n{text}\n<!-- /{name} -->", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
