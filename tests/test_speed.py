"""A guard against a slow kernel: a sweep beside a plain sparse product, as a ratio with room."""

import time

import numba as nb
import numpy as np

import phaselabel as pl
from phaselabel import _kernels
from phaselabel.descent import LocalDescent
from phaselabel.star import checked_fidelity


@nb.njit(fastmath={"contract", "reassoc", "nsz"})
def product(indptr, indices, weights, x, out):
    for i in range(np.uint64(0), np.uint64(out.size)):
        total = np.float32(0)
        for e in range(indptr[i], indptr[i + np.uint64(1)]):
            total += weights[e] * x[indices[e]]
        out[i] = total


def cpu_seconds(function, batch):
    start = time.thread_time()
    for _ in range(batch):
        function()
    return time.thread_time() - start


def test_a_sweep_costs_little_more_than_a_sparse_product():
    """Processor time of one thread, alternating, the median ratio of many: steady on a busy machine.

    Measured: 1.45 to 1.49, idle or busy. A kernel that is 1.5 times slower fails.
    """
    n, k = 60_000, 10
    rng = np.random.default_rng(0)
    near = (np.arange(n)[:, None] + rng.permuted(np.tile(np.r_[-40:0, 1:41], (n, 1)), axis=1)[:, :k]) % n
    graph = pl.similarity_graph((near, rng.uniform(0.5, 1, (n, k))))
    labels = np.where(np.arange(n) % 50 == 0, np.arange(n) // (n // 10), -1).astype(np.int32)
    start = pl.State.at_hub(n).with_labels(labels)
    descent = LocalDescent(graph, labels, checked_fidelity(30.0, labels), start, 10)
    descent.set_epsilon(1.0, "auto")
    for _ in range(40):
        descent.look()
    arguments, x, out = descent.patch.arguments(), rng.random(n, np.float32), np.empty(n, np.float32)
    contenders = [lambda: _kernels.sweep.serial(*arguments), lambda: product(*graph.csr, x, out)]
    for contender in contenders:
        contender()
    ratios = [cpu_seconds(contenders[0], 5) / cpu_seconds(contenders[1], 5) for _ in range(25)]
    assert np.median(ratios) < 1.95
