"""Cells and their classes in, models that give the classes of cells of new images out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from phaselabel.evidence.forest import Forest
from phaselabel.segmentation.frames import Looks

#: The models are fitted to at most this many cells of a class.
MOST_CELLS = 1500

#: At most this share of them are marked cells; the others have the class that the flow gave them.
MARKED_SHARE = 0.5

#: The number of trees in each forest.
N_TREES = 25


@dataclass(frozen=True, eq=False)
class CellModel:
    """Two forests, fitted to the cells of the images of a fit as these came out.

    Attributes
    ----------
    looks : Looks
        How cells become rows.
    rows : ndarray of float32, shape (m, d)
        The rows that the forests were fitted to.
    classes : ndarray of int32, shape (m,)
        Their classes.
    n_classes : int
        K.
    forests : list of Forest
        A random forest of the near surroundings, and extremely randomised trees of all columns.
    """

    looks: Looks
    rows: NDArray[np.float32]
    classes: NDArray[np.int32]
    n_classes: int
    forests: list[Forest]

    @classmethod
    def of(
        cls,
        looks: Looks,
        scales: NDArray[np.float32],
        classes: NDArray[np.int32],
        marked: NDArray[np.intp],
        n_classes: int,
    ) -> "CellModel":
        """Fit to some cells of every class.

        Parameters
        ----------
        looks : Looks
            How cells become rows.
        scales : ndarray of shape (n_cells, d)
            The rows of all cells.
        classes : ndarray of int, shape (n_cells,)
            The class that the flow gave to every cell; -1 without one.
        marked : ndarray of int
            The cells with marks.
        n_classes : int
            K.

        Returns
        -------
        CellModel
            The fitted models.
        """
        rng = np.random.default_rng(0)
        order = rng.permutation(len(classes))
        is_marked = np.zeros(len(classes), bool)
        is_marked[marked] = True
        chosen = []
        for k in range(n_classes):
            members = order[classes[order] == k]
            sure, rest = members[is_marked[members]], members[~is_marked[members]]
            sure = sure[: int(MARKED_SHARE * MOST_CELLS)]
            chosen.append(np.concatenate([sure, rest[: MOST_CELLS - len(sure)]]))
        some = np.sort(np.concatenate(chosen))
        return cls._fitted(looks, scales[some], classes[some].astype(np.int32), n_classes)

    @classmethod
    def _fitted(
        cls, looks: Looks, rows: NDArray[np.float32], classes: NDArray[np.int32], n_classes: int
    ) -> "CellModel":
        near = rows[:, : looks.near_columns(rows.shape[1])]
        forests = [
            Forest.fit(near, classes, n_classes, N_TREES),
            Forest.fit(rows, classes, n_classes, N_TREES, extra=True),
        ]
        return cls(looks, rows, classes, n_classes, forests)

    def with_rows(
        self,
        rows: NDArray[np.float32],
        classes: NDArray[np.integer],
        numbers: NDArray[np.integer],
        n_classes: int,
    ) -> "CellModel":
        """A model fitted to more rows, perhaps of more classes.

        Parameters
        ----------
        rows : ndarray of shape (m, d)
            The new rows.
        classes : ndarray of int, shape (m,)
            Their classes, in the new numbers.
        numbers : ndarray of int, shape (K,)
            The new number of every class there was.
        n_classes : int
            The number of classes there are now.
        """
        kept = np.random.default_rng(0).permutation(len(rows))[: n_classes * MOST_CELLS]
        all_rows = np.concatenate([self.rows, rows[kept]])
        all_classes = np.concatenate([numbers[self.classes], classes[kept]]).astype(np.int32)
        return self._fitted(self.looks, all_rows, all_classes, n_classes)

    def probabilities(self, scales: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probability of every class at every row."""
        logs = np.zeros((len(scales), self.n_classes), np.float32)
        for forest in self.forests:
            logs += forest.log_probabilities(scales) / np.float32(len(self.forests))
        return np.asarray(np.exp(log_softmax(logs, axis=1)), np.float32)
