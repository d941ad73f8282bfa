"""Label everything from a few labels: multiclass Ginzburg-Landau flow on a similarity graph."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Names are loaded when first used: numba and scikit-learn take a second to import.
_HOMES = {
    "BinaryGinzburgLandauClassifier": "binary",
    "Energy": "energy",
    "Geometric": "flow",
    "GinzburgLandauClassifier": "classifier",
    "GinzburgLandauClassifierCV": "selection",
    "Graph": "graph",
    "GraphRegressor": "regression",
    "History": "callbacks",
    "LabeledFold": "selection",
    "Marks": "segmentation",
    "Neighbors": "graph",
    "Progress": "callbacks",
    "Segmentation": "segmentation",
    "Snapshots": "callbacks",
    "Solution": "flow",
    "State": "star",
    "datasets": "",
    "energy": "",
    "extend_graph": "graph",
    "load": "storage",
    "minimize": "flow",
    "minimize_binary": "binary",
    "nearest_neighbors": "graph",
    "read_image": "segmentation",
    "read_marks": "segmentation",
    "segment": "segmentation",
    "similarity_graph": "graph",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'phaselabel' has no attribute {name!r}")
    home = import_module(f"phaselabel.{_HOMES[name] or name}")
    value = getattr(home, name) if _HOMES[name] else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
