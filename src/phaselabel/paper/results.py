"""Records in, a document of stable shape out: the JSON that the tables, the page and the tests read."""

import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from phaselabel.atomic import replacing
from phaselabel.paper.methods import methods
from phaselabel.paper.problem import Bench
from phaselabel.paper.trials import Record

#: Raised when a field of the document changes its meaning or goes away.
SCHEMA = 1

PACKAGES = ("phaselabel", "numpy", "scipy", "scikit-learn", "numba")


def summarize(bench: Bench, records: Sequence[Record], jobs: int = 1) -> dict[str, Any]:
    """One experiment: its parameters, a result for every method, and what was printed."""
    recipe = bench.recipe
    problem = bench.problem(0)
    results = [
        _result(recipe.name, method, [record for record in records if record.key[1:] == method.key])
        for method in methods(recipe)
    ]
    for result in results if recipe.fixed else ():
        result["seconds"]["graph"] = problem.graph_seconds.get(result["n_neighbors"])
    return {
        "experiment": recipe.name,
        "title": recipe.title,
        "recipe": recipe.description,
        "points": len(problem.y),
        "classes": problem.n_classes,
        "labels": int(problem.known.sum()),
        "seed": bench.seed,
        "main_n_neighbors": recipe.n_neighbors[0],
        "results": results,
        "reported": {variant: asdict(cited) for variant, cited in recipe.reported.items()},
        "notes": list(recipe.notes),
        "ran_on": {"machine": machine(), "processes": jobs, "versions": versions(PACKAGES)},
    }


def _result(experiment: str, method: Any, records: Sequence[Record]) -> dict[str, Any]:
    sweeps = [record.sweeps for record in records if record.sweeps is not None]
    graph = [record.graph_seconds for record in records if record.graph_seconds is not None]
    return {
        "experiment": experiment,
        "variant": method.variant,
        "title": method.title,
        "kind": method.kind,
        "n_neighbors": method.n_neighbors,
        "runs": len(records),
        "accuracy": _spread([record.accuracy for record in records]),
        "accuracy_all": _spread([record.accuracy_all for record in records]),
        "sweeps": float(np.mean(sweeps)) if sweeps else None,
        "seconds": {
            "graph": float(np.median(graph)) if graph else None,
            "flow": float(np.median([record.seconds for record in records])),
        },
        "best_run": int(max(records, key=lambda record: record.accuracy).run),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "mean": float(np.mean(values)),
        "std": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        "min": float(np.min(values)),
        "max": float(np.max(values)),
    }


def document(experiments: Sequence[dict[str, Any]], absent: dict[str, str], command: str) -> dict[str, Any]:
    """Everything that was run, and why the rest was not."""
    return {
        "schema": SCHEMA,
        "command": command,
        "experiments": list(experiments),
        "absent": absent,
    }


def write(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, overwrite=True) as part:
        part.write_text(text, encoding="utf-8")


def dump(doc: dict[str, Any]) -> str:
    """The document as JSON."""
    return json.dumps(doc, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def load(path: Path) -> dict[str, Any]:
    """A document written earlier, or an empty one; an error if it has another schema."""
    if not path.is_file():
        return document([], {}, "")
    try:
        doc: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON ({error}); remove it or choose another folder.") from None
    if not isinstance(doc, dict) or doc.get("schema") != SCHEMA:
        raise ValueError(f"{path} is not a document of schema {SCHEMA}; remove it or choose another folder.")
    return doc


def machine() -> str:
    """What the run stood on; no name and no path of the machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text(encoding="utf-8"))
        model = found.group(1).strip() if found else model
    return f"{os.cpu_count()} cores ({model}), {platform.system()}"


def versions(packages: Sequence[str]) -> str:
    """Python and the packages that took part."""
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (not installed)")
    return ", ".join(found)
