"""Trees as arrays and rows in, the mean of the leaves that each row ends in out."""

import numba as nb

from phaselabel._kernels.compile import kernel


@kernel(parallel=True)
def leaf_means(rows, roots, feature, threshold, left, right, value, out):  # type: ignore[no-untyped-def]
    """out_i = mean over trees of value[leaf of row i]; a row goes left where it is at most the threshold."""
    for i in nb.prange(rows.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = 0
        for t in range(roots.size):
            node = roots[t]
            while left[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for k in range(out.shape[1]):
                out[i, k] += value[node, k]
        for k in range(out.shape[1]):
            out[i, k] /= roots.size
