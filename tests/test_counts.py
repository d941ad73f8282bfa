import numpy as np
import pytest

import phaselabel as pl
from phaselabel.counts import check_count, is_whole


def test_whole_numbers():
    assert all(is_whole(value) for value in (0, -3, 2**70, np.uint8(4)))
    assert not any(is_whole(value) for value in (True, np.True_, 1.0, "1", None, np.array([1])))


@pytest.mark.parametrize("value", [1, True, 2.0, "2", None])
def test_a_count_that_makes_no_sense_is_refused_in_one_sentence(value):
    check_count(np.int32(2), 2, "n_splits")
    with pytest.raises(ValueError, match=r"^n_splits must be a whole number of at least 2; got "):
        pl.LabeledFold(value)
