"""
Text
====

TF-IDF turns text into numbers; rows of length 1 have the same neighbours by Euclidean distance as by cosine.
The command line does this for you: ``phaselabel label posts.csv --text body --label topic``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from phaselabel import GinzburgLandauClassifier

# %%
# Six hundred short posts on three topics, made up from words that mostly, but not only, belong to one of
# them.

rng = np.random.default_rng(0)
topics = {
    "orbit": "rocket launch orbit moon crew engine burn capsule docking station".split(),
    "garden": "tomato soil compost seed bloom prune sun shade bee harvest".split(),
    "chess": "pawn rook opening gambit endgame clock tactic check mate board".split(),
}
everyday = "today really think maybe good time new went see first week friend".split()
names = np.array(list(topics))
truth = names[rng.integers(3, size=600)]
posts = [" ".join([*rng.choice(topics[t], 5), *rng.choice(everyday, 8)]) for t in truth]
print(posts[0], "->", truth[0])

# %%
# Four labels for each topic; ``None`` where there is none.

y = np.full(600, None, object)
for name in names:
    y[np.flatnonzero(truth == name)[:4]] = name

features = make_pipeline(TfidfVectorizer(sublinear_tf=True), TruncatedSVD(30, random_state=0), Normalizer())
X = features.fit_transform(posts)
model = GinzburgLandauClassifier().fit(X, y)
hidden = np.array([label is None for label in y])
accuracy = np.mean(model.transduction_[hidden] == truth[hidden])
print(f"{accuracy:.1%} of {hidden.sum()} unlabelled posts are right, from {600 - hidden.sum()} labels")

# %%
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for name, color in zip(names, ("#0072B2", "#D55E00", "#009E73")):
    members = model.transduction_ == name
    axis.scatter(X[members, 1], X[members, 2], s=8, color=color, label=name)
axis.legend(frameon=False)
axis.set(xticks=[], yticks=[], title="Posts along two directions, coloured by the topic found")
assert accuracy > 0.9
