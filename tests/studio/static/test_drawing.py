"""The drawing workspace, driven by a mouse in a real browser."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

import phaselabel as pl
from driving import FIRST_FRAME, SCALE, recorded, shoot, state_of, version_of
from firefox import ROOM, SAVED, STATE

MARKS = Path(__file__).parents[3] / "benchmarks" / "marks"
STROKES = [
    (shape["label"], [(x / SCALE, y / SCALE) for x, y in shape["points"]])
    for shape in json.loads((MARKS / "flower.json").read_text())["shapes"]
]


def add_classes(page, *names):
    for name in names:
        page.get_by_label("Name of a new class").fill(name)
        page.keyboard.press("Enter")
        page.get_by_label(f"Draw {name}", exact=True).wait_for()


def place(page, state, x, y):
    """Where a pixel of the fitted picture is on the screen."""
    box = page.locator(".stage canvas").bounding_box()
    scale = min(box["width"] / state["width"], box["height"] / state["height"]) * 0.97
    left = box["x"] + (box["width"] - scale * state["width"]) / 2
    top = box["y"] + (box["height"] - scale * state["height"]) / 2
    return left + x * scale, top + y * scale


def draw(page, points):
    state = state_of(page)
    first, *rest = [place(page, state, x, y) for x, y in points]

    def stroke():
        page.mouse.move(*first)
        page.mouse.down()
        for point in rest:
            page.mouse.move(*point, steps=6)
        page.mouse.up()

    recorded(page, stroke)


def draw_flower(page, strokes=STROKES):
    for label, points in strokes:
        page.keyboard.press("1" if label == "flower" else "2")
        draw(page, points)


def segmented(page):
    """Wait until the segmentation has followed."""
    page.wait_for_function(
        "n => Number(document.querySelector('#workspace').dataset.segmented ?? -1) >= n", arg=version_of(page)
    )


def labels_of(page):
    answer = page.request.get(page.url + "export/labels.png")
    assert answer.ok, answer.text()
    return np.array(Image.open(io.BytesIO(answer.body())))


def share_right(labels):
    """Among pixels far from the rim, by polygons that were drawn by hand."""
    truth = pl.read_marks(MARKS / "flower_check.json", (427, 640))
    drawn = truth.labels[::SCALE, ::SCALE]
    numbers = {"flower": 1, "leaves": 2}
    right = [labels[drawn == n] == numbers[name] for n, name in truth.classes.items()]
    return float(np.mean(np.concatenate(right)))


def test_draw_a_flower_with_the_mouse(studio, flower, page_of):
    page = page_of(studio(flower).address)
    add_classes(page, "flower", "leaves")
    page.locator(".stage canvas").focus()
    draw_flower(page)
    segmented(page)
    labels = labels_of(page)
    assert share_right(labels) > 0.97
    shoot(page, "drawing")

    # Undo takes the last stroke away, redo brings it back, and the answer is the same again.
    recorded(page, lambda: page.keyboard.press("z"))
    segmented(page)
    recorded(page, lambda: page.keyboard.press("Shift+Z"))
    segmented(page)
    assert (labels_of(page) == labels).all()

    for name in ("outline", "confidence", "picture"):
        page.keyboard.press("v")
        assert page.locator(f"input[value={name}]").is_checked()
        if name != "picture":
            shoot(page, f"drawing-{name}")

    page.keyboard.press("h")
    assert "stroke in the ring" in page.locator("#status").inner_text()

    # What is exported is what the command line makes of the same strokes.
    strokes = page.request.get(page.url + "export/strokes.json").json()
    assert [s["label"] for s in strokes["shapes"]] == [label for label, _ in STROKES]
    masks = zipfile.ZipFile(io.BytesIO(page.request.get(page.url + "export/masks.zip").body()))
    assert sorted(masks.namelist()) == ["mask_1_flower.png", "mask_2_leaves.png"]
    mask = np.array(Image.open(io.BytesIO(masks.read("mask_1_flower.png"))))
    assert ((mask == 255) == (labels == 1)).all()
    coco = page.request.get(page.url + "export/coco.json").json()
    assert [c["name"] for c in coco["categories"]] == ["flower", "leaves"]
    marks = np.array(Image.open(io.BytesIO(page.request.get(page.url + "export/marks.png").body())))
    image = np.array(Image.open(flower))
    assert np.mean(pl.segment(image, marks).labels == labels) > 0.999


def test_reload_kill_and_second_tab_lose_nothing(studio, flower, page_of, tmp_path):
    first = studio(flower)
    page = page_of(first.address)
    add_classes(page, "flower", "leaves")
    page.locator(".stage canvas").focus()
    draw_flower(page, STROKES[:3])
    page.reload()
    page.get_by_label("Draw leaves", exact=True).wait_for()
    second = page_of.tab(page, first.address)
    second.get_by_label("Draw leaves", exact=True).wait_for()
    second.locator(".stage canvas").focus()
    second.keyboard.press("2")
    draw(second, STROKES[3][1])
    page.wait_for_function("() => document.querySelector('#undo').disabled === false")
    states = [state_of(p) for p in (page, second)]
    assert len(states[0]["layers"]) == len(states[1]["layers"]) == 4
    second.close()
    first.kill()
    page.get_by_text("Waiting for the studio").wait_for()
    page.close()
    page_of.forgive()

    again = page_of(studio(flower).address)
    again.get_by_label("Draw leaves", exact=True).wait_for()
    assert state_of(again)["layers"] == states[0]["layers"]
    again.locator(".stage canvas").focus()
    draw_flower(again, STROKES[4:])
    segmented(again)
    assert share_right(labels_of(again)) > 0.97


def test_a_class_chosen_before_a_new_one_is_confirmed_stays(studio, flower, page_of):
    page = page_of(studio(flower).address)
    add_classes(page, "flower")
    held = []
    page.route("**/actions", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("Name of a new class").fill("leaves")
    page.keyboard.press("Enter")
    while not held:
        page.wait_for_timeout(20)
    answer = held[0].fetch()  # the studio has the class, and this page hears of it by an event
    page.get_by_label("Draw leaves", exact=True).wait_for()
    page.locator(".stage canvas").focus()
    page.keyboard.press("1")
    held[0].fulfill(response=answer)
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")
    draw(page, STROKES[0][1])
    assert state_of(page)["layers"][0]["class"] == 1


def test_a_stroke_before_the_first_frame_is_where_it_was_drawn(studio, flower, page_of):
    page = page_of(studio(flower).address)
    add_classes(page, "flower")
    page.add_init_script("window.requestAnimationFrame = (paint) => setTimeout(paint, 20000)")
    page.reload()
    page.get_by_label("Draw flower", exact=True).wait_for()
    points = STROKES[0][1]
    draw(page, points)
    (layer,) = state_of(page)["layers"]
    for found, drawn in ((layer["points"][0], points[0]), (layer["points"][-1], points[-1])):
        assert np.abs(np.subtract(found, drawn)).max() < 2


def test_a_phone_sized_window_and_the_keyboard_alone(studio, flower, page_of):
    page = page_of(studio(flower).address, 400, 800, color_scheme="dark", has_touch=True)
    page.get_by_label("Name of a new class").wait_for()
    page.keyboard.press("n")
    page.keyboard.type("flower")
    page.keyboard.press("Enter")
    page.get_by_label("Draw flower", exact=True).wait_for()
    page.keyboard.type("leaves")
    page.keyboard.press("Enter")
    page.get_by_label("Draw leaves", exact=True).wait_for()
    page.locator(".stage canvas").focus()
    for keys in (
        ["1", "Space", *["ArrowUp"] * 3, "Space"],
        ["2", *["Shift+ArrowLeft"] * 4, "Space", "ArrowDown", "Space"],
    ):
        recorded(page, lambda keys=keys: [page.keyboard.press(key) for key in keys])
    segmented(page)
    assert set(np.unique(labels_of(page))) == {1, 2}

    # A click while the arrows draw ends their stroke, and makes one of its own.
    for key in ("Space", "ArrowUp"):
        page.keyboard.press(key)
    page.mouse.click(*place(page, state_of(page), 100, 50))
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")
    assert len(state_of(page)["layers"]) == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    shoot(page, "drawing-phone")


def test_a_stroke_under_a_message_is_drawn(studio, flower, page_of):
    page = page_of(studio(flower).address)
    page.get_by_label("Name of a new class").wait_for()
    state = state_of(page)
    page.mouse.click(*place(page, state, 150, 100))  # without a class there is a message
    toast = page.locator(".toast").first
    toast.wait_for()
    add_classes(page, "flower")
    page.locator(".stage canvas").focus()
    box = toast.bounding_box()
    x, y = box["x"] + 40, box["y"] + box["height"] / 2
    recorded(
        page, lambda: (page.mouse.move(x, y), page.mouse.down(), page.mouse.move(x + 30, y), page.mouse.up())
    )
    assert toast.is_visible()
    assert len(state_of(page)["layers"]) == 1


# -- tools besides the brush, and what is shown


def colour_at(page, x, y):
    """Red, green and blue on the screen at a pixel of the picture."""
    left, top = place(page, state_of(page), x, y)
    return page.evaluate(
        """([x, y]) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
          const canvas = document.querySelector(".stage canvas"), box = canvas.getBoundingClientRect();
          const at = canvas.getContext("2d").getImageData(x - box.left, y - box.top, 1, 1);
          done([...at.data].slice(0, 3));
        })))""",
        [left, top],
    )


def test_polygon_box_fill_object_and_the_looks_of_a_cube(studio, tmp_path, page_of):
    cube = np.random.default_rng(0).normal(60, 4, (60, 100, 6)).astype(np.float32)
    cube[15:45, 20:50] = 200
    np.save(tmp_path / "cube.npy", cube)
    page = page_of(studio("cube.npy", "--mode", "drawing").address)
    add_classes(page, "square", "rest")
    page.locator(".stage canvas").focus()
    state = state_of(page)
    spot = lambda x, y: place(page, state, x, y)  # noqa: E731

    page.keyboard.press("1")
    page.keyboard.press("y")
    for corner in ((25, 20), (45, 20), (45, 40)):
        page.mouse.click(*spot(*corner))
    recorded(page, lambda: page.keyboard.press("Enter"))
    page.keyboard.press("2")
    page.keyboard.press("r")

    def box():
        page.mouse.move(*spot(60, 5))
        page.mouse.down()
        page.mouse.move(*spot(70, 25), steps=3)
        page.mouse.up()

    recorded(page, box)
    for key, corner in (("f", (35, 42)), ("o", (85, 50))):
        page.keyboard.press("1" if key == "f" else "2")
        page.keyboard.press(key)
        recorded(page, lambda corner=corner: page.mouse.click(*spot(*corner)))
    layers = state_of(page)["layers"]
    assert [sorted(layer) for layer in layers] == [["class", "polygon"]] * 2 + [["class", "runs"]] * 2
    assert [layer["class"] for layer in layers] == [1, 2, 1, 2]
    assert np.abs(np.array(layers[1]["polygon"]) - [[60, 5], [70, 5], [70, 25], [60, 25]]).max() < 1
    filled = np.cumsum(layers[2]["runs"])[:2]  # column by column, zeros first
    assert filled[0] // 60 == 20
    page.get_by_label("Colour of rest").focus()
    segmented(page)
    # What the background brings does not close the choice of a colour.
    assert page.evaluate("document.activeElement.ariaLabel") == "Colour of rest"
    assert (labels_of(page)[20:40, 25:45] == 1).all()

    # Typing in the name of a class chooses that class.
    page.get_by_label("Name of class square").click()
    assert page.locator(".classes .on .name").input_value() == "square"
    page.locator(".stage canvas").focus()

    page.get_by_role("checkbox", name="Strokes").uncheck()
    both = colour_at(page, 90, 10)
    page.get_by_label("Show rest", exact=True).uncheck()
    assert colour_at(page, 90, 10) != both
    page.get_by_label("Show rest", exact=True).check()
    assert colour_at(page, 90, 10) == both
    page.get_by_label("Opacity of the classes").fill("90")
    assert colour_at(page, 90, 10) != both
    with page.expect_response(lambda response: "bands=5%2C" in response.url) as other:
        page.get_by_label("Band shown as red").select_option("5")
    assert other.value.ok
    with page.expect_response(lambda response: "bands=main" in response.url) as main:
        page.get_by_label("Main directions of all bands").check()
    assert main.value.ok

    # What was exported comes back in.
    coco = page.request.get(page.url + "export/coco.json").body()
    page.get_by_label("File of strokes").set_input_files(
        {"name": "coco.json", "mimeType": "application/json", "buffer": coco}
    )
    page.wait_for_function("n => Number(document.querySelector('#workspace').dataset.segmented) > n", arg=6)
    assert len(state_of(page)["layers"]) > 4
    page_of.forgive("willReadFrequently")  # what Chromium says of a test that looks at the canvas


# -- a folder of pictures


def test_a_stroke_on_one_picture_segments_the_next_one(studio, tmp_path, page_of):
    folder = tmp_path / "album"
    folder.mkdir()
    for name, left in (("a.png", 5), ("b.png", 60)):
        pixels = np.random.default_rng(left).normal(60, 8, (60, 100, 3))
        pixels[20:40, left : left + 30] = 200
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / name)
    page = page_of(studio("album", "--mode", "drawing").address)
    for name in ("square", "rest"):
        page.get_by_label("Name of a new class").fill(name)
        page.keyboard.press("Enter")
        page.get_by_label(f"Draw {name}", exact=True).wait_for()
    for number, points in ((1, [[15, 25], [25, 35]]), (2, [[60, 10], [90, 50]])):
        body = {"class": number, "size": 5, "points": points, "image": 0}
        page.request.post(page.url + "actions", data={"kind": "stroke", "body": body})
    page.wait_for_function("() => Number(document.querySelector('#workspace').dataset.segmented ?? -1) >= 4")
    page.get_by_role("button", name="Suggested").click()
    page.wait_for_function("() => document.querySelector('#workspace').dataset.image === '1'")
    assert "b.png" in page.get_by_label("Picture", exact=True).locator("option:checked").inner_text()
    content = page.request.get(page.url + "data/segmentation?image=1").body()
    labels = np.frombuffer(content[12 : 12 + 2 * 6000], np.uint16).reshape(60, 100)
    assert (labels[22:38, 62:88] == 1).mean() > 0.95
    # Until the experts have been weighed again, the picture may still change.
    page.wait_for_function("() => document.querySelector('#workspace').dataset.settled === '4'")
    shoot(page, "album")

    # The pixels of a picture that was left while they were on their way don't replace those of another one.
    shown = "document.querySelector('.stage canvas').toDataURL()"
    page.locator("#title").hover()
    page.evaluate(FIRST_FRAME)
    before, held = page.evaluate(shown), []
    page.route("**/data/picture?image=0*", lambda route: held.append(route))
    with page.expect_request("**/data/picture?image=0*"):
        page.keyboard.press(",")
    page.wait_for_function("() => document.querySelector('.album select').value === '0'")
    page.keyboard.press(".")
    page.wait_for_function("now => document.querySelector('.stage canvas').toDataURL() === now", arg=before)
    held[0].continue_()
    page.wait_for_timeout(500)
    assert page.evaluate(shown) == before

    # Undo goes to the picture that it concerns.
    page.unroute("**/data/picture?image=0*")
    page.keyboard.press("z")
    page.wait_for_function("() => document.querySelector('#workspace').dataset.image === '0'")

    # A file says which picture it is for, and the page says where it went.
    shape = {"label": "square", "points": [[62, 22], [88, 38]], "shape_type": "rectangle"}
    content = json.dumps({"shapes": [shape], "imagePath": "b.png"}).encode()
    file = {"name": "b.json", "mimeType": "application/json", "buffer": content}
    page.get_by_label("File of strokes").set_input_files(file)
    page.get_by_text("Added to b.png", exact=True).wait_for()
    page.wait_for_function(
        "() => document.querySelector('.album select').options[1].text.startsWith('b.png · 1 stroke')"
    )


def test_strokes_by_mouse_in_firefox(studio, flower, firefox):
    firefox.goto(studio(flower).address)
    for name in ("flower", "leaves"):
        firefox.wait("document.querySelector('[aria-label=\"Name of a new class\"]') !== null")
        firefox.evaluate("document.querySelector('[aria-label=\"Name of a new class\"]').focus()")
        firefox.press(*name, "Enter")
        firefox.wait(f"document.querySelector('[aria-label=\"Draw {name}\"]') !== null")
    firefox.evaluate("document.activeElement.blur()")
    box = firefox.evaluate("document.querySelector('.stage canvas').getBoundingClientRect()")
    state = firefox.evaluate(STATE)
    scale = min(box["width"] / state["width"], box["height"] / state["height"]) * 0.97
    left = box["x"] + (box["width"] - scale * state["width"]) / 2
    top = box["y"] + (box["height"] - scale * state["height"]) / 2
    for label, points in STROKES:
        version = firefox.evaluate(STATE)["version"]
        firefox.press("1" if label == "flower" else "2")
        firefox.drag([(left + x * scale, top + y * scale) for x, y in points])
        firefox.wait(f"{STATE}.then(state => state.version > {version})")
    version = firefox.evaluate(STATE)["version"]
    firefox.wait(f"Number({ROOM}.segmented ?? -1) >= {version} && {SAVED}")
    assert firefox.evaluate("document.querySelector('#unsaved').hidden")
