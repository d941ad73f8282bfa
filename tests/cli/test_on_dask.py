"""``phaselabel label --dask``: files in, files out, by the plan of a local run."""

import json
import re
import signal
import time
from concurrent.futures import CancelledError
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import phaselabel as pl
from clusters import blobs
from phaselabel.cli.main import main
from processes import start_command


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


def test_parquet_in_parquet_out(client, command, embeddings, tmp_path):
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
    done = command(*words, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["rows"] == len(y)
    assert facts["recall"] > 0.97
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column("name").to_pylist() == [f"row {r}" for r in range(len(y))]
    assert table.column_names == ["name", "x", "label_predicted", "label_confidence", "label_reached"]
    predicted = np.array(table.column("label_predicted").to_pylist(), object)
    assert np.mean(predicted == [f"class {c}" for c in y]) > 0.95
    again = command(*words)
    assert again.returncode == 1
    assert "is there already" in again.stderr


def test_arrays_in_zarr_out(client, command, tmp_path):
    import zarr

    X, y = blobs(6_000, seed=4)
    (tmp_path / "rows.npy").mkdir()
    for i, part in enumerate(np.array_split(X, 4)):
        np.save(tmp_path / "rows.npy" / f"{i}.npy", part)
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    np.save(tmp_path / "labels.npy", labels)
    address = client.scheduler.address
    done = command("label", "rows.npy", "--labels", "labels.npy", "--out", "out.zarr", "--dask", address)
    assert done.returncode == 0, done.stderr
    found = zarr.open_group(str(tmp_path / "out.zarr"), mode="r")
    assert np.mean(found["label_predicted"][:] == y) > 0.95
    zarr.save_array(str(tmp_path / "rows.zarr"), X)
    done = command("label", "rows.zarr", "--labels", "labels.npy", "--out", "out", "--dask", address)
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
        (["embeddings.parquet", "--out", "o.parquet", "--embed"], "--embed works on tables in one file"),
        (["embeddings.parquet", "--out", "o.parquet", "--use", "x"], "--use names parts of an .h5ad file"),
    ],
)
def test_mistakes_are_sentences(command, embeddings, words, said):
    done = command("label", *words, "--labels", "labels.csv", "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("table", ["t.csv", "t.h5ad"])
def test_options_of_a_cluster_need_one(table, capsys):
    for words in (["--checkpoint", "kept"], ["--resume"], ["--sweeps-per-round", "1"]):
        assert main(["label", table, "--label", "k", *words]) == 1
        assert "belong to --dask; name the cluster, or 'local'" in capsys.readouterr().err


def write_parts(table, folder, cuts):
    folder.mkdir()
    for number, (start, stop) in enumerate(pairwise([0, *cuts, len(table)])):
        parquet.write_table(table.slice(start, stop - start), folder / f"{number}.parquet")


def test_the_plan_and_the_answer_of_a_local_run(client, command, tmp_path):
    X, y = blobs(3_000, seed=5, width=6)
    rng = np.random.default_rng(0)
    units = 10.0 ** np.arange(-3, 3)
    columns = {"id": np.arange(len(X)), "when": np.datetime64("2024-01-01") + np.arange(len(X)) % 90}
    columns["name"] = [f"row {i}" for i in range(len(X))]
    columns |= {f"x{i}": X[:, i] * units[i] for i in range(6)}
    columns["word"] = rng.choice(["red", "green"], len(X))
    columns["odd"] = ["0x10" if i == 70 else str(i % 83) for i in range(len(X))]
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    known = np.random.default_rng(1).permutation(np.flatnonzero(labels >= 0))
    lines = [f"row {row},{labels[row]}" for row in known]
    (tmp_path / "labels.csv").write_text("\n".join(["name,kind", *lines]) + "\n")
    table = pa.table(columns)
    write_parts(table, tmp_path / "many.parquet", [500, 2200])
    parquet.write_table(table, tmp_path / "one.parquet")
    words = ["--label", "kind", "--labels", "labels.csv", "--id", "name", "--model-columns"]
    words += [*(f"x{i}" for i in range(6)), "--json", "--out"]
    here = command("label", "one.parquet", *words, "here.parquet")
    assert here.returncode == 0, here.stderr
    there = command(
        "label", "many.parquet", *words, "there.parquet", "--dask", client.scheduler.address,
        "--sweeps-per-round", "1", "--model", "model", "--report", "report.html",
    )  # fmt: skip
    assert there.returncode == 0, there.stderr
    assert "<h1>many.parquet" in (tmp_path / "report.html").read_text()
    assert (pl.load(tmp_path / "model").transduction_.astype(int) == y).mean() > 0.85
    here, there = json.loads(here.stdout), json.loads(there.stdout)
    for fact in ("rows", "features", "left_out", "scale", "impute", "labels"):
        assert there[fact] == here[fact], fact
    assert list(here["features"]) == [*(f"x{i}" for i in range(6)), "word"]
    assert "numbers the rows" in there["left_out"]["id"]
    said = "column 'odd' is not used as numbers: 2,999 of its cells are numbers, but 1 cell is not"
    assert any(said in note and "'0x10' in row 70" in note for note in here["notes"])
    assert there["notes"] == here["notes"]
    tables = [parquet.read_table(tmp_path / name) for name in ("here.parquet", "there.parquet")]
    assert tables[0].schema.equals(tables[1].schema)
    # Without scaling the column of the largest unit alone would decide, and half of the labels be wrong.
    found = [np.array(t.column("kind_predicted").to_pylist()) for t in tables]
    assert found[0].tolist() == found[1].tolist()
    assert np.mean(found[1] == y.astype(str)) > 0.85


def test_a_report_on_a_model_too_large_for_one_process(client, command, tmp_path, monkeypatch):
    X, y = blobs(1_500, seed=5, width=4)
    labels = pl.datasets.sample_labels(y, 10, random_state=0)
    columns = {"name": [f"row {i}" for i in range(len(X))]} | {f"x{i}": X[:, i] for i in range(4)}
    columns["kind"] = [f"k{k}" if k >= 0 else "" for k in labels]
    write_parts(pa.table(columns), tmp_path / "many.parquet", [500, 1100])
    monkeypatch.setattr("phaselabel.distributed.fitting.Fitted.refusal", lambda fitted: "It is too large.")
    words = ["label", "many.parquet", "--label", "kind", "--drop", "name", "--dask", client.scheduler.address]
    done = command(*words, "--out", "a.parquet", "--report", "a.html", "--json")
    assert done.returncode == 0, done.stderr
    assert 0.5 < json.loads(done.stdout)["held_out"]["accuracy"] <= 1
    page = (tmp_path / "a.html").read_text()
    assert re.search(r"A sample of 1,[012]\d\d rows", page)
    assert "The rows it is least sure of" in page
    assert re.search(r"<td class=\"n\">(\d+)</td>.*name row \1 · x0 ", page)
    # What can't be had comes after the labels, which stay.
    for number, more in enumerate((["--model", "model"], ["--model", "model", "--report", "b.html"])):
        done = command(*words, "--out", f"b{number}.parquet", *more)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].endswith("It is too large.")
    assert not (tmp_path / "model").exists()
    assert (tmp_path / "b.html").exists()
    done = command(*words, "--out", "c.parquet", "--report", "c.html", "--evidence", "none")
    assert done.returncode == 1
    assert "labels that evidence held back; use evidence" in done.stderr
    assert re.search(r"wrote +c\.parquet", done.stderr)
    assert not (tmp_path / "c.html").exists()
    labelled = {name: parquet.read_table(tmp_path / f"{name}.parquet") for name in ("a", "b0", "b1", "c")}
    assert labelled["a"].equals(labelled["b0"])
    assert labelled["a"].equals(labelled["b1"])
    assert set(labelled["c"].column("kind_predicted").to_pylist()) == {f"k{k}" for k in range(5)}


def test_columns_are_refused_in_the_words_of_a_local_run(client, command, tmp_path):
    table = pa.table({"x": pa.array([1.0, None, 3.0, 4.0]), "k": ["a", "b", "", ""], "w": list("abcd")})
    write_parts(table, tmp_path / "many.parquet", [2])
    parquet.write_table(table, tmp_path / "one.parquet")
    for words, message in (
        (
            ["--label", "k"],
            "1 value is missing in 1 column (x 1); fill in what is missing with --impute median",
        ),
        (["--label", "K"], "did you mean 'k'?"),
        (["--label", "k", "--drop", "nope"], "There is no column 'nope' to use"),
        (["--label", "k", "--unlabeled", "a", "--unlabeled", ""], "has one class only, 'b' (1 row)"),
        ([], "Which column of"),
    ):
        here = command("label", "one.parquet", *words)
        there = command("label", "many.parquet", *words, "--out", "o", "--dask", client.scheduler.address)
        assert (here.returncode, there.returncode) == (1, 1)
        assert message in here.stderr
        said = there.stderr.splitlines()[-1].replace("many.parquet", "one.parquet")
        assert said == here.stderr.splitlines()[-1]


def test_a_scheduler_that_ends_is_a_sentence(client, command, embeddings, monkeypatch):
    def cut_off(*given):
        raise CancelledError("a task was cancelled for reason: scheduler-connection-lost.")

    monkeypatch.setattr("phaselabel.distributed.columns.survey", cut_off)
    words = ["label", "embeddings.parquet", "--labels", "labels.csv", "--out", "out.parquet", "--dask"]
    done = command(*words, client.scheduler.address)
    assert done.returncode == 1
    assert "The connection to the scheduler at tcp://127.0.0.1:" in done.stderr.splitlines()[-1]


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


def test_an_interrupt_lets_go_and_resume_goes_on(client, command, embeddings, tmp_path):
    folder, y = embeddings
    # Names that only the command's own process can take for these files: workers are in another folder.
    words = ["label", folder.name, "--labels", "labels.csv", "--out", "out.parquet", "--checkpoint", "kept"]
    words += ["--dask", client.scheduler.address, "--sweeps-per-round", "1"]
    other = client.submit(time.sleep, 20, key="somebody-else's")
    before = set(ours(client))
    process = start_command(tmp_path, *words)
    # Search, graph and flow are still to come, however late the signal is sent.
    assert waited(lambda: (tmp_path / "kept" / "plan.json").exists(), 120)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert waited(lambda: set(ours(client)) <= before), set(ours(client)) - before
    assert other.status in ("pending", "finished")
    other.cancel()
    assert not (tmp_path / "out.parquet").exists()
    done = command(*words)
    assert done.returncode == 1
    assert "--resume" in done.stderr
    process = start_command(tmp_path, *words, "--resume")
    assert process.wait(300) == 0, process.stderr.read()
    predicted = parquet.read_table(tmp_path / "out.parquet").column("label_predicted").to_pylist()
    assert np.mean(np.array(predicted, object) == [f"class {c}" for c in y]) > 0.95


def test_unsure_rows_are_left_empty_here_and_there(client, tmp_path, monkeypatch, capsys):

    rng = np.random.default_rng(0)
    kind = np.arange(400) % 2
    columns = {"p": rng.normal(1.5 * kind), "q": rng.normal(size=400)}
    table = pa.table(columns | {"kind": ["ab"[k] if i < 80 else "" for i, k in enumerate(kind)]})
    monkeypatch.chdir(tmp_path)
    write_parts(table, tmp_path / "rows.parquet", [150])
    parquet.write_table(table, "one.parquet")
    common = ["--label", "kind", "--abstain-below", "0.8", "--json"]
    facts = {}
    for name, source, words in (
        ("here", "one.parquet", []),
        ("there", "rows.parquet", ["--dask", client.scheduler.address]),
    ):
        assert main(["label", source, *common, *words, "--out", f"{name}.parquet", "--model", name]) == 0
        new = ["predict", name, source, *words, "--json", "--out", f"{name}-new.parquet"]
        facts[name] = json.loads(capsys.readouterr().out)
        assert main(new) == 0
        facts[f"{name}-new"] = json.loads(capsys.readouterr().out)
    for name, said in facts.items():
        found = parquet.read_table(f"{name}.parquet")
        empty = np.array([label is None for label in found.column("kind_predicted").to_pylist()])
        np.testing.assert_array_equal(empty, found.column("kind_confidence").to_numpy() < 0.8)
        np.testing.assert_array_equal(empty, ~found.column("kind_reached").to_numpy())
        assert 0 < empty.sum() < 320
        assert (said["abstained"], sum(said["predicted"].values())) == (empty.sum(), (~empty).sum())


def test_rows_from_a_bucket_labelled_and_predicted_into_it(client, bucket, tmp_path, monkeypatch):
    import s3fs

    X, y = blobs(700, seed=6, width=4)
    columns = {f"x{i}": X[:, i] for i in range(4)}
    labels = pl.datasets.sample_labels(y, 10, random_state=0)
    table = pa.table(columns | {"kind": [f"k{k}" if k >= 0 else "" for k in labels]})
    write_parts(table, tmp_path / "rows.parquet", [300])
    parquet.write_table(table, tmp_path / "one.parquet")
    store = s3fs.S3FileSystem(skip_instance_cache=True)
    store.put(str(tmp_path / "rows.parquet"), "jobs/rows.parquet", recursive=True)
    monkeypatch.chdir(tmp_path)
    assert main(["label", "one.parquet", "--label", "kind", "--model", "model", "--out", "l.parquet"]) == 0
    local = parquet.read_table("l.parquet").column("kind_predicted").to_pylist()
    words = ["--dask", client.scheduler.address, "--out"]
    job = ["label", f"{bucket}/rows.parquet", "--label", "kind", "--checkpoint", f"{bucket}/cli-job"]
    assert main([*job, *words, f"{bucket}/labelled.parquet"]) == 0
    assert main([*job, *words, f"{bucket}/labelled.parquet"]) == 1  # it is there already
    new = ["predict", "model", f"{bucket}/rows.parquet", *words]
    assert main([*new, f"{bucket}/predicted.parquet"]) == 0
    assert main([*new, "predicted.parquet"]) == 0
    found = [
        parquet.read_table(f"jobs/{name}.parquet", filesystem=store) for name in ("labelled", "predicted")
    ]
    assert [t.num_rows for t in found] == [700, 700]
    assert store.exists("jobs/labelled.parquet/_SUCCESS")
    assert found[0].column("kind_predicted").to_pylist() == local
    assert main(["predict", "model", "one.parquet", "--out", "p.parquet"]) == 0
    expected = parquet.read_table("p.parquet")
    for answer in (found[1], parquet.read_table("predicted.parquet")):
        assert answer.column_names == expected.column_names
        assert answer.column("kind_predicted").to_pylist() == expected.column("kind_predicted").to_pylist()
        np.testing.assert_allclose(
            answer.column("kind_confidence"), expected.column("kind_confidence"), atol=2e-4
        )


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_from_a_bucket_and_into_it(client, bucket, tmp_path, monkeypatch, version):
    zarr = pytest.importorskip("zarr", minversion=None if version == 2 else "3")

    said = {"zarr_format": version} if zarr.__version__ >= "3" else {}
    X, y = blobs(700, seed=6, width=4)
    labels = pl.datasets.sample_labels(y, 10, random_state=0)
    rows, out = f"{bucket}/rows{version}.zarr", f"{bucket}/labelled{version}.zarr"
    zarr.open_array(rows, mode="w", shape=X.shape, chunks=(300, 3), dtype="f4", **said)[:] = X
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    np.save("labels.npy", labels)
    assert main(["label", "rows.npy", "--labels", "labels.npy", "--out", "local.npz"]) == 0
    words = ["label", rows, "--labels", "labels.npy", "--out", out, "--dask", client.scheduler.address]
    assert main([*words, "--checkpoint", f"{bucket}/zarr-job{version}"]) == 0
    assert main(words) == 1  # it is there already
    found = zarr.open_group(out, mode="r")
    assert sorted(found) == ["label_confidence", "label_predicted", "label_reached"]
    np.testing.assert_array_equal(found["label_predicted"][:], np.load("local.npz")["label_predicted"])
