# SPDX-License-Identifier: Apache-2.0
import numpy as np

from anoncore.nulling import null_cells


def test_null_cells(benchmark, n_rows):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.zipf(1.5, n_rows).clip(max=k) for k in (2, 5, 5, 7, 7, 14, 16, 41)], axis=1)
    codes = codes[np.lexsort(codes.T[::-1])].astype(np.uint8)
    zeros, ones = np.zeros(8, np.int64), np.ones(8, np.int64)
    everything = np.array([255], np.uint64), np.array([5])
    masks = benchmark(null_cells, codes, -ones, np.zeros(n_rows, np.int64), 0, *everything, zeros, ones)
    assert 0 < np.count_nonzero(masks) < n_rows
