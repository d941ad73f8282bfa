"""Answers in; what the experts believe of every item, and the labels that follow as in a fit, out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.evidence.believing import believe
from phaselabel.evidence.opinion import Opinion
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.policy import EVIDENCE
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.evidence import Evidence, checked_evidence
from phaselabel.flow.minimize import Solution
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity
from phaselabel.graph import Graph
from phaselabel.studio.labelling import FIDELITY


@dataclass(frozen=True, eq=False)
class GivenProbabilities:
    """Probabilities of classes that the user has, one row per item.

    Attributes
    ----------
    columns : dict of str to ndarray
        The probabilities of every class, by its name.
    """

    columns: dict[str, NDArray[np.float64]]

    @classmethod
    def read(cls, path: Path, n_items: int, reading: dict[str, Any]) -> "GivenProbabilities":
        """Read a table with a column per class."""
        from phaselabel.io.tables import numbers_of, open_table

        table = open_table(path, **reading)
        columns = {name: numbers_of(table, name) for name in table.names}
        wrong = [name for name, column in columns.items() if column is None]
        if wrong:
            raise ValueError(f"{path.name} must hold probabilities; column {wrong[0]!r} has no numbers.")
        if len(columns) < 2:
            raise ValueError(f"{path.name} must have a column for each of at least two classes.")
        numbers = np.column_stack([np.asarray(column, np.float64) for column in columns.values()])
        numbers = checked_evidence(numbers, n_items, len(columns))
        return cls(dict(zip(columns, np.asarray(numbers, np.float64).T)))

    def of(self, names: Sequence[str]) -> NDArray[np.float64] | None:
        """The probabilities of these classes; None if one has no column, NaN in rows that have none."""
        if any(name not in self.columns for name in names):
            return None
        shares = np.column_stack([self.columns[name] for name in names])
        total = shares.sum(axis=1, keepdims=True)
        out = np.full_like(shares, np.nan)
        np.divide(shares, total, out=out, where=total > 0)
        return out


class LiveEvidence:
    """The labels of a fit with evidence, from graphs that are built once.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The features.
    graphs : dict of str to Graph
        Similarity graphs by their number of neighbours, the usual one first.
    given : GivenProbabilities, optional
        Probabilities that take the place of the built-in models of the features.
    """

    def __init__(
        self, X: NDArray[Any], graphs: dict[str, Graph], given: GivenProbabilities | None = None
    ) -> None:
        self._X, self._graphs, self._given = X, graphs, given

    def opinion(
        self, labels: NDArray[np.int32], names: Sequence[str], pause: Callable[[], None] = lambda: None
    ) -> Opinion | None:
        """What the experts believe; None where there is one class, or no given probability of a class."""
        evidence = "auto" if self._given is None else self._given.of(names)
        if len(names) < 2 or evidence is None:
            return None
        problem = _problem(next(iter(self._graphs.values())), labels, len(names))
        return believe(self._X, self._graphs, problem, evidence, pause=pause)[1]

    def solve(self, labels: NDArray[np.int32], n_classes: int, opinion: Opinion) -> Solution:
        """The state of every item, given the known classes and an opinion, which may be of fewer answers."""
        graph = self._graphs[opinion.choice.graph]
        evidence = Evidence(opinion.probabilities, np.full(graph.n_vertices, opinion.voice))
        problem = replace(_problem(graph, labels, n_classes), evidence=evidence)
        return solve(problem, EVIDENCE, init=opinion.start())


def _problem(graph: Graph, labels: NDArray[np.int32], n_classes: int) -> Problem:
    sizes = class_sizes("estimate", np.arange(n_classes))
    return Problem(graph, labels, n_classes, checked_fidelity(FIDELITY, labels), sizes, FlowSettings())
