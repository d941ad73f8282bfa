"""The source in, the imports between its rooms out.

``python tests/support/rooms.py`` draws them into CONTRIBUTING.md; a test fails if the drawing is out of date.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "phaselabel"
MODULES = sorted(SOURCE.rglob("*.py"))
PAGE = ROOT / "CONTRIBUTING.md"

#: The rooms from the ground up: a room may import itself and the rooms before it.
ROOMS = """
_kernels counts streams embedding io graph flow few_labels evidence assess labels distributed estimators
segmentation datasets paper report studio cli __main__
""".split()


def name_of(path: Path) -> str:
    """The module's name below `phaselabel`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def room_of(module: str) -> str:
    """The room of a module: the first part of its name."""
    return module.split(".")[0]


def imports_of(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, anywhere in the file."""
    names = {name_of(module) for module in MODULES}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if room_of(alias.name) == "phaselabel":
                    yield alias.name.removeprefix("phaselabel").removeprefix(".")
        if isinstance(node, ast.ImportFrom) and room_of(node.module or "") == "phaselabel":
            inner = (node.module or "").removeprefix("phaselabel").removeprefix(".")
            for alias in node.names:
                deeper = f"{inner}.{alias.name}".strip(".")
                yield deeper if deeper in names else inner


def uses() -> dict[str, set[str]]:
    """The other rooms that each room imports, from the top down."""
    found: dict[str, set[str]] = {room: set() for room in reversed(ROOMS)}
    for path in MODULES:
        room = room_of(name_of(path))
        if room:
            found[room] |= {room_of(other) for other in imports_of(path) if other} - {room}
    return found


def direct(uses: dict[str, set[str]]) -> dict[str, set[str]]:
    """The imports that do not follow from others: without A → C where there is A → B → … → C."""

    def below(room: str) -> set[str]:
        return uses[room] | {deeper for one in uses[room] for deeper in below(one)}

    implied = {room: {deeper for one in used for deeper in below(one)} for room, used in uses.items()}
    return {room: used - implied[room] for room, used in uses.items()}


def drawing() -> str:
    """The table of all imports between rooms, and the graph of those that do not follow from others."""
    all_uses = uses()
    # Mermaid reserves the word "graph", so nodes have names of their own.
    nodes = {room: f'{room}_room["{room}"]' for room in all_uses}
    arrows = [
        f"  {nodes[room]} --> {' & '.join(nodes[b] for b in sorted(used))}"
        for room, used in direct(all_uses).items()
        if used and room != "__main__"
    ]
    rows = [
        f"| `{room}` | {', '.join(f'`{b}`' for b in reversed(ROOMS) if b in used) or '–'} |"
        for room, used in all_uses.items()
    ]
    return "\n".join(
        ["```mermaid", "flowchart TD", *arrows, "```", "", "| room | imports |", "|---|---|", *rows]
    )


def redrawn(text: str) -> str:
    """The page with the present drawing in it."""
    return re.sub(
        r"(<!-- rooms -->\n).*?(\n<!-- /rooms -->)", lambda m: m[1] + drawing() + m[2], text, flags=re.DOTALL
    )


if __name__ == "__main__":
    PAGE.write_text(redrawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
