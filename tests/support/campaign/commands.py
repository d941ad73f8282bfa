"""Whole commands as subjects: tables and words of a command line in, whole files or none out."""

import contextlib
import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

from campaign.mutations import EDGES, REALS, WORDS, csv_table, json_bytes, mutated, mutated_json
from campaign.subjects import Subject, require

#: Stands for the folder of the case at the beginning of a word.
HERE = "@/"
#: What was there before, and must be there afterwards.
KEPT = {
    "thesis.txt": b"three years",
    "theses/one.tex": b"\\begin",
    "result.html": b"<p>mine",
    "own/summary.csv": b"my,results\n1,2\n",
    "own/b.json": b"{}",
    "own/a/overlay.png": b"my drawing",
}


def subjects() -> list[Subject]:
    """All of them."""
    return [Subject("command", _command, _run, 3), Subject("command segment", _segment_command, _run, 3)]


def _command(rng: random.Random) -> bytes:
    """Commands and files as JSON; files are in Latin-1."""
    files = {"t.csv": _table(rng), "new.csv": _table(rng)}
    files |= {"labels.csv": _labels(rng), "edges.csv": _edges(rng), "odds.csv": _odds(rng)}
    commands = [_words(rng, name) for name in rng.choices(("label", "query", "inspect"), (6, 1, 2), k=1)]
    if "--model" in commands[0]:
        commands.append(["predict", f"{HERE}m", f"{HERE}{rng.choice(('new.csv', 't.csv'))}", *_output(rng)])
        commands.append(["inspect", f"{HERE}m"])
    document = {"commands": commands, "files": {n: data.decode("latin-1") for n, data in files.items()}}
    return json.dumps(document).encode()


def _table(rng: random.Random) -> bytes:
    """A table of numbers, words and labels with some odd cells, or a hostile one."""
    if rng.random() < 0.15:
        return csv_table(rng)
    n = rng.choice((2, 3, 5, 9, 14, 14, 14, 40))
    columns: dict[str, list[str]] = {"id": [str(row) for row in range(n)]}
    for name in ("x", "y"):
        columns[name] = [f"{rng.gauss(3 * (row % 2), 1):.3f}" for row in range(n)]
    columns["w"] = [rng.choice(("red", "green", "")) for _ in range(n)]
    columns["say"] = [" ".join(rng.choices(("cat", "dog", "the", "sea", "ship"), k=4)) for _ in range(n)]
    columns["day"] = [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(n)]
    unknown = rng.choice(("", "?", "-1", "NA", "none"))
    columns["k"] = [("a", "b")[row % 2] if rng.random() < 0.5 or row < 2 else unknown for row in range(n)]
    for name in list(columns):
        if rng.random() < 0.1:
            del columns[name]
        elif rng.random() < 0.2:
            for _ in range(rng.choice((1, 1, 2, n))):
                columns[name][rng.randrange(n)] = _cell(rng)
    lines = [list(columns), *map(list, zip(*columns.values()))]
    return "\n".join(",".join(line) for line in lines).encode("utf-8", "replace") + b"\n"


def _cell(rng: random.Random) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return str(rng.choice(REALS))
    if kind == 1:
        return str(rng.choice(EDGES))
    if kind == 2:
        return rng.choice(
            ("", "inf", "-inf", "nan", "1e400", "1,5", '"', "0x10", "1_000", "\x00", "\ufeff", "١٢")
        )
    return str(rng.choice(WORDS)).replace("\n", " ")


def _labels(rng: random.Random) -> bytes:
    name = rng.choice(("label", "k", "row", "id"))
    rows = [f"{rng.choice((row, row, _cell(rng)))},{rng.choice('ab')}" for row in range(rng.randrange(9))]
    return "\n".join([f"{rng.choice(('row', 'id', 'x'))},{name}", *rows, ""]).encode("utf-8", "replace")


def _edges(rng: random.Random) -> bytes:
    ends = [(rng.randrange(14), rng.randrange(14)) for _ in range(30)]
    rows = [f"{a},{b},{rng.choice((1, 1, 0.5, _cell(rng)))}" for a, b in ends]
    return "\n".join(["a,b,w", *rows, ""]).encode("utf-8", "replace")


def _odds(rng: random.Random) -> bytes:
    rows = [f"{rng.choice((0.5, 0.9, _cell(rng)))},{rng.choice((0.5, 0.1, 0))}" for _ in range(14)]
    return "\n".join(["a,b", *rows, ""]).encode("utf-8", "replace")


def _words(rng: random.Random, command: str) -> list[str]:
    """The words of a command: usual ones, and now and then one that nobody would write."""
    words = [command, f"{HERE}t.csv"]
    if rng.random() < 0.9:
        words += ["--label", "k" if rng.random() < 0.9 else _word(rng)]
    for option, usual in _OPTIONS.items():
        if rng.random() < 0.05:
            words.append(option)
            if usual:
                words.append(rng.choice(usual) if rng.random() < 0.8 else _word(rng))
    if command != "inspect":
        method = rng.random() < 0.97
        words += ["--evidence", "none"] if method and "--evidence" not in words else []
        for option, usual in _METHOD.items():
            if rng.random() < 0.08:
                words += [option, rng.choice(usual) if rng.random() < 0.8 else _word(rng)]
        words += _output(rng, command == "query")  # it would write into the folder at hand
    if command == "label":
        words += ["--report", f"{HERE}{rng.choice(_PLACES)}"] if rng.random() < 0.05 else []
        words += ["--model", f"{HERE}{rng.choice(('m', 'm.zip', *_PLACES))}"] if rng.random() < 0.2 else []
    return words


_OPTIONS: dict[str, tuple[str, ...]] = {
    "--features": ("x", "y", "w", "say", "day", "id"),
    "--drop": ("x", "y", "w", "k"),
    "--text": ("say", "w", "x"),
    "--date": ("day", "x"),
    "--scale": ("robust", "standard", "none"),
    "--impute": ("median", "mean"),
    "--unlabeled": ("?", "-1", "a", ""),
    "--missing-labels": ("a", "none,?"),
    "--clean-labels": (),
    "--labels": (f"{HERE}labels.csv", f"{HERE}t.csv", f"{HERE}none.csv"),
    "--id": ("id", "row", "x"),
    "--delimiter": (",", ";", "tab"),
    "--encoding": ("utf-8", "latin-1", "utf-16", "cp1252"),
    "--decimal": (".", ","),
    "--no-header": (),
    "--sheet": ("one",),
    "--json": (),
}
_METHOD: dict[str, tuple[str, ...]] = {
    "--neighbors": ("1", "2", "3", "13"),
    "--evidence": ("none", f"{HERE}odds.csv"),
    "--model-columns": ("x",),
    "--epsilon": ("0.1", "1", "1e-6", "1e6"),
    "--fidelity": ("1", "1e-3", "1e12"),
    "--max-iter": ("1", "5", "100"),
    "--metric": ("cosine", "manhattan", "haversine", "hamming", "correlation", "canberra"),
    "--class-sizes": ("a=0.5,b=0.5", "a=1", "a=3,b=9", "a=1e300,b=1e-300"),
    "--abstain-below": ("0", "0.5", "1"),
    "--graph": (f"{HERE}edges.csv", f"{HERE}t.csv"),
}
_PLACES = (
    "o.csv",
    "o.parquet",
    "t.csv",
    "thesis.txt",
    "theses",
    "result.html",
    "none/o.csv",
    "t.csv/o.csv",
    ".",
)


def _segment_command(rng: random.Random) -> bytes:
    """Two pictures, marks of every kind, and one or two commands on them."""
    files = {f"images/{name}.png": _picture(rng) for name in "ab"}
    files["marks/a.csv"] = _points(rng)
    files["marks.png"] = _picture(rng, painted=True)
    if rng.random() < 0.3:
        files["marks/b.png"] = files["marks.png"]
    shapes = [
        {"label": rng.choice("uv"), "shape_type": "linestrip", "points": [[1, 1], [9, 1]]},
        {"label": "v", "shape_type": "point", "points": [[12, 9]]},
    ]
    document = {"shapes": shapes, "imageWidth": 14, "imageHeight": 12}
    files["shapes.json"] = json_bytes(mutated_json(rng, document) if rng.random() < 0.3 else document)
    files["legend.json"] = json_bytes({"#ff0000": rng.choice(WORDS), "2": "sky"})
    commands = [_segment_words(rng, rng.choice(("one", "one", "--train", "--train")))]
    if "--save" in commands[0]:
        commands.append(_segment_words(rng, "--model"))
    text = {name: data.decode("latin-1") for name, data in files.items()}
    return json.dumps({"commands": commands, "files": text}).encode()


def _picture(rng: random.Random, painted: bool = False) -> bytes:
    """A picture of two halves, or the painted marks of one; now and then damaged or of another kind."""
    import numpy as np
    from PIL import Image

    sides = (14, 12) if rng.random() < 0.95 else (rng.choice((1, 5)), rng.choice((1, 12)))
    pixels = np.frombuffer(rng.randbytes(sides[0] * sides[1] * 3), np.uint8) % 60
    pixels = pixels.reshape(sides[1], sides[0], 3).copy()
    pixels[:, sides[0] // 2 :] += 150
    if painted:
        pixels[:] = 0
        pixels[1:3, :2], pixels[-3:, -2:] = (255, 0, 0), (0, 0, 255)
    out = io.BytesIO()
    Image.fromarray(pixels).convert(rng.choice(("RGB", "RGB", "RGB", "L", "RGBA"))).save(out, "PNG")
    return mutated(rng, out.getvalue()) if rng.random() < 0.1 else out.getvalue()


def _points(rng: random.Random) -> bytes:
    rows = [(1, 1, "u"), (12, 9, "v"), *((rng.randrange(14), rng.randrange(12), "u") for _ in range(2))]
    cells = [",".join(_cell(rng) if rng.random() < 0.03 else str(cell) for cell in row) for row in rows]
    return "\n".join(["x,y,label", *cells, ""]).encode("utf-8", "replace")


def _segment_words(rng: random.Random, kind: str) -> list[str]:
    """The words of a command on one image, on a folder with marks on some, or on a folder with a model."""
    marks = {"--scribbles": "marks.png", "--points": "marks/a.csv", "--shapes": "shapes.json"}
    if kind == "one":
        words = ["segment", f"{HERE}images/a.png"]
        for option in rng.sample(list(marks), rng.choice((1, 1, 1, 2, 0))):
            words += [option, f"{HERE}{marks[option]}"]
    else:
        source = rng.choice(("marks", "marks", "marks", "images")) if kind == "--train" else "m"
        words = [
            "segment",
            kind,
            f"{HERE}{source}",
            f"{HERE}{rng.choice(('images', 'images', 'images/b.png'))}",
        ]
        words += (
            ["--save", f"{HERE}{rng.choice(('m', 'm', 'm.zip', *_PICTURE_PLACES))}"]
            if rng.random() < 0.5
            else []
        )
        words += ["--everything"] if rng.random() < 0.3 else []
        words += ["--force"] if rng.random() < 0.3 else []
    words += ["--out", f"{HERE}{rng.choice(('o', 'o', 'o', *_PICTURE_PLACES))}"]
    for option, usual in _SEGMENT.items():
        if rng.random() < 0.1:
            words += [option, rng.choice(usual) if rng.random() < 0.8 else _word(rng)]
    return words


_SEGMENT: dict[str, tuple[str, ...]] = {
    "--legend": (f"{HERE}legend.json", f"{HERE}shapes.json"),
    "--pen": ("1", "3", "100"),
    "--patch": ("1", "3"),
    "--position": ("auto", "0", "1"),
    "--scale": ("auto", "image", "band"),
    "--neighbors": ("1", "5"),
    "--max-pixels": ("1", "9", "1000"),
    "--variable": ("volume", "frames", "bands", "0"),
}
_PICTURE_PLACES = (
    "own",
    "images",
    "marks",
    ".",
    "thesis.txt",
    "theses",
    "none/o",
    "images/b.png",
    "marks/a.csv",
)


def _output(rng: random.Random, always: bool = False) -> list[str]:
    places = ("o.csv", "o.tsv", "o.jsonl", "o.parquet", "o.arrow", "o.npz", "o.csv.gz", *_PLACES)
    words = ["--out", f"{HERE}{rng.choice(places)}"] if always or rng.random() < 0.5 else []
    return words + (["--force"] if rng.random() < 0.3 else [])


def _word(rng: random.Random) -> str:
    word = str(rng.choice((rng.choice(WORDS), rng.choice(EDGES), rng.choice(REALS), -rng.choice(EDGES))))
    return word.replace("\0", "").replace("/", "")  # neither can be, or may be, a word of a command here


def _run(data: bytes, folder: Path) -> None:
    try:
        document = json.loads(data)
        commands, files = document["commands"], document["files"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("This is no command.") from None
    home = folder / "command"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    inputs = {name: text.encode("latin-1") for name, text in files.items()} | KEPT
    for name, content in inputs.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    refused = ""
    for words in commands:
        refused = refused or _one(words, home, inputs)
    shutil.rmtree(home)
    if refused:
        raise ValueError(refused)


def _one(words: list[str], home: Path, inputs: dict[str, bytes]) -> str:
    """Run one command; the sentence with which it was refused, or nothing."""
    from phaselabel.cli import main

    there = _listed(home)
    words = [f"{home}/{word[len(HERE) :]}" if word.startswith(HERE) else word for word in words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: Any = main(words)
        except SystemExit as end:
            code = end.code
    said = err.getvalue()
    require(code in (0, 1, 2), f"exit code {code}")
    require("this is a fault in phaselabel" not in said, said[-300:])
    require("Traceback" not in said, said[-300:])
    new = _listed(home) - there
    require(not [name for name in new if ".part" in name], "a draft was left")
    for name, content in list(inputs.items()):
        # With --force a file of one's own is replaced, if it is none that the command reads.
        if "--force" in words and name in KEPT and f"{home}/{name}" in words:
            del inputs[name]
            continue
        path = home / name
        require(path.is_file() and path.read_bytes() == content, f"{name} is lost or changed")
    if code == 0:
        if "--json" in words:
            json.loads(out.getvalue(), parse_constant=_no_json)
        return ""
    require(said.strip() or "--help" in words, "refused without a word")
    # Of many images one that can't be read does not stop the others.
    require(
        not new or {"--train", "--model"} & {*words}, f"refused, and there is {sorted(new)}: {said[-200:]}"
    )
    return said.strip()[-300:]


def _no_json(word: str) -> None:
    require(False, f"{word} is no JSON")


def _listed(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*")}
