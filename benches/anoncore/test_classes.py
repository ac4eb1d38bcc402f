# SPDX-License-Identifier: Apache-2.0
"""Rows to classes: against polars' group_by on the same codes, two threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import anoncore.classes as kernel

N_THREADS = 2


@pytest.fixture(scope="module")
def columns(n_rows: int) -> list[np.ndarray]:
    """Eight code columns with the domain sizes of Adult's QIs, skewed, coarsened to many ties."""
    rng = np.random.default_rng(0)
    sizes = (7, 6, 6, 7, 5, 2, 5, 6)
    return [np.minimum(rng.geometric(min(0.6, 4 / d), n_rows) - 1, d - 1).astype(np.uint8) for d in sizes]


@pytest.fixture(scope="module")
def classes(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return kernel.group(columns, None, N_THREADS)


def test_group(columns: list[np.ndarray], versus: Callable[..., float]) -> None:
    frame = pl.DataFrame({f"q{i}": column for i, column in enumerate(columns)})
    counts = frame.group_by(frame.columns).len()
    offsets = kernel.group(columns, None, N_THREADS)[1]
    assert sorted(np.diff(offsets)) == sorted(counts["len"])
    versus(
        f"group, {len(frame):,} rows x 8 uint8 columns, {N_THREADS} threads",
        lambda: kernel.group(columns, None, N_THREADS),
        f"polars {pl.__version__} group_by(8).len(), {pl.thread_pool_size()} threads",
        lambda: frame.group_by(frame.columns).len(),
        bar=0.75,
    )


def test_split(
    classes: tuple[np.ndarray, np.ndarray], columns: list[np.ndarray], versus: Callable[..., float]
) -> None:
    rng = np.random.default_rng(3)
    more = [rng.integers(0, 1000, len(columns[0])).astype(np.uint16)]
    n_alone, _, offsets = kernel.split(more, *classes, N_THREADS)
    sizes = np.diff(kernel.group([*columns, *more], None, N_THREADS)[1])
    assert (n_alone, len(offsets) - 1) == (np.count_nonzero(sizes == 1), np.count_nonzero(sizes > 1))
    versus(
        f"split by one more column, {len(columns[0]):,} rows, {N_THREADS} threads",
        lambda: kernel.split(more, *classes, N_THREADS),
        "group by all nine",
        lambda: kernel.group([*columns, *more], None, N_THREADS),
        bar=1.0,
    )


def test_few_candidates(columns: list[np.ndarray], benchmark: Any) -> None:
    """Where the known column goes with itself alone, candidates are the rows of the class with its code."""
    classes = kernel.group(columns[1:], None, N_THREADS)
    few = benchmark(kernel.few_candidates, columns[0], columns[0].copy(), *classes, 10, n_threads=N_THREADS)
    sizes = np.diff(kernel.group(columns, None, N_THREADS)[1])
    assert few == sizes[sizes < 10].sum()


def test_value_counts(classes: tuple[np.ndarray, np.ndarray], n_rows: int, benchmark: Any) -> None:
    codes = np.random.default_rng(1).integers(0, 14, n_rows).astype(np.uint8)
    _, values, counts = benchmark(kernel.value_counts, codes, *classes, 14, N_THREADS)
    assert counts.sum() == n_rows
    assert np.array_equal(np.bincount(values, counts, 14), np.bincount(codes, minlength=14))


def test_boxes(classes: tuple[np.ndarray, np.ndarray], columns: list[np.ndarray], benchmark: Any) -> None:
    low, high, null = benchmark(kernel.boxes, columns[0], *classes, -1, N_THREADS)
    assert np.array_equal(low, high)
    assert not null.any()


def test_shuffle(classes: tuple[np.ndarray, np.ndarray], n_rows: int, benchmark: Any) -> None:
    random = np.random.default_rng(2).integers(0, 2**64, n_rows, dtype=np.uint64)
    rows = benchmark(kernel.shuffle, *classes, random, N_THREADS)
    assert np.array_equal(np.sort(rows), np.arange(n_rows))


def near(n_rows: int) -> tuple[list[np.ndarray], list[tuple[Any, ...]]]:
    """Every row of a tenth of the table looks for the rows within 2 on three axes of 100 codes."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 100, n_rows // 10).astype(np.uint8) for _ in range(3)]
    low = np.arange(100, dtype=np.uint32)
    null = np.zeros(100, np.bool_)
    return columns, [(column, low, low + np.uint32(2), null, -1, None, None) for column in columns]


def test_count_inside(n_rows: int, benchmark: Any) -> None:
    columns, sides = near(n_rows)
    counts = benchmark(kernel.count_inside, columns, sides, N_THREADS)
    assert counts.min() >= 1
    share = sum(len(range(code, min(code + 3, 100))) for code in range(100)) / 100
    assert counts.mean() == pytest.approx(1 + (len(columns[0]) - 1) * (share / 100) ** 3, rel=0.1)


def test_find_inside(n_rows: int, benchmark: Any) -> None:
    columns, sides = near(n_rows)
    offsets, rows = benchmark(kernel.find_inside, columns, sides, 2**40, N_THREADS)
    assert np.array_equal(np.diff(offsets), kernel.count_inside(columns, sides, N_THREADS))
    assert len(rows) == offsets[-1]


def test_count_common(n_rows: int, benchmark: Any) -> None:
    """Two families of sets of about ten rows, each row in one or two of either."""
    rng = np.random.default_rng(4)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 3, n_rows))])
    first, second = ((offsets, rng.integers(0, n_rows // 10, offsets[-1]).astype(np.uint32)) for _ in "ab")
    counts = benchmark(kernel.count_common, first, second, np.ones(n_rows, np.int64), N_THREADS)
    assert counts.min() >= 1
