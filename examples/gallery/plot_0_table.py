"""
A table that is labelled in part
================================

Wines from three growers, and what a laboratory measured in each of them. The grower is known for 30 of the
178 wines; ``phaselabel label`` fills in the rest. It says what it does with each column before it starts.
"""

import csv
import sys
from contextlib import redirect_stderr

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from phaselabel.cli import main
from phaselabel.datasets import sample_labels

wine = load_wine()
growers = np.array(["north", "hill", "river"])
known = sample_labels(wine.target, 10, random_state=0) >= 0
with open("wines.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow([*wine.feature_names, "grower"])
    for row, target, is_known in zip(wine.data, wine.target, known):
        writer.writerow([*row, growers[target] if is_known else ""])

# %%
# On a command line: ``phaselabel label wines.csv --label grower --report report.html``.

with redirect_stderr(sys.stdout):
    main("label wines.csv --label grower --report report.html --force".split())

# %%
# The result is the same table with three more columns. Here are two of the 13 columns it has used; wines
# whose grower was found wrong have a ring.

with open("wines_labelled.csv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
found = np.array([row["grower_predicted"] for row in rows])
confidence = np.array([float(row["grower_confidence"]) for row in rows])
wrong = found != growers[wine.target]
print(f"{np.mean(~wrong[~known]):.1%} of the other {np.sum(~known)} wines are right")

x, y = wine.data[:, wine.feature_names.index("proline")], wine.data[:, wine.feature_names.index("flavanoids")]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True, layout="constrained")
for grower, color in zip(growers, ("#0072B2", "#E69F00", "#009E73")):
    given, labelled = known & (growers[wine.target] == grower), found == grower
    axes[0].scatter(x[given], y[given], s=24, color=color)
    axes[1].scatter(x[labelled], y[labelled], s=24, color=color, alpha=confidence[labelled], label=grower)
axes[0].scatter(x[~known], y[~known], s=8, color="lightgrey", zorder=0)
axes[1].scatter(x[wrong], y[wrong], s=90, facecolors="none", edgecolors="black")
axes[0].set(title="30 known growers", xlabel="proline", ylabel="flavanoids")
axes[1].set(title="found; fainter means less sure", xlabel="proline")
axes[1].legend(frameon=False)
