"""A name in, the thresholds in which callers of the solver differ out: how thorough a solution is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """The thresholds of :func:`~phaselabel.few_labels.solve.solve`.

    Attributes
    ----------
    name : str
        Stands in the solution.
    spread_up_to : int
        At most this many labels per class, on average, are spread over the graph before the flow; 0 never.
    largest_table : int
        A spread needs a table of vertices times classes; a larger one is not made.
    drift : float or None
        The change of class sizes (total variation) at which a flow from the hub is taken back; None never.
    drift_after_spread : float
        The same for a flow from a spread.
    settling_sweeps : int
        The largest number of sweeps after a spread; later, large classes only take over small ones.
    rounds, steps : int
        Rounds of the competition between classes, and steps of the walk in each.
    size_sample : int or None
        The number of vertices by which class sizes are judged in the competition; None takes all.
    splits_pairs : bool
        Whether pairs of similar classes are split anew after the spread.

    Examples
    --------
    >>> FIT.name, FIT.spread_up_to, LITERAL.drift
    ('fit', 50, None)
    """

    name: str
    spread_up_to: int = 50
    largest_table: int = 60_000_000
    drift: float | None = 0.05
    drift_after_spread: float = 0.01
    settling_sweeps: int = 30
    rounds: int = 20
    steps: int = 10
    size_sample: int | None = None
    splits_pairs: bool = True

    def spreads(self, n_vertices: int, n_labels: int, n_classes: int, *, sizes_given: bool) -> bool:
        """Whether labels are spread before the flow: they are few, or class sizes are given."""
        few = n_labels <= self.spread_up_to * n_classes and n_vertices * n_classes <= self.largest_table
        return self.spread_up_to > 0 and n_classes > 1 and (few or sizes_given)


#: The graph alone, the default without evidence.
FIT = Policy("fit")

#: After every answer in the studio: fewer rounds and sweeps, so that the next question comes at once.
QUICK = Policy(
    "quick",
    rounds=1,
    steps=5,
    settling_sweeps=10,
    size_sample=8192,
    splits_pairs=False,
)

#: The flow from the hub, watched: graphs in blocks on a cluster, and an expert beside others.
HUB = Policy("hub", spread_up_to=0)

#: With evidence the flow starts from what is believed; evidence pins the interface, so nothing is watched.
EVIDENCE = Policy("evidence", spread_up_to=0, drift=None)

#: The flow alone, from the start that is given: the paper's way, and that of images.
LITERAL = Policy("literal", spread_up_to=0, drift=None)
