# SPDX-License-Identifier: Apache-2.0
"""Requirements on tables small enough to work out by hand.

A table is written class by class, one letter or digit per row: "aabc abbd" is two classes of four
rows. "-" is a missing value. p is a share in a class, q in the table.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anon.encoding.domain import Domain
from anon.errors import DataError, InfeasibleError, UsageError
from anon.requirements import conjunction as conjunction_module
from anon.requirements import custom
from anon.requirements import requirement as requirement_module
from anon.requirements.anonymity import KAnonymity
from anon.requirements.closeness import TCloseness
from anon.requirements.custom import Custom
from anon.requirements.disclosure import BetaLikeness, DeltaDisclosure
from anon.requirements.diversity import AlphaK, LDiversity
from anon.requirements.requirement import Requirement
from anon.requirements.similarity import SDiversityBound
from anon.schema.hierarchy.tree import Tree
from anoncore.requirement import passing_classes

Nested = str | list["Nested"]


def tree(root: Nested) -> Tree:
    """[["a", "b"], "c"] -> the tree with these leaves in this order."""
    parent: list[int] = []
    first: list[int] = []
    last: list[int] = []
    depth: list[int] = []
    leaf: list[int] = []
    labels: list[str] = []

    def add(node: Nested, above: int, level: int) -> None:
        number = len(parent)
        parent.append(above)
        depth.append(level)
        first.append(len(leaf))
        last.append(0)
        labels.append(node if isinstance(node, str) else f"node {number}")
        if isinstance(node, str):
            leaf.append(number)
        else:
            for child in node:
                add(child, number, level + 1)
        last[number] = len(leaf) - 1

    add(root, -1, 0)
    arrays = (np.array(x, dtype=np.int32) for x in (parent, first, last, depth, leaf))
    return Tree(tuple(labels), *arrays)


class Table:
    """Classes of one or more sensitive attributes as the kernel wants them."""

    def __init__(
        self, *attributes: str | list[list[float]], kind: str = "nominal", root: Nested | None = None
    ):
        self.domains: list[Domain] = []
        self.counts: list[np.ndarray[Any, Any]] = []
        self.csr: list[list[np.ndarray[Any, Any]]] = []
        for number, attribute in enumerate(attributes):
            classes: list[Any] = attribute.split() if isinstance(attribute, str) else attribute
            values = sorted({value for rows in classes for value in rows if value != "-"})
            leaves = tree(root) if root is not None else None
            if leaves is not None:
                values = [leaves.labels[node] for node in leaves.leaf]
            null = any("-" in rows for rows in classes if isinstance(rows, str))
            codes = {value: code for code, value in enumerate(values)} | {"-": len(values)}
            positions = None
            if kind == "ordinal":
                positions = np.arange(len(values), dtype=np.float64)
            elif kind == "numeric":
                positions = np.array([float(value) - float(values[0]) for value in values])
            self.domains.append(
                Domain(f"s{number}", kind, pa.array(values), null, positions=positions, tree=leaves)
            )
            counted = [
                np.bincount([codes[v] for v in rows], minlength=len(values) + null) for rows in classes
            ]
            self.counts.append(np.sum(counted, axis=0, dtype=np.int64))
            present = [np.flatnonzero(c) for c in counted]
            self.csr.append(
                [
                    np.cumsum([0, *map(len, present)]).astype(np.int64),
                    np.concatenate(present).astype(np.int64),
                    np.concatenate([c[p] for c, p in zip(counted, present, strict=True)]).astype(np.int64),
                ]
            )
            self.sizes = np.array([len(rows) for rows in classes], dtype=np.int64)
        self.n_rows = int(self.sizes.sum())

    def passing(self, *required: Requirement) -> str:
        """One letter per class: y or n."""
        conjunction = conjunction_module.compile(required, self.domains, self.counts, self.n_rows)
        csr = zip(*self.csr, strict=True) if conjunction.n_sensitive else ((), (), ())
        return "".join("ny"[int(x)] for x in passing_classes(conjunction, self.sizes, *csr))

    def infeasible(self, *required: Requirement) -> InfeasibleError | None:
        return conjunction_module.infeasible(required, self.domains, self.counts, self.n_rows)


def distinct(l: float) -> LDiversity:
    return LDiversity(l, "distinct")


def entropy(l: float) -> LDiversity:
    return LDiversity(l, "entropy")


def recursive(c: float, l: int) -> LDiversity:
    return LDiversity(l, "recursive", c=c)


def equal(t: Any) -> TCloseness:
    return TCloseness(t, "equal")


def ordered(t: Any) -> TCloseness:
    return TCloseness(t, "ordered")


THIRD = Fraction(1, 3)
ARGUMENTS = custom._ARGUMENTS


@pytest.mark.parametrize(
    ("attribute", "requirement", "passing"),
    [
        # spec 6.1: class counts (2,1,1,0) and (1,2,0,1), table (3,3,1,1)
        ("aabc abbd", KAnonymity(4), "yy"),
        ("aabc abbd", KAnonymity(5), "nn"),
        ("aabc abbd", distinct(3), "yy"),
        ("aabc abbd", distinct(4), "nn"),
        ("aabc abbd", entropy(2**1.5), "yy"),  # H = 1/2 ln 2 + 1/2 ln 4 = ln 2^1.5, within 1e-12
        ("aabc abbd", entropy(2.8285), "nn"),
        ("aabc abbd", LDiversity(2), "yy"),  # max p = 1/2
        ("aabc abbd", LDiversity(2.0000001), "nn"),
        ("aabc abbd", recursive(3, 2), "yy"),  # 2 < 3 (1+1)
        ("aabc abbd", recursive(1, 2), "nn"),  # 2 < 1 (1+1) is false: strict
        ("aabc abbd", recursive(2, 3), "nn"),  # 2 < 2 * 1 is false
        ("aabc abbd", recursive(3, 3), "yy"),  # 2 < 3
        ("aabc abbd", recursive(3, 4), "nn"),  # no fourth value: 2 < 0
        ("aabc abbd", recursive(3, 1), "yy"),
        ("aabc abbd", DeltaDisclosure(1e9), "nn"),  # d, c missing: infinite
        # spec 6.4: p = 3/4 against q = 1/2
        ("xxxy xyyy", DeltaDisclosure(math.log(2)), "nn"),  # ln((1/4)/(1/2)) = -ln 2, strict
        ("xxxy xyyy", DeltaDisclosure(0.7), "yy"),
        ("xxxy xyyy", LDiversity(Fraction(4, 3)), "yy"),
        ("xxxy xyyy", LDiversity(1.3334), "nn"),
        ("xxxy xyyy", equal(0.25), "yy"),
        ("xxxy xyyy", equal(0.2499999999999), "nn"),
        # a value missing from a class
        # T = 1/2 a, 1/3 b, 1/6 c: b is 3/2 times as likely, c 3 times
        ("ab ab ac", DeltaDisclosure(0.41, "ignore"), "yyn"),
        ("ab ab ac", DeltaDisclosure(1.1, "ignore"), "yyy"),
        ("aabc abbd", DeltaDisclosure(math.log(2), "ignore"), "nn"),  # c: 1/4 of 1/8, strict
        ("ab ab ac", DeltaDisclosure(50), "nnn"),  # c is missing from two, b from the third
        ("abc abc", DeltaDisclosure(0.001), "yy"),  # p = q everywhere: 0 < 0.001
        ("ab aab", distinct(2), "yy"),
        ("ab aa", distinct(2), "yn"),
        ("ab aa", recursive(100, 2), "yn"),  # 1 < 100; 2 < 0 is false
        ("aab abb cc", equal(0.5), "yyn"),  # T = 3/8 3/8 1/4. 2/3-3/8 = 7/24; same; 1-1/4 = 3/4
        ("aab abb cc", equal(Fraction(7, 24)), "yyn"),
        ("aab abb cc", equal(0.2916), "nnn"),  # 7/24 = 0.291666...
        # ties
        ("aabb", recursive(1, 1), "y"),
        ("aabb", recursive(1, 2), "n"),  # 2 < 2 is false
        ("aabb", recursive(1.01, 2), "y"),  # 2 < 2.02
        ("aabbcc", recursive(1, 2), "y"),  # 2 < 2+2
        ("aabbcc", recursive(1, 3), "n"),  # 2 < 2 is false
        ("aaabbcc", recursive(1.5, 3), "n"),  # 3 < 1.5 * 2 is false
        ("aaabbcc", recursive(1.5, 2), "y"),  # 3 < 1.5 * 4
        ("aaabbcc", recursive(1.6, 3), "y"),  # 3 < 3.2
        ("aabb", LDiversity(2), "y"),
        ("aabb", entropy(2), "y"),  # H = ln 2
        ("aabb", entropy(2.000001), "n"),
        # c < 1
        ("abcd", recursive(0.5, 2), "y"),  # 1 < 0.5 * 3
        ("abc", recursive(0.5, 2), "n"),  # 1 < 0.5 * 2 is false
        ("aab", recursive(0.9, 1), "y"),  # l = 1 always passes
        ("aaa", recursive(0.1, 1), "y"),
        # classes of one row
        ("a b", LDiversity(1), "yy"),
        ("a b", distinct(1), "yy"),
        ("a b", entropy(1), "yy"),
        ("a b", entropy(1.0001), "nn"),
        ("a b", equal(0.5), "yy"),
        ("a b", equal(0.4999), "nn"),
        ("a b", TCloseness(0.2157), "nn"),  # spec 6.2: JS((1,0),(1/2,1/2)) = 3/4 ln 4/3 = 0.215762
        ("a b", TCloseness(0.2158), "yy"),
        ("a b", BetaLikeness(1), "yy"),  # (1 - 1/2)/(1/2) = 1
        ("a b", BetaLikeness(0.99), "nn"),
        ("a b", BetaLikeness(1, enhanced=True), "nn"),  # min(1, -ln 1/2 = 0.693)
        # one class is the table: every distance 0
        ("aabcd", TCloseness(0), "y"),
        ("aabcd", equal(0), "y"),
        ("aabcd", DeltaDisclosure(0.0001), "y"),
        ("aabcd", BetaLikeness(0.0001, enhanced=True), "y"),
        # t = 0: only classes with the table's distribution
        ("aab aab", TCloseness(0), "yy"),
        ("aab aaaabb", equal(0), "yy"),
        ("aab aabb", equal(0), "nn"),  # T = 4/7; 2/3 and 1/2
        ("aab aabb", TCloseness(0), "nn"),
        # alpha, k
        ("aabb aab", AlphaK(0.5, 2), "yn"),  # 1/2; 2/3
        ("aabb aab", AlphaK(0.5, 4), "yn"),
        ("aabb aab", AlphaK(1, 4), "yn"),
        ("aabb aab", AlphaK(0.66, 3), "yn"),
        ("aabb aab", AlphaK(0.67, 3), "yy"),
        # beta: T = 3/8 a, 5/8 b. aab: (2/3 - 3/8)/(3/8) = 7/9; abbbb: (4/5 - 5/8)/(5/8) = 7/25
        ("aab abbbb", BetaLikeness(Fraction(7, 9)), "yy"),
        ("aab abbbb", BetaLikeness(0.77), "ny"),
        ("aab abbbb", BetaLikeness(0.28), "ny"),
        ("aab abbbb", BetaLikeness(0.2799), "nn"),
        # enhanced: -ln 3/8 = 0.981 > 7/9; -ln 5/8 = 0.470 > 7/25
        ("aab abbbb", BetaLikeness(5, enhanced=True), "yy"),
        # T = 1/4 a, 3/4 b. b: gain 1/3 > -ln 3/4 = 0.288; a: gain 1 <= -ln 1/4
        ("ab bb", BetaLikeness(5, enhanced=True), "yn"),
        ("ab bb", BetaLikeness(5), "yy"),
        # null is one more value in tests of counts
        ("aa- aa-", distinct(2), "yy"),
        ("a- aa", LDiversity(2), "yn"),
        ("a- a-", DeltaDisclosure(0.1), "yy"),
        ("a- aa", DeltaDisclosure(0.7, "ignore"), "yy"),
        ("a- aa", DeltaDisclosure(9), "yn"),  # ratios 2/3 and 2; null missing from the second
        ("-- aa", equal(0.5), "yy"),
        # traps 14, 17, 18, 19, 20, 21
        ("aa bb", equal(0.1), "nn"),
        ("aabb", equal(0.1), "y"),
        ("abc", entropy(3), "y"),
        ("aabc", entropy(2.828), "y"),
        ("aabc", entropy(2.829), "n"),
        ("aaaaaaaaab", recursive(9, 2), "n"),  # 9 < 9 * 1 is false: needs c > 9
        ("aaaaaaaaab", recursive(9.0001, 2), "y"),
        ("11 11", equal(0), "yy"),
        ("11 11", TCloseness(0), "yy"),
        ("aa bb", DeltaDisclosure(1e6), "nn"),
        ("12 23 13", equal(THIRD), "yyy"),  # 1/2-1/3 twice = 1/3
        ("12 23 13", equal(0.3333), "nnn"),
        # 1/3, 0.29, 0.1 + 0.2, ln 3 are what they are written as
        ("abc", LDiversity(3), "y"),
        ("abc", AlphaK(1 / 3, 1), "n"),  # 0.3333333333333333 < 1/3
        ("abc", AlphaK(THIRD, 1), "y"),
        ("12 23 13", equal(1 / 3), "nnn"),
        ("a" * 29 + "b" * 71, LDiversity(1 / Fraction(71, 100)), "y"),
        ("a" * 71 + "b" * 29, AlphaK(0.71, 1), "y"),
        ("a" * 29 + "b" * 29 + "c" * 29 + "d" * 13, AlphaK(0.29, 1), "y"),  # 0.29 * 100 < 29 in binary
        ("a" * 79 + "b" * 21 + " " + "a" * 21 + "b" * 79, equal(0.29), "yy"),  # 79/100 - 1/2
        ("a" * 8 + "b" * 2 + " " + "a" * 2 + "b" * 8, equal(0.3), "yy"),  # 8/10 - 1/2
        ("a" * 8 + "b" * 2 + " " + "a" * 2 + "b" * 8, equal(0.1 + 0.2), "yy"),
        ("a" * 8 + "b" * 2 + " " + "a" * 2 + "b" * 8, equal(0.29999999999999993), "nn"),
        ("aaab abbbbbbbbbbb", DeltaDisclosure(math.log(3)), "nn"),  # T = 1/4: 3/4 is 3 times, 1/12 a third
        ("aaab abbbbbbbbbbb", DeltaDisclosure(1.0987), "yy"),  # b: 3 and 11/9, ln 3 = 1.09861
        ("aaab abbbbbbbbbbb", BetaLikeness(2), "yy"),  # (3/4 - 1/4)/(1/4) = 2
        ("aab aab", LDiversity(math.log(3)), "yy"),  # 2/3 <= 1/1.0986 = 0.910
        ("aab aab", LDiversity(math.log(4.5)), "nn"),  # 2/3 > 1/1.504 = 0.6649
    ],
)
def test_micro_table(attribute: str, requirement: Requirement, passing: str) -> None:
    assert Table(attribute).passing(requirement) == passing


@pytest.mark.parametrize(
    ("attribute", "t", "passing"),
    [
        # spec 6.1: cumulative differences 1/8, 0, 1/8 over three steps
        ("aabc abbd", Fraction(1, 12), "yy"),
        ("aabc abbd", 0.0833, "nn"),
        # spec 6.3 against nine even values: 0.375 at 1 2 3; 456: 1/9 + 2/9 + 3/9 twice, less 1/9 each
        ("123 456 789", 0.375, "yyy"),
        ("123 456 789", 0.3749, "nyn"),
        # 469: 1/6. The rest: (1+2+3+1+2+0+1+2)/18/8 = 1/12
        ("469 123578", Fraction(1, 6), "yy"),
        ("469 123578", 0.1666, "ny"),
        ("469 123578", Fraction(1, 12), "ny"),
        ("469 123578", 0.0833, "nn"),
        # trap 21: 12: (1/6 + 2/6)/2; 23: (2/6 + 1/6)/2; 13: (1/6 + 1/6)/2. Equal EMD is 1/3 for all
        ("12 23 13", 0.25, "yyy"),
        ("12 23 13", 0.2499, "nny"),
        ("12 23 13", Fraction(1, 6), "nny"),
        # neighbors moved: equal 1/2 in both tables, ordered (1/2)/3 against (1/2 * 3)/3 of four even values
        ("ac bd", Fraction(1, 6), "yy"),  # 1/4, 0, 1/4
        ("ab cd", THIRD, "yy"),  # 1/4, 1/2, 1/4
        ("ab cd", 1 / 3, "nn"),
        # one value, one class
        ("aa a", 0, "yy"),
        ("abc", 0, "y"),
        # two values: ordered is equal
        ("a b", 0.5, "yy"),
        ("a b", 0.49, "nn"),
    ],
)
def test_ordered_closeness(attribute: str, t: Any, passing: str) -> None:
    assert Table(attribute, kind="ordinal").passing(ordered(t)) == passing
    assert Table(attribute[::-1], kind="ordinal").passing(ordered(t)) == passing[::-1]


def test_order_decides_where_equal_does_not() -> None:
    # two even classes of four values: equal distance 1/2, ordered 1/6 or 1/3
    near, far = Table("ac bd", kind="ordinal"), Table("ab cd", kind="ordinal")
    assert near.passing(equal(0.5)) == far.passing(equal(0.5)) == "yy"
    assert near.passing(ordered(0.2)) == "yy"
    assert far.passing(ordered(0.2)) == "nn"


@pytest.mark.parametrize(
    ("attribute", "root", "t", "passing"),
    [
        # spec 6.1. {ab}{cd}: 1/8 moves inside ab and inside cd, level 1 of 2: 1/16 each
        ("aabc abbd", [["a", "b"], ["c", "d"]], 0.125, "yy"),
        ("aabc abbd", [["a", "b"], ["c", "d"]], 0.12499, "nn"),
        # {ac}{bd}: ac has +1/8 +1/8, all of it moves over the root
        ("aabc abbd", [["a", "c"], ["b", "d"]], 0.25, "yy"),
        ("aabc abbd", [["a", "c"], ["b", "d"]], 0.24999, "nn"),
        ("aabc abbd", ["a", "b", "c", "d"], 0.25, "yy"),
        ("aabc abbd", ["a", "b", "c", "d"], 0.24999, "nn"),
        # one level: equal. Four even values, two each: 1/2
        ("ab cd", ["a", "b", "c", "d"], 0.5, "yy"),
        # the classes are the branches: all over the root 1/2; across them 1/4 + 1/4 at level 1 of 2
        ("ab cd", [["a", "b"], ["c", "d"]], 0.5, "yy"),
        ("ab cd", [["a", "b"], ["c", "d"]], 0.49, "nn"),
        ("ac bd", [["a", "b"], ["c", "d"]], 0.25, "yy"),
        ("ac bd", [["a", "b"], ["c", "d"]], 0.24, "nn"),
        # a short branch is padded at the leaf: a at depth 1, b c at depth 2. T = 1/3 each
        # "a": 2/3 over the root. "bc": 1/3 over the root
        ("a bc", ["a", ["b", "c"]], Fraction(2, 3), "yy"),
        ("a bc", ["a", ["b", "c"]], 0.6666, "ny"),
        ("a bc", ["a", ["b", "c"]], THIRD, "ny"),
        ("a bc", ["a", ["b", "c"]], 0.3333, "nn"),
        # ab: a +1/6, b +1/6, c -1/3: min over bc 1/6 at 1/2, over the root a 1/6 -> 1/12 + 1/6 = 1/4
        # ac likewise; bc: 1/3 over the root
        ("ab ac bc", ["a", ["b", "c"]], 0.25, "yyn"),
        ("ab ac bc", ["a", ["b", "c"]], 0.2499, "nnn"),
        # an only child moves nothing: chain over {b c} adds a level, H = 3, level(bc) = 1
        # ab: 1/6 * 1/3 + 1/6 = 2/9
        ("ab ac bc", ["a", [["b", "c"]]], Fraction(2, 9), "yyn"),
        ("ab ac bc", ["a", [["b", "c"]]], 0.2222, "nnn"),
        # leaves that the table lacks are pruned: of three levels two are left, as in the first case
        ("aabc abbd", [["a", "b"], ["c", "d"], [["x", "y"], "z"]], 0.125, "yy"),
        ("aabc abbd", [["a", "b"], ["c", "d"], [["x", "y"], "z"]], 0.12499, "nn"),
        ("aa a", [["a", "b"], ["c"]], 0, "yy"),
    ],
)
def test_hierarchical_closeness(attribute: str, root: Nested, t: Any, passing: str) -> None:
    assert Table(attribute, root=root).passing(TCloseness(t, "hierarchical")) == passing


def test_a_flat_attribute_is_a_tree_of_one_level() -> None:
    assert Table("aabc abbd").passing(TCloseness(0.25, "hierarchical")) == "yy"
    assert Table("aabc abbd").passing(TCloseness(0.2499, "hierarchical")) == "nn"


DISEASES: Nested = ["Cancer", ["HIV", ["Flu", "Bronchitis", "Pneumonia"]]]


def sums(table: Table, r: float, values: list[Any]) -> None:
    """Each class has this S-diversity: it passes at the value and fails 1e-6 below."""
    for i, value in enumerate(values):
        assert table.passing(SDiversityBound(value, r))[i] == "y"
        if value:
            assert table.passing(SDiversityBound(value - Fraction(1, 10**6), r))[i] == "n"


@pytest.mark.parametrize(
    ("classes", "r", "values"),
    [
        # spec 6.9 on 0..100: pairs 4+4 alike of 16; (3 + 4 * 1/2)/9; (4 + 1)/9
        ([[0, 0, 100, 100]], 1, [Fraction(1, 2)]),
        ([[0, 50, 100]], 1, [Fraction(5, 9)]),
        ([[0, 0, 100]], 0, [Fraction(5, 9)]),
        # (2 + 2 * 0.6)/4: 0.6 >= 1 - 0.4; one row: 1
        ([[0, 40], [100]], 0.4, [Fraction(4, 5), 1]),
        ([[0, 40], [100]], 0.39, [Fraction(1, 2), 1]),
        # spec 6.8: pc(20, 45) = 3/4
        ([[20, 45], [0, 100]], 1, [Fraction(7, 8), Fraction(1, 2)]),
        # 10 rows of one value are as close as one
        ([[7] * 10, [0, 10]], 0.5, [1, Fraction(1, 2)]),
        # a constant attribute
        ([[5, 5], [5]], 0, [1, 1]),
        # window of 0.3: 0-3, 3-6 count with 0.7, 0-6 not; 10 far away. (4 + 4 * 0.7)/16
        ([[0, 3, 6, 10]], 0.3, [Fraction(17, 40)]),
        # 6-10 counts too at 0.4: (4 + 4 * 0.7 + 2 * 0.6)/16
        ([[0, 3, 6, 10]], 0.4, [Fraction(1, 2)]),
    ],
)
def test_s_diversity_of_numbers(classes: list[list[float]], r: float, values: list[Any]) -> None:
    sums(Table(classes, kind="numeric"), r, values)


@pytest.mark.parametrize(
    ("rows", "r", "value"),
    [
        # figure 3 of Loukides & Shao: pc 0.2 over the root, 0.4 below HIV's node, 0.6 inside the last
        (["Cancer", "HIV", "Flu"], 0.5, THIRD),
        (["Bronchitis", "Flu", "Pneumonia"], 0.5, Fraction(11, 15)),
        (["Bronchitis", "Flu", "HIV"], 0.5, Fraction(7, 15)),
        (["Bronchitis", "Flu", "HIV"], 0.7, Fraction(29, 45)),
        (["Cancer", "Cancer"], 0, 1),
        # (4 + 1 + 4 * 0.2)/9 = 29/45 at r = 1; 5/9 below 0.8
        (["Cancer", "Cancer", "HIV"], 1, Fraction(29, 45)),
        (["Cancer", "Cancer", "HIV"], 0.79, Fraction(5, 9)),
        (["Cancer", "Cancer", "HIV"], 0.8, Fraction(29, 45)),
        # pc = 0.4 is counted at r = 0.6 exactly
        (["HIV", "Flu"], 0.6, Fraction(7, 10)),
        (["HIV", "Flu"], 0.59, Fraction(1, 2)),
    ],
)
def test_s_diversity_of_a_tree(rows: list[str], r: float, value: Any) -> None:
    everything = ["Cancer", "HIV", "Flu", "Bronchitis", "Pneumonia"]
    classes: Any = [rows, everything]
    sums(Table(classes, root=DISEASES), r, [value])


def test_s_diversity_of_a_flat_attribute() -> None:
    # 14 values are a tree of one level: pc of two values 1 - 13/14 = 1/14. (2 + 2/14)/4 = 15/28
    table = Table("ab cdefghijklmn")
    sums(table, 1, [Fraction(15, 28), Fraction(12 + Fraction(132, 14), 144)])
    sums(table, 0.5, [Fraction(1, 2), Fraction(1, 12)])


def test_s_diversity_sums_over_attributes() -> None:
    # s0: a b even (2 + 2 * 1/2)/4 = 3/4 at r = 1; s1: all alike 1
    table = Table("ab ab", "xx xx")
    assert table.passing(SDiversityBound(1.75)) == "yy"
    assert table.passing(SDiversityBound(1.7499)) == "nn"
    assert table.passing(SDiversityBound(0.75, sensitive="s0")) == "yy"
    assert table.passing(SDiversityBound(0.7499, sensitive="s0")) == "nn"
    assert table.passing(SDiversityBound(0.75, sensitive="s0"), SDiversityBound(1, sensitive="s1")) == "yy"
    assert table.passing(SDiversityBound(0.75, sensitive="s0"), SDiversityBound(0.9, sensitive="s1")) == "nn"


def test_several_attributes() -> None:
    # s0 has 2 values in both classes, s1 in the second only
    table = Table("ab ab", "xx xy")
    assert table.passing(distinct(2)) == "ny"
    assert table.passing(LDiversity(2, "distinct", sensitive="s0")) == "yy"
    assert table.passing(LDiversity(2, "distinct", sensitive="s1")) == "ny"
    # s1: T = 3/4 x; 1 - 3/4 = 1/4 and 3/4 - 1/2 = 1/4; s0 is the table's
    assert table.passing(equal(0.25)) == "yy"
    assert table.passing(equal(0.2)) == "nn"
    assert table.passing(TCloseness(0, "equal", sensitive="s0")) == "yy"


def test_all_requirements_must_pass() -> None:
    table = Table("aab abb abab")
    assert table.passing(KAnonymity(4), LDiversity(2)) == "nny"
    assert table.passing(KAnonymity(3), LDiversity(1.5)) == "yyy"
    assert table.passing(KAnonymity(3), LDiversity(1.5), equal(0.1)) == "nny"
    assert table.passing() == "yyy"


def test_values_of_suppressed_rows_only_are_not_in_the_table() -> None:
    # the domain has a b c d; the published classes are "ab" and "abab", so c and d have count 0
    table = Table("ab abab")
    domain = Domain("s0", "ordinal", pa.array(list("abcd")), True, positions=np.arange(4.0))
    table.domains, table.counts = [domain], [np.array([3, 3, 0, 0, 0], dtype=np.int64)]
    assert table.passing(DeltaDisclosure(0.1)) == "yy"
    assert table.passing(ordered(0)) == "yy"
    assert table.passing(SDiversityBound(0.5)) == "yy"  # range 0..1: a and b are as far apart as can be
    error = table.infeasible(distinct(3))
    assert error is not None
    assert error.tightest == 2
    # of three ranks, one never published: a against (1/2, 1/2) moves 1/2 over one step of one
    table = Table("a b")
    domain = Domain("s0", "ordinal", pa.array(list("axb")), False, positions=np.arange(3.0))
    table.domains, table.counts = [domain], [np.array([1, 0, 1], dtype=np.int64)]
    table.csr[0][1][:] = [0, 2]
    assert table.passing(ordered(0.5)) == "yy"
    assert table.passing(ordered(0.49)) == "nn"


@pytest.mark.parametrize(
    ("attribute", "requirement", "tightest", "words"),
    [
        (
            "a b",
            KAnonymity(5),
            2,
            "5-anonymity cannot be met: the table has 2 rows, so the largest k is 2",
        ),  # trap 12
        ("aaa", LDiversity(2), 1, "the largest l is 1"),  # trap 13
        ("aaa", distinct(2), 1, "has 1 value, so the largest l is 1"),
        ("aaa", recursive(3, 2), 1, "the largest l is 1"),
        ("aab abb", distinct(3), 2, "the largest l is 2"),
        ("aaab", LDiversity(1.5), Fraction(4, 3), "has 3 of 4 rows, so the largest l is 4/3"),
        ("aaabb", AlphaK(0.5, 2), Fraction(3, 5), "the least alpha is 3/5"),
        ("aaabb", AlphaK(0.5, 6), 5, "the largest k is 5"),
        ("aaabb", AlphaK(0.5, 5), Fraction(3, 5), "the least alpha is 3/5"),
        ("aaaaaaaaab", recursive(3, 2), 9, "c > 9"),  # trap 18
        ("aaabbc", recursive(1, 2), 1, "c > 1 for l = 2"),  # 3/(2+1): equality is not enough
        ("aaabbc", recursive(1, 3), 3, "c > 3"),
        ("aaabbc", DeltaDisclosure(1e-13), 1e-12, "cannot be met: delta must be greater than 1e-12"),
        ("a-", distinct(3), 2, "the largest l is 2"),
        ("ab", SDiversityBound(0.5), 0.75, "least bound"),  # (2 + 2 * 1/2)/4
    ],
)
def test_infeasible(attribute: str, requirement: Requirement, tightest: Any, words: str) -> None:
    error = Table(attribute).infeasible(KAnonymity(1), requirement)
    assert error is not None
    assert words in str(error)
    assert error.requirement is requirement
    assert repr(error.tightest) == repr(tightest)
    assert error.exit_code == 1


def test_infeasible_entropy_names_what_passes() -> None:
    # spec 6.1's class as the table: 2^1.5
    table = Table("aabc")
    error = table.infeasible(entropy(3))
    assert error is not None
    assert error.tightest == pytest.approx(2**1.5, rel=1e-14)
    assert table.infeasible(entropy(error.tightest)) is None


@pytest.mark.parametrize(
    "requirement",
    [TCloseness(0), equal(0), BetaLikeness(1e-9), BetaLikeness(1e-9, enhanced=True), DeltaDisclosure(1e-9)],
)
def test_what_the_one_class_always_meets(requirement: Requirement) -> None:
    assert Table("aab b abcc-").infeasible(requirement) is None


@pytest.mark.parametrize("requirement", [ordered(0), SDiversityBound(2), TCloseness(0, "hierarchical")])
def test_the_one_class_meets_it_without_nulls(requirement: Requirement) -> None:
    kind = "nominal" if requirement == TCloseness(0, "hierarchical") else "ordinal"
    assert Table("aab b abcc", kind=kind).infeasible(requirement) is None


def test_the_tightest_value_is_the_hardest_attribute_s() -> None:
    table = Table("aabb aabb", "xxxy xxxx", "uvuv uvuv")
    for requirement, tightest in [
        (LDiversity(3), Fraction(8, 7)),
        (distinct(9), 2),
        (AlphaK(0.4, 2), Fraction(7, 8)),
        (recursive(0.5, 2), 7),
        (recursive(0.5, 3), 2),
    ]:
        error = table.infeasible(requirement)
        assert error is not None
        assert error.tightest == tightest
    error = table.infeasible(LDiversity(3, sensitive="s0"))
    assert error is not None
    assert error.tightest == 2
    # s0 needs c > 1, and s1 a second value: no c is enough
    error = Table("aabb", "xxxx").infeasible(recursive(0.5, 2))
    assert error is not None
    assert "'s1' has 1 value, so the largest l is 1" in str(error)


def test_of_attributes_equally_hard_the_first_is_named() -> None:
    table = Table("aab", "xxy")
    table.domains = [replace(domain, name=name) for domain, name in zip(table.domains, "zy", strict=True)]
    assert "one value of 'z' has 2 of 3 rows" in str(table.infeasible(LDiversity(2)))


def test_nothing_is_infeasible_without_rows() -> None:
    domain = Domain("s", "nominal", pa.array([], pa.string()), False)
    empty = np.zeros(0, dtype=np.int64)
    every = [KAnonymity(5), LDiversity(3), TCloseness(0.1), DeltaDisclosure(1), SDiversityBound(0)]
    assert conjunction_module.infeasible(every, [domain], [empty], 0) is None


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: KAnonymity(0), "k = 0"),
        (lambda: KAnonymity(-3), "k = -3"),
        (lambda: KAnonymity(2.5), "k must be a whole number"),
        (lambda: KAnonymity(True), "k must be"),
        (lambda: KAnonymity("3"), "k must be"),
        (lambda: LDiversity(0.5), "l = 0.5: must be at least 1"),
        (lambda: LDiversity(math.nan), "l must be a finite number"),
        (lambda: LDiversity(math.inf), "l must be a finite number"),
        (lambda: LDiversity(10**400), "l must be a finite number"),
        (lambda: LDiversity(-sys.float_info.max), "must be at least 1"),
        (lambda: LDiversity(Decimal("NaN")), "l must be a finite number"),
        (lambda: LDiversity(2j), "l must be a finite number"),
        (lambda: LDiversity(2.5, "recursive"), "l must be a whole number"),
        (lambda: LDiversity(2, "recursive", c=0), "c = 0: must be greater than 0"),
        (lambda: LDiversity(2, "recursive", c=math.nan), "c must be"),
        (lambda: LDiversity(2, "simpson"), "one of 'probabilistic', 'distinct', 'entropy', 'recursive'$"),
        (lambda: TCloseness(-0.1), "t = -0.1: must be at least 0"),
        (lambda: TCloseness(math.nan), "t must be"),
        (lambda: TCloseness(0.1, "emd"), "one of 'js', 'equal', 'ordered', 'hierarchical'$"),
        (lambda: DeltaDisclosure(0), "delta = 0: must be greater than 0"),
        (lambda: DeltaDisclosure(math.inf), "delta must be"),
        (lambda: DeltaDisclosure(1, absent="pass"), 'absent=\'pass\': choose "fail" or "ignore"'),
        (lambda: AlphaK(0, 2), "alpha = 0"),
        (lambda: AlphaK(1e-16, 2), "alpha is too small"),
        (lambda: AlphaK(1.01, 2), "alpha = 1.01: must be between 0 and 1"),
        (lambda: AlphaK(0.5, 0), "k = 0"),
        (lambda: BetaLikeness(0), "beta = 0"),
        (lambda: BetaLikeness("1"), "beta must be a number"),
        (lambda: SDiversityBound(-1), "bound = -1"),
        (lambda: SDiversityBound(1, 1.5), "r = 1.5: must be between 0 and 1"),
        (lambda: SDiversityBound(1, -0.5), "r = -0.5"),
        (lambda: TCloseness(1e-320, "equal"), "t is too small: must be 0 or at least 1e-15"),
        (lambda: TCloseness(Decimal("1e-999999"), "equal"), "t is too small"),
        (lambda: TCloseness(Decimal("1e-999999999")), "t is too small"),
        (lambda: TCloseness(Decimal("1e999999999")), "t must be a finite number"),
        (lambda: BetaLikeness(1e-320), "beta is too small: must be at least 1e-15"),
        (lambda: BetaLikeness(Fraction(1, 10**400), enhanced=True), "beta is too small"),
        (lambda: BetaLikeness(Fraction(1, 10**15 + 1)), "beta is too small: must be at least 1e-15$"),
        (lambda: Custom(print), "cfunc"),
        (lambda: Custom(None, params="x"), "params must be a list of numbers"),
        (lambda: Custom(None, params=None), "params"),
        (lambda: Custom(None, params=(10**400,)), "params"),
        pytest.param(
            lambda: Custom(import_module("numba").cfunc("int32(int64)")(lambda x: 1)),
            "SIGNATURE",
            marks=pytest.mark.numba,
        ),
        (lambda: Custom(SimpleNamespace(address=1)), "SIGNATURE"),
        (lambda: Custom(SimpleNamespace(address=1, ctypes=SimpleNamespace(argtypes=ARGUMENTS))), "SIGNATURE"),
    ],
)
def test_parameters_that_make_no_sense(make: Any, word: str) -> None:
    with pytest.raises(UsageError, match=word.replace("(", r"\(")):
        make()


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (KAnonymity(10), "10-anonymity"),
        (LDiversity(3), "3-diversity (probabilistic)"),
        (LDiversity(Fraction(3)), "3-diversity (probabilistic)"),
        (LDiversity(1e16), "1e+16-diversity (probabilistic)"),
        (LDiversity(2.5, "entropy", sensitive="job"), "2.5-diversity (entropy) of 'job'"),
        (LDiversity(4, "recursive"), "(3,4)-diversity (recursive)"),
        (TCloseness(0.2), "0.2-closeness (js)"),
        (TCloseness(Fraction(1, 3), "equal"), "1/3 (about 0.333333)-closeness (equal)"),
        (DeltaDisclosure(1.0), "1-disclosure privacy"),
        (DeltaDisclosure(1.4, "ignore", "job"), "1.4-disclosure privacy of the values present of 'job'"),
        (AlphaK(0.5, 10), "(0.5,10)-anonymity"),
        (AlphaK(Fraction(1, 2), 10), "(1/2 (about 0.5),10)-anonymity"),
        (BetaLikeness(2), "basic 2-likeness"),
        (BetaLikeness(2, enhanced=True), "enhanced 2-likeness"),
        (SDiversityBound(0.5), "S-diversity at most 0.5 (r = 1)"),
    ],
)
def test_words(requirement: Requirement, text: str) -> None:
    assert str(requirement) == text
    assert eval(repr(requirement)) == requirement


def test_numbers_of_other_types_are_the_decimals_they_show() -> None:
    assert TCloseness(np.float64(0.29)) == TCloseness(0.29)
    assert TCloseness(np.float32(0.1)).t == 0.1
    assert TCloseness(Decimal("0.29")).t == Fraction(29, 100)
    assert repr(TCloseness(Decimal("1e-15")).t) == "Fraction(1, 1000000000000000)"
    assert LDiversity(sys.float_info.max).l == sys.float_info.max
    assert TCloseness(1e-15).t == 1e-15
    assert LDiversity(np.int32(3)).l == 3
    assert requirement_module.exact(0.1 + 0.2) == Fraction(30000000000000004, 10**17)


@pytest.mark.parametrize(
    ("kind", "parameters", "fields"),
    [
        (KAnonymity, [np.uint8(5)], "k=5"),
        (LDiversity, [np.float64(2.5)], "l=2.5, kind='probabilistic', c=3.0, sensitive=None"),
        (LDiversity, [np.int8(2), "recursive", np.int64(3)], "l=2, kind='recursive', c=3, sensitive=None"),
        (TCloseness, [np.float32(0.1)], "t=0.1, distance='js', sensitive=None"),
        (DeltaDisclosure, [np.float64(0.1)], "delta=0.1, absent='fail', sensitive=None"),
        (AlphaK, [np.float64(0.1), np.int64(2)], "alpha=0.1, k=2, sensitive=None"),
        (BetaLikeness, [np.float64(0.1), np.True_], "beta=0.1, enhanced=True, sensitive=None"),
        (SDiversityBound, [np.float64(0.1), np.float32(0.2)], "bound=0.1, r=0.2, sensitive=None"),
    ],
)
def test_parameters_are_kept_as_plain_numbers(
    kind: type[Requirement], parameters: list[Any], fields: str
) -> None:
    assert repr(kind(*parameters)) == f"{kind.__name__}({fields})"


def test_a_list_of_requirements_is_asked_for() -> None:
    conjunction_module.check_list([KAnonymity(2), LDiversity(2)])
    conjunction_module.check_list(())
    for given, message in [
        (KAnonymity(2), r"require takes a list: write require=\[KAnonymity\(k=2\)\]"),
        (5, "require must be a list of requirements, not int"),
        ([KAnonymity(2), 5], r"require takes requirements such as KAnonymity\(10\), not int"),
    ]:
        with pytest.raises(UsageError, match=f"^{message}$"):
            conjunction_module.check_list(given)


def test_a_sensitive_attribute_is_needed_and_known() -> None:
    with pytest.raises(UsageError, match=r"needs a sensitive attribute: .*sensitive="):
        conjunction_module.compile([LDiversity(2)], [], [], 4)
    known = (
        r"'salary' is not .* attribute; choose one of 's0', 's1', or add it to the schema \(sensitive=.*\)$"
    )
    with pytest.raises(UsageError, match=known):
        Table("ab", "xy").passing(TCloseness(0.1, sensitive="salary"))
    assert conjunction_module.compile([KAnonymity(3)], [], [], 4).min_size == 3


@pytest.mark.parametrize(
    ("kind", "requirement"),
    [("ordinal", ordered(1)), ("nominal", TCloseness(1, "hierarchical")), ("nominal", SDiversityBound(3))],
)
def test_order_and_hierarchy_refuse_missing_values(kind: str, requirement: Requirement) -> None:
    with pytest.raises(DataError, match=r" has 2 missing values, without .*missing=\"suppress\"$") as caught:
        Table("a-b a-", kind=kind).passing(requirement)
    assert str(caught.value).startswith(f"{requirement}: sensitive attribute 's0' has")
    assert caught.value.column == "s0"
    assert caught.value.count == 2


def test_order_needs_an_ordered_attribute() -> None:
    for attribute in ("ab", "a-b a-"):
        with pytest.raises(UsageError, match=r'has no order; .* numeric, or use .* "equal" or "js"$'):
            Table(attribute).passing(ordered(1))
    with pytest.raises(UsageError, match='is ordinal; use distance="ordered"'):
        Table("ab", kind="ordinal").passing(TCloseness(1, "hierarchical"))


def test_min_size() -> None:
    def least(*required: Requirement) -> int:
        table = Table("aabbccdd")
        return conjunction_module.compile(required, table.domains, table.counts, table.n_rows).min_size

    assert least() == 1
    assert least(KAnonymity(4)) == 4
    assert least(LDiversity(2.5)) == 3
    assert least(entropy(2.5)) == 3
    assert least(entropy(3 + 1e-13)) == 3  # ln 3 passes within 1e-12
    assert least(distinct(2.5)) == 3
    assert least(recursive(3, 4)) == 4
    assert least(AlphaK(0.3, 2)) == 4
    assert least(DeltaDisclosure(1)) == 4  # every value of the table
    assert least(DeltaDisclosure(1, "ignore")) == 1
    assert least(TCloseness(0.1), KAnonymity(2)) == 2
    assert least(LDiversity(10**30), entropy(1e300), distinct(1e300), recursive(3, 10**30)) == 9  # never


@pytest.mark.numba
def test_custom_requirement() -> None:
    import numba

    @numba.cfunc(custom.SIGNATURE)
    def first_value_at_most(
        values: Any,
        counts: Any,
        n_present: int,
        table: Any,
        n_values: int,
        size: int,
        n_rows: int,
        params: Any,
    ) -> int:
        if values[0] == 0 and counts[0] > params[0] * size:
            return 0
        return 1

    table = Table("aab abb bbb")
    requirement = Custom(first_value_at_most, (0.5,), name="at most half a")
    assert table.passing(requirement) == "nyy"
    assert table.passing(requirement, LDiversity(1.5)) == "nyn"
    assert str(requirement) == "at most half a"
    assert Custom(first_value_at_most, ["1", 2]).params == (1.0, 2.0)
    assert table.infeasible(requirement) is None
    error = table.infeasible(Custom(first_value_at_most, (0.1,), name="at most a tenth a", sensitive="s0"))
    assert error is not None
    assert (
        str(error) == "at most a tenth a of 's0' cannot be met: the whole table as one class fails it on 's0'"
    )
