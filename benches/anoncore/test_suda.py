# SPDX-License-Identifier: Apache-2.0
import numpy as np

from anoncore import suda


def test_minimal_uniques(benchmark, n_rows):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.zipf(1.5, n_rows).clip(max=k).astype(np.uint8) for k in (3, 6, 7, 16, 41, 74)])
    distinct, counts = np.unique(codes, axis=1, return_counts=True)
    codes, single = np.ascontiguousarray(distinct), (counts == 1).astype(np.uint8)
    rows, sets = benchmark(suda.minimal_uniques, codes, np.full(6, -1), single, 4)
    assert len(rows) == len(sets) > 0
