"""Counts of a campaign in, the tables of docs/campaign.md out.

``python tests/support/campaign/summary.py --fuzz FILE --faults FILE``: the files that the
campaigns wrote with ``--state``. ``--add`` adds them to the counts that the page has.
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


#: The columns of the table of inputs.
COLUMNS = ("inputs", "accepted", "refused", "failed")


def group_of(name: str) -> str:
    """The group of a subject; that of a group is itself."""
    if name in GROUPS:
        return name
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
    cells = (count[key] for key in COLUMNS)
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


def on_page(page: str) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """The counts that a page has: inputs by group, faults by command and fault."""
    inputs = {name: Counter(dict(zip(COLUMNS, cells))) for name, cells in _rows(page, "inputs")[1]}
    commands, rows = _rows(page, "faults")
    faults = {f"{command}: {name}": n for name, cells in rows for command, n in zip(commands, cells)}
    return {name: count for name, count in inputs.items() if name in GROUPS}, Counter(faults)


def _rows(page: str, name: str) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """The heads of the columns of a table, and its rows: their names and their numbers."""
    text = page.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.strip().split("\n"))
    return head[1:], [(row[0], [int(cell.replace(",", "")) for cell in row[1:]]) for row in rows]


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fuzz", type=Path, nargs="*", default=[])
    parser.add_argument("--faults", type=Path, nargs="*", default=[])
    parser.add_argument("--add", action="store_true", help="add to the counts that the page has")
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    counts, faults = on_page(page) if arguments.add else ({}, Counter())
    for path in arguments.fuzz:
        for name, count in json.loads(path.read_text())["counts"].items():
            counts.setdefault(name, Counter()).update(count)
    for path in arguments.faults:
        faults.update(json.loads(path.read_text())["counts"])
    for name, text in {"inputs": fuzz_table(counts), "faults": fault_table(faults)}.items():
        mark = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
        page = mark.sub(lambda _, name=name, text=text: f"<!-- {name} -->\n{text}\n<!-- /{name} -->", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
