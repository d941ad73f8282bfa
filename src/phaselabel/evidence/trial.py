"""Experts and known labels in; what they say of rows whose labels they are not shown, turn by turn, out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from phaselabel.evidence.experts import Expert
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.pool import fitted_weights, pooled, prior_precision, prior_weights

#: Class sizes are estimated on a sample of this many unlabelled rows.
SIZE_SAMPLE = 2000


@dataclass(frozen=True, eq=False)
class Trial:
    """What every expert says of hidden labels' rows, and of a sample of the unlabelled rows.

    Attributes
    ----------
    folds : Folds
        The known labels, and which are hidden when.
    kinds : list of str
        The kind of every expert.
    sample : ndarray of int
        Some unlabelled rows.
    held : ndarray of shape (m, n_experts, K)
        Log-probabilities of the rows of hidden labels, in the turn in which each label is hidden.
    sizing : ndarray of bool, shape (n_experts,)
        The experts by which class sizes are estimated: the models of the rows, if there are any.
    sampled : ndarray of shape (n_turns, n_sampled, n_sizing, K)
        What these say of the sample in every turn.
    """

    folds: Folds
    kinds: list[str]
    sample: NDArray[np.intp]
    held: NDArray[np.float32]
    sizing: NDArray[np.bool_]
    sampled: NDArray[np.float32]

    @classmethod
    def of(cls, experts: list[Expert], folds: Folds, pause: Callable[[], None]) -> "Trial":
        """Ask every expert in every turn in which labels are hidden; ``pause`` is called between two."""
        unlabelled = np.random.default_rng(0).permutation(np.flatnonzero(folds.labels < 0))
        sample, judged = np.sort(unlabelled[:SIZE_SAMPLE]), folds.judged
        of_rows = np.array([expert.kind == "rows" for expert in experts])
        sizing = of_rows if of_rows.any() else ~of_rows
        held = np.zeros((len(judged), len(experts), folds.n_classes), np.float32)
        shape = len(folds.turns), len(sample), int(sizing.sum()), folds.n_classes
        trial = cls(folds, [one.kind for one in experts], sample, held, sizing, np.zeros(shape, np.float32))
        for e, expert in enumerate(experts):
            for turn in range(folds.n_hidden):
                pause()
                mine = np.isin(judged, folds.hidden(turn))
                wanted = np.concatenate([judged[mine], sample]) if sizing[e] else judged[mine]
                table = expert.ask(turn, wanted)
                held[mine, e] = table[: mine.sum()]
                trial.keep_sampled(turn, e, table[mine.sum() :])
        return trial

    def keep_sampled(self, turn: int, expert: int, table: NDArray[np.float32]) -> None:
        """Keep what an expert says of the sample, if class sizes are estimated by it."""
        if self.sizing[expert]:
            self.sampled[turn, :, int(self.sizing[:expert].sum())] = table

    def weights(
        self, some: NDArray[np.bool_] | slice = slice(None)
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weight of every expert and the bias of every class, by some of the hidden labels."""
        prior = prior_weights(self.kinds, len(self.folds.known) / self.folds.n_classes)
        y = self.folds.labels[self.folds.judged]
        return fitted_weights(self.held[some], y[some], prior, prior_precision(self.kinds, prior))

    def judged(self) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """What the pool says where its weights do not know the labels that it is judged by.

        Returns
        -------
        of_hidden : ndarray of shape (m, K)
            Probabilities of the rows of hidden labels, with weights fitted to the other folds.
        of_sample : list of ndarray of shape (n_sampled, K)
            Logits of the sample, with the weights of each turn: what class sizes owe to the choice of labels.
        """
        turn_of, n = self.folds.fold[self.folds.fold >= 0], self.folds.n_hidden
        parts = [turn_of == turn for turn in range(n)]
        without = [self.weights(~mine) for mine in parts]
        of_sample = [self.of_sample(turn, *fitted) for turn, fitted in enumerate(without)]
        if n == 1:  # the prior weights would be judged: halves of the only fold judge each other
            half = np.arange(len(turn_of)) % 2 == 0
            parts = [half, ~half]
            without = [self.weights(~mine) for mine in parts]
        of_hidden = np.zeros((len(turn_of), self.folds.n_classes))
        for mine, fitted in zip(parts, without):
            of_hidden[mine] = np.exp(log_softmax(pooled(self.held[mine], *fitted), axis=1))
        return of_hidden, of_sample

    def of_sample(self, turn: int, weights: NDArray[Any], bias: NDArray[Any]) -> NDArray[np.float64]:
        """Logits of the sample in a turn, by the experts that class sizes are estimated by."""
        return pooled(self.sampled[turn], weights[self.sizing], bias)
