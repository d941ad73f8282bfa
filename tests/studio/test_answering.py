"""The answering room: by key in a real browser, and its parts alone."""

import io
import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from PIL import Image

import phaselabel as pl
from driving import recorded, shoot
from phaselabel.studio.accuracy import estimate
from phaselabel.studio.answering import AnsweringRoom
from phaselabel.studio.items import read_items
from phaselabel.studio.labelling import Labelling
from phaselabel.studio.project import Project
from tablefiles import write_customers

NAMES = ",".join("0123456789")


def question(page, after=None):
    """Wait for the next question to be on the screen; its row."""
    page.wait_for_function(
        "before => { const d = document.querySelector('#room').dataset; "
        "return d.shown !== undefined && d.answered !== before && d.shown === d.question; }",
        arg=after,
    )
    return int(page.evaluate("document.querySelector('#room').dataset.shown"))


def answer(page, truth, times):
    """Answer by key, as a person who knows would."""
    for _ in range(times):
        row = question(page)
        before = page.evaluate("document.querySelector('#room').dataset.answered")
        page.keyboard.press(str((int(truth[row]) + 1) % 10))
        question(page, before)


def accuracy(page, truth):
    answer = page.request.get(page.url + "export/labels.csv")
    assert answer.ok, answer.text()
    found = pyarrow.csv.read_csv(io.BytesIO(answer.body()))
    return np.mean(found["label_predicted"].to_numpy() == truth), found


def test_forty_answers_by_key_label_the_digits(studio, digit_file, digits, page_of):
    truth = digits[1]
    opened = studio(digit_file, "--classes", NAMES)
    page = page_of(opened.address)
    answer(page, truth, 12)
    page.reload()
    answer(page, truth, 8)
    shoot(page, "answering")
    opened.kill()
    page.get_by_text("Waiting for the studio").wait_for()
    page.close()
    page_of.forgive()

    opened = studio(digit_file, "--classes", NAMES)
    page = page_of(opened.address)
    question(page)
    assert page.locator(".numbers strong").first.inner_text() == "20"
    answer(page, truth, 10)
    second = page_of.tab(page, opened.address)
    answer(second, truth, 5)
    second.close()
    page.wait_for_function("() => document.querySelector('.numbers strong').textContent === '35'")
    answer(page, truth, 5)
    right, table = accuracy(page, truth)
    assert right >= 0.93
    assert len(table) == 1797
    assert table["label_answered"].null_count == 1757
    page.wait_for_function("() => document.querySelector('#accuracy').textContent !== '–'")
    state = page.request.get(page.url + "ask/state").json()
    assert state["accuracy"]["low"] <= right <= state["accuracy"]["high"]
    assert sum(c["size"] for c in state["classes"]) == 1797

    page.keyboard.press("r")
    page.get_by_text("Most doubtful items").wait_for()
    shoot(page, "review")
    page.keyboard.press("g")
    page.locator("#confirm").wait_for()
    shoot(page, "grid")


def test_skip_undo_new_class_grid_and_map(studio, digit_file, digits, page_of):
    truth = digits[1]
    page = page_of(studio(digit_file).address)
    for _ in range(6):
        row = question(page)
        before = page.evaluate("document.querySelector('#room').dataset.answered")
        page.keyboard.press("n")
        page.keyboard.type(f"digit {truth[row]}")
        page.keyboard.press("Enter")
        question(page, before)
    state = page.request.get(page.url + "ask/state").json()
    assert state["answered"] == 6
    assert len(state["classes"]) == len({c["name"] for c in state["classes"]}) >= 2

    row = question(page)
    recorded(page, lambda: page.keyboard.press("s"))
    page.wait_for_function("r => document.querySelector('#room').dataset.shown !== r", arg=str(row))
    recorded(page, lambda: page.keyboard.press("z"))
    page.wait_for_function("r => document.querySelector('#room').dataset.shown === r", arg=str(row))
    assert page.request.get(page.url + "ask/state").json()["skipped"] == 0

    page.keyboard.press("g")
    page.locator(".tile").first.wait_for()
    count = page.locator(".tile").count()
    page.locator(".tile").nth(1).click()
    page.locator("#work").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "n => Number(document.querySelector('.numbers strong').textContent) === n", arg=6 + count - 1
    )
    page.keyboard.press("q")

    box = page.locator(".map canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.wait_for_timeout(500)
    page.mouse.move(middle[0] - 80, middle[1] - 80)
    page.mouse.down()
    for dx, dy in ((80, -80), (80, 80), (-80, 80), (-80, -80)):
        page.mouse.move(middle[0] + dx, middle[1] + dy, steps=5)
    page.mouse.up()
    page.get_by_text("in the lasso").wait_for()
    assert page.locator(".inspected .tile").count() > 5
    shoot(page, "lasso")
    page.locator(".map canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.get_by_text("near that place").wait_for()


def test_a_phone_sized_window(studio, digit_file, digits, page_of):
    page = page_of(
        studio(digit_file, "--classes", NAMES).address, 400, 800, has_touch=True, color_scheme="dark"
    )
    row = question(page)
    before = page.evaluate("document.querySelector('#room').dataset.answered")
    page.locator(f".answer[data-class='{digits[1][row] + 1}']").tap()
    question(page, before)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    shoot(page, "answering-phone")


# -- without a browser


def opened(items, tmp_path, classes=(), name="p"):
    room = AnsweringRoom(items, Project(tmp_path / f"{name}.studio", {}), classes=classes)
    room.prepare()
    return room


@pytest.fixture
def room(digit_file, tmp_path):
    return opened(read_items(digit_file), tmp_path, list("0123456789"))


def test_it_labels_as_the_classifier_would(digits, digits_graph):
    labels = np.full(len(digits[1]), -1, np.int32)
    rng = np.random.default_rng(1000)
    for k in range(10):
        labels[rng.choice(np.flatnonzero(digits[1] == k), 3, replace=False)] = k
    found = Labelling(digits_graph).solve(labels, 10).arm
    model = pl.GinzburgLandauClassifier(affinity="precomputed").fit(digits_graph.weights, labels)
    right = [np.mean(arm == digits[1]) for arm in (found, model.solution_.arm)]
    assert right[0] > right[1] - 0.02


def test_answers_one_by_one_equal_answers_replayed(room, digits, tmp_path, digit_file):
    for _ in range(12):
        row = room.state()["question"]["item"]["row"]
        room.do("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    before = room._then.now.solution.arm.copy()
    room.project.close()
    again = opened(read_items(digit_file), tmp_path, list("0123456789"))
    assert (again._then.now.solution.arm == before).all()
    assert again.answers.past == room.answers.past


def test_classes_keep_their_numbers_whatever_is_said_at_the_next_opening(room, tmp_path, digit_file):
    room.do("answer", {"rows": [0], "class": 3})
    room.project.close()
    again = opened(read_items(digit_file), tmp_path, ["other", "2"])
    assert again.answers.names[again.answers.known[0]] == "2"
    assert list(again.answers.names.values()) == [*"0123456789", "other"]


def test_exports_say_the_same(room, digits, tmp_path):
    for row in (0, 1, 2, 3, 10, 11):
        room.do("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    (tmp_path / "m.zip").write_bytes(room.export("model.zip"))
    model = pl.load(tmp_path / "m.zip")
    csv = pyarrow.csv.read_csv(io.BytesIO(room.export("labels.csv")))
    parquet = pyarrow.parquet.read_table(io.BytesIO(room.export("labels.parquet")))
    assert [str(v) for v in csv["label_predicted"].to_pylist()] == parquet["label_predicted"].to_pylist()
    assert csv["row"].to_pylist() == list(range(1797))
    share = np.mean(model.transduction_ == np.array(parquet["label_predicted"].to_pylist(), object))
    assert share > 0.9


def test_a_table_a_text_and_a_folder(tmp_path):
    write_customers(tmp_path / "c.csv")
    room = opened(read_items(tmp_path / "c.csv", label="segment"), tmp_path)
    state = room.state()
    assert state["answered"] > 0
    assert state["question"]["item"]["kind"] == "row"
    assert b"segment_predicted" in room.export("labels.csv").splitlines()[0]

    words = ["red apple pear plum", "bolt nut screw gear"]
    rng = np.random.default_rng(0)
    lines = ["body"] + [" ".join(rng.choice(words[i % 2].split(), 6)) for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    room = opened(read_items(tmp_path / "t.csv", text=["body"]), tmp_path, name="t")
    assert room.state()["question"]["item"]["kind"] == "text"
    room.do("answer", {"rows": [0], "name": "fruit"})
    room.do("answer", {"rows": [1], "name": "tools"})
    table = pyarrow.csv.read_csv(io.BytesIO(room.export("labels.csv")))
    assert table["label_predicted"].to_pylist() == ["fruit", "tools"] * 30

    (tmp_path / "pictures").mkdir()
    for i in range(24):
        shade = rng.integers(0, 60, (20, 20, 3)) + (150 if i % 2 else 0)
        Image.fromarray(shade.astype(np.uint8)).save(tmp_path / "pictures" / f"{i:02}.png")
    (tmp_path / "pictures" / "broken.png").write_bytes(b"no picture")
    items = read_items(tmp_path / "pictures")
    assert "1 files" in items.notes[0]
    room = opened(items, tmp_path, name="f")
    room.do("answer", {"rows": [0], "name": "dark"})
    room.do("answer", {"rows": [1], "name": "light"})
    table = pyarrow.csv.read_csv(io.BytesIO(room.export("labels.csv")))
    assert table["file"][0].as_py() == "00.png"
    assert table["label_predicted"].to_pylist() == ["dark", "light"] * 12


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("answer", {"rows": [99_999], "class": 1}),
        ("answer", {"rows": [-1], "class": 1}),
        ("answer", {"rows": [], "class": 1}),
        ("answer", {"rows": [True], "class": 1}),
        ("answer", {"rows": "0", "class": 1}),
        ("answer", {"rows": [0], "class": 99}),
        ("answer", {"rows": [0], "name": "a/b"}),
        ("answer", {"rows": [0]}),
        ("skip", {"rows": [1.5]}),
        ("known", {}),
    ],
)
def test_nonsense_is_refused_and_not_kept(room, kind, body):
    with pytest.raises(ValueError):
        room.do(kind, body)
    assert room.project.number == 0


def test_undo_takes_an_answer_back_and_everything_with_it(room):
    first = room.state()["question"]["item"]["row"]
    room.do("answer", {"rows": [first], "class": 1})
    assert room.state()["reached"] > 0
    room.do("undo", {})
    state = room.state()
    assert state["answered"] == state["reached"] == 0
    json.dumps(state)


def test_everything_answered_leaves_no_question(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]]))
    room = opened(read_items(tmp_path / "x.npy"), tmp_path)
    for row in range(4):
        room.do("answer", {"rows": [row], "name": "ab"[row // 2]})
    assert room.state()["question"] is None


def test_the_estimate_learns_from_wrong_guesses():
    share, backing, known = np.full(1000, 0.9), np.full(1000, 0.5), np.zeros(1000, bool)
    good, _ = estimate(share, backing, known, [(0.9, 0.5, True)] * 30, 10)
    bad, _ = estimate(share, backing, known, [(0.9, 0.5, k % 2 == 0) for k in range(30)], 10)
    none, _ = estimate(share, backing, known, [], 10)
    many, _ = estimate(share, backing, known, [(0.9, 0.5, True)] * 300, 10)
    assert good.mean > 0.9
    assert 0.35 < bad.mean < 0.75
    assert bad.low < 0.5 < bad.high
    assert many.high - many.low < 0.5 * (good.high - good.low) < 0.5 * (none.high - none.low)
    everything, confidence = estimate(share, backing, np.ones(1000, bool), [], 10)
    assert everything.mean == everything.low == everything.high == 1
    assert (confidence == 1).all()


def test_hard_questions_do_not_speak_for_easy_items():
    """Wrong guesses where little is known say less about items of which more is known."""
    share, known = np.full(1000, 0.9), np.zeros(1000, bool)
    past = [(0.9, 0.25, k % 2 == 0) for k in range(20)]
    hard, _ = estimate(share, np.full(1000, 0.25), known, past, 10)
    easy, _ = estimate(share, np.full(1000, 0.6), known, past, 10)
    assert 0.35 < hard.mean < 0.65
    assert easy.mean > hard.mean + 0.25


def test_a_suspect_is_on_the_review_list(room, digits):
    truth = digits[1]
    rows = [int(np.flatnonzero(truth == k)[j]) for k in range(10) for j in range(3)]
    for row in rows:
        room.do("answer", {"rows": [row], "class": int(truth[row]) + 1})
    wrong = int(np.flatnonzero(truth == 0)[20])
    room.do("answer", {"rows": [wrong], "class": 8})
    review = room._review()
    assert review["suspects"][0]["item"]["row"] == wrong
    assert review["suspects"][0]["rival"] == 1
    assert len(review["doubtful"]) == 24
