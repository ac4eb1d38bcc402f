# SPDX-License-Identifier: Apache-2.0
"""Privacy measures: published figures, tables worked by hand, and laws that every release obeys.

In the tables, `q` holds the quasi-identifier and `s` the sensitive value of each row.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon.measures.disclosure
import anon.measures.privacy
import anon.measures.risk
from anon.classes.classes import Classes, group, sensitive_counts
from anon.encoding.domain import Domain
from anon.errors import UsageError
from anon.measures.disclosure import part_of
from anon.measures.privacy import Privacy, measure, measure_columns, of_intact
from anon.measures.risk import Sizes, null_matching, population_risk
from anon.schema.hierarchy.tree import Tree

LN2 = math.log(2)


def coded(
    name: str,
    values: Sequence[Any],
    kind: str = "nominal",
    tree: Tree | None = None,
    extra: Sequence[Any] = (),
) -> tuple[Domain, np.ndarray]:
    """A domain of the values that occur (and `extra` ones that do not), and the codes; None is null."""
    values = list(values)
    labels = sorted({v for v in values if v is not None} | set(extra))
    has_null = None in values
    codes = [len(labels) if v is None else labels.index(v) for v in values]
    domain = Domain(name, kind, pa.array(labels), has_null, tree=tree)  # type: ignore[arg-type]
    return domain, np.array(codes, np.uint8 if len(labels) < 255 else np.uint32)


def check(q: Any, s: Any = None, **options: Any) -> Privacy:
    """Measure a table of QI columns (one string or list, or a tuple of them) and one SA `s`, or several."""
    quasi = [coded(f"q{i}", column) for i, column in enumerate(q if isinstance(q, tuple) else (q,))]
    if s is None:
        sensitive = []
    elif isinstance(s, tuple) and isinstance(s[0], Domain):
        sensitive = [s]
    elif isinstance(s, tuple):
        sensitive = [coded(f"s{i}", column) for i, column in enumerate(s)]
    else:
        sensitive = [coded("s", s)]
    privacy, _ = measure_columns(
        [d for d, _ in quasi],
        [c for _, c in quasi],
        [d for d, _ in sensitive],
        [c for _, c in sensitive],
        **options,
    )
    return privacy


def two_level(groups: Sequence[Sequence[int]]) -> Tree:
    """A tree of height 2: a root, one node per group, and the codes of the groups as leaves."""
    parent, first, last, depth, leaf = [-1], [0], [sum(map(len, groups)) - 1], [0], {}
    for codes in groups:
        above = len(parent)
        parent.append(0)
        first.append(min(codes))
        last.append(max(codes))
        depth.append(1)
        for code in codes:
            leaf[code] = len(parent)
            parent.append(above)
            first.append(code)
            last.append(code)
            depth.append(2)
    arrays = [np.array(part, np.int32) for part in (parent, first, last, depth)]
    return Tree(
        tuple(f"n{i}" for i in range(len(parent))),
        *arrays,
        np.array([leaf[c] for c in sorted(leaf)], np.int32),
    )


# ---------------------------------------------------------------- spec 6


ABCD = ("11112222", "aabcabbd")


def test_spec_6_1() -> None:
    """Classes aabc and abbd. Table: a 3/8, b 3/8, c 1/8, d 1/8; each class 2, 1, 1 of 4."""
    p = check(*ABCD)
    assert p.k == 4
    assert p.l_distinct == 3
    assert p.l_entropy == pytest.approx(2**1.5, abs=1e-12)
    assert p.l_probabilistic == 2
    assert p.alpha == 0.5
    # r = (2, 1, 1): 2/(1+1) at l = 2, 2/1 at l = 3, nothing from l = 4 on
    assert p.recursive_c2 == 1  # (3,2) yes, (1,2) no
    assert p.recursive_c3 == 2  # (2,3) no, (3,3) yes
    assert p.recursive_c4 == math.inf  # (3,4) no
    assert p.recursive_c5 == math.inf
    assert p.l_recursive == 3
    assert p.a_know == 0.25
    assert p.a_acc == 0.125
    assert p.delta == math.inf
    # H(S) - H(S|Q) with H(S) = 2·(3/8)ln(8/3) + 2·(1/8)ln 8 and every class 1.5 ln 2
    assert p.gain == pytest.approx(0.75 * math.log(8 / 3) + 0.25 * math.log(8) - 1.5 * LN2, abs=1e-12)
    assert p.t_equal == 0.25
    assert (p.ls_c, p.ls_l) == (1, 3)  # 2/(1+1) in both


def test_spec_6_1_distances_with_an_order_or_a_tree() -> None:
    """Shares p − q of the first class, over abcd: +1/8, −1/8, +1/8, −1/8; of the second its negative."""
    q, s = ABCD
    # cumulative 1/8, 0, 1/8, 0: 1/3 · 1/4
    assert check(q, coded("s", s, "ordinal")).t_ordered == pytest.approx(1 / 12, rel=1e-15)
    # {ab}{cd}: both inner nodes balance 1/8 at half level; the root nothing: ½(1/8 + 1/8)
    ab_cd = coded("s", s, tree=two_level([[0, 1], [2, 3]]))
    assert check(q, ab_cd).t_hierarchical == 0.125
    # {ac}{bd}: the root balances 1/4 at full level, the inner nodes nothing. Codes: a c b d
    ac_bd = coded("s", s.translate(str.maketrans("bc", "cb")), tree=two_level([[0, 1], [2, 3]]))
    assert check(q, ac_bd).t_hierarchical == 0.25
    flat = Tree(
        tuple("rabcd"),
        np.array([-1, 0, 0, 0, 0], np.int32),
        np.array([0, 0, 1, 2, 3], np.int32),
        np.array([3, 0, 1, 2, 3], np.int32),
        np.array([0, 1, 1, 1, 1], np.int32),
        np.array([1, 2, 3, 4], np.int32),
    )
    assert check(q, coded("s", s, tree=flat)).t_hierarchical == 0.25


def test_spec_6_2() -> None:
    """Pure classes of two equally frequent values: JS((1,0), (½,½)) = ¾ ln 4/3, below ln 2."""
    p = check("xxyy", "aabb")
    assert p.p_loss == pytest.approx(0.75 * math.log(4 / 3), abs=1e-15)
    assert p.p_loss == pytest.approx(0.215762, abs=5e-7)
    assert p.p_loss == p.t_js


@pytest.mark.parametrize(("positions", "distance"), [((1, 2, 3), 0.375), ((4, 6, 9), 1 / 6)])
def test_spec_6_3(positions: tuple[int, ...], distance: float) -> None:
    """Ordered EMD of three of nine equally frequent values, against the nine. The others form one class."""
    q = ["c" if i in positions else "o" for i in range(1, 10)]
    p = check(q, coded("s", list(range(1, 10)), "numeric"), per_class=True)
    assert p.per_class is not None
    assert p.per_class["s.t_ordered"].to_pylist()[0] == pytest.approx(distance, rel=1e-15)


def test_spec_6_4() -> None:
    """Classes xxxy and xyyy: shares ¾, ¼ against ½, ½."""
    p = check("11112222", "xxxyxyyy")
    assert p.delta == pytest.approx(LN2, abs=1e-15)  # |ln ½| beats |ln 3/2|
    assert p.l_probabilistic == pytest.approx(4 / 3, rel=1e-15)
    assert p.t_equal == p.a_know == p.a_acc == 0.25
    assert p.beta == 0.5
    assert p.beta_enhanced == 0.5  # ½ ≤ −ln ½


def test_spec_6_11_and_13() -> None:
    """Sizes 2, 2, 3; and eight coins: s = the first coin xor'd into two published ones."""
    p = check("aabbccc")
    assert (p.sizes.min, p.sizes.max, p.sizes.median, p.sample_uniques) == (2, 3, 2.0, 0)
    assert p.sizes.mean == pytest.approx(7 / 3)
    coins = list(product((0, 1), repeat=3))
    # a_1, a_2 and the coin c; s tells a_2 and c apart: 4 values, two left in each class of a_2
    s = [2 * a2 + c for _, a2, c in coins]
    intact = check(([a1 for a1, _, _ in coins], [a2 for _, a2, _ in coins]), s)
    assert intact.a_acc == 0.25  # ½ of every class against ¼ of the table
    assert intact.a_know == 0.5
    hidden = check([a1 for a1, _, _ in coins], s)
    assert (hidden.a_acc, hidden.a_know, hidden.delta) == (0, 0, 0)


# ---------------------------------------------------------------- traps


def test_trap_1_null_is_a_value_of_its_own() -> None:
    p = check(([30, 30, 30, 30, None], "MMMMF"))
    assert (p.k, p.n_classes, p.n_rows, p.sample_uniques) == (1, 2, 5, 1)


def test_trap_6_two_readings_of_null() -> None:
    """Rows (1, null, x), (1, 2, x), (null, 2, y), (3, null, y): the first two match, and the last two."""
    p = check(([1, 1, None, 3], [None, 2, 2, None], "xxyy"), "aabb")
    assert p.k == 1
    assert p.null_matching is not None
    assert (p.null_matching.k, p.null_matching.risk) == (2, 0.5)
    # sets {1,2} = a a and {3,4} = b b
    assert (p.null_matching.l_distinct, p.null_matching.max_share) == (1, 1.0)
    assert p.null_matching.by_sensitive == {"s": (1, 1.0)}


def test_null_matching_is_not_transitive() -> None:
    """1, null, 2: the null row matches all three, the others two each: k = 2."""
    p = check([1, None, 2], "aab")
    assert p.null_matching is not None
    assert p.null_matching.k == 2
    # sets {1,null} = a a; all = a a b; {2,null} = b a
    assert p.null_matching.by_sensitive["s"] == (1, 1.0)
    q = check([1, None, 2, 2], "abab")
    assert q.null_matching is not None
    # 1: {1,null} a b; null: a b a b; 2: {2,2,null} a b b → greatest share 2/3
    assert q.null_matching.k == 2
    assert q.null_matching.by_sensitive["s"] == (2, 2 / 3)


def test_no_null_no_second_reading() -> None:
    assert check("xxy", "aab").null_matching is None


def test_trap_17_entropy_is_not_truncated() -> None:
    assert check("111", "abc").l_entropy == pytest.approx(3, abs=1e-12)
    assert check("1111", "aabc").l_entropy == pytest.approx(2.8284271247, abs=1e-9)


def test_trap_18_the_greatest_count_leads() -> None:
    """Counts a ×9, b ×1: r_1 = 9 against a rest of 1, so c must exceed 9; at c = 3 only l = 1 holds."""
    p = check("1" * 10, "a" * 9 + "b")
    assert p.recursive_c2 == 9
    assert p.recursive_c3 == math.inf
    assert p.l_recursive == 1
    assert (p.ls_c, p.ls_l) == (9, 2)


def test_trap_19_a_constant_sensitive_value() -> None:
    p = check("xxyy", coded("s", [1, 1, 1, 1], "numeric"))
    assert p.t_ordered == p.t_equal == p.t_js == p.p_loss == p.delta == p.beta == p.a_know == p.a_acc == 0
    assert p.gain == 0
    assert (p.l_distinct, p.l_entropy, p.l_probabilistic, p.alpha, p.ls_c) == (1, 1, 1, 1, math.inf)


def test_trap_20_a_missing_value_makes_delta_infinite() -> None:
    assert check("xxyy", "aabb").delta == math.inf


def test_trap_21_numbers_are_not_taken_as_ordered() -> None:
    """Classes {1,2}, {2,3}, {1,3} of 1, 2, 3: equal 1/3; ordered at most ½(1/6+...) = ¼ for {1,2}."""
    s = [1, 2, 2, 3, 1, 3]
    assert check("xxyyzz", s).t_ordered is None
    assert check("xxyyzz", s).t_equal == pytest.approx(1 / 3)
    # {1,2}: cumulative 1/2−1/3 = 1/6, 1−2/3 = 1/3, 0: ½ · ½
    assert check("xxyyzz", coded("s", s, "numeric")).t_ordered == pytest.approx(0.25)


def test_trap_22_positions_are_rows() -> None:
    """Rows x a, x a, y b, y c in any order of rows: the class x has one value."""
    for order in ([0, 1, 2, 3], [0, 2, 1, 3], [3, 1, 0, 2]):
        assert check(["xxyy"[i] for i in order], ["aabc"[i] for i in order]).l_distinct == 1


def test_trap_25_risk_is_averaged_over_rows() -> None:
    """Nine rows at 1/9 and one at 1: 2/10. Over classes it would be 0.556."""
    p = check("x" * 9 + "y", at_risk=(2, 10, 0.5, 1.5, 1))
    assert p.prosecutor.mean == pytest.approx(0.2)
    assert p.prosecutor.max == 1
    assert p.prosecutor.at_risk == {2: 0.1, 10: 1.0, 0.5: 0.1, 1.5: 0.1, 1: 0.0}
    assert p.sample_uniques == 1


def test_trap_26_starred_rows_are_apart() -> None:
    p = check("xxx**", "abaab", starred=np.array([0, 0, 0, 1, 1], bool))
    assert (p.n_rows, p.n_suppressed, p.n_starred) == (3, 2, 2)
    assert (p.k, p.k_with_starred, p.n_classes) == (3, 2, 1)
    assert p.a_know == 0
    plain = check("xxx**", "abaab")
    assert (plain.n_starred, plain.k_with_starred) == (0, None)


def test_trap_30_everything_suppressed() -> None:
    p = check("**", "ab", starred=np.ones(2, bool))
    assert (p.k, p.k_with_starred, p.n_classes, p.n_rows) == (0, 2, 0, 0)
    assert p.sizes == Sizes(0, 0.0, 0.0, 0)
    assert p.p_loss == p.prosecutor.mean == p.prosecutor.at_risk[2] == 0
    json.dumps(p.to_dict(), allow_nan=False)


# ---------------------------------------------------------------- more tables worked by hand


def test_the_trivial_release_tells_nothing() -> None:
    p = check("1" * 7, coded("s", [1, 1, 2, 3, 3, 3, 9], "numeric"))
    for name in (
        "p_loss",
        "t_js",
        "t_equal",
        "t_ordered",
        "delta",
        "beta",
        "beta_enhanced",
        "a_know",
        "a_acc",
        "gain",
    ):
        assert getattr(p, name) == 0, name


def test_classes_of_one_row() -> None:
    """Four rows, four classes, values aabc: every class pure."""
    p = check("1234", "aabc")
    assert p.k == p.l_distinct == p.l_probabilistic == p.l_entropy == p.alpha == 1
    assert p.a_acc == 0.5  # 1 − 2/4
    assert p.a_know == pytest.approx((0.5 + 0.5 + 0.75 + 0.75) / 4)
    assert p.t_equal == 0.75
    assert p.beta == 3  # (1 − ¼)/¼
    assert p.beta_enhanced == math.inf  # 3 > ln 4
    assert p.gain == pytest.approx(1.5 * LN2)  # H(S) = ½ ln 2 + 2·¼ ln 4, H(S|Q) = 0
    assert (p.ls_c, p.ls_l) == (math.inf, 1)
    assert p.worst["t_equal"] == 2  # classes 2 and 3 tie
    assert p.worst["k"] == 0


def test_js_of_a_rare_point_mass() -> None:
    """A pure class of a value with share q: ½[ln(2/(1+q)) + q ln(2q/(1+q)) + (1−q) ln 2]; q = 1/10."""
    p = check("x" + "y" * 9, "b" + "a" * 9)
    expected = 0.5 * (math.log(2 / 1.1) + 0.1 * math.log(0.2 / 1.1) + 0.9 * LN2)
    assert p.p_loss == pytest.approx(expected, abs=1e-15)
    assert p.worst["t_js"] == 0


def test_enhanced_beta_within_the_bound() -> None:
    """Table a 1/5, b 4/5. Class 1: a ¼, gain ¼ ≤ −ln 1/5; class 2: b 5/6, gain 1/24 ≤ −ln 4/5."""
    p = check("1111" + "2" * 6, "abbb" + "abbbbb")
    assert p.beta == pytest.approx(0.25)
    assert p.beta_enhanced == pytest.approx(0.25)
    assert p.worst["beta"] == 0


def test_delta_is_symmetric_in_the_logarithm() -> None:
    """Table a 2/5; class 1 (a b b b): ¼; class 2 (a a a b b b): ½: |ln 5/8| = 0.47 beats |ln 5/4|."""
    p = check("1111222222", "abbbaaabbb")
    assert p.delta == pytest.approx(math.log(8 / 5), abs=1e-15)
    assert p.worst["delta"] == 0


def test_recursive_tails() -> None:
    """Counts 5, 3, 2, 1, 1: tails from rank 2: 7, 4, 2, 1; at c = 3: 5 < 12, 5 < 6 fails at l = 5."""
    p = check("1" * 12, "aaaaabbbccde")
    assert p.recursive_c2 == pytest.approx(5 / 7)
    assert p.recursive_c3 == pytest.approx(5 / 4)
    assert p.recursive_c4 == pytest.approx(5 / 2)
    assert p.recursive_c5 == 5
    assert p.l_recursive == 4


def test_recursive_boundary_is_strict() -> None:
    """Counts 6, 2: 6 < 3·2 is false, so l = 1; counts 5, 2: l = 2."""
    assert check("1" * 8, "a" * 6 + "bb").l_recursive == 1
    assert check("1" * 7, "a" * 5 + "bb").l_recursive == 2


def test_ordered_and_equal_disagree() -> None:
    """Values 1..4; classes {1,2}, {3,4} and {1,4}, {2,3}: equal ½ in both, ordered 1/3 and 1/6."""
    near = check("xxyy", coded("s", [1, 2, 3, 4], "numeric"))
    far = check("xyyx", coded("s", [1, 2, 3, 4], "numeric"))
    assert near.t_equal == far.t_equal == 0.5
    # cumulative ¼, ½, ¼, 0 over 3; ¼, 0, −¼, 0 over 3
    assert near.t_ordered == pytest.approx(1 / 3)
    assert far.t_ordered == pytest.approx(1 / 6)


def test_ordered_counts_values_of_the_original_that_no_row_publishes() -> None:
    """Domain 1..5, published 1 and 5 only: cumulative ½ at 1, 2, 3, 4 over m − 1 = 4."""
    p = check("xy", coded("s", [1, 5], "numeric", extra=[2, 3, 4]))
    assert p.t_ordered == 0.5
    assert p.delta == math.inf
    assert check("xx", coded("s", [1, 5], "numeric", extra=[2, 3, 4])).delta == 0


def test_hierarchical_moves_within_and_across() -> None:
    """Tree {ab}{cd}, table uniform over 8 rows. Class a a b c: p − q = ¼, 0, 0, −¼.

    Inside {ab}: gains ¼, no losses; inside {cd}: none and ¼; root: ¼ against ¼ at level 2/2: ¼.
    The other class (b c d d) mirrors it.
    """
    p = check("11112222", coded("s", "aabcbcdd", tree=two_level([[0, 1], [2, 3]])))
    assert p.t_hierarchical == 0.25
    assert p.t_equal == 0.25


def test_null_in_the_sensitive_attribute() -> None:
    """Class x: a, null; y: a, a. Null is one more value: counts 3 a, 1 null."""
    p = check("xxyy", coded("s", ["a", None, "a", "a"], "ordinal"))
    assert p.t_ordered is None
    assert p.l_distinct == 1
    assert p.delta == math.inf
    assert p.t_equal == 0.25  # class x: ½ against ¾; class y: 1 against ¾
    tree = Tree(("r", "a"), *(np.array(x, np.int32) for x in ([-1, 0], [0, 0], [0, 0], [0, 1], [1])))
    assert check("xxyy", coded("s", ["a", None, "a", "a"], tree=tree)).t_hierarchical is None


def test_null_only_in_suppressed_rows_does_not_count() -> None:
    p = check("xxyy", coded("s", [1, None, 2, 1], "numeric"), suppressed=np.array([1], np.uint32))
    assert p.n_suppressed == 1
    # published x: 1; y: 2, 1. Domain 1, 2: x 1 against 2/3 → 1/3; y ½ against 2/3 → 1/6
    assert p.t_ordered == pytest.approx(1 / 3)


def test_several_sensitive_attributes() -> None:
    """Attributes s0 = a a b b (pure classes), s1 = c d c d (no class tells anything)."""
    p = check("xxyy", ("aabb", "cdcd"))
    assert p.l_distinct == 1
    assert p.by_sensitive["s1"].l_distinct == 2
    assert p.by_sensitive["s1"].p_loss == 0
    assert p.p_loss == p.by_sensitive["s0"].p_loss
    assert p.worst_sensitive["p_loss"] == "s0"
    # joint: ac ad | bc bd, four values at ¼
    assert p.joint.l_distinct == 2
    assert p.joint.a_know == 0.5
    assert p.joint.a_acc == 0.25
    assert p.joint.t_ordered is None


def test_worst_attribute_differs_by_measure() -> None:
    """Attribute s0: ab and aabb, s1: cd and cccc, pure in the second class only."""
    p = check("112222", ("abaabb", "cdcccc"))
    assert p.worst_sensitive["l_distinct"] == "s1"
    assert p.worst["l_distinct"] == 1
    assert p.alpha == 1
    assert p.by_sensitive["s0"].alpha == 0.5


def test_joint_of_one_attribute_is_that_attribute() -> None:
    domain, codes = coded("s", "aabb")
    for p in (check("xxyy", "aabb"), measure(classes_of("xxyy"), [domain], [codes])):
        assert p.joint is p.by_sensitive["s"]
        assert p.per_class is None


def test_joint_is_refused_where_attributes_are_published_apart() -> None:
    with pytest.raises(UsageError, match="bucketization"):
        _ = check("xxyy", ("aabb", "cdcd"), joint=False).joint
    with pytest.raises(UsageError, match="no sensitive attribute"):
        _ = check("xxyy").joint


def test_a_suppressed_attribute_tells_nothing() -> None:
    domains = [coded("q", "xxyy"), coded("s0", "aabb"), coded("s1", "cddd")]
    p, _ = measure_columns(
        [domains[0][0]], [domains[0][1]], [domains[1][0], domains[2][0]], [None, domains[2][1]]
    )
    assert p.by_sensitive["s0"].to_dict() == dict.fromkeys(p.by_sensitive["s0"].to_dict(), 0) | {"worst": {}}
    assert p.l_distinct == 1  # of s1: class y is d d
    assert p.joint is p.by_sensitive["s1"]
    alone, _ = measure_columns([domains[0][0]], [domains[0][1]], [domains[1][0]], [None])
    assert alone.p_loss == alone.a_know == alone.delta == 0


def test_no_sensitive_attribute() -> None:
    p = check("xxy")
    assert (p.k, p.p_loss, p.l_distinct) == (1, None, None)
    assert p.worst == {"k": 1}


def test_per_class_table() -> None:
    """Class x: a b; y: a a a; classes in code order."""
    p = check("xxyyy", "abaaa", per_class=True)
    assert p.per_class is not None
    columns = p.per_class.to_pydict()
    assert columns["class"] == [0, 1]
    assert columns["size"] == [2, 3]
    assert columns["s.l_distinct"] == [2, 1]
    assert columns["s.alpha"] == [0.5, 1]
    assert columns["s.delta"] == [pytest.approx(math.log(2.5)), math.inf]
    assert "s.t_ordered" not in columns
    assert check("xxyyy", "abaaa").per_class is None
    assert p.to_dict().keys().isdisjoint({"per_class", "combined"})


def test_to_dict_is_json_and_shows_infinity() -> None:
    plain = json.loads(json.dumps(check("xxyy", "aabb", at_risk=(3,)).to_dict(), allow_nan=False))
    assert plain["delta"] == "inf"
    assert plain["joint"]["delta"] == "inf"
    assert plain["prosecutor"]["at_risk"] == {"3": 1.0}
    assert plain["t_ordered"] is None


def test_reprs_are_one_line_without_values() -> None:
    p = check("xxyy", ["secret", "secret", "other", "other"])
    for text in (repr(p), repr(p.joint)):
        assert "\n" not in text
        assert "secret" not in text
    assert repr(p).startswith("Privacy(n_rows=4, n_classes=2, k=2")


@pytest.mark.parametrize(
    ("x", "share"),
    [(5, 0.4), (2, 0.0), (4, 0.0), (4.5, 0.4), (0.2, 0.4), (0.25, 0.0), (1 / 3, 0.0), (7, 1.0)],
)
def test_at_risk_is_strict_and_exact(x: float, share: float) -> None:
    """Sizes 4 and 6: the four rows have risk ¼, which exceeds 1/5 but not ¼."""
    assert check("1111222222", at_risk=(x,)).prosecutor.at_risk == {x: share}


def test_at_risk_refuses_zero() -> None:
    with pytest.raises(UsageError, match="above 0"):
        check("11", at_risk=(0,))


def test_no_quasi_identifier_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^Name at least one quasi-identifier: .* no classes to measure\.$"):
        measure_columns([], [], [], [])


def test_every_attribute_needs_its_codes() -> None:
    domain, codes = coded("q", "xxy")
    with pytest.raises(ValueError, match="zip"):
        measure(group([codes]), [domain], [])
    with pytest.raises(ValueError, match="zip"):
        measure_columns([], [codes], [], [])
    with pytest.raises(ValueError, match="zip"):
        null_matching([codes], [codes == 0], group([codes]), [domain], [])


def test_a_bucketization_has_the_risk_of_its_intact_columns() -> None:
    """One bucket of x x y z: its k stays 4, but y and z are found, x x with ½: risk (2·½ + 1 + 1)/4."""
    bucket, intact = group([coded("b", "1111")[1]]), group([coded("q", "xxyz")[1]])
    before = measure(bucket, [], [])
    after = of_intact(before, intact, at_risk=(2, 3))
    assert (before.sample_uniques, before.prosecutor.max) == (0, 0.25)
    assert (after.k, after.sample_uniques, after.prosecutor.max, after.prosecutor.mean) == (4, 2, 1, 0.75)
    assert after.prosecutor.at_risk == {2: 0.5, 3: 1.0}


def test_a_notebook_shows_tables_without_values() -> None:
    html = check("xxyy", ["secret", "secret", "other", "other"])._repr_html_()
    assert html.count("<table") == html.count("</table>") > 0
    assert "l_distinct" in html
    assert "secret" not in html


# ---------------------------------------------------------------- population


def classes_of(q: str) -> Classes:
    return group([coded("q", q)[1]])


def test_journalist_and_marketer() -> None:
    """Classes of 2 and 3 rows with 4 and 30 in the population: mean (2/4 + 3/30)/5."""
    risk = population_risk(classes_of("xxyyy"), np.array([4, 30]), at_risk=(5, 0.01))
    assert risk.journalist.max == 0.25
    assert risk.marketer == risk.journalist.mean == pytest.approx(0.12)
    assert risk.journalist.at_risk == {5: 0.4, 0.01: 1.0}
    assert risk.n_below == 0


def test_a_sampling_fraction() -> None:
    """E(1/F | f) of f = 1, 2 and 3 at p = 1/20: (p/q) ln(1/p), and so on by recursion."""
    first = math.log(20) / 19
    second = (1 - first) / 19
    third = (1 / 2 - second) / 19
    risk = population_risk(classes_of("wxxyyy"), sampling_fraction=0.05, at_risk=(5, 10, 0.03))
    assert risk.by == "sampling fraction"
    assert risk.journalist.max == pytest.approx(first)
    assert risk.marketer == pytest.approx((first + 2 * second + 3 * third) / 6)
    assert risk.journalist.at_risk == {5: 0.0, 10: 1 / 6, 0.03: 3 / 6}
    assert risk.uniques is not None
    assert (risk.uniques.population, risk.uniques.model) == (120, "pitman")


def test_weights_of_rows() -> None:
    """Weights of 20 each are a fraction of one in twenty; a class counts by its sum."""
    even = population_risk(classes_of("wxxyyy"), weights=np.full(6, 20.0))
    sampled = population_risk(classes_of("wxxyyy"), sampling_fraction=0.05)
    assert (even.journalist, even.uniques, even.by) == (sampled.journalist, sampled.uniques, "weights")
    uneven = population_risk(classes_of("wxxyyy"), weights=np.array([20.0, 39, 1, 58, 1, 1]))
    assert uneven.journalist == sampled.journalist


def test_one_percent_of_a_population_hides_nobody_who_is_alone() -> None:
    """A class of one row is one of hundreds of people only if it is typical: the old rule said 1/100."""
    risk = population_risk(classes_of("abcdefgh"), sampling_fraction=0.01)
    assert risk.journalist.max == pytest.approx(math.log(100) / 99)
    assert risk.uniques is not None
    assert risk.uniques.count == pytest.approx(800)


def test_a_population_without_the_class() -> None:
    risk = population_risk(classes_of("xxy"), np.array([0, 1]))
    assert (risk.journalist.max, risk.n_below) == (1.0, 1)
    assert risk.marketer == pytest.approx(1 / 3)
    assert risk.journalist.at_risk[2] == pytest.approx(1 / 3)


def test_the_whole_population_as_its_sample() -> None:
    risk = population_risk(classes_of("xxyyy"), sampling_fraction=1)
    assert (risk.journalist.max, risk.marketer, risk.n_below) == (0.5, 0.4, 0)


@pytest.mark.parametrize("fraction", [0, 1.5, -0.1])
def test_bad_sampling_fractions(fraction: float) -> None:
    with pytest.raises(UsageError, match="sampling fraction"):
        population_risk(classes_of("xx"), sampling_fraction=fraction)


def test_population_and_fraction_exclude_each_other() -> None:
    for options in ({}, {"population": np.array([3]), "sampling_fraction": 0.5}):
        with pytest.raises(
            UsageError, match=r"^Give either the population's rows .*, or a sampling fraction, or a weight .*"
        ):
            population_risk(classes_of("xx"), **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^The population needs one count per class\.$"):
        population_risk(classes_of("xx"), np.array([1, 2]))


# ---------------------------------------------------------------- laws


@st.composite
def releases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, str]:
    """Class of each row, sensitive code of each row, number of values, kind of the attribute."""
    n = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_values = draw(st.integers(1, 6))
    q = rng.integers(0, draw(st.integers(1, 8)), n).astype(np.uint8)
    return (
        q,
        rng.integers(0, n_values, n).astype(np.uint8),
        n_values,
        draw(st.sampled_from(["numeric", "nominal"])),
    )


def measured(q: np.ndarray, s: np.ndarray, n_values: int, kind: str, **options: Any) -> Privacy:
    domain = Domain("s", kind, pa.array([f"v{i}" for i in range(n_values)]), False)  # type: ignore[arg-type]
    return measure(group([q]), [domain], [s], **options)


@settings(max_examples=60, deadline=None)
@given(releases())
def test_bounds(release: tuple[np.ndarray, np.ndarray, int, str]) -> None:
    p = measured(*release)
    assert p.p_loss is not None
    assert 0 <= p.p_loss <= LN2
    assert p.a_know is not None
    assert 0 <= p.a_know <= 1
    assert p.a_acc is not None
    assert 0 <= p.a_acc <= 1
    assert p.gain is not None
    assert 0 <= p.gain <= math.log(6)
    assert p.t_equal is not None
    assert p.t_equal >= p.a_know - 1e-12
    assert p.l_probabilistic is not None
    assert p.l_entropy is not None
    assert p.l_distinct is not None
    assert p.l_probabilistic <= p.l_entropy + 1e-9
    assert p.l_entropy <= p.l_distinct + 1e-9
    assert p.alpha == pytest.approx(1 / p.l_probabilistic)


@settings(max_examples=60, deadline=None)
@given(releases(), st.integers(0, 2**32))
def test_merging_two_classes_is_never_worse(
    release: tuple[np.ndarray, np.ndarray, int, str], seed: int
) -> None:
    q, s, n_values, kind = release
    present = np.unique(q)
    if len(present) < 2:
        return
    one, other = np.random.default_rng(seed).choice(present, 2, replace=False)
    before = measured(q, s, n_values, kind)
    after = measured(np.where(q == one, other, q).astype(np.uint8), s, n_values, kind)
    for name in (
        "p_loss",
        "t_js",
        "t_equal",
        "t_ordered",
        "delta",
        "alpha",
        "beta",
        "a_know",
        "a_acc",
        "gain",
    ):
        worse, better = getattr(before, name), getattr(after, name)
        assert worse is better is None or better <= worse + 1e-12, name
    for name in ("k", "l_distinct", "l_probabilistic", "l_entropy", "l_recursive"):
        assert getattr(after, name) >= getattr(before, name) - 1e-9, name


@settings(max_examples=40, deadline=None)
@given(releases(), st.integers(0, 2**32), st.sampled_from([1, 2, 3]))
def test_row_order_and_threads_do_not_matter(
    release: tuple[np.ndarray, np.ndarray, int, str], seed: int, n_threads: int
) -> None:
    q, s, n_values, kind = release
    order = np.random.default_rng(seed).permutation(len(q))
    assert (
        measured(q[order], s[order], n_values, kind, n_threads=n_threads).to_dict()
        == measured(*release).to_dict()
    )


@settings(max_examples=40, deadline=None)
@given(releases(), st.integers(0, 2**32))
def test_names_of_values_do_not_matter(release: tuple[np.ndarray, np.ndarray, int, str], seed: int) -> None:
    """Permuting the values of a nominal attribute, and the names of the classes."""
    q, s, n_values, _ = release
    rng = np.random.default_rng(seed)
    renamed = rng.permutation(n_values).astype(np.uint8)[s]
    requalified = rng.permutation(256).astype(np.uint8)[q]
    before = measured(q, s, n_values, "nominal").to_dict()
    after = measured(requalified, renamed, n_values, "nominal").to_dict()
    for name, value in before.items():
        if isinstance(value, (int, float)):
            assert after[name] == pytest.approx(value, abs=1e-12), name


def test_a_part_numbers_its_classes() -> None:
    domain, codes = coded("s", "abbb")
    counts = sensitive_counts(classes_of("xxyy"), codes, domain.n_codes)
    assert part_of(counts, domain)["worst"]["alpha"] == (1.0, 1)
    assert part_of(counts, domain, 5)["worst"]["alpha"] == (1.0, 6)


@settings(max_examples=60, deadline=None)
@given(releases(), st.integers(1, 3))
def test_classes_measured_at_once_do_not_matter(
    release: tuple[np.ndarray, np.ndarray, int, str], at_once: int
) -> None:
    whole = measured(*release)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(anon.measures.disclosure, "CLASSES_AT_ONCE", at_once)
        patched.setattr(anon.measures.risk, "CLASSES_AT_ONCE", at_once)
        parts = measured(*release)
    assert parts.worst == whole.worst
    for name, value in whole.to_dict().items():
        if isinstance(value, (int, float)):
            assert getattr(parts, name) == pytest.approx(value, abs=1e-12), name


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 2**32), st.sampled_from([1, 2, 1 << 14]))
def test_null_matching_by_definition(n: int, m: int, seed: int, at_once: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 3, (m, n)).astype(np.uint8)  # code 2 is null
    s = rng.integers(0, 4, n).astype(np.uint8)
    sensitive = [Domain("s", "nominal", pa.array(list("abcd")), False)]
    classes = group(list(columns))
    shown = list(columns[:, classes.rows[classes.offsets[:-1]]])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(anon.measures.disclosure, "CLASSES_AT_ONCE", at_once)
        patched.setattr(anon.measures.risk, "CLASSES_AT_ONCE", at_once)
        mine = null_matching(shown, [column == 2 for column in shown], classes, sensitive, [s])
    if not (columns == 2).any():
        assert mine is None
        return
    assert mine is not None
    ks, ls, shares = [], [], []
    for i in range(n):
        matching = [
            j
            for j in range(n)
            if all(a == b or a == 2 or b == 2 for a, b in zip(columns[:, i], columns[:, j], strict=True))
        ]
        held = s[matching].tolist()
        ks.append(len(matching))
        ls.append(len(set(held)))
        shares.append(max(held.count(v) for v in held) / len(held))
    assert (mine.k, mine.l_distinct, mine.max_share) == (min(ks), min(ls), max(shares))
    assert mine.risk == 1 / min(ks)


# ---------------------------------------------------------------- published figures


# the 15 fields of a line; the last five are not used here
NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
NAMES += ["relationship", "race", "sex", "gain", "loss", "hours", "country", "income"]
SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


@cache
def adult() -> list[list[str]]:
    """The 45,222 complete rows, read from the files as distributed."""
    folder = Path(os.environ["ANON_DATA"]) / "adult"
    rows = []
    for name, digest in SHA256.items():
        raw = (folder / name).read_bytes()
        assert hashlib.sha256(raw).hexdigest() == digest
        for line in raw.decode().splitlines():
            fields = line.rstrip(".").split(", ")
            if len(fields) == len(NAMES) and "?" not in fields:
                rows.append(fields)
    return rows


def adult_privacy(quasi: str, sensitive: str, **options: Any) -> Privacy:
    columns = tuple([row[NAMES.index(name)] for row in adult()] for name in quasi.split())
    return check(columns, [row[NAMES.index(sensitive)] for row in adult()], **options)


@pytest.mark.adult
def test_adult_age_sex_race() -> None:
    """Brickell & Shmatikov table 3, table intact: A_acc 0.1034, A_know 0.2492."""
    p = adult_privacy("age sex race", "occupation", per_class=True)
    assert p.n_rows == 45_222
    assert p.n_classes == 561
    assert p.per_class is not None
    sums = np.array(p.per_class["size"]) * np.array(p.per_class["s.alpha"])
    assert round(sums.sum()) == 10_698
    assert p.a_acc == pytest.approx(0.1034, abs=5e-5)
    assert p.a_know == pytest.approx(0.2492, abs=5e-5)
    assert p.p_loss == pytest.approx(0.677051, abs=5e-7)


@pytest.mark.adult
def test_adult_sex() -> None:
    p = adult_privacy("sex", "occupation")
    assert p.n_classes == 2
    assert p.a_acc == pytest.approx(0.0755163416, abs=5e-11)
    assert p.a_know == pytest.approx(0.1618200554, abs=5e-11)


@pytest.mark.adult
def test_adult_age_occupation_education() -> None:
    p = adult_privacy("age occupation education", "marital-status")
    assert p.n_classes == 5_867
    assert p.a_acc == pytest.approx(0.2062049445, abs=5e-11)
    assert p.a_know == pytest.approx(0.3588031818, abs=5e-11)


@pytest.mark.adult
def test_adult_point_masses() -> None:
    """Li & Li 5.1: JS of occupation against a point mass, from the rarest to the most common."""
    p = adult_privacy("occupation", "occupation", per_class=True)
    assert p.per_class is not None
    js = p.per_class["s.t_js"].to_pylist()
    occupations = sorted({row[NAMES.index("occupation")] for row in adult()})
    assert js[occupations.index("Armed-Forces")] == pytest.approx(0.692, abs=5e-4)
    assert js[occupations.index("Craft-repair")] == pytest.approx(0.488, abs=5e-4)
    assert max(js) == js[occupations.index("Armed-Forces")]
    assert min(js) == js[occupations.index("Craft-repair")]


@pytest.mark.adult
def test_adult_trivial() -> None:
    rows = adult()
    p = check(["*"] * len(rows), [row[NAMES.index("occupation")] for row in rows])
    for name in ("p_loss", "t_equal", "delta", "beta", "a_know", "a_acc", "gain"):
        assert getattr(p, name) == 0, name
