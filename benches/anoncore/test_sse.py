# SPDX-License-Identifier: Apache-2.0
"""Pools of near groups, and the best cuts of a line."""

from __future__ import annotations

from typing import Any

import numpy as np

from anoncore import sse


def test_refine(benchmark: Any) -> None:
    points = np.random.default_rng(0).normal(size=(5000, 6))
    rows = np.argsort(points[:, 0]).astype(np.uint32)
    offsets = np.arange(0, 5001, 5)
    marks = np.zeros(1000, np.uint64)
    seeds = np.ones(1000, np.uint8)
    found, *_ = benchmark.pedantic(sse.refine, args=(points, rows, offsets, 5, 4, marks, seeds), rounds=1)
    assert len(np.unique(found)) == 5000


def test_cut(benchmark: Any, n_rows: int) -> None:
    points = np.random.default_rng(0).normal(size=(n_rows, 6))
    offsets = benchmark.pedantic(sse.cut, args=(points, 5), rounds=1)
    assert np.diff(offsets).min() >= 5
