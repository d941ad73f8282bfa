"""Bad files: one clear sentence, exit code 1, nothing written, nothing lost."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tablefiles import write_customers

GOOD = "x,y,k\n" + "".join(f"{i},{i % 7},{'ab'[i % 2] if i < 8 else ''}\n" for i in range(30))

BAD = {
    "wrong column": (GOOD, ["--label", "nope"], "no column 'nope'; it has 'x', 'y', 'k'"),
    "no label named": (GOOD, [], "Which column"),
    "ragged": (GOOD.replace("\n5,5,b\n", "\n5,b\n"), ["--label", "k"], "Line 7 of t.csv has 2 fields"),
    "ragged with quotes": ('"x",y,k\n1,2,a\n1,2,a,3\n', ["--label", "k"], "Line 3 of t.csv has 4 fields"),
    "open quote": (GOOD + '1,"2,\n3,4,\n', ["--label", "k"], "a quoted field must be closed"),
    "one class": (GOOD.replace("b\n", "\n"), ["--label", "k"], "one class only, 'a' (4 rows)"),
    "no labels": (GOOD.replace("b\n", "?\n").replace("a\n", "NA\n"), ["--label", "k"], "has no label"),
    "empty": ("", ["--label", "k"], "t.csv is empty"),
    "header only": ("x,y,k\n", ["--label", "k"], "0 rows below its header"),
    "no header": ("1,2,3\n4,5,6\n", ["--label", "k"], "--no-header"),
    "twice the same name": ("x,x,k\n1,2,a\n", ["--label", "k"], "more than one column 'x'"),
    "nothing to use": ("x,k\n1,a\n1,b\n1,\n", ["--label", "k"], "x (the same everywhere)"),
    "infinite": (GOOD.replace("\n9,", "\ninf,"), ["--label", "k"], "infinite"),
    "text as a feature": (
        "t,k\n" + "".join(f"w{i} v,{'ab'[i % 2]}\n" for i in range(40)),
        ["--label", "k", "--features", "t"],
        "pass --text t",
    ),
    "too many neighbours": (GOOD, ["--label", "k", "--neighbors", "99"], "--neighbors=99"),
    "a sheet of no workbook": (GOOD, ["--label", "k", "--sheet", "A"], "--sheet names a part of an Excel"),
    "nothing to join": (GOOD, ["--label", "k", "--id", "x"], "--id joins the labels of another file"),
    "dropped and used": (
        GOOD,
        ["--label", "k", "--date", "x", "--drop", "x"],
        "'x' is named by --drop and --date",
    ),
    "semicolons": (GOOD.replace(",", ";"), ["--label", "k"], "pass --delimiter ';'"),
    "decimal commas": (
        GOOD.replace(",", ";").replace("\n2", "\n2,5"),
        ["--label", "k", "--delimiter", ";", "--features", "x"],
        "--decimal ,",
    ),
    "old Mac": (GOOD.replace("\n", "\r"), ["--label", "k"], "carriage returns alone"),
    "half of a letter": (GOOD.encode("utf-16")[:-1], ["--label", "k"], "t.csv is not utf-16 text"),
    "unknown encoding": (GOOD, ["--label", "k", "--encoding", "klingon"], "no encoding 'klingon'"),
    "nearly the right column": (GOOD, ["--label", "K"], "did you mean 'k'?"),
    "an odd target": (GOOD, ["--label", "k", "--out", "o.xlsx"], "o.xlsx: workbooks and databases are read"),
    "a packed target": (GOOD, ["--label", "k", "--out", "o.csv.gz"], "the extension '.gz' is not one of"),
    "one array": (GOOD, ["--label", "k", "--out", "o.npy"], "write .npz, .csv or .parquet"),
    "not text": (b"x,y,k\n\xe4,1,a\n\xe5,2,b\n", ["--label", "k"], "--encoding"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_get_one_sentence(case, command, tmp_path):
    content, words, message = BAD[case]
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = command("label", path, *words, "--quiet")
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.startswith("phaselabel label: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.npy", "t.npz", "t.jsonl", "t.csv", "t.xlsx"])
def test_a_file_that_is_not_what_its_name_says(name, command, tmp_path):
    path = tmp_path / name
    if name == "t.csv":
        pq.write_table(pa.table({"x": [1, 2], "k": ["a", "b"]}), path)
    else:
        path.write_text(GOOD)
    done = command("label", path, "--label", "k")
    assert done.returncode == 1
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_encodings_and_other_separators(command, tmp_path):
    text = GOOD.replace(",a\n", ",Bär\n").replace(",", ";")
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    words = ("label", "t.csv", "--label", "k", "--delimiter", ";", "--encoding", "latin-1", "--features", "x")
    done = command(*words)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "t_labelled.csv").read_bytes().decode("latin-1").splitlines()
    assert lines[1].startswith("0;0;Bär;Bär;")


def test_debug_shows_the_traceback(run, tmp_path):
    done = run("label", "none.csv", "--label", "k", "--debug")
    assert "Traceback" in done.stderr
    done = run("label", "none.csv", "--label", "k")
    assert (
        done.stderr
        == "phaselabel label: There is no file none.csv; check the name and the folder you are in.\n"
    )


def test_without_pyarrow_it_says_what_to_install(tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from phaselabel.cli import main\n"
        "sys.exit(main(['label', 't.csv', '--label', 'k']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'phaselabel[files]'" in done.stderr


@pytest.mark.parametrize("option", ["--model", "--report", "--out"])
def test_force_never_removes_a_folder_or_a_device(option, command, tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    (tmp_path / "thesis" / "chapters.csv").mkdir(parents=True)
    (tmp_path / "thesis" / "chapters.csv" / "one.tex").write_text("three years")
    (tmp_path / "link.csv").symlink_to(tmp_path / "thesis" / "chapters.csv")
    for target in ("thesis/chapters.csv", "link.csv", "/dev/null"):
        words = [option, target] if option != "--out" or target != "/dev/null" else [option, "/dev/full"]
        done = command("label", "t.csv", "--label", "k", *words, "--force", "--quiet")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert any(
            word in done.stderr
            for word in ("did not write", "is a folder", "is a link", "device", "extension")
        )
    assert (tmp_path / "thesis" / "chapters.csv" / "one.tex").read_text() == "three years"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "t.csv", "thesis"]


def test_full_disk_leaves_nothing(command, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small disk can't be mounted here: {mounted.stderr.strip()}")
    try:
        path = tmp_path / "customers.csv"
        write_customers(path)
        done = command("label", path, "--label", "segment", "--out", disk / "o.csv")
        assert done.returncode == 1
        assert "no space left on the disk" in done.stderr
        assert "Traceback" not in done.stderr
        assert list(disk.iterdir()) == []
        done = command("label", path, "--label", "segment", "--out", "o.csv", "--model", disk / "model")
        assert done.returncode == 1
        assert "no space left on the disk" in done.stderr
        assert list(disk.iterdir()) == []
        assert (tmp_path / "o.csv").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("seed", range(4))
def test_an_interrupt_at_a_random_moment_leaves_all_or_nothing(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "customers.csv"
    write_customers(path, 3000)
    before = path.read_bytes()
    words = ["label", str(path), "--label", "segment", "--out", "o.csv", "--model", "model"]
    process = subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *words], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    process.stderr.readline()  # it has started
    time.sleep(rng.uniform(0, 4))
    process.send_signal(signal.SIGINT if seed % 2 == 0 else signal.SIGTERM)
    _, told = process.communicate(timeout=300)
    assert "Traceback" not in told
    assert path.read_bytes() == before
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    if process.returncode == 130:
        assert "interrupted" in told
    else:
        assert process.returncode in (0, -signal.SIGTERM, -signal.SIGINT)
    if (tmp_path / "o.csv").exists():
        assert (tmp_path / "o.csv").read_text(encoding="utf-8").count("letter ") == 3000
