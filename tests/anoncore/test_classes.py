# SPDX-License-Identifier: Apache-2.0
"""The kernels of the classes room against their twins, and classes and cells above them."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anoncore.classes as kernel
import reference.classes as twin
from anon.classes.classes import Classes, Counts, group, sensitive_counts
from anon.classes.generalized import Cells, cells, full_cells, merge, population_counts
from anon.encoding.domain import Domain, Encoded
from anon.schema.hierarchy.tree import Tree

DTYPES = [np.uint8, np.uint16, np.uint32]


@st.composite
def tables(draw: st.DrawFn) -> list[np.ndarray]:
    """One to nine columns of mixed widths: ties, constants, huge codes, no rows at all."""
    n = draw(st.sampled_from([0, 1, 2, 5, 30, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = []
    for _ in range(draw(st.integers(1, 9))):
        dtype = draw(st.sampled_from(DTYPES))
        top = draw(st.sampled_from([1, 2, 5, 200, 2**32]))
        columns.append(rng.integers(0, min(top, np.iinfo(dtype).max + 1), n).astype(dtype))
    return columns


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Classes of some rows of a table, and one more column with its domain's size."""
    columns = draw(tables())
    n = len(columns[0])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, offsets = kernel.group([rng.integers(0, draw(st.sampled_from([1, 3, 50])), n).astype(np.uint8)])
    codes = columns[-1]
    n_values = int(codes.max(initial=0)) + 1
    if n_values > 2**20:
        codes, n_values = codes % (2**20), 2**20
    return np.ascontiguousarray(codes), rows, offsets, n_values


@settings(max_examples=80, deadline=None)
@given(tables(), st.booleans(), st.sampled_from([(1, 1 << 18), (3, 1), (2, 7)]))
def test_group(columns: list[np.ndarray], some: bool, how: tuple[int, int]) -> None:
    n = len(columns[0])
    rows = np.flatnonzero(np.arange(n) % 3).astype(np.uint32) if some else None
    mine = kernel.group(columns, rows, *how)
    theirs = twin.group(columns, None if rows is None else rows.tolist())
    assert mine[0].tolist() == theirs[0]
    assert mine[1].tolist() == theirs[1]
    assert mine[0].dtype == np.uint32
    assert mine[1].dtype == np.int64


@pytest.mark.parametrize("distinct", [3, 5_000, 100_000])
def test_group_of_many_rows(distinct: int) -> None:
    """Beyond the cache-sized parts and the first digit, with one very large part."""
    rng = np.random.default_rng(1)
    code = np.where(rng.random(200_000) < 0.5, 0, rng.integers(0, distinct, 200_000)).astype(np.uint32)
    columns = [np.zeros(200_000, np.uint16), code, (code % 251).astype(np.uint8), code * np.uint32(40_000)]
    order = np.argsort(code, kind="stable")
    rows, offsets = kernel.group(columns, n_threads=2, block_rows=10_000)
    assert np.array_equal(rows, order)
    assert np.array_equal(offsets[:-1], np.unique(code[order], return_index=True)[1])


def test_group_of_a_full_word() -> None:
    """Radices that multiply to exactly 2**64 in one word, and the next column in a second."""
    columns = [np.array([2**32 - 1, 0, 2**32 - 1], np.uint32)] * 2 + [np.array([1, 0, 0], np.uint8)]
    rows, offsets = kernel.group(columns)
    assert rows.tolist() == [1, 2, 0]
    assert offsets.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "columns",
    [[], [np.zeros(2, np.uint8), np.zeros(3, np.uint8)], [np.zeros(2, np.int64)]],
    ids=["none", "ragged", "signed"],
)
def test_group_refuses(columns: list[np.ndarray]) -> None:
    with pytest.raises(ValueError, match="column"):
        kernel.group(columns)


@st.composite
def in_classes(draw: st.DrawFn) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Columns, and classes of some rows of theirs."""
    columns = draw(tables())
    n = len(columns[0])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    some = np.flatnonzero(rng.random(n) < draw(st.sampled_from([0.5, 1.0]))).astype(np.uint32)
    classes = rng.integers(0, draw(st.sampled_from([1, 3, 50])), n).astype(np.uint8)
    return columns, *kernel.group([classes], some)


@settings(max_examples=80, deadline=None)
@given(in_classes(), st.sampled_from([(1, 1 << 16), (3, 1), (2, 7)]))
def test_split(case: tuple[list[np.ndarray], np.ndarray, np.ndarray], how: tuple[int, int]) -> None:
    columns, rows, offsets = case
    n_alone, kept, bounds = kernel.split(columns, rows, offsets, *how)
    assert (n_alone, kept.tolist(), bounds.tolist()) == twin.split(columns, rows.tolist(), offsets.tolist())
    assert (kept.dtype, bounds.dtype) == (np.uint32, np.int64)


@settings(max_examples=120, deadline=None)
@given(
    in_classes(),
    st.sampled_from(["apart", "told", "telling"]),
    st.integers(0, 40),
    st.sampled_from([(1, 1 << 16), (3, 1), (2, 7)]),
    st.sampled_from([None, 0, 1]),
)
def test_few_candidates(
    case: tuple[list[np.ndarray], np.ndarray, np.ndarray],
    relation: str,
    k: int,
    how: tuple[int, int],
    beyond: int | None,
) -> None:
    """Also where one column tells the other, and where ends of the codes of each class are known."""
    columns, rows, offsets = case
    of, by = columns[0], columns[-1]
    of, by = {"apart": (of, by), "told": (of, of // 2), "telling": (by // 2, by)}[relation]
    ends = None
    if beyond is not None:
        low, high, _ = kernel.boxes(of, rows, offsets)
        ends = low - np.minimum(low, np.uint32(beyond)), high + np.uint32(beyond)
    mine = kernel.few_candidates(of, by, rows, offsets, k, ends, *how)
    assert mine == twin.few_candidates(of, by, rows.tolist(), offsets.tolist(), k)


def test_few_candidates_passes_over_classes_by_their_ends() -> None:
    """Codes that go with the same ones: nothing is read of a class that holds no others."""
    of = np.array([0, 1, 0, 1, 2, 2], np.uint8)
    by = np.array([0, 1, 1, 0, 2, 2], np.uint8)
    rows, offsets = np.arange(6, dtype=np.uint32), np.array([0, 3, 6])
    wrong = np.zeros(2, np.uint32)  # of the second class, that it holds 0 alone
    assert kernel.few_candidates(of, by, rows, offsets, 3) == 3
    assert kernel.few_candidates(of, by, rows, offsets, 3, (wrong, wrong + np.array([1, 2], np.uint32))) == 3
    assert kernel.few_candidates(of, by, rows, offsets, 3, (wrong, wrong + np.array([1, 1], np.uint32))) == 0
    with pytest.raises(ValueError, match="ends"):
        kernel.few_candidates(of, by, rows, offsets, 3, (wrong, wrong[:1]))


def test_few_candidates_of_many_rows() -> None:
    """A table filled by several threads: each number goes with its tens, a tenth of the class."""
    tens = np.tile(np.repeat(np.arange(10, dtype=np.uint8), 10), 2_000)
    ones = np.tile(np.arange(100, dtype=np.uint8), 2_000)
    rows, offsets = kernel.group([np.repeat(np.arange(2_000, dtype=np.uint16), 100)])
    assert kernel.few_candidates(ones, tens, rows, offsets, 10, n_threads=3) == 0
    assert kernel.few_candidates(ones, tens, rows, offsets, 11, n_threads=3) == 200_000


@settings(max_examples=80, deadline=None)
@given(grouped(), st.sampled_from([(1, 1 << 17), (3, 1), (2, 10)]))
def test_value_counts(case: tuple[np.ndarray, np.ndarray, np.ndarray, int], how: tuple[int, int]) -> None:
    mine = kernel.value_counts(*case, *how)
    assert [part.tolist() for part in mine] == list(twin.value_counts(*case))
    assert [part.dtype for part in mine] == [np.int64, np.uint32, np.int64]


@settings(max_examples=80, deadline=None)
@given(grouped(), st.booleans(), st.sampled_from([(1, 1 << 17), (3, 1)]))
def test_boxes(
    case: tuple[np.ndarray, np.ndarray, np.ndarray, int], nulls: bool, how: tuple[int, int]
) -> None:
    codes, rows, offsets, n_values = case
    null_code = n_values - 1 if nulls else -1
    mine = kernel.boxes(codes, rows, offsets, null_code, *how)
    assert [part.tolist() for part in mine] == list(twin.boxes(codes, rows, offsets, null_code))


@settings(max_examples=40, deadline=None)
@given(grouped(), st.integers(0, 2**32), st.sampled_from([(1, 1 << 18), (3, 1)]))
def test_shuffle(
    case: tuple[np.ndarray, np.ndarray, np.ndarray, int], seed: int, how: tuple[int, int]
) -> None:
    _, rows, offsets, _ = case
    before = rows.copy()
    random = np.random.default_rng(seed).integers(0, 2**64, len(rows), dtype=np.uint64)
    mine = kernel.shuffle(rows, offsets, random, *how)
    assert mine.tolist() == twin.shuffle(rows, offsets, random)
    assert np.array_equal(rows, before)


def test_shuffle_draws_every_order() -> None:
    """Three rows have six orders; 6,000 draws give each about 1,000 (5 standard deviations: 144)."""
    rows = np.tile(np.arange(3, dtype=np.uint32), 6_000)
    offsets = np.arange(0, 18_001, 3)
    random = np.random.default_rng(0).integers(0, 2**64, 18_000, dtype=np.uint64)
    orders = kernel.shuffle(rows, offsets, random).reshape(-1, 3)
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert counts.min() > 856
    assert counts.max() < 1_144


@pytest.mark.parametrize(
    ("rows", "offsets"),
    [
        ([0, 1], [0, 1]),
        ([0, 1], [0, 0, 2]),
        ([0, 1], [1, 2]),
        ([0, 7], [0, 2]),
        ([0, 1], [0, 2**63 - 1, 5 - 2**63, 2]),
    ],
    ids=["short", "empty class", "late start", "beyond", "steps that wrap"],
)
def test_bad_classes_are_refused(rows: list[int], offsets: list[int]) -> None:
    with pytest.raises(ValueError, match=r"offsets|row number"):
        kernel.boxes(np.zeros(2, np.uint8), np.array(rows, np.uint32), np.array(offsets, np.int64))


def test_codes_beyond_the_domain_are_refused() -> None:
    with pytest.raises(ValueError, match="n_values"):
        kernel.value_counts(np.array([3], np.uint8), np.array([0], np.uint32), np.array([0, 1]), 3)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([(1, 1 << 12), (3, 1)]))
def test_count_inside(seed: int, how: tuple[int, int]) -> None:
    """Random points with ties and nulls; intervals, sets, cells of null only, boxes that overlap."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.choice([0, 1, 20, 400])), int(rng.integers(1, 4))
    columns, sides = [], []
    n_boxes = int(rng.integers(0, 9))
    for _ in range(m):
        n_values = int(rng.choice([1, 2, 12, 3_000]))
        null_code = n_values if rng.random() < 0.5 else -1
        dtype = rng.choice([np.uint32, np.uint16])
        columns.append(rng.integers(0, n_values + (null_code > 0), n).astype(dtype))
        ends = np.sort(rng.integers(0, n_values, (5, 2)), axis=1).astype(np.uint32)
        null = (rng.random(5) < 0.5) & (null_code > 0)
        if null_code > 0:
            ends[0], null[0] = (1, 0), True
            ends[1], null[1] = (0, n_values - 1), True
        sets = (None, None)
        if rng.random() < 0.4:
            held = [np.flatnonzero(rng.random(n_values) < 0.5) for _ in range(5)]
            held = [h[(h >= low) & (h <= high)] for h, (low, high) in zip(held, ends, strict=True)]
            sets = (np.cumsum([0, *map(len, held)]), np.concatenate(held).astype(np.uint32))
        of_box = rng.integers(0, 5, n_boxes).astype(np.uint32)
        sides.append((of_box, ends[:, 0], ends[:, 1], null, null_code, *sets))
    mine = kernel.count_inside(columns, sides, *how)
    assert mine.dtype == np.int64
    assert mine.tolist() == twin.count_inside(columns, sides)
    offsets, rows = kernel.find_inside(columns, sides, 2**40, *how)
    assert [sorted(part.tolist()) for part in np.split(rows, offsets[1:-1])][: len(mine)] == (
        twin.find_inside(columns, sides, 2**40)
    )
    assert kernel.find_inside(columns, sides, len(rows), *how) is not None
    if len(rows):
        assert kernel.find_inside(columns, sides, len(rows) - 1, *how) is None


@pytest.mark.parametrize("shape", ["rising", "pipe", "even then odd"])
def test_count_inside_is_not_slow_on_ordered_rows(shape: str) -> None:
    """Columns that rise, or rise and fall, take no longer to build a tree of than shuffled ones."""
    n = 64_000
    i = np.arange(n)
    values = {
        "rising": i,
        "pipe": np.minimum(i, n - 1 - i),
        "even then odd": np.minimum(2 * i, 2 * (n - i) - 1),
    }
    wide = (values[shape] * 4).astype(np.uint32)
    shuffled = np.random.default_rng(0).permutation(wide)
    whole = np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.array([2**32 - 1], np.uint32)
    cells = [(*whole, np.zeros(1, np.bool_), -1, None, None)] * 2

    def seconds(column: np.ndarray) -> float:
        best = np.inf
        for _ in range(3):
            start = time.thread_time()
            assert kernel.count_inside([i.astype(np.uint32), column], cells).tolist() == [n]
            best = min(best, time.thread_time() - start)
        return best

    assert seconds(wide) < 4 * seconds(shuffled)


def test_count_inside_refuses() -> None:
    column = np.zeros(2, np.uint8)
    one = np.zeros(1, np.uint32)
    good = (one, one, one, np.zeros(1, np.bool_), -1, None, None)
    with pytest.raises(ValueError, match="columns"):
        kernel.count_inside([], [])
    with pytest.raises(ValueError, match="of_box"):
        kernel.count_inside([column], [(one + np.uint32(1), *good[1:])])
    with pytest.raises(ValueError, match="low, high and null"):
        kernel.count_inside([column], [(one, np.zeros(2, np.uint32), *good[2:])])
    for ends in ([0], [0, 2], [0, 10**7], [-1, 1], [1, 0], [2**63 - 1, -(2**63)]):
        with pytest.raises(ValueError, match="set_offsets"):
            kernel.count_inside([column], [(*good[:5], np.array(ends), one)])
    with pytest.raises(ValueError, match="set_codes"):
        kernel.count_inside([column], [(*good[:5], np.array([0, 0]), None)])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([(1, 1 << 12), (3, 1), (2, 7)]))
def test_count_common(seed: int, how: tuple[int, int]) -> None:
    """Random families of sets: elements in none, in one and in many; sets far from 0; weights of 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([0, 1, 9, 60]))
    families, told = [], []
    for _ in range(2):
        n_sets = int(rng.choice([1, 3, 20]))
        ids = rng.choice(2**32, n_sets, replace=False).astype(np.uint32)
        sets = [set(ids[rng.random(n_sets) < rng.choice([0, 0.2, 0.8])].tolist()) for _ in range(n)]
        offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        families.append((offsets, np.array([one for each in sets for one in each], np.uint32)))
        told.append(sets)
    weights = rng.integers(0, 5, n)
    mine = kernel.count_common(*families, weights, *how)
    assert mine.dtype == np.int64
    expected = twin.count_common(*told, weights.tolist())
    assert mine.tolist() == expected
    some = rng.integers(0, n, n // 2) if n else np.empty(0)
    counted = kernel.count_common(*families, weights, *how, some.astype(np.uint32))
    assert counted.tolist() == [expected[e] for e in some.tolist()]


def test_count_common_refuses() -> None:
    family = np.array([0, 1, 2]), np.array([0, 0], np.uint32)
    weights = np.ones(2, np.int64)
    with pytest.raises(ValueError, match="first must hold offsets and sets"):
        kernel.count_common(family[0], family, weights)
    with pytest.raises(ValueError, match="second: 3 elements but 2"):
        kernel.count_common((np.array([0, 1, 2, 2]), family[1]), family, np.ones(3, np.int64))
    for wrong in ([-1, 1], [2**62, 2**62]):
        with pytest.raises(ValueError, match="at least 0"):
            kernel.count_common(family, family, np.array(wrong))
    with pytest.raises(ValueError, match="no element of such a number"):
        kernel.count_common(family, family, weights, elements=np.array([2], np.uint32))


def test_two_workers_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With blocks of one row, two threads meet inside the kernels' tasks."""
    meeting = threading.Barrier(2, timeout=120)
    workers = set()

    class Pool(concurrent.futures.ThreadPoolExecutor):
        def map(self, function: Any, *iterables: Any, **options: Any) -> Any:
            def together(argument: Any) -> Any:
                if threading.get_ident() not in workers:
                    workers.add(threading.get_ident())
                    meeting.wait()
                return function(argument)

            return super().map(together, *iterables, **options)

    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", Pool)
    codes = np.arange(10, dtype=np.uint8)
    kernel.boxes(codes, np.arange(10, dtype=np.uint32), np.arange(11), n_threads=2, block_rows=1)
    assert len(workers) == 2


# ---------------------------------------------------------------- classes and cells


def tree(parents: list[int], leaves: list[int]) -> Tree:
    """A tree from the parents of its preorder nodes and the nodes that are leaves."""
    n = len(parents)
    below = [[c for c, leaf in enumerate(leaves) if v in ancestors(parents, leaf)] for v in range(n)]
    return Tree(
        labels=tuple(f"node {v}" for v in range(n)),
        parent=np.array(parents, np.int32),
        first=np.array([b[0] for b in below], np.int32),
        last=np.array([b[-1] for b in below], np.int32),
        depth=np.array([len(ancestors(parents, v)) - 1 for v in range(n)], np.int32),
        leaf=np.array(leaves, np.int32),
    )


def ancestors(parents: list[int], node: int) -> list[int]:
    """The node and everything above it, root last."""
    above = [node]
    while parents[above[-1]] >= 0:
        above.append(parents[above[-1]])
    return above


# {0, {1, {2, 3, 4}}, {{5}}}: five leaves at mixed depths, then a chain of only children
PARENTS = [-1, 0, 0, 2, 2, 4, 4, 4, 0, 8, 9]
LEAVES = [1, 3, 5, 6, 7, 10]


def domain(kind: str, n_values: int, has_null: bool, of: Tree | None = None) -> Domain:
    values = pa.array([f"v{i:05}" for i in range(n_values)])
    return Domain("q", kind, values, has_null, tree=of)  # type: ignore[arg-type]


def encoded(domains: list[Domain], columns: list[np.ndarray]) -> Encoded:
    table = pa.table({f"q{i}": column for i, column in enumerate(columns)})
    none = np.empty(0, np.uint32)
    return Encoded(table, None, tuple(domains), tuple(columns), (), (), none)  # type: ignore[arg-type]


def shown(cell: Cells, c: int) -> tuple[Any, ...]:
    """What class c shows: (low, high, set or None, null)."""
    i = int(cell.of_class[c])
    held = None
    if cell.set_offsets is not None and cell.set_codes is not None:
        held = tuple(cell.set_codes[cell.set_offsets[i] : cell.set_offsets[i + 1]].tolist())
    return int(cell.low[i]), int(cell.high[i]), held, bool(cell.null[i])


def expected_cell(of: Domain, held: set[int]) -> tuple[Any, ...]:
    """The cell of a class by its definition, from the set of codes present."""
    null = of.has_null and of.n_values in held
    present = sorted(held - {of.n_values} if of.has_null else held)
    low, high = (present[0], present[-1]) if present else (1, 0)
    if of.kind != "nominal":
        return low, high, None, null
    if of.tree is None:
        return low, high, tuple(present), null
    if present:
        above = [set(ancestors(PARENTS, LEAVES[code])) for code in present]
        common = max(set.intersection(*above))
        leaves = [c for c, leaf in enumerate(LEAVES) if common in ancestors(PARENTS, leaf)]
        low, high = leaves[0], leaves[-1]
    return low, high, None, null


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["numeric", "ordinal", "tree", "flat"]),
    st.booleans(),
    st.integers(1, 40),
    st.integers(0, 2**32),
)
def test_cells_by_definition(kind: str, has_null: bool, n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_values = 6 if kind == "tree" else int(rng.integers(1, 60))
    of = domain(
        "nominal" if kind in ("tree", "flat") else kind,
        n_values,
        has_null,
        tree(PARENTS, LEAVES) if kind == "tree" else None,
    )
    n = int(rng.integers(n_classes, 400))
    codes = rng.integers(0, of.n_codes, n).astype(np.uint8)
    codes[rng.random(n) < 0.7] = codes[0]
    which = np.arange(n) % n_classes
    classes = group([which.astype(np.uint8)])
    (cell,) = cells(encoded([of], [codes]), classes, 2)
    assert cell.of_class.dtype == np.uint32
    assert cell.low.dtype == cell.high.dtype == np.uint32
    answers = [shown(cell, c) for c in range(n_classes)]
    assert answers == [expected_cell(of, set(codes[which == c].tolist())) for c in range(n_classes)]
    distinct = [shown(cell, int(np.flatnonzero(cell.of_class == i)[0])) for i in range(len(cell.low))]
    keys = [(low, high, (len(held), held) if held else (), null) for low, high, held, null in distinct]
    assert keys == sorted(set(keys))


def test_cell_of_a_column_that_is_all_null() -> None:
    classes = group([np.array([0, 1, 1], np.uint8)])
    for kind in ("numeric", "nominal"):
        (cell,) = cells(encoded([domain(kind, 0, True)], [np.zeros(3, np.uint8)]), classes)
        assert len(cell.low) == 1
        assert shown(cell, 1) == (1, 0, () if kind == "nominal" else None, True)


def test_full_cells() -> None:
    domains = [domain("numeric", 9, True), domain("nominal", 3, False), domain("numeric", 0, True)]
    columns = [np.zeros(2, np.uint8)] * 3
    classes = group([np.array([0, 1], np.uint8)])
    whole = full_cells(encoded(domains, columns), classes)
    assert [shown(cell, 1) for cell in whole] == [
        (0, 8, None, True),
        (0, 2, (0, 1, 2), False),
        (1, 0, None, True),
    ]


def test_group_leaves_out_suppressed_rows() -> None:
    classes = group([np.array([1, 0, 1, 0, 0], np.uint8)], np.array([1, 2], np.uint32))
    assert classes.rows.tolist() == [3, 4, 0]
    assert classes.offsets.tolist() == [0, 2, 3]
    assert classes.suppressed.tolist() == [1, 2]


def test_merge_joins_equal_cells_in_place() -> None:
    """Classes 0..3 with cells b a b c: the first and third become one, in the first one's place."""
    classes = Classes(
        np.array([5, 4, 0, 1, 3, 2], np.uint32), np.array([0, 1, 3, 5, 6]), np.empty(0, np.uint32)
    )
    of_class = np.array([1, 0, 1, 2], np.uint32)
    bounds = np.arange(3, dtype=np.uint32)
    cell = Cells(domain("numeric", 3, False), of_class, bounds, bounds, np.zeros(3, np.bool_))
    merged, (shown_cell,) = merge(classes, [cell])
    assert merged.rows.tolist() == [5, 1, 3, 4, 0, 2]
    assert merged.offsets.tolist() == [0, 3, 5, 6]
    assert shown_cell.of_class.tolist() == [1, 0, 2]


def test_merge_of_distinct_cells_gives_its_arguments_back() -> None:
    classes = group([np.array([0, 1, 2], np.uint8)])
    made = cells(encoded([domain("numeric", 3, False)], [np.array([0, 1, 2], np.uint8)]), classes)
    again, same = merge(classes, made)
    assert again is classes
    assert same == made


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_merge_loses_no_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    codes = [rng.integers(0, 4, n).astype(np.uint8) for _ in range(2)]
    classes = group([rng.integers(0, 60, n).astype(np.uint8)])
    table = encoded([domain("numeric", 4, False), domain("nominal", 3, True)], codes)
    merged, after = merge(classes, cells(table, classes))
    assert sorted(merged.rows.tolist()) == list(range(n))
    keys = [tuple(shown(cell, c) for cell in after) for c in range(merged.n_classes)]
    assert len(set(keys)) == len(keys)
    again = cells(table, merged)
    assert keys == [tuple(shown(cell, c) for cell in again) for c in range(merged.n_classes)]


def test_sensitive_counts() -> None:
    classes = group([np.array([0, 0, 1, 1, 1], np.uint8)], np.array([4], np.uint32))
    counts = sensitive_counts(classes, np.array([2, 2, 0, 2, 1], np.uint8), 4)
    assert counts.offsets.tolist() == [0, 1, 3]
    assert counts.values.tolist() == [2, 0, 2]
    assert counts.counts.tolist() == [2, 1, 1]
    assert counts.table.tolist() == [1, 0, 3, 0]


@pytest.mark.parametrize("kind", ["numeric", "flat", "tree"])
def test_population_counts_of_the_table_itself(kind: str) -> None:
    """Disjoint cells of a table hold exactly their class's rows; overlapping ones at least those."""
    rng = np.random.default_rng(3)
    of = domain(
        "numeric" if kind == "numeric" else "nominal",
        6,
        True,
        tree(PARENTS, LEAVES) if kind == "tree" else None,
    )
    codes = rng.integers(0, 7, 500).astype(np.uint8)
    apart = group([codes])
    counts = population_counts(cells(encoded([of], [codes]), apart), [codes])
    assert counts.tolist() == apart.sizes.tolist()
    mixed = group([rng.integers(0, 40, 500).astype(np.uint8)])
    overlapping = cells(encoded([of, of], [codes, codes[::-1].copy()]), mixed)
    assert np.all(population_counts(overlapping, [codes, codes[::-1].copy()], 2) >= mixed.sizes)


def test_reprs_hold_no_values() -> None:
    counts = Counts(np.array([0, 1]), np.array([7], np.uint32), np.array([3]), np.array([3]))
    assert repr(counts) == "Counts(n_classes=1, n_values=1)"
