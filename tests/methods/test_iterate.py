# SPDX-License-Identifier: Apache-2.0
"""Local recoding in rounds: ARX's rounds, those of plain enumeration, and what the release shows."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from reference import lattice as slow

AGES = [*range(21, 25), *range(31, 35), 41, 65]
MICRO = pa.table({"age": [str(age) for age in AGES], "sex": list("MMFFMFFFMM")})
AGE_TREE = {
    "*": {
        "young": {"20s": ["21", "22", "23", "24"], "30s": ["31", "32", "33", "34"]},
        "old": {"40+": ["41", "65"]},
    }
}
MICRO_SCHEMA = anon.Schema([anon.nominal("age", AGE_TREE), "sex"])

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def rounds_of(release: anon.Release) -> list[tuple[tuple[int, ...], int]]:
    return [(each.levels, each.n_rows) for each in release.lattice.rounds]


def test_ten_rows_in_the_rounds_of_arx() -> None:
    release = anon.anonymize(
        MICRO,
        MICRO_SCHEMA,
        require=[anon.KAnonymity(2)],
        method=anon.FullDomain(iterate=0.1),
        suppress=0.1,
    )
    assert rounds_of(release) == [((0, 0), 0), ((1, 0), 9)]
    told = release.lattice.to_dict()
    assert (told["score"], told["suppressed"]) == (pytest.approx(41 / 180, abs=1e-9), 1)
    assert release.levels is None
    assert Counter(release.table["age"].to_pylist()) == {"20s": 4, "30s": 3, "40+": 2}


@pytest.mark.adult
def test_adult_in_the_rounds_of_arx(adult_dir: Path, tmp_path: Path) -> None:
    names = ("age", "sex", "race")
    table = anon.datasets.adult(adult_dir).select(names)
    schema = anon.Schema([anon.nominal(name, adult_dir / "hierarchies" / f"{name}.csv") for name in names])
    method = anon.FullDomain(iterate=0.01, domain="file")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(10)], method=method)
    assert rounds_of(release) == [((0, 0, 0), 44_165), ((1, 0, 0), 931), ((4, 0, 1), 126)]
    assert release.lattice.to_dict()["score"] == pytest.approx(0.0021347734, abs=5.1e-11)
    assert release.privacy().k == 10
    release.write(tmp_path / "out.csv")
    assert anon.check(tmp_path / "out.csv", anon.Schema(names)).k == 10


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Up to three columns, trees of two levels above some of them, nulls, and a sensitive column."""
    n = draw(st.integers(1, 24))
    columns, trees = {}, []
    for a in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 5))
        values = st.integers(0, size - 1).map(str)
        columns[f"q{a}"] = [draw(st.one_of(st.none(), values) if a else values) for _ in range(n)]
        columns[f"q{a}"][0] = "0"
        trees.append({"*": {f"g{g}": [str(v) for v in range(6) if v % 2 == g] for g in range(2)}})
        if draw(st.booleans()):
            trees[-1] = None
    columns["s"] = [draw(st.sampled_from("xyz")) for _ in range(n)]
    return {
        "table": pa.table(columns),
        "trees": trees,
        "weights": [float(draw(st.integers(1, 3))) for _ in trees],
        "share": draw(st.sampled_from([0.01, 0.2, 0.5, 1])),
        "k": draw(st.integers(1, 4)),
        "rule": draw(st.sampled_from(["", "distinct", "share", "equal"])),
    }


def ladders_of(case: dict[str, Any], rows: list[tuple[Any, ...]]) -> list[list[dict[Any, str]]]:
    """By level the label of each value; null is one of its own below the last level."""
    ladders = []
    for a, tree in enumerate(case["trees"]):
        values = {row[a] for row in rows} - {None}
        steps = [{v: v for v in values}, {v: f"g{int(v) % 2}" for v in values}, dict.fromkeys(values, "*")]
        if tree is None:
            del steps[1]
        ladders.append(steps)
    return ladders


def demanded(case: dict[str, Any]) -> tuple[list[Any], Any]:
    """What is required, and the same as a test of row numbers; what looks at the table comes at the end."""
    secret, k = case["table"]["s"].to_pylist(), case["k"]
    require: list[Any] = [anon.KAnonymity(k)]
    more = {
        "distinct": anon.LDiversity(2, kind="distinct"),
        "share": anon.LDiversity(1.5),
        "equal": anon.TCloseness(0.3, distance="equal"),
    }
    require += [more[case["rule"]]] if case["rule"] else []

    def passes(rows: list[int], table: list[int]) -> bool:
        counts = Counter(secret[i] for i in rows)
        return len(rows) >= k and {
            "distinct": len(counts) >= 2,
            "share": Fraction(max(counts.values()), len(rows)) <= Fraction(2, 3),
        }.get(case["rule"], True)

    return require, passes


@settings(max_examples=60, deadline=None)
@given(tables())
def test_the_rounds_are_those_of_enumeration(case: dict[str, Any]) -> None:
    names = [name for name in case["table"].column_names if name != "s"]
    rows = list(zip(*(case["table"][name].to_pylist() for name in names), strict=True))
    ladders = ladders_of(case, rows)
    # of the twin null is a value: one of its own, that is lost with the others at the last level
    for a, steps in enumerate(ladders):
        if any(row[a] is None for row in rows):
            for step in steps:
                step[None] = "missing"
            steps[-1][None] = steps[-1][rows[0][a]]
    require, passes = demanded(case)
    least = max(1, math.ceil(Fraction(str(case["share"])) * len(rows)))
    expected, left = slow.iterated(rows, ladders, passes, case["weights"], least)
    schema = anon.Schema(
        [
            anon.nominal(name, tree, weight)
            for name, tree, weight in zip(names, case["trees"], case["weights"], strict=True)
        ],
        ["s"],
    )
    method = anon.FullDomain(iterate=case["share"])
    try:
        release = anon.anonymize(case["table"], schema, require=require, method=method, suppress=0.999)
    except anon.InfeasibleError:
        assert len(left) == len(rows) or not passes(list(range(len(rows))), [])
        return
    assert rounds_of(release) == [(node, len(some)) for node, some in expected]
    assert release.classes.suppressed.tolist() == left
    if case["rule"] == "equal":  # may have merged some
        assert release.privacy().by_sensitive["s"].t_equal <= 0.3 + 1e-12
        return
    looks = {
        i: tuple(ladders[a][g][rows[i][a]] for a, g in enumerate(node))
        for node, some in expected
        for i in some
    }
    assert sorted(Counter(looks.values()).values()) == sorted(release.classes.sizes.tolist())
