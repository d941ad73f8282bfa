import numpy as np
import pytest

from phaselabel.cli import main
from phaselabel.embedding import models
from tablefiles import rows_of
from text_models import write_word_vectors

WORDS = {"cat": [1.0, 0.1], "dog": [1.0, 0.0], "ship": [0.0, 1.0], "boat": [0.1, 1.0]}


@pytest.fixture
def tickets(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    write_word_vectors(tmp_path / "model", WORDS)
    rng = np.random.default_rng(0)
    lines = ["body,topic"]
    for i in range(40):
        first = "cat dog".split() if i % 2 else "ship boat".split()
        # Labelled rows have other words than most of the others: only their meaning is shared.
        word = first[0] if i < 8 else first[1]
        lines.append(
            f"{' '.join([word] * int(rng.integers(1, 4)))} {i},{['sea', 'pet'][i % 2] if i < 8 else ''}"
        )
    (tmp_path / "tickets.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_texts_are_labelled_by_meaning_and_predicted_again(tickets, capsys):
    table, model = str(tickets / "tickets.csv"), str(tickets / "model")
    command = ["label", table, "--text", "body", "--label", "topic", "--embed", model]
    assert main([*command, "--out", str(tickets / "o.csv"), "--model", str(tickets / "m")]) == 0
    assert f"embedded by {model}" in capsys.readouterr().err
    _, *rows = rows_of(tickets / "o.csv")
    assert [row[2] for row in rows] == ["sea", "pet"] * 20
    assert main(["predict", str(tickets / "m"), table, "--out", str(tickets / "p.csv")]) == 0
    _, *rows = rows_of(tickets / "p.csv")
    assert [row[2] for row in rows] == ["sea", "pet"] * 20
    capsys.readouterr()
    write_word_vectors(tickets / "model", {word: [v[1], v[0]] for word, v in WORDS.items()})
    assert main(["predict", str(tickets / "m"), table, "--out", str(tickets / "q.csv")]) == 1
    assert "other weights" in capsys.readouterr().err


def test_a_saved_model_downloads_nothing(tickets, capsys, monkeypatch):
    table, model = str(tickets / "tickets.csv"), tickets / "model"
    monkeypatch.chdir(tickets)
    monkeypatch.setenv("PHASELABEL_CACHE", str(tickets / "cache"))
    monkeypatch.setattr(models, "urlopen", None)
    command = ["label", table, "--text", "body", "--label", "topic", "--embed", "model"]
    assert main([*command, "--out", "o.csv", "--model", "m"]) == 0
    model.rename(tickets / "elsewhere")
    assert main(["predict", "m", table, "--out", "p.csv"]) == 1
    assert "it is not downloaded because a file says so; add --embed model if you" in capsys.readouterr().err
    assert main(["predict", "m", table, "--out", "p.csv", "--embed", "elsewhere"]) == 0
    assert [row[2] for row in rows_of(tickets / "p.csv")[1:]] == ["sea", "pet"] * 20
    assert main(["label", table, "--text", "body", "--label", "topic", "--model", "n", "--force"]) == 0
    assert main(["predict", "n", table, "--out", "q.csv", "--embed", "elsewhere"]) == 1
    assert "has no embedded texts; leave it out" in capsys.readouterr().err


def test_embed_without_text_is_refused(tickets, capsys):
    assert (
        main(["label", str(tickets / "tickets.csv"), "--label", "topic", "--features", "body", "--embed"])
        == 1
    )
    capsys.readouterr()
    (tickets / "n.csv").write_text("a,b,topic\n" + "".join(f"{i},{i % 7},{'xy'[i % 2]}\n" for i in range(9)))
    assert main(["label", str(tickets / "n.csv"), "--label", "topic", "--embed", str(tickets / "model")]) == 1
    assert "name it with --text" in capsys.readouterr().err
