"""Dense rows in; a search that can be asked for the neighbours of any of them out."""

import logging
import warnings

import numpy as np
from numpy.typing import NDArray

from phaselabel.graph.exact_search import ExactSearch, exact_memory
from phaselabel.graph.scaled_rows import MAX_SCAN_PRODUCTS
from phaselabel.graph.search_task import Nearest, SearchTask
from phaselabel.graph.shortlist_search import Settings, ShortlistSearch

log = logging.getLogger(__name__)

#: Most products of a search that is exact by default: a matrix multiplication does them in a second or two.
MAX_EXACT_PRODUCTS = 5e10
#: Most features with which a k-d tree is the fastest search for any number of rows.
MAX_TREE_FEATURES = 5
#: Points per query above which an index of the points costs more than comparing all of them.
MAX_POINTS_PER_QUERY = 20


class DenseSearch:
    """Compare all rows where that is quick or wanted, else search by shortlists, as hard as needed.

    Outliers, which single precision cuts off, are compared with all points in double precision.

    Parameters
    ----------
    task : SearchTask
        The points and the queries.
    method : {"auto", "exact", "shortlist"}, default="auto"
        The search.
    recall : float, default=0.99
        The smallest share of the true neighbours to find; tried on a few rows.

    Attributes
    ----------
    description : str
        How neighbours are found.
    recall : float
        The share of the true neighbours of the trial rows that was found.
    """

    def __init__(self, task: SearchTask, method: str = "auto", recall: float = 0.99) -> None:
        self.task = task
        if task.points.mixed and task.points.values.size * len(task.queries) > MAX_SCAN_PRODUCTS:
            warnings.warn(
                "Some values of X are more than 1e6 times as far from the medians as is typical, in too many "
                "rows for outliers: the neighbours of the other rows are found slowly, or only roughly. "
                "Scale the columns, or take logarithms.",
                UserWarning,
                stacklevel=3,
            )
        self.description, self.recall = "exact", 1.0
        self._shortlists: ShortlistSearch | None = None
        self._settings: Settings | None = None
        if not self._is_exact(method, recall):
            log_memory(len(task.queries), ShortlistSearch.memory(task))
            self._try_shortlists(recall, insist=method == "shortlist")
        if self._settings is None:
            log_memory(len(task.queries), exact_memory(task))
            self._exact = ExactSearch(task)

    def answer(self, rows: NDArray[np.int64] | None = None) -> Nearest:
        """The neighbours of some queries, all by default; the lists of other queries are not filled."""
        nearest = self.task.empty()
        if self._settings is None:
            self._exact.answer(np.arange(len(self.task.queries)) if rows is None else rows, nearest)
        else:
            assert self._shortlists is not None
            self._shortlists.answer(rows, self._settings, nearest)
        outliers = self.task.queries.outliers
        self.task.scan(outliers if rows is None else np.intersect1d(outliers, rows), nearest)
        return nearest

    def measured(self, nearest: Nearest) -> float:
        """The share of the trial rows' true neighbours in the answer for all queries."""
        return (
            1.0
            if self._settings is None or self._shortlists is None
            else self._shortlists.trial.recall(nearest)
        )

    def _is_exact(self, method: str, recall: float) -> bool:
        points, queries = self.task.points, self.task.queries
        products = len(points) * len(queries) * points.width
        few = not self.task.itself and len(queries) < len(points) / MAX_POINTS_PER_QUERY
        quick = products < MAX_EXACT_PRODUCTS or few or points.width <= MAX_TREE_FEATURES
        return method == "exact" or recall == 1 or (method == "auto" and quick)

    def _try_shortlists(self, recall: float, insist: bool) -> None:
        """Choose settings that find enough neighbours of the trial rows, unless comparing all is cheaper."""
        search = ShortlistSearch(self.task)
        settings = search.settings(recall)
        while insist or search.is_cheaper(settings):
            reached = search.rehearse(settings)
            if reached >= recall or settings.exhaustive:
                self._shortlists, self._settings, self.recall = search, settings, reached
                self.description = f"shortlist ({settings})"
                return
            log.info("Recall %.4f is below %.4f with %s: searching harder.", reached, recall, settings)
            settings = settings.harder()
        log.info("Recall %.4f would need %s: comparing all rows is sooner done.", recall, settings)


def log_memory(n_queries: int, memory: float) -> None:
    """Say how much memory a search takes."""
    log.info("Neighbours of %d rows will take about %.0f MiB besides the data.", n_queries, memory)
