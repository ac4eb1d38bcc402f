# SPDX-License-Identifier: Apache-2.0
"""Classification utility: miners whose accuracy is known, and Brickell & Shmatikov's tables."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_utility import release_of

import anon
from anon.miners.miner import Miner
from anon.miners.sets import CATEGORY_MINERS
from anon.verbs.mining import BRICKELL_SHMATIKOV, mining_utilities

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

TREE = tuple(miner for miner in CATEGORY_MINERS if miner.name == "C4.5-like tree")


class Lookup:
    """Predicts the most frequent label of the same features in training, 0 for those not seen there."""

    def fit(self, X: Any, y: Any) -> None:
        self.known: dict[bytes, list[int]] = {}
        for row, label in zip(X, y, strict=True):
            self.known.setdefault(row.tobytes(), []).append(int(label))

    def predict(self, X: Any) -> Any:
        found = [self.known.get(row.tobytes(), [0]) for row in X]
        return [max(set(labels), key=labels.count) for labels in found]


LOOKUP = (Miner("lookup", "user", lambda seed: Lookup()),)


def coins(copies: int) -> dict[str, Any]:
    """Brickell & Shmatikov, section 7: all eight outcomes of three coins, so often."""
    r1, r2, r3 = (np.tile([bool(i & bit) for i in range(8)], copies) for bit in (4, 2, 1))
    return {
        "a1": r1,
        "a2": r2,
        "a3": [f"{a:d}{b:d}" for a, b in zip(r2, r3, strict=True)],
        "a4": r1 ^ r3,
        "a5": r1 ^ r2,
    }


def without_a2(table: dict[str, Any]) -> anon.Release:
    """Classes of equal a1: a2 is shown as *."""
    a1 = np.asarray(table["a1"])
    classes = [np.flatnonzero(a1 == value).tolist() for value in (False, True)]
    return release_of(table, ["a1", "a2"], classes, ["a3"])


# --- the artificial table of Brickell & Shmatikov 7


@pytest.mark.parametrize("target", ["a4", "a5"])
def test_the_table_of_section_7(target: str) -> None:
    """a_2 suppressed: the attacker gains nothing, and a_4 and a_5 are learned wholly."""
    release = without_a2(coins(40))
    privacy = release.privacy()
    assert (privacy.a_acc, privacy.a_know, privacy.delta) == (0, 0, 0)
    found = anon.mining_utility(release, target, miners=LOOKUP)
    assert (found.u_max, found.u_san, found.a_acc) == (1, 1, 0)
    assert found.predictors == ("a1", "a2", "a3", "a5" if target == "a4" else "a4")


@pytest.mark.parametrize(("target", "u_base", "base"), [("a4", 0.5, None), ("a5", 1, "sensitive")])
def test_the_trivial_releases_of_section_7(target: str, u_base: float, base: str | None) -> None:
    # without its like, a_4 = r1 xor r3 is independent of a_3, and of a_1 and a_2; a_5 = r1 xor r2 of a_3
    table = {name: column for name, column in coins(40).items() if name in ("a1", "a2", "a3", target)}
    found = anon.mining_utility(without_a2(table), target, miners=LOOKUP)
    assert found.u_san == 1
    assert found.u_base == pytest.approx(u_base, abs=0.15)
    assert base is None or found.base == base


def test_the_sensitive_attribute_of_section_7() -> None:
    # a_3 = (r2, r3) follows from a_1, a_4 and a_5; of a_4 and a_5 alone r2 xor r3, so that half is right
    found = anon.mining_utility(without_a2(coins(40)), "a3", miners=LOOKUP)
    assert (found.u_max, found.u_san, found.base) == (1, 1, "quasi")
    assert found.u_base == pytest.approx(0.5, abs=0.15)
    assert found.gain == found.u_san - found.u_base
    trees = anon.mining_utility(without_a2(coins(40)), "a3", miners=TREE)
    assert (trees.u_san, trees.best["u_san"]) == (1, "C4.5-like tree")


def test_coins_that_fall_as_they_like() -> None:
    rng = np.random.default_rng(8)
    r1, r2, r3 = rng.integers(0, 2, (3, 4000)).astype(bool)
    table = {"a1": r1, "a2": r2, "a3": 2 * r2 + r3, "a4": r1 ^ r3, "a5": r1 ^ r2}
    release = without_a2(table)
    privacy = release.privacy()
    assert privacy.a_acc is not None
    # four values of about 1000 rows in two classes: a share of 500 of 2000 strays by 0.01
    assert max(privacy.a_acc, privacy.a_know or 0) < 0.05
    for target in ("a4", "a5"):
        found = anon.mining_utility(release, target, miners=TREE, n_folds=5)
        assert found.u_san == 1


# --- what is mined, and what is counted


def test_utilities_by_hand() -> None:
    # q tells t: 1, 2 are x; 8, 9 are y. The release shows [1, 2] and [8, 9], the trivial one nothing;
    # of nothing the lookup says x where x is more frequent in training. Each row stands 10 times.
    table = {"q": [1, 2, 8, 9, 9] * 10, "t": list("xxyyy") * 10}
    schema = anon.Schema(["q"], neutral="rest")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(20)])
    found = anon.mining_utility(release, "t", miners=LOOKUP)
    assert (found.u_max, found.u_san, found.u_base, found.a_acc) == (1, 1, 0.6, None)
    # everything suppressed
    trivial = anon.anonymize(table, schema, method=anon.Suppress("quasi"))
    found = anon.mining_utility(trivial, "t", miners=LOOKUP)
    assert (found.u_san, found.u_base, found.gain, found.base) == (0.6, 0.6, 0, "quasi")


def test_identity_is_the_original() -> None:
    rng = np.random.default_rng(2)
    table = {"q": rng.integers(0, 30, 200), "n": rng.integers(0, 9, 200), "s": rng.choice(list("abc"), 200)}
    release = anon.anonymize(table, anon.Schema(["q"], ["s"]), method=anon.Identity())
    found = anon.mining_utility(release, "s", miners=CATEGORY_MINERS, n_folds=3)
    for one in found.by_miner.values():
        assert one.u_san == one.u_max


def test_folds_are_the_same_for_every_release() -> None:
    rng = np.random.default_rng(2)
    table = {"q": rng.integers(0, 30, 300), "t": rng.choice(list("ab"), 300), "s": rng.integers(0, 3, 300)}
    schema = anon.Schema(["q"], ["s"], neutral="rest")
    fine, coarse = (
        anon.mining_utility(anon.anonymize(table, schema, require=[anon.KAnonymity(k)]), "t", n_folds=4)
        for k in (5, 100)
    )
    for name, one in fine.by_miner.items():
        assert (one.u_max, one.u_base) == (coarse.by_miner[name].u_max, coarse.by_miner[name].u_base)


def test_releases_mined_together_are_mined_as_each_alone() -> None:
    rng = np.random.default_rng(2)
    table = {"q": rng.integers(0, 30, 300), "t": rng.choice(list("ab"), 300), "s": rng.integers(0, 3, 300)}
    schema = anon.Schema(["q"], ["s"], neutral="rest")
    releases = [
        anon.anonymize(table, schema, require=[anon.KAnonymity(5)]),
        anon.anonymize(table, schema, method=anon.Suppress("sensitive")),
    ]
    told: list[Any] = []
    together = mining_utilities(releases, "t", n_folds=3, progress=lambda *each: told.append(each))
    for release, found in zip(releases, together, strict=True):
        alone = anon.mining_utility(release, "t", n_folds=3)
        for name, one in found.by_miner.items():
            assert replace(one, seconds=0) == replace(alone.by_miner[name], seconds=0)
        assert replace(found, by_miner={}) == replace(alone, by_miner={})
    for one in together[1].by_miner.values():  # this release is the trivial one
        assert one.u_san == one.by_base["sensitive"]
        assert one.u_base == max(one.by_base["quasi"] or 0, one.by_base["sensitive"])
    # three tables and the release that shows something else, three miners, three folds
    assert len(told) == 4 * 3 * 3
    assert {stage.split(" on ")[1] for stage, _, _ in told} == {
        "the original",
        "no quasi-identifiers",
        "no sensitive attributes",
        "release 1 of 2",
    }


def test_releases_of_other_tables_are_mined_apart() -> None:
    table = {"q": [1, 2] * 4, "t": list("ab") * 4}
    other = {"q": [1, 2] * 4, "t": list("ba") * 4}
    first, second, third = (
        anon.anonymize(each, anon.Schema(quasi, neutral="rest"), require=[anon.KAnonymity(4)])
        for each, quasi in ((table, ["q"]), (other, ["q"]), (table, [anon.numeric("q", weight=2)]))
    )
    for releases in ([first, second], [first, third]):
        with pytest.raises(anon.UsageError, match="the same table with the same schema"):
            mining_utilities(releases, "t", miners=LOOKUP, n_folds=2)
    with pytest.raises(anon.UsageError, match="no release"):
        mining_utilities([], "t")


def test_neither_row_order_nor_threads_matter() -> None:
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "q": rng.integers(0, 30, 240),
            "f": rng.choice(list("abcd"), 240),
            "n": rng.normal(size=240).round(1),
            "s": rng.choice(list("xyz"), 240),
        }
    )
    schema = anon.Schema(["q", "f"], ["s"])
    shuffled = table.take(pa.array(rng.permutation(240)))
    results = [
        anon.mining_utility(
            anon.anonymize(each, schema, require=[anon.KAnonymity(4)], effort="fast"),
            "s",
            miners=CATEGORY_MINERS,
            n_folds=3,
            seed=1,
            n_threads=threads,
        )
        for each, threads in ((table, 1), (shuffled, 2))
    ]
    first, second = (
        {name: (one.u_max, one.u_san, one.u_base) for name, one in each.by_miner.items()} for each in results
    )
    assert first == second


def test_suppressed_rows_are_predicted_wrong() -> None:
    table = {"q": pa.array([1, 1, 1, 2, 2, 2, None, None]), "t": list("xxxyyyyy")}
    release = anon.anonymize(
        table, anon.Schema(["q"], neutral="rest"), require=[anon.KAnonymity(3)], missing="suppress"
    )
    found = anon.mining_utility(release, "t", miners=LOOKUP, n_folds=8)
    assert (found.u_max, found.u_san) == (1, 6 / 8)


def test_missing_labels_are_a_label() -> None:
    table = {"q": [1, 1, 1, 2, 2, 2], "t": pa.array(["x"] * 3 + [None] * 3)}
    release = anon.anonymize(table, anon.Schema(["q"], neutral="rest"), require=[anon.KAnonymity(3)])
    found = anon.mining_utility(release, "t", miners=LOOKUP, n_folds=6)
    assert (found.u_san, found.n_labels) == (1, 2)


def test_columns_that_no_miner_takes_are_named() -> None:
    table = {"q": [1, 2] * 4, "l": [[1]] * 8, "e": pa.nulls(8), "t": [True, False] * 4}
    release = anon.anonymize(table, anon.Schema(["q"], neutral="rest"), require=[anon.KAnonymity(4)])
    found = anon.mining_utility(release, "t", miners=LOOKUP, n_folds=2)
    assert (found.left_out, found.predictors) == (("l",), ("q", "e"))
    with pytest.raises(anon.UsageError, match=r"'l' of type list"):
        anon.mining_utility(release, "l")


def test_a_dropped_sensitive_attribute_is_no_predictor() -> None:
    # s is t; nothing else says anything
    table = {"q": [1] * 10, "s": list("ab") * 5, "t": list("ab") * 5}
    release = anon.anonymize(
        table, anon.Schema(["q"], ["s"], neutral="rest"), method=anon.Suppress("sensitive")
    )
    found = anon.mining_utility(release, "t", miners=LOOKUP, n_folds=5)
    assert (found.u_max, found.base, found.u_base) == (1, "quasi", 1)
    assert found.u_san is not None
    assert found.u_san < 1
    with pytest.raises(anon.UsageError, match="leaves 's' out"):
        anon.mining_utility(release, "s")


def test_folds_without_a_published_row_are_passed_over() -> None:
    # of 12 rows in 10 folds few are published; t is q for those
    table = {"q": [1, 1, 2, 2] + [None] * 8, "t": list("aabb") * 3}
    release = anon.anonymize(
        table, anon.Schema(["q"], neutral="rest"), method=anon.Identity(), missing="suppress"
    )
    found = anon.mining_utility(release, "t", miners=BRICKELL_SHMATIKOV, n_folds=10)
    assert found.u_san is not None
    assert 0 <= found.u_san <= 4 / 12
    alone = {"q": [1, *[None] * 11], "t": list("aabb") * 3}
    release = anon.anonymize(
        alone, anon.Schema(["q"], neutral="rest"), method=anon.Identity(), missing="suppress"
    )
    found = anon.mining_utility(release, "t", miners=LOOKUP, n_folds=10)
    assert (found.u_san, found.gain) == (None, None)
    assert "all rows lie in one fold" in found.by_miner["lookup"].limits


def test_releases_of_one_table_may_hold_not_a_number() -> None:
    def release(k: int, w: float = 0.5) -> anon.Release:
        table = {"q": [1, 2] * 4, "t": list("ab") * 4, "w": [math.nan, w] * 4}
        return anon.anonymize(table, anon.Schema(["q"], neutral="rest"), require=[anon.KAnonymity(k)])

    assert len(mining_utilities([release(2), release(4)], "t", miners=LOOKUP, n_folds=2)) == 2
    with pytest.raises(anon.UsageError, match="same table"):
        mining_utilities([release(2), release(4, 0.25)], "t", miners=LOOKUP, n_folds=2)


def test_limits_are_told() -> None:
    rng = np.random.default_rng(5)
    table = {"q": rng.integers(0, 9, 60), "t": rng.integers(0, 2, 60)}
    release = anon.anonymize(table, anon.Schema(["q"], neutral="rest"), require=[anon.KAnonymity(5)])
    mine = Miner("mine", "user", lambda seed: Lookup(), max_rows=20)
    found = anon.mining_utility(release, "t", miners=[mine], n_folds=3)
    assert found.by_miner["mine"].limits == ("fitted on 20 of 40 rows",)


def test_progress_is_told_by_table_and_miner() -> None:
    told: list[Any] = []
    table = {"q": [1, 2, 3, 4] * 2, "s": list("ab") * 4, "t": [True, False] * 4}
    release = anon.anonymize(table, anon.Schema(["q"], ["s"], neutral="rest"), require=[anon.KAnonymity(4)])
    anon.mining_utility(release, "t", miners=LOOKUP, n_folds=2, progress=lambda *each: told.append(each))
    assert [stage for stage, done, total in told if done == total == 2] == [
        "lookup on the original",
        "lookup on no quasi-identifiers",
        "lookup on no sensitive attributes",
        "lookup on the release",
    ]


def test_a_result_in_words_and_as_json() -> None:
    table = {"q": [1, 2] * 4, "s": list("ab") * 4}
    release = anon.anonymize(table, anon.Schema(["q"], ["s"]), require=[anon.KAnonymity(4)])
    found = anon.mining_utility(release, "s", miners=LOOKUP, n_folds=2)
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["target"], told["gain"], told["best"]["u_san"]) == ("s", found.gain, "lookup")
    assert told["by_miner"]["lookup"]["gain"] == found.by_miner["lookup"].gain
    assert repr(found).startswith("MiningUtility(target='s', u_max=")


@pytest.mark.parametrize(
    ("target", "options", "what"),
    [
        ("q", {}, "'q' is a quasi-identifier"),
        ("zz", {}, "no column 'zz'"),
        ("n", {}, "'n' has 300 values"),
        ("s", {"miners": []}, "miners"),
        ("s", {"miners": LOOKUP * 2}, "name of its own"),
        ("s", {"miners": [3]}, "miners"),
        ("s", {"n_folds": 1}, "n_folds"),
        ("s", {"n_folds": 301}, "n_folds"),
    ],
)
def test_what_cannot_be_mined(target: str, options: dict[str, Any], what: str) -> None:
    table = {"q": [1, 2] * 150, "n": list(range(300)), "s": list("ab") * 150}
    release = anon.anonymize(table, anon.Schema(["q"], ["s"], neutral="rest"), require=[anon.KAnonymity(4)])
    with pytest.raises((anon.UsageError, anon.DataError), match=what):
        anon.mining_utility(release, target, **options)


def test_a_bucketization_is_refused() -> None:
    release = anon.anonymize(
        {"q": [1, 2] * 4, "s": list("ab") * 4, "t": [1] * 8},
        anon.Schema(["q"], ["s"]),
        require=[anon.KAnonymity(4)],
        publish="bucketization",
    )
    with pytest.raises(anon.UsageError, match="bucketization does not say which row"):
        anon.mining_utility(release, "t")
    with pytest.raises(anon.UsageError, match="not Table"):
        anon.mining_utility(release.table, "t")


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize(
    ("quasi", "sensitive", "target", "u_base"),
    [
        # Brickell & Shmatikov 6.3 and figures 1 to 4: U_base by Weka
        (["age", "sex", "race"], "occupation", "marital-status", 0.6930),
        (["age", "sex", "race"], "occupation", "occupation", 0.3018),
        (["age", "occupation", "education"], "marital-status", "salary-class", 0.8073),
        (["age", "occupation", "education"], "marital-status", "marital-status", 0.5830),
    ],
)
def test_adult_as_in_the_paper(
    adult_dir: Path, quasi: list[str], sensitive: str, target: str, u_base: float
) -> None:
    names = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex"]
    table = anon.datasets.adult(adult_dir).select([*names, "native-country", "salary-class"])
    release = anon.anonymize(table, anon.Schema(quasi, [sensitive]), require=[anon.KAnonymity(10)])
    found = anon.mining_utility(release, target)
    assert found.u_base == pytest.approx(u_base, abs=0.005)
    assert set(found.by_miner) == {miner.name for miner in BRICKELL_SHMATIKOV}


@pytest.mark.opendp
def test_a_release_with_noise_is_refused() -> None:
    table = pa.table({"age": [20, 30, 40, 50], "income": ["low", "low", "high", "high"]})
    noisy = anon.anonymize(
        table, anon.Schema(["age"], ["income"]), method=anon.Laplace(1.0, bounds={"age": (0, 100)})
    )
    with pytest.raises(anon.UsageError, match="noise does not hold its original"):
        anon.mining_utility(noisy, "income")
