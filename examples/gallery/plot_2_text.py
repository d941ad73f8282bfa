"""
Text
====

Real text that is on your machine already: what SciPy's documentation says of its functions. From which part
of SciPy is each of them? The command line does the same for a table: ``phaselabel label posts.csv --text body
--label topic``, and with ``--embed`` texts are compared by meaning.
"""

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels

# %%
# The text of a function is its documentation before the list of parameters: some 30 words.

parts = np.array(["interpolate", "linalg", "ndimage", "optimize", "signal", "stats"])
texts, truth = [], []
for number, part in enumerate(parts):
    module = importlib.import_module(f"scipy.{part}")
    for name in module.__all__:
        documentation = inspect.getdoc(getattr(module, name)) or ""
        beginning = re.split(r"\n(?:Parameters|Returns|Attributes|Methods|See Also|Notes)\n", documentation)[
            0
        ]
        if len(beginning.split()) >= 8:
            texts.append(" ".join(beginning.split()))
            truth.append(number)
truth = np.array(truth)
print(f"{len(texts)} texts;", texts[0][:90], "… ->", parts[truth[0]])

# %%
# Eight labels for each part; -1 where there is none. TF-IDF turns texts into numbers; rows of length 1 have
# the same neighbours by Euclidean distance as by cosine.

y = sample_labels(truth, 8, random_state=0)
words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
X = make_pipeline(words, TruncatedSVD(60, random_state=0), Normalizer()).fit_transform(texts)
model = GinzburgLandauClassifier().fit(X, y)
hidden = y < 0
right = model.transduction_ == truth
print(
    f"{right[hidden].mean():.1%} of {hidden.sum()} unlabelled texts are right, from {(~hidden).sum()} labels"
)
sure = hidden & (model.confidence_ >= 0.9)
print(f"{right[sure].mean():.1%} of the {sure.sum()} that it is sure of")

# %%
# What was found for the texts of each part, and a text that it is least sure of.

counts = np.array([np.bincount(model.transduction_[hidden & (truth == k)], minlength=6) for k in range(6)])
figure, axis = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
axis.imshow(counts / counts.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
for (row, column), count in np.ndenumerate(counts):
    axis.text(column, row, count, ha="center", va="center", color="black" if row != column else "#D55E00")
axis.set(xticks=range(6), yticks=range(6), yticklabels=parts, xlabel="found", ylabel="true")
axis.set_xticklabels(parts, rotation=45, ha="right")
print(texts[np.argmin(model.confidence_)][:200])
assert right[hidden].mean() > 0.5
