# SPDX-License-Identifier: Apache-2.0
"""The kernels of the divergence room against their twins, and against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anoncore.divergence as kernel
import reference.divergence as twin

HOW = st.sampled_from([(1, 1 << 16), (3, 1), (2, 7)])


@st.composite
def counted(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """CSR counts of up to 30 classes and their sums; ties, one value, one row, giant counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_classes = draw(st.sampled_from([1, 2, 5, 30]))
    n_values = draw(st.sampled_from([1, 2, 5, 40]))
    most = draw(st.sampled_from([1, 3, 50, 3_000_000]))
    dense = rng.integers(1, most + 1, (n_classes, n_values))
    dense[rng.random(dense.shape) < draw(st.sampled_from([0.0, 0.4, 0.9]))] = 0
    dense[np.arange(n_classes), rng.integers(0, n_values, n_classes)] += 1
    classes, values = np.nonzero(dense)
    offsets = np.searchsorted(classes, np.arange(n_classes + 1)).astype(np.int64)
    return offsets, values.astype(np.uint32), dense[classes, values].astype(np.int64), dense.sum(axis=0)


@settings(max_examples=80, deadline=None)
@given(counted(), HOW)
def test_concentration(case: tuple[np.ndarray, ...], how: tuple[int, int]) -> None:
    size, largest, entropy, recursive, l_recursive = kernel.concentration(case[0], case[2], *how)
    theirs = twin.concentration(case[0], case[2])
    assert size.tolist() == [answer[0] for answer in theirs]
    assert largest.tolist() == [answer[1] for answer in theirs]
    assert entropy == pytest.approx([answer[2] for answer in theirs], abs=1e-12)
    assert recursive.tolist() == [answer[3] for answer in theirs]
    assert l_recursive.tolist() == [answer[4] for answer in theirs]


@settings(max_examples=80, deadline=None)
@given(counted(), HOW)
def test_distances(case: tuple[np.ndarray, ...], how: tuple[int, int]) -> None:
    mine = np.stack(kernel.distances(*case, *how), axis=1)
    theirs = twin.distances(*case)
    assert mine.ravel().tolist() == pytest.approx(np.array(theirs).ravel().tolist(), rel=1e-12, abs=1e-12)
    assert mine[:, 0].min() >= 0
    assert mine[:, 0].max() <= math.log(2)


@settings(max_examples=80, deadline=None)
@given(counted(), HOW)
def test_ordered(case: tuple[np.ndarray, ...], how: tuple[int, int]) -> None:
    assert kernel.ordered(*case, *how).tolist() == pytest.approx(twin.ordered(*case), rel=1e-14, abs=0)


@settings(max_examples=60, deadline=None)
@given(counted(), st.integers(0, 2**32), HOW)
def test_hierarchical(case: tuple[np.ndarray, ...], seed: int, how: tuple[int, int]) -> None:
    """Random trees in preorder, with leaves at any depth and chains of only children."""
    rng = np.random.default_rng(seed)
    n_values = len(case[3])
    parent, depth, leaf = [-1], [0], []
    path = [0]
    for value in range(n_values):
        while n_values > 1 and (value == 0 or len(path) > 1) and rng.random() < 0.4 and value:
            path.pop()
        for _ in range(int(rng.integers(0, 3))):
            parent.append(path[-1])
            depth.append(len(path))
            path.append(len(parent) - 1)
        parent.append(path[-1])
        depth.append(len(path))
        leaf.append(len(parent) - 1)
    tree = [np.array(part, np.int32) for part in (parent, depth, leaf)]
    mine = kernel.hierarchical(*case, *tree, *how)
    assert mine.tolist() == pytest.approx(twin.hierarchical(*case, *tree), rel=1e-14, abs=0)


def test_a_flat_tree_is_the_equal_distance() -> None:
    offsets = np.array([0, 2, 4])
    values, counts = np.array([0, 1, 1, 2], np.uint32), np.array([3, 1, 2, 2])
    table = np.array([3, 3, 2])
    flat = [np.array(part, np.int32) for part in ([-1, 0, 0, 0], [0, 1, 1, 1], [1, 2, 3])]
    assert kernel.hierarchical(offsets, values, counts, table, *flat).tolist() == [0.375, 0.375]
    assert kernel.distances(offsets, values, counts, table)[1].tolist() == [0.375, 0.375]


def test_counts_near_the_limit_do_not_overflow() -> None:
    """Two values, 2**31 and 2**31 - 1 rows, in two pure classes: every product is near 2**64."""
    half = 2**31
    counts = np.array([half, half - 1])
    case = (np.array([0, 1, 2]), np.array([0, 1], np.uint32), counts, counts)
    share = (half - 1) / (2 * half - 1)
    assert kernel.distances(*case)[1].tolist() == pytest.approx([share, 1 - share], rel=1e-15)
    assert kernel.ordered(*case).tolist() == pytest.approx([share, 1 - share], rel=1e-15)
    tree = [np.array(part, np.int32) for part in ([-1, 0, 0], [0, 1, 1], [1, 2])]
    assert kernel.hierarchical(*case, *tree).tolist() == pytest.approx([share, 1 - share], rel=1e-15)


@pytest.mark.parametrize("m", [100_000, 1_000_000])
def test_many_values_add_no_rounding(m: int) -> None:
    """Half of the values have 1, half 3 rows of the class, and all 4 of the table."""
    counts = np.repeat([1, 3], m // 2)
    entropy = kernel.concentration(np.array([0, m]), counts)[2]
    assert entropy.tolist() == pytest.approx([math.log(2 * m) - 0.75 * math.log(3)], abs=1e-14)
    ends, values = np.array([0, m]), np.arange(m, dtype=np.uint32)
    js = kernel.distances(ends, values, counts, np.full(m, 4))[0]
    expected = sum(p * math.log(p) - (p + 1) * math.log((p + 1) / 2) for p in (0.5, 1.5)) / 4
    assert js.tolist() == pytest.approx([expected], abs=2e-15)


def test_no_classes() -> None:
    case = (np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, np.int64), np.zeros(3, np.int64))
    assert [len(part) for part in kernel.distances(*case)] == [0] * 6
    assert len(kernel.ordered(*case)) == 0
    assert len(kernel.concentration(case[0], case[2])[0]) == 0


@pytest.mark.parametrize(
    ("offsets", "values", "counts", "table"),
    [
        ([0, 0, 1], [0], [1], [1]),
        ([0, 1], [3], [1], [1]),
        ([0, 1], [0], [0], [1]),
        ([0, 1], [0], [2], [1]),
        ([0, 1], [0], [1], [2**32]),
        ([0, 1], [0, 1], [1], [2, 2]),
        ([0, 2**63 - 1, 5 - 2**63, 1], [0], [1], [1]),
        ([0, 2], [0, 1], [2**63 - 1, 2**63 - 1], [2**63 - 1, 2**63 - 1]),
        ([0, 1], [0], [1], [-1, 2]),
    ],
    ids=[
        *("empty class", "beyond", "count 0", "more than the table", "too many", "ragged"),
        *("steps that wrap", "sums that wrap", "negative"),
    ],
)
def test_bad_counts_are_refused(
    offsets: list[int], values: list[int], counts: list[int], table: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"offsets|value|count|table|rows"):
        kernel.distances(np.array(offsets), np.array(values, np.uint32), np.array(counts), np.array(table))


@pytest.mark.parametrize("counts", [[2**62] * 3, [2**63 - 1], [2**31, 2**31]])
def test_more_rows_than_a_table_can_have_are_refused(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="2\\*\\*32"):
        kernel.concentration(np.array([0, len(counts)]), np.array(counts))


def test_bad_trees_are_refused() -> None:
    case = (np.array([0, 1]), np.array([0], np.uint32), np.array([1]), np.array([1, 1]))
    good = ([-1, 0, 0], [0, 1, 1], [1, 2])
    for bad in (
        ([-1, 0, 0], [0, 1, 1], [1]),
        ([-1, 2, 0], [0, 1, 1], [1, 2]),
        (good[0], good[1], [1, 3]),
        (good[0], [-(2**31), 1, 1], good[2]),
    ):
        with pytest.raises(ValueError, match=r"tree|parent"):
            kernel.hierarchical(*case, *(np.array(part, np.int32) for part in bad))
