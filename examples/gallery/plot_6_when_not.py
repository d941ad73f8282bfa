"""
When not to use this
====================

A graph method assumes that near points have the same label. Where they don't, the graph cannot help, however
many sweeps it makes. By default models of the columns count too, and take over where they find more of the
hidden labels; then a plain supervised model does the same with less. ``remarks_`` says so.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from phaselabel import GinzburgLandauClassifier

# The same remarks come as warnings; here they are printed.
warnings.simplefilter("ignore", UserWarning)

# %%
# **Two clouds that overlap.** The class shows in the sum of 240 columns, each of which says very little; the
# nearest neighbours of a point are nearly as often of the other class. A linear model adds the columns up,
# the graph cannot.

rng = np.random.default_rng(0)
truth = np.repeat([0, 1], 500)
X = rng.normal(size=(1000, 240)) + truth[:, None] * 0.16
y = np.where(rng.random(1000) < 0.2, truth, -1)
hidden = y < 0
alone = GinzburgLandauClassifier(evidence=None).fit(X, y)
both = GinzburgLandauClassifier().fit(X, y)
linear = LogisticRegression(C=0.01).fit(X[~hidden], y[~hidden])
accuracy = {
    "graph alone": np.mean(alone.transduction_[hidden] == truth[hidden]),
    "default": np.mean(both.transduction_[hidden] == truth[hidden]),
    "linear model": linear.score(X[hidden], truth[hidden]),
}
for name, value in accuracy.items():
    print(f"{name:13} {value:.0%} right")
print("It remarks:", *both.remarks_)

# %%
# **Columns on different scales.** Differences of income in cents are much larger than differences of age in
# years, so the neighbours are those of like income. Scale first: the command line does it for you, Python
# does not.

group = np.repeat([0, 1], 200)
table = np.c_[rng.normal(30 + 25 * group, 3), rng.normal(3_000_000, 800_000, 400)]
few = np.where(np.arange(400) % 20 == 0, group, -1)
for words, data in (("as it is", table), ("scaled", StandardScaler().fit_transform(table))):
    model = GinzburgLandauClassifier(evidence=None).fit(data, few)
    print(f"graph alone, {words}: {np.mean(model.transduction_ == group):.0%}")

# %%
# **What to look at.** ``model.hold_out()`` and ``phaselabel label --report`` hide the labels you have, and
# say how many are found again; the report also says how many by the graph and by the columns alone.

figure, axis = plt.subplots(figsize=(5, 2.6), layout="constrained")
axis.barh(
    list(accuracy), [100 * value for value in accuracy.values()], color=["#D55E00", "#0072B2", "#999999"]
)
axis.axvline(50, color="grey", linewidth=1)
axis.set(xlim=(40, 100), xlabel="% right (50 is guessing)", title="Two overlapping clouds in R²⁴⁰")
axis.invert_yaxis()
assert accuracy["graph alone"] < accuracy["linear model"] - 0.1
