"""A sound file in, a hostile one out; the same random numbers give the same file."""

import io
import json
import math
import random
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

#: Whole numbers at which arithmetic, sizes and signs change.
EDGES = (
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    63,
    64,
    100,
    127,
    128,
    255,
    256,
    1000,
    1023,
    1024,
    4095,
    4096,
    32767,
    32768,
    65535,
    65536,
    2**24,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    10**30,
)
#: Numbers at which floating point arithmetic changes.
REALS = (
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    1e-3,
    1e3,
    1e15,
    1e16,
    1e38,
    1e39,
    1e100,
    1e154,
    1e155,
    1e200,
    1e300,
    1.7e308,
    1e-38,
    1e-45,
    1e-154,
    1e-200,
    1e-300,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
)
#: Words that mean something to some reader.
WORDS = (
    "",
    " ",
    "a",
    "?",
    "NA",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "null",
    "None",
    "true",
    "-1",
    "0",
    "1",
    "1.5",
    "1,5",
    "0x10",
    "1e400",
    "1_000",
    "１２",
    "٣",
    "é",
    "\u0000",
    "\ufeff",
    "\u202e",
    "a\u0000",
    "\ud7ff",
    "\U0010ffff",
    '"',
    "'",
    "\\",
    "\n",
    "\r",
    "\t",
    ",",
    ";",
    "|",
    "../../etc/passwd",
    "/dev/zero",
    "file:///etc/passwd",
    "__class__",
    "a" * 300,
    "2020-01-01",
    "9999-12-31",
    "10000-01-01",
    "=1+1",
    "<script>",
    "%00",
    "{}",
    "[]",
)


def mutated(rng: random.Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """The bytes after one to five random changes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        rng.choice(_CHANGES)(rng, out)
    if others and rng.random() < 0.05:
        other = rng.choice(others)
        out[rng.randrange(len(out) + 1) :] = other[rng.randrange(len(other) + 1) :]
    return bytes(out[: 2**16])


def _flip(rng: random.Random, out: bytearray) -> None:
    if out:
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, out: bytearray) -> None:
    if out:
        out[rng.randrange(len(out))] = rng.choice(
            (0, 1, 9, 10, 13, 34, 44, 127, 128, 255, rng.randrange(256))
        )


def _number(rng: random.Random, out: bytearray) -> None:
    size, order = rng.choice((2, 4, 4, 8)), rng.choice("<>")
    if len(out) < size:
        return
    value = rng.choice(EDGES) * rng.choice((1, -1)) % 2 ** (8 * size)
    at = rng.randrange(len(out) - size + 1)
    out[at : at + size] = struct.pack(f"{order}{'_HIQ'[size.bit_length() - 1]}", value)


def _real(rng: random.Random, out: bytearray) -> None:
    if len(out) >= 8:
        at = rng.randrange(len(out) - 7)
        out[at : at + 8] = struct.pack(rng.choice("<>") + "d", rng.choice(REALS))


def _cut(rng: random.Random, out: bytearray) -> None:
    at = rng.randrange(len(out) + 1)
    del out[at : at + rng.choice((1, 2, 4, 8, 16, 100))]


def _truncate(rng: random.Random, out: bytearray) -> None:
    del out[rng.randrange(len(out) + 1) :]


def _repeat(rng: random.Random, out: bytearray) -> None:
    at = rng.randrange(len(out) + 1)
    piece = bytes(out[at : at + rng.choice((1, 2, 4, 16, 64, 256))])
    out[at:at] = piece * rng.choice((1, 1, 2, 10, 100))


def _swap(rng: random.Random, out: bytearray) -> None:
    a, b = sorted(rng.randrange(len(out) + 1) for _ in range(2))
    size = rng.choice((1, 4, 16))
    out[a : a + size], out[b : b + size] = out[b : b + size], out[a : a + size]


def _insert(rng: random.Random, out: bytearray) -> None:
    at = rng.randrange(len(out) + 1)
    deep = rng.choice((b"[", b"{", b"(", b'{"a":')) * rng.choice((10, 3000)) if rng.random() < 0.02 else b""
    out[at:at] = deep or rng.choice((rng.choice(WORDS).encode(), rng.randbytes(rng.choice((1, 4, 16)))))


_CHANGES = (_flip, _flip, _set, _set, _number, _number, _real, _cut, _truncate, _repeat, _swap, _insert)


# -- JSON


def mutated_json(rng: random.Random, document: Any, changes: int | None = None) -> Any:
    """A JSON document with some of its values replaced, removed, added or moved."""
    document = json.loads(json.dumps(document))
    for _ in range(changes or rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            return hostile_json(rng)
        holder, key = rng.choice(places)
        _change_entry(rng, holder, key, places)
    return document


def _places(node: Any) -> Any:
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        yield node, key
        yield from _places(value)


def _change_entry(rng: random.Random, holder: Any, key: Any, places: list[Any]) -> None:
    kind = rng.randrange(8)
    value = holder[key]
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(value)))
    elif kind == 2 and isinstance(holder, dict):
        holder[rng.choice(WORDS)] = holder.pop(key)
    elif kind == 3:
        other, place = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[place] if _has(other, place) else None))
    elif kind == 4 and isinstance(value, int | float):
        holder[key] = value + rng.choice((1, -1, 0.5)) if abs(value) < 1e300 else -value
    elif kind == 5 and isinstance(value, str):
        holder[key] = mutated(rng, value.encode()).decode("utf-8", "replace")
    else:
        holder[key] = hostile_json(rng)


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def hostile_json(rng: random.Random) -> Any:
    """A value that a reader may not expect."""
    kind = rng.randrange(9)
    if kind == 0:
        return rng.choice(EDGES) * rng.choice((1, -1))
    if kind == 1:
        return rng.choice(REALS)
    if kind <= 3:
        return rng.choice(WORDS)
    if kind == 4:
        return rng.choice((None, True, False))
    if kind == 5:
        return [hostile_json(rng) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {rng.choice(WORDS): hostile_json(rng) for _ in range(rng.randrange(3))}
    if kind == 7:
        deep: Any = []
        for _ in range(rng.choice((3, 50, 200))):
            deep = [deep]
        return deep
    return rng.random() * 10 ** rng.randrange(-5, 6)


def json_bytes(document: Any) -> bytes:
    """The document as text."""
    return json.dumps(document).encode()


# -- NPY and zip


def npy(rng: random.Random, values: bytes = b"") -> bytes:
    """An NPY file whose header is hostile, or fits its values only nearly."""
    kinds = (
        "<f8",
        "<f4",
        ">f8",
        "|u1",
        "<i8",
        "<u8",
        "|b1",
        "<U3",
        "|S2",
        "<c16",
        "|O",
        "<M8[D]",
        "<f2",
        "|V8",
        "",
    )
    shape: Any = tuple(rng.choice((0, 1, 2, 3, 4, 6, 12, *EDGES)) for _ in range(rng.randrange(4)))
    kind = rng.choice(kinds)
    if rng.random() < 0.5:
        shape = (rng.randrange(8), rng.randrange(5))
    fields = {"descr": kind, "fortran_order": rng.random() < 0.3, "shape": shape}
    if rng.random() < 0.1:
        fields[rng.choice(tuple(fields))] = rng.choice(
            (None, -1, (), "x", [1], ("a",), (-1, 2), [("a", "<f8")])
        )
    if rng.random() < 0.05:
        del fields[rng.choice(tuple(fields))]
    text = repr(fields)
    if rng.random() < 0.1:
        text = mutated(rng, text.encode()).decode("latin-1")
    head = text.encode("latin-1", "replace") + b" " * rng.randrange(20) + b"\n"
    version = rng.choice(((1, 0), (1, 0), (2, 0), (3, 0), (9, 9)))
    size = struct.pack("<H" if version == (1, 0) else "<I", len(head) % 65536)
    body = values or struct.pack("<12d", *(rng.choice(REALS) for _ in range(12)))
    return b"\x93NUMPY" + bytes(version) + size + head + body * rng.choice((1, 1, 1, 2, 0))


def zipped(rng: random.Random, members: dict[str, bytes]) -> bytes:
    """A zip of the members, sound or with a twist."""
    file = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if rng.random() < 0.2 else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", kind) as out:
        for name, data in members.items():
            out.writestr(name, data)
            if rng.random() < 0.02:
                import warnings

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    out.writestr(name, data)
    data = file.getvalue()
    return mutated(rng, data) if rng.random() < 0.3 else data


# -- PNG


def png_with_sums(data: bytes) -> bytes:
    """A PNG whose check sums are right again, so that changes inside its chunks are reached."""
    out, at = bytearray(data[:8]), 8
    while at + 12 <= len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        body = data[at + 4 : at + 8 + size]
        if at + 12 + size > len(data):
            break
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + size
    return bytes(out + data[at:])


# -- CSV


def csv_table(rng: random.Random, delimiter: str = ",") -> bytes:
    """A table of text that may have quotes, odd cells, odd line ends and lines of odd lengths."""
    width, height = rng.randrange(1, 6), rng.randrange(0, 12)
    end = rng.choice(("\n", "\n", "\n", "\r\n", "\r"))
    style = rng.choice(("numbers", "words", "mixed", "mixed"))
    names = [rng.choice(("a", "b", "c", "x", "label", *WORDS)) for _ in range(width)]
    if rng.random() < 0.7:
        names = [f"c{i}" for i in range(width)]
    lines = [delimiter.join(names)]
    for _ in range(height):
        cells = [
            _cell(rng, style, delimiter) for _ in range(width + (rng.random() < 0.02) - (rng.random() < 0.02))
        ]
        lines.append(delimiter.join(cells))
    text = end.join(lines) + (end if rng.random() < 0.8 else "")
    data = text.encode(rng.choice(("utf-8", "utf-8", "utf-8", "latin-1", "utf-16")), "replace")
    return mutated(rng, data) if rng.random() < 0.3 else data


def _cell(rng: random.Random, style: str, delimiter: str) -> str:
    if style == "numbers" and rng.random() < 0.97:
        return f"{rng.gauss(0, 10):.3f}"
    if style == "words" and rng.random() < 0.9:
        return rng.choice(("red", "green", "blue"))
    kind = rng.randrange(4)
    if kind == 0:
        return str(rng.choice(REALS))
    if kind == 1:
        return str(rng.choice(EDGES))
    cell = rng.choice(WORDS)
    if rng.random() < 0.8 and any(mark in cell for mark in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
