"""A step that fails becomes a sentence; an error that was not foreseen is logged."""

import logging

from phaselabel.studio.attempt import attempt


def failing(error):
    def step():
        raise error

    return step


def test_a_step_that_succeeds_says_nothing():
    said = []
    assert attempt(lambda: None, "It failed", said.append)
    assert not said


def test_a_value_error_is_told_and_not_logged(caplog):
    said = []
    with caplog.at_level(logging.DEBUG):
        assert not attempt(failing(ValueError("Too few.")), "It failed", said.append)
    assert said == ["It failed: Too few."]
    assert not caplog.records


def test_any_other_error_is_told_and_logged(caplog):
    said = []
    assert not attempt(failing(RuntimeError("full")), "It failed", said.append)
    assert said == ["It failed: full."]
    assert caplog.records[0].exc_info
