"""
Three lines to labels
=====================

Fifty labels of 1,797 handwritten digits, and every label out. ``-1`` marks the rows whose label is not known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from phaselabel import GinzburgLandauClassifier

X, truth = load_digits(return_X_y=True)
y = np.full(len(X), -1)
y[:50] = truth[:50]

model = GinzburgLandauClassifier().fit(X, y)
right = model.transduction_[50:] == truth[50:]
print(f"{right.mean():.1%} of the unlabelled rows are right")

# %%
# Every row has a confidence, at most 1. The least certain rows are worth a look: a label for one of them
# helps most.

least = np.argsort(model.confidence_)[:12]
figure, axes = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for axis, row in zip(axes.flat, least):
    axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{model.transduction_[row]}? ({model.confidence_[row]:.2f})", fontsize=9)
    axis.set_axis_off()
figure.suptitle("The most doubtful digits")

# %%
# New rows are labelled by their neighbours among the fitted ones.

print(model.predict(X[:3] + 0.5), model.predict_proba(X[:3] + 0.5).max(axis=1).round(2))
assert right.mean() > 0.85
