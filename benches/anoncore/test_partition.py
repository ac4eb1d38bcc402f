# SPDX-License-Identifier: Apache-2.0
"""Mondrian from code columns to classes, packing included."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy
from scipy.spatial import cKDTree

from anoncore.attribute import Attribute
from anoncore.partition import best_cut, partition, turns
from anoncore.requirement import Conjunction

K = 10
Versus = Callable[..., float]


def attributes(columns: list[np.ndarray]) -> list[Attribute]:
    """Ordered attributes whose positions are their codes."""
    return [Attribute(d, np.arange(float(d))) for d in (int(column.max()) + 1 for column in columns)]


def narrow(n: int, skewed: bool = True) -> list[np.ndarray]:
    """Eight code columns of at most 256 values."""
    rng = np.random.default_rng(0)
    if not skewed:
        return [rng.integers(0, 256, n, dtype=np.uint8) for _ in range(8)]
    domains = (74, 9, 16, 7, 15, 6, 5, 256)
    return [np.minimum(rng.gamma(2, d / 8, n), d - 1).astype(np.uint8) for d in domains]


def runner(
    columns: list[np.ndarray],
    rules: list[Any] | None = None,
    sensitive: np.ndarray | None = None,
    n_threads: int = 2,
) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """A run to be timed, after one whose answer is checked."""
    n = len(columns[0])
    counts = [] if sensitive is None else [np.bincount(sensitive)]
    conjunction = Conjunction(counts, n, [("size", K), *(rules or [])])
    described = attributes(columns)
    codes = () if sensitive is None else (sensitive,)

    def run() -> tuple[np.ndarray, np.ndarray]:
        return partition(columns, described, conjunction, sensitive=codes, n_threads=n_threads)

    rows, offsets = run()
    assert np.diff(offsets).min() >= K
    assert (np.bincount(rows, minlength=n) == 1).all()
    assert len(offsets) > n / (4 * K)
    return run


@pytest.mark.parametrize("skewed", [False, True], ids=["uniform", "skewed"])
def test_partition(versus: Versus, n_rows: int, skewed: bool) -> None:
    columns = narrow(n_rows, skewed)
    points = np.stack(columns, axis=1).astype(np.float32)
    versus(
        f"Mondrian k={K}, {n_rows} rows x 8 QIs (uint8, {'skewed' if skewed else 'uniform'}), 2 threads",
        runner(columns),
        f"scipy {scipy.__version__} cKDTree(float32, leafsize=20)",
        lambda: cKDTree(points, leafsize=20),
        bar=1 / 12,
    )


def test_partition_threads(versus: Versus, n_rows: int) -> None:
    columns = narrow(n_rows)
    versus("2 threads", runner(columns), "1 thread", runner(columns, n_threads=1), bar=1 / 1.6)


def test_partition_growth(versus: Versus, n_rows: int) -> None:
    columns = narrow(n_rows)
    few = [column[: n_rows // 10].copy() for column in columns]
    versus(f"{n_rows} rows", runner(columns), f"{n_rows // 10} rows", runner(few), bar=14)


def test_partition_wide_codes(versus: Versus, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    n = n_rows // 5
    wide = [rng.permutation(np.arange(n, dtype=np.uint32) // 2) for _ in range(4)]
    versus(
        f"{n} rows x 4 QIs of {n // 2} values (uint32)",
        runner(wide),
        f"{n_rows} rows x 8 QIs of <= 256 values",
        runner(narrow(n_rows)),
        bar=4 * n / n_rows,
    )


@pytest.mark.parametrize("skewed", [False, True], ids=["uniform", "skewed"])
@pytest.mark.parametrize(
    ("rule", "n_values", "bar"),
    [
        (("share", 0, Fraction(1, 3)), 14, 1.6),
        (("js", 0, 0.2), 14, 2.5),
        (("distinct", 0, 5), 5000, 3.0),
    ],
    ids=["l-diversity", "t-closeness", "large-domain"],
)
def test_partition_sensitive(
    versus: Versus, n_rows: int, rule: Any, n_values: int, bar: float, skewed: bool
) -> None:
    columns = narrow(n_rows, skewed)
    rng = np.random.default_rng(1)
    sensitive = np.minimum(rng.gamma(2, n_values / 7, n_rows), n_values - 1).astype(np.uint16)
    versus(
        f"k={K} and {rule[0]} {rule[2]} on {n_values} values ({'skewed' if skewed else 'uniform'})",
        runner(columns, [rule], sensitive),
        f"k={K} alone",
        runner(columns),
        bar=bar,
    )


def test_best_cut(versus: Versus, n_rows: int) -> None:
    """The root's cut from counts of pairs of codes, against the cut of the rows that they count."""
    rng = np.random.default_rng(1)
    d, column = n_rows // 4, rng.integers(0, n_rows // 4, n_rows).astype(np.uint32)
    sensitive = rng.integers(0, 14, n_rows).astype(np.uint16)
    pair, rows = np.unique(column.astype(np.int64) * 14 + sensitive, return_counts=True)
    values, first = np.unique(pair // 14, return_index=True)
    starts = np.append(first, len(pair))
    below = np.concatenate([[0], np.cumsum(np.add.reduceat(rows, first))])
    described = attributes([np.array([d - 1])])
    whole = Conjunction(
        [np.bincount(sensitive)], n_rows, [("size", n_rows // 3), ("share", 0, Fraction(1, 3))]
    )
    histogram = (0, values, below, [(starts, pair % 14, rows)])

    def run() -> object:
        return best_cut(described, [histogram], whole)

    assert run() is not None
    versus(
        f"one cut of {len(pair)} counts",
        run,
        f"one cut of {n_rows} rows",
        lambda: partition([column], described, whole, sensitive=[sensitive]),
        bar=1,
    )


def test_turns(versus: Versus) -> None:
    m = 1000
    described = attributes([np.array([255])] * m)
    low, high = np.arange(m) % 100, 100 + np.arange(m) % 156
    versus(
        f"turns of {m} attributes",
        lambda: turns(described, low, high, high - low + 1),
        "sorted() of their widths",
        lambda: sorted(range(m), key=lambda a: low[a] - high[a]),
        bar=20,
    )
