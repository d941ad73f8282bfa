"""axe-core finds nothing wrong in any view, light or dark, wide or narrow."""

import numpy as np
import pytest
from PIL import Image

from driving import FIRST_FRAME, SCALE, press_until_heard, question, recorded, state_of
from tablefiles import write_customers

#: Width of the window and colours of the page, in an order that changes one of them at a time.
LOOKS = [(1280, "light"), (1280, "dark"), (400, "dark"), (400, "light")]


@pytest.fixture
def check_looks(check):
    """Check a view in every look; the page keeps the first of them."""

    def run(page, view):
        for width, scheme in [*LOOKS[1:], LOOKS[0]]:
            look(page, width, scheme)
            check(page, f"{view}, {width} px, {scheme}")

    return run


def look(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(FIRST_FRAME)


def opened(page_of, address):
    return page_of(address, color_scheme="light", bypass_csp=True, reduced_motion="reduce")


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


def test_answering(studio, digit_file, digits, page_of, check_looks):
    page = opened(page_of, studio(digit_file, "--classes", ",".join("0123456789")).address)
    question(page)
    check_looks(page, "the first question")
    answer_some(page, digits[1], 25)
    page.wait_for_function("() => document.querySelector('.gauge')")
    check_looks(page, "a question with a guess")
    page.wait_for_timeout(500)
    lasso(page)
    check_looks(page, "a selection")
    page.keyboard.press("g")
    page.locator("#confirm").wait_for()
    page.locator(".tile").nth(1).click()
    check_looks(page, "the grid with an odd one out")
    page.keyboard.press("r")
    page.get_by_text("Least certain items").wait_for()
    check_looks(page, "the review")
    page.keyboard.press("l")
    page.locator(".list .entry").first.wait_for()
    check_looks(page, "the list")
    page.locator(".sizes .label").first.click()
    check_looks(page, "the dialog of a class")
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    question(page)
    page.keyboard.press("o")
    page.get_by_label("Note on this item").wait_for()
    check_looks(page, "a note")
    page.keyboard.press("Escape")
    page.locator("#export").click()
    check_looks(page, "the exports")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check_looks(page, "the keys")
    page.locator("#keys").get_by_role("button", name="Close").click()
    page.route("**/actions", lambda route: route.fulfill(status=507, json={"error": "the disk is full."}))
    press_until_heard(page, "1")
    page.locator("#unsaved").wait_for()
    check_looks(page, "an answer that is not saved")
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
    page.evaluate("document.querySelector('.tiles').id = 'confirmed'")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "n => document.querySelector('.numbers strong').textContent === n", arg=str(before + n)
    )
    page.locator(".tiles:not(#confirmed)").wait_for()


def test_rows_and_texts(studio, tmp_path, page_of, check_looks):
    write_customers(tmp_path / "c.csv")
    page = opened(page_of, studio("c.csv", "--label", "segment").address)
    question(page)
    page.get_by_text("What is compared").click()
    check_looks(page, "a row")
    page.keyboard.press("r")
    page.get_by_text("Least certain items").wait_for()
    check_looks(page, "the review of rows")
    rng = np.random.default_rng(0)
    words = [["red", "apple", "pear", "plum"], ["bolt", "nut", "screw", "gear"]]
    long = {0: 600}  # words; a text that is scrolled
    texts = (" ".join(rng.choice(words[i % 2], long.get(i % 7, 12))) for i in range(60))
    lines = ["body,truth", *(f"{text},{i % 2}" for i, text in enumerate(texts))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    page = opened(page_of, studio("t.csv", "--text", "body").address)
    question(page)
    page.request.post(page.url + "actions", data={"kind": "answer", "body": {"rows": [0], "name": "fruit"}})
    page.request.post(page.url + "actions", data={"kind": "answer", "body": {"rows": [1], "name": "tools"}})
    page.wait_for_function("() => document.querySelector('.numbers strong').textContent === '2'")
    check_looks(page, "a text and a note")
    page.keyboard.press("g")
    page.locator("#confirm").wait_for()
    check_looks(page, "a grid of texts")
    for width in (1280, 400):
        look(page, width, "light")
        assert_what_is_confirmed_is_in_sight(page)


def test_drawing(studio, flower, page_of, check_looks):
    page = opened(page_of, studio(flower).address)
    page.get_by_label("Name of a new class").wait_for()
    check_looks(page, "no class yet")
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
        check_looks(page, view)
    page.locator("#export").click()
    check_looks(page, "the exports")


def test_a_folder_of_pictures(studio, tmp_path, page_of, check_looks):
    (tmp_path / "album").mkdir()
    for name, left in (("a.png", 5), ("b.png", 30)):
        pixels = np.random.default_rng(left).normal(60, 8, (40, 60, 3))
        pixels[10:30, left : left + 20] = 200
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / "album" / name)
    page = opened(page_of, studio("album", "--mode", "drawing").address)
    draw_two_classes(page, [[12, 15], [16, 25]], [[45, 5], [55, 35]], image=0)
    check_looks(page, "a picture of the folder")
    page.keyboard.press(".")
    page.wait_for_function("() => document.querySelector('#workspace').dataset.image === '1'")
    check_looks(page, "another one, without strokes")
    page.locator("#export").click()
    check_looks(page, "the exports of a folder")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check_looks(page, "the keys")


def test_a_cube(studio, tmp_path, page_of, check_looks):
    cube = np.random.default_rng(0).normal(60, 4, (30, 40, 6)).astype(np.float32)
    cube[8:22, 8:22] = 200
    np.save(tmp_path / "cube.npy", cube)
    page = opened(page_of, studio("cube.npy", "--mode", "drawing").address)
    draw_two_classes(page, [[12, 12], [16, 18]], [[30, 5], [35, 25]])
    check_looks(page, "the bands of a cube")
    page.get_by_label("Main directions of all bands").check()
    check_looks(page, "its main directions")


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


def test_a_chosen_theme_goes_before_that_of_the_system(studio, flower, page_of):
    page = opened(page_of, studio(flower).address)
    light, dark = "rgb(245, 246, 248)", "rgb(18, 21, 28)"
    for scheme, of_system in (("light", light), ("dark", dark)):
        look(page, 1280, scheme)
        page.reload()
        page.locator(".stage canvas").first.wait_for()
        for colour in (of_system, light, dark):  # auto, light, dark
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour
            page.locator("#theme").click()
