# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import os
import subprocess
import sys
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
    a_table,
    as_multisets,
    at_most_half,
    attributes,
    encoded,
    half_rules,
    kernel_records,
    read_only,
    tables,
    task,
)

import anon
from anon.classes.classes import Classes
from anon.methods.repair import class_order, repair
from anoncore import curve
from anoncore.requirement import Conjunction
from reference import curve as slow


@given(st.data(), attributes(), st.integers(1, 4), st.sampled_from([[0, 1], [0, 0, 0, 1, 2, 3]]))
@settings(max_examples=60)
def test_repair_equals_its_twin(
    data: st.DataObject, of: list[slow.Attribute], k: int, values: list[int]
) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    n = sum(sizes)
    table = data.draw(tables(of, n, n))
    sensitive = data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]
    half = at_most_half(sensitive)
    widths, records = kernel_records(of, table)
    home = curve.repair(
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
    flat: slow.Attribute = (40, 1.0, None, None)
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
    home = curve.repair(widths, records, sensitive.astype(np.int32), ends, rules)
    ours: dict[int, list[int]] = {}
    for rows, at in zip(classes, home.tolist(), strict=True):
        ours.setdefault(at, []).extend(rows)
    twin = slow.repair(of, table, classes, passes)
    assert [sorted(ours[at]) for at in sorted(ours)] == [sorted(rows) for rows in twin]


# Jobs in which repair once wrote beyond its arrays; run with the C library's checks of its heap.
OVERFLOWS = """
import numpy as np, pyarrow as pa, anon, sys
def nearly_unique(n, seed):
    random = np.random.default_rng(seed)
    columns = {f"q{a}": np.round(random.normal(size=n), 3) for a in range(3)}
    rare = random.permutation(n).astype(str)
    return pa.table(columns | {"s": np.where(random.random(n) < 0.55, "often", rare)})
census = anon.datasets.census(300, seed=1)
near = anon.TCloseness(0.3, distance="equal")
for method in (anon.TGC(), anon.Curve(), anon.KMembers()):
    schema = anon.Schema(quasi=["age", "postcode"], sensitive=["salary"])
    anon.anonymize(census, schema, require=[anon.KAnonymity(5), near], method=method)
    schema = anon.Schema(quasi=["q0", "q1", "q2"], sensitive=["s"])
    diverse = [anon.KAnonymity(3), anon.LDiversity(1.7)]
    anon.anonymize(nearly_unique(600, 2), schema, require=diverse, method=method)
    wide = pa.table({f"q{a}": [0, 0, 1, 1, 2, a % 3] for a in range(65)} | {"s": [1, 2, 3, 4, 5, 6]})
    schema = anon.Schema(quasi=wide.column_names[:65], sensitive=["s"])
    release = anon.anonymize(wide, schema, require=[anon.KAnonymity(2)], method=method)
    assert release.privacy().k >= 2
"""


def test_jobs_that_once_overflowed_run_clean() -> None:
    checked = {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc_debug"}
    command = [sys.executable, "-W", "ignore", "-c", OVERFLOWS]
    done = subprocess.run(command, env=os.environ | checked, check=False)
    assert done.returncode == 0


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
    home = curve.repair(*widths, sensitive, np.arange(n_classes + 1), rules)
    twin = slow.repair(of, table, [[row] for row in range(n_classes)], lambda rows: len(rows) >= 2)
    ours: dict[int, list[int]] = {}
    for row, at in enumerate(home.tolist()):
        ours.setdefault(at, []).append(row)
    assert [ours[at] for at in sorted(ours)] == [sorted(rows) for rows in twin]


def slow_records(of: list[slow.Attribute], table: list[tuple[int, ...]]) -> tuple[curve.Widths, Any]:
    codes = np.array(table, np.uint16)
    widths = curve.Widths([of[0][0]], [1.0], [np.array(of[0][2])], [None])
    return widths, curve.place(widths, codes, np.arange(len(table), dtype=np.uint32))


def test_repair_ends_at_one_class_when_nothing_passes() -> None:
    table, sensitive = a_table(60, 2)
    classes = Classes(np.arange(60, dtype=np.uint32), np.arange(0, 61, 3), np.zeros(0, np.uint32))
    rules = task(sensitive, 61).rules
    repaired = repair(classes, encoded(table, sensitive, "ns"), rules)
    assert repaired.n_classes == 1
    assert sorted(repaired.rows.tolist()) == list(range(60))


def test_passing_classes_stay_as_they_are() -> None:
    table, sensitive = a_table(60, 2)
    classes = Classes(np.arange(60, dtype=np.uint32), np.arange(0, 61, 3), np.zeros(0, np.uint32))
    repaired = repair(classes, encoded(table, sensitive, "ns"), task(sensitive, 3).rules)
    assert as_multisets(repaired, table, sensitive) == as_multisets(classes, table, sensitive)


def test_class_order_follows_the_curve_through_the_centers_of_the_cells() -> None:
    # One column with positions 0, 1, 3, 4, 10, null = 5: centers 10, 0.5, nulls only, 3 beside a null.
    table = np.array([[4], [4], [0], [1], [5], [5], [5], [2]])
    classes = Classes(np.arange(8, dtype=np.uint32), np.array([0, 2, 4, 6, 8]), np.zeros(0, np.uint32))
    data = encoded(table, np.zeros(8, int), "n")
    assert class_order(classes, data).tolist() == [1, 3, 0, 2]
    # Equal centers: the class with the lowest rank, or with the first row of the input.
    twice = Classes(np.array([1, 3, 0, 2], np.uint32), np.array([0, 2, 4]), np.zeros(0, np.uint32))
    data = encoded(np.array([[2], [0], [0], [2]]), np.array([1, 1, 0, 1]), "n")
    assert class_order(twice, data).tolist() == [1, 0]
    assert class_order(twice, data, ties="input").tolist() == [1, 0]
    data = encoded(np.array([[2], [0], [0], [2]]), np.array([1, 0, 1, 1]), "n")
    assert class_order(twice, data).tolist() == [0, 1]


def test_centers_of_trees_and_sets() -> None:
    # Leaves 0 and 1 meet in the node over 0..2: center 1 of 0..4. The set {0, 1, 1} has the mean 1/2.
    table = np.array([[0, 0], [1, 1], [1, 1], [3, 3], [4, 0], [4, 3]])
    classes = Classes(np.arange(6, dtype=np.uint32), np.array([0, 3, 6]), np.zeros(0, np.uint32))
    tree_center, set_center = (centers(table, kind, classes) for kind in ("t", "s"))
    assert tree_center == [64, 223]  # 1/4 and 3.5/4 of 255
    assert set_center == [32, 96]  # 0.5/4 and 1.5/4 of 255


def centers(table: Any, kind: str, classes: Classes) -> list[int]:
    from anon.methods.repair import _centers

    column = 0 if kind == "t" else 1
    data = encoded(table[:, [column]], np.zeros(len(table), int), kind)
    return _centers(data.quasi[0], data.quasi_codes[0][classes.rows], classes.offsets).tolist()


@given(st.integers(0, 50), st.sampled_from(["nts", "ss"]))
@settings(max_examples=15)
def test_row_order_does_not_matter(seed: int, kinds: str) -> None:
    table, sensitive = a_table(120, len(kinds), seed)
    rules = task(sensitive, 3, ("share", 0, HALF)).rules
    order = np.random.default_rng(seed).permutation(120)
    by_rank = np.lexsort((sensitive, *table.T[::-1])).astype(np.uint32)
    classes = Classes(by_rank, np.arange(0, 121, 4), np.zeros(0, np.uint32))
    again = np.lexsort((sensitive[order], *table[order].T[::-1])).astype(np.uint32)
    repaired = repair(classes, encoded(table, sensitive, kinds), rules)
    shuffled = repair(
        Classes(again, classes.offsets, classes.suppressed),
        encoded(table[order], sensitive[order], kinds),
        rules,
    )
    assert as_multisets(repaired, table, sensitive) == as_multisets(shuffled, table[order], sensitive[order])
    for start, end in itertools.pairwise(repaired.offsets):
        counts = Counter(sensitive[repaired.rows[start:end]].tolist())
        assert 2 * max(counts.values()) <= end - start


def test_repair_refuses_what_does_not_fit() -> None:
    widths, records = kernel_records([(5, 1.0, None, TREE)], [(0,), (1,)])
    rules = half_rules([0, 1], 1)
    with pytest.raises(ValueError, match="sensitive"):
        curve.repair(widths, records, np.zeros((1, 1), np.int32), np.array([0, 2]), rules)
    with pytest.raises(ValueError, match="offsets"):
        curve.repair(widths, records, np.zeros((2, 1), np.int32), np.array([0, 2, 2]), rules)


def test_places_nearer_than_any_other_floats_are_places() -> None:
    """The reach of a column of 0 and the least float: 255 over it is infinite, and 0 times that nothing."""
    table = {"a": [0.0, 0.0, 5e-324, 5e-324, None, None]}
    for method in (anon.KMembers(), anon.Curve(), anon.TGC(w_u=1.0, w_p=0.0)):
        release = anon.anonymize(table, anon.Schema(["a"]), require=[anon.KAnonymity(2)], method=method)
        assert sorted(set(release.table["a"].to_pylist())) == ["0.0", "5e-324", "missing"]
