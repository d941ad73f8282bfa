"""Every public function and class as a subject: decisions in, checked results out."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from campaign.draws import ByteDraws, Draws, chance, labels, matrix, n_rows, odd, one_of, parameters, real
from campaign.subjects import Subject, WrongError, require

#: What functions may raise besides ``ValueError``: wrong types, as everywhere in scikit-learn.
ERRORS = (TypeError, OSError)


def functions() -> dict[str, tuple[Callable[[Draws], None], float]]:
    """The functions by name, each with its weight."""
    return {
        "labels encode": (_encode, 6),
        "nearest_neighbors": (_neighbors, 2),
        "similarity_graph": (_similarity, 2),
        "Graph.from_edges": (_edges, 4),
        "Graph.from_weights": (_weights, 4),
        "extend_graph": (_extend, 0.5),
        "minimize": (_minimize, 2),
        "minimize watched": (_minimize_watched, 1),
        "minimize_binary": (_minimize_binary, 1),
        "energy": (_energy, 2),
        "GinzburgLandauClassifier graph": (_classifier_graph, 0.3),
        "GinzburgLandauClassifier": (_classifier, 0.08),
        "GinzburgLandauClassifier given": (_given, 0.3),
        "annotate": (_annotate, 0.2),
        "BinaryGinzburgLandauClassifier": (_binary, 0.3),
        "GraphRegressor": (_regressor, 0.3),
        "LabeledFold": (_folds, 2),
        "Marks": (_marks, 4),
        "segment": (_segment, 0.15),
        "Segmenter": (_segmenter, 0.2),
        "datasets": (_datasets, 0.5),
    }


#: Subjects that take many decisions: where the bytes run out, every rest of them is odd.
LONG = ("GinzburgLandauClassifier given", "annotate", "Segmenter", "segment", "minimize watched")


def subjects() -> list[Subject]:
    """All of them, fed by random bytes."""
    return [
        Subject(name, partial(_bytes, 3 if name in LONG else 1), _run(function), weight, ERRORS)
        for name, (function, weight) in functions().items()
    ]


def _bytes(times: int, rng: random.Random) -> bytes:
    return rng.randbytes(times * rng.choice((40, 120, 400)))


def _run(function: Callable[[Draws], None]) -> Callable[[bytes, Path], None]:
    return lambda data, folder: function(ByteDraws(data))


# -- labels


def _encode(draws: Draws) -> None:
    from phaselabel.labels import decode, encode

    y = labels(draws, draws.whole(0, 12))
    unlabeled = one_of(draws, (-1, -1, None, "?", 0))
    classes, arms = encode(y, unlabeled)
    require(
        len(arms) == len(y) and arms.min() >= -1 and arms.max() < len(classes), "a class number that is none"
    )
    require(len(set(map(repr, classes.tolist()))) == len(classes), "a class twice")
    back = decode(arms, classes, unlabeled)
    for entry, arm, again in zip(list(y), arms.tolist(), back.tolist()):
        if arm >= 0:
            plain = entry.item() if isinstance(entry, np.generic) else entry
            require(again == plain or str(again) == str(plain), f"{entry!r} came back as {again!r}")
        else:
            missing = entry is None or entry != entry or str(entry) in (str(unlabeled), "NaT", "<NA>", "--")
            require(missing, f"{entry!r} counts as not known")


# -- graphs


def _neighbors(draws: Draws) -> None:
    import phaselabel as pl

    X = matrix(draws)
    options = parameters(
        draws,
        {
            "metric": (
                "euclidean",
                "euclidean",
                "cosine",
                "manhattan",
                "chebyshev",
                "correlation",
                "hamming",
            ),
            "recall": (0.9, 1.0),
            "working_memory": (1, 64.0),
            "connect": (True, False),
        },
    )
    if chance(draws, 0.4):
        options["queries"] = matrix(draws, 5)
    k = draws.whole(1, 4) if chance(draws, 0.95) else odd(draws)
    found = pl.nearest_neighbors(X, k, **options)
    n = n_rows(X)
    require(
        found.indices.min(initial=0) >= 0 and found.indices.max(initial=0) < n, "an index outside the rows"
    )
    require(np.isfinite(found.distances).all() and (found.distances >= 0).all(), "a distance that is none")
    require((np.diff(found.distances, axis=1) >= 0).all(), "distances are not sorted")
    if "queries" not in options and not options.get("connect"):
        require((found.indices != np.arange(len(found.indices))[:, None]).all(), "a row is its own neighbour")
    if options.get("metric", "euclidean") == "euclidean" and options.get("recall", 1.0) == 1.0:
        _same_as_naive(X, found, options)


def _same_as_naive(X: Any, found: Any, options: dict[str, Any]) -> None:
    """The distances of the naive search, in Python's own numbers of any size."""
    from fractions import Fraction

    def dense(rows: Any) -> list[list[Fraction]]:
        rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        return [[Fraction(value) for value in row] for row in rows.tolist()]

    points = dense(X)
    queries = dense(options["queries"]) if options.get("queries") is not None else points
    for i, query in enumerate(queries):
        squares = [sum((a - b) ** 2 for a, b in zip(query, point)) for point in points]
        own = options.get("queries") is None
        rest = sorted(square for j, square in enumerate(squares) if not (own and j == i))
        largest = max((abs(value) for row in points for value in row), default=Fraction(0))
        for j, distance in enumerate(found.distances[i].tolist()[: len(rest)]):
            # Distances of 32-bit numbers far from the origin lose digits; the order of rows must not.
            true = squares[int(found.indices[i, j])]
            slack = Fraction(1, 10**3)
            low, high = rest[j] * (1 - slack) ** 2, rest[j] * (1 + slack) ** 2
            tiny = (largest * Fraction(1, 10**5)) ** 2
            if not low - tiny <= true <= high + tiny:
                raise WrongError(f"neighbour {j} of row {i} is not the nearest one")
            if abs(Fraction(distance) ** 2 - true) > true * slack + tiny:
                raise WrongError(f"distance {distance:g} of row {i} is wrong")


def _graph(draws: Draws) -> Any:
    """A small sound graph, now and then with isolated vertices or extreme weights."""
    import phaselabel as pl

    n = draws.whole(2, 9)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            if chance(draws, 0.5):
                W[i, j] = W[j, i] = (
                    one_of(draws, (1.0, 0.5, 1e-3, 1e-20, 1e20)) if chance(draws, 0.2) else 1 + i % 3
                )
    return pl.Graph.from_weights(W, one_of(draws, (np.float32, np.float64)))


def _sound(graph: Any) -> None:
    weights = graph.weights
    require(np.isfinite(weights.data).all() and (weights.data >= 0).all(), "a weight that is none")
    require(
        weights.nnz == 0 or abs(weights - weights.T).max() <= 1e-4 * weights.data.max(), "it is not symmetric"
    )
    require((weights.diagonal() == 0).all(), "it has a loop")
    require(np.isfinite(graph.degrees).all(), "a degree is not finite")


def _similarity(draws: Draws) -> None:
    import phaselabel as pl

    n, k = draws.whole(1, 10), draws.whole(1, 4)
    indices = np.array(
        [
            [draws.whole(0, n) if chance(draws, 0.05) else draws.whole(0, n - 1) for _ in range(k)]
            for _ in range(n)
        ]
    )
    distances = np.sort(np.abs([[real(draws) for _ in range(k)] for _ in range(n)]), axis=1)
    if chance(draws, 0.1):
        distances = distances[:, ::-1]
    if chance(draws, 0.05):
        indices = odd(draws)
    neighbors = pl.Neighbors(indices, distances)
    options = parameters(draws, {"scale_neighbor": (1, 2, k), "dtype": (np.float32, np.float64)})
    _sound(pl.similarity_graph(neighbors, **options))


def _edges(draws: Draws) -> None:
    import phaselabel as pl

    m = draws.whole(0, 12)
    edges: Any = [[draws.whole(0, 6), draws.whole(0, 6)] for _ in range(m)]
    if chance(draws, 0.1) and m:
        edges[draws.whole(0, m - 1)][draws.whole(0, 1)] = odd(draws)
    if chance(draws, 0.5):
        edges = list(zip(*edges))
    options = parameters(
        draws, {"n_vertices": (7, 8, 100), "weights": ([1.0] * m, [0.5] * m, [real(draws)] * m)}
    )
    graph = pl.Graph.from_edges(edges, **options)
    _sound(graph)
    require(graph.n_vertices <= 10**9, "more vertices than edges can name")


def _weights(draws: Draws) -> None:
    import phaselabel as pl

    n = draws.whole(0, 7)
    W = np.array(
        [[abs(real(draws)) if chance(draws, 0.4) else 0 for _ in range(n)] for _ in range(n)]
    ).reshape(n, n)
    if chance(draws, 0.8):
        W = np.maximum(W, W.T)
    given: Any = W if chance(draws, 0.5) else sparse.csr_array(W)
    if sparse.issparse(given) and given.nnz and chance(draws, 0.2):  # a matrix that was damaged afterwards
        part = one_of(draws, ("indices", "indptr", "data"))
        values = getattr(given, part)
        values[draws.whole(0, len(values) - 1)] = one_of(draws, (-1, 10**6, 2**31 - 1, 0))
    if chance(draws, 0.05):
        given = odd(draws)
    _sound(pl.Graph.from_weights(given, **parameters(draws, {"dtype": (np.float32, np.float64)})))


def _extend(draws: Draws) -> None:
    import phaselabel as pl

    X = np.array([[real(draws), real(draws)] for _ in range(draws.whole(4, 9))])
    neighbors = pl.nearest_neighbors(X, 2)
    new = matrix(draws, 4, 3)
    graph, _ = pl.extend_graph(pl.similarity_graph(neighbors), neighbors, X, new)
    _sound(graph)
    require(graph.n_vertices == len(X) + n_rows(new), "a vertex for every point")


# -- flow


FLOW = {
    "epsilon": (1.0, 0.1, 10.0, 1e-6, 1e6),
    "fidelity": (30.0, 0.0, 1e12, 1e-3),
    "step": ("auto", 0.01, 1.0),
    "max_iter": (1, 3, 20),
    "tol": (0, 1e-4, 1.0),
    "random_state": (0, None),
    "init": ("hub", "random"),
    "n_classes": (2, 3, 5),
}


def _known(draws: Draws, n: int, k: int = 2) -> Any:
    y = np.full(n, -1)
    for i in range(n):
        if chance(draws, 0.3):
            y[i] = draws.whole(-1, k)
    y[:2] = 0, 1
    return y


def _minimize(draws: Draws) -> None:
    import phaselabel as pl

    graph = _graph(draws)
    y = _known(draws, graph.n_vertices)
    options = parameters(draws, FLOW, 0.05)
    limit = options.get("max_iter")
    if type(limit) is int and limit > 10_000:
        options["max_iter"] = 10_000  # with tol=0 every one of 2**24 sweeps is made, as asked for
    k = options.get("n_classes", int(y.max()) + 1)
    if chance(draws, 0.1):
        arm = np.array([draws.whole(-2, 3) for _ in range(graph.n_vertices)])
        options["init"] = pl.State(arm, np.array([abs(real(draws)) / 20 for _ in arm]))
    found = pl.minimize(graph, y, **options)
    require(found.arm.min() >= -1 and found.arm.max() < max(k, 2), "a class that is none")
    require((found.height >= 0).all() and (found.height <= 0.5 + 1e-6).all(), "a height outside the star")
    total = found.energy["total"]
    require(np.isfinite(total).all(), "the energy is not finite")


def _minimize_watched(draws: Draws) -> None:
    """With evidence that has weights, a schedule of ε and callbacks; then the energy of what was found."""
    import phaselabel as pl

    graph = _graph(draws)
    n, k = graph.n_vertices, draws.whole(2, 4)
    q = np.array([[draws.whole(0, 100) + 0.5 for _ in range(k)] for _ in range(n)])
    q = q / q.sum(axis=1, keepdims=True)
    voice = np.array([one_of(draws, (1.0, 0.0, 1e-3, 30.0)) for _ in range(n)])
    if chance(draws, 0.1):
        q[draws.whole(0, n - 1), draws.whole(0, k - 1)] = one_of(draws, (np.nan, -1.0, np.inf, 2.0))
    if chance(draws, 0.1):
        voice[draws.whole(0, n - 1)] = one_of(draws, (np.nan, -1.0, np.inf, 1e300))
    believed: Any = one_of(draws, (q, pl.Evidence(q, voice), pl.Evidence(q, voice)))
    if chance(draws, 0.1):
        believed = pl.Evidence.of(one_of(draws, (q[:, 0], odd(draws))))
    if chance(draws, 0.1):
        believed = pl.Evidence(
            *one_of(draws, ((q[1:], voice), (q[:, :1], voice), (q, voice[1:]), (q.T, q[0])))
        )
    usual = {"start": (2.0, 1.0), "stop": (0.5, 0.01), "factor": (0.5, 0.9), "sweeps": (1, 3)}
    schedule = pl.Geometric(**parameters(draws, usual))
    history = pl.History()
    snapshots = pl.Snapshots(odd(draws) if chance(draws, 0.1) else [0, draws.whole(0, 20)])
    options = {"epsilon": schedule if len(list(schedule)) * schedule.sweeps < 10_000 else 1.0}
    if chance(draws, 0.2):
        experiment = one_of(draws, ("coil", "two-moons", "three-moons-adaptive", odd(draws)))
        options |= pl.paper_run(*([experiment] if chance(draws, 0.9) else [experiment, odd(draws)]))
    if chance(draws, 0.2):
        options["init"] = pl.State.from_u(
            [real(draws) % 3 if chance(draws, 0.9) else real(draws) for _ in range(n)]
        )
    found = pl.minimize(
        graph,
        _known(draws, n, 1),
        evidence=believed,
        n_classes=k,
        callbacks=[history, snapshots],
        **{"max_iter": 20} | options,
        **parameters(draws, {"every": (1, 5), "random_state": (0,)}),
    )
    require(found.arm.min() >= -1 and found.arm.max() < k, "a class that is none")
    require((found.height >= 0).all() and (found.height <= 0.5 + 1e-6).all(), "a height outside the star")
    require(history.sweeps == sorted(set(history.sweeps)), "looks are not in their order")
    state = pl.State(found.arm, found.height.clip(0, 0.5))
    energy = pl.energy.evaluate(graph, state, _known(draws, n, 1), evidence=believed)
    require(np.isfinite(energy.total) and energy.evidence >= 0, "an energy that is none")
    slope = pl.energy.gradient(graph, state, _known(draws, n, 1), evidence=believed)
    require(np.isfinite(slope).all(), "a slope that is none")


def _minimize_binary(draws: Draws) -> None:
    import phaselabel as pl

    graph = _graph(draws)
    options = parameters(
        draws,
        {"epsilon": (1.0, 0.1, 10.0), "fidelity": (30.0, 0.0, 1e3), "max_iter": (1, 3, 20), "tol": (0, 1e-4)},
        0.05,
    )
    found = pl.minimize_binary(graph, _known(draws, graph.n_vertices, 1), **options)
    values = next(
        value for value in vars(found).values() if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    )
    require(np.isfinite(values).all(), "the state is not finite")


def _energy(draws: Draws) -> None:
    import phaselabel as pl

    graph = _graph(draws)
    n = graph.n_vertices
    arm = np.array([draws.whole(-1, 1) for _ in range(n)])
    height = np.where(arm >= 0, np.array([draws.whole(0, 50) / 100 for _ in range(n)]), 0.0)
    if chance(draws, 0.1):
        height[draws.whole(0, n - 1)] = one_of(draws, (np.nan, -1.0, 0.6, np.inf))
    found = pl.energy.evaluate(
        graph,
        pl.State(arm, height),
        _known(draws, n, 1),
        **parameters(draws, {"epsilon": (1.0, 0.1), "fidelity": (30.0, 0.0)}, 0.05),
    )
    require(np.isfinite(found.total), "the energy is not finite")


# -- estimators


def _judged_model(model: Any, X: Any, draws: Draws) -> None:
    n = n_rows(X)
    known = [*model.classes_.tolist(), model.unlabeled, None]  # None stands for -1 among texts
    found = model.transduction_.tolist()
    require(len(found) == n, "a label for every row")
    require(all(label in known or label != label for label in found), "a label that is no class")
    confidence = np.asarray(model.confidence_)
    require(
        np.isfinite(confidence).all() and (confidence >= 0).all() and (confidence <= 1 + 1e-9).all(),
        "a confidence outside 0 to 1",
    )
    odds = model.label_distributions_
    require(
        np.isfinite(odds).all() and np.allclose(odds.sum(axis=1), 1, atol=1e-5),
        "probabilities do not add up to 1",
    )
    if model.affinity != "nearest_neighbors":
        return
    new = matrix(draws, 4, 4)
    labels_of_new = model.predict(new).tolist()
    require(all(label in known or label != label for label in labels_of_new), "a prediction that is no class")
    odds = model.predict_proba(new)
    require(
        np.isfinite(odds).all() and np.allclose(odds.sum(axis=1), 1, atol=1e-5),
        "predictions do not add up to 1",
    )


ESTIMATOR = {
    "n_neighbors": ("auto", 1, 2, 3),
    "scale_neighbor": (None, 1, 2),
    "metric": ("euclidean", "cosine", "manhattan"),
    "epsilon": (1.0, 0.1),
    "fidelity": (30.0, 1e-3, 1e12),
    "step": ("auto", 0.01),
    "max_iter": (1, 20),
    "tol": (1e-4, 0),
    "init": ("auto", "hub", "random"),
    "class_sizes": ("estimate", [0.5, 0.5], [(0.1, 0.9), (0.1, 0.9)]),
    "abstain_below": (None, 0.5, np.float32(0.9)),
    "unlabeled": (-1, None),
    "random_state": (0,),
}


def _classifier_graph(draws: Draws) -> None:
    _fit_classifier(draws, None)


def _classifier(draws: Draws) -> None:
    _fit_classifier(draws, "auto")


def _fit_classifier(draws: Draws, evidence: Any) -> None:
    import phaselabel as pl

    X = matrix(draws)
    options = parameters(draws, ESTIMATOR, 0.04)
    model = pl.GinzburgLandauClassifier(**{"evidence": evidence, "max_iter": 20} | options)
    _judged_model(model.fit(X, labels(draws, n_rows(X))), X, draws)
    model.suspect_labels_  # noqa: B018
    model.class_size_intervals_  # noqa: B018
    model.explain(*([0] if chance(draws, 0.8) else [odd(draws)]))
    if chance(draws, 0.3):
        model.query(odd(draws) if chance(draws, 0.2) else 2)


def _given(draws: Draws) -> None:
    """Evidence, a graph and columns that the user names; then questions to the fitted model."""
    import phaselabel as pl

    n, wild = draws.whole(4, 14), chance(draws, 0.2)

    def number() -> float:
        return real(draws) if wild else (draws.whole(0, 4000) - 2000) / 100

    X = np.array([[number() for _ in range(3)] for _ in range(n)])
    evidence: Any = np.array([[abs(number()), abs(number()) + 0.1] for _ in range(n)])
    if not chance(draws, 0.1):
        evidence = evidence / evidence.sum(axis=1, keepdims=True)
    if chance(draws, 0.2):
        evidence[draws.whole(0, n - 1)] = np.nan  # no opinion
    shapes = (
        evidence,
        evidence.tolist(),
        evidence.astype(np.float32),
        None,
        evidence[1:],
        -evidence,
        odd(draws),
    )
    evidence = shapes[draws.whole(0, 6) if chance(draws, 0.2) else draws.whole(0, 3)]
    graph = None
    if chance(draws, 0.5):
        ends = [(draws.whole(0, n - 1), draws.whole(0, n - 1)) for _ in range(3 * n)]
        W = sparse.coo_array((np.array([abs(number()) for _ in ends]), tuple(zip(*ends))), (n, n)).tocsr()
        W.setdiag(0)
        graph = one_of(draws, (W, W.toarray(), W[1:], odd(draws))) if chance(draws, 0.1) else W + W.T
    options = parameters(
        draws,
        {
            "class_sizes": (
                "estimate",
                [0.5, 0.5],
                [1, 3],
                {0: 0.5, 1: 0.5},
                {0: (0, 1), 1: (0.2, 0.9)},
            ),
            "abstain_below": (None, 0.5, 0, 1),
            "n_neighbors": ("auto", 1, 3),
            "unlabeled": (-1,),
        },
        0.06,
    )
    if chance(draws, 0.1):
        options["model_columns"] = one_of(draws, ([0], [0, 2], [5], ["a"], odd(draws)))
    if evidence is None and not chance(draws, 0.1):
        graph = None
    model = pl.GinzburgLandauClassifier(**{"evidence": evidence, "max_iter": 20} | options)
    model.fit(X, _known(draws, n, 1), graph=graph)
    require(len(model.transduction_) == n, "all rows")
    held = model.hold_out(*([odd(draws)] if chance(draws, 0.1) else []))
    require(str(held), "no words on hidden labels")
    rows = model.query(odd(draws) if chance(draws, 0.1) else 3)
    require(len(set(rows.tolist())) == len(rows) and (rows < n).all(), "a row twice, or none")
    require(all(isinstance(remark, str) for remark in map(str, model.remarks_)), "a remark without words")
    if graph is None:
        _judged_model(model, X, draws)


def _annotate(draws: Draws) -> None:
    from types import SimpleNamespace

    import pandas as pd

    import phaselabel as pl

    def cells(n: int) -> Any:
        kinds = ["T", "B", *[one_of(draws, ("T", "B", None, "?", "nan", np.nan)) for _ in range(n - 2)]]
        X = np.array([[real(draws) for _ in range(2)] for _ in range(n)])
        W = sparse.csr_matrix(np.abs(X @ X.T) if chance(draws, 0.8) else X)
        column = pd.Series(kinds, dtype=one_of(draws, (object, "category", "string")))
        frame = pd.DataFrame({"type": column if chance(draws, 0.9) else range(n)})
        return SimpleNamespace(obs=frame, obsm={"X_pca": X}, obsp={"connectivities": W}, X=X, uns={}, n_obs=n)

    found = cells(draws.whole(4, 12))
    options = parameters(
        draws,
        {
            "use_rep": (None, "X", "X_pca", "none"),
            "obsp": (None, "connectivities", "none"),
            "reference": (None, None, cells(6)),
            "unlabeled": (("?",), ()),
            "abstain_below": (None, 0.5),
            "key_added": (None, "new"),
        },
        0.05,
    )
    pl.annotate(found, "type", evidence=None, **options)
    name = options.get("key_added") or "type"
    confidence = found.obs[f"{name}_confidence"]
    require(
        np.isfinite(confidence).all() and confidence.between(0, 1 + 1e-9).all(), "a confidence that is none"
    )
    require(
        set(found.obs[f"{name}_predicted"].dropna()) <= {"T", "B", *map(str, range(12)), "?", "nan"},
        "another kind",
    )


def _binary(draws: Draws) -> None:
    import phaselabel as pl

    X = matrix(draws)
    names = ("n_neighbors", "scale_neighbor", "epsilon", "fidelity", "max_iter", "tol", "unlabeled")
    options = parameters(draws, {name: ESTIMATOR[name] for name in names}, 0.04)
    options = {name: value for name, value in options.items() if value != "auto" or name != "n_neighbors"}
    model = pl.BinaryGinzburgLandauClassifier(**{"max_iter": 20} | options).fit(X, labels(draws, n_rows(X)))
    _judged_model(model, X, draws)


def _regressor(draws: Draws) -> None:
    import phaselabel as pl
    from phaselabel.graph.rungs import asked_neighbors

    X = matrix(draws)
    y = np.array([real(draws) if chance(draws, 0.4) else np.nan for _ in range(n_rows(X))])
    if chance(draws, 0.2):
        y = y * one_of(draws, (1e-300, 1e-160, 1e10, 1e155, 1e290)) + one_of(draws, (0, 1e12))
    options = parameters(draws, {"n_neighbors": (1, 2, 3), "fidelity": (1e3, 1.0, 1e8, 1e12)}, 0.05)
    model = pl.GraphRegressor(**options).fit(X, y)
    given = y[np.isfinite(y)]
    spread = max(np.ptp(given), np.abs(given).max() * 1e-6)
    found = model.transduction_[np.isfinite(model.transduction_)]
    # The solution of the smoothing problem lies between the smallest and the largest given value.
    require(
        (found >= given.min() - 1e-3 * spread).all() and (found <= given.max() + 1e-3 * spread).all(),
        "a value outside the given ones",
    )
    # A value of a new row is missing only where none of its neighbours has one.
    new = matrix(draws, 3, 4)
    near = pl.nearest_neighbors(X, asked_neighbors(model.n_neighbors, n_rows(X)), queries=new).indices
    missing = np.isnan(model.transduction_)[near].all(axis=1)
    value = model.predict(new)
    require(np.isfinite(value[~missing]).all(), "a prediction is not finite")
    require(np.isnan(value[missing]).all(), "a prediction from nowhere")


def _folds(draws: Draws) -> None:
    import phaselabel as pl

    n = draws.whole(0, 12)
    X, y = np.zeros((n, 2)), labels(draws, n)
    folds = pl.LabeledFold(**parameters(draws, {"n_splits": (2, 3), "unlabeled": (-1, None)}))
    for train, test in folds.split(X, y):
        require(not set(train.tolist()) & set(test.tolist()), "a row on both sides")


# -- images


def _marks(draws: Draws) -> None:
    import phaselabel as pl

    shape = (6, 7) if chance(draws, 0.95) else (odd(draws), 7)
    outline = [(real(draws) / 2 + 3, real(draws) / 2 + 3) for _ in range(draws.whole(0, 4))]
    name = one_of(draws, ("cow", "sky", "cow", odd(draws)))
    kind = draws.whole(0, 4)
    width = 3 if chance(draws, 0.9) else odd(draws)
    if kind == 0:
        marks = pl.Marks.from_array(
            np.array([[draws.whole(-1, 3) if chance(draws, 0.3) else 0 for _ in range(7)] for _ in range(6)])
        )
    elif kind == 1:
        marks = pl.Marks.from_points([(x, y, name) for x, y in outline], shape)
    elif kind == 2:
        marks = pl.Marks.from_strokes([(name, outline)], shape, width)
    elif kind == 3:
        marks = pl.Marks.from_polygons([(name, outline)], shape)
    else:
        pixels = np.zeros(
            (6, 7, draws.whole(1, 5)), one_of(draws, (np.uint8, np.uint8, np.float32, np.int64))
        )
        pixels[1, 1] = 255
        marks = pl.Marks.from_painting(pixels)
    require(marks.labels.shape == (tuple(shape) if 1 <= kind <= 3 else (6, 7)), "marks of another size")
    require(
        set(np.unique(marks.labels).tolist()) - {0, -1} <= set(marks.classes),
        "marks of a class without a name",
    )
    marks.merged(marks)


def _segment(draws: Draws) -> None:
    import phaselabel as pl

    bands = draws.whole(1, 4)
    image: Any = np.array(
        [[[abs(real(draws)) * 10 for _ in range(bands)] for _ in range(7)] for _ in range(6)]
    )
    with np.errstate(all="ignore"):
        kind = one_of(draws, (np.uint8, np.uint16, np.float32, np.float64, bool))
        image = (np.nan_to_num(image) if kind != np.float64 else image).astype(kind)
    image = image[:, :, 0] if chance(draws, 0.3) else image
    marks = np.zeros((6, 7), int)
    for _ in range(draws.whole(1, 6)):
        marks[draws.whole(0, 5), draws.whole(0, 6)] = draws.whole(0, 2)
    marks[0, 0], marks[5, 6] = 1, 2
    options = parameters(
        draws,
        {
            "position": (0.0, 0.2, 5.0),
            "patch": (1, 3),
            "n_neighbors": (3, 5),
            "max_pixels": (10, 100),
            "max_iter": (5,),
        },
        0.05,
    )
    found = pl.segment(image, marks, **options)
    require(found.labels.shape == (6, 7), "a class for every pixel")
    require(set(np.unique(found.labels).tolist()) <= {0, 1, 2}, "a class that is none")
    require(np.isfinite(found.confidence).all(), "a confidence that is none")
    found.overlay()


def _segmenter(draws: Draws) -> None:
    """Learn from two images; then more marks, a new image, and questions."""
    import phaselabel as pl

    def kind() -> tuple[tuple[int, ...], Any]:
        bands = () if chance(draws, 0.3) else (3 if chance(draws, 0.9) else 2,)
        return bands, one_of(draws, (np.uint8, np.uint16, np.float64))

    usual = kind()

    def image() -> Any:
        sides = (draws.whole(3, 8), draws.whole(3, 8)) if chance(draws, 0.5) else (6, 7)
        bands, number = kind() if chance(draws, 0.1) else usual  # images of one kind, but for a few
        values = np.array([draws.whole(0, 255) for _ in range(int(np.prod(sides + bands)))])
        return values.reshape(sides + bands).astype(number)

    def marks(like: Any) -> Any:
        out = np.zeros(like.shape[:2], int)
        out[0, 0], out[-1, -1] = 1, 2
        out[draws.whole(0, len(out) - 1), 0] = draws.whole(-1, 3)
        return odd(draws) if chance(draws, 0.03) else out

    first, second = image(), image()
    options = parameters(
        draws,
        {"patch": (1, 3), "position": ("auto", 0, 1.0), "n_neighbors": (2, 5), "max_pixels": (9, 1000)},
        0.05,
    )
    model = pl.Segmenter(**options | {"max_iter": 10})
    given: Any = [marks(first), None if chance(draws, 0.5) else marks(second)]
    model.fit([first, second], given)
    if chance(draws, 0.5):
        model.update(marks(second), odd(draws) if chance(draws, 0.1) else 1)
    if chance(draws, 0.3):
        model.settle()
    new = odd(draws) if chance(draws, 0.1) else image()
    found = model.segment(new)
    require(found.labels.shape == new.shape[:2], "a class for every pixel")
    require(set(np.unique(found.labels).tolist()) <= {0, 1, 2, 3}, "a class that is none")
    require(np.isfinite(found.confidence).all(), "a confidence that is none")
    spots = found.suggest_marks(*([odd(draws)] if chance(draws, 0.2) else []))
    require(np.isfinite(spots).all(), "a place that is none")
    model.cell_labels(*([odd(draws)] if chance(draws, 0.2) else []))


def _datasets(draws: Draws) -> None:
    from phaselabel import datasets

    kind = draws.whole(0, 3)
    if kind == 0:
        y = one_of(draws, ([0, 0, 1, 1], [], [0], np.array([0, 1, 2] * 5), ["a", "b"], odd(draws)))
        options = parameters(
            draws, {"n_per_class": (1, 2), "fraction": (0.5, 1.0), "random_state": (0, None)}
        )
        require(len(datasets.sample_labels(y, **options)) == len(y), "an entry for every row")
        return
    make = (datasets.make_three_moons, datasets.make_two_moons, datasets.make_swiss_roll)[kind - 1]
    usual: dict[str, Any] = {"n_per_class": (0, 1, 20), "random_state": (0, 1, None)}
    usual |= {"dimension": (2, 5), "noise": (0.0, 0.1)} if kind < 3 else {}
    options = {"n_per_class": 5} | parameters(draws, usual, 0.2)
    sizes = [options[name] for name in ("n_per_class", "dimension") if name in options]
    if all(not isinstance(size, int | float) or size < 10**4 for size in sizes):
        X, y = make(**options)[:2]
        require(len(X) == len(y), "a class for every point")
