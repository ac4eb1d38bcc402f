# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_curve import (
    HALF,
    a_table,
    as_multisets,
    encoded,
    task,
)

import anon
from anon.classes.classes import Classes
from anon.methods.repair import class_order, repair

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


def test_classes_that_pass_come_back_as_they_are() -> None:
    table, sensitive = a_table(60, 2)
    classes = Classes(np.arange(60, dtype=np.uint32), np.arange(0, 61, 3), np.zeros(0, np.uint32))
    coded = encoded(table, sensitive, "ns")
    assert repair(classes, coded, task(sensitive, 3).rules) is classes
    marked = repair(classes, coded, task(sensitive, 3).rules, cut=False, failing=np.arange(20) == 7)
    assert marked.n_classes == 19


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


def test_what_was_merged_is_cut_again() -> None:
    table = np.repeat([[0], [1], [2], [4]], 6, axis=0)
    sensitive = np.repeat([0, 1, 0, 1], 6)
    classes = Classes(np.arange(24, dtype=np.uint32), np.arange(0, 25, 6), np.zeros(0, np.uint32))
    data, rules = encoded(table, sensitive, "n"), task(sensitive, 2, ("share", 0, HALF)).rules
    whole = repair(classes, data, rules, cut=False)
    parts = repair(classes, data, rules)
    assert whole.n_classes == 1
    assert parts.n_classes > 2
    assert sorted(parts.rows.tolist()) == list(range(24))
    for start, end in itertools.pairwise(parts.offsets):
        assert 2 * np.bincount(sensitive[parts.rows[start:end]]).max() == end - start


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


def test_places_nearer_than_any_other_floats_are_places() -> None:
    """The reach of a column of 0 and the least float: 255 over it is infinite, and 0 times that nothing."""
    table = {"a": [0.0, 0.0, 5e-324, 5e-324, None, None]}
    for method in (anon.KMembers(), anon.Curve(), anon.TGC(w_u=1.0, w_p=0.0)):
        release = anon.anonymize(table, anon.Schema(["a"]), require=[anon.KAnonymity(2)], method=method)
        assert sorted(set(release.table["a"].to_pylist())) == ["0.0", "5e-324", "missing"]
