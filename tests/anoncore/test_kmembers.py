# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_diversity import LOSSES, attribute_of, attributes, closeness_of

from anon.encoding.domain import Domain, Encoded
from anon.errors import DataError, InfeasibleError, UsageError
from anon.methods.kmembers import KMembers, partition
from anon.schema.hierarchy.tree import Tree
from anoncore import kmembers
from anoncore.attribute import Attribute
from anoncore.diversity import Closeness
from reference import kmembers as slow


def records(codes: Any, dtype: Any) -> Any:
    """(codes of the distinct rows, offsets, rows) of a list of rows."""
    distinct, record = np.unique(np.array(codes), axis=0, return_inverse=True)
    record = record.reshape(-1)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(record))]).astype(np.int64)
    return np.ascontiguousarray(distinct, dtype), offsets, np.argsort(record, kind="stable").astype(np.uint32)


def grow(
    codes: Any, twins: list[dict[str, Any]], k: int, start: int, dtype: Any = np.uint16, sensitive: Any = None
) -> Any:
    fast = [attribute_of(twin, twin["loss"], twin["weight"]) for twin in twins]
    members, left, home = kmembers.grow(*records(codes, dtype), fast, k, start, sensitive=sensitive)
    return members.tolist(), left.tolist(), home.tolist()


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 40) -> Any:
    twins = draw(st.lists(attributes(), min_size=1, max_size=4))
    for twin in twins:
        twin["loss"] = draw(st.sampled_from(LOSSES))
        twin["weight"] = draw(st.sampled_from([1.0, 1.0, 2.0, 0.3, 0.0]))
    row = st.tuples(*(st.integers(0, twin["n_values"]) for twin in twins))
    n_distinct = draw(st.integers(1, max_rows))
    pool = draw(st.lists(row, min_size=n_distinct, max_size=n_distinct))
    codes = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_rows))
    return codes, twins, draw(st.integers(1, min(6, len(codes)))), draw(st.integers(0, len(codes) - 1))


@given(tables(), st.sampled_from([np.uint16, np.uint32]))
@settings(max_examples=200)
def test_grow_equals_its_twin(table: Any, dtype: Any) -> None:
    codes, twins, k, start = table
    assert grow(codes, twins, k, start, dtype) == slow.grow(codes, twins, k, start)


@given(st.data(), tables(max_rows=20), st.lists(attributes(huge=False), min_size=1, max_size=2))
@settings(max_examples=100)
def test_grow_for_protection_equals_its_twin(data: Any, table: Any, sensitive: list[dict[str, Any]]) -> None:
    codes, twins, k, start = table
    row = st.tuples(*(st.integers(0, twin["n_values"] - 1) for twin in sensitive))
    values = data.draw(st.lists(row, min_size=len(codes), max_size=len(codes)))
    r, printed = data.draw(st.sampled_from([0.0, 0.3, 1.0])), data.draw(st.booleans())
    closeness = [closeness_of(twin, r, printed) for twin in sensitive]
    assert grow(codes, twins, k, start, sensitive=(closeness, *records(values, np.int64))) == slow.grow(
        codes, twins, k, start, [(twin, r, printed) for twin in sensitive], values
    )


@pytest.mark.parametrize("seed", range(4))
def test_grow_equals_its_twin_where_the_tree_is_deep(seed: int) -> None:
    # Hundreds of records, skewed positions: leaves are split, boxes shrink, the tree is rebuilt.
    rng = np.random.default_rng(seed)
    twins: list[dict[str, Any]] = [
        {"kind": "ordered", "n_values": 60, "positions": np.cumsum(rng.geometric(0.05, 60)).tolist()},
        {"kind": "ordered", "n_values": 90, "positions": [1.2**i for i in range(90)]},
        {"kind": "flat", "n_values": 70},
        {"kind": "tree", "n_values": 6, "parent": [-1, 0, 1, 1, 0, 4, 4, 4, 0], "leaf": [2, 3, 5, 6, 7, 8]},
    ]
    for twin in twins:
        twin |= {"loss": "ncp", "weight": 1.0}
    codes = np.column_stack([rng.integers(0, twin["n_values"] + 1, 250) for twin in twins])
    codes[:, 1] = rng.geometric(0.1, 250).clip(max=90)
    rows = codes[rng.integers(0, 250, 300)].tolist()
    assert grow(rows, twins, 7, 5, np.uint8) == slow.grow(rows, twins, 7, 5)


def test_equals_go_to_the_lowest_row() -> None:
    codes = [(0,), (5,), (5,), (5,), (9,)]
    line = {"kind": "ordered", "n_values": 10, "positions": list(range(10)), "loss": "ncp", "weight": 1.0}
    # From row 0 the furthest is row 4; the nearest to it are rows 1, 2 and 3, equal; 0 is left over.
    assert grow(codes, [line], 2, 0) == ([[4, 1], [0, 2]], [3], [0])


def test_equal_costs_of_leftovers_go_to_the_first_cluster() -> None:
    # 11 / 17 in both: {0, 2, 2, 4, 7} and {11, 12, 15, 15, 17} with 11.
    ages = [12, 0, 17, 4, 11, 11, 15, 15, 7, 2, 13]
    line = {"kind": "ordered", "n_values": 18, "positions": list(range(18)), "loss": "ncp", "weight": 1.0}
    members, left, home = grow([(age,) for age in ages], [line], 5, 6)
    assert ([sorted(cluster) for cluster in members], left, home) == (
        [[1, 3, 4, 8, 9], [0, 2, 6, 7, 10]],
        [5],
        [0],
    )


def test_grow_reports_progress_and_leaves_its_input_alone() -> None:
    line = {"kind": "ordered", "n_values": 9, "positions": list(range(9)), "loss": "ncp", "weight": 1.0}
    codes, offsets, rows = records([(i % 9,) for i in range(20)], np.uint8)
    copies = codes.copy(), offsets.copy(), rows.copy()
    for array in (codes, offsets, rows):
        array.flags.writeable = False
    told: list[tuple[int, int]] = []
    kmembers.grow(codes, offsets, rows, [attribute_of(line)], 3, 0, progress=lambda *done: told.append(done))
    assert told[-1] == (18, 20)
    for array, copy in zip((codes, offsets, rows), copies, strict=True):
        assert (array == copy).all()


@pytest.mark.parametrize(
    ("codes", "offsets", "rows", "k", "start"),
    [
        ([[11]], [0, 1], [0], 1, 0),
        ([[1, 1]], [0, 1], [0], 1, 0),
        ([[1]], [0, 2], [0], 1, 0),
        ([[1], [2]], [0, 0, 1], [0], 1, 0),
        ([[1]], [0, 2], [1, 0], 1, 0),
        ([[1]], [0, 2], [0, 2], 1, 0),
        ([[1]], [0, 1], [0], 2, 0),
        ([[1]], [0, 1], [0], 0, 0),
        ([[1]], [0, 1], [0], 1, 1),
    ],
)
def test_grow_checks_its_input(codes: Any, offsets: Any, rows: Any, k: int, start: int) -> None:
    line = {"kind": "ordered", "n_values": 10, "positions": list(range(10)), "loss": "ncp", "weight": 1.0}
    with pytest.raises(ValueError, match=r"codes?|offsets|rows|k must|start must"):
        kmembers.grow(
            np.array(codes, np.uint8),
            np.array(offsets, np.int64),
            np.array(rows, np.uint32),
            [attribute_of(line)],
            k,
            start,
        )


AGES = Domain("age", "numeric", pa.array(range(20, 60)), True, np.arange(40.0), True, weight=2.0)
JOBS = Domain("job", "nominal", pa.array(list("abcdef")), False)
PLACES = Domain(
    "place",
    "nominal",
    pa.array(list("uvwxyz")),
    True,
    tree=Tree(
        tuple("*ABuvwxyz"),
        *(
            np.array(part, np.int32)
            for part in (
                [-1, 0, 1, 1, 1, 0, 5, 5, 5],
                [0, 0, 0, 1, 2, 3, 3, 4, 5],
                [5, 2, 0, 1, 2, 5, 3, 4, 5],
                [0, 1, 2, 2, 2, 1, 2, 2, 2],
                [2, 3, 4, 6, 7, 8],
            )
        ),
    ),
)
PAY = Domain("pay", "ordinal", pa.array(range(6)), False, np.arange(6.0))


def encoded(rows: Any, suppressed: Any = ()) -> Encoded:
    columns = [column.astype(np.uint8) for column in np.array(rows).reshape(-1, 4).T]
    return Encoded(
        pa.table({"id": np.arange(len(rows))}),
        cast(Any, None),
        (AGES, JOBS, PLACES),
        tuple(columns[:3]),
        (PAY,),
        tuple(columns[3:]),
        np.array(suppressed, np.uint32),
    )


def task(seed: int = 0, progress: Any = None) -> Any:
    return SimpleNamespace(rng=np.random.default_rng(seed), n_threads=1, progress=progress)


def people(n: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, n) for size in (41, 6, 7, 6)])


def contents(table: Any, classes: Any) -> Any:
    """The classes as a multiset of multisets of rows."""
    parts = np.split(classes.rows, classes.offsets[1:-1])
    return Counter(tuple(sorted(map(tuple, table[part].tolist()))) for part in parts)


@pytest.mark.parametrize("method", [KMembers(), KMembers(loss="byun"), KMembers("protection")])
def test_classes_do_not_depend_on_the_order_of_the_rows(method: KMembers) -> None:
    table = people(200)
    classes = partition(encoded(table), method, task(), 7)
    for seed in range(3):
        shuffled = table[np.random.default_rng(seed).permutation(200)]
        assert contents(shuffled, partition(encoded(shuffled), method, task(), 7)) == contents(table, classes)


@pytest.mark.parametrize("objective", ["utility", "protection"])
@pytest.mark.parametrize("ties", ["rank", "input"])
def test_every_row_has_one_class_of_at_least_k(objective: Any, ties: Any) -> None:
    table, told = people(61), []
    classes = partition(
        encoded(table, [3, 60]),
        KMembers(objective, ties=ties),
        task(progress=lambda *done: told.append(done)),
        4,
    )
    assert sorted([*classes.rows.tolist(), 3, 60]) == list(range(61))
    assert classes.rows.dtype == np.uint32
    assert classes.offsets.dtype == np.int64
    assert classes.suppressed.tolist() == [3, 60]
    assert classes.sizes.min() >= 4
    assert classes.n_classes == 59 // 4
    assert told[-1] == ("clustering", 56, 59)


def test_partition_equals_the_twin_on_the_rows_in_rank_order() -> None:
    table = people(80)
    classes = partition(encoded(table), KMembers(), task(5), 6)
    ranked = sorted(map(tuple, table.tolist()))
    twins: list[dict[str, Any]] = [
        {"kind": "ordered", "n_values": 40, "positions": list(range(40)), "loss": "ncp", "weight": 2.0},
        {"kind": "flat", "n_values": 6, "loss": "ncp", "weight": 1.0},
        {"kind": "tree", "n_values": 6, "parent": [-1, 0, 1, 1, 1, 0, 5, 5, 5], "leaf": [2, 3, 4, 6, 7, 8]},
    ]
    twins[2] |= {"loss": "ncp", "weight": 1.0}
    start = int(np.random.default_rng(5).integers(80))
    clusters, left, home = slow.grow([row[:3] for row in ranked], twins, 6, start)
    for row, cluster in zip(left, home, strict=True):
        clusters[cluster].append(row)
    assert contents(table, classes) == Counter(
        tuple(sorted(ranked[row] for row in cluster)) for cluster in clusters
    )


def test_ties_by_input_follow_the_rows() -> None:
    table = np.array([(0, 0, 0, pay) for pay in (5, 4, 3, 2, 1, 0)])
    by_input = partition(encoded(table), KMembers(ties="input"), task(), 2)
    by_rank = partition(encoded(table), KMembers(), task(), 2)
    assert by_input.rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert by_rank.rows.tolist() == [5, 4, 3, 2, 1, 0]


def test_protection_mixes_sensitive_values() -> None:
    table = np.array([(0, 0, 0, pay) for pay in (0, 0, 0, 5, 5, 5)])
    classes = partition(encoded(table), KMembers("protection"), task(), 2)
    assert all(len(set(table[part, 3])) == 2 for part in np.split(classes.rows, classes.offsets[1:-1]))


def test_refusals_name_the_column_and_the_way_out() -> None:
    table = people(10)
    with pytest.raises(InfeasibleError, match="at most 9") as infeasible:
        partition(encoded(table, [0]), KMembers(), task(), 10)
    assert infeasible.value.tightest == 9
    table[[4, 7], 3] = 6
    with pytest.raises(
        DataError, match=r"pay: 2 values are missing, the first in row 5.*suppress"
    ) as missing:
        partition(encoded(table), KMembers("protection"), task(), 2)
    assert (missing.value.column, missing.value.row, missing.value.count) == ("pay", 4, 2)
    assert partition(encoded(table, [4, 7]), KMembers("protection"), task(), 2).n_classes == 4
    assert partition(encoded(table), KMembers(), task(), 2).n_classes == 5
    for wrong in ({"objective": "both"}, {"loss": "dm"}, {"ties": "random"}):
        with pytest.raises(UsageError, match="must be"):
            KMembers(**wrong)


def test_equal_records_are_not_divided() -> None:
    n = 40
    codes, attribute = np.zeros((n, 1), np.uint8), Attribute(1)
    members, left, _ = kmembers.grow(
        codes, np.arange(n + 1), np.arange(n, dtype=np.uint32), [attribute], 3, 0
    )
    assert sorted([*members.ravel(), *left]) == list(range(n))


def test_a_line_of_infinite_length_is_one_of_length_1() -> None:
    n = 40
    codes = np.column_stack([np.zeros(n), np.arange(n)]).astype(np.uint8)
    line = np.linspace(-1, 1, n)
    far, near = (
        kmembers.grow(
            codes,
            np.arange(n + 1),
            np.arange(n, dtype=np.uint32),
            [Attribute(1), Attribute(n, places)],
            3,
            0,
        )
        for places in (line * 2.0**1023, line)
    )
    assert all((one == other).all() for one, other in zip(far, near, strict=True))


def test_progress_may_change_what_grow_was_given() -> None:
    n = 3 * 2**16
    codes, offsets, rows = (
        np.arange(2, dtype=np.uint8)[:, None],
        np.array([0, n // 2, n]),
        np.arange(n, dtype=np.uint32),
    )
    attribute = Attribute(2, np.arange(2.0))

    def spoil(done: int, total: int) -> None:
        codes[:] = 255
        offsets[:] = 2**60
        rows[:] = 2**32 - 1

    members, left, _ = kmembers.grow(codes, offsets, rows, [attribute], 3, 0, progress=spoil)
    assert sorted([*members.ravel(), *left]) == list(range(n))


def test_sums_over_pairs_are_whole_only_where_they_are_exact() -> None:
    """(2k)**4 of 65,536 rows is 2**64, which no machine word holds."""
    each = [
        Closeness(Attribute(3, [0.0, 1.0, 2.0]), r=1.0),
        Closeness(Attribute(4, [0.0, 1.0, 2.0, 3.0]), r=1.0),
    ]
    assert kmembers._units_of(each, 2) == [3, 2]
    for k in (2**15, 2**31):
        assert kmembers._units_of(each, k) == pytest.approx([1 / 2, 1 / 3])
