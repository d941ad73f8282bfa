"""Nothing is cut, hidden without a word or out of place, in a narrow, a usual and a wide window."""

import numpy as np
from PIL import Image

from driving import FIRST_FRAME, question, state_of
from tablefiles import write_customers

SIZES = [(400, 800), (1280, 800), (1920, 1080)]

NAMES = [f"rec.sport.{name}.and.some.more.words" for name in ("baseball", "hockey")]
NAMES += [f"class number {k}" for k in range(3, 21)]

#: What of the text in some elements is hidden by a box around it: lines that are partly in sight, and ends of
#: names that are cut and have no title.
CUT = """names => {
  const found = [];
  for (const node of document.querySelectorAll(names)) {
    if (!node.checkVisibility()) continue;
    let top = -Infinity, bottom = Infinity;  // of what is in sight
    for (let up = node; up !== document.body; up = up.parentElement) {
      if (getComputedStyle(up).overflowY === "visible") continue;
      const box = up.getBoundingClientRect();
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const line of range.getClientRects()) {
      const seen = Math.min(line.bottom, bottom) - Math.max(line.top, top);
      if (seen > 3 && seen < line.height - 3) found.push(`${node.className}: ${node.innerText}`);
    }
  }
  return [...new Set(found)];
}"""

UNTOLD = """() => [...document.querySelectorAll(
    ".chip, .answer .name, .sizes .label, .classes .name, .entry small")]
  .filter(node => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1
    && !`${node.title} ${node.closest("[title]")?.title}`.includes(node.value ?? node.innerText.trim()))
  .map(node => node.outerHTML.slice(0, 160))"""

#: Elements that end half-way through the box that scrolls them, at the start of the list.
HALF = """names => [...document.querySelectorAll(names)].filter(node => {
  if (!node.checkVisibility()) return false;
  let box = node.parentElement;
  while (!["auto", "scroll"].includes(getComputedStyle(box).overflowY)) box = box.parentElement;
  const seen = box.getBoundingClientRect().bottom - node.getBoundingClientRect().top;
  return seen > 3 && seen < node.getBoundingClientRect().height - 2;
}).map(node => node.outerHTML.slice(0, 160))"""


#: The pixels in the middle row of the canvas, which goes over one border between the classes.
MIDDLE_ROW = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  const canvas = document.querySelector(".stage canvas");
  const y = Math.floor(canvas.height / 2);
  const data = canvas.getContext("2d").getImageData(0, y, canvas.width, 1).data;
  done(Array.from({ length: canvas.width }, (_, x) => [...data.slice(4 * x, 4 * x + 4)]));
})))"""


def windows(page):
    """Load a page anew in windows of every size."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        page.evaluate(FIRST_FRAME)
        yield width, height


def assert_well_laid_out(page, width, view, rows=".answer, .sizes li"):
    assert page.evaluate("document.documentElement.scrollWidth") <= width, view
    assert page.evaluate(CUT, ".tile .text, .tile dd, .entry .text, .hover dd, .text.large") == [], view
    assert page.evaluate(UNTOLD) == [], view
    assert page.evaluate(HALF, rows) == [], view
    tops = {round(box["y"] + box["height"] / 2) for box in boxes(page, ".bar > button, .bar > .menu")}
    assert len(tops) == 1, f"{view}: the buttons of the header are in one row"


def boxes(page, selector):
    found = (one.bounding_box() for one in page.locator(selector).all())
    return [box for box in found if box is not None]


def show_selection(page):
    canvas = page.locator(".map canvas")
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    canvas.focus()
    for key in ("ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("near that place").wait_for()


def walk_through(page, width, height):
    """Every view of the answering page."""
    assert_well_laid_out(page, width, "the question")
    assert boxes(page, ".caption")[0]["height"] < 45  # two lines at most
    page.keyboard.press("?")
    page.locator("#keys").wait_for()
    assert page.evaluate("document.querySelector('#keys').scrollTop") == 0
    if width > 400:
        close = page.locator("#keys button").bounding_box()
        dialog = page.locator("#keys").bounding_box()
        assert close["y"] + close["height"] < dialog["y"] + dialog["height"]
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.locator("#confirm").wait_for()
    assert_well_laid_out(page, width, "the grid", ".answer, .sizes li, .tile")
    if width > 400:
        rows = {box["y"] for box in boxes(page, ".tile:visible")}
        assert len(rows) > 1, "more than a row of texts"
    page.keyboard.press("r")
    page.get_by_text("Least certain items").wait_for()
    assert_well_laid_out(page, width, "the review")
    page.keyboard.press("l")
    page.locator(".list .entry").first.wait_for()
    assert_well_laid_out(page, width, "the list")
    page.keyboard.press("q")
    show_selection(page)
    assert_well_laid_out(page, width, "a selection", ".inspected .tile, .inspected .chip")
    if width == 1920:
        # What is beside the question reaches down to the end of the window.
        page.get_by_label("Close", exact=True).click()
        assert max(box["y"] + box["height"] for box in boxes(page, ".right > .card")) > 0.97 * height


def test_texts_of_many_classes(studio, tmp_path, page_of):
    rng = np.random.default_rng(0)
    words = [[f"{stem}{end}" for end in ("a", "er", "ing", "ful")] for stem in ("play", "work")]
    common = ["the", "of", "and", "that", "some", "which", "under", "between"]
    lines = ["body"]
    for k in range(80):
        lines.append(f'"{" ".join(rng.choice([*common, *words[k % 2]], 600))}."')
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    page = page_of(studio("t.csv", "--text", "body", "--classes", ",".join(NAMES)).address)
    question(page)
    for row in range(6):
        body = {"kind": "answer", "body": {"rows": [row], "class": row % 2 + 1}}
        assert page.request.post(page.url + "actions", data=body).ok
    for width, height in windows(page):
        page.wait_for_function("() => document.querySelector('.numbers strong')?.textContent === '6'")
        question(page)
        # A long text is shown by whole lines, and the rest of it can be scrolled to.
        assert page.locator(".text.large").evaluate("node => node.scrollHeight > node.clientHeight")
        walk_through(page, width, height)


def test_rows_of_a_table(studio, tmp_path, page_of):
    write_customers(tmp_path / "c.csv")
    page = page_of(studio("c.csv", "--label", "segment").address)
    for width, height in windows(page):
        question(page)
        # No bar for an interval that is not told.
        assert page.locator("#accuracy").inner_text() == "too early to tell"
        assert page.locator(".gauge").count() == 0
        walk_through(page, width, height)


def test_drawing_with_many_classes(studio, tmp_path, page_of):
    pixels = np.random.default_rng(0).normal(60, 4, (40, 60, 3))
    pixels[10:30, 10:30] = 200
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / "p.png")
    page = page_of(studio("p.png").address)
    page.get_by_label("Name of a new class").wait_for()
    for name in NAMES:
        assert page.request.post(page.url + "actions", data={"kind": "class", "body": {"name": name}}).ok
    assert len(state_of(page)["classes"]) == len(NAMES)
    for width, height in windows(page):
        last = page.get_by_label(f"Draw {NAMES[-1]}", exact=True)
        last.wait_for(state="attached")
        assert_well_laid_out(page, width, "many classes", ".classes li")
        assert page.evaluate("document.documentElement.scrollHeight") <= height
        canvas = page.locator(".stage canvas").bounding_box()
        assert canvas["height"] >= 0.35 * height
        # The 18th class has the last of the keys; the others are chosen by mouse, and one more can be added.
        page.locator(".stage canvas").focus()
        page.keyboard.press("Shift+Digit9")
        assert page.locator(".classes .on .name").input_value() == NAMES[17]
        last.scroll_into_view_if_needed()
        last.click()
        assert page.locator(".classes .on .name").input_value() == NAMES[-1]
        field = page.get_by_label("Name of a new class")
        field.scroll_into_view_if_needed()
        box = field.bounding_box()
        assert box["y"] + box["height"] <= height


def test_outlines_are_drawn_in_pixels_of_the_screen(studio, tmp_path, page_of):
    """Also those of a cube of few pixels, each of which is many on the screen."""
    cube = np.random.default_rng(0).normal(60, 1, (12, 12, 200)).astype(np.float32)
    cube[:, 6:] = 200
    np.save(tmp_path / "cube.npy", cube)
    page = page_of(studio("cube.npy", "--mode", "drawing").address)
    page.get_by_label("Name of a new class").wait_for()
    for name in ("left", "right"):
        page.request.post(page.url + "actions", data={"kind": "class", "body": {"name": name}})
    for number, x in ((1, 2), (2, 9)):
        stroke = {"class": number, "size": 2, "points": [[x, 3], [x, 9]]}
        page.request.post(page.url + "actions", data={"kind": "stroke", "body": stroke})
    for _ in windows(page):
        page.wait_for_function("() => document.querySelector('#workspace').dataset.segmented === '4'")
        panel, *bands = boxes(page, ".panel, .bands select")
        assert all(box["x"] + box["width"] <= panel["x"] + panel["width"] for box in bands)
        page.keyboard.press("s")
        for view, colours in (("overlay", [[255, 255, 255]]), ("outline", None)):
            page.locator(f"input[value={view}]").check(force=True)
            page.locator("#title").hover()
            shown = [pixel[:3] for pixel in page.evaluate(MIDDLE_ROW) if pixel[3] == 255]
            if colours is None:  # the line has the colours of both classes
                classes = state_of(page)["classes"]
                colours = [[int(c["color"][k : k + 2], 16) for k in (1, 3, 5)] for c in classes]
            line = sum(pixel in colours for pixel in shown)
            assert 1 <= line <= 4, (view, line)
    page_of.forgive("willReadFrequently")
