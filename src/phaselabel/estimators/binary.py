"""Rows and labels of two kinds in, a label for every row out: the binary model as an estimator."""

from typing import Any, Literal, Self

from phaselabel.estimators.graph_classifier import GraphClassifier
from phaselabel.flow.binary import minimize_binary
from phaselabel.flow.energy import check_epsilon
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity
from phaselabel.labels import decode, encode


class BinaryGinzburgLandauClassifier(GraphClassifier):
    """Label every row with one of two classes by the binary diffuse interface model.

    The double well with minima ±1 and the symmetric Laplacian of the paper's section 2, minimised by convex
    splitting (see :func:`~phaselabel.minimize_binary`). Parameters and attributes are those of
    :class:`~phaselabel.GinzburgLandauClassifier` as far as they apply.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours of a row in the graph, the row itself not counted.
    scale_neighbor : int, optional
        Which neighbour sets the local scale; the last one by default.
    affinity : {"nearest_neighbors", "precomputed", "precomputed_nearest_neighbors"}
        What ``X`` is.
    epsilon : float, default=1.0
        Interface width.
    fidelity : float or array-like of shape (n_samples,), default=30.0
        Trust in the known labels.
    max_iter : int, default=500
        The largest number of steps.
    tol : float, default=1e-4
        When labels count as quiet and the energy as flat.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known".

    Attributes
    ----------
    classes_ : ndarray of shape (1,) or (2,)
        The distinct labels.
    transduction_ : ndarray of shape (n_samples,)
        A label for every row; ``unlabeled`` in components without a known label.
    energy_ : structured ndarray
        The trace of the energy.
    n_iter_ : int
        The number of steps made.
    converged_ : bool
        Whether labels are quiet and the energy is flat.
    solution_ : Solution
        The result of the minimisation.
    graph_ : Graph
        The similarity graph.
    neighbor_recall_ : float or None
        The share of the true neighbours that the search found, measured on a sample; 1 if it was exact.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from phaselabel import BinaryGinzburgLandauClassifier
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> y = ["left", None, None, "right", None, None]
    >>> BinaryGinzburgLandauClassifier(n_neighbors=2).fit(X, y).transduction_.tolist()
    ['left', 'left', 'left', 'right', 'right', 'right']
    """

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        scale_neighbor: int | None = None,
        affinity: str = "nearest_neighbors",
        epsilon: float = 1.0,
        fidelity: Any = 30.0,
        max_iter: int = 500,
        tol: float = 1e-4,
        unlabeled: Any = -1,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scale_neighbor = scale_neighbor
        self.affinity = affinity
        self.epsilon = epsilon
        self.fidelity = fidelity
        self.max_iter = max_iter
        self.tol = tol
        self.unlabeled = unlabeled

    def fit(self, X: Any, y: Any) -> Self:
        """Label every row of ``X`` from the known entries of ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix or Graph
            The rows, or what ``affinity`` says; a graph is "precomputed".
        y : array-like of shape (n_samples,)
            Labels of two kinds; ``unlabeled`` (or a missing value) where not known.

        Returns
        -------
        self : BinaryGinzburgLandauClassifier
            The fitted estimator.

        Examples
        --------
        >>> model = BinaryGinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.transduction_.tolist()
        [0, 0, 1, 1]
        """
        if hasattr(X, "__dask_graph__"):
            raise ValueError(f"{type(self).__name__} takes no Dask arrays; GinzburgLandauClassifier does.")
        X, y = self._validated(X, y)
        classes, labels = encode(y, self.unlabeled)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported; y has {len(classes)} classes. "
                "Use GinzburgLandauClassifier for more than two."
            )
        check_epsilon(self.epsilon)
        FlowSettings(epsilon=self.epsilon, max_iter=self.max_iter, tol=self.tol)  # checks them
        fidelity = checked_fidelity(self.fidelity, labels)
        graph, neighbors = self._graph(X)
        solution = minimize_binary(
            graph, labels, epsilon=self.epsilon, fidelity=fidelity, max_iter=self.max_iter, tol=self.tol
        )
        self._learn(X, neighbors, graph, classes, labels, solution)
        self.transduction_ = decode(solution.arm, classes, self.unlabeled)
        self._warn(self._n_unreached, len(labels))
        return self

    def _sentences(self) -> list[str]:
        return [
            "How many labels are right is not known: this model hides no labels. GinzburgLandauClassifier "
            "does, and says how many it finds again."
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
