"""A graph and known values in, a value for every vertex out: the weighted mean of its neighbours' values.

Weights of one graph may differ by thirty orders of magnitude: an outlier hangs on its neighbours by e^-80.
One system for all vertices would leave such an outlier where it started, because its residual is nothing
beside that of the others; and a cluster that hangs on the rest by such a link has a matrix that is singular
in rounded numbers. So clusters that are nearly closed are solved as one vertex, and rows are solved in units
of their own: first all of them, then those that are not yet right and all weaker ones.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import cg
from sklearn.exceptions import ConvergenceWarning

Values = NDArray[np.float64]

#: A link that is weaker than this share of a vertex's strongest one does not count in deciding what is a
#: closed cluster. Its values are then equal within about this share, times the steps of a walk through it.
WEAKEST_LINK = 1e-7
#: What a value may differ from the weighted mean of its neighbours, in units of the known values.
PRECISION = 1e-13
#: Steps of conjugate gradients at a time, and times at most.
STEPS, ROUNDS = 10_000, 40


@dataclass(frozen=True)
class Held:
    """Vertices that are linked with each other, and held at given values.

    Attributes
    ----------
    weights : csr_array of shape (n, n)
        The links, without loops.
    pull : ndarray of shape (n,)
        How firmly each vertex is held; 0 where no value is known.
    values : ndarray of shape (n,)
        The values at which they are held; 0 where none is.
    """

    weights: Any
    pull: Values
    values: Values

    @property
    def total(self) -> Values:
        """All that holds a vertex: its links and its own value."""
        return np.asarray(self.weights.sum(axis=1)).ravel() + self.pull

    def closed_clusters(self) -> NDArray[np.int32] | None:
        """The cluster of every vertex, those that are nearly closed as one; None if none is."""
        n, links = len(self.pull), self.weights.tocoo()
        strongest = self.pull.copy()
        np.maximum.at(strongest, links.row, links.data)
        strong = links.data >= WEAKEST_LINK * strongest[links.row]
        rows, columns = links.row[strong], links.col[strong]
        holds = np.flatnonzero((self.pull > 0) & (self.pull >= WEAKEST_LINK * strongest))
        # From the vertices that are held, backwards along the strong links.
        back = _arrows(np.append(columns, np.full(len(holds), n)), np.append(rows, holds), n + 1)
        free = np.ones(n + 1, bool)
        free[breadth_first_order(back, n, return_predecessors=False)] = False
        if not free.any():
            return None
        count, part = connected_components(_arrows(rows, columns, n), connection="strong")
        open_ = np.zeros(count, bool)
        open_[part[rows[part[rows] != part[columns]]]] = True
        closed = free[:n] & ~open_[part]
        return np.unique(np.where(closed, part, count + np.arange(n)), return_inverse=True)[1].astype(
            np.int32
        )

    def merged(self, cluster: NDArray[np.int32]) -> "Held":
        """Every cluster as one vertex."""
        n = len(cluster)
        member = sparse.csr_array((np.ones(n), (np.arange(n), cluster)))
        weights = (member.T @ self.weights @ member).tocoo()
        across = weights.row != weights.col
        ends = weights.row[across], weights.col[across]
        pull = np.bincount(cluster, self.pull).astype(np.float64)
        values = np.bincount(cluster, self.pull * self.values) / np.where(pull > 0, pull, 1)
        return Held(sparse.csr_array((weights.data[across], ends), shape=weights.shape), pull, values)

    def residual(self, found: Values) -> Values:
        """What pulls at every vertex: the differences to its neighbours, which do not cancel."""
        rows = np.repeat(np.arange(len(found)), np.diff(self.weights.indptr))
        pulls = self.weights.data * (found[self.weights.indices] - found[rows])
        return np.bincount(rows, pulls, len(found)) + self.pull * (self.values - found)


def harmonic(held: Held) -> Values:
    """The value of every vertex; each must be reached by one that is held.

    A warning says so if the values did not converge.
    """
    cluster = held.closed_clusters()
    if cluster is not None:
        return harmonic(held.merged(cluster))[cluster]
    found, total = held.values.copy(), held.total
    for _ in range(ROUNDS):
        residual = held.residual(found)
        wrong = np.abs(residual) > PRECISION * total
        if not wrong.any():
            return found
        here = np.flatnonzero(total <= total[wrong].max())
        root = np.sqrt(total[here])
        scaling = sparse.diags_array(1 / root)
        system = sparse.eye_array(len(here)) - scaling @ held.weights[here][:, here] @ scaling
        found[here] += cg(system, residual[here] / root, rtol=1e-10, maxiter=STEPS)[0] / root
    off = float(np.abs(held.residual(found) / total).max())
    warnings.warn(
        f"The values have not converged: one is {off:.1g} of the known values' spread from the mean of its "
        "neighbours. The graph has long paths without a known value; give more values, or raise n_neighbors.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return found


def _arrows(rows: NDArray[np.integer], columns: NDArray[np.integer], n: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
