"""The page says "Saved" when the server has confirmed that very action, and never otherwise."""

import resource
import socket

import numpy as np
import pytest

from driving import press_until_heard, question, state_of

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of other processes: Linux")


@pytest.fixture
def points(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", np.concatenate([rng.normal(size=(40, 3)), rng.normal(9, 1, (40, 3))]))
    return "x.npy"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def not_saved(page):
    """Wait for the alarm; its text."""
    alarm = page.locator("#unsaved")
    alarm.wait_for()
    assert page.locator("#saved").inner_text() != "Saved"
    return alarm.inner_text()


def saved(page):
    """Wait for the word: an event may show an answer before its confirmation has come."""
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")


def test_a_restart_on_the_same_port_loses_no_answer(studio, points, page_of):
    port = free_port()
    first = studio(points, "--classes", "a,b", "--port", port)
    page = page_of(first.address)
    page_of.forgive("403", "net::ERR")
    press_until_heard(page, "1")
    question(page, "0")
    first.kill()
    second = studio(points, "--classes", "a,b", "--port", port)
    for key in "121":  # of which the first is an answer, and the others come too early
        page.keyboard.press(key)
    page.get_by_text("another address").wait_for()
    assert "1 change is not saved" in not_saved(page)
    assert state_of(page, second.address)["answered"] == 1

    # The new page of the same project offers what the old one could not save.
    new = page_of.tab(page, second.address)
    new.get_by_role("button", name="Save it now").click()
    new.wait_for_function("() => document.querySelector('.numbers strong').textContent === '2'")
    saved(new)
    assert state_of(new)["answered"] == 2

    # The old page says so, and does not offer it again when it hears that its studio is gone.
    page.get_by_text("Another page has taken over what was not saved here").wait_for()
    page.evaluate("async () => (await import('./static/saving.js')).connectionLost()")
    new.reload()
    question(new)
    assert not new.locator("#unsaved").is_visible()
    page.close(run_before_unload=False)


def test_a_full_disk_keeps_the_answer_until_there_is_space(studio, points, page_of, tmp_path):
    opened = studio(points, "--classes", "a,b")
    page = page_of(opened.address)
    question(page)
    size = (tmp_path / "x.npy.studio").stat().st_size
    before = resource.prlimit(opened.process.pid, resource.RLIMIT_FSIZE, (1024, -1))
    press_until_heard(page, "1")
    assert "1 change is not saved" in not_saved(page)
    assert state_of(page)["answered"] == 0
    assert (tmp_path / "x.npy.studio").stat().st_size == size
    resource.prlimit(opened.process.pid, resource.RLIMIT_FSIZE, before)
    try_again = page.get_by_role("button", name="Try again")
    try_again.evaluate("button => button.click()")  # at once: after some seconds the page tries by itself
    question(page, "0")
    saved(page)
    assert not page.locator("#unsaved").is_visible()
    assert state_of(page)["answered"] == 1
    page_of.forgive("507")


def test_an_answer_that_the_server_refuses_is_said_and_not_kept(studio, points, page_of):
    page = page_of(studio(points, "--classes", "a,b").address)
    question(page)
    page.keyboard.press("n")
    page.keyboard.type("tab\u0007bell")
    page.keyboard.press("Enter")
    page.get_by_text("can't contain").wait_for()
    assert page.locator("#saved").inner_text() == "Saved"
    assert state_of(page)["answered"] == 0
    page_of.forgive("400")


def test_a_response_that_confirms_another_action_is_no_confirmation(studio, points, page_of):
    page = page_of(studio(points, "--classes", "a,b").address)
    page.route("**/actions", lambda route: route.fulfill(json={"version": 1, "confirmed": "another"}))
    press_until_heard(page, "1")
    not_saved(page)
    page.unroute("**/actions")
    page.get_by_role("button", name="Try again").click()
    question(page, "0")
    assert state_of(page)["answered"] == 1
