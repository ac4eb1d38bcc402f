# SPDX-License-Identifier: Apache-2.0
"""What a minimal method gives away, against plain enumeration of who may have which value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.attackers import posterior
from anon.attackers.minimality import replay
from anon.methods.quality import QualityName

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def at_most_half(counts: np.ndarray) -> np.ndarray:
    """Of value 1."""
    return np.asarray(2 * counts[:, 1] <= counts.sum(axis=1))


def test_the_values_of_the_definition() -> None:
    """Groups of 2 and 4 with 2 sensitive rows: 1 and 0 where it was a third; 2 and 2: a half, as before."""
    found = posterior([[0, 0, 1, 1, 1, 1]], [1, 1, 0, 0, 0, 0], at_most_half)
    assert found is not None
    assert found.exact
    assert found.after[:, 1].tolist() == [1, 1, 0, 0, 0, 0]
    assert found.before[1] == pytest.approx(1 / 3)
    assert found.gain == pytest.approx(2 / 3)
    assert found.chance == pytest.approx(1 / 15)
    even = posterior([[0, 0, 1, 1]], [1, 1, 0, 0], at_most_half)
    assert even is not None
    assert even.after[:, 1].tolist() == [0.5, 0.5, 0.5, 0.5]
    assert even.gain == 0
    assert repr(even) == "Posterior(rows=4, gain=0, exact=True)"


def test_k_alone_gives_nothing_away() -> None:
    found = posterior([[0, 1, 1, 1, 1, 1]], [1, 1, 0, 0, 0, 0], lambda counts: counts.sum(axis=1) >= 2)
    assert found is not None
    assert found.after[:, 1] == pytest.approx(np.full(6, 1 / 3))
    assert (found.chance, found.gain) == (1, pytest.approx(0))


def test_what_cannot_fail_was_made_for_another_reason() -> None:
    assert posterior([[0, 0, 1, 1]], [0, 0, 0, 1], lambda counts: np.ones(len(counts), bool)) is None
    with pytest.raises(anon.UsageError, match="4 values but 2 rows"):
        posterior([[0, 1]], [0, 0, 0, 1], at_most_half)


def slow(partitions: Sequence[Sequence[int]], values: Sequence[int], passes: Any) -> Any:
    """Every order of the values, one by one."""
    width = max(values) + 1
    hits, total, seen = 0, 0, np.zeros((len(values), width))
    for order in permutations(values):
        total += 1
        fails = True
        for parts in partitions:
            counts = np.zeros((max(parts) + 1, width), int)
            for part, value in zip(parts, order, strict=True):
                counts[part, value] += 1
            fails = fails and not passes(counts[sorted(set(parts))]).all()
        if fails:
            hits += 1
            seen[np.arange(len(values)), list(order)] += 1
    return None if not hits else (seen / hits, hits / total)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_small_classes_are_counted_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    values = [1, *rng.integers(0, 3, n - 1).tolist()]
    partitions = rng.integers(0, 3, (int(rng.integers(1, 4)), n)).tolist()
    found, expected = posterior(partitions, values, at_most_half), slow(partitions, values, at_most_half)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.exact
        assert found.after == pytest.approx(expected[0])
        assert found.chance == pytest.approx(expected[1])


def test_large_classes_are_drawn() -> None:
    """13 rows are drawn, 12 counted; both near what they must be."""
    for n, exact in ((12, True), (13, False)):
        parts, values = [[0] * 4 + [1] * (n - 4)], [1] * 4 + [0] * (n - 4)
        found = posterior(parts, values, at_most_half)
        assert found is not None
        assert found.exact is exact
        # the small part fails with 3 or 4 of the values, the large one never does
        ways = {3: 4 * (n - 4), 4: 1}
        expected = sum(i * w for i, w in ways.items()) / sum(ways.values()) / 4
        assert found.after[0, 1] == pytest.approx(expected, abs=1e-9 if exact else 0.02)
        again = posterior(parts, values, at_most_half)
        assert again is not None
        assert np.array_equal(again.after, found.after)


# --- releases


def test_mondrian_is_replayed() -> None:
    """Ages 1 1 2 2 2 2, not cut though k = 2: only if both of age 1 have the value that two people have."""
    table = pa.table({"age": [1, 1, 2, 2, 2, 2], "ill": list("yyabcd")})
    require = [anon.AlphaK(0.5, 2)]
    release = anon.anonymize(table, anon.Schema(["age"], ["ill"]), require=require, method=anon.Mondrian())
    asked: dict[str, Any] = {"attacks": ["minimality"]}
    [found] = anon.attack(table, release, **asked).attacks.values()
    assert found.facts == {
        **{"n_classes": 1, "n_replayed": 1, "n_exact": 1, "n_unknown": 0, "greatest": 1.0},
        **{"greatest_before": pytest.approx(1 / 3), "gain": pytest.approx(2 / 3)},
    }
    # the two of age 1 have y for certain; of the others a value of four, which is a by the least code
    assert (found.target.successes, found.naive.successes, found.target.tries) == (3, 2, 6)
    assert found.control is None
    assert "rises from 0.333 to 1" in found.words
    assert "in none of its classes" in found.words
    assert found.to_dict()["gain"] == found.facts["gain"]
    only_k = anon.anonymize(
        table, anon.Schema(["age"], ["ill"]), require=[anon.KAnonymity(4)], method=anon.Mondrian()
    )
    silent = anon.attack(table, only_k, **asked)
    assert silent.minimality is None
    assert ["k alone gives nothing away" in note for note in silent.notes] == [True]
    with pytest.raises(anon.UsageError, match="files do not have"):
        anon.attack(table, release.table, anon.Schema(["age"], ["ill"]), **asked)
    for other in (table.slice(1), table.set_column(1, "ill", pa.array(list("abcdyy")))):
        with pytest.raises(anon.UsageError, match="not the table that the release was made from"):
            anon.attack(other, release, **asked)
    held = anon.anonymize(
        anon.datasets.census(200, 1),
        anon.Schema(["age"], ["income"]),
        require=[anon.AlphaK(0.75, 3)],
        method=anon.Mondrian(),
        control=0.2,
    )
    tried = anon.attack(held, **asked).minimality
    assert tried is not None
    assert 0 < tried.target.tries <= 160


def test_more_classes_than_two() -> None:
    table = anon.datasets.census(150, 1)
    schema = anon.Schema(["age", "sex", anon.nominal("education")], ["income"])
    require = [anon.AlphaK(0.75, 3)]
    release = anon.anonymize(table, schema, require=require, method=anon.Mondrian())
    found = replay(release).facts
    assert found["n_replayed"] >= found["n_exact"] + found["n_unknown"] > 0
    assert 1 >= found["greatest"] > found["greatest_before"]
    assert replay(release).facts == found


def test_full_domain_is_replayed_as_a_whole() -> None:
    """Of all deals of values to rows, class by class, those in which the finer levels fail somewhere."""
    hierarchy = {"*": {"x": {"p": None, "q": None}, "y": {"r": None, "s": None}}}
    rows = ["p"] * 2 + ["q"] * 2 + ["r"] * 2 + ["s"] * 3
    ill = list("yynn" + "ynnyn")
    table = pa.table({"t": rows, "ill": ill})
    schema = anon.Schema([anon.nominal("t", hierarchy)], ["ill"])
    release = anon.anonymize(table, schema, require=[anon.AlphaK(0.7, 2)], method=anon.FullDomain())
    assert release.levels == (1,)
    found = replay(release).facts
    # twin: the classes {p, q} and {r, s}; a part fails with a share above 0.7 of either value
    parts = (0, 0, 1, 1), (0, 0, 1, 1, 1)
    classes = list("yynn"), list("ynnyn")

    def fails(side: int, order: Sequence[str]) -> bool:
        held: dict[int, list[str]] = {}
        for part, value in zip(parts[side], order, strict=True):
            held.setdefault(part, []).append(value)
        return any(max(each.count("y"), each.count("n")) > 0.7 * len(each) for each in held.values())

    seen = [dict.fromkeys(range(len(each)), 0) for each in parts]
    total = 0
    for both in product(*(list(permutations(each)) for each in classes)):
        if fails(0, both[0]) or fails(1, both[1]):
            total += 1
            for side, order in enumerate(both):
                for i, value in enumerate(order):
                    seen[side][i] += value == "y"
    chances = [each[i] / total for each in seen for i in each]
    greatest = max(max(chances), 1 - min(chances))
    assert found["greatest"] == pytest.approx(greatest)
    assert [found[name] for name in ("n_classes", "n_replayed", "n_exact", "n_unknown")] == [2, 2, 2, 0]
    shares = [0.5, 0.5, 0.4, 0.6]
    gains = [each[i] / total - share for each, share in zip(seen, (0.5, 0.4), strict=True) for i in each]
    losses = [share - each[i] / total for each, share in zip(seen, (0.5, 0.4), strict=True) for i in each]
    assert found["gain"] == pytest.approx(max(*gains, *losses))
    assert found["greatest_before"] == max(shares)


TREE = {"*": {"x": {"p": None, "q": None}, "y": {"r": None, "s": None}, "z": {"v": None}}}


def test_classes_left_out_change_nothing_for_the_others() -> None:
    """Who is left out is known by the quasi-identifiers, and the parts of the others failed all the same."""
    rows, ill = ["p"] * 2 + ["q"] * 2 + ["r"] * 2 + ["s"] * 3, list("yynn" + "ynnyn")
    schema = anon.Schema([anon.nominal("t", TREE)], ["ill"])
    whole, without = (
        anon.anonymize(
            pa.table({"t": [*rows, *more], "ill": [*ill, *("m" for _ in more)]}),
            schema,
            require=[anon.AlphaK(0.7, 2)],
            method=anon.FullDomain(),
            suppress=0.1,
        )
        for more in (["v"], [])
    )
    assert whole.left_out == {"classes that fail": 1}
    assert (whole.levels, without.levels) == ((1,), (1,))
    assert replay(whole).facts == replay(without).facts
    assert replay(whole).facts["gain"] > 0
    guess, before = replay(whole).guesses()
    assert (guess[9], before[9]) == (-1, -1)
    attacked = anon.attack(whole.encoded.table, whole, attacks=["minimality"]).minimality
    assert attacked is not None
    assert attacked.target.tries == 9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(get_args(QualityName)))
def test_what_is_true_is_never_ruled_out(seed: int, quality: QualityName) -> None:
    """With classes left out, by every quality: some part of a published class failed at finer levels."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 25))
    columns = {name: rng.choice(list("pqrsv"), n, p=[0.3, 0.3, 0.2, 0.1, 0.1]) for name in "tu"}
    table = pa.table({**columns, "ill": rng.choice(list("yn"), n, p=[0.4, 0.6])})
    schema = anon.Schema([anon.nominal(name, TREE) for name in "tu"], ["ill"])
    try:
        release = anon.anonymize(
            table,
            schema,
            require=[anon.AlphaK(0.7, 2)],
            method=anon.FullDomain(quality=quality),
            suppress=0.3,
        )
    except anon.InfeasibleError:
        return
    made = replay(release)
    for rows, one in made.found:
        if one.exact:
            assert (one.after[np.arange(len(rows)), made.codes[rows]] > 0).all()
    assert all(one.chance > 0 for _, one in made.found if len(made.found) == 1)


def test_rows_without_a_quasi_identifier_are_as_if_they_were_not_there() -> None:
    table = pa.table({"age": [1, 1, 2, 2, 2, 2, None], "ill": list("yynnnny")})
    schema = anon.Schema(["age"], ["ill"])
    asked = {"require": [anon.AlphaK(0.7, 2)], "method": anon.Mondrian(), "missing": "suppress"}
    whole, without = (anon.anonymize(each, schema, **asked) for each in (table, table.slice(0, 6)))
    assert whole.left_out == {"missing values": 1}
    assert replay(whole).facts == replay(without).facts
    assert replay(whole).facts["gain"] > 0


@pytest.mark.parametrize(
    ("asked", "why", "otherwise"),
    [
        (
            {"method": anon.Mondrian(), "require": [anon.AlphaK(0.7, 3)], "suppress": 0.1},
            "nobody's class is: anonymize without suppress=",
            {"suppress": 0},
        ),
        (
            {
                "method": anon.FullDomain(),
                "require": [anon.KAnonymity(3), anon.TCloseness(0.4)],
                "suppress": 0.2,
            },
            "what rows left out have in it: anonymize without suppress=",
            {"suppress": 0},
        ),
        (
            {"method": anon.FullDomain(iterate=0.1), "require": [anon.AlphaK(0.7, 3)], "suppress": 0.2},
            "leave out iterate=",
            {"method": anon.FullDomain()},
        ),
        (
            {"method": anon.Mondrian(), "require": [anon.AlphaK(0.7, 3)], "missing": "suppress"},
            "anonymize with missing=.category.",
            {"missing": "category"},
        ),
    ],
)
def test_a_refusal_names_the_way_out(asked: dict[str, Any], why: str, otherwise: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    ill = rng.choice(["y", "n"], 60).tolist()
    ages = np.where(np.arange(60) < 1, 1000, rng.integers(0, 40, 60))
    table = pa.table({"age": ages, "ill": [None if "missing" in asked else ill[0], *ill[1:]]})
    steps = anon.numeric("age", hierarchy=anon.intervals(10, 100))
    schema = anon.Schema([steps if isinstance(asked["method"], anon.FullDomain) else "age"], ["ill"])
    with pytest.raises(anon.UsageError, match=why):
        replay(anon.anonymize(table, schema, **asked))
    replay(anon.anonymize(table, schema, **(asked | otherwise)))


def test_what_cannot_be_replayed_says_so() -> None:
    table = pa.table({"age": [1, 1, 2, 2, 2, 2], "ill": list("yynnnn"), "job": list("ababab")})
    schema = anon.Schema(["age"], ["ill"])
    k2 = [anon.KAnonymity(2)]
    for method, why in (
        (anon.Curve(), "Curve does not cut where it can"),
        (anon.Mondrian(cuts="median"), "those at the median alone"),
        (anon.FullDomain(levels=(1,)), "levels were given"),
    ):
        with pytest.raises(anon.UsageError, match=why):
            replay(anon.anonymize(table, schema, require=k2, method=method))
    both = anon.Schema(["age"], ["ill", "job"])
    require = [anon.AlphaK(0.9, 2)]
    with pytest.raises(anon.UsageError, match="one sensitive attribute"):
        replay(anon.anonymize(table, both, require=require, method=anon.Mondrian()))
    with pytest.raises(anon.UsageError, match="no sensitive attribute"):
        replay(anon.anonymize(table, anon.Schema(["age"]), require=k2, method=anon.Mondrian()))
    one = [anon.AlphaK(0.9, 2, sensitive="ill")]
    assert replay(anon.anonymize(table, both, require=one, method=anon.Mondrian())).sensitive == "ill"
