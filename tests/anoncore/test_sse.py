# SPDX-License-Identifier: Apache-2.0
"""Groups of little squared error against their twin, and the least error where all groupings can be tried."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_diversity import attribute_of, attributes

import reference.sse as twin
from anoncore import sse
from anoncore.requirement import Conjunction


def error_of(points: Any, groups: Any) -> float:
    return sum(len(group) * points[group].var(axis=0).sum() for group in groups)


def refined(points: Any, groups: list[list[int]], k: int, q: int, tried: Any, seeds: Any) -> Any:
    offsets = np.cumsum([0, *map(len, groups)])
    rows, ends, names = sse.refine(
        points, np.concatenate(groups).astype(np.uint32), offsets, k, q, tried, seeds
    )
    return [rows[a:b].tolist() for a, b in pairwise(ends)], names


@st.composite
def grouped(draw: st.DrawFn) -> Any:
    """Points, some of them in groups of k to 2k - 1."""
    m, k = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(k, 2 * k - 1), min_size=1, max_size=7))
    greatest = draw(st.sampled_from([1, 5, 100]))
    n = sum(sizes) + draw(st.integers(0, 3))
    row = st.lists(st.integers(0, greatest), min_size=m, max_size=m)
    points = np.array(draw(st.lists(row, min_size=n, max_size=n)), np.float64)
    rows = draw(st.permutations(range(n)))
    return points, [rows[e - size : e] for size, e in zip(sizes, np.cumsum(sizes), strict=True)], k


@given(grouped(), st.integers(1, 4), st.data())
@settings(max_examples=150, deadline=None)
def test_refine_equals_its_twin(table: Any, q: int, data: st.DataObject) -> None:
    points, groups, k = table
    seeds = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=len(groups), max_size=len(groups))), np.uint8
    )
    tried: Any = np.zeros(len(groups), np.uint64)
    for _ in range(2):
        found, names = refined(points, groups, k, q, tried, seeds)
        expected = twin.refine(points.tolist(), groups, k, q, tried.tolist(), seeds.tolist())
        assert (found, names.tolist()) == expected
        assert sorted(chain(*found)) == sorted(chain(*groups))
        assert all(k <= len(group) < 2 * k for group in found)
        assert error_of(points, found) <= error_of(points, groups) * (1 + 1e-12)
        groups, tried, seeds = found, names, np.ones(len(found), np.uint8)


@given(st.lists(attributes(huge=False), min_size=1, max_size=3), grouped(), st.integers(1, 4), st.data())
@settings(max_examples=80, deadline=None)
def test_gower_and_spread_equal_their_twins(
    twins: list[dict[str, Any]], table: Any, q: int, data: st.DataObject
) -> None:
    """Widths are sums of powers of two, so that their sums are exact."""
    for each in twins:
        each["weight"] = data.draw(st.sampled_from([1.0, 2.0, 0.0]))
        if each["kind"] == "ordered":
            each["n_values"], each["positions"] = 5, [0.0, 1.0, 2.0, 5.0, 8.0]
        if each["kind"] == "tree":
            each |= {"n_values": 4, "parent": [-1, 0, 0, 1, 1, 2, 2], "leaf": [3, 4, 5, 6]}
    points, groups, k = table
    row = st.tuples(*(st.integers(0, each["n_values"]) for each in twins))
    codes = data.draw(st.lists(row, min_size=len(points), max_size=len(points)))
    fast = [attribute_of(each, "byun", each["weight"]) for each in twins]
    packed = np.array(codes, np.uint16)
    tried, seeds = np.zeros(len(groups), np.uint64), np.ones(len(groups), np.uint8)

    def flat(groups: Any) -> Any:
        return np.concatenate(groups).astype(np.uint32), np.cumsum([0, *map(len, groups)])

    errors = sse.spread(packed, fast, *flat(groups))
    assert errors.tolist() == twin.spread(codes, twins, groups)
    for _ in range(2):
        rows, ends, names = sse.gower(packed, fast, *flat(groups), k, q, tried, seeds)
        found = [rows[a:b].tolist() for a, b in pairwise(ends)]
        expected = twin.gower(codes, twins, groups, k, q, tried.tolist(), seeds.tolist())
        assert (found, names.tolist()) == expected
        after = sse.spread(packed, fast, rows, ends)
        assert after.sum() <= errors.sum() * (1 + 1e-12)
        groups, errors, tried, seeds = found, after, names, np.ones(len(found), np.uint8)


@given(grouped(), st.integers(1, 4), st.booleans(), st.data())
@settings(max_examples=80, deadline=None)
def test_groups_that_pass_go_on_passing(table: Any, q: int, coded: bool, data: st.DataObject) -> None:
    """Two sensitive attributes: two values of the one, at most half of a group with one of the other."""
    points, groups, k = table
    n = len(points)
    row = st.tuples(st.integers(0, 2), st.integers(0, 3))
    sensitive = np.array(data.draw(st.lists(row, min_size=n, max_size=n)), np.int32)
    counts = [np.bincount(column, minlength=5) for column in sensitive.T]
    rules = Conjunction(counts, n, [("distinct", 0, 2), ("share", 1, Fraction(1, 2))])
    most = data.draw(st.integers(2 * k - 1, 2 * k + 9))

    values = list(map(tuple, sensitive.tolist()))

    def passes(group: list[Any]) -> bool:
        common = max(Counter(two for _, two in group).values())
        return 2 * common <= len(group) and len({one for one, _ in group}) > 1

    def all_pass(groups: list[list[int]]) -> bool:
        return all(passes([values[row] for row in group]) for group in groups)

    tried, seeds = np.zeros(len(groups), np.uint64), np.ones(len(groups), np.uint8)
    rows, offsets = np.concatenate(groups).astype(np.uint32), np.cumsum([0, *map(len, groups)])
    more = (k, q, tried, seeds, most, rules, sensitive)
    if coded:
        codes = (points % 5).astype(np.uint8)
        line = {"kind": "ordered", "n_values": 5, "positions": [0.0, 1.0, 2.0, 5.0, 8.0], "weight": 1.0}
        lines = [line] * points.shape[1]
        out = sse.gower(codes, [attribute_of(line, "byun")] * len(lines), rows, offsets, *more)
        expected = twin.gower(codes.tolist(), lines, groups, k, q, tried, seeds, most, passes, values)
    else:
        out = sse.refine(points, rows, offsets, *more)
        ruled = {"most": most, "passes": passes, "sensitive": values}
        expected = twin.refine(points.tolist(), groups, k, q, tried, seeds, **ruled)
    found = [out[0][a:b].tolist() for a, b in pairwise(out[1])]
    assert (found, out[2].tolist()) == expected
    assert sorted(chain(*found)) == sorted(chain(*groups))
    assert all(k <= len(group) <= most for group in found)
    assert all_pass(found) or not all_pass(groups)


@given(st.integers(1, 2), st.integers(1, 4), st.data())
@settings(max_examples=100)
def test_cut_equals_its_twin(m: int, k: int, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 9), min_size=m, max_size=m)
    points = data.draw(st.lists(row, min_size=k, max_size=12))
    offsets = sse.cut(np.array(points, np.float64), k).tolist()

    def error(starts: list[int]) -> Any:
        return sum(twin.error_of(points[a:b]) for a, b in pairwise(starts))

    assert error(offsets) == error(twin.cut(points, k))
    assert all(k <= b - a < 2 * k or len(offsets) == 2 for a, b in pairwise(offsets))


def test_pools_come_near_the_least_error() -> None:
    """All groupings of 9 points in threes."""

    def threes(left: list[int]) -> Any:
        if not left:
            yield []
        for pair in combinations(left[1:], 2):
            rest = [i for i in left[1:] if i not in pair]
            yield from ([[left[0], *pair], *more] for more in threes(rest))

    for seed in range(20):
        points = np.random.default_rng(seed).normal(size=(9, 2))
        groups = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        best = min(error_of(points, each) for each in threes(list(range(9))))
        found, _ = refined(points, groups, 3, 2, np.zeros(3, np.uint64), np.ones(3, np.uint8))
        assert error_of(points, found) <= 1.25 * best


def test_far_points_do_not_blur_near_ones() -> None:
    """Sums over a pool hold distances of 1e20 and of 1: it ends, and no error rises."""
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(size=(60, 2)), 1e10 * rng.normal(size=(60, 2))])
    order = rng.permutation(120)
    groups = [order[i : i + 4].tolist() for i in range(0, 120, 4)]
    before = error_of(points, groups)
    for _ in range(6):
        n = len(groups)
        groups, _ = refined(points, groups, 3, 8, np.zeros(n, np.uint64), np.ones(n, np.uint8))
        after = error_of(points, groups)
        assert after <= before * (1 + 1e-9)
        before = after
    near = [group for group in groups if max(group) < 60]
    assert error_of(points, near) < 40


def test_a_pool_that_was_tried_is_not_tried_again() -> None:
    points = np.random.default_rng(0).normal(size=(300, 3))
    groups = [list(range(i, i + 5)) for i in range(0, 300, 5)]
    tried: Any = np.zeros(len(groups), np.uint64)
    for _ in range(60):
        before = groups
        groups, tried = refined(points, groups, 5, 3, tried, np.ones(len(groups), np.uint8))
    assert groups == before
    assert tried.all()


@pytest.mark.parametrize("sizes", [[1, 5], [6, 2, 1]])
def test_groups_of_other_sizes_are_refused(sizes: list[int]) -> None:
    n = sum(sizes)
    rows, marks = np.arange(n, dtype=np.uint32), np.zeros(len(sizes), np.uint64)
    with pytest.raises(ValueError, match="k to 2k - 1"):
        sse.refine(np.zeros((n, 1)), rows, np.cumsum([0, *sizes]), 2, 3, marks, marks.astype(np.uint8))
