"""Label everything from a few labels: multiclass Ginzburg-Landau flow on a similarity graph."""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Names are loaded when first used: numba and scikit-learn take a second to import.
_HOMES = {
    "BinaryGinzburgLandauClassifier": "estimators.binary",
    "Energy": "flow.energy",
    "Evidence": "flow.evidence",
    "Geometric": "flow.schedule",
    "GinzburgLandauClassifier": "estimators.classifier",
    "Graph": "graph",
    "GraphRegressor": "estimators.regression",
    "History": "flow.callbacks",
    "LabeledFold": "estimators.selection",
    "Marks": "segmentation",
    "Neighbors": "graph",
    "Progress": "flow.callbacks",
    "Segmentation": "segmentation",
    "Segmenter": "segmentation",
    "Snapshots": "flow.callbacks",
    "Solution": "flow.minimize",
    "State": "flow.star",
    "annotate": "estimators.annotate",
    "datasets": "datasets",
    "energy": "flow.energy",
    "extend_graph": "graph",
    "load": "segmentation.saving",
    "minimize": "flow.minimize",
    "minimize_binary": "flow.binary",
    "nearest_neighbors": "graph",
    "paper_run": "flow.presets",
    "read_image": "segmentation",
    "read_marks": "segmentation",
    "segment": "segmentation",
    "similarity_graph": "graph",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'phaselabel' has no attribute {name!r}")
    home = import_module(f"phaselabel.{_HOMES[name]}")
    value = getattr(home, name, home)  # a module itself, or a name in it
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
