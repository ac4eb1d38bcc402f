# SPDX-License-Identifier: Apache-2.0
"""What more effort gives: never more loss than Mondrian, and nearly the least where that is known."""

from __future__ import annotations

import itertools
import random
import statistics
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon.encoding import encode
from anon.engines import balanced_instead, make
from anon.measures.loss import cell_loss
from anon.methods import chosen
from anon.pages import of_release
from reference import curve as slow

LEAVES = "abcdefgh"
TREE = {"*": {"P": {"p": ["a", "b"], "q": ["c", "d"]}, "Q": ["e", "f", "g"], "R": ["h"]}}


def a_case(rng: random.Random, n: int, least_k: int = 2) -> tuple[pa.Table, anon.Schema, list[Any]]:
    """A table, its schema (trees, prefixes, plain sets, orders, numbers; some with nulls), and demands."""
    missing = rng.choice([0.0, 0.0, 0.1])
    columns: dict[str, list[Any]] = {}
    quasi: list[Any] = []
    for number in range(rng.randint(1, 5)):
        name, kind = f"q{number}", rng.choice(["tree", "prefix", "set", "order", "number"])
        skew = rng.choice([1.0, 3.0])
        if kind == "number":
            draw = [round(60 * rng.random() ** skew) for _ in range(n)]
            hierarchy = rng.choice([None, anon.intervals(5, 20)])
            quasi.append(anon.numeric(name, hierarchy=hierarchy))
        elif kind == "prefix":
            draw = [f"{int(400 * rng.random() ** skew):03}" for _ in range(n)]
            quasi.append(anon.nominal(name, hierarchy=anon.prefix(2, 1)))
        else:
            draw = [LEAVES[int(8 * rng.random() ** skew)] for _ in range(n)]
            trees = {"tree": anon.nominal(name, hierarchy=TREE), "order": anon.ordinal(name, list(LEAVES))}
            quasi.append(trees.get(kind, anon.nominal(name)))
        columns[name] = [None if rng.random() < missing else value for value in draw]
    columns["ill"] = rng.sample([("flu", "flu", "cold", "gout")[i % 4] for i in range(n)], n)
    k = rng.choice([least_k, 3, 5])
    require = [anon.KAnonymity(k)]
    require += rng.choice([[], [], [anon.LDiversity(1.7)], [anon.TCloseness(0.2)]])
    return pa.table(columns), anon.Schema(quasi=quasi, sensitive=["ill"]), require


def gcp_of(table: pa.Table, schema: anon.Schema, require: list[Any], **how: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        release = anon.anonymize(table, schema, require=require, n_threads=1, **how)
    return float(release.utility().gcp)


@pytest.mark.parametrize("n_cases", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_the_default_never_loses_more_than_mondrian(n_cases: int) -> None:
    ratios = []
    for seed in range(n_cases):
        rng = random.Random(seed)
        case = a_case(rng, rng.choice([40, 120]))
        simple = gcp_of(*case, effort="fast")
        balanced = gcp_of(*case)
        assert balanced <= simple * (1 + 1e-7), seed
        ratios.append(balanced / simple if simple else 1.0)
    print(f"\nGCP of balanced over Mondrian's, {n_cases} schemas: median {statistics.median(ratios):.3f}")
    assert statistics.median(ratios) < 0.95


PEOPLE = anon.datasets.census(300, seed=2)
ROLES = anon.Schema(quasi=["age", "sex", "race"], sensitive=["occupation"])


def made_with(source: Any = PEOPLE, **how: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(source, ROLES, require=[anon.KAnonymity(5)], **how)


def test_an_effort_stands_for_a_method() -> None:
    meant = {
        None: anon.Curve(),
        "fast": anon.Mondrian(),
        "balanced": anon.Curve(),
        "best": anon.Curve("best"),
    }
    for effort, method in meant.items():
        release = made_with(effort=effort)
        assert release.method == method
        assert release.effort == release.summary()["effort"] == (effort or "balanced")
    assert "effort" not in made_with(method=anon.KMembers()).summary()


@pytest.mark.parametrize(("n", "off"), [(1_500, 0.02), (9_000, 0.1)])
def test_fast_says_what_balanced_would_have_lost(n: int, off: float) -> None:
    """Of few rows all are looked at, of more some whole classes with all their rows."""
    table, schema = anon.datasets.census(n, seed=4), anon.datasets.census_schema()
    require = [anon.KAnonymity(5), anon.LDiversity(3, sensitive="occupation")]
    encoded = encode(table, schema)
    fast, balanced = (make(encoded, method, require).release() for method in (anon.Mondrian(), anon.Curve()))
    estimate = balanced_instead(fast)
    assert estimate is not None
    assert estimate.n_rows == n if n < 4096 else 3_500 < estimate.n_rows < 5_000
    truth = cell_loss(balanced.published).gcp / cell_loss(fast.published).gcp
    assert estimate.share == pytest.approx(truth, rel=off)


def test_the_report_of_fast_names_balanced() -> None:
    fast = made_with(effort="fast")
    report = of_release(fast)
    facts = report.facts["balanced"]
    assert facts["gcp"] == pytest.approx(facts["share"] * fast.utility().gcp)
    assert facts["gcp"] == pytest.approx(made_with().utility().gcp, rel=0.02)
    assert "'balanced' would have lost about" in " ".join(report.sections[0].paragraphs)


def test_others_say_nothing_of_balanced() -> None:
    assert of_release(made_with()).facts["balanced"] is None
    assert of_release(made_with(method=anon.KMembers())).facts["balanced"] is None
    units = anon.Schema(quasi=["age", "sex"], unit="postcode")
    release = anon.anonymize(PEOPLE, units, require=[anon.KAnonymity(3)])
    assert of_release(release).facts["balanced"] is None


def test_large_classes_are_recut_too() -> None:
    table, schema = anon.datasets.census(3000, seed=3), anon.datasets.census_schema()
    simple, balanced = (gcp_of(table, schema, [anon.KAnonymity(300)], effort=e) for e in ("fast", "balanced"))
    assert balanced < 0.95 * simple


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"effort": "quick"}, "use 'fast', 'balanced' or 'best'"),
        ({"effort": "best", "method": anon.Mondrian()}, "leave out one of the two"),
    ],
)
def test_efforts_that_make_no_sense_are_refused(how: Any, words: str) -> None:
    with pytest.raises(anon.UsageError, match=words):
        made_with(**how)


def test_of_a_table_that_stays_in_its_files_fast_is_made(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    source = anon.read_source(tmp_path / "people.parquet", engine="stream")
    assert made_with(source).effort == made_with(source, effort="fast").effort == "fast"
    assert made_with(source, method=anon.Curve()).effort == "balanced"
    with pytest.raises(
        anon.UsageError, match="effort='best' cannot be made of a table that stays in its files"
    ):
        made_with(source, effort="best")


def test_on_spark_fast_is_made() -> None:
    assert chosen(None, None, "on Spark") == anon.Mondrian()
    with pytest.raises(anon.UsageError, match="effort='balanced' cannot be made on Spark") as refusal:
        chosen(None, "balanced", "on Spark")
    assert "--effort balanced cannot be made on Spark" in refusal.value.in_flags


def least_loss(of: list[slow.Attribute], table: list[list[int]], k: int) -> int:
    """Of all partitions into classes of k..2k-1 rows.

    By the least loss of every set of rows (a bit for each) that some classes make up, the next class being
    one of the first row outside.
    """
    n = len(table)
    best = np.full(1 << n, 2**62, np.int64)
    best[0] = 0
    sets = np.arange(1 << n)
    for first in range(n):
        before = (1 << first) - 1
        open_sets = sets[((sets & (2 * before + 1)) == before) & (best < 2**62)]
        for size in range(k, min(2 * k, n - first + 1)):
            for more in itertools.combinations(range(first + 1, n), size - 1):
                rows = (first, *more)
                group = sum(1 << row for row in rows)
                apart = open_sets[(open_sets & group) == 0]
                together = best[apart] + slow.loss(of, table, rows)
                best[apart | group] = np.minimum(best[apart | group], together)
    return int(best[-1])


@pytest.mark.parametrize(("n", "n_cases"), [(10, 12), pytest.param(18, 100, marks=pytest.mark.slow)])
def test_best_ends_near_the_optimum(n: int, n_cases: int) -> None:
    ratios = []
    for seed in range(n_cases):
        rng = random.Random(seed)
        of: list[slow.Attribute] = [(8, 1.0, [float(i) for i in range(8)], None), (6, 1.0, None, None)]
        table = pa.table(
            {
                "x": [*range(8), *(rng.randrange(8) for _ in range(n - 8))],
                "y": list("abcdef"[:6]) + [rng.choice("abcdef") for _ in range(n - 6)],
            }
        )
        encoded = encode(table, anon.Schema(quasi=[anon.ordinal("x", list(range(8))), anon.nominal("y")]))
        rows = np.column_stack(encoded.quasi_codes).tolist()
        made = make(encoded, anon.Curve("best"), [anon.KAnonymity(3)])
        ours = sum(
            slow.loss(of, rows, made.classes.rows[start:end].tolist())
            for start, end in itertools.pairwise(made.classes.offsets)
        )
        ratios.append(ours / least_loss(of, rows, 3))
    mean, most = statistics.mean(ratios), max(ratios)
    print(f"\nLoss of best over the optimum, {n_cases} tables of {n} rows: mean {mean:.4f}, most {most:.3f}")
    assert min(ratios) >= 1 - 1e-9
    assert mean <= 1.03


def test_rounded_ends_leave_no_estimate() -> None:
    rounded = anon.Schema(quasi=[anon.numeric("age", ends=10), "sex"])
    release = anon.anonymize(PEOPLE, rounded, require=[anon.KAnonymity(5)], effort="fast")
    assert balanced_instead(release) is None
