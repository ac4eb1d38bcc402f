# SPDX-License-Identifier: Apache-2.0
"""The re-check accepts what is right and catches what is not, by code of its own."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cells import NUMBERS
from test_release import cells_of, classes_of, encode

import anon.classes.rendering
import anon.release.recheck
import anon.release.recheck_cells
import anon.release.recheck_requirements
from anon.classes.classes import Classes
from anon.classes.rendering import Column, render
from anon.encoding.domain import Domain, Encoded
from anon.errors import RecheckError
from anon.release.recheck import recheck
from anon.schema.hierarchy.tree import Tree
from anon.schema.schema import Schema


@dataclass
class KAnonymity:
    k: int


LDiversity = dataclasses.make_dataclass(
    "LDiversity", ["l", ("kind", str, "probabilistic"), ("c", Any, 3.0), ("sensitive", Any, None)]
)


@dataclass
class TCloseness:
    t: Any
    distance: str = "js"
    sensitive: str | None = None


@dataclass
class DeltaDisclosure:
    delta: float
    absent: str = "fail"
    sensitive: str | None = None


@dataclass
class AlphaK:
    alpha: Any
    k: int
    sensitive: str | None = None


@dataclass
class BetaLikeness:
    beta: Any
    enhanced: bool = False
    sensitive: str | None = None


@dataclass
class SDiversityBound:
    bound: Any
    r: Any = 1.0
    sensitive: str | None = None


def columns_of(encoded: Encoded, classes: Classes, numeric: Any = "interval") -> list[tuple[Column, ...]]:
    shown = zip(cells_of(encoded, classes), encoded.quasi_codes, strict=True)
    return [render(cells, numeric, codes, classes) for cells, codes in shown]


def holds(requirement: Any, *groups: Sequence[Any], kind: str = "ordinal", tree: Tree | None = None) -> bool:
    """Does the requirement hold for classes with these sensitive values?"""
    q = [number for number, group in enumerate(groups) for _ in group]
    s = [value for group in groups for value in group]
    table = pa.table({"age": q, "s": s})
    encoded = encode(table, ["age"], ["s"], {"age": "numeric", "s": kind}, {"s": tree} if tree else None)
    classes = classes_of(
        [[row for row in range(len(q)) if q[row] == number] for number in range(len(groups))]
    )
    try:
        recheck(encoded, classes, columns_of(encoded, classes), [requirement])
    except RecheckError as error:
        if "do not meet" not in str(error):
            raise
        return False
    return True


def boundary(make: Any, last: Any, next_: Any, *groups: Sequence[Any], **how: Any) -> None:
    """The requirement holds at parameter `last` and fails at `next_`."""
    assert holds(make(last), *groups, **how)
    assert not holds(make(next_), *groups, **how)


def tree_of(groups: Sequence[int]) -> Tree:
    """Two levels: a root over inner nodes of so many leaves each."""
    parent, first, last, depth, leaf = [-1], [0], [sum(groups) - 1], [0], []
    for size in groups:
        start, inner = len(leaf), len(parent)
        parent, first, last, depth = [*parent, 0], [*first, start], [*last, start + size - 1], [*depth, 1]
        for code in range(start, start + size):
            leaf.append(len(parent))
            parent, first, last, depth = [*parent, inner], [*first, code], [*last, code], [*depth, 2]
    arrays = (np.array(numbers, dtype=np.int32) for numbers in (parent, first, last, depth, leaf))
    return Tree(tuple(f"n{i}" for i in range(len(parent))), *arrays)


MICRO = ("aabc", "abbd")


def test_micro_table_1() -> None:
    """Worked out in the definitions: two classes, a a b c and a b b d."""
    boundary(KAnonymity, 4, 5, *MICRO)
    boundary(lambda x: LDiversity(x, "distinct"), 3, 4, *MICRO)
    boundary(lambda x: LDiversity(x, "entropy"), 2**1.5, 2.829, *MICRO)
    boundary(LDiversity, 2, 2.0001, *MICRO)
    for c, tail, passes in [(3, 2, 1), (1, 2, 0), (2, 3, 0), (3, 3, 1), (3, 4, 0), (3, 1, 1), (0.5, 1, 1)]:
        assert holds(LDiversity(tail, "recursive", c), *MICRO) == bool(passes)
    assert not holds(DeltaDisclosure(1e9), *MICRO)
    boundary(lambda delta: DeltaDisclosure(delta, "ignore"), 0.6932, log(2), *MICRO)  # c: 1/4 of 1/8
    boundary(lambda t: TCloseness(t, "ordered"), Fraction(1, 12), 0.0833, *MICRO)
    pairs: Any = {"kind": "nominal", "tree": tree_of((2, 2))}
    flat: Any = {"kind": "nominal", "tree": None}
    boundary(lambda x: TCloseness(x, "hierarchical"), 0.125, 0.1249, *MICRO, **pairs)
    boundary(lambda x: TCloseness(x, "hierarchical"), 0.25, 0.2499, *MICRO, **flat)
    crossed = ("aacb", "accd")  # the tree {ac}{bd} with b and c renamed
    boundary(lambda x: TCloseness(x, "hierarchical"), 0.25, 0.2499, *crossed, **pairs)


@pytest.mark.parametrize(("m", "rows"), [(100_000, 3), (20_000, 999), (1_000_000, 2)])
def test_sums_over_many_values_are_within_their_tolerance(m: int, rows: int) -> None:
    """Half of the values have `rows`, half three times as many, of a table where all have four times as many.

    The other class has the rest, so both have the same entropy, ln 2m - 3/4 ln 3, and the same distance
    from the table: p/q is 1/2 or 3/2.
    """
    value = np.tile(np.arange(m), 2)
    count = np.concatenate([np.repeat([rows, 3 * rows], m // 2), np.repeat([3 * rows, rows], m // 2)])
    size = np.full(2, 2 * m * rows)
    domain = Domain("s", "nominal", pa.array(np.arange(m)), False)
    group, start, total = np.repeat([0, 1], m), np.array([0, m]), np.full(m, 4 * rows)
    counts = anon.release.recheck_requirements.Counts(domain, group, value, count, start, size, total)
    l, x = 2 * m / 3**0.75, sum(p * log(p) - (p + 1) * log((p + 1) / 2) for p in (0.5, 1.5)) / 4
    for above, passes in ((0.0, True), (0.9e-12, True), (1.1e-12, False), (1e-9, False)):
        diverse = anon.release.recheck_requirements._l_diversity(
            LDiversity(l * (1 + above), "entropy"), counts
        )
        close = anon.release.recheck_requirements._t_closeness(TCloseness(x - above), counts)
        assert diverse.tolist() == close.tolist() == [passes, passes]


@pytest.mark.parametrize(("m", "rows"), [(100_000, 3), (20_000, 999), (1_000_000, 2)])
def test_equal_counts_have_the_entropy_of_their_number(m: int, rows: int) -> None:
    domain = Domain("s", "nominal", pa.array(np.arange(m)), False)
    count = np.full(m, rows)
    counts = anon.release.recheck_requirements.Counts(
        domain,
        np.zeros(m, np.int64),
        np.arange(m),
        count,
        np.zeros(1, np.int64),
        count.sum(keepdims=True),
        count,
    )
    for l, passes in ((m, True), (m * (1 + 1e-9), False)):
        assert anon.release.recheck_requirements._l_diversity(LDiversity(l, "entropy"), counts).tolist() == [
            passes
        ]


def test_micro_table_2() -> None:
    """JS((½,½),(1,0)) = ¾ ln 4/3."""
    boundary(TCloseness, 0.75 * log(4 / 3) + 1e-13, 0.2157, "aaaa", "bbbb")


def test_micro_table_4() -> None:
    """Shares ¾ and ¼ against ½."""
    groups = ("xxxy", "xyyy")
    boundary(lambda t: TCloseness(t, "equal"), 0.25, 0.2499999999999999, *groups)
    boundary(DeltaDisclosure, 0.7, log(2), *groups)
    boundary(LDiversity, 1.3333, 1.3334, *groups)
    boundary(lambda alpha: AlphaK(alpha, 4), 0.75, 0.7499999999999999, *groups)
    boundary(lambda k: AlphaK(0.75, k), 4, 5, *groups)
    boundary(BetaLikeness, 0.5, 0.4999999999999999, *groups)
    boundary(lambda b: BetaLikeness(b, enhanced=True), 0.5, 0.49, *groups)


def test_the_bound_of_enhanced_likeness() -> None:
    """P = 1, q = 7/10 and 3/10: gains 3/7 > −ln 0.7."""
    assert holds(BetaLikeness(9), "a" * 7, "b" * 3)
    assert not holds(BetaLikeness(9, enhanced=True), "a" * 7, "b" * 3)


def test_micro_table_3() -> None:
    """Ordered distance of {1,2,3} and {4,6,9} to nine ranks: 0.375 and 1/6; a third class evens the table."""
    groups = ([1, 2, 3], [4, 6, 9], [5, 7, 8])
    boundary(lambda t: TCloseness(t, "ordered"), 0.375, 0.3749, *groups, kind="numeric")


def test_ranks_are_those_of_published_values() -> None:
    """1 | 9 with 5 suppressed: two ranks, so a distance of ½, as a check of the file alone would say."""
    encoded = encode(pa.table({"age": [1, 2, 3], "s": [1, 9, 5]}), ["age"], ["s"], {"s": "numeric"})
    classes = classes_of([[0], [1]], suppressed=[2])
    columns = columns_of(encoded, classes)
    recheck(encoded, classes, columns, [TCloseness(0.5, "ordered")])
    with pytest.raises(RecheckError, match="2 of 2 classes"):
        recheck(encoded, classes, columns, [TCloseness(0.4999, "ordered")])


def test_micro_table_9() -> None:
    """Interval 0..100: a second class of everything keeps the range, and passes by itself."""
    for values, r, least in (
        ([0, 0, 100, 100], 1, 0.5),
        ([0, 50, 100], 1, 5 / 9),
        ([0, 0, 100], 0, 5 / 9),
    ):
        boundary(lambda b, r=r: SDiversityBound(b, r), least, least - 1e-8, values, kind="numeric")
    boundary(lambda b: SDiversityBound(b, 0.4), 1, 0.99, [0, 40], [100], kind="numeric")
    assert holds(SDiversityBound(0.8, 0.4), [0, 40, 100, 100], kind="numeric") is True


def test_flat_and_tree_s_diversity() -> None:
    """Two of four labels: (2 + 2·¼)/4; in a tree of pairs the pair has ¾: (2 + 2·¾)/4."""
    boundary(SDiversityBound, 0.625, 0.6249, "ab", "cd", kind="nominal")
    boundary(SDiversityBound, 0.875, 0.8749, "ab", "cd", kind="nominal", tree=tree_of((2, 2)))
    boundary(SDiversityBound, 0.625, 0.6249, "ac", "bd", kind="nominal", tree=tree_of((2, 2)))
    boundary(lambda b: SDiversityBound(b, 0.2), 0.5, 0.4999, "ac", "bd", kind="nominal", tree=tree_of((2, 2)))


def test_one_attribute_or_each() -> None:
    table = pa.table({"age": [1, 1, 2, 2], "s": list("abab"), "t": list("aabb")})
    encoded = encode(table, ["age"], ["s", "t"])
    classes = classes_of([[0, 1], [2, 3]])
    columns = columns_of(encoded, classes)
    recheck(encoded, classes, columns, [LDiversity(2, "distinct", sensitive="s"), KAnonymity(2)])
    for requirement in (LDiversity(2, "distinct"), LDiversity(2, "distinct", sensitive="t")):
        with pytest.raises(RecheckError, match="2 of 2 classes do not meet"):
            recheck(encoded, classes, columns, [requirement])


def test_what_is_not_known_is_not_passed() -> None:
    @dataclass
    class Unknown:
        k: int = 1

    table = pa.table({"age": [1, 1], "s": ["a", None]})
    encoded = encode(table, ["age"], ["s"])
    classes = classes_of([[0, 1]])
    columns = columns_of(encoded, classes)
    unknown: list[Any] = [
        Unknown(),
        LDiversity(2, sensitive="x"),
        TCloseness(1, "ordered"),
        SDiversityBound(9),
    ]
    for requirement in unknown:
        with pytest.raises(RecheckError, match="not tested"):
            recheck(encoded, classes, columns, [requirement])


@pytest.mark.numba
def test_a_users_own_test() -> None:
    import numba

    pointer = "CPointer(int64)"
    arguments = [pointer, pointer, "int64", pointer, "int64", "int64", "int64", "CPointer(float64)"]

    @numba.cfunc(f"int32({', '.join(arguments)})")
    def rare(values, counts, n_present, table_counts, n_values, class_size, n_rows, params):
        return counts[0] <= params[0] and values[0] == 0 and table_counts[0] == 3 and class_size < n_rows

    @dataclass
    class Custom:
        params: tuple[float, ...]
        sensitive: str | None = None
        cfunc: Any = rare

    boundary(lambda limit: Custom((limit,)), 2.0, 1.0, *MICRO)


# Corrupted releases


@pytest.fixture
def whole() -> tuple[Encoded, Classes, list[tuple[Column, ...]]]:
    table = pa.table(
        {
            "age": [1, 2, 3, 4, 5, 6, None, 8],
            "sex": list("aabbccab"),
            "grade": list("wxyzwxyz"),
            "s": list("xyxyxyxy"),
        }
    )
    encoded = encode(table, ["age", "sex", "grade"], ["s"])
    classes = classes_of([[0, 1], [2, 3], [4, 5], [6, 7]])
    return encoded, classes, columns_of(encoded, classes)


def relabeled(
    columns: Sequence[tuple[Column, ...]], which: int, old: str, new: str
) -> list[tuple[Column, ...]]:
    [column] = columns[which]
    words = column.values.to_pylist()
    assert old in words
    changed = Column(column.name, pa.array([new if word == old else word for word in words]), column.index)
    return [*columns[:which], (changed,), *columns[which + 1 :]]


def test_right_as_it_is(whole: Any) -> None:
    encoded, classes, columns = whole
    recheck(encoded, classes, columns, [KAnonymity(2)])
    with pytest.raises(RecheckError, match="4 of 4 classes do not meet KAnonymity"):
        recheck(encoded, classes, columns, [KAnonymity(3)])


@pytest.mark.parametrize(
    ("which", "old", "new"),
    [
        (0, "[1, 2]", "[1, 3]"),
        (0, "[1, 2]", "1"),
        (0, "[3, 4]", "*"),
        (0, "8 or missing", "8"),
        (0, "8 or missing", "missing"),
        (0, "[5, 6]", "[5, 6] or missing"),
        (0, "[5, 6]", "5, 6"),
        (1, "{a, b}", "{a, b, c}"),
        (1, "{a, b}", "{a, c}"),
        (1, "a", "{a, b}"),
        (1, "c", "*"),
        (2, "[w, x]", "[w, y]"),
        (2, "[y, z]", "z"),
    ],
)
def test_a_label_that_is_wider_or_narrower(whole: Any, which: int, old: str, new: str) -> None:
    encoded, classes, columns = whole
    with pytest.raises(Exception, match=f"column {encoded.quasi[which].name!r}"):
        recheck(encoded, classes, relabeled(columns, which, old, new), [])


def test_a_row_in_the_wrong_class(whole: Any) -> None:
    encoded, classes, columns = whole
    swapped = classes.rows.copy()
    swapped[[0, 2]] = swapped[[2, 0]]
    with pytest.raises(RecheckError, match="column 'age': rows outside their cell in 2 classes"):
        recheck(encoded, dataclasses.replace(classes, rows=swapped), columns, [])


def test_a_class_with_the_cell_of_another(whole: Any) -> None:
    encoded, classes, columns = whole
    [age] = columns[0]
    moved = Column(age.name, age.values, age.index[[1, 0, 2, 3]])
    with pytest.raises(RecheckError, match="column 'age': rows outside"):
        recheck(encoded, classes, [(moved,), *columns[1:]], [])


def test_rows_lost_or_doubled(whole: Any) -> None:
    encoded, classes, columns = whole
    doubled = classes.rows.copy()
    doubled[0] = 1
    short = Classes(classes.rows[:-1], np.array([0, 2, 4, 6, 7]), classes.suppressed)
    both = Classes(classes.rows, classes.offsets, np.array([3], dtype=np.uint32))
    beyond = classes.rows.copy()
    beyond[0] = 99
    gap = np.array([0, 2, 2, 6, 8])
    for wrong, message in (
        (dataclasses.replace(classes, rows=doubled), "exactly once"),
        (dataclasses.replace(classes, rows=beyond), "exactly once"),
        (dataclasses.replace(classes, offsets=gap), "exactly once"),
        (short, "8 rows went in, 7 are published"),
        (both, "8 are published and 1 suppressed"),
    ):
        with pytest.raises(RecheckError, match=message):
            recheck(encoded, wrong, columns, [])
    kept = dataclasses.replace(encoded, suppressed=np.array([0], dtype=np.uint32))
    with pytest.raises(RecheckError, match="exactly once"):
        recheck(kept, classes, columns, [])


def test_a_mark_or_number_that_is_wrong(whole: Any) -> None:
    encoded, classes, _ = whole
    for numeric in ("bounds", "midpoint", "mean"):
        columns = columns_of(encoded, classes, numeric)
        recheck(encoded, classes, columns, [KAnonymity(2)], numeric=numeric)
        *numbers, mark = columns[0]
        unmarked = Column(mark.name, pa.array([False] * len(mark.values)), mark.index)
        with pytest.raises(RecheckError, match="missing values not marked"):
            recheck(encoded, classes, [(*numbers, unmarked), *columns[1:]], [], numeric=numeric)
        for which in range(len(numbers)):
            off = numbers[which].values.to_pylist()
            for value in (off[0] + 1, None):
                changed = Column(
                    "age", pa.array([value, *off[1:]], numbers[which].values.type), numbers[which].index
                )
                wrong = [*numbers[:which], changed, *numbers[which + 1 :], mark]
                with pytest.raises(RecheckError, match=r"column 'age': a (number|cell)"):
                    recheck(encoded, classes, [tuple(wrong), *columns[1:]], [], numeric=numeric)


@pytest.mark.parametrize("numeric", ["interval", "bounds", "midpoint", "mean"])
@pytest.mark.parametrize("values", NUMBERS, ids=[str(values.type) for values in NUMBERS])
def test_every_type_in_every_rendering(values: pa.Array, numeric: Any) -> None:
    """Classes of nulls, of one value, of one and null, and of the rest."""
    n = len(values)
    codes = np.array([n, 0, 1, n, *range(1, n)], dtype=np.uint8)
    domain = Domain("age", "numeric", values, True)
    encoded = Encoded(
        pa.table({"id": range(len(codes))}),
        Schema(["age"]),
        (domain,),
        (codes,),
        (),
        (),
        np.empty(0, np.uint32),
    )
    classes = classes_of([[0], [1], [2, 3], list(range(4, len(codes)))])
    columns = columns_of(encoded, classes, numeric)
    recheck(encoded, classes, columns, [KAnonymity(1)], numeric=numeric)
    first = columns[0][0]
    moved = Column("age", first.values, first.index[[0, 3, 2, 1]])
    with pytest.raises(RecheckError, match="column 'age'"):
        recheck(encoded, classes, [(moved, *columns[0][1:])], [], numeric=numeric)


def test_classes_that_look_alike_count_as_one() -> None:
    """Two classes of two rows with one cell: k = 4, and their sensitive values together."""
    encoded = encode(pa.table({"age": [1, 1, 1, 1], "s": list("aabb")}), ["age"], ["s"])
    classes = classes_of([[0, 1], [2, 3]])
    columns = columns_of(encoded, classes)
    recheck(encoded, classes, columns, [KAnonymity(4), LDiversity(2)])
    with pytest.raises(RecheckError):
        recheck(encoded, classes, [()], [LDiversity(2)])


def test_cells_of_a_tree() -> None:
    tree = tree_of((2, 2))
    encoded = encode(pa.table({"sex": list("abcd")}), ["sex"], trees={"sex": tree})
    classes = classes_of([[0, 1], [2], [3]])
    columns = columns_of(encoded, classes)
    assert columns[0][0].values.to_pylist() == ["n1", "c", "d"]
    recheck(encoded, classes, columns, [])
    for old, new in (("n1", "*"), ("c", "n4"), ("d", "c"), ("d", "n1")):
        with pytest.raises(RecheckError, match="column 'sex'"):
            recheck(encoded, classes, relabeled(columns, 0, old, new), [])


@pytest.mark.parametrize("kind", ["numeric", "nominal", "ordinal"])
def test_a_suppressed_column_is_no_fault(kind: str) -> None:
    """Every class shows the whole domain, whatever its rows hold; null must still be told."""
    encoded = encode(pa.table({"a": [1, 2, 3, None]}), ["a"], kinds={"a": kind})
    classes = classes_of([[0, 1], [3]], suppressed=[2])
    index = np.array([0, 1], dtype=np.uint32)
    recheck(encoded, classes, [(Column("a", pa.array(["*", "* or missing"]), index),)], [])
    for words in (["*", "*"], ["* or missing", "* or missing"]):
        with pytest.raises(RecheckError, match="missing values outside"):
            recheck(encoded, classes, [(Column("a", pa.array(words), index),)], [])


def test_sets_of_a_large_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """More labels than bits: the sets are compared as lists."""
    monkeypatch.setattr(anon.release.recheck, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(anon.release.recheck_cells, "ROWS_AT_ONCE", 7)
    words = [f"w{number:03}" for number in range(80)]
    encoded = encode(pa.table({"word": [*words, None]}), ["word"])
    classes = classes_of([range(start, min(start + 6, 81)) for start in range(0, 81, 6)])
    columns = columns_of(encoded, classes)
    recheck(encoded, classes, columns, [])
    some = "{w006, w007, w008, w009, w010, w011}"
    for new in ("{w006, w007, w008, w009, w011}", "{w006, w007, w011}", "{w006, w011, w012}"):
        with pytest.raises(RecheckError, match="column 'word'"):
            recheck(encoded, classes, relabeled(columns, 0, some, new), [])


# Requirements against slow twins


def slow(requirement: Any, groups: Sequence[Sequence[int]], n_values: int, tree: Tree | None) -> bool:
    """The definitions, one class at a time, in exact fractions where they are fractions."""
    table = Counter(value for group in groups for value in group)
    n = sum(table.values())
    q = [Fraction(table[value], n) for value in range(n_values)]
    for group in groups:
        counts = Counter(group)
        p = [Fraction(counts[value], len(group)) for value in range(n_values)]
        name = type(requirement).__name__
        if name == "TCloseness" and requirement.distance == "js":
            middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
            terms = [x * log(x / m) for side in (p, q) for x, m in zip(side, middle, strict=True) if x]
            passes = sum(terms) / 2 <= requirement.t + 1e-12
        elif name == "TCloseness" and requirement.distance == "equal":
            passes = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 <= Fraction(str(requirement.t))
        elif name == "TCloseness" and requirement.distance == "ordered":
            running = [abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(n_values)]
            passes = sum(running) / max(n_values - 1, 1) <= Fraction(str(requirement.t))
        elif name == "TCloseness":
            assert tree is not None
            moved = Fraction(0)
            for node in range(len(tree.labels)):
                below = [c for c in range(len(tree.labels)) if tree.parent[c] == node]
                extra = [sum(p[i] - q[i] for i in range(tree.first[c], tree.last[c] + 1)) for c in below]
                up, down = sum(x for x in extra if x > 0), -sum(x for x in extra if x < 0)
                moved += Fraction(tree.height - int(tree.depth[node]), tree.height) * min(up, down)
            passes = moved <= Fraction(str(requirement.t))
        else:
            limit = Fraction(str(requirement.beta))
            passes = all((a - b) / b <= limit for a, b in zip(p, q, strict=True) if a > b)
        if not passes:
            return False
    return True


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=4),
    st.sampled_from([0, 0.1, 0.125, 0.2, 0.25, Fraction(1, 3), 1 / 3, 0.3, 0.5, 0.29, 1, 2]),
    st.sampled_from(["js", "equal", "ordered", "hierarchical", "beta"]),
)
@settings(max_examples=250, deadline=None)
def test_requirements_are_the_definitions(groups: list[list[int]], parameter: Any, test: str) -> None:
    every = [*groups, [0, 1, 2, 3, 4, 5]]
    tree = tree_of((2, 1, 3)) if test == "hierarchical" else None
    requirement = BetaLikeness(parameter) if test == "beta" else TCloseness(parameter, test)
    expected = slow(requirement, every, 6, tree)
    found = holds(requirement, *every, kind="nominal" if tree else "numeric", tree=tree)
    assert found == expected


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=3),
    st.sampled_from([0.0, 0.25, 0.4, 0.5, 0.75, 1.0]),
    st.sampled_from(["line", "flat", "tree"]),
)
@settings(max_examples=150, deadline=None)
def test_s_diversity_is_the_definition(groups: list[list[int]], r: float, shape: str) -> None:
    every = [*groups, [0, 1, 2, 3, 4]]
    sizes = {"line": [1] * 5, "flat": [5] * 5, "tree": [2, 2, 3, 3, 3]}[shape]
    tree = tree_of((2, 3)) if shape == "tree" else None

    def near(a: int, b: int) -> Fraction:
        if a == b:
            return Fraction(1)
        if shape == "line":
            return 1 - Fraction(abs(a - b), 4)
        together = sizes[a] if shape == "flat" or (a < 2) == (b < 2) else 5
        return 1 - Fraction(together - 1, 5)

    sums = [
        sum(x for x in (near(a, b) for a, b in product(group, group)) if x >= 1 - Fraction(str(r)))
        / len(group) ** 2
        for group in every
    ]
    worst = float(max(sums))
    how: Any = {"kind": "numeric" if shape == "line" else "nominal", "tree": tree}
    boundary(lambda bound: SDiversityBound(bound, r), worst, worst - 1e-7, *every, **how)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anon.release.recheck, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(anon.release.recheck_cells, "ROWS_AT_ONCE", 3)
    test_micro_table_1()
    test_micro_table_9()
    test_flat_and_tree_s_diversity()


def test_python_integers_where_64_bits_could_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anon.release.recheck, "SAFE", 1)
    monkeypatch.setattr(anon.release.recheck_cells, "SAFE", 1)
    monkeypatch.setattr(anon.release.recheck_requirements, "SAFE", 1)
    test_micro_table_1()
    test_micro_table_3()
    test_micro_table_4()


def test_it_shares_nothing_with_the_methods() -> None:
    folder = Path(anon.release.recheck.__file__).parent
    source = ast.parse("\n".join(path.read_text() for path in folder.glob("recheck*.py")))
    imported = {
        name
        for node in ast.walk(source)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
    }
    ours = {name for name in imported if name and name.startswith("anon")}
    assert {name for name in ours if not name.startswith("anon.release.")} == {
        *("anon.classes", "anon.encoding", "anon.errors", "anon.schema", "anon.threads"),
    }
    cells = ast.parse(Path(anon.classes.rendering.__file__).read_text())
    assert not [
        node.module
        for node in ast.walk(cells)
        if isinstance(node, ast.ImportFrom)
        and node.module
        and ("core" in node.module or "method" in node.module)
    ]


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (pa.array([-1e17, 0.5, 7.25]), pa.array([-1e17, 0.0, 7.25])),
        (pa.array([-(2**63), 41000, 52000]), pa.array([-(2.0**63), 40960.0, 52000.0])),
        (pa.array([-(2**62), 0, 2**62]).view(pa.timestamp("ns")), pa.array([-(2**62), 1, 2**62])),
        (pa.array([5e-324, 1e-323, 1.7e308]), pa.array([5e-324, 2e-323, 1.7e308])),
        (pa.array([Decimal("0.01"), Decimal("0.02"), Decimal("9e30")]), pa.array([0.01, 0.0200001, 9e30])),
    ],
)
@pytest.mark.parametrize("numeric", ["midpoint", "mean"])
def test_a_small_fault_beside_a_huge_value(values: pa.Array, wrong: pa.Array, numeric: Any) -> None:
    codes = np.array([0, 0, 1, 1, 2, 2], dtype=np.uint8)
    domain = Domain("age", "numeric", values, False)
    encoded = Encoded(
        pa.table({"id": range(6)}), Schema(["age"]), (domain,), (codes,), (), (), np.empty(0, np.uint32)
    )
    classes = classes_of([[0, 1], [2, 3], [4, 5]])
    columns = columns_of(encoded, classes, numeric)
    recheck(encoded, classes, columns, [KAnonymity(2)], numeric=numeric)
    [column] = columns[0]
    off = Column("age", wrong.cast(column.values.type), np.arange(3, dtype=np.uint32))
    with pytest.raises(RecheckError, match="in 1 classes"):
        recheck(encoded, classes, [(off,)], [], numeric=numeric)


@pytest.mark.parametrize("numeric", ["bounds", "midpoint", "mean"])
def test_a_suppressed_column_of_numbers_is_no_fault(numeric: Any) -> None:
    """The whole domain, as numbers, though the published rows do not reach its ends; means are of rows."""
    encoded = encode(pa.table({"a": [1, 2, 3, 10]}), ["a"], kinds={"a": "numeric"})
    classes = classes_of([[1], [2]], suppressed=[0, 3])
    index = np.array([0, 0], dtype=np.uint32)
    whole = {"bounds": [[1], [10]], "midpoint": [[5.5]], "mean": [[5.5]]}[numeric]
    columns = tuple(Column("a", pa.array(values), index) for values in whole)
    if numeric == "mean":
        with pytest.raises(RecheckError, match="in 2 classes"):
            recheck(encoded, classes, [columns], [], numeric=numeric)
    else:
        recheck(encoded, classes, [columns], [], numeric=numeric)


def test_nothing_published_meets_everything() -> None:
    encoded = encode(
        pa.table({"age": [1, 2], "s": [1, 2]}), ["age"], ["s"], {"age": "numeric", "s": "numeric"}
    )
    classes = classes_of([], suppressed=[0, 1])
    for numeric in ("interval", "bounds", "midpoint", "mean"):
        columns = columns_of(encoded, classes, numeric)
        recheck(encoded, classes, columns, [KAnonymity(2), SDiversityBound(0.1)], numeric=numeric)
