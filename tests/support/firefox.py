"""Firefox as distributions ship it, driven over WebDriver BiDi; Playwright needs a Firefox of its own."""

import json
import os
import re
import shutil
import subprocess
import time
from contextlib import ExitStack

import pytest

FIREFOX = next((p for p in map(shutil.which, ("firefox-esr", "firefox")) if p), None)
PATIENCE = float(os.environ.get("STUDIO_PATIENCE", "120"))
#: Expressions of a studio's page.
ROOM = "document.querySelector('#workspace').dataset"
STATE = "fetch('query/state').then(answer => answer.json())"
SAVED = "document.querySelector('#saved').textContent === 'Saved'"

KEYS = {"Enter": "\ue007", "Escape": "\ue00c"}


class Firefox:
    """A headless Firefox with one tab."""

    def __init__(self, profile):
        from websockets.sync.client import connect

        (profile / "user.js").write_text('user_pref("browser.shell.checkDefaultBrowser", false);\n')
        self._process = subprocess.Popen(
            [FIREFOX, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"HOME": str(profile), "MOZ_HEADLESS_WIDTH": "1280"},
        )  # fmt: skip
        said = ""
        for line in self._process.stderr:
            said += line
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                break
        else:
            pytest.fail(f"Firefox did not start: {said}")
        self._opened, self._number, self.complaints = ExitStack(), 0, []
        self._socket = self._opened.enter_context(connect(found.group(1) + "/session", max_size=None))
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self._tab = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method, **parameters):
        """Send a command; return its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
                self.complaints.append(answer["params"]["text"])
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def goto(self, address):
        """Open a page and wait until it is loaded."""
        self.send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression):
        """The value of an expression in the page; it must be JSON."""
        answer = self.send(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then(value => JSON.stringify(value ?? null))",
            target={"context": self._tab},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return json.loads(answer["result"]["value"])

    def wait(self, expression):
        """Wait until an expression is true; return its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)
        return value

    def press(self, *keys):
        """Press keys, one after another."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._perform({"type": "key", "id": "keyboard", "actions": actions})

    def drag(self, points):
        """Press the mouse at the first of some points, move it over the others, and let it go."""
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 20} for x, y in points]
        down, up = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
        self._perform({"type": "pointer", "id": "mouse", "actions": [moves[0], down, *moves[1:], up]})

    def _perform(self, actions):
        self.send("input.performActions", context=self._tab, actions=[actions])

    def close(self):
        """End it."""
        self._opened.close()
        self._process.terminate()
        self._process.wait(30)
        self._process.stderr.close()


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    """The browser; a test fails at its end if a page complained."""
    if FIREFOX is None:
        pytest.skip("Firefox is not installed: apt-get install firefox-esr")
    found = Firefox(tmp_path_factory.mktemp("firefox"))
    yield found
    found.close()
    assert found.complaints == []
