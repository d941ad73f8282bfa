"""
A network with texts
====================

Documents that name each other, such as papers that cite each other: the links are a graph, and the words of
each document are its features. Here the documents are those of SciPy's functions, and a link is the name of
another function in the text. ``fit(X, y, graph=...)`` takes both.

The usual example is Cora, papers that cite each other, with the words that each of them has. Its files come
with no package, and this page is built without a download; so here is a picture of it, with the labels of the
published split (``python benchmarks/splits.py --picture cora.png``; the :doc:`benchmarks </benchmarks>`):

.. figure:: /images/cora.png
   :alt: Cora: 140 labels of 2,708 papers; what was found; test papers right by words, by links and by both

   Cora: words alone, links alone, and both.

SciPy is on every machine that runs phaselabel. The same in code:
"""

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels

parts = np.array(["interpolate", "linalg", "ndimage", "optimize", "signal", "stats"])
names, texts, truth = [], [], []
for number, part in enumerate(parts):
    module = importlib.import_module(f"scipy.{part}")
    for name in module.__all__:
        documentation = inspect.getdoc(getattr(module, name)) or ""
        if len(documentation.split()) >= 30:
            names.append(name)
            texts.append(documentation)
            truth.append(number)
truth = np.array(truth)
place = {name: row for row, name in enumerate(names)}

# %%
# A link goes both ways. Names of at least four letters only: short ones are common words.

links = {
    (row, place[word])
    for row, text in enumerate(texts)
    for word in set(re.findall(r"\w{4,}", text))
    if word in place and place[word] != row
}
rows, columns = np.array(sorted(links)).T
W = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(names), len(names)))
W = W.maximum(W.T)
print(f"{len(names)} documents, {W.nnz // 2} links")

# %%
# Three labels for each part: by the words alone, by the links alone, and by both. Words say more than links
# here, and both together are about as good as words; with other labels the order may change.

words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2, max_df=0.5).fit_transform(texts)
X = normalize(TruncatedSVD(60, random_state=0).fit_transform(words))
y = sample_labels(truth, 3, random_state=0)
hidden = y < 0
found = {
    "words": GinzburgLandauClassifier().fit(X, y),
    "links": GinzburgLandauClassifier(affinity="precomputed").fit(W, y),
    "both": GinzburgLandauClassifier().fit(X, y, graph=W),
}
shares = {name: np.mean(model.transduction_[hidden] == truth[hidden]) for name, model in found.items()}
for name, share in shares.items():
    print(f"{share:.1%} right by {name}")

# %%
figure, axis = plt.subplots(figsize=(5, 2.2), layout="constrained")
axis.barh(list(shares), [100 * share for share in shares.values()], color=["#56B4E9", "#E69F00", "#009E73"])
axis.set(xlim=(0, 100), xlabel="unlabelled documents right, %")
axis.invert_yaxis()
assert shares["both"] > 0.5
