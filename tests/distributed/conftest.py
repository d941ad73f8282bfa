"""A graph with a few labels, the flow of one process on it, and a folder of Parquet files."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import phaselabel as pl
from clusters import blobs, local_flow


@pytest.fixture(scope="session")
def problem():
    X, y = blobs()
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    return graph, pl.datasets.sample_labels(y, 20, random_state=0), y


@pytest.fixture(scope="session")
def reference(problem):
    return local_flow(problem[0].weights, problem[1])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t").mkdir()
    for number in range(3):
        table = pa.table(
            {"x": np.arange(10 * number, 10 * number + 10), "name": [f"r{i}" for i in range(10)]}
        )
        parquet.write_table(table, tmp_path / "t" / f"{number}.parquet", row_group_size=4)
    return tmp_path / "t"
