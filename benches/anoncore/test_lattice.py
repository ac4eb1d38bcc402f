# SPDX-License-Identifier: Apache-2.0
import numpy as np

from anoncore.lattice import Lattice, roll_up


def test_roll_up(benchmark, n_rows):
    n_codes = [70, 16, 7, 40, 5, 2, 7]
    codes = np.unique(np.random.default_rng(0).integers(0, n_codes, (n_rows // 10, 7)), axis=0).astype(
        np.uint32
    )
    labels = [[np.arange(n, dtype=np.uint32), (np.arange(n) // 4).astype(np.uint32)] for n in n_codes]
    lattice = Lattice(codes, labels)
    everyone, ones = np.arange(len(codes), dtype=np.uint32), np.ones(len(codes), np.int64)
    _, rows, _ = benchmark(roll_up, lattice, (1,) * 7, everyone, ones)
    assert rows.sum() == len(codes)
