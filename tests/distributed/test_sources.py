"""Tables in parts: every row once, in order, and parts of a bounded size."""

from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from phaselabel.distributed import sources
from phaselabel.distributed.answer_files import write_part
from phaselabel.distributed.sources import open_source


def test_every_row_once_and_in_order(folder, monkeypatch):
    monkeypatch.setattr(sources, "PART_ROWS", 8)
    source = open_source(folder)
    assert source.names == ["x", "name"]
    assert [(part.first_row, part.n_rows, part.groups) for part in source.parts] == [
        (0, 8, (0, 1)), (8, 2, (2,)), (10, 8, (0, 1)), (18, 2, (2,)), (20, 8, (0, 1)), (28, 2, (2,)),
    ]  # fmt: skip
    assert source.column("x").to_pylist() == list(range(30))
    assert source.n_rows == 30


def test_parts_of_arrays_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PART_BYTES", 100)
    x = np.arange(60, dtype=np.float32).reshape(20, 3)
    np.save(tmp_path / "x.npy", x)
    source = open_source(tmp_path / "x.npy")
    assert [part.n_rows for part in source.parts] == [8, 8, 4]
    np.testing.assert_array_equal(source.X.compute(scheduler="synchronous"), x)
    np.testing.assert_array_equal(source.parts[1].array(), x[8:16])


def test_two_folders_with_files_of_the_same_name_have_different_tasks(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "0.npy", np.ones((3, 2)))
    one, two = (open_source(tmp_path / name).X for name in ("a", "b"))
    assert not set(map(str, one.__dask_graph__())) & set(map(str, two.__dask_graph__()))


def test_folders_that_are_columns(tmp_path):
    rows = pa.table({"x": np.arange(6.0), "year": [2024, 2023] * 3, "kind": ["a/b", "c", None] * 2})
    parquet.write_to_dataset(rows, tmp_path / "t", partition_cols=["year", "kind"])
    (tmp_path / "t" / "earlier").mkdir()
    parquet.write_table(rows, tmp_path / "t" / "earlier" / "other.parquet")
    source = open_source(tmp_path / "t")
    assert source.names == ["x", "year", "kind"]
    for number, part in enumerate(source.parts):
        answer = np.zeros(part.n_rows, object), np.ones(part.n_rows), np.ones(part.n_rows, bool)
        write_part(str(tmp_path), ".parquet", number, "k", pa.int64(), part, *answer)
    written = parquet.read_table(sorted(tmp_path.glob("*.parquet")))
    assert written.column_names == [*source.names, "k_predicted", "k_confidence", "k_reached"]
    for table in (pa.Table.from_batches(source.batches()), written.select(source.names)):
        assert table.sort_by("x").cast(rows.schema).equals(rows)
    assert sorted(source.column("year").to_pylist()) == sorted(rows.column("year").to_pylist())
    parquet.write_table(rows.select(["x"]), tmp_path / "t" / "year=2023" / "loose.parquet")
    with pytest.raises(ValueError, match=r"loose\.parquet is in no folder kind="):
        open_source(tmp_path / "t")


def test_parquet_and_zarr_of_a_web_server(folder):
    import dask.array as da

    pytest.importorskip("zarr", minversion="3")
    da.from_array(np.arange(12.0).reshape(6, 2), chunks=(4, 1)).to_zarr(str(folder / "z"), zarr_format=3)

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=str(folder.parent))

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}/t"
        assert open_source(place).column("x").to_pylist() == list(range(30))
        assert open_source(f"{place}/1.parquet").column("x").to_pylist() == list(range(10, 20))
        assert open_source(f"{place}/z").X.sum().compute(scheduler="synchronous") == 66
        with pytest.raises(FileNotFoundError, match="There is no http"):
            open_source(f"{place}/none.parquet")
        server.shutdown()


def test_what_is_no_source(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match="There is no"):
        open_source(tmp_path / "none")
    with pytest.raises(ValueError, match="--dask reads those"):
        open_source(tmp_path)
    np.save(tmp_path / "flat.npy", np.ones(4))
    with pytest.raises(ValueError, match="rows by features"):
        open_source(tmp_path / "flat.npy")
    (tmp_path / "short.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"short\.npy is damaged \(it is too short"):
        open_source(tmp_path / "short.npy")
    parquet.write_table(pa.table({"y": [1]}), folder / "9.parquet")
    with pytest.raises(ValueError, match=r"9\.parquet has no column 'x'"):
        open_source(folder)


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_of_a_group_as_anndata_writes_it(tmp_path, version):
    zarr = pytest.importorskip("zarr", minversion="3")
    group = zarr.open_group(tmp_path / "cells.zarr", mode="w", zarr_format=version)
    rows = np.arange(60.0, dtype=np.float32).reshape(20, 3)
    group.create_array("obsm/X_pca", shape=(20, 3), chunks=(8, 2), dtype="f4")[:] = rows
    group.create_array("obs/size", shape=(20,), dtype="f4")
    with pytest.raises(ValueError, match=r"cells\.zarr is a Zarr group; name an array in it: obsm/X_pca\."):
        open_source(tmp_path / "cells.zarr")
    source = open_source(tmp_path / "cells.zarr" / "obsm" / "X_pca")
    assert [part.n_rows for part in source.parts] == [8, 8, 4]
    np.testing.assert_array_equal(source.column("x").to_pylist(), rows)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"zarr_format": 3, "node_type": "array"}', '{"zarr_format": 9}']
)
def test_a_damaged_zarr_array_is_refused_in_a_sentence(tmp_path, content):
    pytest.importorskip("zarr")
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text(content)
    with pytest.raises(ValueError, match=r"a\.zarr is not a Zarr array, or it is damaged"):
        open_source(tmp_path / "a.zarr")
