"""A studio as a process, a real browser on its page, and what the browser complained about."""

import contextlib
import os
import re
import shutil
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from processes import start_command

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
#: Milliseconds to wait for the page; a busy machine needs more.
PATIENCE = 1000 * float(os.environ.get("STUDIO_PATIENCE", "120"))
#: Chromium drops keys that come before it has drawn a page for the first time.
FIRST_FRAME = "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
#: Tests draw on every fourth pixel of the sample picture and answer for the first of the digits, in a
#: fraction of the time; not for the handbook.
SCALE = 1 if os.environ.get("STUDIO_SHOTS") else 4
N_DIGITS = 1797 if os.environ.get("STUDIO_SHOTS") else 500
SHOTS = Path(__file__).parents[2] / "docs" / "images"


class Studio:
    """`phaselabel studio …` in a folder of its own, killed at the end."""

    def __init__(self, folder, *words):
        self.process = start_command(folder, "studio", *words, "--no-browser")
        self.first_line = self.process.stdout.readline()
        found = re.search(r"http://\S+", self.first_line)
        assert found, self.first_line + self.process.stderr.read()
        self.address = found.group()
        self.host, self.token = re.fullmatch(r"http://([^/]+)/([^/]+)/", self.address).groups()

    def kill(self):
        """As the power would."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def studio(tmp_path):
    opened = []

    def start(*words):
        opened.append(Studio(tmp_path, *words))
        return opened[-1]

    yield start
    for one in opened:
        with contextlib.suppress(ValueError):
            one.kill()


def _without_browser(reason):
    """Skip, or fail where the tests in a browser must run: CI=true."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright import sync_api
    except ImportError:
        _without_browser("playwright is not installed: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        own = playwright.chromium.executable_path  # what `playwright install chromium` brings
        path = CHROMIUM or (own if os.path.exists(own) else None)
        if path is None:
            _without_browser("there is no chromium: apt-get install chromium, or playwright install chromium")
        found = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                  "--disable-component-update", "--disable-sync"],
        )  # fmt: skip
        yield found
        found.close()


@pytest.fixture
def page_of(browser):
    """Opens pages, and fails the test at its end if any of them complained in the console."""
    contexts, complaints, forgiven = [], [], []

    def open_page(address, width=1280, height=800, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        return watched(context.new_page(), address)

    def watched(page, address):
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        page.evaluate(FIRST_FRAME)
        return page

    def forgive(*expected):
        """Drop what Chromium says by itself when a request fails, by default when a server is gone."""
        forgiven.extend(expected or ("net::ERR",))

    open_page.tab = lambda page, address: watched(page.context.new_page(), address)
    open_page.forgive = forgive
    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in complaints if not any(part in text for part in forgiven)] == []


@pytest.fixture
def check():
    """Run axe-core on a page; fail with the rules that are broken and the elements that break them."""
    try:
        script = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        _without_browser("axe-core is not installed: pip install axe-playwright-python")

    def run(page, view):
        if not page.evaluate("'axe' in window"):
            page.evaluate(script)
        run_it = "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"
        found = page.evaluate(run_it)
        broken = {v["id"]: [node["html"][:160] for node in v["nodes"]] for v in found}
        assert broken == {}, view

    return run


@pytest.fixture
def flower(tmp_path):
    """scikit-learn's sample picture as a file, every SCALE-th pixel of it."""
    from PIL import Image
    from sklearn.datasets import load_sample_image

    path = tmp_path / "flower.png"
    Image.fromarray(load_sample_image("flower.jpg")[::SCALE, ::SCALE]).save(path)
    return path


@pytest.fixture
def digit_file(tmp_path, digits):
    """The first N_DIGITS digits as pictures in a file."""
    path = tmp_path / "digits.npz"
    np.savez(path, x=digits[0][:N_DIGITS].reshape(-1, 8, 8).astype(np.uint8), y=digits[1][:N_DIGITS])
    return path


def state_of(page, address=None):
    """The state that the server has."""
    return page.request.get((address or page.url) + "query/state").json()


def question(page, after=None):
    """Wait for the next question to be on the screen, after this many answers; its row."""
    page.wait_for_function(
        "before => { const d = document.querySelector('#workspace').dataset; "
        "return d.shown !== undefined && d.answered !== before && d.shown === d.question; }",
        arg=after,
        polling=50,  # by interval: a tab that is not in front draws no frames
    )
    return int(page.evaluate("document.querySelector('#workspace').dataset.shown"))


HEARD = """() => {
  const saved = document.querySelector("#saved");
  saved.dataset.heard = "";
  new MutationObserver((_, watch) => {
    if (saved.textContent === "Saved") return;
    saved.dataset.heard = "yes";
    watch.disconnect();
  }).observe(saved, { childList: true });
}"""


def press_until_heard(page, key):
    """Answer by key, or by what ``key`` says of the row.

    Pressed again where the question changed in between, for such a key answers nothing.
    """
    for _ in range(10):
        row = question(page)
        page.evaluate(HEARD)
        page.keyboard.press(key(row) if callable(key) else key)
        if page.evaluate("document.querySelector('#saved').dataset.heard"):
            return row
    raise AssertionError(f"the page hears no {key}")


def version_of(page):
    """How many entries the journal has."""
    return state_of(page)["version"]


def recorded(page, act):
    """Do something and wait until it is in the journal and the page says so."""
    before, end = version_of(page), time.monotonic() + PATIENCE / 1000
    act()
    while version_of(page) <= before:
        assert time.monotonic() < end, "nothing was recorded"
        time.sleep(0.05)
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")


def shoot(page, name):
    """A picture for the handbook, if asked for: STUDIO_SHOTS=1 pytest tests/studio."""
    folder = os.environ.get("STUDIO_SHOTS")
    if folder:
        place = SHOTS if folder == "1" else Path(folder)
        page.wait_for_function("() => [...document.images].every(i => i.complete || i.loading === 'lazy')")
        page.wait_for_timeout(1000)  # for those that are loaded as they come into sight
        page.screenshot(path=place / f"studio-{name}.jpg", type="jpeg", quality=82)
