# SPDX-License-Identifier: Apache-2.0
"""Sramka et al., "A Practice-oriented Framework for Measuring Privacy and Utility ...", PAIS 2010."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.datasets import ADULT_TREES
from anon.html import Figure, Section, Table
from anon.methods import KMembers, Laplace
from anon.papers import Results, Row, Setting, Tested, curves, printed_in, table_of
from anon.release import Release
from anon.requirements import KAnonymity
from anon.scenarios import (
    Antiutility,
    Attack,
    BadUtility,
    Decline,
    GoodUtility,
    Preservation,
    Sanitization,
    Scenario,
)
from anon.schema import Schema, intervals, nominal, numeric

AGE, EDUCATION, SALARY = "age", "education-num", "salary-class"
LABELS = ("workclass", "marital-status", "occupation", "race", "sex", "native-country")
FEW = (AGE, EDUCATION, "sex")  # quasi-identifiers that are not maximal
YEARS = {  # numbers of education in six groups: the other reading
    "*": {
        "no high school": {"primary": [1, 2, 3], "some secondary": [4, 5, 6, 7, 8]},
        "high school": {"graduate": [9], "some college": [10, 11, 12]},
        "degree": {"bachelor": [13], "postgraduate": [14, 15, 16]},
    }
}
KS = (2, 10, 50, 100)
EPSILONS = (0.5, 0.1, 0.05, 0.01)
BOUNDS = {AGE: (17, 99), EDUCATION: (1, 16)}
AGES = intervals(5, 10, 20, 50, 100)
SENSITIVITY = {AGE: 82, EDUCATION: 16}
USERS = {"NaiveBayes": "naive Bayes", "J48": "C4.5-like tree", "RandomForest": "random forest"}
SCENARIOS = ("A", "B", "C")
BY_K, BY_EPSILON = tuple(f"k = {k}" for k in KS), tuple(f"ε = {epsilon:g}" for epsilon in EPSILONS)
WAYS = (*BY_K, *BY_EPSILON)
ADVERSARIES = {  # of the reference sets those that the paper's have, by kind
    "miners": [
        *("ZeroR", "OneR", "decision stump", "few rules", "naive Bayes"),
        *("averaged one-dependence Bayes", "C4.5-like tree", "CART"),
        *("random tree", "random forest", "1 nearest neighbor", "linear SVM"),
    ],
    "number_miners": [
        *("ZeroR", "decision stump", "few rules", "regression tree", "linear regression"),
        *("robust regression", "RBF network"),
    ],
}
DRAWS = 10  # of noise
QUICK_MINERS = {
    "miners": ["ZeroR", "OneR", "naive Bayes", "CART"],
    "number_miners": ["ZeroR", "decision stump", "linear regression"],
}
FOLDS, QUICK_FOLDS = 10, 3

Users = Mapping[str, Preservation]
Attacks = Mapping[tuple[str, str], Attack]


@dataclass(frozen=True)
class Drawn:
    """Average and worst bad utility of each of several draws of noise."""

    averages: tuple[float, ...]
    worsts: tuple[float, ...]

    @property
    def average(self) -> float:
        return float(np.mean(self.averages))

    @property
    def worst(self) -> float:
        return float(np.mean(self.worsts))


Lost = Mapping[tuple[str, str], Attack | Drawn]
Test = Callable[[Attack | Drawn], float]


def run(setting: Setting) -> Results:
    """Tables 1 to 3."""
    complete = setting.adult_table().select([AGE, EDUCATION, *LABELS, SALARY])
    table = setting.sample(complete, 2_000)
    schema = _schema(table, AGE, EDUCATION, *LABELS)
    releases = {way: _k_members(setting, table, schema, k) for way, k in zip(BY_K, KS, strict=True)}
    few = _schema(table, *FEW)
    narrow = {way: _k_members(setting, table, few, k) for way, k in zip(BY_K, KS, strict=True)}
    compared = _scenario(setting, table, schema).run(n_threads=setting.n_threads, progress=setting.tell)
    users = {each.sanitization: each for each in compared.good}
    attacks = {(each.scenario, each.sanitization): each for each in compared.bad}
    drawn = _drawn(setting, table, schema, attacks)
    lost: Lost = {**attacks, **drawn}
    published = {name: entry["published"] for name, entry in printed_in("sramka2010")["figures"].items()}
    figures = _figures(complete, users, attacks, lost, published)
    other = _other_reading(setting, table)
    findings = {
        **_about_releases(complete, releases, narrow),
        **_about_users(users),
        **_about_adversaries(attacks, lost, users, table.num_rows),
        **_about_gains(attacks),
    }
    sections = (
        _data_section(table, releases),
        _users_section(users, figures, published),
        _adversaries_section(attacks, figures, published, table.num_rows),
        _gains_section(figures, published),
        _readings_section(other, figures, published),
    )
    ends = {
        f"{one} {name}, {way}": (min(values), max(values))
        for (one, way), each in drawn.items()
        for name, values in (("average", each.averages), ("worst", each.worsts))
    }
    return Results(figures, findings, sections, ends, {"hierarchies of ARX": other})


def _schema(table: pa.Table, *quasi: str) -> Schema:
    """Every attribute but age is published as its value or as *: no other hierarchy is printed."""
    trees = {name: {"*": sorted(pc.unique(table[name]).to_pylist())} for name in quasi if name != AGE}
    attributes = [
        numeric(name, AGES)
        if name == AGE
        else numeric(name, trees[name])
        if name == EDUCATION
        else nominal(name, trees[name])
        for name in quasi
    ]
    return Schema(attributes, [SALARY], neutral="rest")


def _grouped_schema(*quasi: str) -> Schema:
    """The other reading: the hierarchies that ARX ships, and educations in groups."""
    numbers = {AGE: numeric(AGE, AGES), EDUCATION: numeric(EDUCATION, YEARS)}
    attributes = [numbers.get(name) or nominal(name, ADULT_TREES.get(name)) for name in quasi]
    return Schema(attributes, [SALARY], neutral="rest")


def _drawn(
    setting: Setting, table: pa.Table, schema: Schema, attacks: Attacks
) -> dict[tuple[str, str], Drawn]:
    """Scenarios A, B and C with further draws of noise beside the first."""
    n_draws = 2 if setting.quick else DRAWS
    ways = {
        f"{way}, draw {i}": Sanitization(f"{way}, draw {i}", _noise(epsilon))
        for way, epsilon in zip(BY_EPSILON, EPSILONS, strict=True)
        for i in range(2, n_draws + 1)
    }
    further = Scenario(table, schema, list(ways.values()), bad=_adversaries(setting)).run(
        n_threads=setting.n_threads, progress=setting.tell
    )
    found = {(each.scenario, each.sanitization): each for each in further.bad}
    drawn = {}
    for one in SCENARIOS:
        for way in BY_EPSILON:
            each = [attacks[one, way], *(found[one, f"{way}, draw {i}"] for i in range(2, n_draws + 1))]
            drawn[one, way] = Drawn(tuple(a.average for a in each), tuple(a.worst for a in each))
    return drawn


def _noise(epsilon: float) -> Laplace:
    return Laplace(epsilon, BOUNDS, sensitivity=SENSITIVITY, clip=False)


def _adversaries(setting: Setting) -> list[BadUtility]:
    miners = QUICK_MINERS if setting.quick else ADVERSARIES
    return [BadUtility.preset(name, AGE, **miners) for name in SCENARIOS]


def _k_members(setting: Setting, table: pa.Table, schema: Schema, k: int) -> Release:
    return setting.anonymize(table, schema, KAnonymity(k), method=KMembers(loss="byun"), numeric="level")


def _scenario(setting: Setting, table: pa.Table, schema: Schema) -> Scenario:
    """The eight sanitizations, users of salary, and adversaries after ages in scenarios A, B and C."""
    clusters = [
        Sanitization(way, KMembers(loss="byun"), [KAnonymity(k)], options={"numeric": "level"})
        for way, k in zip(BY_K, KS, strict=True)
    ]
    noise = [Sanitization(way, _noise(epsilon)) for way, epsilon in zip(BY_EPSILON, EPSILONS, strict=True)]
    return Scenario(
        table,
        schema,
        [*clusters, *noise],
        GoodUtility(SALARY, tuple(USERS.values())),
        _adversaries(setting),
        n_folds=QUICK_FOLDS if setting.quick else FOLDS,
    )


# Figures


def _figures(
    complete: pa.Table, users: Users, attacks: Attacks, lost: Lost, published: Mapping[str, Any]
) -> dict[str, float]:
    declines = {way: 100 * (users[way].delta or 0.0) for way in WAYS}
    in_table_1 = {
        way: max(
            100 * (1 - float(published[f"{miner}, {way}"]) / float(published[f"{miner}, original"]))
            for miner in USERS
        )
        for way in WAYS
    }
    chosen = attacks["C", BY_K[0]].chosen
    assert chosen is not None
    return {
        "rows": complete.num_rows,
        "sensitivity of age": BOUNDS[AGE][1] - BOUNDS[AGE][0],
        "sensitivity of education": BOUNDS[EDUCATION][1] - BOUNDS[EDUCATION][0],
        **{f"{miner}, original": _decline(users[WAYS[0]], miner).u_orig for miner in USERS},
        **{f"{miner}, {way}": _decline(users[way], miner).u_san for miner in USERS for way in WAYS},
        **{f"decline, {way}": decline for way, decline in declines.items()},
        **{f"decline in table 1, {way}": decline for way, decline in in_table_1.items()},
        "decline in the text, k-anonymity": max(in_table_1[way] for way in BY_K),
        "greatest decline, k-anonymity": max(declines[way] for way in BY_K),
        "greatest decline, noise": max(declines[way] for way in BY_EPSILON),
        "chosen rows": len(chosen),
        **{f"{one} average, {way}": lost[one, way].average for one in SCENARIOS for way in WAYS},
        **{f"{one} worst, {way}": lost[one, way].worst for one in SCENARIOS for way in WAYS},
        **{name: gain for way in BY_K for name, gain in _gains(attacks["A", way]).items()},
    }


def _decline(preservation: Preservation, miner: str) -> Decline:
    return next(one for one in preservation.by_miner if one.miner == USERS[miner])


def _gains(attack: Attack) -> dict[str, float]:
    """A_acc and A_know of a release, and with the nearer predictions of the worst miner of scenario A."""
    way = attack.sanitization
    gains = {
        f"A_acc, {way}": attack.a_acc,
        f"A_acc with predictions, {way}": attack.a_acc_filled,
        f"A_know, {way}": attack.a_know,
        f"A_know with predictions, {way}": attack.a_know_filled,
    }
    return {name: float(gain) for name, gain in gains.items() if gain is not None}


# Findings


def _never_rises(values: Sequence[float]) -> bool:
    return bool(np.diff(values).max() <= 0 and values[-1] < values[0])


def _rises(values: Sequence[float]) -> bool:
    return bool(np.diff(values).min() > 0)


def _about_releases(
    complete: pa.Table, releases: Mapping[str, Release], narrow: Mapping[str, Release]
) -> dict[str, Tested]:
    ages, salaries = complete[AGE], pc.unique(complete[SALARY])
    present = set(pc.unique(ages).to_pylist())
    absent = [age for age in range(17, 100) if age not in present]
    smallest = {way: int(release.classes.sizes.min()) for way, release in releases.items()}
    suppressed = {way: len(release.classes.suppressed) for way, release in releases.items()}
    losses = {
        way: {
            f"NCP of {name} with {len(FEW)} and with all quasi-identifiers": [
                each.utility().by_attribute[name].ncp for each in (narrow[way], release)
            ]
            for name in FEW
        }
        for way, release in releases.items()
    }
    return {
        "ages": (
            not absent and present == set(range(17, 100)),
            {"least": min(present), "greatest": max(present), "absent": absent},
        ),
        "binary": (len(salaries) == 2, {"values": len(salaries)}),
        "at-least-k": (all(smallest[way] >= k for way, k in zip(BY_K, KS, strict=True)), smallest),
        "nothing-suppressed": (
            not any(suppressed.values()),
            {f"rows suppressed, {way}": n for way, n in suppressed.items()},
        ),
        "maximal": (
            all(few < every for by_name in losses.values() for few, every in by_name.values()),
            losses,
        ),
    }


def _about_users(users: Users) -> dict[str, Tested]:
    deltas = {way: users[way].delta or 0.0 for way in WAYS}
    of_k, of_noise = ([deltas[way] for way in ways] for ways in (BY_K, BY_EPSILON))
    higher = {
        f"{one.miner}, {way}": one.u_san - one.u_orig
        for way in BY_K
        for one in users[way].by_miner
        if one.u_san > one.u_orig
    }
    return {
        "negligible": (max(of_k) < 0.05, {way: deltas[way] for way in BY_K}),
        "k-costs": (_rises(of_k), {way: deltas[way] for way in BY_K}),
        "some-higher": (bool(higher), higher),
        "k-preserves": (round(100 * max(of_k), 2) <= 4.68, {"greatest decline": max(of_k)}),
        "noise-preserves": (round(100 * max(of_noise), 2) <= 1.87, {"greatest decline": max(of_noise)}),
        "noise-no-trend": (not _rises(of_noise), {way: deltas[way] for way in BY_EPSILON}),
        "noise-better": (
            max(of_noise) < max(of_k),
            {"greatest decline, k-anonymity": max(of_k), "greatest decline, noise": max(of_noise)},
        ),
    }


def _about_adversaries(attacks: Attacks, lost: Lost, users: Users, n_rows: int) -> dict[str, Tested]:
    measures: dict[str, Test] = {"average": lambda one: one.average, "worst": lambda one: one.worst}

    def series(scenario: str, ways: Sequence[str]) -> dict[str, list[float]]:
        return {
            f"{scenario} {name}": [of(lost[scenario, way]) for way in ways] for name, of in measures.items()
        }

    by_k = {name: values for one in SCENARIOS for name, values in series(one, BY_K).items()}
    noisy = {name: values for one in SCENARIOS for name, values in series(one, BY_EPSILON).items()}
    lower = {name: max(by_k[name]) < min(noisy[name]) for name in by_k}
    falling = {name: _never_rises(by_k[name]) for name in by_k if name[0] in "AC"}
    exact = sum(one.u_bad > 0 for way in BY_K for one in attacks["B", way].by_miner)
    spread = {name: max(v) / max(min(v), 1.0) - 1 for name, v in noisy.items() if name[0] in "AC"}
    share = {way: lost["A", way].worst / n_rows for way in BY_EPSILON}
    common = {
        f"{one} and {other}": max(share[one] + share[other] - 1, 0.0)
        for one, other in combinations(BY_EPSILON, 2)
    }
    turned = {
        f"{one} and {other}": [lost[scenario, way].worst for scenario in SCENARIOS for way in (one, other)]
        for one, other in combinations(WAYS, 2)
        if len({np.sign(lost[s, one].worst - lost[s, other].worst) for s in SCENARIOS} - {0}) > 1
    }
    declines = {name: max(users[way].delta or 0.0 for way in ways) for name, ways in _kinds().items()}
    better = {
        "smaller greatest decline": min(declines, key=declines.__getitem__),
        "smaller bad utility in A, B and C": "k-anonymity" if all(lower.values()) else "neither",
    }
    return {
        "k-better": (
            all(lower.values()),
            {
                name: {"greatest of k-anonymity": max(by_k[name]), "least of noise": min(noisy[name])}
                for name in by_k
            },
        ),
        "k-protects": (all(falling.values()), {name: by_k[name] for name in falling}),
        "noise-protects-exact": (
            all(_never_rises(values) for values in series("B", BY_EPSILON).values()),
            series("B", BY_EPSILON),
        ),
        "noise-the-same": (all(one <= 0.05 for one in spread.values()), spread),
        "same-population": (min(common.values()) >= 0.9, common),
        "k-never-exact": (exact == 0, {"miners with an exact prediction": exact}),
        "no-general-statement": (bool(turned), {"pairs": len(turned), **turned}),
        "depends": (
            better["smaller greatest decline"] == "noise" and all(lower.values()),
            better,
        ),
    }


def _kinds() -> dict[str, tuple[str, ...]]:
    return {"k-anonymity": BY_K, "noise": BY_EPSILON}


def _about_gains(attacks: Attacks) -> dict[str, Tested]:
    numbers = {}
    for way in BY_K:
        gains = _gains(attacks["A", way])
        for name in ("A_acc", "A_know"):
            numbers[f"{name}, {way}"] = {
                "released": gains[f"{name}, {way}"],
                "with predictions": gains[f"{name} with predictions, {way}"],
            }
    return {
        "gains-higher": (all(one["with predictions"] > one["released"] for one in numbers.values()), numbers)
    }


# The page


def _data_section(table: pa.Table, releases: Mapping[str, Release]) -> Section:
    rows = [
        {
            "release": way,
            "classes": release.classes.n_classes,
            "smallest class": int(release.classes.sizes.min()),
            "rows suppressed": len(release.classes.suppressed),
            "GCP": release.utility().gcp,
        }
        for way, release in releases.items()
    ]
    counts = sorted(
        ((str(one["values"]), int(one["counts"])) for one in pc.value_counts(table[SALARY]).to_pylist()),
        key=lambda pair: -pair[1],
    )
    return Section(
        "The data and the k-anonymous releases",
        (
            f"Whoever always predicts the more frequent salary is right in {counts[0][1]:,} of "
            f"{table.num_rows:,} rows: every count of table 1 is to be read beside it.",
        ),
        (
            Table("Salary", ("value", "rows", "share"), tuple((v, n, n / table.num_rows) for v, n in counts)),
            table_of("Releases by K-Members", rows),
        ),
    )


def _beside(
    title: str, labels: Mapping[str, str], columns: Sequence[str], figures: Any, published: Any
) -> Table:
    """Rows of figures named "row, column", published above measured."""
    rows = []
    for label, name in labels.items():
        rows.append((f"{name}, published", *[_plain(published.get(f"{label}, {one}")) for one in columns]))
        rows.append((f"{name}, measured", *[figures.get(f"{label}, {one}") for one in columns]))
    return Table(title, ("", *columns), tuple(rows))


def _plain(number: Any) -> float | int | None:
    return number if number is None or isinstance(number, int) else float(number)


def _users_section(users: Users, figures: Mapping[str, float], published: Mapping[str, Any]) -> Section:
    labels = {**{miner: miner for miner in USERS}, "decline": "greatest decline (%)"}
    signed = [
        {"k": k, "ε": epsilon, "miner": USERS[miner], "way": way, "change of utility (%)": change}
        for way, k, epsilon in _ways()
        for miner in USERS
        for change in [100 * (_decline(users[way], miner).u_san / _decline(users[way], miner).u_orig - 1)]
    ]
    return Section(
        "Table 1: good utility, salaries predicted right",
        (
            "Ten-fold cross-validation; each miner predicts salaries from the other published columns.",
            "The charts show how each miner's utility changes against the original; the greatest fall is δ.",
        ),
        (_beside("Table 1", labels, ("original", *WAYS), figures, published),),
        _two_charts("Utility", signed, "change of utility (%)", "miner"),
    )


def _ways() -> list[tuple[str, int | None, float | None]]:
    """Names, k and ε of all sanitizations."""
    return [
        *((way, k, None) for way, k in zip(BY_K, KS, strict=True)),
        *((way, None, epsilon) for way, epsilon in zip(BY_EPSILON, EPSILONS, strict=True)),
    ]


def _two_charts(title: str, rows: Sequence[Row], y: str, by: str, caption: str = "") -> tuple[Figure, ...]:
    """One chart over k and one over ε."""
    return tuple(
        curves(
            f"{title}, {kind}",
            [{x: row[x], y: row[y], by: row[by]} for row in rows if row["way"] in ways],
            x,
            y,
            by,
            caption,
            log_x=True,
        )
        for x, (kind, ways) in zip(("k", "ε"), _kinds().items(), strict=True)
        if any(row["way"] in ways for row in rows)
    )


def _adversaries_section(
    attacks: Attacks, figures: Mapping[str, float], published: Mapping[str, Any], n_rows: int
) -> Section:
    labels = {f"{one} {name}": f"{one}, {name}" for one in SCENARIOS for name in ("average", "worst")}
    worst = Table(
        "Worst miners",
        ("scenario", *WAYS),
        tuple((one, *[attacks[one, way].worst_miner or "none" for way in WAYS]) for one in SCENARIOS),
    )
    of = {"A": n_rows, "B": n_rows, "C": figures["chosen rows"]}
    rows: list[Row] = [
        {"k": k, "ε": epsilon, "way": way, "scenario": f"{one}, {name}", "share of the rows (%)": share}
        for one in SCENARIOS
        for name in ("average", "worst")
        for way, k, epsilon in _ways()
        for share in [100 * figures[f"{one} {name}, {way}"] / of[one]]
    ]
    return Section(
        "Table 2: bad utility, ages predicted nearer",
        (
            "How many of the rows that the adversary is after get an age nearer to the truth than the "
            "published one: all rows in A, chosen rows in C. In B only the true age counts. Average and "
            "worst are those of the miners.",
        ),
        (
            _beside("Table 2", labels, WAYS, figures, published),
            worst,
            *(
                _by_miner(f"Scenario {scenario} by miner, {kind}", [attacks[scenario, way] for way in ways])
                for scenario, kind, ways in (
                    ("A", "k-anonymity", BY_K),
                    ("A", "noise", BY_EPSILON),
                    ("B", "noise", BY_EPSILON),
                )
            ),
        ),
        (
            *_two_charts(
                "Nearer ages",
                [row for row in rows if row["scenario"][0] != "B"],
                "share of the rows (%)",
                "scenario",
                "Shares of all rows (A) and of the chosen rows (C). Those are drawn at random, so that both "
                "curves nearly agree.",
            ),
            *_two_charts(
                "Exact ages",
                [row for row in rows if row["scenario"][0] == "B" and row["way"] in BY_EPSILON],
                "share of the rows (%)",
                "scenario",
            ),
        ),
    )


def _by_miner(title: str, attacks: Sequence[Attack]) -> Table:
    def row(of_miner: Sequence[Antiutility]) -> tuple[Any, ...]:
        limits = dict.fromkeys(limit for one in of_miner for limit in one.limits)
        name = "\n".join((of_miner[0].miner, *(("; ".join(limits),) if limits else ())))
        return (name, *[one.u_bad for one in of_miner])

    columns = tuple(one.sanitization for one in attacks)
    ranked = sorted(
        zip(*[one.by_miner for one in attacks], strict=True),
        key=lambda of_miner: -sum(one.u_bad for one in of_miner),
    )
    return Table(title, ("miner", *columns), tuple(map(row, ranked)))


def _gains_section(figures: Mapping[str, float], published: Mapping[str, Any]) -> Section:
    labels = {
        f"{gain}{after}": f"{gain}{after}"
        for gain in ("A_acc", "A_know")
        for after in ("", " with predictions")
    }
    rows = [
        {"k": k, "ε": None, "way": way, "of": name, "gain": figures[f"{name}, {way}"]}
        for name in labels
        for way, k, _ in _ways()
        if k is not None
    ]
    return Section(
        "Table 3: adversarial gains before and after prediction",
        (
            "Gains of Brickell & Shmatikov on the release, and on the release in which the nearer ages "
            "predicted by the worst miner of scenario A stand in place of the published ones.",
        ),
        (_beside("Table 3", labels, BY_K, figures, published),),
        _two_charts("Gains", rows, "gain", "of"),
    )


def _other_reading(setting: Setting, table: pa.Table) -> dict[str, float]:
    """Gains of the releases by the other reading."""
    grouped = _grouped_schema(AGE, EDUCATION, *LABELS)
    gains: dict[str, float] = {}
    for way, k in zip(BY_K, KS, strict=True):
        privacy = _k_members(setting, table, grouped, k).privacy()
        for name, gain in (("A_acc", privacy.a_acc), ("A_know", privacy.a_know)):
            assert gain is not None
            gains[f"{name}, {way}"] = gain
    return gains


def _readings_section(
    other: Mapping[str, float], figures: Mapping[str, float], published: Mapping[str, Any]
) -> Section:
    rows = [
        {
            "gain": name,
            "published": float(published[name]),
            "value or *": figures[name],
            "hierarchies of ARX": gain,
        }
        for name, gain in other.items()
    ]
    return Section(
        "The other reading",
        (
            "No hierarchy but that of age is printed. Everything is measured with the one that adds nothing: "
            "every other attribute is published as its value, or as *. Beside it stand the gains with the "
            "hierarchies that ARX ships for the labels, and educations in six groups and three.",
        ),
        (table_of("Gains by hierarchies", rows),),
    )
