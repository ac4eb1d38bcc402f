# SPDX-License-Identifier: Apache-2.0
"""Local suppression against its slow twin, and on the tables of the definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anoncore.nulling import null_cells
from reference import nulling as twin


def called(rows, nulls, weights, unit, sets, ks, tiers, costs, width=np.uint8):
    codes = np.array(rows, width).reshape(len(rows), len(nulls))
    numbers = [np.array(each, np.int64) for each in (nulls, weights, ks, tiers, costs)]
    nulls, weights, ks, tiers, costs = numbers
    return null_cells(codes, nulls, weights, unit, np.array(sets, np.uint64), ks, tiers, costs).tolist()


@st.composite
def jobs(draw):
    m = draw(st.integers(1, 5))
    n_values = draw(st.lists(st.integers(1, 3), min_size=m, max_size=m))
    rows = draw(st.lists(st.tuples(*(st.integers(0, each - 1) for each in n_values)), max_size=9))
    rows.sort()
    nulls = [draw(st.sampled_from([-1, -1, each - 1])) for each in n_values]
    sets = [(1 << m) - 1]
    if draw(st.booleans()):
        size = draw(st.integers(1, m))
        sets = [sum(1 << a for a in each) for each in combinations(range(m), size)]
    ks = draw(st.lists(st.integers(1, 4), min_size=len(sets), max_size=len(sets)))
    has_weights = draw(st.booleans())
    weights = [draw(st.integers(0, 6)) if has_weights else 0 for _ in rows]
    tiers = draw(st.lists(st.integers(0, 1), min_size=m, max_size=m))
    costs = draw(st.lists(st.integers(1, 3), min_size=m, max_size=m))
    return rows, nulls, weights, 2 if has_weights else 0, sets, ks, tiers, costs


@given(jobs(), st.sampled_from([np.uint8, np.uint16, np.uint32]))
@settings(max_examples=200, deadline=None)
def test_cells_are_those_of_the_twin(job, width) -> None:
    assert called(*job, width) == twin.null_cells(*job)


A, B, C = "1112223", "1122211", "1211221"
GENDER, EDUCATION = "xxxyyy", "npppss"


def cells(columns, k, sets=None, costs=None):
    m = len(columns)
    rows = [
        [ord(value) - ord("1") if value.isdigit() else ord(value) for value in row]
        for row in zip(*columns, strict=True)
    ]
    rows.sort()
    sets = [(1 << m) - 1] if sets is None else sets
    even = [1] * m
    masks = called(rows, [-1] * m, [0] * len(rows), 0, sets, [k] * len(sets), [0] * m, costs or even)
    return sum(mask.bit_count() for mask in masks)


def test_no_more_nulls_than_the_optimum_of_the_definition() -> None:
    """What sdcMicro needs: 2, 6, 3, 7 and 4 cells."""
    assert cells([GENDER, EDUCATION], 2) == 2
    assert cells([GENDER, EDUCATION], 3) == 2
    assert cells(["xxxxxx", EDUCATION], 3) == 1
    assert cells([A, B, C], 2) == 4
    assert cells([A, B, C], 2, [0b011, 0b101, 0b110]) == 3


def test_bad_arguments() -> None:
    right = ([[0, 1], [1, 0]], [-1, -1], [0, 0], 0, [3], [2], [0, 0], [1, 1])
    assert len(called(*right)) == 2
    for at, wrong in (
        (5, [2**32]),
        (4, [0]),
        (4, [4]),
        (4, []),
        (5, [0]),
        (7, [0, 1]),
        (7, [1, 2**21]),
        (2, [0, -1]),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            called(*right[:at], wrong, *right[at + 1 :])


def test_gains_times_costs_are_refused_where_they_could_overflow() -> None:
    """Two sets of one column each, asked for so often and for so many rows that 2**63 is passed."""
    sets, ks = [1, 2] * 4096, [2**32 - 1] * 8192
    assert called([[0, 0]] * 2, [-1, -1], [0, 0], 0, sets[:64], ks[:64], [0, 0], [2**20, 1]) == [3, 3]
    with pytest.raises(ValueError, match="at once"):
        called([[0, 0]] * 2, [-1, -1], [0, 0], 0, sets, ks, [0, 0], [2**20, 1])
