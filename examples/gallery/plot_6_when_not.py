"""
When not to use this
====================

A graph method assumes that near points have the same label. Where they don't, it cannot help, however many
sweeps it makes. Check it: hide some of the labels you have, and see whether they are found again.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from phaselabel import GinzburgLandauClassifier

# %%
# **Two clouds that overlap.** The class shows in the sum of 240 columns, each of which says very little; the
# nearest neighbours of a point are as often of the other class. A linear model adds the columns up, the graph
# cannot.

rng = np.random.default_rng(0)
truth = np.repeat([0, 1], 500)
X = rng.normal(size=(1000, 240)) + truth[:, None] * 0.16
y = np.where(rng.random(1000) < 0.2, truth, -1)
hidden = y < 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    flow = GinzburgLandauClassifier().fit(X, y)
for warning in caught:
    print("It warns:", warning.message)
linear = LogisticRegression(C=0.01).fit(X[~hidden], y[~hidden])
accuracy = {
    "flow": np.mean(flow.transduction_[hidden] == truth[hidden]),
    "linear": linear.score(X[hidden], truth[hidden]),
}
print("overlapping clouds:", {name: f"{value:.0%}" for name, value in accuracy.items()})

# %%
# **Columns on different scales.** Differences of income in cents are much larger than differences of age in
# years. Scale first: the command line does it for you, Python does not.

group = np.repeat([0, 1], 200)
table = np.c_[rng.normal(30 + 25 * group, 3), rng.normal(3_000_000, 800_000, 400)]
few = np.where(np.arange(400) % 20 == 0, group, -1)
for words, data in (("as it is", table), ("scaled", StandardScaler().fit_transform(table))):
    model = GinzburgLandauClassifier().fit(data, few)
    print(f"{words}: {np.mean(model.transduction_ == group):.0%}")

# %%
# **What to look at.** Among edges between two known labels, the share between equal ones: near 1 the graph
# separates your classes, near 1/K it does not. ``phaselabel label --report`` prints it, and hides labels to
# measure the accuracy.

figure, axis = plt.subplots(figsize=(5, 2.6), layout="constrained")
axis.barh(list(accuracy), [100 * value for value in accuracy.values()], color=["#0072B2", "#D55E00"])
axis.axvline(50, color="grey", linewidth=1)
axis.set(xlim=(40, 100), xlabel="% right (50 is guessing)", title="Two overlapping clouds in R²⁴⁰")
