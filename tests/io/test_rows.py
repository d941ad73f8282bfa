import numpy as np
import pyarrow as pa
import pytest

import phaselabel as pl
from phaselabel.io.rows import as_rows

RNG = np.random.default_rng(0)
KIND = np.arange(60) % 2
X = (RNG.normal(size=(60, 3)) + 6 * KIND[:, None]).astype(np.float32)
Y = np.where(np.arange(60) < 6, KIND, -1)
TABLE = pa.table({"a": X[:, 0], "v": pa.FixedSizeListArray.from_arrays(pa.array(X[:, 1:].ravel()), 2)})


def test_arrow_tables_and_readers_are_rows():
    np.testing.assert_array_equal(as_rows(TABLE), X)
    np.testing.assert_array_equal(as_rows(TABLE.to_reader(max_chunksize=7)), X)
    assert as_rows(X) is X


def test_a_relation_of_duckdb_goes_straight_into_fit():
    duckdb = pytest.importorskip("duckdb")
    database = duckdb.connect()
    relation = database.from_arrow(TABLE).select("a, v")
    model = pl.GinzburgLandauClassifier().fit(relation, Y)
    assert model.transduction_.tolist() == KIND.tolist()
    assert model.predict(database.from_arrow(TABLE.slice(0, 4))).tolist() == KIND[:4].tolist()


def test_a_data_set_of_hugging_face_goes_straight_into_fit():
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict({"v": X.tolist(), "label": Y.tolist()})
    shuffled = whole.shuffle(seed=0)
    model = pl.GinzburgLandauClassifier().fit(shuffled.select_columns("v"), shuffled["label"])
    order = np.array(datasets.Dataset.from_dict({"row": range(60)}).shuffle(seed=0)["row"])
    assert model.transduction_.tolist() == KIND[order].tolist()


def test_columns_that_are_no_features_are_named():
    with pytest.raises(ValueError, match="'name' is of type string"):
        as_rows(pa.table({"name": ["a", "b"]}))
    with pytest.raises(ValueError, match="'v' must hold vectors of numbers; it is of type list"):
        as_rows(pa.table({"v": [["a"], ["b"]]}))


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_vectors_of_two_lengths_are_refused_however_late_they_come(kind):
    # The lengths add up to those of vectors of three numbers: features would move to other rows.
    lists = [[1.0, 2.0, 3.0]] * 1000 + [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]]
    with pytest.raises(ValueError, match=r"'v' must hold vectors of one length, 3; row 1,000, .* length 2\."):
        as_rows(pa.table({"v": pa.array(lists, kind(pa.float64()))}))


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float64(), 2)])
def test_a_missing_vector_is_named_and_a_missing_number_is_nan(kind):
    with pytest.raises(ValueError, match="row 1, counted from 0, has no vector"):
        as_rows(pa.table({"v": pa.array([[1.0, 2.0], None, [3.0, 4.0]], kind)}))
    found = as_rows(pa.table({"v": pa.array([[1.0, None], [3.0, 4.0]], kind)}))
    np.testing.assert_array_equal(found, [[1.0, np.nan], [3.0, 4.0]])
