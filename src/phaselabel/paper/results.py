"""Records in, a JSON document of stable shape out; tables, pages and tests read it."""

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

from phaselabel.io.atomic import replacing
from phaselabel.paper.methods import Method, methods
from phaselabel.paper.probe import probe
from phaselabel.paper.problem import Experiment
from phaselabel.paper.provenance import commit, source_digest
from phaselabel.paper.recipes import Reported
from phaselabel.paper.remarks import remarks
from phaselabel.paper.runs import Record

#: The version of the document; it grows when a field changes its meaning or is removed.
SCHEMA = 2

PACKAGES = ("phaselabel", "numpy", "scipy", "scikit-learn", "numba")


def summarize(experiment: Experiment, records: Sequence[Record], jobs: int = 1) -> dict[str, Any]:
    """One experiment: its parameters, a result for every method, and the printed figures."""
    recipe = experiment.recipe
    problem = experiment.problem(0)
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
        "seed": experiment.seed,
        "main_n_neighbors": recipe.n_neighbors[0],
        "main_reading": recipe.main_reading,
        "results": results,
        "reported": {variant: reported(cited) for variant, cited in recipe.reported.items()},
        "notes": [*remarks(experiment, results), *recipe.notes],
        "ran_on": {
            "machine": machine(),
            "processes": jobs,
            "versions": versions(PACKAGES),
            "commit": commit(),
            "source": source_digest(),
            "probe": probe(),
        },
    }


def _result(experiment: str, method: Method, records: Sequence[Record]) -> dict[str, Any]:
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


def reported(cited: Reported) -> dict[str, Any]:
    """A cited figure for the document."""
    return asdict(cited) | {"accuracy": cited.accuracy, "standard_error": cited.standard_error}


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {
        "mean": float(np.mean(values)),
        "std": std,
        "standard_error": None if std is None else std / len(values) ** 0.5,
        "min": float(np.min(values)),
        "max": float(np.max(values)),
    }


def document(experiments: Sequence[dict[str, Any]], absent: dict[str, str], command: str) -> dict[str, Any]:
    """The results of all experiments, and the reasons why others were not run."""
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
    """Cores, processor and system; neither name nor paths of the machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        match = re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text(encoding="utf-8"))
        model = match.group(1).strip() if match else model
    return f"{os.cpu_count()} cores ({model}), {platform.system()}"


def versions(packages: Sequence[str]) -> str:
    """The versions of Python and of some packages."""
    listed = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            listed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            listed.append(f"{package} (not installed)")
    return ", ".join(listed)
