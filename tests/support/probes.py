"""Two probes of the flow in, whether they agree out."""

import numpy as np

#: The largest relative difference of a figure that rounding on another machine can make.
PROBE_TOL = 1e-4


def same_results(one, other):
    """Whether two probes agree, up to rounding."""
    return one.keys() == other.keys() and all(
        len(one[name]) == len(other[name]) and np.allclose(one[name], other[name], rtol=PROBE_TOL, atol=0)
        for name in one
    )
