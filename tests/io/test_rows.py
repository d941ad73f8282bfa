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
    with pytest.raises(ValueError, match=r"vectors .*of one length"):
        as_rows(pa.table({"v": [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]]}))
    with pytest.raises(ValueError, match="'v' must hold vectors"):
        as_rows(pa.table({"v": [[1.0], None]}))
