"""The rows of one block in; what walks on the graph and models say of them out: the actor of evidence."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import log_softmax

from phaselabel._kernels import spread as kernels
from phaselabel.distributed.build.block_files import block_file
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.build.row_cells import points_file
from phaselabel.distributed.build.row_files import load_rows
from phaselabel.distributed.build.sharpening import SHARP
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.run.one_worker import as_local
from phaselabel.distributed.run.opinion_files import (
    CONFIDENCE,
    FLOW,
    GIVEN,
    GRAPH_LOGITS,
    NOVEL,
    PROBABILITIES,
    SPREAD,
)
from phaselabel.distributed.run.peer_actor import Address, PeerActor
from phaselabel.distributed.tasks import use_threads
from phaselabel.evidence.experts import ask_given
from phaselabel.evidence.opinion import Opinion, softmax
from phaselabel.evidence.pool import tempering
from phaselabel.evidence.propagation import with_doubt
from phaselabel.few_labels.conjugate_gradients import DampedSystem, Sums, padded, squares
from phaselabel.few_labels.poisson import bounded


class PropagationActor(PeerActor):
    """The rows of one block while experts are asked; a Dask actor.

    Linear systems are solved by conjugate gradients. The caller makes all blocks take the same steps, adds
    up their sums, and sends back the rates.
    """

    def __init__(self, folder: Folder, number: int, n_classes: int, size: int) -> None:
        super().__init__(folder, number, n_classes)
        self._graphs: dict[str, tuple[NDArray[Any], ...]] = {}
        self._load("")
        owners = folder.load(block_file(number, "owners"))
        indptr, indices, _, degrees = self._graphs[""]
        self._find_peers(owners, indptr, indices)
        self._h, self._n = len(owners), len(degrees)
        self._rows = folder.load(block_file(number, "rows"))
        self._published: dict[int, dict[int, NDArray[np.float32]]] = {}
        self._round = 0
        self._part = np.zeros(self._n, np.int64)
        self._kept: dict[str, NDArray[np.float32]] = {}

    def connect(self, addresses: dict[int, Address]) -> None:
        """Set the addresses of the other blocks; of which one may be new: rounds are counted anew."""
        super().connect(addresses)
        self._published.clear()
        self._round = 0

    def _load(self, prefix: str) -> None:
        names = ("indptr", "indices", "weights", "degrees")
        arrays = [self._folder.load(block_file(self.number, prefix + name)) for name in names]
        self._graphs[prefix] = tuple(arrays)

    # -- components

    def local_components(self) -> tuple[int, list[tuple[int, NDArray[np.int64]]]]:
        """Components within the block; return their number, and those of the rows that each peer reads."""
        indptr, indices, *_ = self._graphs[""]
        own = indptr[self._h :].astype(np.int64)
        columns = indices[own[0] : own[-1]].astype(np.int64)
        inside = np.where(columns >= self._h, columns - self._h, np.repeat(np.arange(self._n), np.diff(own)))
        matrix = sparse.csr_array((np.ones(len(inside), np.int8), inside, own - own[0]), (self._n, self._n))
        count, self._part = connected_components(matrix, directed=False)
        return count, [(peer, self._part[rows].astype(np.int64)) for peer, rows in self._read_by.items()]

    def boundary_components(self) -> dict[int, list[NDArray[np.int64]]]:
        """The component of the first row here that touches each vertex of the boundary, peer by peer."""
        indptr, indices, *_ = self._graphs[""]
        first = self._part[indices[indptr[: self._h]].astype(np.int64) - self._h].astype(np.int64)
        return {peer: [first[part]] for peer, part in self._boundary.items()}

    def set_components(self, number: NDArray[np.int64], prefixes: tuple[str, ...]) -> dict[str, Sums]:
        """Number components as in the whole graph; return the volume of each one in graphs of some names."""
        self._part = number[self._part]
        n = int(number.max(initial=-1)) + 1
        for prefix in prefixes:
            if prefix not in self._graphs:
                self._load(prefix)
        return {p: np.bincount(self._part, self._graphs[p][3], n).astype(float) for p in prefixes}

    def components(self, positions: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of rows in each of ``n`` components, and the components of some rows."""
        return np.bincount(self._part, minlength=n), self._part[positions]

    # -- one linear system

    def begin_harmonic(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Rows whose label is shown are fixed at their classes."""
        use_threads()
        self._graph = ""
        self._root = np.sqrt(self._graphs[""][3]).astype(np.float32)[:, None]
        self._known = padded(np.zeros((self._n, self._n_classes), np.float32))
        self._known[rows, labels] = self._root[rows, 0]
        self._free = np.ones((self._n, 1), np.float32)
        self._free[rows] = 0
        self._publish(self._known)

    def first_harmonic(self, damping: float) -> Sums:
        """The first residual; return its square."""
        residual = np.empty_like(self._known)
        self._multiply(self._known, residual)
        residual *= self._free
        return self._begin(damping, np.zeros_like(residual), residual, self._free)

    def begin_poisson(
        self,
        rows: NDArray[np.int64],
        values: NDArray[np.float32],
        damping: float,
        means: NDArray[np.float32],
    ) -> tuple[Sums, Sums]:
        """Sources at labelled rows, the start at the means of the components; return two squares."""
        return self._begin_at_means(SHARP, rows, values, damping, means)

    def _begin_at_means(
        self,
        graph: str,
        rows: NDArray[np.int64],
        values: NDArray[np.float32],
        damping: float,
        means: NDArray[np.float32],
    ) -> tuple[Sums, Sums]:
        use_threads()
        self._graph = graph
        root = np.sqrt(self._graphs[graph][3])
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0).astype(np.float32)[:, None]
        source = padded(np.zeros((self._n, values.shape[1]), np.float32))
        source[rows, : values.shape[1]] = values
        mean = padded(means[self._part]) * root.astype(np.float32)[:, None]
        self._inverse, scaled = inverse, source * inverse
        residual = scaled - np.float32(damping) * mean
        return self._begin(damping, mean, residual), squares(scaled, scaled)

    def inflow(self, rows: NDArray[np.int64], values: NDArray[np.float32], n: int) -> Sums:
        """The sums of sources in every component."""
        out = np.zeros((n, values.shape[1]))
        np.add.at(out, self._part[rows], values.astype(np.float64))
        return out

    # -- rows that walks from the labels seldom visit

    def visit_inflow(self, rows: NDArray[np.int64], n: int) -> Sums:
        """The degrees of rows where walks begin, added up in every component."""
        return self.inflow(rows, self._starts(rows), n)

    def begin_visits(
        self, rows: NDArray[np.int64], damping: float, means: NDArray[np.float32]
    ) -> tuple[Sums, Sums]:
        """Walks begin at some rows; return two squares."""
        return self._begin_at_means("", rows, self._starts(rows), damping, means)

    def _starts(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(self._graphs[""][3][rows], np.float32)[:, None]

    def end_visits(self, share: float, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Keep how often every row is visited; return that of some rows."""
        self._visits = share * np.asarray(self._system.solution[:, :1] * self._inverse, np.float32)[:, 0]
        del self._system
        return self._visits[positions]

    def find_far(
        self, known: NDArray[np.int64], limit: np.float64, small: NDArray[np.bool_]
    ) -> tuple[int, int]:
        """Rows with fewer visits than ``limit``, outside small components: their number, and the first."""
        self._far = (self._visits < limit) & ~small[self._part]
        self._far[known] = False
        return int(self._far.sum()), int(self._rows[self._far].min(initial=np.iinfo(np.int64).max))

    def write_far(self) -> None:
        """Write which rows are far."""
        self._folder.save(NOVEL.format(self.number), self._far)

    # -- the steps of conjugate gradients

    def curvature(self) -> Sums:
        """Multiply the direction by the system; return their product."""
        use_threads()
        return self._system.curvature()

    def advance(self, rate: NDArray[np.float32]) -> Sums:
        """Go along the direction; return the square of the residual."""
        return self._system.advance(rate)

    def turn(self, ratio: NDArray[np.float32]) -> None:
        """Take the next direction."""
        self._system.turn(ratio)
        self._publish(self._system.direction)

    def end_harmonic(self) -> None:
        """Read the solution as log-probabilities."""
        root = np.where(self._root > 0, self._root, 1)
        solution = self._system.solution
        solution += self._known
        del self._system, self._known  # each is as large as the answer, or several times
        self._table = with_doubt(solution[:, : self._n_classes] / root)

    def end_poisson(self, every: int) -> NDArray[np.float32]:
        """Return the sizes of the solution at every so many rows of the whole graph."""
        self._table = np.asarray(self._system.solution[:, : self._n_classes] * self._inverse, np.float32)
        del self._system
        some: NDArray[np.float32] = np.abs(self._table[self._rows % every == 0])
        return some

    def read_poisson(self, typical: float, steepness: float) -> None:
        """Read the solution as log-odds."""
        u = bounded(self._table, typical)
        self._table = np.asarray(log_softmax(steepness * u, axis=1), np.float32)

    def table_at(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the last expert says of some rows."""
        return self._table[positions]

    def keep(self, name: str) -> None:
        """Keep what the last expert says of all rows."""
        self._kept[name] = self._table

    # -- the opinion of all rows

    def write_opinion(self, partition: Partition, opinion: Opinion) -> None:
        """Add up what the experts say of every row; write probabilities, confidence, and the graph's part."""
        use_threads()
        weights, shape = opinion.choice.weights, (self._n, self._n_classes)
        by_graph = np.zeros(shape, np.float32)
        for name, table in self._kept.items():
            by_graph += np.float32(weights[name]) * table
        for name, weight in weights.items():
            pattern = {"spread": SPREAD, "flow": FLOW}.get(name.split()[0])
            if pattern and weight > 0:
                by_graph += np.float32(weight) * self._folder.load(pattern.format(self.number))
        self._kept.clear()
        self._folder.save(GRAPH_LOGITS.format(self.number), by_graph)
        logits = np.zeros(shape, np.float32)
        if weights.get("given", 0) > 0:
            logits += np.float32(weights["given"]) * ask_given(
                self._folder.load(GIVEN.format(self.number)), 0, None
            )
        elif opinion.models and opinion.scale is not None:
            for place, points in self._points(partition):
                logits[place] = opinion.say_of_rows(points)
        logits += by_graph
        del by_graph
        logits += opinion.offsets.astype(np.float32)
        for pattern, temper in ((PROBABILITIES, 1.0), (CONFIDENCE, tempering(len(opinion.hidden_rows)))):
            self._folder.save(pattern.format(self.number), softmax(logits, temper))

    def _points(self, partition: Partition) -> Any:
        """The features of the rows: their places in the block, and a part of a cell at a time."""
        done = 0
        for cell in partition.cells_of(self.number):
            for chunk, part in partition.slices(int(cell)):
                points = as_local(load_rows(self._folder, points_file(chunk), mapped=True)[part])
                yield slice(done, done + points.shape[0]), points
                done += points.shape[0]

    # -- inside

    def _begin(
        self,
        damping: float,
        solution: NDArray[np.float32],
        residual: NDArray[np.float32],
        free: NDArray[np.float32] | None = None,
    ) -> Sums:
        """Begin a system; return the square of its residual."""
        self._system = DampedSystem(self._multiply, np.float32(damping), solution, residual, free=free)
        self._publish(self._system.direction)
        return self._system.square()

    def _multiply(self, table: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Multiply a table by ŵ, with the rows that other blocks published last."""
        indptr, indices, weights, _ = self._graphs[self._graph]
        whole = np.empty((self._h + self._n, table.shape[1]), np.float32)
        for peer, rows in self._fetch_from_peers("published", self._round).items():
            whole[self._boundary[peer]] = rows
        whole[self._h :] = table
        kernels.multiply(indptr[self._h :], indices, weights, whole, out)

    def _publish(self, table: NDArray[np.float32]) -> None:
        self._round += 1
        self._published.pop(self._round - 2, None)
        self._published[self._round] = {peer: table[rows] for peer, rows in self._read_by.items()}

    async def published(self, peer: int, number: int) -> NDArray[np.float32]:
        """The rows that another block reads, in round ``number``."""
        return self._published[number][peer]
