# SPDX-License-Identifier: Apache-2.0
"""The kernels of the queries room against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anoncore.queries as kernel
import reference.queries as twin


def drawn_runs(rng: np.random.Generator, n_codes: int, n_predicates: int) -> tuple[np.ndarray, ...]:
    """CSR runs of codes below n_codes; some predicates hold none, some all."""
    offsets, first, last = [0], [], []
    for _ in range(n_predicates):
        inside = np.concatenate([[0], rng.random(n_codes) < rng.choice([0.0, 0.3, 0.8, 1.0]), [0]])
        cuts = np.flatnonzero(np.diff(inside.astype(int)))
        first += cuts[::2].tolist()
        last += (cuts[1::2] - 1).tolist()
        offsets.append(len(first))
    return np.array(offsets), np.array(first, np.uint32), np.array(last, np.uint32)


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[Any, ...]:
    """Cells and predicates of one attribute: on a lattice with gaps, by length, or sets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    how = draw(st.sampled_from(["lattice", "length", "sets"]))
    n_codes, n_cells = int(rng.choice([1, 2, 6, 12])), int(rng.choice([1, 3, 10]))
    ends = np.sort(rng.integers(0, n_codes, (n_cells, 2)), axis=1)
    low, high = ends[:, 0].astype(np.uint32), ends[:, 1].astype(np.uint32)
    null = rng.random(n_cells) < 0.3
    runs = drawn_runs(rng, n_codes, draw(st.integers(0, 5)))
    only_null = rng.random(n_cells) < 0.2
    if how == "sets":
        inside = rng.random((n_cells, n_codes)) < 0.5
        inside[only_null] = False
        cells, codes = np.nonzero(inside)
        sets = (np.searchsorted(cells, np.arange(n_cells + 1)), codes.astype(np.uint32))
        return low, high, null, None, sets, *runs, None, True
    steps = rng.integers(1, 4, n_codes) if how == "lattice" else rng.random(n_codes) + 0.1
    line = np.concatenate([[0], np.cumsum(steps)[:-1]]).astype(float)
    lower, upper = line[runs[1]], line[runs[2]]
    if how == "lattice":  # up to the next value, as an interval that ends between two
        upper = np.minimum(
            upper + rng.integers(0, 2, len(upper)), np.append(line, line[-1] + 1)[runs[2] + 1] - 1
        )
    else:  # half-open: the end may be the next value
        upper = np.append(line, line[-1])[np.minimum(runs[2] + rng.integers(0, 2, len(upper)), n_codes - 1)]
    reach = (line[low], line[high])
    low[only_null], high[only_null] = 1, 0
    return low, high, null, reach, None, *runs, (lower, upper), how == "lattice"


@settings(max_examples=200, deadline=None)
@given(overlapping())
def test_overlaps(case: tuple[Any, ...]) -> None:
    share, kind = kernel.overlaps(*case)
    shares, kinds = twin.overlaps(*case)
    assert kind.tolist() == kinds
    if case[-1]:  # one division: the nearest double
        assert share.tolist() == [[float(one) for one in each] for each in shares]
    else:
        expected = [float(one) for each in shares for one in each]
        assert share.ravel().tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert not len(share) or (share.min() >= 0 and share.max() <= 1 + 1e-12)


@st.composite
def boxed(draw: st.DrawFn) -> tuple[Any, ...]:
    """Boxes over up to 3 attributes, as classes or as rows of buckets, and the values of their groups."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_boxes, n_attributes = int(rng.choice([1, 2, 40])), draw(st.integers(1, 3))
    shares, cells = [], []
    for _ in range(n_attributes):
        n_cells = int(rng.choice([1, 4, 300]))
        share = rng.random((int(rng.choice([1, 3])), n_cells))
        share[rng.random(share.shape) < 0.5] = draw(st.sampled_from([0.0, 1.0]))
        shares.append(share)
        cells.append(rng.integers(0, n_cells, n_boxes))
    groups = None
    n_groups = n_boxes
    if draw(st.booleans()):
        n_groups = int(rng.choice([1, 3, 50]))
        groups = np.sort(rng.integers(0, n_groups, n_boxes)).astype(np.uint32)
    n_values = int(rng.choice([1, 3, 40]))
    held = rng.integers(0, 4, (n_groups, n_values))
    held[np.arange(n_groups), rng.integers(0, n_values, n_groups)] += 1
    at, values = np.nonzero(held)
    offsets = np.searchsorted(at, np.arange(n_groups + 1))
    counts = held[at, values]
    return np.array(cells, np.uint32), shares, groups, offsets, values.astype(np.uint32), counts, n_values


@settings(max_examples=100, deadline=None)
@given(boxed(), st.integers(0, 2**32))
def test_reconstruct(case: tuple[Any, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent, attribute, predicate = [], [], []

    def extend(above: int, first: int) -> None:
        for a in range(first, len(case[1])):
            for p in range(len(case[1][a])):
                if rng.random() < 0.7:
                    parent.append(above)
                    attribute.append(a)
                    predicate.append(p)
                    extend(len(parent) - 1, a + 1)

    extend(-1, 0)
    tree = [
        np.array(part, kind) for part, kind in ((parent, int), (attribute, np.int32), (predicate, np.int32))
    ]
    start = int(rng.integers(0, len(parent) + 1))
    stop = int(rng.integers(start, len(parent) + 1))
    mine = kernel.reconstruct(*case, *tree, start, stop)
    theirs = [[float(x) for x in each] for each in twin.reconstruct(*case, *tree, start, stop)]
    assert mine.shape == (stop - start, case[-1])
    assert mine.ravel().tolist() == pytest.approx([x for each in theirs for x in each], rel=1e-12, abs=0)
    whole = kernel.reconstruct(*case, *tree, 0, len(parent))
    assert np.array_equal(whole[start:stop], mine)


def test_bad_boxes_are_refused() -> None:
    cells, shares = np.zeros((1, 2), np.uint32), [np.ones((1, 1))]
    lists = (np.array([0, 1, 2]), np.zeros(2, np.uint32), np.ones(2, int))
    tree = (np.array([-1]), np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert kernel.reconstruct(cells, shares, None, *lists, 1, *tree, 0, 1).tolist() == [[2.0]]
    for bad in (
        (cells + np.uint32(1), shares, None, *lists, 1, *tree, 0, 1),
        (cells, [], None, *lists, 1, *tree, 0, 1),
        (cells, shares, np.array([1, 0], np.uint32), *lists, 1, *tree, 0, 1),
        (cells, shares, np.array([0, 2], np.uint32), *lists, 1, *tree, 0, 1),
        (cells, shares, None, *lists, 0, *tree, 0, 1),
        (cells, shares, None, lists[0], lists[1], lists[2] - 1, 1, *tree, 0, 1),
        (cells, shares, None, *lists, 1, np.array([0]), *tree[1:], 0, 1),
        (cells, shares, None, *lists, 1, tree[0], tree[1] + np.int32(1), tree[2], 0, 1),
        (cells, shares, None, *lists, 1, tree[0], tree[1], tree[2] + np.int32(1), 0, 1),
        (cells, shares, None, *lists, 1, *tree, 0, 2),
    ):
        with pytest.raises(ValueError, match=r"box|group|value|population|parent|attribute|stop"):
            kernel.reconstruct(*bad)


def test_bad_overlaps_are_refused() -> None:
    one = np.zeros(1, np.uint32)
    reach = (np.zeros(1), np.zeros(1))
    good = (one, one, np.zeros(1, bool), reach, None, np.array([0, 1]), one, one, reach, True)
    assert kernel.overlaps(*good)[0].tolist() == [[1.0]]
    for position, wrong in (
        (1, np.zeros(2, np.uint32)),
        (3, None),
        (3, (np.zeros(2), np.zeros(1))),
        (5, np.array([0, 2])),
        (6, one + 1),
        (8, (np.zeros(0), np.zeros(0))),
    ):
        with pytest.raises(ValueError, match=r"length|reach|offsets|run"):
            kernel.overlaps(*good[:position], wrong, *good[position + 1 :])


@st.composite
def asked_for(draw: st.DrawFn) -> tuple[Any, ...]:
    """Rows in buckets, predicates of few and of very many runs, queries of any number of conditions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_columns, n_queries = draw(st.sampled_from([1, 64, 300])), draw(st.integers(1, 3)), 6
    columns, predicates, chosen = [], [], []
    for _ in range(n_columns):
        n_codes = int(rng.choice([1, 5, 256, 700]))
        width = rng.choice([np.uint8, np.uint16, np.uint32]) if n_codes <= 256 else np.uint16
        columns.append(rng.integers(0, n_codes, n).astype(width))
        predicates.append(drawn_runs(rng, n_codes + 2, int(rng.integers(1, 4))))
        chosen.append(rng.integers(-1, len(predicates[-1][0]) - 1, n_queries))
    queries = np.array(chosen, np.int32).T
    queries[(queries < 0).all(axis=1), 0] = 0
    groups = np.unique(np.sort(rng.integers(0, int(rng.choice([1, 4, 100])), n)), return_inverse=True)[1]
    n_values = int(rng.choice([1, 4]))
    held = np.zeros((groups.max() + 1, n_values), int)
    np.add.at(held, (groups, rng.integers(0, n_values, n)), 1)
    at, values = np.nonzero(held)
    offsets = np.searchsorted(at, np.arange(len(held) + 1))
    asked = rng.random((2, n_values)) < 0.6
    lists = (offsets, values.astype(np.uint32), held[at, values], asked, rng.integers(0, 2, n_queries))
    return columns, predicates, queries, groups.astype(np.uint32), *lists


@settings(max_examples=80, deadline=None)
@given(asked_for(), st.sampled_from([1, 3]))
def test_count(case: tuple[Any, ...], n_threads: int) -> None:
    assert kernel.count(*case[:3], n_threads).tolist() == twin.count(*case[:3])


@settings(max_examples=80, deadline=None)
@given(asked_for())
def test_count_buckets(case: tuple[Any, ...]) -> None:
    estimate, least, most = kernel.count_buckets(*case)
    theirs = twin.count_buckets(*case)
    assert estimate.tolist() == pytest.approx([float(one) for one, _, _ in theirs], rel=1e-12, abs=0)
    assert least.tolist() == [one for _, one, _ in theirs]
    assert most.tolist() == [one for _, _, one in theirs]


def test_many_rows_take_several_blocks_tasks_and_threads() -> None:
    """600,000 rows: three tasks; buckets of 9 rows straddle every border of blocks."""
    rng = np.random.default_rng(0)
    n = 600_000
    columns = [rng.integers(0, 90, n).astype(np.uint8), rng.integers(0, 3000, n).astype(np.uint16)]
    listed = [drawn_runs(rng, 90, 4), drawn_runs(rng, 3000, 4)]
    queries = np.array([[0, -1], [1, 2], [3, 3], [-1, 1]], np.int32)

    def met(query: Any) -> np.ndarray:
        inside = np.ones(n, bool)
        for column, (offsets, first, last), p in zip(columns, listed, query, strict=True):
            if p >= 0:
                member = np.zeros(3000, bool)
                for run in range(offsets[p], offsets[p + 1]):
                    member[first[run] : last[run] + 1] = True
                inside &= member[column]
        return inside

    expected = np.array([met(query) for query in queries])
    assert kernel.count(columns, listed, queries, 2).tolist() == expected.sum(axis=1).tolist()
    groups = (np.arange(n) // 9).astype(np.uint32)
    secret = rng.integers(0, 5, n)
    held = np.zeros((groups[-1] + 1, 5), int)
    np.add.at(held, (groups, secret), 1)
    at, values = np.nonzero(held)
    lists = (np.searchsorted(at, np.arange(len(held) + 1)), values.astype(np.uint32), held[at, values])
    asks = (np.eye(5, dtype=bool), np.array([0, 1, 2, 4], np.int32))
    one = kernel.count_buckets(columns, listed, queries, groups, *lists, *asks, 1)
    two = kernel.count_buckets(columns, listed, queries, groups, *lists, *asks, 2)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    q = np.stack([np.bincount(groups, inside, len(held)) for inside in expected])
    c, size = held[:, asks[1]].T, held.sum(axis=1)
    assert one[0] == pytest.approx((q * c / size).sum(axis=1), rel=1e-12)
    assert one[1].tolist() == np.maximum(q + c - size, 0).sum(axis=1).tolist()
    assert one[2].tolist() == np.minimum(q, c).sum(axis=1).tolist()


@settings(max_examples=80, deadline=None)
@given(boxed(), st.integers(0, 2**32), st.sampled_from([1, 3]))
def test_estimate(case: tuple[Any, ...], seed: int, n_threads: int) -> None:
    rng = np.random.default_rng(seed)
    cells, shares, _, offsets, values, counts, n_values = case
    n_queries = int(rng.choice([1, 40]))
    cells = cells[:, rng.integers(0, cells.shape[1], len(offsets) - 1)]
    kinds = [np.where(share == 0, rng.integers(0, 2, share.shape), 1 + (share == 1)) for share in shares]
    queries = np.array([rng.integers(-1, len(share), n_queries) for share in shares], np.int32).T
    asked, asks = rng.random((3, n_values)) < 0.5, rng.integers(0, 3, n_queries)
    mine = kernel.estimate(cells, shares, kinds, queries, offsets, values, counts, asked, asks, n_threads)
    theirs = twin.estimate(cells, shares, kinds, queries, offsets, values, counts, asked, asks)
    assert mine[0].tolist() == pytest.approx([float(one) for one, _, _ in theirs], rel=1e-12, abs=0)
    assert mine[1].tolist() == [one for _, one, _ in theirs]
    assert mine[2].tolist() == [one for _, _, one in theirs]


def test_bad_queries_are_refused() -> None:
    column, listed = np.zeros(2, np.uint8), (np.array([0, 1]), np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    one = np.zeros((1, 1), np.int32)
    assert kernel.count([column], [listed], one).tolist() == [2]
    for bad in (
        ([], [], one),
        ([column], [listed], one + 1),
        ([column], [listed], one - 1),
        ([column], [listed], one - 2),
        ([column.astype(float)], [listed], one),
        ([column], [(np.array([0, 2]), *listed[1:])], one),
        ([column], [(listed[0], listed[1] + np.uint32(1), listed[2])], one),
    ):
        with pytest.raises(ValueError, match=r"column|query|offsets|run"):
            kernel.count(*bad)
    assert kernel.count([column[:0]], [listed], one).tolist() == [0]
    assert kernel.count([column], [listed], one[:0]).tolist() == []
    buckets = (np.zeros(2, np.uint32), np.array([0, 1]), np.zeros(1, np.uint32), np.array([2]))
    asks = (np.ones((1, 1), bool), np.zeros(1, np.int32))
    assert kernel.count_buckets([column], [listed], one, *buckets, *asks)[2].tolist() == [2]
    for position, wrong in ((0, np.ones(2, np.uint32)), (0, np.zeros(3, np.uint32)), (3, np.array([0]))):
        with pytest.raises(ValueError, match=r"group|count"):
            kernel.count_buckets(
                [column], [listed], one, *buckets[:position], wrong, *buckets[position + 1 :], *asks
            )
    with pytest.raises(ValueError, match="sensitive"):
        kernel.count_buckets([column], [listed], one, *buckets, asks[0], asks[1] + np.int32(1))
    boxes = (np.zeros((1, 1), np.uint32), [np.ones((1, 1))], [np.full((1, 1), 2)])
    assert kernel.estimate(*boxes, one, *buckets[1:], *asks)[0].tolist() == [2.0]
    with pytest.raises(ValueError, match="query"):
        kernel.estimate(*boxes, one + 1, *buckets[1:], *asks)
    with pytest.raises(ValueError, match="kinds"):
        kernel.estimate(*boxes[:2], [np.ones((2, 1))], one, *buckets[1:], *asks)
