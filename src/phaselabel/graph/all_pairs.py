"""Two tables of rows in single precision in, the nearest pairs or all squared distances out, by faiss."""

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels.compile import is_forked


def nearest_pairs(
    queries: NDArray[np.float32], points: NDArray[np.float32], count: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Squared distances and numbers of the ``count`` nearest points of every query, the nearest first."""
    squares, numbers = _faiss().knn(queries, points, count)
    return squares, numbers


def squared_distances(queries: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The squared distance between every query and every point."""
    squares: NDArray[np.float32] = _faiss().pairwise_distances(queries, points)
    return squares


def _faiss() -> ModuleType:
    import faiss  # a third of a second, so only where it is needed

    if is_forked():
        # The threads of the parent's OpenMP do not exist in a forked child, and a parallel region would wait
        # for them forever. The setting belongs to the calling thread, so it is made before every call.
        faiss.omp_set_num_threads(1)
    return faiss
