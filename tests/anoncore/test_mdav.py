# SPDX-License-Identifier: Apache-2.0
"""Microaggregation against its twin, and the values of the definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_diversity import attribute_of, attributes

import reference.mdav as twin
from anoncore import mdav

X = [1, 2, 3, 10, 11, 12, 20, 21, 30, 31, 32]
Y = [1, 3, 2, 10, 12, 11, 5, 6, 30, 28, 33]


def listed(groups: tuple[Any, Any]) -> list[list[int]]:
    rows, offsets = groups
    return [sorted(rows[a:b].tolist()) for a, b in pairwise(offsets)]


def of_numbers(*columns: list[float]) -> tuple[Any, Any]:
    """Rows, and the weights that standardize them."""
    points = np.array(columns, np.float64).T
    return points, 1 / points.var(axis=0)


@st.composite
def tables(draw: st.DrawFn) -> Any:
    m, greatest = draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 20, 10**6]))
    row = st.lists(st.integers(0, greatest), min_size=m, max_size=m)
    rows = draw(st.lists(row, min_size=1, max_size=70))
    factor = draw(st.sampled_from([1.0, 0.1, 1 / 3]))
    weights = draw(st.lists(st.sampled_from([1.0, 0.3, 2.0]), min_size=m, max_size=m))
    return [[x * factor for x in row] for row in rows], weights, draw(st.integers(1, min(8, len(rows))))


@given(tables())
@settings(max_examples=300)
def test_mdav_equals_its_twin(table: Any) -> None:
    rows, weights, k = table
    groups = listed(mdav.mdav(np.array(rows), np.array(weights), k))
    assert groups == twin.mdav(rows, weights, k)


@pytest.mark.parametrize("n", [500, 3000])
@pytest.mark.parametrize("distinct", [3, 1000])
def test_a_tree_of_many_leaves_equals_the_twin(n: int, distinct: int) -> None:
    rows = np.random.default_rng(n).integers(0, distinct, (n, 3)).astype(np.float64)
    rows[::7] = rows[0]  # more equal rows on the outside than are looked at
    groups = listed(mdav.mdav(rows, np.array([1.0, 2.0, 0.5]), n // 20))
    assert groups == twin.mdav(rows.tolist(), [1.0, 2.0, 0.5], n // 20)


def test_the_mean_may_wander() -> None:
    """Chunks, rebuilt trees, and rows remembered from long ago."""
    points = np.exp(np.random.default_rng(1).normal(size=(700, 2)))
    assert listed(mdav.mdav(points, np.ones(2), 2)) == twin.mdav(points.tolist(), [1.0, 1.0], 2)


@given(st.lists(attributes(huge=False), min_size=1, max_size=3), st.data())
@settings(max_examples=150)
def test_gower_equals_its_twin(twins: list[dict[str, Any]], data: st.DataObject) -> None:
    for each in twins:
        each["weight"] = data.draw(st.sampled_from([1.0, 2.0, 0.0]))
        if each["kind"] == "ordered":  # shares and levels that are sums of powers of two add up exactly
            each["n_values"], each["positions"] = 5, [0.0, 1.0, 2.0, 5.0, 8.0]
        if each["kind"] == "tree":
            each |= {"n_values": 4, "parent": [-1, 0, 0, 1, 1, 2, 2], "leaf": [3, 4, 5, 6]}
    row = st.tuples(*(st.integers(0, each["n_values"]) for each in twins))
    codes = data.draw(st.lists(row, min_size=1, max_size=45))
    k = data.draw(st.integers(1, min(6, len(codes))))
    fast = [attribute_of(each, "byun", each["weight"]) for each in twins]
    assert listed(mdav.gower(np.array(codes, np.uint16), fast, k)) == twin.gower(codes, twins, k)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=14), st.integers(1, 5))
def test_optimal_equals_its_twin(values: list[int], k: int) -> None:
    values, k = sorted(values), min(k, len(values))
    assert mdav.optimal(np.array(values, np.float64), k).tolist() == twin.optimal(values, k)


def test_the_groups_of_the_definition() -> None:
    points = of_numbers(X, Y)
    assert listed(mdav.mdav(*points, 3)) == [[8, 9, 10], [0, 1, 2], [3, 4, 5, 6, 7]]
    assert listed(mdav.mdav(*points, 2)) == [[8, 10], [0, 1], [7, 9], [2, 3], [4, 5, 6]]


def test_the_rows_of_an_issue() -> None:
    """sdcMicro#51: a group of one row was made of five."""
    groups = listed(mdav.mdav(*of_numbers([2, 3, 3, 20, 21], [1, 2, 2, 19, 20]), 2))
    assert sorted(groups) == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("values", "k", "error"),
    [(X, 2, 6.5), (X, 3, 114.8), ([1, 2, 4, 8, 16], 2, 110 / 3), ([1, 1, 2, 9, 9, 9, 10], 3, 17 / 12)],
)
def test_the_errors_of_the_definition(values: list[int], k: int, error: float) -> None:
    x = np.array(values, np.float64)
    parts = np.split(x, mdav.optimal(x, k)[1:-1])
    assert sum(len(part) * part.var() for part in parts) == pytest.approx(error, abs=1e-12)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    mdav.mdav(np.arange(40.0)[:, None], np.ones(1), 3, progress=lambda *each: told.append(each))
    assert told[-1] == (36, 40)


def test_progress_may_change_what_mdav_was_given() -> None:
    points, weights = np.arange(40_000.0)[:, None], np.ones(1)
    rows, offsets = mdav.mdav(points, weights, 4_000)

    def spoil(done: int, total: int) -> None:
        points[:] = weights[:] = np.nan

    again, ends = mdav.mdav(points, weights, 4_000, progress=spoil)
    assert (again.tolist(), ends.tolist()) == (rows.tolist(), offsets.tolist())
