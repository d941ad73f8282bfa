"""Rows that the tests of the estimators share."""

import numpy as np
import pytest

from phaselabel.datasets import sample_labels


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 3)) + 6 * np.eye(3)[y]
    return X, y, sample_labels(y, 2, random_state=0)
