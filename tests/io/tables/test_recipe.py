"""How columns become features, and that a saved recipe does the same again."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaselabel.io.tables import Recipe, open_table, plan, survey, write_table
from tablefiles import rows_of


def test_scaling_and_roles(mixed):
    columns, _ = survey(mixed)
    recipe = plan(columns, text=["free"], date=["day"], scale="standard")
    X = recipe.fit_transform(mixed)
    assert list(recipe.roles) == ["n", "whole", "yes", "word", "free", "day", "v"]
    assert set(recipe.left_out) == {"row", "same", "gone"}
    assert np.abs(X[:, :3].mean(axis=0)).max() < 1e-6
    assert np.abs(X[:, :3].std(axis=0) - 1).max() < 1e-5
    assert np.allclose((X[:, 3:6] ** 2).sum(axis=1), 0.5)
    assert np.isfinite(X).all()
    assert (recipe.transform(mixed) == X).all()


def test_a_recipe_survives_storage(mixed, tmp_path):
    from phaselabel import GinzburgLandauClassifier
    from phaselabel.estimators.saving import load_with_extra, save

    recipe = plan(survey(mixed)[0], text=["free"], impute="median", scale="robust")
    X = recipe.fit_transform(mixed)
    model = GinzburgLandauClassifier(5).fit(X, [0, 1] + [-1] * 58)
    save(model, tmp_path / "m", extra={"recipe": vars(recipe)})
    again = Recipe.restored(load_with_extra(tmp_path / "m")[1]["recipe"])
    assert (again.transform(mixed) == X).all()
    with pytest.raises(ValueError, match="damaged"):
        Recipe.restored({"roles": {}})


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time64("us"), pa.duration("s")], ids=str)
def test_times_of_day_and_durations_are_categories(tmp_path, kind):
    pq.write_table(pa.table({"at": pa.array([28800, 34200] * 20, kind)}), tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    X = plan(survey(table)[0]).fit_transform(table)
    assert np.allclose(X.sum(axis=1), np.sqrt(0.5))
    assert (X[::2, 0] != X[1::2, 0]).all()


def test_a_stamp_finer_than_a_millisecond_is_a_date(tmp_path):
    stamps = pa.array([1, 86_400_000_001] * 20, pa.timestamp("us"))
    pq.write_table(pa.table({"at": stamps}), tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    recipe = plan(survey(table)[0], date=["at"], scale="none")
    assert recipe.fit_transform(table)[:2, 0].tolist() == [0, 1]


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


def test_many_batches_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("phaselabel.io.tables.columnar.ROWS_PER_BATCH", 7)
    x = np.random.default_rng(0).normal(size=(50, 3))
    np.save(tmp_path / "x.npy", x)
    table = open_table(tmp_path / "x.npy")
    assert (plan(survey(table)[0]).fit_transform(table) == x).all()
    write_table(table, {"i": pa.array(range(50))}, tmp_path / "o.csv")
    assert [row[0] for row in rows_of(tmp_path / "o.csv")[1:]] == [str(i) for i in range(50)]


def test_one_column_is_learned_as_with_all(mixed):
    columns, _ = survey(mixed)
    recipe = plan(columns, date=["day"], scale="robust", impute="median")
    recipe.fit_transform(mixed)
    alone = plan(columns, date=["day"], scale="robust", impute="median")
    for name in alone.roles:
        if alone.learns(name):
            alone.arrays |= alone.learn(mixed, name)
    assert {key: array.tolist() for key, array in alone.arrays.items()} == {
        key: array.tolist() for key, array in recipe.arrays.items()
    }
    assert not plan(columns, features=["word"]).learns("word")
    assert not plan(columns, features=["v"]).learns("v")
    assert plan(columns, features=["v"], scale="standard").learns("v")


def test_vectors_of_many_rows_are_centred_in_double_precision(tmp_path):
    x = np.full((3_000_000, 2), 0.1, np.float32)
    x[::2] += 1
    np.save(tmp_path / "x.npy", x)
    table = open_table(tmp_path / "x.npy")
    X = plan(survey(table)[0], scale="standard").fit_transform(table)
    assert abs(X.mean(dtype=np.float64)) < 1e-5  # a sum in single precision is off by 0.003


def test_missing_and_infinite_numbers_are_refused(tmp_path):
    x = np.ones((9, 2))
    for value, words in ((np.nan, "1 missing value; fill in what is missing"), (np.inf, "infinite value")):
        x[3, 1] = value
        np.save(tmp_path / "x.npy", x)
        table = open_table(tmp_path / "x.npy")
        with pytest.raises(ValueError, match=words):
            plan(survey(table)[0]).fit_transform(table)


def scaled(tmp_path, values, **options):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{value},{i * i}\n" for i, value in enumerate(values)))
    table = open_table(tmp_path / "t.csv")
    return plan(survey(table)[0], **options).fit_transform(table)[:, 0]


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_a_column_of_any_magnitude_is_scaled(tmp_path, scale):
    # Squares of 1e200 overflowed and made NaN; those of 1e-200 vanished, and the column with them.
    usual = scaled(tmp_path, [1.0, 2.0, 4.0, 9.0], scale=scale)
    for factor in (1e307, 1e200, 1e-200, 1e-300):
        np.testing.assert_allclose(
            scaled(tmp_path, [factor * x for x in (1.0, 2.0, 4.0, 9.0)], scale=scale), usual, rtol=1e-5
        )


def test_a_value_beyond_all_deviations_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'a' of t\.csv has a value more than 1e\+30 deviations"):
        scaled(tmp_path, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1e300], scale="robust")


def test_a_feature_without_any_value_is_refused(tmp_path):
    np.savez(tmp_path / "t.npz", v=np.array([[1, np.nan], [2, np.nan], [3, np.nan]]), n=[1.0, 4.0, 9.0])
    table = open_table(tmp_path / "t.npz")
    with pytest.raises(ValueError, match=r"'v' of t\.npz has no value to fill missing ones with"):
        plan(survey(table)[0], impute="median").fit_transform(table)
