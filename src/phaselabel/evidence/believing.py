"""Rows, graphs, a problem and what a user gives as evidence in; the problem with its evidence out."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.evidence.opinion import Opinion, form_opinion
from phaselabel.few_labels.solve import Problem
from phaselabel.flow.evidence import Evidence
from phaselabel.graph import Graph


def believe(
    X: Any | None,
    graphs: Mapping[str, Graph],
    problem: Problem,
    evidence: Any,
    *,
    own: bool = False,
    columns: NDArray[np.intp] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> tuple[Problem, Opinion]:
    """Form an opinion of every row; put it into the problem, on the graph that was chosen.

    A local fit, the worker of a cluster and the studio all call this function.

    Parameters
    ----------
    X : array-like or sparse matrix, optional
        The rows; without them only the graphs are experts.
    graphs : mapping of str to Graph
        Graphs by name; few labels are spread on the first one.
    problem : Problem
        Labels, trust and class sizes.
    evidence : "auto", classifier or ndarray of shape (n, K)
        What :func:`~phaselabel.evidence.given.checked_given` returns.
    own : bool, default=False
        Whether the first graph is not made from the rows.
    columns : ndarray of int, optional
        The columns that the built-in models of the rows see; all by default.
    pause : callable
        Called between experts; it may wait, and raise to end the work.

    Returns
    -------
    Problem
        On the chosen graph, with evidence.
    Opinion
        How it came about; :meth:`~phaselabel.evidence.opinion.Opinion.start` is where the flow starts.
    """
    from threadpoolctl import threadpool_limits

    # The products are small, and threads of BLAS would go on spinning beside the kernels' own.
    with threadpool_limits(1, user_api="blas"):
        opinion = form_opinion(
            X,
            graphs,
            problem.trusted,
            problem.n_classes,
            problem.sizes,
            usual=next(iter(graphs)),
            own=own,
            model=None if isinstance(evidence, str) else evidence,
            columns=columns,
            pause=pause,
        )
    graph = graphs[opinion.choice.graph]
    voice = np.full(graph.n_vertices, opinion.voice)
    if X is None:  # then only the graph speaks, and a given array
        heard = graph.reached(problem.trusted >= 0)
        if not isinstance(evidence, str):
            heard |= ~np.isnan(evidence).any(axis=1)
        voice[~heard] = 0
    believed = Evidence(opinion.probabilities, voice)
    return replace(problem, graph=graph, evidence=believed, sharp_cache=[]), opinion
