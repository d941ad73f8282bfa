"""Tables: what a column is taken for, how it becomes numbers, and that a recipe does the same again."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaselabel.tables import Recipe, open_table, plan, survey, write_table
from phaselabel.tables.text import quoted
from tablefiles import rows_of


@pytest.fixture
def table(tmp_path):
    rows = 60
    rng = np.random.default_rng(0)
    words = rng.choice(["kite", "über", "moon"], (rows, 2))
    columns = {
        "n": rng.normal(5, 2, rows),
        "whole": rng.integers(0, 9, rows),
        "yes": rng.random(rows) < 0.5,
        "word": rng.choice(["a", "b", "ü"], rows),
        "free": [f"text {i} {w} {v}" for i, (w, v) in enumerate(words)],
        "day": np.datetime64("2024-01-01") + np.arange(rows) * 3,
        "row": np.arange(rows),
        "same": np.ones(rows),
        "v": list(rng.normal(size=(rows, 4))),
        "gone": pa.nulls(rows, pa.float64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    return open_table(tmp_path / "t.parquet")


def test_kinds_of_columns(table):
    columns, n_rows = survey(table)
    assert n_rows == 60
    assert {name: column.kind for name, column in columns.items()} == {
        "n": "number", "whole": "number", "yes": "number", "word": "category", "free": "text",
        "day": "date", "row": "counter", "same": "constant", "v": "vector", "gone": "empty",
    }  # fmt: skip


def test_the_same_kinds_from_text(table, tmp_path):
    kept = ["n", "whole", "yes", "word", "free", "day", "row", "same"]
    frame = pa.Table.from_batches(table.batches(kept)).to_pandas()
    frame["yes"] = frame["yes"].astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found, _ = survey(open_table(tmp_path / "t.csv"))
    expected, _ = survey(table)
    assert {n: c.kind for n, c in found.items()} == {n: expected[n].kind for n in kept}


def test_scaling_and_roles(table):
    columns, _ = survey(table)
    recipe = plan(columns, text=["free"], date=["day"], scale="standard")
    X = recipe.fit_transform(table)
    assert list(recipe.roles) == ["n", "whole", "yes", "word", "free", "day", "v"]
    assert set(recipe.left_out) == {"row", "same", "gone"}
    assert np.abs(X[:, :3].mean(axis=0)).max() < 1e-6
    assert np.abs(X[:, :3].std(axis=0) - 1).max() < 1e-5
    assert np.allclose((X[:, 3:6] ** 2).sum(axis=1), 0.5)
    assert np.isfinite(X).all()
    assert (recipe.transform(table) == X).all()


def test_a_recipe_survives_storage(table, tmp_path):
    from phaselabel import GinzburgLandauClassifier
    from phaselabel.storage import load_extra, save

    recipe = plan(survey(table)[0], text=["free"], impute="median", scale="robust")
    X = recipe.fit_transform(table)
    model = GinzburgLandauClassifier(5).fit(X, [0, 1] + [-1] * 58)
    save(model, tmp_path / "m", extra={"recipe": vars(recipe)})
    again = Recipe.restored(load_extra(tmp_path / "m")["recipe"])
    assert (again.transform(table) == X).all()
    with pytest.raises(ValueError, match="damaged"):
        Recipe.restored({"roles": {}})


def test_robust_scale_ignores_an_outlier(tmp_path):
    x = np.random.default_rng(0).normal(size=2000)
    x[0] = 1e6
    pq.write_table(
        pa.table({"x": x, "zeros": np.where(np.arange(2000) < 50, 3.0, 0.0)}), tmp_path / "t.parquet"
    )
    table = open_table(tmp_path / "t.parquet")
    X = plan(survey(table)[0], scale="robust").fit_transform(table)
    assert abs(X[1:, 0].std() - 1) < 0.1
    assert abs(X[:, 1].std() - 1) < 1e-5  # quartiles that coincide leave the deviation
    assert plan(survey(table)[0], scale="standard").fit_transform(table)[1:, 0].std() < 0.01


@given(
    st.lists(
        st.tuples(st.text(max_size=12), st.text(alphabet=",;\"\n\r\tä 'x", max_size=6)),
        min_size=2,
        max_size=8,
    )
)
def test_fields_of_any_text_come_back(rows):
    import tempfile
    from pathlib import Path

    # pyarrow and csv read a bare carriage return as a line end; NUL and lone surrogates are no CSV text.
    rows = [[f"x{t}".replace("\0", "").encode("utf-8", "ignore").decode() for t in row] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "t.csv"), Path(folder, "o.csv")
        lines = [",".join(quoted(field, ",") for field in row) + "\n" for row in [["p", "q"], *rows]]
        source.write_bytes("".join(lines).encode())
        table = open_table(source)
        write_table(table, {"new": pa.array([row[1] for row in rows])}, out)
        assert [row[2] for row in rows_of(out)[1:]] == [row[1] for row in rows]
        assert [row[:2] for row in rows_of(out)[1:]] == rows
        assert [list(row.values()) for batch in table.batches() for row in batch.to_pylist()] == rows


@pytest.mark.parametrize("target", ["csv", "tsv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet"])
def test_every_format_becomes_every_other(source, target, tmp_path):
    pq.write_table(pa.table({"a": ["ä,1", "b\n2"], "b": ["x", "y"]}), tmp_path / "t.parquet")
    new = {"c": pa.array([0.5, None]), "d": pa.array([True, False])}
    first = tmp_path / f"s.{source}"
    write_table(open_table(tmp_path / "t.parquet"), {"z": pa.array(["p", "q"])}, first)
    write_table(open_table(first), new, tmp_path / f"o.{target}")
    found = [row for batch in open_table(tmp_path / f"o.{target}").batches() for row in batch.to_pylist()]
    assert [row["a"] for row in found] == ["ä,1", "b\n2"]
    assert [str(row["d"]).lower() for row in found] == ["true", "false"]
    assert list(found[0]) == ["a", "b", "z", "c", "d"]


def test_many_batches_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("phaselabel.tables.columnar.ROWS_PER_BATCH", 7)
    x = np.random.default_rng(0).normal(size=(50, 3))
    np.save(tmp_path / "x.npy", x)
    table = open_table(tmp_path / "x.npy")
    assert (plan(survey(table)[0]).fit_transform(table) == x).all()
    write_table(table, {"i": pa.array(range(50))}, tmp_path / "o.csv")
    assert [row[0] for row in rows_of(tmp_path / "o.csv")[1:]] == [str(i) for i in range(50)]
