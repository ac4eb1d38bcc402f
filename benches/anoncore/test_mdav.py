# SPDX-License-Identifier: Apache-2.0
"""Exact MDAV through the kd-tree against the plain quadratic algorithm; best groups of one attribute."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from anon.datasets.uci import adult
from anoncore import mdav
from anoncore.attribute import Attribute

DATA = Path(os.environ["ANON_DATA"])
NUMBERS = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


@numba.njit(nogil=True)
def plain_mdav(points: Any, k: int) -> Any:
    """Every row that is left is looked at in every step; rows in the order of their groups."""
    points = points.copy()
    n, m = points.shape
    row_of, rows, done, left = np.arange(n), np.empty(n, np.uint32), 0, n
    sums, away, place = points.sum(axis=0), np.empty(n), np.empty(m)
    while left >= 2 * k:
        two = left >= 3 * k
        for step in range(2 if two else 1):
            for a in range(m):
                place[a] = sums[a] / left if step == 0 else place[a]
            at = 0
            for turn in range(2):
                for i in range(left):
                    d = 0.0
                    for a in range(m):
                        d += (points[i, a] - place[a]) ** 2
                    away[i] = d
                if turn == 0:
                    at = int(np.argmax(away[:left]))
                    far = points[at].copy()
                    for a in range(m):
                        place[a] = far[a]
            near = np.argsort(away[:left])[:k]
            for i in np.sort(near)[::-1]:
                rows[done] = row_of[i]
                done += 1
                left -= 1
                sums -= points[i]
                row_of[i] = row_of[left]
                points[i] = points[left]
    rows[done:] = row_of[:left]
    return rows


@pytest.fixture(scope="module")
def numbers() -> Any:
    table = adult(DATA / "adult").select(NUMBERS)
    points = np.column_stack([table[name].to_numpy().astype(np.float64) for name in NUMBERS])
    return points / points.std(axis=0)


@pytest.mark.slow
@pytest.mark.adult
def test_mdav(versus: Callable[..., float], numbers: Any) -> None:
    plain_mdav(numbers[:100], 3)
    few = numbers[:9000]
    versus(
        f"MDAV, {len(few):,} Adult rows, 6 numbers, k = 3",
        lambda: mdav.mdav(few, np.ones(6), 3),
        "the plain algorithm (numba)",
        lambda: plain_mdav(few, 3),
        bar=1 / 10,
        rounds=1,
    )


@pytest.mark.adult
def test_mdav_adult(benchmark: Any, numbers: Any) -> None:
    rows, _ = benchmark.pedantic(mdav.mdav, args=(numbers, np.ones(6), 3), rounds=1)
    assert len(np.unique(rows)) == len(numbers)


def test_gower(benchmark: Any) -> None:
    codes = np.random.default_rng(0).integers(0, 12, (10_000, 6)).astype(np.uint8)
    line, flat = Attribute(12, np.arange(12.0), loss="byun"), Attribute(12, loss="byun")
    rows, _ = benchmark.pedantic(mdav.gower, args=(codes, [line, flat] * 3, 5), rounds=1)
    assert len(np.unique(rows)) == len(codes)


def test_optimal(benchmark: Any, n_rows: int) -> None:
    values = np.sort(np.random.default_rng(0).exponential(size=n_rows))
    offsets = benchmark.pedantic(mdav.optimal, args=(values, 5), rounds=1)
    assert offsets[-1] == n_rows
    assert np.diff(offsets).min() >= 5
