"""Points of several classes, for tests on a cluster."""

import numpy as np


def blobs(n=12_000, seed=0, n_classes=5, width=12, dtype=np.float32):
    """Classes of several small clusters each, some of them touching."""
    rng = np.random.default_rng(seed)
    centres = 2.5 * rng.normal(size=(8 * n_classes, width))
    part = rng.integers(0, len(centres), n)
    return (centres[part] + rng.normal(size=(n, width))).astype(dtype), part % n_classes
