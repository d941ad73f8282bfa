"""One plan for a table: on a cluster the same columns, the same labels and the same features as here."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from phaselabel.distributed import columns
from phaselabel.distributed.sources import open_source
from phaselabel.distributed.tasks import Tasks
from phaselabel.io.tables import Labels, Recipe, open_table, plan, survey

N_ROWS = 700


@pytest.fixture(scope="module")
def tasks(client):
    return Tasks(client)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows as one file of each kind and as a folder of three Parquet files."""
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "", "?"])[rng.integers(0, 4, N_ROWS)]
    table = pa.table(
        {
            "id": np.arange(1, N_ROWS + 1),
            "n": rng.normal(1e6, 0.3, N_ROWS),
            "small": rng.lognormal(0, 2, N_ROWS) * 1e-9,
            "whole": rng.integers(0, 50, N_ROWS),
            "yes": rng.random(N_ROWS) < 0.3,
            "word": rng.choice(["kite", "über", "moon"], N_ROWS),
            "free": [f"text {i}" for i in range(N_ROWS)],
            "day": np.datetime64("2024-01-01") + rng.integers(0, 900, N_ROWS),
            "same": np.ones(N_ROWS),
            "late": pa.array([None] * 300 + [f"2024-05-{1 + i % 28:02}" for i in range(N_ROWS - 300)]),
            "gaps": pa.array(np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.normal(size=N_ROWS))),
            "v": pa.FixedSizeListArray.from_arrays(
                pa.array(rng.normal(3, 2, 5 * N_ROWS).astype(np.float32)), 5
            ),
            "label": labels,
        }
    )
    folder = tmp_path_factory.mktemp("tables")
    (folder / "t.parquet").mkdir()
    for number, (start, stop) in enumerate([(0, 100), (100, 450), (450, N_ROWS)]):
        parquet.write_table(
            table.slice(start, stop - start), folder / "t.parquet" / f"{number}.parquet", row_group_size=120
        )
    parquet.write_table(table, folder / "one.parquet")
    from pyarrow import csv

    csv.write_csv(table.drop_columns(["v", "yes"]), folder / "one.csv")
    return folder


def planned(table, found, **options):
    recipe = plan(found, **options)
    return recipe, recipe.fit_transform(table)


@pytest.mark.parametrize(
    "options",
    [
        {"drop": ["gaps"]},
        {"drop": ["gaps", "v"], "date": ["day", "late"], "scale": "robust", "impute": "median"},
        {"drop": ["v"], "impute": "median"},
        {"drop": ["v"], "impute": "mean"},
        {"drop": ["gaps"], "scale": "none"},
        {"features": ["id", "word"]},
        {"features": ["v"]},
    ],
)
def test_the_same_columns_and_the_same_bits(files, tasks, options):
    table, source = open_table(files / "one.parquet"), open_source(files / "t.parquet")
    here, n_rows = survey(table, ["label"])
    there, n_there = columns.survey(source, ["label"], tasks)
    assert there == here
    assert n_there == n_rows
    recipe, expected = planned(table, here, **options)
    other = plan(there, **options)
    X = columns.features(source, other, tasks)
    assert (other.roles, other.left_out) == (recipe.roles, recipe.left_out)
    assert X.dtype == expected.dtype
    assert X.chunks[0] == tuple(part.n_rows for part in source.parts)
    assert len(source.parts) > 2
    np.testing.assert_array_equal(X.compute(), expected)
    assert {key: array.tolist() for key, array in other.arrays.items()} == {
        key: array.tolist() for key, array in recipe.arrays.items()
    }


def test_the_same_columns_as_from_text(files, tasks):
    table, source = open_table(files / "one.csv"), open_source(files / "t.parquet")
    here, _ = survey(table, ["label"])
    there, _ = columns.survey(source, ["label", "v", "yes"], tasks)
    assert {name: column.kind for name, column in there.items()} == {n: c.kind for n, c in here.items()}
    _, expected = planned(table, here, drop=["gaps"])
    X = columns.features(source, plan(there, drop=["gaps"]), tasks)
    np.testing.assert_allclose(X.compute(), expected, rtol=1e-6)


@pytest.mark.parametrize("options", [{"scale": "standard"}, {"scale": "standard", "impute": "mean"}])
def test_scaled_vectors_agree(tmp_path, tasks, options):
    x = np.random.default_rng(1).normal(7, 3, (500, 6)).astype(np.float32)
    if "impute" in options:
        x[::7, 2] = np.nan
    (tmp_path / "x").mkdir()
    for number, rows in enumerate(np.array_split(x, 3)):
        np.save(tmp_path / "x" / f"{number}.npy", rows)
    np.save(tmp_path / "x.npy", x)
    table, source = open_table(tmp_path / "x.npy"), open_source(tmp_path / "x")
    _, expected = planned(table, survey(table)[0], **options)
    X = columns.features(source, plan(columns.survey(source, [], tasks)[0], **options), tasks).compute()
    # Sums over parts are added in another order than sums over all rows.
    np.testing.assert_allclose(X, expected, rtol=3e-7, atol=1e-7)


def test_arrays_as_they_are(tmp_path, tasks):
    import zarr

    x = np.random.default_rng(1).integers(0, 255, (90, 4), np.uint8)
    np.save(tmp_path / "x.npy", x)
    stored = zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=x.shape, chunks=(40, 3), dtype="f8")
    stored[:] = x
    for name, dtype in (("x.npy", np.float32), ("x.zarr", np.float64)):
        source = open_source(tmp_path / name)
        found, n_rows = columns.survey(source, [], tasks)
        assert (found["x"].kind, found["x"].width, n_rows) == ("vector", 4, 90)
        X = columns.features(source, plan(found), tasks).compute()
        assert X.dtype == dtype
        np.testing.assert_array_equal(X, x)
        assert np.array_equal(np.concatenate([b.column(0).to_pylist() for b in source.batches()]), x)


def test_the_same_labels(files, tasks):
    table, source = open_table(files / "one.parquet"), open_source(files / "t.parquet")
    for marks in ((), ("?",), ("a", "")):
        here = Labels.of(table, "label", N_ROWS, marks)
        there = columns.labels_in(source, "label", marks, tasks)
        np.testing.assert_array_equal(there.rows, here.rows)
        assert there.values.tolist() == here.values.tolist()
        assert (there.n_rows, there.type, there.unlabeled) == (N_ROWS, here.type, here.unlabeled)
        assert there.entries.tolist() == here.entries.tolist()
    with pytest.raises(ValueError, match=r"Column 'same' of t\.parquet has one class only"):
        columns.labels_in(source, "same", (), tasks)


def test_minus_one_is_a_class_in_a_column_of_a_table(tmp_path, tasks):
    parquet.write_table(pa.table({"x": [1.0, 2.0, 4.0], "k": [-1, 3, -1]}), tmp_path / "t.parquet")
    labels = columns.labels_in(open_source(tmp_path / "t.parquet"), "k", (), tasks)
    assert labels.values.tolist() == [-1, 3, -1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": ["free"], "drop": ["gaps"]}, "--text works on tables in one file"),
        ({"scale": "robust", "drop": ["gaps"]}, "--scale robust needs all vectors of 'v' in one place"),
        ({"impute": "median"}, "--impute median needs all vectors of 'v' in one place"),
    ],
)
def test_what_needs_all_rows_in_one_place_is_refused(files, tasks, options, message):
    source = open_source(files / "t.parquet")
    found, _ = columns.survey(source, ["label"], tasks)
    with pytest.raises(ValueError, match=message):
        columns.features(source, plan(found, **options), tasks)


def test_a_column_that_does_not_fit_a_worker_is_refused(files, tasks, monkeypatch):
    source = open_source(files / "t.parquet")
    found, _ = columns.survey(source, ["label"], tasks)
    monkeypatch.setattr(tasks, "workers", lambda: {"a": {"memory_limit": 30_000}})
    with pytest.raises(ValueError, match=r"whole column of 700 rows on one worker.*--scale none"):
        columns.features(source, plan(found, drop=["gaps"]), tasks)


def test_parts_with_vectors_of_other_lengths_are_refused(tmp_path, tasks):
    for number, width in enumerate((2, 2, 3)):
        parquet.write_table(pa.table({"v": [[1.0] * width] * 4}), tmp_path / f"{number}.parquet")
    X = columns.transformed(open_source(tmp_path), Recipe({"v": "vector"}), tasks)
    with pytest.raises(ValueError, match="from 8 on have 3 features, the first ones 2"):
        X.compute()
