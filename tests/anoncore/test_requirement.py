# SPDX-License-Identifier: Apache-2.0
"""The requirement kernel against its twin."""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.encoding.domain import Domain
from anon.requirements.conjunction import infeasible
from anon.requirements.diversity import LDiversity
from anoncore import requirement as kernel
from anoncore.attribute import Attribute
from reference import requirement as reference

Classes = list[list[list[int]]]  # class, sensitive attribute, code -> rows


def csr(classes: Classes, a: int) -> tuple[np.ndarray[Any, Any], ...]:
    counted = [np.array(counts[a], dtype=np.int64) for counts in classes]
    present = [np.flatnonzero(c) for c in counted]
    offsets = np.cumsum([0, *map(len, present)]).astype(np.int64)
    counts = np.concatenate([c[p] for c, p in zip(counted, present, strict=True)])
    return offsets, np.concatenate(present).astype(np.int64), counts


def described(nodes: Any, n_values: int) -> Attribute:
    """What the twin knows of an attribute (positions, a tree, None) as the kernel reads it."""
    if not isinstance(nodes, tuple):
        return Attribute(n_values, nodes)
    return Attribute(n_values, tree=(*nodes[:3], nodes[4]))


def kernel_rules(rules: Sequence[tuple[Any, ...]], table: Sequence[Sequence[int]]) -> list[tuple[Any, ...]]:
    """The rules of the twin, each attribute as the kernel reads it."""
    made: list[tuple[Any, ...]] = []
    for rule in rules:
        if rule[0] == "hierarchical":
            rule = (*rule[:3], described(rule[3], len(table[rule[1]])))
        elif rule[0] == "s_diversity":
            rule = (*rule[:3], [(a, described(nodes, len(table[a]))) for a, nodes in rule[3]])
        made.append(rule)
    return made


def passing(
    table: list[list[int]], n_rows: int, rules: list[tuple[Any, ...]], classes: Classes
) -> list[bool]:
    arrays = [np.array(t, dtype=np.int64) for t in table]
    conjunction = kernel.Conjunction(arrays, n_rows, kernel_rules(rules, table))
    sizes = np.array([sum(counts[0]) for counts in classes], dtype=np.int64)
    present = zip(*(csr(classes, a) for a in range(conjunction.n_sensitive)), strict=True)
    result = kernel.passing_classes(conjunction, sizes, *(present if conjunction.n_sensitive else [()] * 3))
    assert result.dtype == np.uint8
    for size, verdict in zip(sizes, result, strict=True):
        assert verdict in (0, 1)
        assert not verdict or size >= conjunction.min_size
    return [bool(verdict) for verdict in result]


def agree(classes: Classes, *rules: tuple[Any, ...]) -> None:
    """Kernel and twin give the same verdicts where the classes make up the table."""
    table = [[sum(counts) for counts in zip(*each, strict=True)] for each in zip(*classes, strict=True)]
    n_rows = sum(table[0])
    expected = reference.passing_classes(table, n_rows, rules, classes)
    assert passing(table, n_rows, list(rules), classes) == expected


def tree(random: Any, m: int) -> tuple[np.ndarray[Any, Any], ...]:
    """A random tree over the codes 0..m-1, with branches of unequal length and only children."""
    parent: list[int] = []
    first: list[int] = []
    last: list[int] = []
    depth: list[int] = []
    leaf = [0] * m

    def add(start: int, stop: int, above: int, level: int) -> None:
        number = len(parent)
        parent.append(above)
        first.append(start)
        last.append(stop - 1)
        depth.append(level)
        if stop == start + 1 and (number > 0 or m > 1) and random.random() < 0.8:
            leaf[start] = number
            return
        edges = [start, stop]
        if stop - start > 1 and random.random() < 0.9:
            edges = sorted({start, stop, *(random.randint(start, stop) for _ in range(random.randint(1, 3)))})
        for low, high in pairwise(edges):
            add(low, high, number, level + 1)

    add(0, m, -1, 0)
    return tuple(np.array(x, dtype=np.int32) for x in (parent, first, last, depth, leaf))


@st.composite
def tables(draw: st.DrawFn, most: int = 6, largest: int = 12) -> Classes:
    """Up to four classes of one or two attributes with up to `most` values; absent values are common."""
    n_sensitive = draw(st.integers(1, 2))
    m = [draw(st.integers(1, most)) for _ in range(n_sensitive)]
    count = st.one_of(st.just(0), st.integers(1, 3), st.integers(0, largest))
    classes = []
    for _ in range(draw(st.integers(1, 4))):
        counts = draw(st.lists(count, min_size=m[0], max_size=m[0]))
        if not any(counts):
            counts[draw(st.integers(0, m[0] - 1))] = 1
        attributes = [counts]
        for values in m[1:]:
            cuts = draw(st.lists(st.integers(0, sum(counts)), min_size=values - 1, max_size=values - 1))
            edges = [0, *sorted(cuts), sum(counts)]
            attributes.append([high - low for low, high in pairwise(edges)])
        classes.append(attributes)
    return classes


def shares(classes: Classes, a: int) -> tuple[list[Fraction], list[Fraction]]:
    """Of the first class, and of the table."""
    c = classes[0][a]
    t = [sum(counts) for counts in zip(*(each[a] for each in classes), strict=True)]
    return [Fraction(x, sum(c)) for x in c], [Fraction(x, sum(t)) for x in t]


EXACT_OFFSETS = st.sampled_from(
    [Fraction(0), Fraction(1, 10**30), -Fraction(1, 10**30), Fraction(1, 10**15), -Fraction(1, 10**9)]
)
OFFSETS = st.one_of(EXACT_OFFSETS, st.fractions(-1, 1, max_denominator=60))


def exact_rule(
    kind: str, a: int, classes: Classes, offset: Fraction, rank: int, nodes: Any
) -> tuple[Any, ...]:
    """A rule whose parameter is what the first class has, moved by `offset`."""
    p, q = shares(classes, a)
    ranked = sorted(p, reverse=True)
    extra: tuple[Any, ...] = ()
    if kind == "share":
        x = max(p)
    elif kind == "recursive":
        rest = sum(ranked[rank - 1 :], Fraction(0))
        x = ranked[0] / rest if rest else Fraction(rank)
        extra = (rank,)
        offset = max(offset, -x / 2)
    elif kind == "equal":
        x = sum((abs(s - u) for s, u in zip(p, q, strict=True)), Fraction(0)) / 2
    elif kind == "ordered":
        x = reference.ordered(p, q)
    elif kind == "hierarchical":
        x = reference.hierarchical(p, q, nodes)
        extra = (nodes,)
    else:
        x = max((s - u) / u for s, u in zip(p, q, strict=True) if u)
    return (kind, a, max(Fraction(0), x + offset), *extra)


@settings(max_examples=150, deadline=None)
@given(
    tables(),
    st.sampled_from(["share", "recursive", "equal", "ordered", "hierarchical", "beta", "enhanced_beta"]),
    OFFSETS,
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_exact_rules(classes: Classes, kind: str, offset: Fraction, rank: int, random: Any) -> None:
    a = len(classes[0]) - 1
    agree(classes, exact_rule(kind, a, classes, offset, rank, tree(random, len(classes[0][a]))))


@settings(max_examples=100, deadline=None)
@given(
    tables(),
    st.sampled_from(["share", "recursive", "equal", "ordered", "hierarchical", "beta"]),
    OFFSETS,
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=4, max_size=4),
    st.randoms(use_true_random=False),
)
def test_by_units_an_attribute_has_its_own_counts(
    classes: Classes, kind: str, offset: Fraction, k: int, more: list[tuple[int, int]], random: Any
) -> None:
    """A class has `more` rows than units have values in it; its units are a number of their own."""
    alone = [[counts[-1]] for counts in classes]
    table = [sum(counts) for counts in zip(*(each[0] for each in alone), strict=True)]
    rule = exact_rule(kind, 0, alone, offset, 2, tree(random, len(table)))
    n_rows = sum(table) + sum(rows for rows, _ in more)
    tables = [np.array(table, dtype=np.int64)]
    conjunction = kernel.Conjunction(
        tables, n_rows, [("units", k), *kernel_rules([rule], [table])], by_units=True
    )
    assert (conjunction.min_units, conjunction.by_units) == (k, True)
    sizes = np.array(
        [sum(one[0]) + rows for one, (rows, _) in zip(alone, more, strict=False)], dtype=np.int64
    )
    units = np.array([n for _, n in more[: len(alone)]], dtype=np.int64)
    offsets, values, counts = csr(alone, 0)
    verdicts = kernel.passing_classes(conjunction, sizes, [offsets], [values], [counts], units)
    passed = reference.passing_classes([table], sum(table), [rule], alone)
    expected = [one and n >= k and size >= k for one, n, size in zip(passed, units, sizes, strict=True)]
    assert verdicts.astype(bool).tolist() == expected
    with pytest.raises(ValueError, match="give those of each class"):
        kernel.passing_classes(conjunction, sizes, [offsets], [values], [counts])
    with pytest.raises(ValueError, match="sum to n_rows"):
        kernel.Conjunction(tables, sum(table) + 1, kernel_rules([rule], [table]))


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(["size", "distinct"]), st.integers(-1, 1))
def test_rules_of_counts(classes: Classes, kind: str, offset: int) -> None:
    """What the first class has, or one less or more."""
    a = len(classes[0]) - 1
    if kind == "size":
        agree(classes, ("size", sum(classes[0][a]) + offset))
    else:
        agree(classes, ("distinct", a, sum(count > 0 for count in classes[0][a]) + offset))


@settings(max_examples=60, deadline=None)
@given(tables())
def test_enhanced_beta_is_bound_by_the_logarithm(classes: Classes) -> None:
    agree(classes, ("enhanced_beta", 0, Fraction(50)))


@pytest.mark.parametrize(("count", "size", "within"), [(3823569, 6409216, True), (236233, 395983, False)])
def test_the_logarithm_of_enhanced_beta_has_a_tolerance(count: int, size: int, within: bool) -> None:
    """A quarter of the table has the value. Gains, 4 count/size - 1, are 1e-13 and 1.7e-12 above ln 4."""
    classes = [[[count, size - count]], [[0, 4 * count - size]]]
    rule = ("enhanced_beta", 0, Fraction(50))
    assert passing([[count, 3 * count]], 4 * count, [rule], classes[:1]) == [within]
    agree(classes, rule)


def test_a_tree_is_pruned_to_the_table() -> None:
    """Spec 6.1 below a node of its own, beside an x that no row has: 1/8 at level 1 of 2, twice."""
    parent, depth = [-1, 0, 1, 2, 2, 1, 5, 5, 0], [0, 1, 2, 3, 3, 2, 3, 3, 1]
    first, last = [0, 0, 0, 0, 1, 2, 2, 3, 4], [4, 3, 1, 0, 1, 3, 2, 3, 4]
    nodes = tuple(np.array(x, dtype=np.int32) for x in (parent, first, last, depth, [3, 4, 6, 7, 8]))
    classes = [[[2, 1, 1, 0, 0]], [[1, 2, 0, 1, 0]]]
    assert reference.hierarchical(*shares(classes, 0), nodes) == Fraction(1, 8)
    assert reference.hierarchical(*shares([[[0, 3, 0, 0, 0]]], 0), nodes) == 0
    for below in (Fraction(0), Fraction(1, 10**30)):
        agree(classes, ("hierarchical", 0, Fraction(1, 8) - below, nodes))
    agree([[[0, 3, 0, 0, 0]]], ("hierarchical", 0, Fraction(0), nodes))


@settings(max_examples=80, deadline=None)
@given(
    tables(most=4, largest=2**27),
    st.sampled_from(["share", "recursive", "equal", "ordered", "hierarchical", "beta"]),
    EXACT_OFFSETS,
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_exact_rules_on_big_tables(
    classes: Classes, kind: str, offset: Fraction, rank: int, random: Any
) -> None:
    # the last value of the first attribute fills the table up to the greatest n
    rest = 2**32 - 1 - sum(sum(counts[0]) for counts in classes)
    filler = [[0] * (len(counts) - 1) + [rest] for counts in classes[0]]
    a = len(classes[0]) - 1
    agree(
        [*classes, filler],
        exact_rule(kind, a, [*classes, filler], offset, rank, tree(random, len(classes[0][a]))),
    )


@settings(max_examples=100, deadline=None)
@given(
    tables(),
    st.sampled_from(["entropy", "js", "delta", "delta_present"]),
    st.sampled_from([None, 0.0, 1e-9, -1e-9]),
    st.floats(0.01, 3),
)
def test_rules_with_logarithms(classes: Classes, kind: str, offset: float | None, x: float) -> None:
    """Parameters that the first class has exactly (they pass, but for delta's), or 1e-9 beside that."""
    p, q = shares(classes, 0)
    if offset is not None:
        if kind == "entropy":
            x = math.exp(-sum(float(s) * math.log(s) for s in p if s))
        elif kind == "js":
            x = reference.js(p, q)
        else:
            absent = 50.0 if kind == "delta" else 0.0
            x = max(abs(math.log(s / u)) if s else absent for s, u in zip(p, q, strict=True) if u)
        x += offset
    agree(classes, (kind, 0, max(x, 1.0 if kind == "entropy" else 0.0)))


@settings(max_examples=80, deadline=None)
@given(tables(largest=5), st.floats(0, 1), st.floats(0, 2), st.booleans(), st.randoms(use_true_random=False))
def test_s_diversity(classes: Classes, r: float, bound: float, at_first: bool, random: Any) -> None:
    table = [[sum(counts) for counts in zip(*each, strict=True)] for each in zip(*classes, strict=True)]
    lines: list[tuple[int, Any]] = []
    for a, counts in enumerate(table):
        shape = random.choice(["line", "tree", "flat"])
        if shape == "line":
            lines.append((a, np.cumsum([float(random.randint(1, 9)) for _ in counts])))
        else:
            lines.append((a, tree(random, len(counts)) if shape == "tree" else None))
    r = random.choice([r, 0.0, 0.4, 0.5, 1.0])
    if at_first:
        bound = reference.s_diversity(table, r, lines, classes[0])
    rule = ("s_diversity", bound, r, lines)
    agree(classes, rule)
    arrays = [np.array(t, dtype=np.int64) for t in table]
    conjunction = kernel.Conjunction(arrays, sum(table[0]), kernel_rules([rule], table))
    assert conjunction.table_diversities == pytest.approx(
        (reference.s_diversity(table, r, lines, table),), abs=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(
    tables(), st.integers(1, 12), st.integers(1, 4), st.floats(1, 4), st.fractions(0, 1), st.floats(0, 0.7)
)
def test_conjunction(
    classes: Classes, k: int, rank: int, perplexity: float, share: Fraction, t: float
) -> None:
    a = len(classes[0]) - 1
    lines = [(each, None) for each in range(a + 1)]
    agree(
        classes,
        ("js", 0, t),
        ("s_diversity", 2 * t, 1.0, lines),
        ("distinct", a, rank),
        ("share", 0, share),
        ("size", k),
        ("entropy", a, perplexity),
        ("s_diversity", 3 * t, 0.5, lines),
    )


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(1, 4), st.fractions(0, 2), st.floats(0.01, 2), st.randoms(use_true_random=False))
def test_merging_passing_classes_passes(
    classes: Classes, rank: int, x: Fraction, y: float, random: Any
) -> None:
    """All rules are monotone, S-diversity at r = 1, δ where absent values fail."""
    table = [[sum(counts) for counts in zip(*each, strict=True)] for each in zip(*classes, strict=True)]
    nodes = tree(random, len(table[0]))
    rules: list[tuple[Any, ...]] = [
        ("size", rank),
        ("distinct", 0, rank),
        ("share", 0, x / 2),
        ("entropy", 0, 1 + y),
        ("recursive", 0, x + Fraction(1, 9), rank),
        ("js", 0, y / 3),
        ("equal", 0, x / 3),
        ("ordered", 0, x / 6),
        ("hierarchical", 0, x / 6, nodes),
        ("delta", 0, y),
        ("beta", 0, x),
        ("enhanced_beta", 0, x),
        ("s_diversity", y / 2, 1.0, [(0, nodes)]),
        ("s_diversity", y / 2, 1.0, [(0, np.arange(float(len(table[0]))))]),
        ("s_diversity", y / 2, 1.0, [(0, None)]),
    ]
    for rule in rules:
        good = [counts for counts in classes if all(passing(table, sum(table[0]), [rule], [counts]))]
        if good:
            merged = [[sum(counts) for counts in zip(*each, strict=True)] for each in zip(*good, strict=True)]
            assert passing(table, sum(table[0]), [rule], [merged]) == [True]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([100, 1500]))
def test_few_rows_of_many_values(seed: int, m: int) -> None:
    """Absent values have closed forms: classes of a few rows in a domain of many values."""
    rng = np.random.default_rng(seed)
    table = rng.choice([0, 1, 1, 1, 2, 5], m)
    codes = rng.choice(np.flatnonzero(table), rng.integers(1, 7), replace=False)
    few = np.zeros(m, dtype=np.int64)
    few[codes] = rng.integers(1, table[codes] + 1)
    classes = [[few.tolist()], [(table - few).tolist()]]
    for kind in ("equal", "ordered", "beta", "share"):
        for offset in (Fraction(0), -Fraction(1, 10**25)):
            agree(classes, exact_rule(kind, 0, classes, offset, 1, None))
    p, q = shares(classes, 0)
    agree(classes, ("js", 0, reference.js(p, q)))
    agree(classes, ("js", 0, reference.js(p, q) - 1e-9))
    agree(classes, ("delta", 0, 3.0))
    agree(classes, ("delta_present", 0, 3.0))


def whole_table_passes(table: np.ndarray[Any, Any], rule: tuple[Any, ...]) -> bool:
    conjunction = kernel.Conjunction([table], int(table.sum()), [rule])
    ends = np.array([0, len(table)])
    return bool(
        kernel.passing_classes(
            conjunction, table.sum(keepdims=True), [ends], [np.arange(len(table))], [table]
        )[0]
    )


@pytest.mark.parametrize(("m", "rows"), [(100_000, 3), (20_000, 999), (1_000_000, 2)])
def test_entropy_of_many_values_is_within_its_tolerance(m: int, rows: int) -> None:
    """The entropy is ln m for equal counts, ln 2m - 3/4 ln 3 where half are three times as large."""
    equal = np.full(m, rows)
    uneven = np.where(np.arange(m) % 2, rows, 3 * rows)
    for table, l in ((equal, float(m)), (uneven, 2 * m / 3**0.75)):
        assert whole_table_passes(table, ("entropy", 0, l))
        assert whole_table_passes(table, ("entropy", 0, l * (1 + 0.9e-12)))
        assert not whole_table_passes(table, ("entropy", 0, l * (1 + 1.1e-12)))
        assert not whole_table_passes(table, ("entropy", 0, l * (1 + 1e-9)))
    domain = Domain("s", "nominal", pa.array(np.arange(m)), False)
    for l, feasible in ((m, True), (m * (1 + 1e-9), False)):
        error = infeasible([LDiversity(l, "entropy")], [domain], [equal], m * rows)
        assert (error is None) == feasible


@pytest.mark.parametrize("m", [100_000, 1_000_000])
def test_js_of_many_values_is_within_its_tolerance(m: int) -> None:
    """Half of the values have 1, half 3 rows of the class, all 4 of the table: p/q is 1/2 or 3/2."""
    half = m // 2
    counts = np.concatenate([np.full(half, 1), np.full(half, 3)])
    x = sum(p * math.log(p) - (p + 1) * math.log((p + 1) / 2) for p in (0.5, 1.5)) / 4
    for above, expected in ((-1.1e-12, False), (-0.9e-12, True), (0.0, True), (1e-9, True)):
        conjunction = kernel.Conjunction([np.full(m, 4)], 4 * m, [("js", 0, x + above)])
        arrays = (np.array([2 * m]), [np.array([0, m])], [np.arange(m)], [counts])
        assert list(kernel.passing_classes(conjunction, *arrays)) == [expected]


def test_every_share_against_every_fraction() -> None:
    """The limit of 64 bits decides as the fraction itself does, at every class size."""
    n = 9
    table = [np.array([4, 5], dtype=np.int64)]
    classes = [[[c, size - c]] for size in range(1, n + 1) for c in range(size + 1)]
    sizes = np.array([sum(counts[0]) for counts in classes], dtype=np.int64)
    offsets, values, counts = csr(classes, 0)
    for parts in range(1, 30):
        for part in range(parts + 1):
            for offset in (0, Fraction(1, 10**40), -Fraction(1, 10**40)):
                x = Fraction(part, parts) + offset
                if x < 0:
                    continue
                conjunction = kernel.Conjunction(table, n, [("share", 0, x)])
                result = kernel.passing_classes(conjunction, sizes, [offsets], [values], [counts])
                assert list(result) == [Fraction(max(c[0]), sum(c[0])) <= x for c in classes]


def test_sizes_alone_read_no_counts() -> None:
    conjunction = kernel.Conjunction([np.array([1, 3], dtype=np.int64)], 4, [("size", 2), ("size", 3)])
    assert conjunction.n_sensitive == 0
    assert conjunction.min_size == 3
    assert conjunction.n_rows == 4
    assert list(kernel.passing_classes(conjunction, np.arange(5), (), (), ())) == [0, 0, 0, 1, 1]


def test_no_classes_and_no_values() -> None:
    none = np.zeros(0, dtype=np.int64)
    conjunction = kernel.Conjunction([none], 0, [("js", 0, 0.1), ("ordered", 0, 1), ("share", 0, 1)])
    start = np.zeros(1, dtype=np.int64)
    assert len(kernel.passing_classes(conjunction, none, [start], [none], [none])) == 0
    empty = np.zeros(1, dtype=np.int64)
    offsets = np.zeros(2, dtype=np.int64)
    assert list(kernel.passing_classes(conjunction, empty, [offsets], [none], [none])) == [0]


@pytest.mark.parametrize(
    ("offsets", "values", "counts"),
    [
        ([0, 2], [0, 0], [1, 1]),  # not ascending
        ([0, 2], [1, 0], [1, 1]),
        ([0, 2], [0, 3], [1, 1]),  # not in the domain
        ([0, 2], [-1, 0], [1, 1]),
        ([0, 2], [0, 1], [2, 0]),  # a count of 0
        ([0, 2], [0, 1], [3, -1]),
        ([0, 2], [0, 1], [1, 2]),  # not the size
        ([0, 1], [0, 1], [1, 1]),  # not all read
        ([0, 3], [0, 1], [1, 1]),  # too many
        ([1, 2], [0, 1], [1, 2]),
        ([0, 1, 2], [0, 1], [1, 1]),
        ([0, 2], [0, 1], [2]),
        ([0, 2], [0, 1], [5, 1]),  # more rows than the table
    ],
)
def test_malformed_classes_are_refused(offsets: list[int], values: list[int], counts: list[int]) -> None:
    conjunction = kernel.Conjunction([np.array([2, 2, 1], dtype=np.int64)], 5, [("js", 0, 0.1)])
    arrays = ([np.array(x, dtype=np.int64)] for x in (offsets, values, counts))
    size = 6 if sum(counts) == 6 else 2
    with pytest.raises(ValueError, match="ascending"):
        kernel.passing_classes(conjunction, np.array([size]), *arrays)
    with pytest.raises(ValueError, match="one array per sensitive attribute"):
        kernel.passing_classes(conjunction, np.array([2]), (), (), ())


def test_malformed_rules_are_refused() -> None:
    table = [np.array([2, 2], dtype=np.int64)]
    for n_rows in (3, 5, -1, 2**32):
        with pytest.raises(ValueError, match="n_rows"):
            kernel.Conjunction(table, n_rows, [("js", 0, 0.1)])
    with pytest.raises(ValueError, match="no sensitive attribute 1"):
        kernel.Conjunction(table, 4, [("js", 1, 0.1)])
    with pytest.raises(ValueError, match="no sensitive attribute 2"):
        kernel.Conjunction(table, 4, [("s_diversity", 0.5, 1.0, [(2, Attribute(2))])])
    for unknown in (("simpson", 0, 0.1), ("simpson",), (None, 9, 0.1)):
        with pytest.raises(ValueError, match="no such rule"):
            kernel.Conjunction(table, 4, [("size", 2), unknown])
    with pytest.raises(ValueError, match="simpson"):
        reference.passes([[2, 2]], 4, ("simpson", 0, 0.1), [[2, 2]])
    with pytest.raises(ValueError, match="n_rows"):
        kernel.Conjunction([np.array([2**62, 2**62, 2**62, 2**62 + 4])], 4, [("equal", 0, 0)])
    line = Attribute(2, np.array([0.0, 1.0]))
    for r in (-0.5, -1e-6, 1.5, math.nan):
        with pytest.raises(ValueError, match="r must be"):
            kernel.Conjunction(table, 4, [("s_diversity", 1.0, r, [(0, line)])])


@pytest.mark.parametrize(
    "tree",  # parent, first, last, leaf
    [
        ([0, 0], [0], [0], [0]),
        ([], [], [], [0, 0]),
        ([7, 0, 0], [0, 0, 1], [1, 0, 1], [1, 2]),
        ([1, 0, 0], [0, 0, 1], [1, 0, 1], [1, 2]),
        ([-2, 0, 0], [0, 0, 1], [1, 0, 1], [1, 2]),
        ([-1, 0, 0], [0, 0, 1], [1, 0, 1], [1, 3]),
        ([-1, 0, 0], [0, 0, 1], [1, 0, 1], [-1, 2]),
        ([-1, 0, 0], [0, 0, 1], [1, 0, 1], [1, 2, 2]),
    ],
    ids=["ragged", "no nodes", "no such parent", "cycle", "below -1", "no such leaf", "negative", "wide"],
)
def test_malformed_trees_are_refused(tree: Any) -> None:
    with pytest.raises(ValueError, match="tree"):
        Attribute(2, tree=tree)


def test_a_rule_without_the_attribute_that_it_needs_is_refused() -> None:
    table = [np.array([2, 2], dtype=np.int64)]
    wide = Attribute(3, tree=([-1, 0, 0, 0], [0, 0, 1, 2], [2, 0, 1, 2], [1, 2, 3]))
    for rule, match in (
        (("hierarchical", 0, 0.1, Attribute(2)), "must have a tree"),
        (("hierarchical", 0, 0.1, None), "must be Attribute"),
        (("hierarchical", 0, 0.1, wide), "as many values"),
        (("s_diversity", 1.0, 1.0, [(0, None)]), "nothing but Attribute"),
        (("s_diversity", 1.0, 1.0, [(0, wide)]), "as many values"),
        (("s_diversity", 1.0, 1.0, [(0, Attribute(3, np.arange(3.0)))]), "as many values"),
    ):
        with pytest.raises(ValueError, match=match):
            kernel.Conjunction(table, 4, [rule])


def test_a_conjunction_is_made_once() -> None:
    """No instance without its rules, and `__init__` called again changes nothing."""
    with pytest.raises(TypeError):
        kernel.Conjunction.__new__(kernel.Conjunction)
    conjunction, arrays = many_classes(50)
    expected = kernel.passing_classes(conjunction, *arrays).tolist()
    conjunction.__init__([np.array([1])], 1, [("size", 9), ("share", 0, 1)])
    gc.collect()
    assert kernel.passing_classes(conjunction, *arrays).tolist() == expected
    assert conjunction.min_size < 9


def many_classes(n: int) -> tuple[kernel.Conjunction, tuple[Any, ...]]:
    rng = np.random.default_rng(3)
    counted = rng.integers(0, 4, (n, 14))
    counted[:, 0] += 1
    table = counted.sum(axis=0)
    offsets = np.concatenate([[0], np.cumsum((counted > 0).sum(axis=1))])
    values = np.ascontiguousarray(np.nonzero(counted)[1])
    arrays = (counted.sum(axis=1), (offsets,), (values,), (counted[counted > 0],))
    rules = [
        ("share", 0, Fraction(1, 4)),
        ("js", 0, 0.05),
        ("ordered", 0, Fraction(1, 10)),
        ("entropy", 0, 7.0),
    ]
    return kernel.Conjunction([table], int(table.sum()), rules), arrays


def test_threads_share_a_conjunction_and_inputs_are_only_read() -> None:
    conjunction, arrays = many_classes(5000)
    expected = kernel.passing_classes(conjunction, *arrays)
    assert 0 < expected.sum() < len(expected)
    for array in (arrays[0], *arrays[1], *arrays[2], *arrays[3]):
        array.flags.writeable = False
    with ThreadPoolExecutor(3) as pool:
        for result in pool.map(lambda _: kernel.passing_classes(conjunction, *arrays), range(12)):
            np.testing.assert_array_equal(result, expected)


def test_the_kernel_runs_without_the_interpreter_lock() -> None:
    conjunction, arrays = many_classes(400_000)
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.0005):
            ticks += 1

    counter = threading.Thread(target=count)
    counter.start()
    before = ticks
    kernel.passing_classes(conjunction, *arrays)
    during = ticks - before
    done.set()
    counter.join()
    assert during > 5


def test_s_diversity_of_a_line_of_infinite_length() -> None:
    far, near = (
        kernel.Conjunction([np.array([10, 2])], 12, [("s_diversity", 0.6, 0.5, [(0, Attribute(2, line))])])
        for line in (np.array([-1.0, 1.0]) * 2.0**1023, np.array([-1.0, 1.0]))
    )
    assert far.table_diversities == near.table_diversities
    # 82 of 100 pairs of the first class, 2 of 4 of the second
    classes = ([10, 2], [[0, 2, 4]], [[0, 1, 0, 1]], [[9, 1, 1, 1]])
    assert kernel.passing_classes(far, *classes).tolist() == [0, 1]
    assert kernel.passing_classes(near, *classes).tolist() == [0, 1]
