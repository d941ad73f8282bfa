"""
Choosing ε, N and μ
===================

ε = 1, N = 10 neighbours and μ = 30 are good starts on the graph alone. This shows what each of them does, on
three moons in 100 dimensions with 8 labels per class, 10 % of them wrong.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import make_three_moons, sample_labels

# With 3 neighbours some rows are in a component without a label, and phaselabel warns; they count as wrong.
warnings.simplefilter("ignore", UserWarning)


def accuracy(**parameters):
    """The mean over three draws of data and labels, from independent streams."""
    accuracies = []
    for seed in range(3):
        data, choice, error = np.random.SeedSequence(seed).spawn(3)
        X, truth = make_three_moons(200, random_state=data)
        y = sample_labels(truth, 8, random_state=choice)
        known = np.flatnonzero(y >= 0)
        wrong = np.random.default_rng(error).choice(known, len(known) // 10, replace=False)
        y[wrong] = (y[wrong] + 1) % 3
        model = GinzburgLandauClassifier(evidence=None, **parameters).fit(X, y)
        accuracies.append(np.mean(model.transduction_[y < 0] == truth[y < 0]))
    return np.mean(accuracies)


sweeps = {
    "n_neighbors": [3, 10, 40],
    "epsilon": [0.3, 1.0, 4.0],
    "fidelity": [0.03, 0.3, 30.0],
}
results = {name: [accuracy(**{name: value}) for value in values] for name, values in sweeps.items()}
for name, values in sweeps.items():
    print(name, {value: f"{mean:.1%}" for value, mean in zip(values, results[name])})

# %%
# - **N** (``n_neighbors``): few neighbours keep edges inside a moon, but may leave components without a
#   label; many jump across the gap between the moons.
# - **ε** (``epsilon``): the width of the boundary between classes. Small values freeze the first guess;
#   large ones let the boundary move far, to where it is short.
# - **μ** (``fidelity``): how hard a label holds. Large values keep every label, the wrong ones too; small
#   ones let a label be outvoted by its surroundings.
#
# With evidence, the default, labels that are held back choose the number of neighbours and what else speaks.

figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True, layout="constrained")
for axis, (name, values) in zip(axes, sweeps.items()):
    axis.plot(values, np.array(results[name]) * 100, "o-", color="#0072B2")
    axis.set(xscale="log", xlabel=name)
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()
axes[0].set_ylabel("% right")
