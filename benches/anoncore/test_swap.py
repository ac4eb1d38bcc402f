# SPDX-License-Identifier: Apache-2.0
import numpy as np

from anoncore import swap


def test_swapped(benchmark, n_rows):
    draws = np.random.default_rng(0).random(n_rows)
    source = benchmark(swap.swapped, draws, n_rows // 20)
    assert (source[source] == np.arange(n_rows)).all()


def test_partners(benchmark, n_rows):
    rng = np.random.default_rng(0)
    n = n_rows // 2
    profile, area = (rng.integers(0, most, n).astype(np.uint32) for most in (50, 400))
    order = rng.permutation(n).astype(np.uint32)

    def paired():
        return swap.partners(profile, area, order, order[: n // 4], np.zeros(n, np.uint8), n)

    assert (benchmark(paired) >= 0).mean() > 0.5
