"""Files in, files out, on a cluster: ``phaselabel label --dask``."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import phaselabel as pl
from clusters import blobs


@pytest.fixture
def embeddings(tmp_path):
    """Three Parquet files of vectors, and labels for a few rows."""
    X, y = blobs(9_000, seed=3)
    folder = tmp_path / "embeddings.parquet"
    folder.mkdir()
    for i, rows in enumerate(np.split(np.arange(len(X)), [2_000, 7_000])):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].ravel()), X.shape[1])
        table = pa.table({"name": [f"row {r}" for r in rows], "x": vectors})
        parquet.write_table(table, folder / f"part-{i}.parquet", row_group_size=1_500)
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    known = np.flatnonzero(labels >= 0)
    lines = [f"{row},class {labels[row]}" for row in known]
    (tmp_path / "labels.csv").write_text("\n".join(["row,label", *lines]) + "\n")
    return folder, y


def test_parquet_in_parquet_out(client, run, embeddings, tmp_path):
    folder, y = embeddings
    words = [
        "label",
        folder,
        "--labels",
        "labels.csv",
        "--out",
        "out.parquet",
        "--dask",
        client.scheduler.address,
    ]
    done = run(*words, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["rows"] == len(y)
    assert facts["recall"] > 0.97
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column("name").to_pylist() == [f"row {r}" for r in range(len(y))]
    assert table.column_names == ["name", "x", "label_predicted", "label_confidence", "label_reached"]
    predicted = np.array(table.column("label_predicted").to_pylist(), object)
    assert np.mean(predicted == [f"class {c}" for c in y]) > 0.95
    again = run(*words)
    assert again.returncode == 1
    assert "is there already" in again.stderr


def test_arrays_in_zarr_out(client, run, tmp_path):
    import zarr

    X, y = blobs(6_000, seed=4)
    (tmp_path / "rows.npy").mkdir()
    for i, part in enumerate(np.array_split(X, 4)):
        np.save(tmp_path / "rows.npy" / f"{i}.npy", part)
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    np.save(tmp_path / "labels.npy", labels)
    address = client.scheduler.address
    done = run("label", "rows.npy", "--labels", "labels.npy", "--out", "out.zarr", "--dask", address)
    assert done.returncode == 0, done.stderr
    found = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")
    assert np.mean(found["label_predicted"][:] == y) > 0.95
    zarr.save_array(str(tmp_path / "rows.zarr"), X)
    done = run("label", "rows.zarr", "--labels", "labels.npy", "--out", "out", "--dask", address)
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "out").glob("label_predicted-*.npy"))
    assert np.mean(np.concatenate([np.load(file) for file in files]) == y) > 0.95


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.parquet", "--out", "o.parquet"], "There is no nowhere.parquet"),
        (["embeddings.parquet"], "--out"),
        (["embeddings.parquet", "--out", "o.csv"], "with --dask the output is a folder"),
        (
            ["embeddings.parquet", "--out", "o.parquet", "--text", "name"],
            "--text works on tables in one file",
        ),
        (["embeddings.parquet", "--out", "o.parquet", "--features", "name"], "neither numbers nor vectors"),
    ],
)
def test_mistakes_are_sentences(run, embeddings, words, said):
    done = run("label", *words, "--labels", "labels.csv", "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def ours(client):
    """The tasks of phaselabel that the scheduler knows."""
    return client.run_on_scheduler(
        lambda dask_scheduler: [key for key in map(str, dask_scheduler.tasks) if "phaselabel" in key]
    )


def waited(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_lets_go_and_resume_goes_on(client, run, embeddings, tmp_path):
    folder, y = embeddings
    words = ["label", folder, "--labels", "labels.csv", "--out", "out.parquet", "--checkpoint", "kept"]
    words += ["--dask", client.scheduler.address, "--sweeps-per-round", "1"]
    other = client.submit(time.sleep, 20, key="somebody-else's")
    before = set(ours(client))
    process = subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *map(str, words)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waited(lambda: (tmp_path / "kept" / "graph.json").exists(), 120)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert waited(lambda: set(ours(client)) <= before), set(ours(client)) - before
    assert other.status in ("pending", "finished")
    other.cancel()
    assert not (tmp_path / "out.parquet").exists()
    done = run(*words)
    assert done.returncode == 1
    assert "--resume" in done.stderr
    done = run(*words, "--resume")
    assert done.returncode == 0, done.stderr
    predicted = parquet.read_table(tmp_path / "out.parquet").column("label_predicted").to_pylist()
    assert np.mean(np.array(predicted, object) == [f"class {c}" for c in y]) > 0.95
