"""Good files: what comes out, and that nothing that went in is lost."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import phaselabel as pl
from phaselabel.io.tables.text import quoted
from tablefiles import rows_of


def test_table_report_model_prediction_and_inspection(run, command, customers, tmp_path):
    path, truth = customers
    done = run("label", path, "--label", "segment", "--report", "r.html", "--model", "model")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    for line in (
        "numbers      2, scaled to mean 0, deviation 1: age, spent",
        "categories   one-hot: colour (3)",
        "left out     id: numbers the rows",
        "left out     since: a date",
        "left out     letter: free text",
    ):
        assert line in done.stderr
    before, after = rows_of(path), rows_of(tmp_path / "customers_labelled.csv")
    assert [row[:7] for row in after] == before
    assert after[0][7:] == ["segment_predicted", "segment_confidence", "segment_reached"]
    assert np.mean([row[7] == name for row, name in zip(after[1:], truth)]) > 0.97
    assert all(0 < float(row[8]) <= 1 and row[9] == "true" for row in after[1:])

    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for word in (
        "labels are expected to be right",
        "Where the answer comes from",
        "What is mistaken for what",
        "What to label next",
        "Labels that may be wrong",
        "What was done with each column",
        "Energy",
        "connected parts",
    ):
        assert word in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is loaded from elsewhere
    assert "Müller &amp; Söhne" in page

    text = path.read_text(encoding="utf-8")
    (tmp_path / "new.csv").write_text(text.replace("green", "violet"), encoding="utf-8")
    done = command("predict", "model", "new.csv")
    assert done.returncode == 0, done.stderr
    assert "words that the model has not seen: violet" in done.stderr
    again = rows_of(tmp_path / "new_predicted.csv")
    assert np.mean([row[7] == name for row, name in zip(again[1:], truth)]) > 0.95

    done = command("inspect", "customers_labelled.csv", "--model", "model", "--report", "r2.html", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == len(truth)
    assert found["held_out"]["accuracy"] > 0.9
    assert (tmp_path / "r2.html").exists()
    done = command("inspect", "customers_labelled.csv")
    assert "class        Müller & Söhne" in done.stderr


def test_text_of_a_csv_file_survives_byte_for_byte(command, tmp_path):
    # Mixed quoting, CRLF, a byte-order mark, numbers with trailing zeros, no newline at the end.
    records = [
        "\ufeffname,x,y,topic",
        '"Zoë ""Z""",1.500,007,"Ärger, ""laut"""',
        "plain,1.510,007.0,",
        '"line\nbreak",1.49,7,""',
        '5" pipe,9.000,1e1,"b\r\nc"',
        "x,9.1,10,?",
        "x,9.2,10,NA",
        "x,9.25,10.0, ",
    ]
    path = tmp_path / "t.csv"
    path.write_bytes("\r\n".join(records).encode())
    done = command(
        "label", path, "--label", "topic", "--out", "o.csv", "--neighbors", 2, "--features", "x", "y"
    )
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "o.csv")
    tails = [",".join([quoted(row[4], ","), *row[5:]]) for row in rows]
    expected = "\r\n".join(f"{record},{tail}" for record, tail in zip(records, tails, strict=True))
    assert (tmp_path / "o.csv").read_bytes() == expected.encode()
    assert [row[4] for row in rows[1:]] == ['Ärger, "laut"'] * 3 + ["b\r\nc"] * 4


def newsgroup(n, seed=0):
    rng = np.random.default_rng(seed)
    words = {
        "Weltraum – „orbit“": "launch orbit moon rocket shuttle satellite Umlaufbahn nasa crew".split(),
        'hockey "on ice"\n': "goal puck ice team season playoff Mannschaft skate coach".split(),
    }
    names = list(words)
    truth = [names[int(k)] for k in rng.integers(2, size=n)]
    bodies = [
        f'From: a@b.c (Jörg "J" Ö)\n\n> {" ".join(rng.choice(words[name], 12))}\n\t-- \x0b "sig", ßäö 🚀'
        for name in truth
    ]
    given = [name if i < 4 or rng.random() < 0.1 else None for i, name in enumerate(truth)]
    return bodies, truth, given


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "arrow"])
def test_newsgroup_text_survives_the_round_trip(command, tmp_path, kind):
    bodies, truth, given = newsgroup(200)
    table = pa.table({"body": bodies, "topic": given})
    path, out = tmp_path / f"posts.{kind}", tmp_path / f"posts_labelled.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    else:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()))
    done = command("label", path, "--text", "body", "--label", "topic")
    assert done.returncode == 0, done.stderr
    assert "text         words counted (TF-IDF), cosine: body" in done.stderr
    if kind == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines() if line]
    else:
        rows = (pq.read_table(out) if kind == "parquet" else pa.ipc.open_file(out).read_all()).to_pylist()
    assert [row["body"] for row in rows] == bodies
    assert [row["topic"] for row in rows] == given
    assert np.mean([row["topic_predicted"] == name for row, name in zip(rows, truth)]) > 0.95
    assert isinstance(rows[0]["topic_confidence"], float)
    assert rows[0]["topic_reached"] is True


def test_arrays_with_labels_from_another_file(command, tmp_path, digits):
    X, y = digits
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    rng = np.random.default_rng(0)
    (tmp_path / "y.csv").write_text(
        "label\n" + "\n".join(str(k) if rng.random() < 0.1 else "" for k in y) + "\n"
    )
    done = command("label", "x.npy", "--labels", "y.csv", "--out", "o.parquet", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts["features"] == {"x": "vector"}
    assert sum(facts["predicted"].values()) == len(y)
    table = pq.read_table(tmp_path / "o.parquet")
    assert table.column_names == ["label_predicted", "label_confidence", "label_reached"]
    assert np.mean(np.array(table["label_predicted"].to_pylist()) == y.astype(str)) > 0.9

    few = np.arange(0, len(y), 9)
    lines = [f"{row},{y[row]}" for row in few]
    (tmp_path / "few.csv").write_text("row,digit\n" + "\n".join(lines) + "\n")
    done = command("label", "x.npy", "--labels", "few.csv", "--out", "o.npz", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with np.load(tmp_path / "o.npz") as found:
        assert np.mean(found["label_predicted"] == y.astype(str)) > 0.9


def test_labels_by_row_number_are_checked(command, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(20, 3)))
    for lines, message in (
        ("0,a\n1,b\n0,b", "row 0 more than once"),
        ("zero,a\n1,b", "must hold whole numbers"),
        ("0,a\n20,b", "speaks of row 20; the table has rows 0 to 19"),
    ):
        (tmp_path / "few.csv").write_text(f"row,k\n{lines}\n")
        done = command("label", "x.npy", "--labels", "few.csv")
        assert done.returncode == 1
        assert message in done.stderr


def test_semicolons_and_decimal_commas(command, tmp_path):
    rows = [f"{k * 9 + i / 7:.2f};{'ab'[k] if i < 3 else ''}" for i in range(20) for k in (0, 1)]
    (tmp_path / "t.csv").write_text("x;k\n" + "\n".join(rows).replace(".", ",") + "\n")
    done = command("label", "t.csv", "--label", "k", "--delimiter", ";", "--decimal", ",", "--neighbors", 4)
    assert done.returncode == 0, done.stderr
    assert [row.split(";")[2] for row in (tmp_path / "t_labelled.csv").read_text().splitlines()[1:]] == [
        "a", "b",
    ] * 20  # fmt: skip


def test_archive_with_minus_one_for_unlabelled(command, tmp_path, digits):
    X, y = digits
    given = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    np.savez(tmp_path / "d.npz", x=X, y=given)
    done = command("label", "d.npz", "--label", "y", "--out", "o.csv")
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "o.csv")
    assert rows[0] == ["y", "y_predicted", "y_confidence", "y_reached"]
    assert np.mean([int(row[1]) == k for row, k in zip(rows[1:], y)]) > 0.9


def test_missing_numbers_are_refused_or_filled(command, customers, tmp_path):
    path, truth = customers
    rows = rows_of(path)
    rng = np.random.default_rng(0)
    text = path.read_text(encoding="utf-8")
    for row in rows[1:]:
        if rng.random() < 0.1:
            text = text.replace(f",{row[3]},{row[4]},", f",,{row[4]},")
    path.write_text(text, encoding="utf-8")
    refused = command("label", path, "--label", "segment")
    assert refused.returncode == 1
    assert "--impute median" in refused.stderr
    assert list(tmp_path.iterdir()) == [path]
    done = command("label", path, "--label", "segment", "--impute", "median", "--scale", "robust")
    assert done.returncode == 0, done.stderr
    assert "numbers filled with the median" in done.stderr
    after = rows_of(tmp_path / "customers_labelled.csv")
    assert np.mean([row[7] == name for row, name in zip(after[1:], truth)]) > 0.9


def test_existing_files_are_not_replaced(command, customers, tmp_path):
    path, _ = customers
    (tmp_path / "o.csv").write_text("precious")
    done = command("label", path, "--label", "segment", "--out", "o.csv")
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert (tmp_path / "o.csv").read_text() == "precious"
    assert command("label", path, "--label", "segment", "--out", "o.csv", "--force").returncode == 0
    assert (tmp_path / "o.csv").read_text() != "precious"
    again = command("label", "o.csv", "--label", "segment")
    assert again.returncode == 1
    assert "'segment_predicted' already" in again.stderr


def test_rows_that_no_label_reaches_are_empty(command, tmp_path):
    lines = [f"{x},{label}" for x, label in zip(range(5), ["a", "", "", "", "b"])]
    lines += [f"{1000 + x}," for x in range(5)]
    (tmp_path / "t.csv").write_text("x,k\n" + "\n".join(lines) + "\n")
    done = command("label", "t.csv", "--label", "k", "--evidence", "none", "--neighbors", 2)
    assert done.returncode == 0, done.stderr
    assert "note         5 of 10 rows have no label" in done.stderr
    assert "Traceback" not in done.stderr
    assert "warn" not in done.stderr.lower()
    rows = rows_of(tmp_path / "t_labelled.csv")
    assert [row[2:] for row in rows[-5:]] == [["", "0.0", "false"]] * 5


def test_probabilities_from_elsewhere_are_evidence(command, tmp_path):
    """Columns are found by the names of the classes; a row of empty cells has no opinion."""
    lines = [f"{x},{label}" for x, label in zip(range(5), ["a", "", "", "", "b"])]
    lines += [f"{1000 + x}," for x in range(5)]
    (tmp_path / "t.csv").write_text("x,k\n" + "\n".join(lines) + "\n")
    for kind, opinion in {"a": "0.01,0.99", "b": "0.99,0.01"}.items():
        (tmp_path / "p.csv").write_text("b,a\n" + ",\n" * 5 + f"{opinion}\n" * 5)
        done = command("label", "t.csv", "--label", "k", "--evidence", "p.csv", "--neighbors", 2, "--force")
        assert done.returncode == 0, done.stderr
        assert [row[2] for row in rows_of(tmp_path / "t_labelled.csv")[6:]] == [kind] * 5
    (tmp_path / "p.csv").write_text("b,c\n" + "0.5,0.5\n" * 10)
    done = command("label", "t.csv", "--label", "k", "--evidence", "p.csv", "--force")
    assert done.returncode == 1
    assert "must have a column for every class, 'a', 'b'; it has 'b', 'c'" in done.stderr


def test_the_figure_of_hidden_labels_is_printed_without_a_report(command, customers):
    path, _ = customers
    done = command("label", path, "--label", "segment", "--force")
    assert "hidden known labels found" in done.stderr
    assert "300 rows labelled; of the 227 without a given label 100% have a confidence of 0.9" in done.stderr
    again = command("label", path, "--label", "segment")
    assert again.stderr.endswith("or say that it may be replaced (--force).\n")


def test_every_remark_of_the_model_is_a_note_once(command, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{'ab'[i % 2] if i < 6 else ''}" for i, x in enumerate(rng.normal(0, 1, 60))]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *lines]), encoding="utf-8")
    done = command("label", "t.csv", "--label", "y", "--report", "r.html", "--model", "m", "--json")
    found, remarks = json.loads(done.stdout)["notes"], pl.load(tmp_path / "m").remarks_
    assert any(remark.startswith("Of a class's labels") for remark in remarks)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for remark in remarks:
        start = remark[:25]
        assert sum(note.count(start) for note in found) == 1
        assert page.count(start.replace("'", "&#39;")) == 1


def test_the_models_see_the_columns_that_are_named(command, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(k, rng.normal(4 * (k == "a")), rng.normal(), rng.choice(["x", "y", "z"])) for k in "ab" * 40]
    lines = [f"{k * (i < 20)},{p},{q},{w}" for i, (k, p, q, w) in enumerate(rows)]
    (tmp_path / "t.csv").write_text("k,p,q,w\n" + "\n".join(lines) + "\n")
    done = command("label", "t.csv", "--label", "k", "--model-columns", "q", "w", "--model", "m")
    assert done.returncode == 0, done.stderr
    assert pl.load(tmp_path / "m")._believed.scale.columns.tolist() == [1, 2, 3, 4]
    assert command("predict", "m", "t.csv", "--out", "p.csv").returncode == 0
    refused = command("label", "t.csv", "--label", "k", "--model-columns", "k", "--force")
    assert refused.returncode == 1
    assert "--model-columns names 'k', which is not used; name columns among 'p', 'q'" in refused.stderr
    refused = command(
        "label", "t.csv", "--label", "k", "--model-columns", "q", "--evidence", "none", "--force"
    )
    assert "it goes with --evidence auto only" in refused.stderr


def test_rows_that_look_like_no_label_have_a_column(command, tmp_path):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 60)
    rows = np.column_stack([rng.normal(np.array([0, 9, 30])[group]), rng.normal(size=180)])
    given = ["xy"[k] if k < 2 and i % 4 == 0 else "" for i, k in enumerate(group)]
    lines = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(rows, given)]
    (tmp_path / "t.csv").write_text("a,b,k\n" + "\n".join(lines) + "\n")
    done = command("label", "t.csv", "--label", "k", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    found = rows_of(tmp_path / "t_labelled.csv")
    assert found[0] == ["a", "b", "k", "k_predicted", "k_confidence", "k_reached", "k_novel"]
    novel = np.array([row[-1] for row in found[1:]])
    assert set(novel) == {"true", "false"}
    assert np.mean(novel[group == 2] == "true") > 0.9
    assert np.mean(novel[group < 2] == "true") < 0.05
    n_novel = int((novel == "true").sum())
    assert f"Some {n_novel} rows look like none of the labelled ones" in done.stderr
    assert f"not hold for {n_novel} rows that look like none" in (tmp_path / "r.html").read_text()
    assert max(float(row[4]) for row, far in zip(found[1:], novel) if far == "true") <= 0.5


@pytest.fixture
def rays(tmp_path):
    """A table of two kinds of rows that differ by direction and not by length, a tenth with a label."""
    rng = np.random.default_rng(0)
    kind = np.arange(200) % 2
    angle, length = np.deg2rad(rng.normal(30 + 30 * kind, 8)), rng.lognormal(0, 1.2, 200)
    rows = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    lines = [f"{a:.4f},{b:.4f},{'ab'[k] if i < 20 else ''}" for i, ((a, b), k) in enumerate(zip(rows, kind))]
    (tmp_path / "t.csv").write_text("p,q,kind\n" + "\n".join(lines) + "\n")
    pairs = [f"{i},{i + step}" for step in (2, 4) for i in range(200 - step)]  # both ends are of one kind
    (tmp_path / "edges.csv").write_text("one,other\n" + "\n".join(pairs) + "\n")
    return np.array(["a", "b"])[kind]


@pytest.mark.parametrize(
    ("words", "effect"),
    [
        (["--metric", "cosine", "--evidence", "none"], "more are right"),
        (["--graph", "edges.csv"], "more are right"),
        (["--class-sizes", "a=0.8,b=0.2"], "more are a"),
        (["--abstain-below", "0.9"], "unsure rows are empty"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_an_option_of_the_method_has_its_effect(command, tmp_path, rays, words, effect):
    start = ["label", "t.csv", "--label", "kind", "--scale", "none", "--json"]
    plain = command(*start, "--out", "plain.csv", *words[2:])
    done = command(*start, "--out", "o.csv", *words)
    assert done.returncode == plain.returncode == 0, done.stderr
    before, after = (np.array(rows_of(tmp_path / name)[1:])[:, 3:] for name in ("plain.csv", "o.csv"))
    right = [np.mean(found[:, 0] == rays) for found in (before, after)]
    if effect == "more are right":
        assert right[1] > max(right[0] + 0.04, 0.9)
    elif effect == "more are a":
        assert np.mean(before[:, 0] == "a") < 0.6
        assert 0.7 < np.mean(after[:, 0] == "a") < 0.9
    else:
        unsure = before[:, 1].astype(float) < 0.9
        assert 0 < unsure.sum() < 180
        assert (after[unsure][:, [0, 2]] == ["", "false"]).all()
        assert (after[~unsure] == before[~unsure]).all()
        facts = json.loads(done.stdout)
        assert facts["abstained"] == unsure.sum()
        assert sum(facts["predicted"].values()) == (~unsure).sum()
