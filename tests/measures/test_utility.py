# SPDX-License-Identifier: Apache-2.0
"""What a release lost: tables worked by hand, the slow twin, laws, and the figures of Adult.

In the hand-worked tables a class is a list of row numbers; the arithmetic stands beside each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.classes.classes import Classes
from anon.classes.generalized import cells, full_cells, merge
from anon.encoding.table import encode
from anon.measures import populations
from anon.measures.utility import Utility
from anon.release.recoding import recode
from anon.release.release import Release
from reference import utility as reference

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

LUNG = {"*": {"cancer": ["Cancer"], "other": {"virus": ["HIV"], "lung": ["Flu", "Bronchitis", "Pneumonia"]}}}
DISEASES = ["Cancer", "HIV", "Flu", "Bronchitis", "Pneumonia"]


def release_of(
    table: dict[str, Sequence[Any]],
    quasi: Sequence[Any],
    classes: Sequence[Sequence[int]],
    sensitive: Sequence[Any] = (),
    **options: Any,
) -> Release:
    """The release of these classes; rows in none are suppressed."""
    encoded = encode(pa.table(table), anon.Schema(quasi=quasi, sensitive=sensitive, neutral="rest"))
    rows = np.array([row for each in classes for row in each], np.uint32)
    offsets = np.cumsum([0, *map(len, classes)]).astype(np.int64)
    left_out = np.setdiff1d(np.arange(encoded.n_rows), rows).astype(np.uint32)
    made = Classes(rows, offsets, left_out)
    of_classes = cells(encoded, made)
    if options.get("publish") != "bucketization":
        made, of_classes = merge(made, of_classes)
    return recode(encoded, made, of_classes, **options)


def lost(
    table: dict[str, Sequence[Any]],
    quasi: Sequence[Any],
    classes: Sequence[Sequence[int]],
    sensitive: Sequence[Any] = (),
    **asked: float,
) -> Utility:
    return release_of(table, quasi, classes, sensitive).utility(**asked)


# --- sizes


def test_sizes_of_spec_6_1() -> None:
    # two classes of 4: DM 16 + 16; C_avg (8/2)/2
    table = {"q": list("xxxxyyyy"), "s": list("aabcabbd")}
    release = anon.anonymize(table, anon.Schema(["q"], ["s"]), require=[anon.KAnonymity(2)])
    utility = release.utility()
    assert (utility.dm, utility.c_avg, utility.k, utility.k_source) == (32, 2.0, 2, "asked")


def test_sizes_of_spec_6_11() -> None:
    # sizes 2, 2, 3: DM 4 + 4 + 9; C_avg (7/3)/2; without a demand k is the least size, 2
    utility = lost({"q": [1, 2, 3, 4, 5, 6, 7]}, ["q"], [[0, 1], [2, 3], [4, 5, 6]])
    assert (utility.dm, utility.k, utility.k_source) == (17, 2, "measured")
    assert utility.c_avg == pytest.approx(7 / 6)
    assert utility.class_size == pytest.approx(7 / 3)


def test_the_k_asked_for_is_the_largest_one() -> None:
    table = {"q": [1, 2, 3, 4, 5, 6, 7, 8], "s": list("abababab")}
    require = [anon.KAnonymity(2), anon.AlphaK(0.5, 4)]
    utility = anon.anonymize(table, anon.Schema(["q"], ["s"]), require=require).utility()
    # two classes of 4: (8/2)/4
    assert (utility.k, utility.c_avg) == (4, 1.0)


def test_trap_25_means_over_rows_and_over_classes() -> None:
    # x ×9, y ×1 of a flat domain of 2; every cell is one value: qd 1/2 in each class
    utility = lost({"q": list("xxxxxxxxxy")}, ["q"], [list(range(9)), [9]])
    assert (utility.class_size, utility.um, utility.um_rows, utility.gcp) == (5.0, 0.5, 0.5, 0.0)
    # one wide class of 8 rows (qd 1) and one narrow class of 2 (qd 1/2):
    # over classes (1 + ½)/2 = ¾, over rows (8·1 + 2·½)/10 = 0.9
    utility = lost({"q": list("xxxxyyyyxx")}, ["q"], [list(range(8)), [8, 9]])
    assert (utility.um, utility.um_rows) == (0.75, pytest.approx(0.9))


def test_trap_30_a_constant_column_costs_nothing() -> None:
    table = {"n": [7, 7, 7], "f": ["a", "a", "a"], "s": [1, 1, 1]}
    utility = lost(table, ["n", anon.nominal("f", {"*": {"g": ["a"]}})], [[0, 1, 2]], ["s"])
    assert (utility.gcp, utility.ordered_loss, utility.entropy, utility.precision) == (0, 0, 0, 1)
    assert utility.by_attribute["n"].qd == 0
    assert utility.by_attribute["f"].qd == 1  # as printed: one leaf of |D| = 1
    assert (utility.pm, utility.pm_rows) == (1, 1)


def test_trap_30_a_release_without_rows() -> None:
    utility = lost({"q": [1, 2], "s": ["a", "b"]}, ["q"], [], ["s"])
    assert (utility.n_classes, utility.class_size, utility.c_avg, utility.k) == (0, 0, 0, 0)
    assert utility.dm == 4  # 2 suppressed rows, n = 2 each
    assert (utility.gcp, utility.ordered_loss, utility.entropy, utility.um_rows) == (1, 1, 1, 1)
    assert (utility.um, utility.pm, utility.pm_rows) == (0, 0, 0)
    assert utility.kl == math.inf


def test_suppressed_rows_of_a_constant_column_cost_1() -> None:
    # row 0 published (0), row 1 suppressed (1)
    utility = lost({"q": ["a", "a"]}, [anon.nominal("q", {"*": ["a"]})], [[0]])
    assert (utility.gcp, utility.precision, utility.dm) == (0.5, 0.5, 1 + 2)


# --- losses of cells


@pytest.mark.parametrize(
    ("quasi", "column", "classes", "ncp", "ordered", "qd", "um_rows"),
    [
        # 20, 30, 45 of 0..100: (45 - 20)/100; ranks 1..3 of 0..4: 2/4; the others are single values
        ("q", [0, 20, 30, 45, 100], [[0], [1, 2, 3], [4]], 3 * 0.25 / 5, 3 * 0.5 / 5, 0.25 / 3, 0.15),
        # 10, 20 | 40 of width 30: 10/30 twice; ranks 1/2 twice
        ("q", [10, 20, 40], [[0, 1], [2]], 2 / 9, 1 / 3, 1 / 6, 2 / 9),
        # floats: 0.5, 1.5 of 0.5..4.5 is ¼, ranks ½
        ("q", [0.5, 1.5, 4.5], [[0, 1], [2]], 2 * 0.25 / 3, 1 / 3, 0.125, 1 / 6),
        # ordinal: ranks low 0, mid 1, high 2
        (
            anon.ordinal("q", ["low", "mid", "high"]),
            ["low", "mid", "high", "high"],
            [[0, 1], [2, 3]],
            2 * 0.5 / 4,
            0.25,
            0.25,
            0.25,
        ),
        # an ordinal value that does not occur has no rank: low 0, high 1
        (anon.ordinal("q", ["low", "mid", "high"]), ["low", "high"], [[0, 1]], 1, 1, 1, 1),
        # flat {a, c} of 4 values: (2-1)/3, qd 2/4; b, d single: qd 1/4; ranks 0..2 of 3: 2/3
        ("q", list("acbd"), [[0, 1], [2], [3]], 2 / 3 / 4, 2 * 2 / 3 / 4, (0.5 + 0.25 + 0.25) / 3, 0.375),
        # {a, c, a} of 4 values is {a, c}: ½ (spec 6.8)
        (
            "q",
            list("acabd"),
            [[0, 1, 2], [3], [4]],
            3 / 3 / 5,
            3 * (2 / 3) / 5,
            1 / 3,
            (3 * 0.5 + 2 * 0.25) / 5,
        ),
        # {Bronchitis, Flu, Pneumonia} 3 leaves of 5 (spec 6.8): ncp 2/4, qd 3/5; singles qd 1/5
        (
            anon.nominal("q", LUNG),
            ["Bronchitis", "Flu", "Pneumonia", "HIV", "Cancer"],
            [[0, 1, 2], [3], [4]],
            3 * 0.5 / 5,
            3 * 0.5 / 5,
            (0.6 + 0.2 + 0.2) / 3,
            (3 * 0.6 + 2 * 0.2) / 5,
        ),
        # {Bronchitis, HIV}: the LCA "other" has 4 leaves of 5, whoever they are
        (
            anon.nominal("q", LUNG),
            ["Bronchitis", "HIV", "Flu", "Pneumonia", "Cancer"],
            [[0, 1], [2], [3], [4]],
            2 * 0.75 / 5,
            2 * 0.75 / 5,
            (0.8 + 3 * 0.2) / 4,
            (2 * 0.8 + 3 * 0.2) / 5,
        ),
        # the tree is pruned to what occurs: {Flu, Bronchitis} are all of "lung" and all of the domain
        (anon.nominal("q", LUNG), ["Flu", "Bronchitis"], [[0, 1]], 1, 1, 1, 1),
        # null with values 1, nulls only 0, others as ever: classes {5, null}, {null}, {5, 7}
        ("q", [5, None, None, 5, 7], [[0, 1], [2], [3, 4]], (2 + 0 + 2) / 5, 0.8, 2 / 3, 0.8),
        # the same on a flat attribute; a single a is 1/2
        ("q", ["a", None, None, "a", "b"], [[0, 1], [2], [3], [4]], 2 / 5, 2 / 5, (1 + 0 + 1) / 4, 3 / 5),
        # suppressed rows cost 1: row 2 of 1, 2, 3; the class 1..2 is ½ wide
        ("q", [1, 2, 3], [[0, 1]], (0.5 + 0.5 + 1) / 3, 2 / 3, 0.5, 2 / 3),
    ],
)
def test_losses_by_hand(
    quasi: Any,
    column: list[Any],
    classes: list[list[int]],
    ncp: float,
    ordered: float,
    qd: float,
    um_rows: float,
) -> None:
    utility = lost({"q": pa.array(column)}, [quasi], classes)
    one = utility.by_attribute["q"]
    assert (utility.gcp, utility.ordered_loss) == pytest.approx((ncp, ordered))
    assert (utility.um, utility.um_rows) == pytest.approx((qd, um_rows))
    assert (one.ncp, one.ordered_loss, one.qd, one.qd_rows) == pytest.approx((ncp, ordered, qd, um_rows))


def test_attributes_are_averaged_in_gcp_and_added_in_um() -> None:
    # a: {1, 2} of 1..3, ½ for two rows of three: 1/3. b: {x, y} of 2: 1 for two rows: 2/3.
    utility = lost({"a": [1, 2, 3], "b": list("xyx")}, ["a", "b"], [[0, 1], [2]])
    assert utility.gcp == pytest.approx((1 / 3 + 2 / 3) / 2)
    # classes: ½ + 1, 0 + ½
    assert utility.um == pytest.approx((1.5 + 0.5) / 2)
    assert utility.um_rows == pytest.approx((1.5 + 1.5 + 0.5) / 3)


def test_weights_do_not_touch_measures() -> None:
    table = {"a": [1, 2, 3], "b": list("xyx")}
    plain = lost(table, ["a", "b"], [[0, 1], [2]])
    weighted = lost(table, [anon.numeric("a", weight=5.0), "b"], [[0, 1], [2]])
    assert weighted.to_dict() == plain.to_dict()


def test_dates_and_decimals_are_measured_on_their_line() -> None:
    days = pa.array([0, 10, 40], pa.int32()).cast(pa.date32())
    assert lost({"d": days}, ["d"], [[0, 1], [2]]).gcp == pytest.approx(2 * 0.25 / 3)
    prices = pa.array([0, 10, 40], pa.int64()).cast(pa.decimal128(30, 2))
    assert lost({"d": prices}, ["d"], [[0, 1], [2]]).gcp == pytest.approx(2 * 0.25 / 3)


def test_a_level_is_measured_as_published() -> None:
    # 0 and {1, 2} show [0, 5), which ends at 4: 4/20; 20 shows [20, 25), of which the domain has 20: 0
    table, quasi = {"q": [0, 1, 2, 20]}, [anon.numeric("q", anon.intervals(5, 10))]
    encoded = encode(pa.table(table), anon.Schema(quasi))
    made = Classes(np.arange(4, dtype=np.uint32), np.array([0, 1, 3, 4]), np.empty(0, np.uint32))
    utility = recode(encoded, made, cells(encoded, made), numeric="level").utility()
    assert utility.n_classes == 2  # [0, 5) holds both
    assert utility.gcp == pytest.approx(3 * 0.2 / 4)
    # three rows on five lattice points, 20 on its own: ¾ ln 5/3
    assert utility.kl == pytest.approx(0.75 * math.log(5 / 3))
    # no interval holds {2, 20}: *
    made = Classes(np.arange(4, dtype=np.uint32), np.array([0, 2, 4]), np.empty(0, np.uint32))
    utility = recode(encoded, made, cells(encoded, made), numeric="level").utility()
    assert utility.gcp == pytest.approx((2 * 0.2 + 2 * 1) / 4)
    # floats have length: [0, 5) of 0..20 is 5/20
    table = {"q": pa.array([0.0, 1.0, 2.5, 20.0])}
    encoded = encode(pa.table(table), anon.Schema(quasi))
    made = Classes(np.arange(4, dtype=np.uint32), np.array([0, 3, 4]), np.empty(0, np.uint32))
    utility = recode(encoded, made, cells(encoded, made), numeric="level").utility()
    assert utility.gcp == pytest.approx(3 * 0.25 / 4)


@pytest.mark.parametrize(
    ("quasi", "column", "classes", "precision"),
    [
        # height 3 (* > other > lung > Flu): lung is at depth 2, level (3-2)/3; leaves are 0
        (
            anon.nominal("q", LUNG),
            ["Flu", "Bronchitis", "Pneumonia", "HIV", "Cancer"],
            [[0, 1, 2], [3], [4]],
            1 - 3 * (1 / 3) / 5,
        ),
        # "other" at depth 1: level 2/3
        (anon.nominal("q", LUNG), DISEASES, [[0], [1, 2], [3], [4]], 1 - 2 * (2 / 3) / 5),
        # the short branch of Cancer is padded at the leaf: still 0; everything at the root: 0
        (anon.nominal("q", LUNG), DISEASES, [[0], [1], [2], [3], [4]], 1),
        (anon.nominal("q", LUNG), DISEASES, [[0, 1, 2, 3, 4]], 0),
        # a suppressed row is at the root
        (anon.nominal("q", LUNG), DISEASES, [[0], [1], [2], [3]], 1 - 1 / 5),
        # null among values is at the root, nulls only are a leaf
        (anon.nominal("q", LUNG), ["Flu", None, None, "HIV"], [[0, 1], [2], [3]], 1 - 2 / 4),
        ("q", ["a", "b"], [[0, 1]], None),
        ("q", [1, 2], [[0, 1]], None),
    ],
)
def test_precision_by_hand(
    quasi: Any, column: list[Any], classes: list[list[int]], precision: float | None
) -> None:
    utility = lost({"q": pa.array(column)}, [quasi], classes)
    assert utility.precision == (None if precision is None else pytest.approx(precision))
    assert utility.by_attribute["q"].precision == utility.precision


def test_precision_is_of_the_trees_alone() -> None:
    # the tree column is at its root, the number is not a tree
    utility = lost({"t": ["Flu", "HIV"], "n": [1, 2]}, [anon.nominal("t", LUNG), "n"], [[0, 1]])
    assert utility.precision == 0


@pytest.mark.parametrize(
    ("column", "classes", "entropy"),
    [
        # a a b | c: root a: 2 ln(4/2), b, c: ln 4 each = 2 ln 2 + 4 ln 2 = 6 ln 2
        # cell {a, b} holds 3: 2 ln(3/2) + ln 3; c alone: 0
        (list("aabc"), [[0, 1, 2], [3]], (2 * math.log(1.5) + math.log(3)) / (6 * math.log(2))),
        # a wider class that shows the same set {a, b} loses as much per row, wherever the row is
        (list("aabc"), [[0, 2], [1], [3]], (math.log(1.5) + math.log(3)) / (6 * math.log(2))),
        # the interval 1..3 holds 2 as well, which is in another class: f = 3
        ([1, 3, 2, 9], [[0, 1], [2], [3]], 2 * math.log(3) / (4 * math.log(4))),
        # null counts as a value: {a} or missing holds 3 of 4 rows; a ×2: ln(3/2) each, null: ln 3
        (["a", "a", None, "b"], [[0, 1, 2], [3]], (2 * math.log(1.5) + math.log(3)) / (6 * math.log(2))),
        # a suppressed row shows everything: c costs ln 4
        (list("aabc"), [[0, 1], [2]], math.log(4) / (6 * math.log(2))),
        (list("aabc"), [[0, 1], [2], [3]], 0.0),
        (list("aabc"), [[0, 1, 2, 3]], 1.0),
    ],
)
def test_entropy_by_hand(column: list[Any], classes: list[list[int]], entropy: float) -> None:
    utility = lost({"q": pa.array(column)}, ["q"], classes)
    assert utility.entropy == pytest.approx(entropy)


# --- protection


@pytest.mark.parametrize(
    ("sensitive", "column", "r", "sd"),
    [
        # spec 6.9, on 0..100 (row 0 and 1 of the other class pin the domain)
        ("s", [0, 0, 100, 100], 1.0, 1 / 2),
        ("s", [0, 50, 100], 1.0, 5 / 9),
        ("s", [0, 0, 100], 0.0, 5 / 9),
        ("s", [0, 40], 0.4, 4 / 5),
        ("s", [0], 1.0, 1.0),
        # spec 4, LS figure 3
        (anon.nominal("s", LUNG), ["Cancer", "HIV", "Flu"], 0.5, 1 / 3),
        (anon.nominal("s", LUNG), ["Bronchitis", "Flu", "Pneumonia"], 0.5, 11 / 15),
        (anon.nominal("s", LUNG), ["Bronchitis", "Flu", "HIV"], 0.5, 7 / 15),
        (anon.nominal("s", LUNG), ["Bronchitis", "Flu", "HIV"], 0.7, 29 / 45),
        # flat, |D| = 5: two values are 1/5 alike at r = 1: (2·1 + 2·0.2)/4; not at r = 0.5
        ("s", ["Flu", "HIV"], 1.0, 0.6),
        ("s", ["Flu", "HIV"], 0.5, 0.5),
    ],
)
def test_protection_by_hand(sensitive: Any, column: list[Any], r: float, sd: float) -> None:
    numbers = isinstance(column[0], int)
    others: list[Any] = [0, 100] if numbers else DISEASES
    n = len(column)
    # classes: the one in question, and one row each for the rest of the domain (sd 1)
    singles = [[n + i] for i in range(len(others))]
    table = {"q": [0] * n + [i + 1 for i in range(len(others))], "s": [*column, *others]}
    utility = lost(table, ["q"], [list(range(n)), *singles], [sensitive], r=r)
    rest = len(others)
    assert utility.pm == pytest.approx((sd + rest) / (1 + rest))
    assert utility.pm_rows == pytest.approx((n * sd + rest) / (n + rest))
    assert utility.by_sensitive["s"].sd == utility.pm


def test_protection_of_several_attributes_is_added() -> None:
    # x: {1, 2} of 1..2 at r = 1: (1 + 1 + 0 + 0)/4 = ½; y: a a: 1
    table = {"q": [1, 1], "x": [1, 2], "y": ["a", "a"]}
    utility = lost(table, ["q"], [[0, 1]], ["x", "y"], w_u=0.25, w_p=0.75)
    assert utility.pm == pytest.approx(1.5)
    # q is constant: qd 0. wtd = ¼·0/1 + ¾·1.5/2
    assert utility.avg_wtd == pytest.approx(0.75 * 1.5 / 2)


@pytest.mark.parametrize(
    ("classes", "um", "pm"),
    [
        # LS table 3: ages 5 of 20 apart, both heights, both postcodes: ¼ + 1 + 1; equal salaries
        ([[0, 1], [2, 3], [4, 5], [6, 7]], 9 / 4, 1),
        # LS table 4: ¼ + 0 + 0; salaries 20 and 65
        ([[0, 2], [1, 3], [4, 6], [5, 7]], 1 / 4, 1 / 2),
    ],
)
def test_tables_of_spec_6_10(classes: list[list[int]], um: float, pm: float) -> None:
    table = {
        "age": [10, 15, 15, 20, 20, 25, 25, 30],
        "height": [170, 175] * 4,
        "postcode": [30, 32] * 4,
        "salary": [20, 20, 65, 65, 20, 20, 65, 65],
    }
    utility = lost(table, ["age", "height", "postcode"], classes, ["salary"])
    assert (utility.um, utility.um_rows, utility.pm, utility.pm_rows) == (um, um, pm, pm)
    # rows 1 and 3: ½·(¼/3) + ½·½ = 7/24
    assert utility.avg_wtd == pytest.approx(um / 6 + pm / 2)
    assert um > 1 or utility.avg_wtd == pytest.approx(7 / 24)


def test_a_null_sensitive_value_has_no_s_diversity() -> None:
    utility = lost({"q": [1, 2], "s": pa.array(["a", None])}, ["q"], [[0, 1]], ["s"])
    assert (utility.pm, utility.pm_rows, utility.avg_wtd) == (None, None, None)
    assert utility.by_sensitive["s"].sd is None
    assert utility.gcp == 1  # the other measures do not mind
    # where the row with the null is suppressed there is nothing to refuse
    assert lost({"q": [1, 2], "s": pa.array(["a", None])}, ["q"], [[0]], ["s"]).pm == 1


def test_a_release_without_sensitive_attributes_protects_none() -> None:
    utility = lost({"q": [1, 2]}, ["q"], [[0, 1]])
    assert (utility.pm, utility.pm_rows, utility.by_sensitive) == (0, 0, {})
    assert utility.avg_wtd == pytest.approx(0.5 * 1)


def test_a_suppressed_sensitive_attribute_protects_wholly() -> None:
    table = {"q": [1, 2], "s": ["a", "b"]}
    release = anon.anonymize(table, anon.Schema(["q"], ["s"]), method=anon.Suppress("sensitive"))
    utility = release.utility()
    assert (utility.pm, utility.pm_rows, utility.gcp) == (0, 0, 0)
    for measure in ("kl", "u_loss"):
        with pytest.raises(anon.UsageError, match="leaves 's' out"):
            getattr(utility, measure)
    assert utility.to_dict()["kl"] is None


# --- KL divergence


@pytest.mark.parametrize(
    ("quasi", "columns", "classes", "sensitive", "kl"),
    [
        # q 1 2 | 4, s a b b: the class spreads over (1,a) (1,b) (2,a) (2,b), ½ row each:
        # 1/3 ln 2 twice, (4,b) is exact
        (["q"], {"q": [1, 2, 4], "s": list("abb")}, [[0, 1], [2]], ["s"], 2 / 3 * math.log(2)),
        # the lattice point 3 lies in the cell 2..4: 1/3 row per point, of a single s: 2·½ ln(3/2)
        (["q"], {"q": [2, 4], "s": list("aa")}, [[0, 1]], ["s"], math.log(1.5)),
        # floats: the two values that occur, so nothing is lost
        (["q"], {"q": [2.0, 4.0], "s": list("aa")}, [[0, 1]], ["s"], 0.0),
        # without a sensitive attribute: the distribution of the quasi-identifiers
        (["q"], {"q": [2, 4]}, [[0, 1]], [], math.log(1.5)),
        # flat {a, b} or missing: a third each, true a a a null? a ¾, null ¼, estimate 4/3 rows each
        (
            ["q"],
            {"q": ["a", "a", "a", None], "s": list("xxxx")},
            [[0, 1, 2, 3]],
            ["s"],
            0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5),
        ),
        # overlapping cells: 1..3 holds the row 2 of the other class. Estimates: 1: 2/3, 2: 2/3 + 1, 3: 2/3
        # (of 3 rows); true 1/3 each
        (
            ["q"],
            {"q": [1, 3, 2]},
            [[0, 1], [2]],
            [],
            2 / 3 * math.log((1 / 3) / (2 / 9)) + 1 / 3 * math.log((1 / 3) / (5 / 9)),
        ),
        # two sensitive attributes: the mean of ln 2 (a b apart) and 0 (constant)
        (["q"], {"q": [1, 1], "s": ["a", "b"], "t": ["c", "c"]}, [[0, 1]], ["s", "t"], 0.0),
        # a suppressed row like no other is ruled out; like another, it is not: estimate of 1 row on (1, a)
        (["q"], {"q": [1, 2], "s": list("ab")}, [[0]], ["s"], math.inf),
        (["q"], {"q": [1, 1], "s": list("aa")}, [[0]], ["s"], 0.0),
    ],
)
def test_kl_by_hand(
    quasi: list[Any],
    columns: dict[str, list[Any]],
    classes: list[list[int]],
    sensitive: list[Any],
    kl: float,
) -> None:
    table = {name: pa.array(column) for name, column in columns.items()}
    assert lost(table, quasi, classes, sensitive).kl == pytest.approx(kl, abs=1e-15)


def test_kl_of_a_bucketization_by_hand() -> None:
    # buckets {(1,a), (2,b)} and {(1,b)}: estimates (1,a) ½, (2,a) ½, (1,b) ½ + 1, (2,b) ½, of 3 rows;
    # true (1,a), (2,b), (1,b) 1 each
    table = {"q": [1, 2, 1], "s": list("abb")}
    release = release_of(table, ["q"], [[0, 1], [2]], ["s"], publish="bucketization")
    assert release.utility().kl == pytest.approx((2 * math.log(2) + math.log(1 / 1.5)) / 3)


# --- U_loss


@pytest.mark.parametrize("options", [{}, {"numeric": "level"}, {"publish": "bucketization"}], ids=str)
def test_u_loss_is_that_of_the_populations(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    table = {
        "n": pa.array(rng.integers(0, 40, 400), mask=rng.random(400) < 0.1),
        "t": pa.array(rng.choice(["Cancer", "HIV", "Flu", "Bronchitis"], 400)),
        "f": pa.array(rng.choice(list("abcd"), 400)),
        "s": pa.array(rng.integers(0, 4, 400)),
        "u": pa.array(rng.choice(["x", "y"], 400)),
    }
    quasi = [anon.numeric("n", anon.intervals(5, 10)), anon.nominal("t", LUNG), "f"]
    schema = anon.Schema(quasi, ["s", "u"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(5)], **options)
    utility = release.utility(min_support=0.02)
    assert utility.u_loss == populations.u_loss(release, 0.02).u_loss > 0
    assert utility.to_dict()["u_loss"] == utility.u_loss
    # another support, other populations
    assert (
        release.utility(min_support=0.3).u_loss == populations.u_loss(release, 0.3).u_loss != utility.u_loss
    )


def test_u_loss_of_the_original_and_by_hand() -> None:
    table = {"q": ["a", "a", "b", "b"], "s": list("xxyy")}
    schema = anon.Schema(["q"], ["s"])
    assert anon.anonymize(table, schema, method=anon.Identity()).utility().u_loss == 0
    # everything at *: populations a and b are estimated half x, half y; JS((1,0), (½,½)) = ¾ ln 4/3
    trivial = anon.anonymize(table, schema, method=anon.Suppress("quasi")).utility()
    assert trivial.u_loss == pytest.approx(0.75 * math.log(4 / 3))
    # without a sensitive attribute there is nothing to estimate
    bare = lost({"q": [1, 2]}, ["q"], [[0, 1]])
    with pytest.raises(anon.UsageError, match="sensitive"):
        _ = bare.u_loss
    assert bare.to_dict()["u_loss"] is None


# --- buckets


def test_a_bucketization_loses_no_cell() -> None:
    table = {"n": [1, 5, 9], "f": ["x", "y", "z"], "t": ["Flu", "HIV", "Flu"], "s": list("aba")}
    quasi = ["n", "f", anon.nominal("t", LUNG)]
    utility = release_of(table, quasi, [[0, 1], [2]], ["s"], publish="bucketization").utility()
    assert (utility.gcp, utility.ordered_loss, utility.entropy, utility.precision) == (0, 0, 0, 1)
    assert (utility.dm, utility.n_classes) == (5, 2)
    # single values: 0 on the number, 1/3 and 1/2 on labels
    assert utility.um == utility.um_rows == pytest.approx(1 / 3 + 1 / 2)
    # sd: {a, b} at r = 1, flat of 2 values: (2 + 2·½)/4 = ¾; {a}: 1
    assert (utility.pm, utility.pm_rows) == pytest.approx((0.875, 2.5 / 3))


# --- the slow twin


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, dict[str, Any]], dict[str, Any], list[list[int]]]:
    """Attributes of every kind as the twin reads them, as the schema reads them, and classes."""
    n_rows = draw(st.integers(1, 9))
    parents: dict[str, str | None] = {"*": None, "p": "*", "c": "p", "d": "p", "e": "p", "z": "*", "w": "z"}
    tree = {"*": {"p": ["c", "d", "e"], "z": ["w"]}}
    kinds: dict[str, tuple[dict[str, Any], Any, list[Any]]] = {
        "int": ({"kind": "numeric"}, anon.numeric("int"), [0, 1, 2, 5, 9]),
        "float": ({"kind": "numeric", "lattice": False}, anon.numeric("float"), [-0.5, 0.25, 1.0, 7.0]),
        "ordinal": (
            {"kind": "ordinal", "order": list("lmhx")},
            anon.ordinal("ordinal", list("lmhx")),
            list("lmh"),
        ),
        "tree": ({"kind": "tree", "parents": parents}, anon.nominal("tree", tree), list("cdew")),
        "flat": ({"kind": "flat"}, anon.nominal("flat"), list("cdew")),
    }
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4, unique=True))
    quasi, schema = {}, {}
    for role in ("quasi", "sensitive"):
        for name in (
            names
            if role == "quasi"
            else draw(st.lists(st.sampled_from(sorted(kinds)), max_size=2, unique=True))
        ):
            twin, attribute, values = kinds[name]
            known = st.sampled_from([*values, None] if role == "quasi" else values)
            column = draw(st.lists(known, min_size=n_rows, max_size=n_rows))
            column[0] = values[0] if all(value is None for value in column) else column[0]
            key = name if role == "quasi" else f"s_{name}"
            quasi[key] = {**twin, "values": column}
            schema[key] = anon.Attribute(key, attribute.kind, attribute.hierarchy, attribute.order)
    of_row = draw(st.lists(st.integers(-1, 3), min_size=n_rows, max_size=n_rows))
    classes = [[row for row in range(n_rows) if of_row[row] == c] for c in range(4)]
    return quasi, schema, [rows for rows in classes if rows]


def arrow(attribute: dict[str, Any]) -> pa.Array:
    return pa.array(attribute["values"])


@given(tables(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([(0.5, 0.5), (0.2, 0.8)]))
@settings(max_examples=150)
def test_measures_equal_the_twin(
    made: tuple[dict[str, dict[str, Any]], dict[str, Any], list[list[int]]],
    r: float,
    weights: tuple[float, float],
) -> None:
    columns, schema, classes = made
    quasi = [name for name in columns if not name.startswith("s_")]
    sensitive = [name for name in columns if name.startswith("s_")]
    table = {name: arrow(column) for name, column in columns.items()}
    release = release_of(
        table, [schema[name] for name in quasi], classes, [schema[name] for name in sensitive]
    )
    utility = release.utility(r=r, w_u=weights[0], w_p=weights[1])
    q, s = [columns[name] for name in quasi], [columns[name] for name in sensitive]
    joined, their_cells = reference.cells_of(q, classes)

    def close(number: float | None) -> Any:
        return None if number is None else pytest.approx(number, abs=1e-12)

    assert utility.n_classes == len(joined)
    assert utility.dm == reference.discernibility(joined, utility.n_rows)
    assert utility.c_avg == close(reference.c_avg(joined, utility.k or 1))
    assert utility.gcp == close(reference.gcp(q, joined, their_cells))
    assert utility.ordered_loss == close(reference.ordered_loss(q, joined, their_cells))
    assert utility.um == close(reference.um(q, their_cells))
    assert utility.um_rows == close(reference.um_rows(q, joined, their_cells))
    assert utility.precision == close(reference.precision(q, joined, their_cells))
    assert utility.entropy == close(reference.entropy(q, joined, their_cells))
    assert utility.pm == close(reference.pm(s, joined, r))
    assert utility.pm_rows == close(reference.pm_rows(s, joined, r))
    assert utility.avg_wtd == close(reference.avg_wtd(q, s, joined, their_cells, r, *weights))
    assert utility.kl == close(reference.kl(q, s, joined, their_cells))


@given(tables())
@settings(max_examples=60)
def test_kl_of_buckets_equals_the_twin(
    made: tuple[dict[str, dict[str, Any]], dict[str, Any], list[list[int]]],
) -> None:
    columns, schema, classes = made
    sensitive = [name for name in columns if name.startswith("s_")]
    if not sensitive:
        return
    quasi = [name for name in columns if not name.startswith("s_")]
    table = {name: arrow(column) for name, column in columns.items()}
    release = release_of(
        table,
        [schema[name] for name in quasi],
        classes,
        [schema[name] for name in sensitive],
        publish="bucketization",
    )
    q, s = [columns[name] for name in quasi], [columns[name] for name in sensitive]
    expected = reference.kl_of_buckets(q, s, classes)
    assert release.utility().kl == pytest.approx(expected, abs=1e-12)


# --- laws


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_row_order_does_not_matter(
    made: tuple[dict[str, dict[str, Any]], dict[str, Any], list[list[int]]], random: Any
) -> None:
    columns, schema, classes = made
    n_rows = len(next(iter(columns.values()))["values"])
    order = list(range(n_rows))
    random.shuffle(order)
    place = {row: new for new, row in enumerate(order)}
    attributes = [
        [schema[name] for name in columns if name.startswith("s_") == wanted] for wanted in (False, True)
    ]
    kept = {name: arrow(column) for name, column in columns.items()}
    moved = {name: column.take(pa.array(order)) for name, column in kept.items()}
    first = release_of(kept, attributes[0], classes, attributes[1]).utility()
    shuffled = [[place[row] for row in rows] for rows in reversed(classes)]
    second = release_of(moved, attributes[0], shuffled, attributes[1]).utility()
    assert second == first
    assert second.kl == first.kl


@given(tables())
@settings(max_examples=60)
def test_merging_classes_never_lowers_a_loss(
    made: tuple[dict[str, dict[str, Any]], dict[str, Any], list[list[int]]],
) -> None:
    columns, schema, classes = made
    attributes = [
        [schema[name] for name in columns if name.startswith("s_") == wanted] for wanted in (False, True)
    ]
    table = {name: arrow(column) for name, column in columns.items()}
    release = release_of(table, attributes[0], classes, attributes[1])
    rows_of_class = np.split(release.classes.rows, release.classes.offsets[1:-1])
    if len(rows_of_class) < 2:
        return
    before = release.utility()
    merged = [np.concatenate(rows_of_class[:2]), *rows_of_class[2:]]
    after = release_of(table, attributes[0], merged, attributes[1]).utility()
    for measure in ("dm", "gcp", "ordered_loss", "um_rows", "entropy"):
        assert getattr(after, measure) >= getattr(before, measure) - 1e-12
    assert (after.precision or 0) <= (before.precision or 0) + 1e-12


@given(tables())
@settings(max_examples=60)
def test_the_original_loses_nothing_and_the_trivial_release_everything(
    made: tuple[dict[str, dict[str, Any]], dict[str, Any], list[list[int]]],
) -> None:
    columns, schema, _ = made
    table = pa.table({name: arrow(column) for name, column in columns.items()})
    roles = anon.Schema(
        [schema[name] for name in columns if not name.startswith("s_")],
        [schema[name] for name in columns if name.startswith("s_")],
    )
    identity = anon.anonymize(table, roles, method=anon.Identity()).utility()
    assert (identity.gcp, identity.ordered_loss, identity.entropy, identity.kl) == (0, 0, 0, 0)
    assert identity.precision in (None, 1)
    trivial = anon.anonymize(table, roles, method=anon.Suppress("quasi")).utility()
    constant = [
        name for name in columns if not name.startswith("s_") and len(set(columns[name]["values"])) == 1
    ]
    n_quasi = len(roles.quasi)
    assert trivial.gcp == pytest.approx((n_quasi - len(constant)) / n_quasi)
    assert trivial.ordered_loss == trivial.gcp
    assert trivial.entropy == (1 if len(constant) < n_quasi else 0)
    assert trivial.dm == table.num_rows**2


def test_the_threads_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    table = {"a": rng.integers(0, 50, 3000), "b": rng.integers(0, 9, 3000), "s": rng.integers(0, 5, 3000)}
    release = anon.anonymize(table, anon.Schema(["a", "b"], ["s"]), require=[anon.KAnonymity(5)])
    one, two = release.utility(n_threads=1), release.utility(n_threads=2)
    assert one == two
    assert one.kl == two.kl


# --- what it looks like


def test_the_result_is_plain_and_short() -> None:
    table = {"q": [1, 2, 3], "s": list("aab")}
    utility = lost(table, ["q"], [[0, 1]], ["s"])
    assert repr(utility) == f"Utility(n_classes=1, gcp={utility.gcp}, dm=7, c_avg=1.0)"
    document = utility.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["kl"] == "inf"
    assert document["by_attribute"]["q"]["ncp"] == utility.gcp
    assert set(document) >= {
        *("dm", "c_avg", "gcp", "ordered_loss", "um", "pm", "um_rows", "pm_rows", "avg_wtd", "entropy"),
        *("precision", "kl", "class_size", "n_classes", "k", "k_source", "by_attribute", "by_sensitive"),
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"r": 1.5}, "r lies"),
        ({"w_u": 0.5, "w_p": 0.6}, "sum to 1"),
        ({"min_support": 0.0}, "min_support"),
    ],
)
def test_parameters_are_checked(asked: dict[str, float], message: str) -> None:
    with pytest.raises(anon.UsageError, match=message):
        lost({"q": [1, 2]}, ["q"], [[0, 1]], **asked)


def test_full_cells_are_measured_as_published() -> None:
    # two classes that both show *: they are one
    encoded = encode(pa.table({"q": [1, 2, 3]}), anon.Schema(["q"]))
    made = Classes(np.arange(3, dtype=np.uint32), np.array([0, 1, 3]), np.empty(0, np.uint32))
    utility = recode(encoded, *merge(made, full_cells(encoded, made))).utility()
    assert (utility.n_classes, utility.gcp, utility.dm) == (1, 1, 9)


# --- Adult


@pytest.mark.adult
def test_adult(adult_dir: Path) -> None:
    quasi = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    table = anon.datasets.adult(adult_dir)
    schema = anon.Schema(quasi, ["salary-class"])
    mondrian = anon.anonymize(table, schema, require=[anon.KAnonymity(10)], method=anon.Mondrian()).utility()
    assert mondrian.n_classes == 3020
    assert mondrian.gcp == pytest.approx(0.0499, abs=0.0005)
    assert mondrian.ordered_loss == pytest.approx(0.0934, abs=0.0005)
    assert 0 < mondrian.kl < anon.anonymize(table, schema, method=anon.Suppress("quasi")).utility().kl
    assert anon.anonymize(table, schema, method=anon.Identity()).utility().kl == 0
