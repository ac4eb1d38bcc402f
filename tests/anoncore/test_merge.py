# SPDX-License-Identifier: Apache-2.0
"""The repair of failing classes against its twin."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_curve import (
    HALF,
    TREE,
    at_most_half,
    attributes,
    half_rules,
    kernel_records,
    read_only,
    tables,
)

from anoncore import attribute as kernel
from anoncore import curve, merge
from anoncore.requirement import Conjunction
from reference import merge as slow
from reference.curve import Attribute


@given(st.data(), attributes(), st.integers(1, 4), st.sampled_from([[0, 1], [0, 0, 0, 1, 2, 3]]))
@settings(max_examples=60)
def test_repair_equals_its_twin(data: st.DataObject, of: list[Attribute], k: int, values: list[int]) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    n = sum(sizes)
    table = data.draw(tables(of, n, n))
    sensitive = data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]
    half = at_most_half(sensitive)
    widths, records = kernel_records(of, table)
    home = merge.repair(
        widths,
        records,
        read_only(sensitive, np.int32)[:, None],
        read_only(ends, np.int64),
        half_rules(sensitive, k),
    )
    ours: dict[int, list[int]] = {}
    for rows, at in zip(classes, home.tolist(), strict=True):
        ours.setdefault(at, []).extend(rows)
    twin = slow.repair(of, table, classes, lambda rows: len(rows) >= k and half(rows))
    assert [sorted(ours[at]) for at in sorted(ours)] == [sorted(rows) for rows in twin]
    assert all(home[at] == at for at in ours)


@given(st.data(), st.integers(2, 9), st.sampled_from(["sets", "trees and sets", "many"]))
@settings(max_examples=80)
def test_lists_that_grow_again_and_again_equal_their_twins(
    data: st.DataObject, n_classes: int, kind: str
) -> None:
    """Several sets and sensitive attributes, values nearly all distinct, failing classes side by side."""
    flat: Attribute = (40, 1.0, None, None)
    of = {"sets": [flat] * 3, "trees and sets": [(5, 1.0, None, TREE), flat, flat], "many": [flat] * 70}[kind]
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=n_classes, max_size=n_classes))
    n = sum(sizes)
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    columns = [random.integers(0, n_values + 1, n) for n_values, *_ in of]
    table = [tuple(row) for row in np.column_stack(columns).tolist()]
    often = random.random(n) < data.draw(st.sampled_from([0.3, 0.55, 0.8]))
    sensitive = np.column_stack([np.where(often, 0, 1 + np.arange(n)), random.permutation(n), columns[0]])
    tables = [np.bincount(column, minlength=max(n + 1, 41)).astype(np.int64) for column in sensitive.T]
    share = data.draw(st.sampled_from([Fraction(1, 5), HALF, Fraction(3, 4)]))
    rules = Conjunction(tables, n, [("share", a, share) for a in range(3)])
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]

    def passes(rows: list[int]) -> bool:
        columns = sensitive[rows].T.tolist()
        return all(max(Counter(column).values()) <= share * len(rows) for column in columns)

    widths, records = kernel_records(of, table)
    home = merge.repair(widths, records, sensitive.astype(np.int32), ends, rules)
    ours: dict[int, list[int]] = {}
    for rows, at in zip(classes, home.tolist(), strict=True):
        ours.setdefault(at, []).extend(rows)
    twin = slow.repair(of, table, classes, passes)
    assert [sorted(ours[at]) for at in sorted(ours)] == [sorted(rows) for rows in twin]


@given(st.data(), attributes(), st.integers(1, 4), st.booleans(), st.booleans())
@settings(max_examples=80)
def test_repair_counts_units_as_its_twin(
    data: st.DataObject, of: list[Attribute], k: int, asks_units: bool, asks_values: bool
) -> None:
    """Rules on the number of units, and on their sensitive values, of which each counts once."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    n = sum(sizes)
    table = data.draw(tables(of, n, n))
    units = data.draw(st.lists(st.sampled_from([0, 1, 2, 2**32 - 3]), min_size=n, max_size=n))
    sensitive = data.draw(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=n, max_size=n))
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]
    counts = np.bincount([value for _, value in {*zip(units, sensitive, strict=True)}], minlength=3)
    rules = [("units" if asks_units else "size", k), *([("share", 0, HALF)] if asks_values else [])]

    def passes(rows: list[int]) -> bool:
        pairs = {(units[r], sensitive[r]) for r in rows}
        most = max(Counter(value for _, value in pairs).values())
        enough = len({units[r] for r in rows}) if asks_units else len(rows)
        return enough >= k and (not asks_values or 2 * most <= len(pairs))

    widths, records = kernel_records(of, table)
    conjunction = Conjunction([counts.astype(np.int64)], n, rules, by_units=True)
    codes = read_only(sensitive, np.int32)[:, None]
    home = merge.repair(
        widths, records, codes, read_only(ends, np.int64), conjunction, read_only(units, np.uint32)
    )
    ours: dict[int, list[int]] = {}
    for rows, at in zip(classes, home.tolist(), strict=True):
        ours.setdefault(at, []).extend(rows)
    twin = slow.repair(of, table, classes, passes)
    assert [sorted(ours[at]) for at in sorted(ours)] == [sorted(rows) for rows in twin]


@given(st.data(), attributes(), st.integers(1, 3))
@settings(max_examples=60)
def test_marked_classes_are_merged_once(data: st.DataObject, of: list[Attribute], k: int) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    marked = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    n = sum(sizes)
    table = data.draw(tables(of, n, n))
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]
    failing = [rows for rows, mark in zip(classes, marked, strict=True) if mark]
    widths, records = kernel_records(of, table)
    home = merge.repair(
        widths,
        records,
        np.zeros((n, 0), np.int32),
        read_only(ends, np.int64),
        Conjunction([], n, [("size", k)]),
        failing=read_only(marked, np.bool_),
    )
    ours: dict[int, list[int]] = {}
    for rows, at in zip(classes, home.tolist(), strict=True):
        ours.setdefault(at, []).extend(rows)
    twin = slow.repair(of, table, classes, lambda rows: len(rows) >= k and rows not in failing)
    assert [sorted(ours[at]) for at in sorted(ours)] == [sorted(rows) for rows in twin]


def test_marks_are_one_for_each_class() -> None:
    widths, records = slow_records([(2, 1.0, [0.0, 1.0], None)], [(0,), (1,)])
    rules = Conjunction([], 2, [("size", 1)])
    for wrong in (np.zeros(1, np.bool_), np.zeros(3, np.bool_)):
        with pytest.raises(ValueError, match="one mark per class"):
            merge.repair(
                widths, records, np.zeros((2, 0), np.int32), np.array([0, 1, 2]), rules, failing=wrong
            )


@pytest.mark.parametrize("n_classes", [3, 200])
def test_repair_looks_32_classes_far(n_classes: int) -> None:
    # Classes of one row each at 0, 1, 2, ...; only the last one fails, its twin stands first.
    of = [(n_classes, 1.0, np.arange(float(n_classes)).tolist(), None)]
    table = [(place,) for place in range(n_classes)]
    table[-1] = (0,)
    widths = slow_records(of, table)
    sensitive = np.arange(n_classes, dtype=np.int32)[:, None] % 2
    sensitive[-1] = 2
    counts = np.bincount(sensitive[:, 0]).astype(np.int64)
    rules = Conjunction([counts], n_classes, [("size", 2)])
    home = merge.repair(*widths, sensitive, np.arange(n_classes + 1), rules)
    twin = slow.repair(of, table, [[row] for row in range(n_classes)], lambda rows: len(rows) >= 2)
    ours: dict[int, list[int]] = {}
    for row, at in enumerate(home.tolist()):
        ours.setdefault(at, []).append(row)
    assert [ours[at] for at in sorted(ours)] == [sorted(rows) for rows in twin]


def slow_records(of: list[Attribute], table: list[tuple[int, ...]]) -> tuple[curve.Widths, Any]:
    codes = np.array(table, np.uint16)
    widths = curve.Widths([kernel.Attribute(of[0][0], of[0][2])])
    return widths, curve.place(widths, codes, np.arange(len(table), dtype=np.uint32))


def test_repair_refuses_what_does_not_fit() -> None:
    widths, records = kernel_records([(5, 1.0, None, TREE)], [(0,), (1,)])
    rules = half_rules([0, 1], 1)
    with pytest.raises(ValueError, match="sensitive"):
        merge.repair(widths, records, np.zeros((1, 1), np.int32), np.array([0, 2]), rules)
    with pytest.raises(ValueError, match="offsets"):
        merge.repair(widths, records, np.zeros((2, 1), np.int32), np.array([0, 2, 2]), rules)
