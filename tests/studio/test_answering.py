"""The answering workspace without a browser."""

import io
import json
import os
import tempfile

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import phaselabel as pl
from driving import N_DIGITS
from phaselabel.studio import updater
from phaselabel.studio.accuracy import estimate
from phaselabel.studio.evidence import GivenProbabilities
from phaselabel.studio.items import read_items


def test_answers_one_by_one_equal_answers_replayed(digits_workspace, digits, answering, digit_file):
    for _ in range(12):
        row = digits_workspace.state()["question"]["item"]["row"]
        digits_workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    digits_workspace.settle()
    before = digits_workspace._updater.now.solution.arm.copy()
    digits_workspace.project.close()
    again = answering(read_items(digit_file), list("0123456789"))
    again.settle()
    assert (again._updater.now.solution.arm == before).all()
    assert again.answers.checked_guesses == digits_workspace.answers.checked_guesses


def test_classes_keep_their_numbers_whatever_is_said_at_the_next_opening(
    digits_workspace, answering, digit_file
):
    digits_workspace.act("answer", {"rows": [0], "class": 3})
    digits_workspace.project.close()
    again = answering(read_items(digit_file), ["other", "2"])
    assert again.answers.names[again.answers.known[0]] == "2"
    assert list(again.answers.names.values()) == [*"0123456789", "other"]


def test_exports_say_the_same(digits_workspace, digits, tmp_path):
    for row in (0, 1, 2, 3, 10, 11):
        digits_workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    (tmp_path / "m.zip").write_bytes(digits_workspace.export("model.zip"))
    model = pl.load(tmp_path / "m.zip")
    csv = pyarrow.csv.read_csv(io.BytesIO(digits_workspace.export("labels.csv")))
    parquet = pyarrow.parquet.read_table(io.BytesIO(digits_workspace.export("labels.parquet")))
    assert [str(v) for v in csv["label_predicted"].to_pylist()] == parquet["label_predicted"].to_pylist()
    assert csv["row"].to_pylist() == list(range(N_DIGITS))
    assert model.transduction_.tolist() == parquet["label_predicted"].to_pylist()


def test_fit_the_command_and_an_export_give_the_same_labels(command, tmp_path, digits, answering):
    X, truth = digits[0][:300], digits[1][:300]
    known = [*range(25), 101, 202]
    np.save(tmp_path / "rows.npy", X)
    lines = [f"{row},d{truth[row]}" for row in known]
    (tmp_path / "labels.csv").write_text("row,label\n" + "\n".join(lines) + "\n")
    y = np.array([f"d{truth[i]}" if i in known else None for i in range(300)], object)
    fitted = pl.GinzburgLandauClassifier(unlabeled=None).fit(X, y).transduction_.tolist()

    done = command("label", "rows.npy", "--labels", "labels.csv", "--out", "o.csv")
    assert done.returncode == 0, done.stderr
    by_command = pyarrow.csv.read_csv(tmp_path / "o.csv")["label_predicted"].to_pylist()
    assert by_command == fitted

    workspace = answering(read_items(tmp_path / "rows.npy"), [f"d{k}" for k in range(10)])
    for row in known:
        workspace.act("answer", {"rows": [row], "class": int(truth[row]) + 1})
    exported = pyarrow.parquet.read_table(io.BytesIO(workspace.export("labels.parquet")))
    assert exported["label_predicted"].to_pylist() == fitted
    # So are the labels that the page shows once answers have judged the evidence.
    workspace.settle()
    now = workspace._updater.now
    assert now.by_evidence.policy == "evidence"
    assert [workspace.answers.names[now.used[arm]] for arm in now.by_evidence.arm] == fitted
    assert now.solution is now.by_graph


def test_answers_judge_the_evidence(digits_workspace, digits):
    """The page shows the labels of the evidence when these guess at least as well as those of the graph."""
    for k in range(26):
        row = digits_workspace.state()["question"]["item"]["row"]
        digits_workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
        if k in (12, 18):
            digits_workspace.settle()
    answers, now = digits_workspace.answers, digits_workspace._updater.now
    assert len(answers.contest) >= 5
    assert now.by_evidence is not None
    assert now.solution is (now.by_evidence if answers.trust_evidence else now.by_graph)


@pytest.mark.parametrize("evidence", [None, "file"])
def test_other_evidence_is_that_of_fit(tmp_path, digits, answering, evidence):
    X, truth = digits[0][:120], digits[1][:120] % 3
    np.save(tmp_path / "rows.npy", X)
    if evidence == "file":
        shares = np.random.default_rng(0).dirichlet(np.ones(3), 120) + np.eye(3)[truth]
        lines = [",".join(map(str, row)) for row in (shares / shares.sum(1, keepdims=True)).round(6)]
        (tmp_path / "q.csv").write_text("a,b,c\n" + "\n".join(lines) + "\n")
        evidence = GivenProbabilities.read(tmp_path / "q.csv", 120, {})
    workspace = answering(read_items(tmp_path / "rows.npy"), "cab", evidence=evidence)
    known = [*range(12), 77]
    for row in known:
        workspace.act("answer", {"rows": [row], "name": "abc"[truth[row]]})
    workspace.settle()
    y = np.array(["abc"[truth[i]] if i in known else None for i in range(120)], object)
    given = evidence and evidence.of("abc")
    fitted = pl.GinzburgLandauClassifier(unlabeled=None, evidence=given).fit(X, y).transduction_.tolist()
    exported = pyarrow.parquet.read_table(io.BytesIO(workspace.export("labels.parquet")))
    assert exported["label_predicted"].to_pylist() == fitted
    now = workspace._updater.now
    if evidence is None:
        assert now.solution.policy == "quick"
        assert now.by_evidence is None
        return
    assert [workspace.answers.names[now.used[arm]] for arm in now.by_evidence.arm] == fitted
    workspace.act("answer", {"rows": [50], "name": "no column"})
    assert "no column 'no column'" in workspace.notes[-1]
    assert workspace.export("labels.csv")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("answer", {"rows": [99_999], "class": 1}),
        ("answer", {"rows": [-1], "class": 1}),
        ("answer", {"rows": [], "class": 1}),
        ("answer", {"rows": [True], "class": 1}),
        ("answer", {"rows": "0", "class": 1}),
        ("answer", {"rows": [0], "class": 99}),
        ("answer", {"rows": [0], "name": "a\x00b"}),
        ("answer", {"rows": [0]}),
        ("skip", {"rows": [1.5]}),
        ("known", {}),
    ],
)
def test_nonsense_is_refused_and_not_kept(digits_workspace, kind, body):
    with pytest.raises(ValueError):
        digits_workspace.act(kind, body)
    assert digits_workspace.project.version == 0


def test_undo_takes_an_answer_back_and_everything_with_it(digits_workspace):
    first = digits_workspace.state()["question"]["item"]["row"]
    digits_workspace.act("answer", {"rows": [first], "class": 1})
    assert digits_workspace.state()["labelled"] > 0
    digits_workspace.act("undo", {})
    state = digits_workspace.state()
    assert state["answered"] == state["labelled"] == 0
    json.dumps(state)


def test_everything_answered_leaves_no_question(tmp_path, answering):
    np.save(tmp_path / "x.npy", np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]]))
    workspace = answering(read_items(tmp_path / "x.npy"))
    for row in range(4):
        workspace.act("answer", {"rows": [row], "name": "ab"[row // 2]})
    assert workspace.state()["question"] is None


def test_a_suspect_is_on_the_review_list(digits_workspace, digits):
    truth = digits[1]
    rows = [int(np.flatnonzero(truth == k)[j]) for k in range(10) for j in range(3)]
    for row in rows:
        digits_workspace.act("answer", {"rows": [row], "class": int(truth[row]) + 1})
    wrong = int(np.flatnonzero(truth == 0)[20])
    digits_workspace.act("answer", {"rows": [wrong], "class": 8})
    review = digits_workspace._review()
    assert review["suspects"][0]["item"]["row"] == wrong
    assert review["suspects"][0]["rival"] == 1
    assert len(review["doubtful"]) == 24


def test_remarks_and_annotators_are_exported(tmp_path, answering):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 3)))
    workspace = answering(read_items(tmp_path / "x.npy"), ["a", "b"], annotator="Ada  L.")
    plain = pyarrow.parquet.read_table
    workspace.act("answer", {"rows": [0], "class": 1})
    workspace.act("answer", {"rows": [1], "class": 2})
    table = plain(io.BytesIO(workspace.export("labels.parquet")))
    assert "label_flag" not in table.column_names
    workspace.act("skip", {"rows": [2]})
    workspace.act("flag", {"rows": [0], "flag": "unsure"})
    workspace.act("flag", {"rows": [3], "flag": "rejected"})
    workspace.act("note", {"rows": [4], "note": "blurred"})
    table = plain(io.BytesIO(workspace.export("labels.parquet")))
    assert table["label_flag"].to_pylist()[:5] == ["unsure", None, "skipped", "rejected", None]
    assert table["label_note"].to_pylist()[4] == "blurred"
    assert table["label_annotator"].to_pylist()[:3] == ["Ada L.", "Ada L.", None]
    assert table["label_answered_at"].to_pylist()[0].endswith("Z")
    # A rejected item is never a question, a skipped one only at the end.
    asked = []
    while (question := workspace.state()["question"]) is not None:
        asked.append(question["item"]["row"])
        workspace.act("answer", {"rows": [asked[-1]], "class": 1})
    assert len(asked) == 27
    assert 3 not in asked
    assert 2 not in asked[:-1]


def test_the_list_is_filtered_searched_and_sorted(digits_workspace, digits):
    for row in range(30):
        digits_workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    digits_workspace.settle()
    digits_workspace.act("skip", {"rows": [40]})
    digits_workspace.settle()
    listed = digits_workspace.queries["list"]
    assert listed()["total"] == N_DIGITS
    assert len(listed()["items"]) == 48
    rows = [q["item"]["row"] for q in listed(start="48")["items"]]
    assert rows == list(range(48, 96))
    assert listed(show="answered")["total"] == 30
    assert [q["item"]["row"] for q in listed(show="skipped")["items"]] == [40]
    threes = listed(show="answered", of_class="4")["items"]
    assert [q["item"]["row"] for q in threes] == [r for r in range(30) if digits[1][r] == 3]
    assert listed(search="ITEM 49")["total"] == 1 + 10  # 49 and 490 to 499
    doubtful = [q["confidence"] for q in listed(show="open", sort="doubt")["items"]]
    assert doubtful == sorted(doubtful)
    assert doubtful[0] < listed(show="open", sort="sure")["items"][0]["confidence"]
    with pytest.raises(ValueError, match="no such list"):
        listed(sort="__class__")


def test_two_people_get_different_questions_and_their_agreement_is_exported(answering, digit_file):
    workspace = answering(read_items(digit_file), list("0123456789"), evidence=None, n_people=2)

    def row(person):
        return workspace.state(person=person)["question"]["item"]["row"]

    first, second = row("Ada"), row("Ben")
    assert first != second
    assert (row("Ada"), row("Ben")) == (first, second)  # looking again changes nothing
    workspace.settle()  # a spare question is chosen in the background
    state = workspace.act("answer", {"rows": [first], "class": 1}, person="Ada")
    assert state["question"]["item"]["row"] not in (first, second)
    assert row("Ben") == second
    workspace.act("answer", {"rows": [first, second], "class": 2}, person="Ben")
    workspace.act("answer", {"rows": [second], "class": 2}, person="Ada")
    table = pyarrow.csv.read_csv(io.BytesIO(workspace.export("labels.csv"))).to_pylist()
    assert [table[r]["label_agreement"] for r in (first, second)] == [0.5, 1.0]
    assert [str(table[first][f"label_answered_by_{name}"]) for name in ("Ada", "Ben")] == ["0", "1"]
    assert table[second]["label_annotator"] == "Ada"
    workspace.act("merge", {"class": 1, "into": 2})
    assert workspace.answers.opinions()["agreement"][first] == "1.00"


def test_an_export_writes_the_one_file_that_is_asked_for(digits_workspace, digits, monkeypatch):
    for row in range(4):
        digits_workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    written = []

    class Watched(tempfile.TemporaryDirectory):
        def cleanup(self):
            written.extend(sorted(os.listdir(self.name)))
            super().cleanup()

        def __exit__(self, *error):
            self.cleanup()

    monkeypatch.setattr("phaselabel.studio.answering.tempfile.TemporaryDirectory", Watched)
    for name in ("labels.csv", "labels.parquet", "model.zip"):
        written.clear()
        assert digits_workspace.export(name)
        assert written == [name]


def test_beliefs_of_few_of_the_answers_are_left_out_of_the_estimate(digits_workspace, digits, monkeypatch):
    """Labels have changed since; where experts need long, their old beliefs once said 79 % of 96 %."""
    beliefs = []

    def watched(*arguments):
        beliefs.append(arguments[5] is not None)
        return estimate(*arguments)

    monkeypatch.setattr(updater, "estimate", watched)

    def answer(rows):
        for row in rows:
            digits_workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})

    answer(range(20))
    digits_workspace.settle()
    assert beliefs[-1]
    background = digits_workspace._updater
    for until, used in ((30, True), (31, False)):
        answer(range(len(background._answers.known), until))
        background.assess()
        assert beliefs[-1] is used
    digits_workspace.settle()
    assert beliefs[-1]
