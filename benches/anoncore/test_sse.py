# SPDX-License-Identifier: Apache-2.0
"""Pools of near groups, and the best cuts of a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from anoncore import sse
from anoncore.attribute import Attribute


def test_refine(benchmark: Any) -> None:
    points = np.random.default_rng(0).normal(size=(5000, 6))
    rows = np.argsort(points[:, 0]).astype(np.uint32)
    offsets = np.arange(0, 5001, 5)
    marks = np.zeros(1000, np.uint64)
    seeds = np.ones(1000, np.uint8)
    found, *_ = benchmark.pedantic(sse.refine, args=(points, rows, offsets, 5, 4, marks, seeds), rounds=1)
    assert len(np.unique(found)) == 5000


def test_gower(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, (5000, 6)).astype(np.uint8)
    line, flat = Attribute(12, np.arange(12.0), loss="byun"), Attribute(12, loss="byun")
    rows, offsets = np.lexsort(codes.T).astype(np.uint32), np.arange(0, 5001, 5)
    marks, seeds = np.zeros(1000, np.uint64), np.ones(1000, np.uint8)
    arguments = (codes, [line, flat] * 3, rows, offsets, 5, 4, marks, seeds)
    found, *_ = benchmark.pedantic(sse.gower, args=arguments, rounds=1)
    assert len(np.unique(found)) == 5000


def test_spread(benchmark: Any, n_rows: int) -> None:
    codes = np.random.default_rng(0).integers(0, 12, (n_rows, 6)).astype(np.uint8)
    line, flat = Attribute(12, np.arange(12.0), loss="byun"), Attribute(12, loss="byun")
    rows, offsets = np.arange(n_rows, dtype=np.uint32), np.arange(0, n_rows + 1, 5)
    errors = benchmark.pedantic(sse.spread, args=(codes, [line, flat] * 3, rows, offsets), rounds=1)
    assert errors.min() >= 0


def test_cut(benchmark: Any, n_rows: int) -> None:
    points = np.random.default_rng(0).normal(size=(n_rows, 6))
    offsets = benchmark.pedantic(sse.cut, args=(points, 5), rounds=1)
    assert np.diff(offsets).min() >= 5
