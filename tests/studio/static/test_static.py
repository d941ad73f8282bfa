"""axe-core finds nothing wrong in any view, light or dark, wide or narrow."""

import numpy as np
import pytest
from PIL import Image

from driving import SCALE, question, recorded, state_of
from tablefiles import write_customers

LOOKS = pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")]
)


def look(page_of, address, width, scheme):
    return page_of(address, width, 800, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")


def answer_some(page, truth, n):
    for row in range(n):
        body = {"kind": "answer", "body": {"rows": [row], "class": int(truth[row]) + 1}}
        assert page.request.post(page.url + "actions", data=body).ok
    page.wait_for_function("n => document.querySelector('.numbers strong').textContent === n", arg=str(n))


def lasso(page):
    canvas = page.locator(".map canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    for key in ("ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("near that place").wait_for()


@LOOKS
def test_answering(studio, digit_file, digits, page_of, check, width, scheme):
    page = look(page_of, studio(digit_file, "--classes", ",".join("0123456789")).address, width, scheme)
    question(page)
    check(page, "the first question")
    answer_some(page, digits[1], 25)
    page.wait_for_function("() => document.querySelector('.gauge')")
    check(page, "a question with a guess")
    page.wait_for_timeout(500)
    lasso(page)
    check(page, "a selection")
    page.keyboard.press("g")
    page.locator("#confirm").wait_for()
    page.locator(".tile").nth(1).click()
    check(page, "the grid with an odd one out")
    page.keyboard.press("r")
    page.get_by_text("Least certain items").wait_for()
    check(page, "the review")
    page.keyboard.press("l")
    page.locator(".list .entry").first.wait_for()
    check(page, "the list")
    page.locator(".sizes .label").first.click()
    check(page, "the dialog of a class")
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    question(page)
    page.keyboard.press("o")
    page.get_by_label("Note on this item").wait_for()
    check(page, "a note")
    page.keyboard.press("Escape")
    page.locator("#export").click()
    check(page, "the exports")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check(page, "the keys")
    page.locator("#keys").get_by_role("button", name="Close").click()
    question(page)  # a key before the next question is known answers nothing
    page.route("**/actions", lambda route: route.fulfill(status=507, json={"error": "the disk is full."}))
    page.keyboard.press("1")
    page.locator("#unsaved").wait_for()
    check(page, "an answer that is not saved")
    page_of.forgive("507")


def assert_what_is_confirmed_is_in_sight(page):
    hidden = """() => {
      const tiles = document.querySelector(".tiles"), bottom = tiles.getBoundingClientRect().bottom + 1;
      return [...tiles.children].filter(t => t.getBoundingClientRect().bottom > bottom).length;
    }"""
    n = page.locator(".tile:visible").count()
    assert n > 1
    assert page.evaluate(hidden) == 0
    assert page.locator(".grid .asks").inner_text().startswith(f"Are these {n} all ")
    before = state_of(page)["answered"]
    page.keyboard.press("Enter")
    page.wait_for_function(
        "n => document.querySelector('.numbers strong').textContent === n", arg=str(before + n)
    )


@LOOKS
def test_rows_and_texts(studio, tmp_path, page_of, check, width, scheme):
    write_customers(tmp_path / "c.csv")
    page = look(page_of, studio("c.csv", "--label", "segment").address, width, scheme)
    question(page)
    page.get_by_text("What is compared").click()
    check(page, "a row")
    page.keyboard.press("r")
    page.get_by_text("Least certain items").wait_for()
    check(page, "the review of rows")
    rng = np.random.default_rng(0)
    words = [["red", "apple", "pear", "plum"], ["bolt", "nut", "screw", "gear"]]
    long = {0: 600}  # words; a text that is scrolled
    texts = (" ".join(rng.choice(words[i % 2], long.get(i % 7, 12))) for i in range(60))
    lines = ["body,truth", *(f"{text},{i % 2}" for i, text in enumerate(texts))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    page = look(page_of, studio("t.csv", "--text", "body").address, width, scheme)
    question(page)
    page.request.post(page.url + "actions", data={"kind": "answer", "body": {"rows": [0], "name": "fruit"}})
    page.request.post(page.url + "actions", data={"kind": "answer", "body": {"rows": [1], "name": "tools"}})
    page.wait_for_function("() => document.querySelector('.numbers strong').textContent === '2'")
    check(page, "a text and a note")
    page.keyboard.press("g")
    page.locator("#confirm").wait_for()
    check(page, "a grid of texts")
    assert_what_is_confirmed_is_in_sight(page)


@LOOKS
def test_drawing(studio, flower, page_of, check, width, scheme):
    page = look(page_of, studio(flower).address, width, scheme)
    page.get_by_label("Name of a new class").wait_for()
    check(page, "no class yet")
    for name in ("flower", "leaves"):
        page.get_by_label("Name of a new class").fill(name)
        page.keyboard.press("Enter")
        page.get_by_label(f"Draw {name}", exact=True).wait_for()
    for number, points in ((1, [[300, 200], [330, 240]]), (2, [[40, 40], [90, 60]])):
        stroke = {"class": number, "size": 9, "points": [[x / SCALE, y / SCALE] for x, y in points]}
        recorded(
            page, lambda s=stroke: page.request.post(page.url + "actions", data={"kind": "stroke", "body": s})
        )
    page.wait_for_function("() => Number(document.querySelector('#workspace').dataset.segmented ?? -1) >= 4")
    assert len(state_of(page)["classes"]) == 2
    for view in ("overlay", "outline", "confidence", "picture"):
        page.locator(f"input[value={view}]").check(force=True)
        check(page, view)
    page.locator("#export").click()
    check(page, "the exports")


@LOOKS
def test_a_folder_of_pictures(studio, tmp_path, page_of, check, width, scheme):
    (tmp_path / "album").mkdir()
    for name, left in (("a.png", 5), ("b.png", 30)):
        pixels = np.random.default_rng(left).normal(60, 8, (40, 60, 3))
        pixels[10:30, left : left + 20] = 200
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / "album" / name)
    page = look(page_of, studio("album", "--mode", "drawing").address, width, scheme)
    draw_two_classes(page, [[12, 15], [16, 25]], [[45, 5], [55, 35]], image=0)
    check(page, "a picture of the folder")
    page.keyboard.press(".")
    page.wait_for_function("() => document.querySelector('#workspace').dataset.image === '1'")
    check(page, "another one, without strokes")
    page.locator("#export").click()
    check(page, "the exports of a folder")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check(page, "the keys")


@LOOKS
def test_a_cube(studio, tmp_path, page_of, check, width, scheme):
    cube = np.random.default_rng(0).normal(60, 4, (30, 40, 6)).astype(np.float32)
    cube[8:22, 8:22] = 200
    np.save(tmp_path / "cube.npy", cube)
    page = look(page_of, studio("cube.npy", "--mode", "drawing").address, width, scheme)
    draw_two_classes(page, [[12, 12], [16, 18]], [[30, 5], [35, 25]])
    check(page, "the bands of a cube")
    page.get_by_label("Main directions of all bands").check()
    check(page, "its main directions")


def draw_two_classes(page, *lines, **where):
    """Two classes with a stroke each, and their segmentation."""
    page.get_by_label("Name of a new class").wait_for()
    for number, points in enumerate(lines, start=1):
        actions = [
            ("class", {"name": f"class {number}"}),
            ("stroke", {"class": number, "size": 3, "points": points, **where}),
        ]
        for kind, body in actions:
            assert page.request.post(page.url + "actions", data={"kind": kind, "body": body}).ok
    page.wait_for_function("() => Number(document.querySelector('#workspace').dataset.segmented ?? -1) >= 4")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chosen_theme_goes_before_that_of_the_system(studio, flower, page_of, scheme):
    page = look(page_of, studio(flower).address, 1280, scheme)
    page.locator(".stage canvas").first.wait_for()
    light, dark = "rgb(245, 246, 248)", "rgb(18, 21, 28)"
    for colour in (light if scheme == "light" else dark, light, dark):  # auto, light, dark
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour
        page.locator("#theme").click()
