# SPDX-License-Identifier: Apache-2.0
"""Distances per class, on the counts of a table in classes of about ten rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anoncore.classes as classes_kernel
import anoncore.divergence as kernel

N_THREADS = 2


@pytest.fixture(scope="module")
def counts(n_rows: int) -> tuple[np.ndarray, ...]:
    """CSR counts of a 14-value attribute in classes of ten rows, and the table's."""
    codes = np.minimum(np.random.default_rng(0).geometric(0.2, n_rows) - 1, 13).astype(np.uint8)
    rows, offsets = np.arange(n_rows, dtype=np.uint32), np.append(np.arange(0, n_rows, 10), n_rows)
    csr = classes_kernel.value_counts(codes, rows, offsets, 14, N_THREADS)
    return *csr, np.bincount(codes, minlength=14)


def test_concentration(counts: tuple[np.ndarray, ...], benchmark: Any) -> None:
    size, largest, _, _, _ = benchmark(kernel.concentration, counts[0], counts[2], N_THREADS)
    assert size.sum() == counts[3].sum()
    assert np.all(largest <= size)


def test_distances(counts: tuple[np.ndarray, ...], benchmark: Any) -> None:
    js, equal, *_ = benchmark(kernel.distances, *counts, N_THREADS)
    assert 0 <= js.min() <= js.max() <= np.log(2)
    assert np.all(js <= np.log(2) * equal + 1e-12)


def test_ordered(counts: tuple[np.ndarray, ...], benchmark: Any) -> None:
    distance = benchmark(kernel.ordered, *counts, N_THREADS)
    assert np.all(distance <= kernel.distances(*counts)[1] + 1e-12)


def test_hierarchical(counts: tuple[np.ndarray, ...], benchmark: Any) -> None:
    """Two groups of seven values."""
    parent = np.array([-1] + [0] + [1] * 7 + [0] + [9] * 7, np.int32)
    depth = np.array([0] + [1] + [2] * 7 + [1] + [2] * 7, np.int32)
    leaf = np.array([*range(2, 9), *range(10, 17)], np.int32)
    distance = benchmark(kernel.hierarchical, *counts, parent, depth, leaf, N_THREADS)
    assert np.all(distance <= kernel.distances(*counts)[1] + 1e-12)
