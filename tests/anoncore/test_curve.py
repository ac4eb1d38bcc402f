# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.classes.classes import Classes
from anon.encoding.domain import Domain, Encoded
from anon.errors import InfeasibleError, UsageError
from anon.methods import Task, mondrian
from anon.methods import curve as method
from anon.methods.curve import Curve
from anon.schema.hierarchy.tree import Tree
from anoncore import curve
from anoncore.attribute import Attribute
from anoncore.doors import array_of, codes_of
from anoncore.requirement import Conjunction
from reference import curve as slow

HALF = Fraction(1, 2)
EFFORTS: tuple[Any, ...] = ("balanced", "best")
# Root 0 over leaves 0..2 (node 1) and 3..4 (node 5): parent, first, last, leaf.
TREE = ([-1, 0, 1, 1, 1, 0, 5, 5], [0, 0, 0, 1, 2, 3, 3, 4], [4, 2, 0, 1, 2, 4, 3, 4], [2, 3, 4, 6, 7])


@st.composite
def attributes(draw: st.DrawFn, kinds: tuple[str, ...] = ("ordered", "tree", "set")) -> list[slow.Attribute]:
    def one() -> slow.Attribute:
        weight = draw(st.sampled_from([1.0, 0.5, 3.0]))
        kind = draw(st.sampled_from(kinds))
        if kind == "tree":
            return 5, weight, None, TREE
        n_values = draw(st.integers(1, 6))
        if kind == "set":
            return n_values, weight, None, None
        steps = draw(st.lists(st.integers(1, 9), min_size=n_values - 1, max_size=n_values - 1))
        return n_values, weight, [0.0, *np.cumsum(steps).astype(float).tolist()], None

    # 8 of one kind fill a record, and more than 72 fields and 64 sets once were too many.
    return [one() for _ in range(draw(st.integers(1, 6) | st.sampled_from([8, 70])))]


def tables(of: list[slow.Attribute], least: int, most: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    return st.lists(
        st.tuples(*(st.integers(0, n_values) for n_values, *_ in of)), min_size=least, max_size=most
    )


def kernel_widths(of: list[slow.Attribute]) -> curve.Widths:
    return curve.Widths(
        [Attribute(n_values, positions, tree, weight=weight) for n_values, weight, positions, tree in of]
    )


def read_only(values: Any, dtype: Any) -> Any:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


def kernel_records(of: list[slow.Attribute], table: list[tuple[int, ...]]) -> tuple[curve.Widths, Any]:
    widths = kernel_widths(of)
    codes = read_only(np.reshape(table, (len(table), len(of))), np.uint8)
    return widths, curve.place(widths, codes, read_only(range(len(table)), np.uint32))


def offsets_of(classes: list[list[int]]) -> Any:
    return np.cumsum([0, *map(len, classes)])


def at_most_half(sensitive: list[int]) -> Any:
    return lambda rows: 2 * max(Counter(sensitive[row] for row in rows).values()) <= len(rows)


def half_rules(sensitive: list[int], k: int) -> Conjunction:
    counts = np.bincount(sensitive, minlength=4).astype(np.int64)
    return Conjunction([counts], len(sensitive), [("size", k), ("share", 0, HALF)])


# --- Hilbert index and sorting


@given(st.data(), st.integers(1, 6), st.integers(1, 7), st.sampled_from([np.uint8, np.uint16, np.uint32]))
@settings(max_examples=60)
def test_hilbert_equals_its_twin(data: st.DataObject, m: int, bits: int, dtype: Any) -> None:
    grids = [
        data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=5), label="grid")
        for _ in range(m)
    ]
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, len(grid) - 1) for grid in grids)), max_size=6))
    starts = read_only(np.cumsum([0, *map(len, grids)]), np.int64)
    codes = read_only(np.reshape(rows, (len(rows), m)), dtype)
    keys = curve.hilbert(codes, read_only(np.concatenate(grids), np.uint32), starts, bits)
    points = [[grids[a][code] for a, code in enumerate(row)] for row in rows]
    assert [_number(words, m * bits) for words in keys.tolist()] == slow.hilbert(points, bits)


def _number(words: list[int], n_bits: int) -> int:
    number = 0
    for word in words:
        number = number << 64 | word
    return number >> 64 * len(words) - n_bits


@pytest.mark.parametrize(("m", "bits"), [(2, 4), (3, 2), (5, 1), (9, 1)])
def test_hilbert_visits_every_point_once_and_moves_to_a_neighbor(m: int, bits: int) -> None:
    points = np.array(list(itertools.product(range(2**bits), repeat=m)), np.uint8)
    grid = np.tile(np.arange(2**bits, dtype=np.uint32), m)
    keys = curve.hilbert(points, grid, np.arange(m + 1) * 2**bits, bits)[:, 0] >> (64 - m * bits)
    assert sorted(keys.tolist()) == list(range(2 ** (m * bits)))
    steps = np.diff(points[np.argsort(keys)].astype(int), axis=0)
    assert (np.abs(steps).sum(axis=1) == 1).all()


@pytest.mark.parametrize("m", [16, 33, 64, 65, 130])
def test_hilbert_of_many_attributes_equals_its_twin(m: int) -> None:
    # Random points, points that differ in the finest bit of one axis, and those at the ends of all axes.
    points = np.random.default_rng(m).integers(0, 32, (m + 40, m)).astype(np.uint8)
    points[:m] = np.eye(m)
    points[m : m + 4] = [[0], [31], [16], [15]]
    keys = curve.hilbert(points, np.tile(np.arange(32, dtype=np.uint32), m), np.arange(m + 1) * 32, 5)
    assert [_number(words, m * 5) for words in keys.tolist()] == slow.hilbert(points.tolist(), 5)
    assert len({tuple(words) for words in keys[:m].tolist()}) == m


@given(
    st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=40), st.randoms(use_true_random=False)
)
def test_sort_rows_equals_its_twin(keys: list[int], random: Any) -> None:
    rows = list(range(len(keys)))
    random.shuffle(rows)
    ours = curve.sort_rows(read_only(keys, np.uint64), read_only(rows, np.uint32))
    assert ours.tolist() == slow.sort_rows(keys, rows)


# --- widths and cuts


@given(st.data(), attributes())
def test_place_equals_its_twin(data: st.DataObject, of: list[slow.Attribute]) -> None:
    table = data.draw(tables(of, 0, 5))
    assert kernel_records(of, table)[1].tolist() == slow.place(of, table, range(len(table)))


SEVERAL = attributes() | attributes(("ordered",)) | attributes(("set",))


@given(st.data(), SEVERAL, st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_cut_equals_its_twin(
    data: st.DataObject, of: list[slow.Attribute], k: int, extra: int, ruled: bool
) -> None:
    step = data.draw(st.integers(1, k))
    table = data.draw(tables(of, 0, 14))
    sensitive = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    widths, records = kernel_records(of, table)
    rules, codes = (
        (half_rules(sensitive, k), read_only(sensitive, np.int32)[:, None]) if ruled else (None, None)
    )
    offsets = curve.cut(widths, records, k, 2 * k - 1 + extra, step, rules, codes)
    passes = at_most_half(sensitive) if ruled else None
    assert offsets.tolist() == slow.cut(of, table, k, 2 * k - 1 + extra, step, passes)


def test_cut_finds_the_gaps() -> None:
    # 0 0 1 | 5 5 | 9 9 9 with k = 2: every other cut is wider.
    of = [(4, 1.0, [0.0, 1.0, 5.0, 9.0], None)]
    widths, records = kernel_records(of, [(0,), (0,), (1,), (2,), (2,), (3,), (3,), (3,)])
    assert curve.cut(widths, records, 2, 3).tolist() == [0, 3, 5, 8]


# --- refinement


@given(st.data(), SEVERAL, st.integers(2, 3), st.integers(50, 120), st.booleans())
@settings(max_examples=60)
def test_refine_equals_its_twin(
    data: st.DataObject, of: list[slow.Attribute], k: int, reach: int, ruled: bool
) -> None:
    sizes = data.draw(st.lists(st.integers(k, 2 * k), min_size=1, max_size=5))
    n = sum(sizes)
    table = data.draw(tables(of, n, n))
    sensitive = data.draw(st.permutations([row % 4 for row in range(n)]))
    ends = np.cumsum([0, *sizes])
    classes = [list(range(start, end)) for start, end in itertools.pairwise(ends.tolist())]
    passes = at_most_half(sensitive)
    if ruled and not all(map(passes, classes)):
        return
    widths, records = kernel_records(of, table)
    rules, codes = (
        (half_rules(sensitive, k), read_only(sensitive, np.int32)[:, None]) if ruled else (None, None)
    )
    rows, offsets, before, after = curve.refine(widths, records, ends, k, 2 * k, reach, rules, codes)
    ours = [rows[start:end].tolist() for start, end in itertools.pairwise(offsets)]
    assert ours == slow.refine(of, table, classes, k, 2 * k, reach, passes if ruled else None)
    assert before == sum(slow.loss(of, table, each) for each in classes)
    assert after == sum(slow.loss(of, table, each) for each in ours) <= before
    assert sorted(rows.tolist()) == list(range(n))
    assert all(k <= len(each) <= 2 * k and (not ruled or passes(each)) for each in ours)


def test_refine_swaps_two_rows_that_lie_wrong() -> None:
    of = [(10, 1.0, np.arange(10.0).tolist(), None)]
    widths, records = kernel_records(of, [(0,), (9,), (1,), (8,), (0,), (8,)])
    rows, offsets, before, after = curve.refine(widths, records, np.array([0, 3, 6]), 3, 5, 100)
    groups = {frozenset(rows[:3].tolist()), frozenset(rows[3:].tolist())}
    assert groups == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}
    assert offsets.tolist() == [0, 3, 6]
    assert before == pytest.approx((3 * 9 + 3 * 8) / 9 * widths.unit)
    assert after == pytest.approx((3 * 1 + 3 * 1) / 9 * widths.unit)


@given(st.data())
def test_centers_equal_their_twin(data: st.DataObject) -> None:
    grids = [[0, 3, 255], [7, 1]]
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    table = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=16, max_size=16))
    members = data.draw(st.permutations(range(16)))
    ends = np.cumsum([0, *sizes])
    ours = curve.centers(
        read_only(table, np.uint16),
        read_only(members[: ends[-1]], np.uint32),
        read_only(ends, np.int64),
        read_only(np.concatenate(grids), np.uint8),
        read_only([0, 3, 5], np.int64),
    )
    classes = [members[start:end] for start, end in itertools.pairwise(ends.tolist())]
    assert ours.tolist() == slow.centers(table, classes, grids)


# --- the method


def encoded(
    table: np.ndarray[Any, Any], sensitive: np.ndarray[Any, Any], kinds: str, suppressed: Any = ()
) -> Encoded:
    """A table of codes 0..4 and null = 5; kinds: n(umeric), t(ree) or s(et) per column."""
    tree = Tree(
        tuple("rabcdefg"),
        *(np.array(part, np.int32) for part in TREE[:3]),
        np.zeros(8, np.int32),
        np.array(TREE[3], np.int32),
    )
    values = pa.array(list("vwxyz"))
    positions = np.array([0.0, 1.0, 3.0, 4.0, 10.0])
    domains = tuple(
        Domain(
            f"q{a}",
            "numeric" if kind == "n" else "nominal",
            values,
            True,
            positions=positions if kind == "n" else None,
            tree=tree if kind == "t" else None,
        )
        for a, kind in enumerate(kinds)
    )
    return Encoded(
        pa.table({"row": np.arange(len(table))}),
        None,  # type: ignore[arg-type]
        domains,
        tuple(np.ascontiguousarray(column, dtype=np.uint8) for column in table.T),
        (Domain("s", "nominal", pa.array(list("abcd")), False),),
        (sensitive.astype(np.uint8),),
        np.array(suppressed, np.uint32),
    )


def task(sensitive: np.ndarray[Any, Any], k: int, *rules: Any, n_threads: int = 2) -> Any:
    counts = np.bincount(sensitive, minlength=4).astype(np.int64)
    rules = Conjunction([counts], len(sensitive), [("size", k), *rules])
    return Task(rules, np.random.default_rng(0), n_threads)


def a_table(n: int, m: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 6, (n, m)) * (rng.random((n, m)) < 0.8), rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])


def as_multisets(
    classes: Classes, table: np.ndarray[Any, Any], sensitive: np.ndarray[Any, Any]
) -> Counter[Any]:
    return Counter(
        tuple(sorted((*table[row].tolist(), int(sensitive[row])) for row in classes.rows[start:end]))
        for start, end in itertools.pairwise(classes.offsets)
    )


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("rules", [(), (("share", 0, HALF),)])
@pytest.mark.parametrize("kinds", ["nnn", "nts", "s"])
def test_classes_hold_every_row_once_and_pass(kinds: str, rules: Any, effort: Any) -> None:
    table, sensitive = a_table(700, len(kinds))
    suppressed = [3, 10, 699]
    kept = np.setdiff1d(np.arange(700), suppressed)
    job = task(sensitive[kept], 4, *rules)
    classes = method.partition(encoded(table, sensitive, kinds, suppressed), Curve(effort), job, 4)
    assert sorted(classes.rows.tolist()) == kept.tolist()
    assert classes.suppressed.tolist() == suppressed
    assert classes.sizes.min() >= 4
    if rules:
        for start, end in itertools.pairwise(classes.offsets):
            assert 2 * np.bincount(sensitive[classes.rows[start:end]]).max() <= end - start
    else:  # equal rows are not divided
        for start, end in itertools.pairwise(classes.offsets):
            assert end - start < 8 or len(np.unique(table[classes.rows[start:end]], axis=0)) == 1


@pytest.mark.parametrize("rules", [(), (("share", 0, HALF),)])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_threads_do_not_change_the_answer(
    monkeypatch: pytest.MonkeyPatch, rules: Any, n_threads: int
) -> None:
    monkeypatch.setattr(method, "BLOCK_ROWS", 64)
    monkeypatch.setattr(method, "BLOCK_CLASSES", 8)
    table, sensitive = a_table(900, 4)
    data = encoded(table, sensitive, "ntsn")
    one = method.partition(data, Curve(), task(sensitive, 5, *rules, n_threads=1), 5)
    other = method.partition(data, Curve(), task(sensitive, 5, *rules, n_threads=n_threads), 5)
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.offsets.tobytes() == other.offsets.tobytes()


@given(
    st.integers(0, 100),
    st.sampled_from(["nts", "ss", "n"]),
    st.booleans(),
    st.sampled_from(["ncp", "ordered"]),
)
@settings(max_examples=20)
def test_row_order_does_not_matter(seed: int, kinds: str, ruled: bool, loss: Any) -> None:
    table, sensitive = a_table(200, len(kinds), seed)
    rules = [("share", 0, HALF)] if ruled else []
    shuffled = np.random.default_rng(seed).permutation(200)
    first = method.partition(
        encoded(table, sensitive, kinds), Curve(loss=loss), task(sensitive, 3, *rules), 3
    )
    again = method.partition(
        encoded(table[shuffled], sensitive[shuffled], kinds), Curve(loss=loss), task(sensitive, 3, *rules), 3
    )
    assert as_multisets(first, table, sensitive) == as_multisets(again, table[shuffled], sensitive[shuffled])


@pytest.mark.parametrize("n", [4, 7, 8, 9])
def test_few_rows(n: int) -> None:
    table, sensitive = a_table(n, 2)
    classes = method.partition(encoded(table, sensitive, "ns"), Curve(), task(sensitive, 4), 4)
    assert sorted(classes.rows.tolist()) == list(range(n))
    assert classes.n_classes == n // 4
    assert classes.sizes.min() >= 4


def test_more_than_there_are_rows_is_refused() -> None:
    table, sensitive = a_table(5, 2)
    with pytest.raises(InfeasibleError, match="at most 4") as refusal:
        method.partition(encoded(table, sensitive, "ns", [2]), Curve(), task(np.delete(sensitive, 2), 5), 5)
    assert refusal.value.tightest == 4


def test_equal_rows_cost_nothing() -> None:
    table = np.repeat([[0, 1], [4, 2], [5, 5]], 20, axis=0)
    sensitive = np.arange(60) % 4
    classes = method.partition(encoded(table, sensitive, "ns"), Curve(), task(sensitive, 6), 6)
    for start, end in itertools.pairwise(classes.offsets):
        assert len({tuple(row) for row in table[classes.rows[start:end]].tolist()}) == 1


def test_ties_follow_ranks_or_the_input() -> None:
    table, sensitive = np.zeros((8, 1), int), np.array([0, 1, 0, 1, 0, 1, 0, 1])

    def in_order_of_classes(ties: Any) -> list[int]:
        classes = method.partition(encoded(table, sensitive, "s"), Curve(ties=ties), task(sensitive, 2), 2)
        return sensitive[classes.rows].tolist()

    assert in_order_of_classes("rank") == [0, 0, 0, 0, 1, 1, 1, 1]
    assert in_order_of_classes("input") == sensitive.tolist()


@pytest.mark.parametrize("kinds", ["n" * 65, "s" * 65, "nts" * 25])
def test_many_attributes(kinds: str) -> None:
    table, sensitive = a_table(60, len(kinds))
    job = task(sensitive, 3, ("share", 0, HALF))
    classes = method.partition(encoded(table, sensitive, kinds), Curve(), job, 3)
    assert sorted(classes.rows.tolist()) == list(range(60))
    assert classes.sizes.min() >= 3


def test_no_rows_are_left() -> None:
    table, sensitive = a_table(3, 2)
    classes = method.partition(encoded(table, sensitive, "ns", [0, 1, 2]), Curve(), task(sensitive[:0], 2), 2)
    assert classes.n_classes == 0
    assert len(classes.rows) == 0


def loss_of(classes: Classes, table: np.ndarray[Any, Any]) -> int:
    of = [(5, 1.0, [0.0, 1.0, 3.0, 4.0, 10.0], None)] * 3 + [(5, 1.0, None, TREE), (5, 1.0, None, None)]
    return sum(
        slow.loss(of, table.tolist(), classes.rows[start:end].tolist())
        for start, end in itertools.pairwise(classes.offsets)
    )


@pytest.mark.parametrize("rules", [(), (("share", 0, HALF),)])
def test_more_effort_loses_less(rules: Any) -> None:
    table, sensitive = a_table(800, 5)
    data, job = encoded(table, sensitive, "nnnts"), task(sensitive, 5, *rules)
    simple = loss_of(mondrian.partition(data, mondrian.Mondrian(), job), table)
    balanced, best = (loss_of(method.partition(data, Curve(effort), job, 5), table) for effort in EFFORTS)
    assert best < balanced < 0.9 * simple


@pytest.mark.parametrize("wrong", [{"loss": "byun"}, {"ties": "random"}, {"effort": "fast"}])
def test_unknown_words_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is unknown: use"):
        Curve(**wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w, r: curve.cut(w, r, 3, 4), "max_size"),
        (lambda w, r: curve.cut(w, r[:, :2].copy(), 2, 3), "records"),
        (lambda w, r: curve.refine(w, r, np.array([0, 1, 6]), 2, 5, 90), "k..max_size"),
        (lambda w, r: curve.refine(w, r, np.array([0, 6]), 1, 5, 90), "from 2 to"),
        (lambda w, r: curve.sort_rows(np.zeros(1, np.uint64), np.array([1], np.uint32)), "row"),
        (lambda w, r: curve.place(w, np.zeros((1, 2), np.uint8), np.zeros(1, np.uint32)), "column"),
        (lambda w, r: curve.place(w, np.zeros((1, 1), np.uint8), np.ones(1, np.uint32)), "row"),
        (lambda w, r: curve.Widths([Attribute(1, weight=1e308)] * 2), "sum of their weights"),
        (lambda w, r: curve.Widths([]), "one or more attributes"),
    ],
)
def test_kernels_refuse_what_does_not_fit(call: Any, message: str) -> None:
    widths, records = kernel_records([(3, 1.0, [0.0, 1.0, 2.0], None)], [(0,), (1,), (2,)] * 2)
    with pytest.raises(ValueError, match=message):
        call(widths, records)


def test_widths_are_never_without_attributes() -> None:
    with pytest.raises(TypeError):
        curve.cut(curve.Widths.__new__(curve.Widths), np.zeros((4, 0), np.int32), 1, 2)


def test_arrays_at_odd_addresses_are_read() -> None:
    rows = np.frombuffer(bytearray(4 * 5 + 1), np.uint32, 5, 1)
    keys = np.frombuffer(bytearray(8 * 5 + 1), np.uint64, 5, 1)
    assert not rows.flags.aligned
    assert array_of(rows, np.uint32, 1, "rows").flags.aligned
    assert codes_of(rows, 1, "rows").flags.aligned
    assert curve.sort_rows(keys, rows).tolist() == [0] * 5
