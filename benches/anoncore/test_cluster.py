# SPDX-License-Identifier: Apache-2.0
import numpy as np

from anoncore import cluster


def test_deal(benchmark, n_rows):
    counts = np.sort(np.bincount(np.random.default_rng(0).zipf(1.5, n_rows).clip(max=5000)))[::-1]
    counts = np.ascontiguousarray(counts[counts > 0])
    counts[0] = min(counts[0], counts[1:].sum() // 2)
    taken, left = benchmark(cluster.deal, counts, 3)
    assert taken.size + left.sum() == counts.sum()
