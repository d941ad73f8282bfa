import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaselabel import State


@given(st.lists(st.floats(-0.5, 9.49), min_size=1, max_size=20))
def test_u_and_back_keeps_arm_and_height(values):
    state = State.from_u(values)
    again = State.from_u(state.to_u())
    inside = state.height > 1e-9  # at the hub itself all arms are one point
    np.testing.assert_array_equal(again.arm[inside], state.arm[inside])
    np.testing.assert_allclose(again.height, state.height, atol=1e-12)


@pytest.mark.parametrize("u", [[np.nan], [np.inf], [1e300], [-0.6], [0.5, -np.inf]])
def test_numbers_that_are_no_state_are_refused(u):
    with pytest.raises(ValueError, match="nearest whole number is the class"):
        State.from_u(u)


def test_hub_has_no_class_and_no_confidence():
    state = State.at_hub(3).with_labels(np.array([-1, 1, -1]))
    assert state.arm.tolist() == [-1, 1, -1]
    assert state.confidence(2).tolist() == [0, 1, 0]
    assert np.isnan(state.to_u()[0])


def test_random_start_covers_all_classes_evenly():
    state = State.at_random(30_000, 3, np.random.default_rng(0))
    assert np.all(np.abs(np.bincount(state.arm) - 10_000) < 500)
    assert state.height.min() >= 0
    assert state.height.max() <= 0.5
