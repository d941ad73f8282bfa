"""Tables that are refused before a kernel reads them, and conversions that lose nothing."""

import numpy as np
import pytest
from scipy import sparse

from phaselabel import nearest_neighbors
from phaselabel.graph.table_checks import as_float, checked_csr, checked_table

LARGE = 2**53


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_arrays_of_the_three_types_are_not_copied(dtype):
    X = np.ones((4, 2), dtype)
    assert checked_table(X, "X") is X


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int32, np.int64, np.float16])
def test_other_types_keep_their_values(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]], dtype)
    np.testing.assert_array_equal(checked_table(X, "X"), X.astype(float))


@pytest.mark.parametrize("exact", [LARGE, -LARGE, LARGE + 2, 2**62, -(2**63), 2**60 + 2**9])
def test_large_whole_numbers_that_float64_holds_are_taken(exact):
    assert as_float(np.array([[exact], [0]]), "X")[0, 0] == exact


@pytest.mark.parametrize(
    ("rounded", "dtype"),
    [
        (LARGE + 1, np.int64),
        (-LARGE - 1, np.int64),
        (2**62 + 1, np.int64),
        (-(2**63) + 1, np.int64),
        (2**63 - 1, np.int64),
        (2**64 - 1, np.uint64),
    ],
)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_whole_numbers_that_would_be_rounded_are_refused(rounded, dtype, metric):
    X = np.array([[5, 1], [rounded, 1], [7, 1]], dtype)
    with pytest.raises(ValueError, match=f"Row 1, column 0 of X has the whole number {rounded}"):
        nearest_neighbors(X, 1, metric=metric)
    with pytest.raises(ValueError, match=f"of queries has the whole number {rounded}"):
        nearest_neighbors(X[[0, 2]], 1, metric=metric, queries=X)
    with pytest.raises(ValueError, match=f"X has the whole number {rounded}"):
        nearest_neighbors(sparse.csr_array(X), 1, metric=metric)


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(np.float64).max, reason="no longer type here")
def test_long_numbers_beyond_float64_are_refused():
    X = np.array([[1.0], [2.0], [1.0]], np.longdouble)
    np.testing.assert_array_equal(checked_table(X, "X"), X)
    X[1] = np.longdouble("1e400")
    with pytest.raises(ValueError, match="beyond the range of float64"):
        nearest_neighbors(X, 1)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("wrong", [99, -5])
def test_sparse_matrices_with_indices_out_of_range_are_refused(kind, wrong):
    matrix = kind(np.eye(4) + 1)
    matrix.indices[3] = wrong
    with pytest.raises(ValueError, match="X is not a proper sparse matrix"):
        checked_csr(matrix, "X")
    for metric in ("euclidean", "manhattan"):
        with pytest.raises(ValueError, match="not a proper sparse matrix"):
            nearest_neighbors(matrix, 1, metric=metric)
    with pytest.raises(ValueError, match="queries is not a proper sparse matrix"):
        nearest_neighbors(sparse.csr_array(np.eye(4)), 1, queries=matrix)


@pytest.mark.parametrize("last", [0, -1, 10**6])
def test_row_pointers_that_fall_are_refused(last):
    # SciPy looks at none of them where the last one is 0, and its sort ended the process.
    matrix = sparse.csr_array(np.eye(4))
    matrix.indptr[-1] = last
    with pytest.raises(ValueError, match="X is not a proper sparse matrix"):
        checked_csr(matrix, "X")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo"])
def test_indices_that_lead_outside_are_refused(kind):
    matrix = sparse.coo_array(np.eye(4)).asformat(kind)
    (matrix.row if kind == "coo" else matrix.indices)[1] = 10**6
    with pytest.raises(ValueError, match="X is not a proper sparse matrix"):
        checked_csr(matrix, "X")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrices_of_every_format_are_taken(kind):
    values = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(checked_csr(sparse.coo_array(values).asformat(kind), "X").toarray(), values)


def test_dense_queries_go_with_sparse_rows():
    X = np.random.default_rng(0).normal(size=(12, 3))
    found = nearest_neighbors(sparse.csr_array(X), 2, queries=X[:4])
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(4))


def test_long_indices_of_a_sparse_matrix_become_short():
    entries = np.ones(2), (np.array([0, 1]), np.array([3, 0]))
    long = sparse.csr_array(entries, shape=(2, 5))
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    short = as_float(long, "X")
    assert (short.indices.dtype, short.indptr.dtype) == (np.int32, np.int32)
    assert np.shares_memory(short.data, long.data)
    np.testing.assert_array_equal(short.toarray(), long.toarray())
