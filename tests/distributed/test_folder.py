"""The files of a job in a folder and in an object store: moto's server, which speaks S3."""

import gc
import pickle
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest

import phaselabel as pl
from clusters import blobs
from phaselabel.distributed.folder import local_copy, open_folder
from phaselabel.distributed.run.flow import minimize


@pytest.mark.parametrize("place", ["disk", "bucket"])
def test_arrays_and_facts_come_back(place, bucket, tmp_path):
    folder = open_folder(tmp_path / "job" if place == "disk" else f"{bucket}/files")
    array = np.arange(12.0).reshape(3, 4)
    assert not folder.has("a/b.npy")
    assert folder.load_facts("facts.json") is None
    folder.save("a/b.npy", array)
    folder.save_facts("facts.json", {"rows": 3})
    copy = pickle.loads(pickle.dumps(folder))
    assert copy.has("a/b.npy")
    np.testing.assert_array_equal(copy.load("a/b.npy"), array)
    np.testing.assert_array_equal(copy.load("a/b.npy", mapped=True)[1:], array[1:])
    assert copy.load_facts("facts.json") == {"rows": 3}
    copy.remove("a/*")
    assert not folder.has("a/b.npy")
    for name in ("c-1/d.npy", "c-2/d.npy", "c.npy"):
        folder.save(name, array)
    folder.remove("c-*")
    assert [folder.has(name) for name in ("c-1/d.npy", "c-2/d.npy", "c.npy")] == [False, False, True]
    later = open_folder(folder.path)
    later.save("a/b.npy", -array)
    np.testing.assert_array_equal(later.load("a/b.npy", mapped=True), -array)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
def test_arrays_without_numbers_and_single_numbers_come_back(shape, tmp_path):
    folder = open_folder(tmp_path)
    folder.save("empty.npy", np.zeros(shape, np.float32))
    for mapped in (False, True):
        assert folder.load("empty.npy", mapped=mapped).shape == shape


def test_threads_may_read_at_once(tmp_path):
    """A collection of garbage lets another thread run in the middle of a header, where the parser fails."""
    folder, failures = open_folder(tmp_path), []
    folder.save("a.npy", np.zeros(10))

    def read(depth):
        if depth:  # Threads at different depths: the parser compares them.
            return read(depth - 1)
        try:
            for mapped in (False, True) * 50:
                folder.load("a.npy", mapped=mapped)
        except SystemError as error:
            failures.append(error)

    def interrupt(*_):
        time.sleep(1e-6)

    thresholds = gc.get_threshold()
    gc.callbacks.append(interrupt)
    gc.set_threshold(5)
    try:
        threads = [threading.Thread(target=read, args=(7 * k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(interrupt)
    assert not failures


def test_threads_may_copy_at_once(monkeypatch):
    class Slow(tempfile.TemporaryDirectory):
        def __init__(self, *given, **named):
            time.sleep(0.05)  # all threads are here at once
            super().__init__(*given, **named)

    monkeypatch.setattr(tempfile, "TemporaryDirectory", Slow)
    open_folder("memory://job").save("a.npy", np.arange(3))
    with ThreadPoolExecutor(4) as threads:
        copies = list(threads.map(local_copy, ["memory://job/a.npy"] * 4, ["token"] * 4))
    assert all(copy.exists() for copy in copies)


def test_an_address_without_its_library_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="carrier-pigeon://nest/job cannot be opened"):
        open_folder("carrier-pigeon://nest/job")


def test_rows_from_a_bucket_labels_to_a_bucket_job_in_a_bucket(client, bucket):
    X, y = blobs(6_000, seed=9)
    labels = pl.datasets.sample_labels(y, 10, random_state=0)
    da.from_array(X, chunks=(1_500, -1)).to_zarr(f"{bucket}/rows.zarr")
    rows = da.from_zarr(f"{bucket}/rows.zarr")
    options = {"client": client, "checkpoint": f"{bucket}/job"}
    model = pl.GinzburgLandauClassifier(evidence=None, dask_options=options).fit(rows, labels)
    model.transduction_.to_zarr(f"{bucket}/labels.zarr")
    local = pl.GinzburgLandauClassifier(evidence=None).fit(X, labels)
    np.testing.assert_array_equal(da.from_zarr(f"{bucket}/labels.zarr").compute(), local.transduction_)
    np.testing.assert_array_equal(model.predict(X[:20] + 0.01), local.predict(X[:20] + 0.01))
    with pytest.raises(FileExistsError, match="s3://jobs/job holds a checkpoint already"):
        pl.GinzburgLandauClassifier(evidence=None, dask_options=options).fit(rows, labels)
    again = pl.GinzburgLandauClassifier(evidence=None, dask_options=options | {"resume": True}).fit(
        rows, labels
    )
    np.testing.assert_array_equal(again.transduction_.compute(), local.transduction_)


class Stop(Exception):
    pass


def test_a_flow_continues_from_a_checkpoint_in_a_bucket(client, bucket, problem, reference):
    graph, labels, _ = problem
    options = {"sweeps_per_round": 1, "interval": 10, "folder": f"{bucket}/flow"}

    def stop(sweep, state, energy):
        if sweep == 15:
            raise Stop

    with pytest.raises(Stop):
        minimize(graph, labels, client, callbacks=stop, **options)
    solution = minimize(graph, labels, client, resume=True, **options)
    arm, height, *_ = reference
    np.testing.assert_array_equal(solution.arm.compute(), arm)
    np.testing.assert_array_equal(solution.height.compute(), height)
