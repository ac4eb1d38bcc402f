# SPDX-License-Identifier: Apache-2.0
"""Requirements tested on classes that are already counted, against the same in NumPy on dense counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from anoncore.requirement import Conjunction, passing_classes

N_VALUES = 14


def dense(kind: str, x: Any, c: np.ndarray[Any, Any], table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    p = c / c.sum(axis=1, keepdims=True)
    q = table / table.sum()
    if kind == "share":
        return p.max(axis=1) <= float(x)
    if kind == "entropy":
        return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1) >= np.log(x) - 1e-12
    if kind == "equal":
        return np.abs(p - q).sum(axis=1) / 2 <= float(x)
    if kind == "ordered":
        return np.abs(np.cumsum(p - q, axis=1)).sum(axis=1) / (N_VALUES - 1) <= float(x)
    if kind in ("delta", "delta_present"):
        near = (np.abs(np.log(np.where(p > 0, p, q) / q)) < x).all(axis=1)
        return near & (p > 0).all(axis=1) if kind == "delta" else near
    m = (p + q) / 2
    return ((p * np.log(np.where(p > 0, p, 1) / m)) + q * np.log(q / m)).sum(axis=1) / 2 <= x + 1e-12


@pytest.mark.parametrize(
    ("kind", "x"),
    [
        ("share", Fraction(1, 3)),
        ("entropy", 6.0),
        ("equal", Fraction(3, 10)),
        ("ordered", Fraction(1, 20)),
        ("js", 0.1),
        ("delta", 2.0),
        ("delta_present", 1.2),
    ],
)
def test_passing_classes(kind: str, x: Any, n_rows: int, versus: Callable[..., float]) -> None:
    """One class per 20 rows, a skewed sensitive attribute of 14 values."""
    rng = np.random.default_rng(1)
    share = np.arange(N_VALUES, 0, -1) / np.arange(N_VALUES, 0, -1).sum()
    c = rng.multinomial(20, share, n_rows // 20)
    table = c.sum(axis=0)
    offsets = np.concatenate([[0], np.cumsum((c > 0).sum(axis=1))])
    arrays = (c.sum(axis=1), (offsets,), (np.ascontiguousarray(np.nonzero(c)[1]),), (c[c > 0],))
    conjunction = Conjunction([table], int(table.sum()), [(kind, 0, x)])
    ours, theirs = passing_classes(conjunction, *arrays), dense(kind, x, c, table)
    assert 0 < ours.sum() < len(ours)
    assert np.count_nonzero(ours != theirs) < 0.01 * len(ours)  # the yardstick rounds at the boundary
    versus(
        f"{kind} of {len(ours):,} classes of 20 rows, {N_VALUES} values",
        lambda: passing_classes(conjunction, *arrays),
        f"NumPy {np.__version__} on dense counts",
        lambda: dense(kind, x, c, table),
    )
