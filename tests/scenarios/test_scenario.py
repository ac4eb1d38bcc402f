# SPDX-License-Identifier: Apache-2.0
"""Scenarios, by hand: utilities, declines, distances, nearness, gains, and Brickell & Shmatikov's table."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
import anon.measures.privacy
import anon.scenarios.attack
import anon.scenarios.interest
from anon.command.entry import main
from anon.encoding.table import encode
from anon.errors import DataError, UsageError
from anon.miners.miner import Miner
from anon.scenarios.interest import (
    AbsoluteError,
    Accuracy,
    CostMatrix,
    NoFalseNegatives,
    distances,
    ends_of,
    nearer,
    of_labels,
    of_numbers,
    on_lattice,
    single_values,
    weights,
)
from anon.scenarios.result import Decline, Preservation, sections
from anon.verbs.foreign import cells_of_rows

# --- miners of our own


@dataclass
class Says:
    """Predicts for the row whose id, in one of the features, is i the i-th of its answers."""

    answers: Sequence[Any]
    feature: int = 0

    def fit(self, X: Any, y: Any) -> None:
        pass

    def predict(self, X: Any) -> Any:
        return np.asarray(self.answers)[X[:, self.feature].astype(int)]


@dataclass
class Echo:
    """Predicts what the release shows of the very rows that it was trained on."""

    def fit(self, X: Any, y: Any) -> None:
        self.y = y

    def predict(self, X: Any) -> Any:
        return self.y


def says(name: str, answers: Sequence[Any], feature: int = 0) -> Miner:
    return Miner(name, "test", lambda seed: Says(answers, feature))


ECHO = Miner("echo", "test", lambda seed: Echo())


def test_utility_of_sramka_et_al_by_hand() -> None:
    # truth 1110, predictions 1011: rows 0 and 2 are right, U = 2; weights 10, 1, 1, 0: 10 + 1 = 11.
    # Four folds of one row each; without row 3 all labels that a miner is shown are 1, and so is its answer.
    table = {"id": [0, 1, 2, 3], "ill": ["1", "1", "1", "0"]}
    miner = says("fixed", [1, 0, 1, 1])  # codes: "0" is 0, "1" is 1
    schema = anon.Schema(["id"], ["ill"])
    for weight, utility in ((None, 2.0), ([10, 1, 1, 0], 11.0), ("3", 6.0), ("5 where id>=2 else -1", 4.0)):
        good = anon.GoodUtility("ill", [miner], weight=weight)
        [kept] = anon.Scenario(table, schema, [anon.Identity()], good, n_folds=4).run().good
        assert [(one.u_orig, one.u_san) for one in kept.by_miner] == [(utility, utility)]
        assert kept.delta == 0


TABLE_1 = {
    "NaiveBayes": (36_972, [36_642, 36_285, 35_900, 35_242, 36_279, 36_356, 36_350, 36_320]),
    "J48": (37_609, [37_143, 36_909, 36_711, 36_298, 37_293, 37_222, 37_221, 37_221]),
    "RandomForest": (36_172, [36_069, 36_707, 36_740, 36_321, 36_012, 35_969, 35_932, 35_962]),
}


@pytest.mark.parametrize(
    ("column", "printed"), [*enumerate(["1.24", "1.86", "2.90", "4.68", "1.87", "1.67", "1.68", "1.76"])]
)
def test_the_declines_of_table_1_recompute_from_its_counts(column: int, printed: str) -> None:
    kept = Preservation(
        "it",
        "salary",
        tuple(Decline(name, "", orig, san[column]) for name, (orig, san) in TABLE_1.items()),
    )
    assert kept.delta is not None
    assert f"{100 * kept.delta:.2f}" == printed
    assert f"more than {printed}%" in kept.statement
    assert "L = {NaiveBayes, J48, RandomForest}" in kept.statement


def test_a_decline_is_floored_and_undefined_where_nothing_could_be_gained() -> None:
    better, none, negative = Decline("a", "", 10, 12), Decline("b", "", 0, 5), Decline("c", "", -1, -2)
    assert (better.decline, none.decline, negative.decline) == (0, None, None)
    kept = Preservation("it", "x", (better, none, negative))
    assert (kept.delta, kept.worst_miner) == (0, "a")
    assert kept.statement.endswith("undefined for b, c")
    assert Preservation("it", "x", (none,)).delta is None
    assert Decline("a", "", 10, 15).decline == 0
    assert Decline("a", "", 10, 6, finished=False).decline is None


# --- bad utility


def numbers_scenario(predictions: list[float], nearness: float, **more: Any) -> Any:
    # truth 40, 140, ..., shown 30, 130, ...: always 10 apart
    ids = list(range(len(predictions)))
    original = {"id": ids, "age": [40 + 100 * i for i in ids]}
    given = {"id": ids, "age": [30 + 100 * i for i in ids]}
    miner = says("fixed", [p + 100 * i for i, p in enumerate(predictions)])
    bad = anon.BadUtility("age", number_miners=[miner], nearness=nearness, **more)
    [attack] = anon.Scenario(original, anon.Schema(["id", "age"]), [given], bad=bad).run().bad
    return attack


@pytest.mark.parametrize(
    ("nearness", "expected"),
    # truth 40, shown 30: 30 and 29 are not nearer, 31 is; 35 is 50 %-nearer and 34 is not; 40 is exact,
    # 39.6 is the whole number 40 to an adversary who knows that ages are whole; 50 is as far as 30
    [(0, 5), (10, 5), (11, 4), (50, 3), (51, 2), (100, 2)],
)
def test_nearness_of_numbers_by_hand(nearness: float, expected: int) -> None:
    attack = numbers_scenario([30, 29, 31, 35, 34, 40, 39.6, 50], nearness)
    assert attack.worst == attack.average == expected
    assert attack.by_miner[0].n_nearer == expected


@pytest.mark.numba
def test_weights_of_rows_and_a_distance_of_ones_own() -> None:
    predictions = [31.0, 31, 35, 40]
    assert numbers_scenario(predictions, 0, weight=[1, 2, 3, 4]).worst == 10
    assert numbers_scenario(predictions, 100, weight=[1, 2, 3, 4]).worst == 4
    # being too high costs ten times as much: shown 30 is 10 off, 41 is 10 off (not nearer), 31 is 9 off
    attack = numbers_scenario(
        [41, 31, 30, 40], 0, distance=lambda lower, upper, x: 10 * (lower - x) if lower > x else x - upper
    )
    assert attack.worst == 2


def test_average_worst_and_the_worst_miner_of_truth_release_and_chance() -> None:
    rng = np.random.default_rng(1)
    ids, truth = np.arange(200), rng.integers(17, 100, 200)
    published, chance = truth + rng.integers(1, 40, 200), rng.integers(17, 100, 200)
    miners = [ECHO, says("chance", chance), says("truth", truth)]
    bad = [anon.BadUtility("age", number_miners=miners, nearness=c) for c in (0, 50, 100)]
    original, given = {"id": ids, "age": truth}, {"id": ids, "age": published}
    attacks = anon.Scenario(original, anon.Schema(["id", "age"]), [given], bad=bad).run().bad
    apart = np.abs(chance - truth), np.abs(published - truth)
    by_chance = [
        int((apart[0] < apart[1]).sum()),
        int((2 * apart[0] <= apart[1]).sum()),
        int((apart[0] == 0).sum()),
    ]
    for attack, nearer_by_chance in zip(attacks, by_chance, strict=True):
        assert [one.u_bad for one in attack.by_miner] == [0, nearer_by_chance, 200]
        assert attack.average == pytest.approx((200 + nearer_by_chance) / 3)
        assert (attack.worst, attack.worst_miner) == (200, "truth")
    assert by_chance[0] > by_chance[1] > by_chance[2]


AGES = [40, 35, 40, 41, 20, 60, 45, 50]
INTERVALS = ["[20, 60]", "[35, 45]", "40", "[41, 60]", "[20, 60]", "[20, 60]", "[35, 45]", "[41, 60]"]
CELLS = {"[20, 60]": 0, "[35, 45]": 1, "40": 2, "[41, 60]": 3}  # numbers of cells: by low, then high


@pytest.mark.parametrize(
    ("predicted", "nearness", "expected"),
    [
        # row 0 is 40 and shown as [20, 60], of length 40
        ("[20, 60]", 0, 0),
        ("[35, 45]", 0, 1),  # length 10, a quarter
        ("[35, 45]", 75, 1),
        ("[35, 45]", 76, 0),
        ("[35, 45]", 100, 0),
        ("40", 100, 1),
        ("[41, 60]", 0, 0),  # does not hold 40
    ],
)
def test_nearness_of_intervals_by_hand(predicted: str, nearness: float, expected: int) -> None:
    ids = list(range(8))
    miner = says("fixed", [CELLS[predicted]] * 8)
    bad = anon.BadUtility("age", [miner], nearness=nearness, weight=[1, 0, 0, 0, 0, 0, 0, 0])
    original, given = {"id": ids, "age": AGES}, {"id": ids, "age": INTERVALS}
    [attack] = anon.Scenario(original, anon.Schema(["id", "age"]), [given], bad=bad).run().bad
    assert attack.worst == expected


def shown_cells(attribute: Any, values: Sequence[Any], labels: Sequence[Any]) -> Any:
    schema = anon.Schema([attribute])
    name = schema.quasi[0].name
    encoded = encode(pa.table({name: values}), schema)
    cells = cells_of_rows(encoded.quasi[0], encoded.schema.quasi[0], pa.table({name: labels}), None)
    return cells, cells.of_class.astype(np.int64), encoded.quasi_codes[0].astype(np.int64)


def test_distances_of_labels_are_ncp_of_the_common_ancestor() -> None:
    # two groups of two: the root costs (4-1)/3 = 1, a group 1/3, a value 0; a sibling's ancestor is the group
    tree = {"tree": {"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}}
    truth, published = ["a1", "a1", "a1", "b2", "a2", "b1"], ["*", "A", "a1", "b1", "b1", "B"]
    cells, numbers, codes = shown_cells(anon.nominal("x", tree), truth, published)
    assert distances(cells, numbers, codes).tolist() == pytest.approx([1, 1 / 3, 0, 1 / 3, 1, 1 / 3])


def test_distances_of_flat_labels_are_those_of_the_set_with_the_truth() -> None:
    # |D| = 4: {a, b} with a is 2 values, 1/3; {a, b} with c is 3 values, 2/3; b with a is 2; d is d
    truth, published = ["a", "c", "a", "d", "b"], ["{a, b}", "{a, b}", "b", "d", "*"]
    cells, numbers, codes = shown_cells(anon.nominal("x"), truth, published)
    assert distances(cells, numbers, codes).tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 3, 0, 1])


def test_distances_of_ranks_and_missing_cells() -> None:
    order = ["low", "mid", "high", "top"]
    cells, numbers, codes = shown_cells(
        anon.ordinal("x", order), ["low", "mid", "top", "high"], ["[low, high]", "mid", "[low, high]", "*"]
    )
    assert distances(cells, numbers, codes).tolist() == [2, 0, math.inf, 3]
    cells, numbers, _ = shown_cells(
        anon.numeric("x"), [1, 2, None], ["[1, 2]", "[1, 2] or missing", "missing"]
    )
    assert distances(cells, numbers, np.array([0, 1, 1])).tolist() == [1, 1, math.inf]


TREE = {"*": {"A": {"B": ["a", "b"], "C": "c"}, "D": ["d", "e", "f"]}}
LEAVES = {"A": "abc", "B": "ab", "D": "def", "*": "abcdef"} | {leaf: leaf for leaf in "abcdef"}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_distances_are_those_of_the_definition(rows: list[tuple[int, int, int]]) -> None:
    # every value of 0..5, or a..f, occurs, so that the domain is whole
    rows = [*rows, *((i, i, i) for i in range(6))]
    numbers = [(min(a, b) * 10, max(a, b) * 10, x * 10) for a, b, x in rows]
    cells, cell_of_row, codes = shown_cells(
        anon.numeric("x"), [x for _, _, x in numbers], [f"[{low}, {high}]" for low, high, _ in numbers]
    )
    assert distances(cells, cell_of_row, codes).tolist() == [
        high - low if low <= x <= high else math.inf for low, high, x in numbers
    ]
    sets = [({"abcdef"[a], "abcdef"[b]}, "abcdef"[x]) for a, b, x in rows]
    truth, words = [x for _, x in sets], [f"{{{', '.join(sorted(each))}}}" for each, _ in sets]
    cells, cell_of_row, codes = shown_cells(anon.nominal("x"), truth, words)
    expected = [(len(each | {x}) - 1) / 5 for each, x in sets]
    assert distances(cells, cell_of_row, codes).tolist() == pytest.approx(expected)
    # the lowest node above both values of a row is what is shown, C has one leaf and is that leaf
    nodes = [
        min((n for n in LEAVES if each <= {*LEAVES[n]}), key=lambda n: len(LEAVES[n])) for each, _ in sets
    ]
    cells, cell_of_row, codes = shown_cells(anon.nominal("x", {"tree": TREE}), truth, nodes)
    above = [
        min(len(leaves) for leaves in LEAVES.values() if {*LEAVES[node], x} <= {*leaves})
        for node, x in zip(nodes, truth, strict=True)
    ]
    assert distances(cells, cell_of_row, codes).tolist() == pytest.approx([(n - 1) / 5 for n in above])


def test_a_prediction_that_is_nowhere_is_never_nearer() -> None:
    far = np.array([math.inf, math.inf, 1.0])
    published = np.array([math.inf, 5.0, math.inf])
    assert nearer(far, published, np.zeros(3, bool), 0).tolist() == [False, False, True]
    assert nearer(far, published, np.zeros(3, bool), 50).tolist() == [False, False, True]


def test_decimals_and_dates_are_predicted_on_their_lattice() -> None:
    import datetime
    from decimal import Decimal

    days = encode(pa.table({"x": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)]}), anon.Schema(["x"]))
    assert on_lattice(np.array([18_262.4]), days.quasi[0]).tolist() == [18_262]
    money = encode(pa.table({"x": [Decimal("1.25"), Decimal("9.99")]}), anon.Schema(["x"]))
    assert on_lattice(np.array([3.14159]), money.quasi[0]).tolist() == [3.14]
    real = encode(pa.table({"x": [0.5, 1.5]}), anon.Schema(["x"]))
    assert on_lattice(np.array([3.14159]), real.quasi[0]).tolist() == [3.14159]


def test_ends_are_in_the_units_of_the_column() -> None:
    from decimal import Decimal

    cells, numbers, _ = shown_cells(
        anon.numeric("x"), [Decimal("1.10"), Decimal("1.23"), Decimal("9.99")], ["1.23", "[1.10, 9.99]", "*"]
    )
    lower, upper = ends_of(cells)
    assert lower[numbers].tolist() == [1.23, 1.1, 1.1]
    assert upper[numbers].tolist() == [1.23, 9.99, 9.99]


# --- error functions


def domain_of(values: Sequence[Any], **attribute: Any) -> Any:
    return encode(pa.table({"x": values}), anon.Schema([anon.Attribute("x", **attribute)])).quasi[0]


@pytest.mark.numba
def test_error_functions_of_numbers_by_hand() -> None:
    predicted, true = np.array([30.0, 50, 40]), np.array([40.0, 40, 40])
    domain = domain_of([20, 40, 60])
    # range 40: 1 - 10/40
    assert of_numbers(Accuracy(), predicted, true, domain).tolist() == [0, 0, 1]
    assert of_numbers(AbsoluteError(), predicted, true, domain).tolist() == [0.75, 0.75, 1]
    assert of_numbers(AbsoluteError(5), predicted, true, domain).tolist() == [-1, -1, 1]
    assert of_numbers(NoFalseNegatives(), predicted, true, domain).tolist() == [0, 1, 1]
    assert of_numbers(NoFalseNegatives(penalty=-3), predicted, true, domain).tolist() == [-3, 1, 1]
    own = of_numbers(lambda p, t: 2.0 if p >= t else -1.0, predicted, true, domain)
    assert own.tolist() == [-1, 2, 2]


@pytest.mark.numba
def test_error_functions_of_labels_by_hand() -> None:
    # predictions: no for yes (a miss), yes for no (a false alarm), yes, and a cell of both for yes
    cells, numbers, _ = shown_cells(
        anon.nominal("x"), ["no", "yes", "yes", "yes"], ["no", "yes", "yes", "{no, yes}"]
    )
    true = np.array([1, 0, 1, 1])

    def worth(error: Any) -> list[float]:
        return of_labels(error, numbers, true, cells, cells.domain).tolist()

    # "{no, yes}" is the whole domain and reads *
    assert worth(Accuracy()) == [0, 0, 1, 0]
    assert worth(NoFalseNegatives("yes")) == [0, 1, 1, 0]
    assert worth(NoFalseNegatives("yes", -5)) == [-5, 1, 1, -5]
    costs = {"yes": {"yes": 1, "no": -8}, "no": {"yes": -0.5}}
    assert worth(CostMatrix(costs)) == [-8, -0.5, 1, 0]
    assert worth(lambda p, t: 3.0 if p == t else (-1.0 if p == "*" else 0.0)) == [0, 0, 3, -1]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (AbsoluteError(), "for numbers"),
        (NoFalseNegatives(), "name the one that is positive"),
        (NoFalseNegatives("maybe"), "no value 'maybe'"),
        (CostMatrix({"yes": {"maybe": 1}}), "no value 'maybe'"),
        (lambda p, t: p + t, "Numba cannot compile"),
        (lambda p: 1.0, "Numba cannot compile"),
    ],
)
@pytest.mark.numba
def test_error_functions_that_do_not_fit_labels_are_refused(error: Any, message: str) -> None:
    cells, numbers, codes = shown_cells(anon.nominal("x"), ["no", "yes"], ["no", "yes"])
    with pytest.raises(UsageError, match=message):
        of_labels(error, numbers, codes, cells, cells.domain)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CostMatrix({}), "for labels"),
        (NoFalseNegatives("yes"), "no label"),
        (lambda p, t: math.nan, "no number"),
        (lambda p, t: 1 // (p > 1e9), "failed: ZeroDivisionError"),
    ],
)
@pytest.mark.numba
def test_error_functions_that_do_not_fit_numbers_are_refused(error: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        of_numbers(error, np.array([1.0]), np.array([1.0]), domain_of([1, 2]))


# --- weights


PEOPLE = {
    "age": [30, 60, 70, 55, None],
    "sex": ["Female", "Female", "Male", "Female", None],
    "hours per week": [40, 10, 20, 30, 50],
}


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (None, [1, 1, 1, 1, 1]),
        ("2.5", [2.5] * 5),
        ("10 where sex=Female & age>=55", [1, 10, 1, 10, 1]),
        ("10 where sex=Female & age>=55 else 0", [0, 10, 0, 10, 0]),
        ('-1 where "hours per week" in [20, 40] else 1e2', [-1, 100, -1, -1, 100]),
        (np.arange(5), [0, 1, 2, 3, 4]),
        (lambda x: 10.0 if x.sex == "Female" and x.age >= 55 else 1.0, [1, 10, 1, 10, 1]),
        (lambda x: x["hours per week"] if x.sex == "" else 0.0, [0, 0, 0, 0, 50]),
    ],
)
@pytest.mark.numba
def test_weights_by_hand(weight: Any, expected: list[float]) -> None:
    encoded = encode(pa.table(PEOPLE), anon.Schema(list(PEOPLE)))
    assert weights(weight, encoded).tolist() == expected


@pytest.mark.parametrize(
    "weight",
    [
        "__import__('os').system('true')",
        "10 where __import__('os')",
        "ten where sex=Female",
        "10 where",
        "10 where size=3",
        "inf",
        [1, 2],
        ["a"] * 5,
        np.full(5, math.nan),
        lambda x: x.sex,
        lambda x: x.height,
    ],
)
def test_weights_that_make_no_sense_are_refused(weight: Any) -> None:
    encoded = encode(pa.table(PEOPLE), anon.Schema(list(PEOPLE)))
    with pytest.raises(UsageError):
        weights(weight, encoded)


# --- Brickell & Shmatikov's artificial table (section 7)


def coins(r: Any) -> dict[str, Any]:
    r1, r2, r3 = r.T
    return {
        "a1": r1.astype(str),
        "a2": r2.astype(str),
        "a3": np.char.add(r2.astype(str), r3.astype(str)),
        "a4": (r1 ^ r3).astype(str),
        "a5": (r1 ^ r2).astype(str),
    }


COINS = anon.Schema(["a1", "a2"], ["a3"], neutral="rest")


def attack_on_coins(table: dict[str, Any]) -> Any:
    without = table | {"a2": ["*"] * len(table["a1"])}
    tree = ["C4.5-like tree"]
    return anon.Scenario(
        table,
        COINS,
        [anon.Identity(), anon.Sanitization("a2 suppressed", table=without)],
        good=[anon.GoodUtility("a4", tree), anon.GoodUtility("a5", tree)],
        bad=anon.BadUtility("a2", ["ZeroR"]),
        n_folds=4,
    ).run()


def test_all_eight_outcomes_once_are_perfectly_private_without_a2() -> None:
    table = coins(np.array(list(product([0, 1], repeat=3))))
    intact, without = attack_on_coins(table).bad
    assert (intact.a_acc, intact.a_know) == (0.25, 0.5)
    assert (without.a_acc, without.a_know) == (0, 0)
    release = anon.anonymize(table, COINS, method=anon.Suppress("quasi"))
    assert release.privacy().delta == 0


def test_a_thousand_draws_are_private_and_useful_without_a2() -> None:
    n = 1000
    result = attack_on_coins(coins(np.random.default_rng(0).integers(0, 2, (n, 3))))
    _, without = result.bad
    # shares of four values in two classes of about 500: standard errors of about 0.02
    assert 0 < without.a_know < 0.05
    assert 0 <= without.a_acc < 0.05
    for kept in result.good:  # accuracy 1 on a4 and on a5, before and after
        assert [(one.u_orig, one.u_san) for one in kept.by_miner] == [(n, n)]


# --- gains with predictions filled in


def test_gains_with_predictions_filled_in_by_hand() -> None:
    """Rows 0 to 3 are one class of two diseases. A miner tells the ages of rows 0 and 1, which move into
    the classes of rows 4 and 5.
    """
    ids = [*range(6)]
    original = {
        "id": ids,
        "age": [20, 30, 40, 50, 20, 30],
        "ill": ["flu", "ulcer", "flu", "ulcer", "flu", "ulcer"],
    }
    given = {"id": ids, "age": ["[20, 50]"] * 4 + ["20", "30"], "ill": original["ill"]}
    # cells by low code and high code: 20 is 0, [20, 50] is 1, 30 is 2
    bad = anon.BadUtility("age", [says("two", [0, 2, 1, 1, 0, 2], feature=-1)])
    schema = anon.Schema(["age"], ["ill"])
    [attack] = anon.Scenario(original, schema, [given], bad=bad).run().bad
    # {0,1,2,3} half and half, {4} flu, {5} ulcer: A_know = (4*0 + 1/2 + 1/2)/6, A_acc = (2 + 1 + 1)/6 - 1/2
    assert attack.a_know == pytest.approx(1 / 6)
    assert attack.a_acc == pytest.approx(1 / 6)
    # {0,4} flu, {1,5} ulcer, {2,3} both: A_know = (2/2 + 2/2)/6, A_acc = (2 + 2 + 1)/6 - 1/2
    assert attack.a_know_filled == pytest.approx(1 / 3)
    assert attack.a_acc_filled == pytest.approx(1 / 3)
    assert (attack.worst, attack.worst_miner) == (2, "two")


# --- whole runs


def census(n: int = 400) -> pa.Table:
    return anon.datasets.census(n, 0).select(["age", "sex", "education", "income", "hours_per_week"])


# 20 and 50 do not nest, so that cuts are of numbers, and cells wide enough to be predicted nearer
pytestmark = pytest.mark.filterwarnings("ignore:.*do not nest:anon.PrivacyWarning")
AGE = anon.numeric("age", anon.intervals(5, 10, 20, 50))
SCHEMA = anon.Schema([AGE, "sex", "education"], ["income"], neutral="rest")
TEN = anon.Sanitization("k = 10", anon.Mondrian(), [anon.KAnonymity(10)], options={"numeric": "level"})
FEW = ["ZeroR", "naive Bayes", "decision stump"]


def scenario(table: Any, **more: Any) -> anon.Scenario:
    return anon.Scenario(
        table,
        SCHEMA,
        [TEN, anon.Identity(), anon.Suppress("sensitive")],
        good=[
            anon.GoodUtility("income", ["naive Bayes", "random forest"]),
            anon.GoodUtility("hours_per_week", ["linear regression"], "absolute-error"),
        ],
        bad=[anon.BadUtility.preset(name, "age", miners=FEW, number_miners=["ZeroR"]) for name in "ABC"],
        n_folds=5,
        **more,
    )


@pytest.fixture(scope="module")
def result() -> Any:
    return scenario(census()).run(n_threads=1)


def test_the_answer_depends_neither_on_threads_nor_on_the_order_of_rows(result: Any) -> None:
    assert scenario(census()).run(n_threads=2).to_dict() == result.to_dict()
    order = np.random.default_rng(3).permutation(400)
    shuffled = scenario(census().take(pa.array(order))).run(n_threads=1)
    for name, table in result.tables().items():
        if name != "chosen":
            assert shuffled.tables()[name] == table
    first, second = result.bad[6].chosen, order[shuffled.bad[6].chosen]
    by_name = [("age", "ascending"), ("sex", "ascending"), ("hours_per_week", "ascending")]
    same = [census().take(pa.array(rows)).sort_by(by_name).select(["age", "sex"]) for rows in (first, second)]
    assert same[0] == same[1]


def test_presets_differ_in_what_counts(result: Any) -> None:
    attacks = [each for each in result.bad if each.sanitization == "k = 10"]
    a, b, c = attacks
    assert [each.scenario for each in attacks] == ["A", "B", "C"]
    assert a.worst > b.worst
    assert (a.chosen, len(c.chosen)) == (None, 20)  # 5 % of 400
    for all_rows, some in zip(a.by_miner, c.by_miner, strict=True):
        assert some.u_bad <= all_rows.u_bad
        assert some.n_nearer == all_rows.n_nearer


def test_the_gains_of_a_release_are_its_own(result: Any) -> None:
    release = anon.anonymize(census(), SCHEMA, require=TEN.require, method=TEN.method, numeric="level")
    attack = result.bad[0]
    assert attack.a_know == pytest.approx(release.privacy().a_know)
    assert attack.a_acc == pytest.approx(release.privacy().a_acc)
    assert attack.a_know_filled is not None


def test_what_is_not_published_is_worth_nothing(result: Any) -> None:
    without = next(each for each in result.good if each.sanitization == "Suppress(what='sensitive')")
    assert [one.u_san for one in without.by_miner] == [0, 0]
    assert without.delta == 1
    assert without.by_miner[0].limits == ("the column is not published",)


def test_the_original_itself_declines_by_nothing(result: Any) -> None:
    kept = [each for each in result.good if each.sanitization == "Identity()"]
    assert [each.delta for each in kept] == [0, 0]
    attack = next(each for each in result.bad if each.sanitization == "Identity()")
    assert (attack.worst, attack.worst_miner) == (0, None)


def told(result: Any) -> dict[str, Any]:
    """All but the warnings, of which a table that was made elsewhere has none."""
    return {name: value for name, value in result.to_dict().items() if name != "warnings"}


def test_a_row_aligned_table_is_as_good_as_the_release_that_it_was() -> None:
    release = anon.anonymize(
        census(), SCHEMA, require=TEN.require, method=TEN.method, numeric="level", order="input"
    )
    arguments: dict[str, Any] = {"bad": anon.BadUtility("age", FEW), "good": anon.GoodUtility("income")}
    made = anon.Scenario(census(), SCHEMA, [TEN], **arguments).run()
    given = anon.Scenario(census(), SCHEMA, [anon.Sanitization("k = 10", table=release.table)], **arguments)
    assert told(given.run()) == told(made)
    # another tool's table says nothing about itself
    plain = release.table.replace_schema_metadata(None)
    given = anon.Scenario(census(), SCHEMA, [anon.Sanitization("k = 10", table=plain)], **arguments)
    assert given.run().good[0].by_miner[0].u_orig == made.to_dict()["declines"][0]["u_orig"]


@pytest.mark.parametrize(("original", "published"), [("uuuuvvvv", "uvuvuvuv"), ("uvuvuvuv", "uuuuvvvv")])
def test_the_gains_of_a_given_table_are_about_what_it_shows(original: str, published: str) -> None:
    # alone in two classes, u and v are guessed rightly, 1/2 of the time without them
    schema, bad = anon.Schema(["q"], ["s"]), anon.BadUtility("q", ["ZeroR"], ["ZeroR"])
    table, given = ({"q": list("aaaabbbb"), "s": list(letters)} for letters in (original, published))
    [attack] = anon.Scenario(table, schema, [given], bad=bad).run().bad
    measured = anon.check(given, schema)
    assert (attack.a_know, attack.a_acc) == (measured.a_know, measured.a_acc)
    assert attack.a_acc == (0.5 if published == "uuuuvvvv" else 0)
    # a missing value is one of its own where the original has it, a set of values is none
    lacking = {**table, "s": [*"uvuvuvu", None]}
    [attack] = anon.Scenario(lacking, schema, [{**given, "s": [*"uuuu", *[None] * 4]}], bad=bad).run().bad
    assert attack.a_acc == 0.5
    [attack] = anon.Scenario(table, schema, [{**given, "s": ["{u, v}", *"uuuvvvv"]}], bad=bad).run().bad
    assert attack.a_know is attack.a_acc is attack.a_acc_filled is None


def test_gains_of_numbers_are_about_those_shown() -> None:
    schema, bad = anon.Schema(["q"], ["s"]), anon.BadUtility("q", ["ZeroR"], ["ZeroR"])
    table, given = {"q": list("aabb"), "s": [1, 2, 1, 2]}, {"q": list("aabb"), "s": [7, 7, 8, 8]}
    [attack] = anon.Scenario(table, schema, [given], bad=bad).run().bad
    assert attack.a_acc == anon.check(given, schema).a_acc == 0.5


def test_gains_of_a_table_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    once = anon.measures.privacy.measure
    monkeypatch.setattr(
        anon.scenarios.attack, "measure", lambda *each, **more: measured.append(1) or once(*each, **more)
    )
    bad = [anon.BadUtility.preset(name, "age", miners=[ECHO], number_miners=[ECHO]) for name in "ABC"]
    anon.Scenario(census(), SCHEMA, [TEN], bad=bad).run()
    assert len(measured) == 1


def test_an_interval_is_not_exact_because_the_table_has_one_value_in_it() -> None:
    # 10, 20 and 31 are alone in [10, 15), [20, 25) and [30, 35)
    table = {"age": [10] * 4 + [20] * 4 + [31] * 4, "sex": ["F", "M"] * 6}

    def identity(*widths: int) -> Any:
        schema = anon.Schema([anon.numeric("age", anon.intervals(*widths)), "sex"])
        way = anon.Sanitization("levels", anon.Identity(), options={"numeric": "level"})
        bad = anon.BadUtility("age", ["ZeroR"], ["median"])
        [attack] = anon.Scenario(table, schema, [way], bad=bad).run().bad
        release = anon.anonymize(table, schema, method=anon.Identity(), numeric="level")
        return single_values(release.cells[0]).tolist(), attack.by_miner[0].miner

    assert identity(5, 10) == ([False] * 3, "ZeroR")  # intervals are classified
    assert identity(1, 5) == ([True] * 3, "median")  # numbers are not


@pytest.mark.opendp
@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_noise_is_attacked_by_regression_and_has_no_gains() -> None:
    bad = anon.BadUtility("age", number_miners=["ZeroR", "median"])
    [attack] = anon.Scenario(census(), SCHEMA, [anon.Laplace(0.1, {"age": (17, 99)})], bad=bad).run().bad
    # the noise is 820 wide: the mean of the noisy ages is nearer to nearly every age than the noisy age
    assert attack.worst > 300
    assert attack.a_know is attack.a_know_filled is None


def test_cross_fitting_keeps_a_miner_from_what_it_saw() -> None:
    # all ids differ: a tree that saw a row knows its cell, one that did not can only guess
    table = {"id": list(range(60)), "age": np.random.default_rng(0).permutation(60)}
    published = {"id": table["id"], "age": [f"[{age // 2 * 2}, {age // 2 * 2 + 1}]" for age in table["age"]]}
    remembered = []

    @dataclass
    class Memory:
        def fit(self, X: Any, y: Any) -> None:
            self.seen = dict(zip(X[:, 0], y, strict=True))

        def predict(self, X: Any) -> Any:
            remembered.append(sum(x in self.seen for x in X[:, 0]))
            return np.array([self.seen.get(x, 0) for x in X[:, 0]])

    miner = Miner("memory", "test", lambda seed: Memory())
    schema = anon.Schema(["id", "age"])
    for cross_fit, seen in ((False, [60]), (True, [0] * 10)):
        remembered.clear()
        bad = anon.BadUtility("age", [miner], cross_fit=cross_fit)
        anon.Scenario(table, schema, [published], bad=bad).run(n_threads=1)
        assert remembered == seen


def test_predictions_of_one_table_are_shared_by_its_scenarios() -> None:
    built = []

    def build(seed: int) -> Any:
        built.append(seed)
        return Echo()

    miners = [Miner("echo", "test", build)]
    bad = [anon.BadUtility.preset(name, "age", miners=miners) for name in "ABC"]
    anon.Scenario(census(), SCHEMA, [TEN], bad=bad).run()
    assert len(built) == 1


def test_no_repr_shows_a_cell(result: Any) -> None:
    table = {"id": [1, 2], "name": ["Ana", "Ben"]}
    made = anon.Scenario(table, anon.Schema(["id"]), [table], anon.GoodUtility("name"))
    text = f"{made} {made.sanitizations} {result} {result.bad}"
    assert "Ana" not in text
    assert "Scenario(1 sanitizations)" in text


def test_progress_is_told_by_miner() -> None:
    calls = []
    bad = anon.BadUtility("age", ["ZeroR", "naive Bayes"])
    anon.Scenario(census(), SCHEMA, [TEN], bad=bad).run(progress=lambda *each: calls.append(each))
    assert ("k = 10, age: ZeroR", 1, 1) in calls
    assert ("k = 10, age: naive Bayes", 1, 1) in calls


def test_a_miner_whose_time_is_spent_has_no_decline() -> None:
    slow = Miner("slow", "test", lambda seed: Says([0] * 400), seconds=1e-9)
    good = anon.GoodUtility("income", [slow, "naive Bayes"])
    [kept] = anon.Scenario(census(), SCHEMA, [TEN], good, n_folds=5).run(n_threads=1).good
    assert kept.by_miner[0].decline is None
    assert any("of 5 folds" in limit for limit in kept.by_miner[0].limits)
    assert kept.worst_miner == "naive Bayes"
    assert kept.statement.endswith("undefined for slow")


def test_suppressed_rows_and_missing_truth_add_nothing() -> None:
    table = {
        "id": list(range(8)),
        "age": [10, 20, None, 40, 50, 60, 70, 80],
        "ill": ["a", None, "b", "a", "b", None, "b", "a"],
    }
    schema = anon.Schema(["id", "age"], ["ill"])
    whole = anon.Sanitization("all", anon.Identity())
    part = anon.Sanitization("complete", anon.Identity(), options={"missing": "suppress"})
    # right everywhere: six rows have a true value, of which row 2 is suppressed for its age
    good = anon.GoodUtility("ill", [says("truth", [0, 9, 1, 0, 1, 9, 1, 0])])
    kept = anon.Scenario(table, schema, [whole, part], good, n_folds=8).run().good
    assert [each.by_miner[0].u_orig for each in kept] == [6, 6]
    assert [each.by_miner[0].u_san for each in kept] == [6, 5]


def test_results_are_arrow_tables_and_parquet_files(result: Any, tmp_path: Path) -> None:
    tables = result.tables()
    assert list(tables) == ["utility", "declines", "privacy", "antiutility", "chosen"]
    assert tables["privacy"].num_rows == 9
    assert tables["antiutility"].schema.field("n_nearer").type == pa.int64()
    result.write(tmp_path / "out")
    for name, table in tables.items():
        assert pq.read_table(tmp_path / "out" / f"{name}.parquet") == table
    json.dumps(result.to_dict(), allow_nan=False)


def test_a_report_gets_its_sections(result: Any) -> None:
    users, adversaries = sections(result)
    assert users.heading == "What users keep"
    assert len(users.paragraphs) == 6
    assert adversaries.tables[0].header[:3] == ("sanitization", "target", "scenario")
    assert len(adversaries.tables[0].rows) == 9


# --- what is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: anon.GoodUtility("x", error="precision"), "no-false-negatives"),
        (lambda: anon.GoodUtility("x", miners=["magic"]), "no miner is called 'magic'"),
        (lambda: anon.GoodUtility("x", miners=[]), "list of miners"),
        (lambda: anon.GoodUtility("x", miners=["ZeroR", "ZeroR"]), "a name of its own"),
        (lambda: anon.BadUtility("x", nearness=101), "from 0 to 100"),
        (lambda: anon.BadUtility("x", chosen=0), "share"),
        (lambda: anon.BadUtility("x", distance=3), "function"),
        (lambda: anon.BadUtility("x", cross_fit="yes"), "True or False"),
        (lambda: anon.BadUtility.preset("D", "x"), "the presets are A, B, C"),
        (lambda: anon.Sanitization("x", anon.Identity(), table={}), "not both"),
        (
            lambda: anon.Sanitization("x", anon.Identity(), options={"publish": "bucketization"}),
            "publish is none",
        ),
        (lambda: anon.Sanitization("x", anon.Anatomy(2)), "bucketization"),
        (lambda: anon.Scenario({}, SCHEMA, [anon.Identity()]), "a good utility, a bad one"),
        (lambda: anon.Scenario({}, SCHEMA, [], anon.GoodUtility("x")), "at least one sanitization"),
        (lambda: anon.Scenario({}, SCHEMA, [anon.Identity()] * 2, anon.GoodUtility("x")), "name of its own"),
        (lambda: anon.Scenario({}, SCHEMA, [anon.Identity()], good=[3]), "takes anon.GoodUtility"),
        (lambda: anon.scenarios.interest.CostMatrix([1]), "maps true labels"),
        (lambda: anon.scenarios.interest.AbsoluteError(0), "above 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"age": [1, 2]}, "2 rows and the original 400"),
        (lambda: anon.anonymize(census(), SCHEMA, method=anon.Suppress("quasi")).table, 'order="input"'),
        (lambda: anon.anonymize(census(), SCHEMA, method=anon.Suppress("quasi")), "give the release's table"),
    ],
)
def test_tables_that_are_not_row_aligned_are_refused(given: Any, message: str) -> None:
    table = given() if callable(given) else given
    with pytest.raises((DataError, UsageError), match=message):
        anon.Scenario(census(), SCHEMA, [table], bad=anon.BadUtility("age", FEW)).run()


def test_a_target_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="no column 'height'"):
        anon.Scenario(census(), SCHEMA, [TEN], bad=anon.BadUtility("height")).run()
    with pytest.raises(UsageError, match="does not predict labels"):
        anon.Scenario(census(), SCHEMA, [TEN], bad=anon.BadUtility("age", ["lasso"])).run()


# --- the command


JOB = """
input = "census.parquet"
quasi = ["age", "sex", "education"]
sensitive = ["income"]
seed = 1
folds = 4
neutral = "rest"
hierarchy = { age = "intervals:5,10,20,50" }

[[sanitization]]
name = "k = 10"
k = 10
method = "mondrian"
numeric = "level"

[[sanitization]]
table = "elsewhere.parquet"

[[good]]
target = "income"
miners = ["naive Bayes"]
error = "cost-matrix"
values = { ">50K" = { ">50K" = 1.0, "<=50K" = -0.25 }, "<=50K" = { "<=50K" = 1.0 } }
weight = "10 where sex=Female & age>=55"

[[bad]]
target = "age"
preset = "C"
chosen = 0.1
miners = ["ZeroR", "naive Bayes"]
number_miners = ["ZeroR"]
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    pq.write_table(census(), tmp_path / "census.parquet")
    pq.write_table(census(), tmp_path / "elsewhere.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


@pytest.mark.numba
def test_a_job_says_all_of_it(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", str(job), "--json", "-o", str(job.parent / "out")]) == 0
    printed = json.loads(capsys.readouterr().out)
    good = anon.GoodUtility(
        "income",
        ["naive Bayes"],
        CostMatrix({">50K": {">50K": 1.0, "<=50K": -0.25}, "<=50K": {"<=50K": 1.0}}),
        lambda x: 10.0 if x.sex == "Female" and x.age >= 55 else 1.0,
    )
    bad = anon.BadUtility("age", ["ZeroR", "naive Bayes"], ["ZeroR"], chosen=0.1, name="C")
    elsewhere = anon.Sanitization(str(job.parent / "elsewhere.parquet"), table=census())
    expected = anon.Scenario(census(), SCHEMA, [TEN, elsewhere], good, bad, n_folds=4, seed=1).run()
    assert printed == json.loads(json.dumps({"audience": "owner", **expected.to_dict()}))
    assert sorted(path.stem for path in (job.parent / "out").iterdir()) == sorted(expected.tables())


def of_table(table: Any, original: pa.Table | None = None) -> anon.ScenarioResult:
    return anon.Scenario(
        census() if original is None else original,
        SCHEMA,
        [anon.Sanitization("theirs", table=table)],
        good=anon.GoodUtility("income", ["ZeroR"]),
        n_folds=2,
    ).run()


def test_a_table_in_another_order_of_rows_is_refused_where_that_can_be_seen() -> None:
    hours = census().column("hours_per_week").to_numpy()
    order = np.arange(len(hours))
    order[7:] = np.roll(order[7:], 1)
    count = int(np.sum(hours[order] != hours))
    first = int(np.flatnonzero(hours[order] != hours)[0])
    with pytest.raises(DataError, match="theirs has the values of column 'hours_per_week'") as refused:
        of_table(census().take(order))
    assert (refused.value.column, refused.value.row, refused.value.count) == ("hours_per_week", first, count)
    assert f"{count} rows differ, the first of them row {first + 1};" in str(refused.value)
    # a type that holds the same values, a dictionary, missing values
    given = census().take(order)
    moved = given.column("hours_per_week")
    for same in (moved.cast(pa.int16()), moved.cast(pa.float64()), moved.dictionary_encode()):
        with pytest.raises(DataError, match="another order"):
            of_table(given.set_column(4, "hours_per_week", same))
    holes = pa.array([None if i % 5 == 0 else i % 7 for i in range(len(hours))])
    original = census().set_column(4, "hours_per_week", holes)
    assert not of_table(original, original).warnings
    with pytest.raises(DataError, match="another order"):
        of_table(original.take(np.arange(len(hours))[::-1]), original)


def test_a_table_that_swaps_sensitive_values_or_changes_them_is_taken() -> None:
    backwards = np.arange(400)[::-1]
    swapped = census().set_column(3, "income", census().column("income").take(backwards))
    [warning] = of_table(swapped).warnings
    assert warning.startswith("theirs has the values of column 'income' in another order: ")
    rounded = pa.array(np.round(census().column("hours_per_week").to_numpy(), -1))
    for changed in (
        census().set_column(4, "hours_per_week", rounded.take(backwards)),
        census().set_column(4, "hours_per_week", pa.array(["*"] * 400)),
        census().set_column(0, "age", census().column("age").take(backwards)),
        census().drop_columns(["hours_per_week"]),
    ):
        assert not of_table(changed).warnings


def test_sanitized_files_are_read_like_the_input(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["age;sex;education;income"]
    for row in census().to_pylist():
        lines.append(";".join(str(row[name]) for name in ("age", "sex", "education", "income")))
    (job.parent / "elsewhere.csv").write_bytes("\n".join([*lines, ""]).encode("utf-16"))
    written = JOB.replace("elsewhere.parquet", "elsewhere.csv").replace("census.parquet", "census.csv")
    (job.parent / "census.csv").write_bytes((job.parent / "elsewhere.csv").read_bytes())
    job.write_text('encoding = "utf-16"\ndelimiter = ";"\nnull = ["?"]\n' + written)
    assert main(["scenario", str(job)]) == 0
    # what says nothing to a Parquet file is not told to it
    job.write_text(job.read_text().replace("elsewhere.csv", "elsewhere.parquet"))
    assert main(["scenario", str(job), "-q"]) == 0


def test_a_job_says_how_its_input_is_read(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", str(job), "--json"]) == 0
    plain = capsys.readouterr().out
    job.write_text('engine = "stream"\nmemory = "64M"\nspill = "."\n' + JOB)
    assert main(["scenario", str(job), "--json"]) == 0
    assert capsys.readouterr().out == plain


def test_every_table_is_written(job: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["scenario", str(job), "-q", "-o", str(out)]) == 0
    assert pq.read_table(out / "chosen.parquet").num_rows
    job.write_text(JOB.replace("chosen = 0.1\n", "").replace('preset = "C"', 'preset = "A"'))
    assert main(["scenario", str(job), "-q", "-o", str(out)]) == 0
    assert pq.read_table(out / "chosen.parquet").num_rows == 0  # not those of the run before
    assert len(list(out.iterdir())) == 5


def test_a_report_is_written_and_told(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, out = job.parent / "scenario.html", job.parent / "out"
    assert main(["scenario", str(job), "--json", "--report", str(page), "-o", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["report"] == str(page)
    assert str(job) in document["origin"]["inputs"]
    assert len(document["origin"]["inputs"]) == 3
    assert len(document["origin"]["outputs"]) == 5
    html = page.read_text()
    assert "What adversaries gain" in html
    assert document["origin"]["inputs"][str(job)] in html


@pytest.mark.parametrize("name", ["nowhere/it.html", ".", "out/utility.parquet", "census.parquet"])
def test_a_report_that_cannot_be_is_refused_before_any_mining(
    job: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anon.Scenario, "run", lambda *each, **more: pytest.fail("mined"))
    (job.parent / "out").mkdir()
    asked = ["scenario", str(job), "-o", str(job.parent / "out"), "--report", str(job.parent / name)]
    assert main(asked) == 2


def test_the_command_prints_tables(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", str(job)]) == 0
    printed = capsys.readouterr().out
    for words in (
        "Utility decline",
        "Bad utility by miner",
        "naive Bayes",
        "-utility-preserving for 'income'",
    ):
        assert words in printed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('quasi = ["age", "sex", "education"]', "quasi = []", "neither quasi nor sensitive"),
        ("[[sanitization]]", "[sanitization]", "is not a TOML file"),
        ('input = "census.parquet"', "", "no input"),
        ("folds = 4", "folds = 1", "n_folds must be a whole number between"),
        ("folds = 4", "k = 4", "k is a key of a [[sanitization]]"),
        ("\nk = 10", "\nquasi = ['age']\nk = 10", "quasi is no key of a sanitization"),
        *(
            ("\nk = 10", f"\n{key} = {value}\nk = 10", f"{key} is no key of a sanitization")
            for key, value in (
                *(("engine", "'spark'"), ("grid", "['k=3']"), ("choose", "'max_p_loss=1'")),
                *(("cache", "'x'"), ("memory", "'4G'"), ("publish", "'generalization'")),
            )
        ),
        ("folds = 4", "output = 'x'", "output is a key of a [[sanitization]] or of other jobs"),
        ('table = "', 'k = 3\ntable = "', "not both"),
        ('error = "cost-matrix"', 'error = "accuracy"', "values is no parameter"),
        ('preset = "C"', 'preset = "D"', "bad.0.preset"),
        ('target = "age"', 'aim = "age"', "bad.0.aim: no such key"),
        ('target = "age"', 'traget = "age"', "bad.0.traget: no such key; did you mean 'target'?\n"),
        ("\nk = 10", "\nk = 10\nMethod = 'curve'", "0.Method: no such key; did you mean 'method'?"),
        ("10 where sex=Female & age>=55", "__import__('os')", "is no rule"),
        ("10 where sex=Female & age>=55", "10 where size=3", "'size'"),
        ('miners = ["naive Bayes"]', 'miners = ["C5"]', "no miner is called 'C5'"),
        ('miners = ["naive Bayes"]', 'miners = ["naive bayes"]', "did you mean 'naive Bayes' or"),
    ],
)
def test_jobs_that_make_no_sense_are_refused(
    job: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job.write_text(JOB.replace(old, new, 1))
    assert main(["scenario", str(job), "-o", str(job.parent / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (job.parent / "out").exists()


def test_an_input_is_never_written_over(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job.parent / "census.parquet").rename(job.parent / "privacy.parquet")
    job.write_text(JOB.replace("census.parquet", "privacy.parquet"))
    assert main(["scenario", str(job), "-o", str(job.parent)]) == 2
    assert "also an input" in capsys.readouterr().err


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="penalty must be a finite number"):
        NoFalseNegatives("yes", float("nan"))
    with pytest.raises(UsageError, match="finite numbers"):
        CostMatrix({"yes": {"no": float("inf")}})
