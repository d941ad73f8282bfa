"""A fitted estimator in; in a notebook, what it has to say of its answer above scikit-learn's diagram out."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from phaselabel.assess.verdict import as_html

#: Classes, or models, that are named at most.
MOST_NAMED = 8


class InNotebook:
    """An estimator that shows a verdict in a notebook; it stands before ``BaseEstimator`` among the bases."""

    @abstractmethod
    def _summary(self) -> tuple[str, list[str], dict[str, str]]:
        """A heading, sentences and facts about the answer of the last fit."""

    def _verdict_html(self) -> str:
        return as_html(*self._summary()) if hasattr(self, "transduction_") else ""

    def _repr_html_inner(self) -> str:
        return self._verdict_html() + str(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] = self._verdict_html() + shown["text/html"]
        return shown


def shares(named: Iterable[tuple[Any, float]]) -> str:
    """Names with their shares, the first few of them.

    Examples
    --------
    >>> shares([("cat", 0.75), ("dog", 0.25)])
    'cat 75%, dog 25%'
    """
    listed = [f"{name} {share:.0%}" for name, share in named]
    rest = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + rest
