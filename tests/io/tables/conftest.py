import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaselabel.io.tables import open_table


@pytest.fixture
def mixed(tmp_path):
    """A table with a column of every kind."""
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
