"""`phaselabel.__all__` in; the page of the reference, and what numpydoc finds missing in it, out.

``python docs/reference.py`` prints what is missing and fails; ``make lint`` runs it.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import phaselabel

#: The headings of the page and the names below each. A module stands for the names in its `__all__`.
GROUPS = {
    "Estimators": [
        "GinzburgLandauClassifier",
        "BinaryGinzburgLandauClassifier",
        "GraphRegressor",
        "LabeledFold",
        "annotate",
        "load",
    ],
    "Stages": [
        "nearest_neighbors",
        "similarity_graph",
        "extend_graph",
        "minimize",
        "minimize_binary",
        "paper_run",
    ],
    "Values": ["Neighbors", "Graph", "State", "Solution", "Energy", "Evidence", "Geometric"],
    "Energy": ["energy"],
    "Callbacks": ["History", "Snapshots", "Progress"],
    "Images": ["segment", "read_image", "read_marks", "Marks", "Segmentation", "Segmenter"],
    "Data sets": ["datasets"],
}

#: Names that are documented but not loaded with the package, because they need an extra.
EXTRAS = {"On a cluster": ["distributed.run.flow.minimize"]}

#: What is checked, in numpydoc's own codes.
CHECKS = {
    "GL08": "there is a docstring",
    "SS01": "it has a summary",
    "SS03": "the summary ends with a period",
    "PR01": "every parameter is documented",
    "PR02": "every documented parameter exists",
    "PR03": "parameters stand in their order",
    "PR04": "every parameter has a type",
    "PR07": "every parameter has a description",
    "PR10": "there is a space before the colon",
    "RT01": "what is returned is documented",
    "RT03": "what is returned has a description",
    "YD01": "what is yielded is documented",
    "EX01": "there is an example",
}


def is_own(thing: Any) -> bool:
    """Whether a function, class or descriptor was written in this package."""
    return str(getattr(thing, "__module__", "")).startswith("phaselabel")


def members(cls: type) -> list[str]:
    """The public methods and properties of a class, inherited ones too if a class of ours defines them."""
    homes = {name: home for home in reversed(cls.__mro__) for name in vars(home) if not name.startswith("_")}
    return sorted(
        name
        for name, home in homes.items()
        if is_own(home)
        and hasattr(vars(home)[name], "__get__")
        and not type(vars(home)[name]).__module__.startswith("sklearn.utils._metadata")
    )


def names_of(name: str) -> list[str]:
    """A public name itself, or the public names of a module."""
    value = getattr(phaselabel, name)
    if not inspect.ismodule(value):
        return [name]
    inner = getattr(value, "__all__", None) or [
        key for key, what in vars(value).items() if getattr(what, "__module__", "") == value.__name__
    ]
    # A class that is public by itself is listed once.
    return [f"{name}.{key}" for key in inner if not key.startswith("_") and key not in phaselabel.__all__]


def resolved(name: str) -> Any:
    """The object behind a dotted name."""
    value: Any = phaselabel
    for part in name.split("."):
        value = getattr(value, part)
    return value


def public_names() -> Iterator[str]:
    """Every public function, class, method and property, by its dotted name below `phaselabel`."""
    for listed in sorted(set(phaselabel.__all__) - {"__version__"}):
        for name in names_of(listed):
            yield name
            value = resolved(name)
            if inspect.isclass(value):
                yield from (f"{name}.{member}" for member in members(value))


def page() -> str:
    """The page of the reference: a table for each group, and from there a page for each name."""
    lines = ["Reference", "=========", "", ".. currentmodule:: phaselabel", ""]
    names = {
        heading: [name for one in listed for name in names_of(one)] for heading, listed in GROUPS.items()
    }
    for heading, listed in (names | EXTRAS).items():
        lines += [heading, "-" * len(heading), "", ".. autosummary::", "   :toctree: api", ""]
        lines += [*(f"   {name}" for name in listed), ""]
    return "\n".join(lines)


def class_members() -> dict[str, list[str]]:
    """The members to show of each public class, for the template."""
    classes = {name: resolved(name) for name in public_names()}
    return {f"phaselabel.{n}": members(value) for n, value in classes.items() if inspect.isclass(value)}


def assigned_attributes(cls: type) -> set[str]:
    """The public names that methods of a class of ours assign on ``self``."""
    found = set()
    for home in filter(is_own, cls.__mro__):
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(home)))):
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            for target in (inner for one in targets if one is not None for inner in ast.walk(one)):
                stored = isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
                if stored and isinstance(target.value, ast.Name) and target.value.id == "self":
                    found.add(target.attr)
    return {name for name in found if not name.startswith("_")}


def missing_attributes(cls: type) -> list[str]:
    """The public attributes of a class that its docstring does not list."""
    from numpydoc.docscrape import ClassDoc

    doc = ClassDoc(cls)
    documented = {
        word.strip().rstrip(",")
        for section in ("Parameters", "Attributes")
        for entry in doc[section]
        for word in entry.name.split(",")
    }
    return sorted(assigned_attributes(cls) - documented - set(members(cls)))


def complaints() -> Iterator[str]:
    """What numpydoc finds missing, and the attributes that no docstring lists."""
    from numpydoc.validate import validate

    for name in public_names():
        for code, words in validate(f"phaselabel.{name}")["errors"]:
            if code in CHECKS:
                yield f"phaselabel.{name}: {code} {words}"
        value = resolved(name)
        if inspect.isclass(value):
            for attribute in missing_attributes(value):
                yield f"phaselabel.{name}: the attribute {attribute} is not documented"


def main() -> int:
    """Print every complaint; 1 if there are any."""
    found = list(complaints())
    print(*found, f"{len(list(public_names()))} public names, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
