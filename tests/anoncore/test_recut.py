# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_curve import SEVERAL, kernel_records, read_only, tables

from anoncore import recut
from anoncore.requirement import Conjunction
from reference import curve as slow_curve
from reference import recut as slow

# Of a class, the most that one value of each sensitive attribute may have.
SHARES = (Fraction(1, 2), Fraction(3, 4))


def rules_of(sensitive: list[tuple[int, ...]], k: int) -> tuple[Conjunction, Any, Any]:
    """No value has more than its attribute's share of a class: the kernel's rules, codes, and the test."""
    columns = list(zip(*sensitive, strict=True))
    counts = [np.bincount(column, minlength=4).astype(np.int64) for column in columns]
    shares = [("share", a, SHARES[a]) for a in range(len(columns))]

    def passes(rows: Any) -> bool:
        return all(
            max(Counter(sensitive[row][a] for row in rows).values()) <= SHARES[a] * len(rows)
            for a in range(len(columns))
        )

    return Conjunction(counts, len(sensitive), [("size", k), *shares]), read_only(sensitive, np.int32), passes


def split(rows: Any, offsets: Any) -> list[list[int]]:
    return [rows[start:end].tolist() for start, end in itertools.pairwise(offsets)]


@given(st.data(), SEVERAL, st.integers(1, 3), st.integers(0, 2), st.sampled_from([None, 60, 95, 120]))
@settings(max_examples=80)
def test_divide_and_recut_equal_their_twins(
    data: st.DataObject, of: list[Any], k: int, n_sensitive: int, reach: int | None
) -> None:
    few = 1 if reach is None else 4
    sizes = data.draw(st.lists(st.integers(2, 12 if reach else 40), min_size=few, max_size=2 * few))
    sizes = [max(size, k, 2 * n_sensitive) for size in sizes]
    n = sum(sizes)
    table = data.draw(tables(of, n, n))
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]
    widths, records = kernel_records(of, table)
    rules, codes, passes, sensitive = None, None, None, []
    if n_sensitive:
        pairs = data.draw(st.permutations([(row % 2, row % 3)[:n_sensitive] for row in range(n)]))
        sensitive = [list(pair) for pair in pairs]
        rules, codes, passes = rules_of(pairs, k)
        k = max(k, rules.min_size)
        if not all(len(rows) >= k and passes(rows) for rows in classes):
            return
    if reach is None:
        rows, offsets, before, after = recut.divide(widths, records, ends, k, rules, codes)
        expected = slow.divide(of, table, classes, k, passes, sensitive)
    else:
        rows, offsets, before, after = recut.recut(widths, records, ends, k, reach, rules, codes)
        expected = slow.recut(of, table, classes, k, reach, passes, sensitive)
    ours = split(rows, offsets)
    assert ours == expected
    assert before == sum(slow_curve.loss(of, table, each) for each in classes)
    assert after == sum(slow_curve.loss(of, table, each) for each in ours) <= before
    assert sorted(rows.tolist()) == list(range(n))
    assert all(len(each) >= k and (passes is None or passes(each)) for each in ours)


def test_rules_on_units_are_refused() -> None:
    of = [(3, 1.0, [0.0, 1.0, 2.0], None)]
    widths, records = kernel_records(of, [(0,), (1,), (2,), (2,)])
    for rules in (Conjunction([], 4, [("units", 2)]), Conjunction([], 4, [("size", 2)], by_units=True)):
        with pytest.raises(ValueError, match="rules on units"):
            recut.divide(widths, records, np.array([0, 4]), 2, rules)
        with pytest.raises(ValueError, match="rules on units"):
            recut.recut(widths, records, np.array([0, 4]), 2, 90, rules)
