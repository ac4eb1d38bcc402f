# SPDX-License-Identifier: Apache-2.0
import numpy as np

from anoncore import swap


def test_swapped(benchmark, n_rows):
    draws = np.random.default_rng(0).random(n_rows)
    source = benchmark(swap.swapped, draws, n_rows // 20)
    assert (source[source] == np.arange(n_rows)).all()
