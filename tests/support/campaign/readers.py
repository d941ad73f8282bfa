"""Every reader of a file as a subject."""

import bz2
import csv
import gzip
import io
import lzma
import random
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache, partial
from itertools import dropwhile
from pathlib import Path
from typing import Any

import numpy as np

from campaign.mutations import (
    csv_table,
    hostile_json,
    json_bytes,
    mutated,
    mutated_json,
    npy,
    png_with_sums,
    zipped,
)
from campaign.subjects import Subject, put, require


def subjects() -> list[Subject]:
    """All of them."""
    pictures = ("PNG", "JPEG", "GIF", "BMP", "PPM", "WEBP", "JPEG2000")
    return [
        Subject("table csv", csv_table, partial(_table, "t.csv"), 6),
        Subject("table tsv", partial(csv_table, delimiter="\t"), partial(_table, "t.tsv"), 2),
        Subject("table jsonl", _json_lines, partial(_table, "t.jsonl"), 3),
        Subject("table parquet", _mutant(_parquets), partial(_table, "t.parquet"), 2),
        Subject("table arrow", _mutant(_arrows), partial(_table, "t.arrow"), 4),
        Subject("table npy", npy, partial(_table, "t.npy"), 4),
        Subject("table npz", _npz, partial(_table, "t.npz"), 2),
        *(
            Subject(f"table {kind.lower()}", partial(_packed, pack), partial(_table, f"t.csv.{kind}"), 1)
            for kind, pack in _PACKERS.items()
        ),
        Subject("table edges", _edges, _run_edges, 1),
        # HDF5's own library takes what a text says of its length, and minutes for it: in a child only.
        Subject("table h5ad", _cells, _run_cells, 0.5, (KeyError,), 5 * 2**20),
        Subject("table xlsx", _workbook, partial(_table, "t.xlsx"), 0.5),
        Subject("table sqlite", _mutant(_sqlites), partial(_table, "t.sqlite"), 2),
        Subject("table duckdb", _duckdb, partial(_table, "t.duckdb"), 0.3),
        *(
            Subject(
                f"picture {kind.lower()}",
                _mutant(partial(_pictures, kind)),
                partial(_image, f"p.{kind.lower()}"),
                2,
            )
            for kind in pictures
        ),
        Subject("image tiff", _mutant(_tiffs), partial(_image, "p.tif"), 1),
        Subject("image mat", _mutant(_mats), partial(_image, "p.mat"), 1),
        Subject("image npy", npy, partial(_image, "p.npy"), 4),
        Subject("image npz", _npz, partial(_image, "p.npz"), 2),
        Subject("image envi", _envi, _run_envi, 1),
        Subject("marks csv", _points, partial(_marks, "m.csv"), 6),
        Subject("marks json", _labelme, partial(_marks, "m.json"), 6),
        Subject("marks png", _mutant(partial(_pictures, "PNG")), partial(_marks, "m.png"), 3),
        Subject("marks npy", npy, partial(_marks, "m.npy"), 3),
        Subject("marks legend", _legend, _run_legend, 2),
        Subject("zarr", _zarr, _run_zarr, 0.3),
    ]


def _mutant(seeds: Callable[[], Sequence[bytes]]) -> Callable[[random.Random], bytes]:
    def make(rng: random.Random) -> bytes:
        data = mutated(rng, rng.choice(seeds()), seeds())
        return png_with_sums(data) if data[1:4] == b"PNG" and rng.random() < 0.7 else data

    return make


# -- tables


def _table(name: str, data: bytes, folder: Path) -> None:
    from phaselabel.io.tables import as_numbers, open_table, plan, survey, text_of

    path = put(folder, name, data)
    table = open_table(path)
    columns, n_rows = survey(table)
    require(set(columns) == set(table.names), "survey lost a column")
    if name.endswith(("csv", "tsv")):
        _same_as_csv(table, data, n_rows)
    for column in table.names[:3]:
        values = table.column(column)
        require(len(values) == n_rows or not n_rows, f"column {column!r} has {len(values)} of {n_rows} rows")
        require(len(text_of(values)) == len(values) or n_rows > 100, "a text for every cell")
        as_numbers(values.combine_chunks()) if columns[column].kind == "number" else None
    if n_rows < 2000 and n_rows * sum(column.width for column in columns.values()) < 10**6:
        matrix = plan(columns, impute="median").fit_transform(table)
        require(np.isfinite(matrix).all(), "features are not finite")
        require(len(matrix) == n_rows, f"{len(matrix)} rows of features instead of {n_rows}")


def _same_as_csv(table: Any, data: bytes, n_rows: int) -> None:
    """The cells are those that Python's own reader finds."""
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32",
             b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # fmt: skip
    text = data.decode(next((name for mark, name in marks.items() if data.startswith(mark)), "utf-8"))
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=table.delimiter))
    rows = list(dropwhile(lambda row: not row, rows))[1:]
    rows = [row or [""] for row in rows if row or len(table.names) == 1]
    require(len(rows) == n_rows, f"{n_rows} rows instead of {len(rows)}")
    for number, name in enumerate(table.names):
        cells = [cell.as_py() for cell in table.column(name)]
        require(cells == [row[number] for row in rows], f"column {name!r} has other cells")


@cache
def _arrow_tables() -> list[Any]:
    import pyarrow as pa

    mixed = pa.table(
        {
            "a": [1.5, None, 3.25, 4.0],
            "b": ["x", "y", None, "zz"],
            "c": pa.array([1, 2, 3, 4], pa.int16()),
            "d": pa.array([[1.0, 2.0]] * 4, pa.list_(pa.float32(), 2)),
            "e": pa.array(["u", "v", "u", "u"]).dictionary_encode(),
            "f": pa.array([0, 1, 2, 10**9], pa.timestamp("ms")),
            "g": [True, False, None, True],
            "h": [[1], [], [2, 3], None],
        }
    )
    plain = pa.table({"x": [0.5 * i for i in range(20)], "label": ["a", "b", None, None] * 5})
    return [mixed, plain]


@cache
def _arrows() -> list[bytes]:
    import pyarrow as pa

    out = []
    for table in _arrow_tables():
        for opener in (pa.ipc.new_file, pa.ipc.new_stream):
            for codec in (None, "lz4", "zstd"):
                sink = io.BytesIO()
                with opener(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
                    writer.write_table(table)
                out.append(sink.getvalue())
    return out


@cache
def _parquets() -> list[bytes]:
    from pyarrow import parquet

    out = []
    for table in _arrow_tables():
        for codec in ("none", "snappy", "zstd", "gzip"):
            sink = io.BytesIO()
            parquet.write_table(
                table, sink, compression=codec, row_group_size=9, use_dictionary=codec != "none"
            )
            out.append(sink.getvalue())
    return out


def _json_lines(rng: random.Random) -> bytes:
    rows: list[Any] = [
        {"a": 1.5 * i, "b": "xyz"[i % 3], "c": [1, 2], "d": None} for i in range(rng.randrange(1, 8))
    ]
    if rng.random() < 0.9:
        rows = mutated_json(rng, rows)
    lines = [json_bytes(row) for row in rows] if isinstance(rows, list) else [json_bytes(rows)]
    data = rng.choice((b"\n", b"\n", b"\r\n", b" ")).join(lines) + rng.choice((b"", b"\n", b"\n\n"))
    return mutated(rng, data) if rng.random() < 0.3 else data


def _npz(rng: random.Random) -> bytes:
    names = ("x", "y", "image", "cube", "data", "indices", "indptr", "shape", "../a", "")
    members = {f"{rng.choice(names)}.npy": npy(rng) for _ in range(rng.randrange(1, 4))}
    if rng.random() < 0.1:
        members[rng.choice(("note.txt", "x", ".npy", "a/b.npy"))] = b"hello"
    return zipped(rng, members)


def _zstd(data: bytes) -> bytes:
    import pyarrow as pa

    return bytes(pa.compress(data, "zstd", asbytes=True))


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "GZ": partial(gzip.compress, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": _zstd,
}


def _packed(pack: Callable[[bytes], bytes], rng: random.Random) -> bytes:
    data = pack(csv_table(rng))
    return mutated(rng, data) if rng.random() < 0.7 else data


def _edges(rng: random.Random) -> bytes:
    ends = [(rng.randrange(14), rng.randrange(14)) for _ in range(rng.randrange(30))]
    odd = rng.choice((0.0, 0.0, 0.1))
    rows = [[a, b, rng.choice((1, 0.5, 2))][: rng.choice((3, 3, 3, 2)) if odd else 3] for a, b in ends]
    cells = [[hostile_json(rng) if rng.random() < odd else cell for cell in row] for row in rows]
    lines = [",".join(str(cell) for cell in row) for row in [["a", "b", "w"], *cells]]
    data = "\n".join(lines).encode("utf-8", "replace")
    return mutated(rng, data) if rng.random() < 0.4 else data


def _run_edges(data: bytes, folder: Path) -> None:
    from phaselabel.cli.main import build_parser
    from phaselabel.cli.method import graph_of

    words = ["label", "t.csv", "--graph", str(put(folder, "edges.csv", data))]
    graph = graph_of(build_parser().parse_args(words), 14)
    require(graph.n_vertices == 14, "a vertex for every row")
    require(np.isfinite(graph.weights.data).all(), "weights are not finite")
    require(abs(graph.weights - graph.weights.T).max() == 0, "it is not symmetric")


def _cells(rng: random.Random) -> bytes:
    return mutated(rng, _cells_seed())


@cache
def _cells_seed() -> bytes:
    """A small file of cells; most of its bytes are HDF5's own."""
    import anndata
    import pandas as pd

    rng = np.random.default_rng(0)
    names = pd.Categorical([("B", "T")[i % 2] if i < 6 else None for i in range(20)])
    cells = anndata.AnnData(obs=pd.DataFrame({"kind": names}, index=[f"c{i}" for i in range(20)]))
    cells.obsm["X_pca"] = rng.normal(size=(20, 2)) + 6 * (np.arange(20) % 2)[:, None]
    with tempfile.TemporaryDirectory() as folder:
        cells.write_h5ad(Path(folder, "c.h5ad"))
        return Path(folder, "c.h5ad").read_bytes()


def _run_cells(data: bytes, folder: Path) -> None:
    from phaselabel.cli.cells import _read
    from phaselabel.estimators.annotate import annotate

    cells = _read(put(folder, "c.h5ad", data))
    annotate(cells, "kind", n_neighbors=3, evidence=None)
    found = cells.obs["kind_predicted"]
    require(len(found) == cells.n_obs, "a label for every cell")
    require(set(found.dropna()) <= set(cells.obs["kind"].dropna()), "a label that is none")


def _workbook(rng: random.Random) -> bytes:
    members = dict(_workbook_parts())
    for name in rng.sample(sorted(members), rng.choice((1, 1, 2))):
        members[name] = mutated(rng, members[name])
    return zipped(rng, members)


@cache
def _workbook_parts() -> dict[str, bytes]:
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (["a", "b", "label"], [1.5, "x", None], [None, "y", "cat"], [10**9, "x", True]):
        book.active.append(row)
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@cache
def _sqlites() -> list[bytes]:
    import sqlite3

    out = []
    for columns in ("a REAL, b TEXT, label TEXT", "a, b, label, d GENERATED ALWAYS AS (a || b)"):
        with closing(sqlite3.connect(":memory:")) as base:
            base.execute("PRAGMA page_size=512")
            base.execute(f"CREATE TABLE t ({columns})")
            rows = [(1.5, "x", None), (None, "y" * 300, "cat"), (3, b"z", "dog")]
            base.executemany("INSERT INTO t (a, b, label) VALUES (?, ?, ?)", rows)
            base.commit()
            out.append(base.serialize())
    return out


def _duckdb(rng: random.Random) -> bytes:
    """A damaged database; what has changed is within the blocks that are in use."""
    data = bytearray(_duckdb_seed())
    for _ in range(rng.choice((1, 2, 3, 8))):
        at = rng.choice((rng.randrange(4096 * 3), rng.randrange(len(data))))
        data[at] = rng.choice((0, 1, 127, 255, rng.randrange(256)))
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)


@cache
def _duckdb_seed() -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.duckdb")
        with duckdb.connect(str(path)) as base:
            base.execute(
                "CREATE TABLE t AS SELECT range AS a, 'x' || range AS b, range % 2 AS label FROM range(20)"
            )
        return path.read_bytes()


# -- images


@cache
def _pixels() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 255, shape, dtype=np.uint8) for shape in ((6, 7, 3), (5, 4), (3, 9, 4))]


@cache
def _pictures(kind: str) -> list[bytes]:
    from PIL import Image

    out = []
    for pixels in _pixels():
        picture = Image.fromarray(pixels)
        variants = [picture, picture.convert("RGB").quantize(8), picture.convert("L"), picture.convert("1")]
        for variant in variants:
            sink = io.BytesIO()
            try:
                variant.save(sink, kind)
            except (OSError, ValueError, KeyError):
                continue
            out.append(sink.getvalue())
    require(out, f"there is no seed for {kind}")
    return out


@cache
def _tiffs() -> list[bytes]:
    import tifffile

    out = []
    cubes = [*_pixels(), np.arange(48, dtype=np.uint16).reshape(3, 4, 4), np.ones((4, 5), np.float32)]
    for cube in cubes:
        for options in (
            {},
            {"compression": "zlib"},
            {"tile": (16, 16)},
            {"bigtiff": True},
            {"byteorder": ">"},
        ):
            sink = io.BytesIO()
            tifffile.imwrite(sink, cube, **options)
            out.append(sink.getvalue())
    return out


@cache
def _mats() -> list[bytes]:
    from scipy.io import savemat

    out = []
    contents = [{"cube": np.arange(24.0).reshape(2, 3, 4)}, {"a": _pixels()[1], "s": "text", "c": {"d": 1}}]
    for content in contents:
        for options in ({}, {"do_compression": True}, {"format": "4"}):
            sink = io.BytesIO()
            try:
                savemat(sink, content, **options)
            except (TypeError, ValueError):
                continue
            out.append(sink.getvalue())
    return out


def _image(name: str, data: bytes, folder: Path) -> None:
    from phaselabel import read_image

    pixels = read_image(put(folder, name, data))
    require(isinstance(pixels, np.ndarray), "an image is no array")


def _envi(rng: random.Random) -> bytes:
    head = (
        b"ENVI\ndescription = {a}\nsamples = 4\nlines = 3\nbands = 2\nheader offset = 0\n"
        b"file type = ENVI Standard\n"
        b"data type = 4\ninterleave = bsq\nbyte order = 0\nwavelength = {400, 500}\n"
    )
    lines = head.split(b"\n")
    if rng.random() < 0.6:
        at = rng.randrange(1, len(lines) - 1)
        name = lines[at].split(b"=")[0]
        value = rng.choice(
            (str(hostile_json(rng)), str(rng.choice((0, -1, 10**6, 2**31, 2**63))), "bip", "{", "12")
        )
        lines[at] = name + b"= " + value.encode("utf-8", "replace")[:200]
    return mutated(rng, b"\n".join(lines)) if rng.random() < 0.5 else b"\n".join(lines)


def _run_envi(data: bytes, folder: Path) -> None:
    from phaselabel import read_image

    put(folder, "cube.img", bytes(96))
    put(folder, "cube.hdr", data)
    require(isinstance(read_image(folder / "cube.hdr"), np.ndarray), "an image is no array")


# -- marks


def _marks(name: str, data: bytes, folder: Path) -> None:
    from phaselabel import read_marks

    marks = read_marks(put(folder, name, data), (6, 7))
    require(marks.labels.ndim == 2, "marks are no picture")
    require(set(np.unique(marks.labels)) - {-1, 0} <= set(marks.classes), "marks of a class without a name")
    if name in ("m.csv", "m.json"):
        require(marks.labels.shape == (6, 7), "marks of another size")


def _points(rng: random.Random) -> bytes:
    lines = ["x,y,label"]
    for _ in range(rng.randrange(5)):
        x, y = (rng.choice((rng.randrange(8), rng.random() * 8, hostile_json(rng))) for _ in range(2))
        lines.append(f"{x},{y},{rng.choice(('cow', 'sky', hostile_json(rng)))}")
    data = "\n".join(lines).encode("utf-8", "replace")
    return mutated(rng, data) if rng.random() < 0.5 else data


def _labelme(rng: random.Random) -> bytes:
    kinds = ("polygon", "rectangle", "circle", "line", "linestrip", "point", "points", "mask")
    shapes = [
        {
            "label": "cow",
            "points": [[1, 1], [5, 1.5], [3, 4]][: rng.randrange(4)],
            "shape_type": rng.choice(kinds),
        }
        for _ in range(rng.randrange(1, 4))
    ]
    document = {"shapes": shapes, "imageHeight": 6, "imageWidth": 7, "imagePath": "p.png", "version": "5.0"}
    data = json_bytes(mutated_json(rng, document) if rng.random() < 0.9 else hostile_json(rng))
    return mutated(rng, data) if rng.random() < 0.2 else data


def _legend(rng: random.Random) -> bytes:
    document = (
        mutated_json(rng, {"#ff0000": "cow", "#00ff00": "sky"}) if rng.random() < 0.8 else hostile_json(rng)
    )
    data = json_bytes(document)
    return mutated(rng, data) if rng.random() < 0.3 else data


def _run_legend(data: bytes, folder: Path) -> None:
    from phaselabel import read_marks

    painting = folder / "painting.png"
    if not painting.exists():
        from PIL import Image

        pixels = np.zeros((6, 7, 3), np.uint8)
        pixels[1, 1], pixels[4, 4] = (255, 0, 0), (0, 255, 0)
        Image.fromarray(pixels).save(painting)
    read_marks(painting, (6, 7), legend=put(folder, "legend.json", data))


# -- Zarr


def _zarr(rng: random.Random) -> bytes:
    three = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 2],
        "data_type": "float64",
        "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
        "fill_value": 0.0,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    data = json_bytes(mutated_json(rng, three))
    return mutated(rng, data) if rng.random() < 0.2 else data


def _run_zarr(data: bytes, folder: Path) -> None:
    from phaselabel.distributed.sources import open_source

    (folder / "a.zarr" / "c" / "0").mkdir(parents=True, exist_ok=True)
    put(folder / "a.zarr", "zarr.json", data)
    put(folder / "a.zarr" / "c" / "0", "0", np.arange(8.0).tobytes())
    source = open_source(folder / "a.zarr")
    if source.n_rows < 1000:
        for batch in source.batches():
            require(batch.num_rows <= source.n_rows, "a part has more rows than the whole")
