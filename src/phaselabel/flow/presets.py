"""The name of one of the paper's experiments in, the settings of its run as printed out."""

from dataclasses import dataclass
from typing import Any, Literal

from phaselabel.flow.schedule import Geometric


@dataclass(frozen=True)
class Preset:
    """The printed parameters of one experiment.

    Attributes
    ----------
    n_neighbors : int
        N = M, the point itself not counted.
    fidelity : float
        μ.
    sweeps : int
        n_max.
    epsilon : float or Geometric
        ε, or the schedule of its values.
    step : float
        dt.
    """

    n_neighbors: int
    fidelity: float
    sweeps: int
    epsilon: float | Geometric = 1.0
    step: float = 0.01


#: Section 4 of the paper. COIL's N = 4 counts the point itself, as far as the results tell.
PRESETS = {
    "three-moons": Preset(10, 30, 1000),
    "three-moons-adaptive": Preset(10, 30, 40, Geometric(2.0, 0.01, factor=0.9, sweeps=40)),
    "two-moons": Preset(10, 30, 1000),
    "swiss-roll": Preset(10, 50, 1000),
    "cows": Preset(30, 30, 800),
    "coil": Preset(3, 100, 1000, epsilon=4.0, step=0.02),
    "mnist": Preset(8, 50, 1500),
}


def paper_run(experiment: str, of: Literal["minimize", "classifier"] = "minimize") -> dict[str, Any]:
    """Return the arguments with which a flow is the paper's printed run of one experiment.

    That is Algorithm 1 from a random start, with the printed μ, ε and dt, for the printed number of sweeps.
    Nothing is spread before it, nothing watches it, and nothing stops it early.

    Parameters
    ----------
    experiment : str
        "three-moons", "three-moons-adaptive", "two-moons", "swiss-roll", "cows", "coil" or "mnist".
    of : {"minimize", "classifier"}, default="minimize"
        Whose arguments: those of :func:`~phaselabel.minimize`, or those of
        :class:`~phaselabel.GinzburgLandauClassifier`, which also builds the graph.

    Returns
    -------
    dict
        The arguments; ``random_state`` is not among them.

    Examples
    --------
    >>> from phaselabel import GinzburgLandauClassifier, Graph, minimize
    >>> path = Graph.from_weights([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> minimize(path, [0, -1, -1, 1], **paper_run("coil"), random_state=0).n_iter
    1000
    >>> GinzburgLandauClassifier(**paper_run("coil", "classifier")).epsilon
    4.0
    """
    if experiment not in PRESETS:
        raise ValueError(f"experiment must be one of {', '.join(PRESETS)}; got {experiment!r}.")
    if of not in ("minimize", "classifier"):
        raise ValueError(f'of must be "minimize" or "classifier"; got {of!r}.')
    preset = PRESETS[experiment]
    flow = {
        "epsilon": preset.epsilon,
        "fidelity": preset.fidelity,
        "init": "random",
        "step": preset.step,
        "max_iter": preset.sweeps,
        "tol": 0.0,
    }
    if of == "minimize":
        return flow
    return {"n_neighbors": preset.n_neighbors, "evidence": None, **flow}
