"""Every file that the package writes and opens again, as a subject."""

import io
import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from campaign.mutations import json_bytes, mutated, mutated_json, npy, zipped
from campaign.subjects import Subject, put, require

#: New rows that a model which was accepted has to label.
ROWS = np.array([[0.1, 0.2, 0.3], [5.0, 5.1, 4.9], [1e3, -1e3, 0.0], [0.0, 0.0, 0.0]])


def subjects() -> list[Subject]:
    """All of them."""
    return [
        Subject("model manifest", _manifest, _run_manifest, 3, (OSError,)),
        Subject("model array", _model_array, _run_model_array, 3, (OSError,)),
        Subject("model zip", _model_zip, _run_model_zip, 2, (OSError,)),
        Subject("predict recipe", _recipe, _run_recipe, 0.3, (OSError,)),
        Subject("graph npz", _graph, _run_graph, 4, (OSError,)),
        Subject("studio project", _project, _run_project, 1, (OSError,)),
        Subject("studio graph", _studio_graph, _run_studio_graph, 2),
    ]


@cache
def models() -> list[dict[str, bytes]]:
    """The files of some sound models: with evidence, by the graph alone, of a graph, binary, of images."""
    import phaselabel as pl
    from phaselabel.estimators.saving import save

    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(15, 3)), rng.normal(5, 1, size=(15, 3))])
    y = np.full(30, -1)
    y[[0, 1, 2, 15, 16, 17]] = [0, 0, 0, 1, 1, 1]
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 4))
    fits = [
        pl.GinzburgLandauClassifier().fit(X, y),
        pl.GinzburgLandauClassifier(4, evidence=None).fit(X.astype(np.float32), y),
        pl.GinzburgLandauClassifier(affinity="precomputed").fit(
            graph, np.array(["a", None, "b"] * 10, object)
        ),
        pl.BinaryGinzburgLandauClassifier(4).fit(X, y),
    ]
    fits[1].confidence_  # noqa: B018 - so that the calibration is saved, too
    out = []
    for number, model in enumerate(fits):
        with tempfile.TemporaryDirectory() as folder:
            save(model, Path(folder, "m"), extra={} if number else {"recipe": [1, 2.5, "a"]})
            out.append({path.name: path.read_bytes() for path in sorted(Path(folder, "m").iterdir())})
    with tempfile.TemporaryDirectory() as folder:
        _segmenter().save(Path(folder, "m"))
        out.append({path.name: path.read_bytes() for path in sorted(Path(folder, "m").iterdir())})
    return out


def _segmenter() -> Any:
    import phaselabel as pl

    pixels = np.random.default_rng(0).integers(0, 60, (8, 10, 3), dtype=np.uint8)
    pixels[:, 5:] += 150
    marks = np.zeros((8, 10), int)
    marks[1:3, 1], marks[5:7, 8] = 1, 2
    return pl.Segmenter(max_iter=5).fit([pixels], [marks])


def _use(path: Path) -> None:
    """Open a model; what was accepted must give sound answers."""
    import phaselabel as pl

    model = pl.load(path)
    if isinstance(model, pl.Segmenter):
        _use_segmenter(model)
        return
    n, classes = len(model.transduction_), model.classes_
    if model.affinity == "nearest_neighbors":
        rows = ROWS[:, : model.n_features_in_]
    elif model.affinity == "precomputed":
        rows = np.ones((2, n))
    else:
        return
    found = model.predict(rows)
    require(len(found) == len(rows), "a label for every row")
    known = [*classes.tolist(), model.unlabeled, None]
    require(all(label in known or label != label for label in found.tolist()), "a label that is no class")
    if hasattr(model, "calibration_"):
        odds = model.predict_proba(rows)
        require(odds.shape == (len(rows), len(classes)), "a probability for every class")
        require(np.isfinite(odds).all() and (odds >= -1e-9).all(), "probabilities are not finite")
        require(np.allclose(odds.sum(axis=1), 1, atol=1e-6), "probabilities do not add up to 1")
        model.explain(0)
    require(len(model.confidence_) == n, "a confidence for every row")


def _use_segmenter(model: Any) -> None:
    found = model.segment(np.arange(6 * 7 * 3, dtype=np.uint8).reshape(6, 7, 3))
    require(found.labels.shape == (6, 7), "a class for every pixel")
    require(set(np.unique(found.labels).tolist()) <= {0, *model.classes_}, "a class that is none")
    require(np.isfinite(found.confidence).all(), "a confidence that is none")


def _folder_of(files: dict[str, bytes], folder: Path) -> Path:
    home = folder / "model"
    home.mkdir(exist_ok=True)
    for name, data in files.items():
        put(home, name, data)
    for name in {path.name for path in home.iterdir()} - set(files):
        (home / name).unlink()
    return home


def _manifest(rng: random.Random) -> bytes:
    number = rng.randrange(len(models()))
    document = json.loads(models()[number]["model.json"])
    data = json_bytes(mutated_json(rng, document))
    return bytes([number]) + (mutated(rng, data) if rng.random() < 0.15 else data)


def _run_manifest(data: bytes, folder: Path) -> None:
    files = models()[int.from_bytes(data[:1]) % len(models())]
    _use(_folder_of(files | {"model.json": data[1:]}, folder))


def _model_array(rng: random.Random) -> bytes:
    """An array changed inside, with a manifest that describes it rightly in most cases."""
    number = rng.randrange(len(models()))
    names = [name for name in models()[number] if name != "model.json"]
    at = rng.randrange(len(names))
    old = models()[number][names[at]]
    kind = rng.randrange(3)
    new = mutated(rng, old) if kind == 0 else old[:128] + mutated(rng, old[128:]) if kind == 1 else npy(rng)
    return bytes([number, at, rng.random() < 0.8]) + new


def _run_model_array(data: bytes, folder: Path) -> None:
    files = dict(models()[data[0] % len(models())])
    names = [name for name in files if name != "model.json"]
    name = names[data[1] % len(names)]
    files[name] = data[3:]
    if data[2]:
        manifest = json.loads(files["model.json"])
        _describe(manifest, int(name[6:9]), data[3:])
        files["model.json"] = json.dumps(manifest).encode()
    _use(_folder_of(files, folder))


def _describe(node: Any, number: int, data: bytes) -> None:
    if isinstance(node, dict):
        if node.get("array") == number and "dtype" in node:
            try:
                array = np.load(io.BytesIO(data), allow_pickle=False)
                node["dtype"], node["shape"] = str(array.dtype), list(array.shape)
            except Exception:
                return
        for value in node.values():
            _describe(value, number, data)
    elif isinstance(node, list):
        for value in node:
            _describe(value, number, data)


def _model_zip(rng: random.Random) -> bytes:
    files = dict(rng.choice(models()))
    if rng.random() < 0.5:
        name = rng.choice(tuple(files))
        files[name] = mutated(rng, files[name])
    elif rng.random() < 0.3:
        files[rng.choice(("array-999.npy", "../evil", "a/b", "model.json "))] = b"x"
    return zipped(rng, files)


def _run_model_zip(data: bytes, folder: Path) -> None:
    _use(put(folder, "m.zip", data))


# -- a model with a recipe for tables, which phaselabel predict uses


@cache
def _table_model() -> dict[str, bytes]:
    from phaselabel.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        rng = np.random.default_rng(0)
        lines = ["age,colour,vec,kind"]
        for i in range(24):
            k = i % 2
            lines.append(
                f"{10 * k + rng.normal():.3f},{'red' if k else 'blue'},{i % 5},{'ab'[k] if i < 8 else ''}"
            )
        (home / "t.csv").write_text("\n".join(lines) + "\n")
        words = ["label", str(home / "t.csv"), "--label", "kind", "--out", str(home / "o.csv"), "--quiet"]
        code = main([*words, "--model", str(home / "m")])
        require(code == 0, "the seed of predict failed")
        return {path.name: path.read_bytes() for path in (home / "m").iterdir()}


def _recipe(rng: random.Random) -> bytes:
    document = json.loads(_table_model()["model.json"])
    document["extra"] = mutated_json(rng, document["extra"])
    return json_bytes(document)


def _run_recipe(data: bytes, folder: Path) -> None:
    from phaselabel.cli.main import main

    home = _folder_of(_table_model() | {"model.json": data}, folder)
    table = put(folder, "new.csv", b"age,colour,vec\n1.5,red,2\n9.5,blue,3\n")
    (folder / "out.csv").unlink(missing_ok=True)
    code = main(["predict", str(home), str(table), "--out", str(folder / "out.csv"), "--quiet", "--debug"])
    require(code == 0 and (folder / "out.csv").exists(), "predict ended without an answer or an error")


# -- graphs


@cache
def _graph_arrays() -> dict[str, bytes]:
    import zipfile

    import phaselabel as pl

    with tempfile.TemporaryDirectory() as folder:
        X = np.random.default_rng(0).normal(size=(12, 2))
        pl.similarity_graph(pl.nearest_neighbors(X, 3)).save(Path(folder, "g.npz"))
        with zipfile.ZipFile(Path(folder, "g.npz")) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _graph(rng: random.Random) -> bytes:
    files = dict(_graph_arrays())
    for _ in range(rng.randrange(1, 3)):
        name = rng.choice(tuple(files))
        kind, old = rng.randrange(3), files[name]
        files[name] = (
            mutated(rng, old) if kind == 0 else old[:128] + mutated(rng, old[128:]) if kind == 1 else npy(rng)
        )
    return zipped(rng, files)


def _run_graph(data: bytes, folder: Path) -> None:
    import phaselabel as pl

    graph = pl.Graph.load(put(folder, "g.npz", data))
    weights = graph.weights
    n = graph.n_vertices
    if n > 1000:
        return
    require(np.isfinite(weights.data).all() and (weights.data >= 0).all(), "weights are not finite")
    require(
        abs(weights - weights.T).max() <= 1e-4 * max(weights.data.max(initial=0), 1e-300),
        "it is not symmetric",
    )
    if n >= 2:
        labels = np.full(n, -1)
        labels[:2] = 0, 1
        found = pl.minimize(graph, labels, max_iter=3)
        require(np.isfinite(found.height).all() and found.arm.max() < 2, "the flow left the star")


# -- the studio


@cache
def _projects() -> list[bytes]:
    from phaselabel.studio.project import Project

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "p.studio")
        project = Project(path, {"room": "drawing"})
        project.record("class", {"name": "cow"})
        project.record("stroke", {"class": 1, "points": [[1, 1], [3, 3]], "width": 3})
        project.record("undo", {})
        project.close()
        return [path.read_bytes()]


def _project(rng: random.Random) -> bytes:
    import sqlite3

    if rng.random() < 0.5:
        return mutated(rng, _projects()[0])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = put(Path(folder), "p.studio", _projects()[0])
        file = sqlite3.connect(path)
        file.execute("DROP TRIGGER kept")
        entry = mutated_json(rng, {"class": 1, "points": [[1, 1], [3, 3]], "width": 3, "name": "cow"})
        body = json_bytes(entry).decode("utf-8", "replace")
        kind = rng.choice(("stroke", "class", "undo", "redo", "add", "erase", "", "nonsense"))
        file.execute(
            "UPDATE event SET kind = ?, body = ? WHERE number = ?", (kind, body, rng.randrange(1, 4))
        )
        file.commit()
        file.close()
        return path.read_bytes()


def _run_project(data: bytes, folder: Path) -> None:
    from phaselabel.studio.drawing import DrawingWorkspace
    from phaselabel.studio.project import Project

    for path in folder.glob("p.studio*"):
        path.unlink()
    project = Project(put(folder, "p.studio", data), {"room": "drawing"})
    try:
        state = DrawingWorkspace(np.zeros((6, 7, 3), np.uint8), "p.png", project).state()
        json.dumps(state)
    finally:
        project.close()


@cache
def _studio_features() -> Any:
    return np.random.default_rng(0).normal(size=(12, 2))


def _studio_graph(rng: random.Random) -> bytes:
    import zipfile

    from phaselabel.graph import nearest_neighbors, similarity_graph
    from phaselabel.studio import graph_cache

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g")
        X = _studio_features()
        graph = similarity_graph(nearest_neighbors(X, 3))
        with path.open("wb") as file:
            np.savez(
                file,
                digest=np.array(graph_cache._digest(X)),
                indptr=graph.weights.indptr,
                indices=graph.weights.indices,
                data=graph.weights.data,
                places=np.zeros((12, 2), np.float32),
            )
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(("indptr.npy", "indices.npy", "data.npy", "places.npy", "digest.npy"))
    kind, old = rng.randrange(3), files[name]
    files[name] = (
        mutated(rng, old) if kind == 0 else old[:128] + mutated(rng, old[128:]) if kind == 1 else npy(rng)
    )
    return zipped(rng, files)


def _run_studio_graph(data: bytes, folder: Path) -> None:
    from phaselabel.studio import graph_cache

    X = _studio_features()
    kept = graph_cache._read(put(folder, "g", data), graph_cache._digest(X), len(X))
    if kept is None:
        raise ValueError("it is not used")
    weights, places = kept[0].weights, kept[1]
    require(
        weights.indices.dtype.kind == "i" and weights.data.dtype.kind == "f", "indices are no whole numbers"
    )
    require(abs(weights - weights.T).max() <= 1e-4 * weights.data.max(), "it is not symmetric")
    require(np.isfinite(np.asarray(places, float)).all(), "a place on the map is not finite")
