# SPDX-License-Identifier: Apache-2.0
"""Persons, not rows: what k, l and t count where a schema names a unit."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main

QUASI = ["age", "sex", "ward"]
DIAGNOSES = ["flu", "cold", "hiv", "cancer", "asthma"]


def visits(n_persons: int = 300, seed: int = 0, most: int = 30) -> pa.Table:
    """Hospital visits: some persons have many, and all have the same age, sex and (mostly) ward."""
    rng = np.random.default_rng(seed)
    n_visits = np.minimum(rng.geometric(0.15, n_persons), most)
    person = rng.permutation(np.repeat(np.arange(n_persons), n_visits))
    ward = rng.choice(list("abcdef"), n_persons)[person]
    elsewhere = rng.random(len(person)) < 0.1
    ward[elsewhere] = rng.choice(list("abcdef"), int(elsewhere.sum()))
    return pa.table(
        {
            "patient_id": person,
            "age": rng.integers(18, 90, n_persons)[person],
            "sex": rng.choice(["f", "m"], n_persons)[person],
            "ward": ward,
            "diagnosis": rng.choice(DIAGNOSES, len(person), p=[0.4, 0.3, 0.1, 0.1, 0.1]),
        }
    )


def persons_of(release: anon.Release, table: pa.Table) -> list[set[int]]:
    """The persons of each class, from the row numbers that the release was made of."""
    ids = table["patient_id"].to_numpy()
    offsets = release.classes.offsets
    return [set(ids[release.classes.rows[a:b]]) for a, b in pairwise(offsets)]


def shares(release: anon.Release, table: pa.Table) -> list[Fraction]:
    """The greatest share of a diagnosis in each class, each person counted once for each."""
    ids, values = table["patient_id"].to_pylist(), table["diagnosis"].to_pylist()
    offsets, found = release.classes.offsets, []
    for a, b in pairwise(offsets):
        pairs = {(ids[row], values[row]) for row in release.classes.rows[a:b]}
        counts = [sum(value == each for _, value in pairs) for each in DIAGNOSES]
        found.append(Fraction(max(counts), sum(counts)))
    return found


def schema(**more: Any) -> anon.Schema:
    return anon.Schema(QUASI, ["diagnosis"], **more)


def test_classes_of_rows_may_be_one_person() -> None:
    """The state of affairs that the unit ends: k = 10 and l = 2 of rows, and what they are of persons."""
    table = visits()
    require = [anon.KAnonymity(10), anon.LDiversity(2, kind="distinct")]
    with pytest.warns(anon.PrivacyWarning, match="patient_id") as caught:
        release = anon.anonymize(table, schema(identifying=["patient_id"]), require=require, effort="fast")
    persons = persons_of(release, table)
    alone, few = (sum(len(each) <= most for each in persons) for most in (1, 9))
    assert (alone, few, len(persons)) == (14, 118, 119)
    assert any(
        f"k = 1, {few} of {len(persons)} classes have fewer than 10, {alone} have one" in str(one.message)
        for one in caught
    )
    release = anon.anonymize(table, schema(unit="patient_id"), require=require)
    assert min(map(len, persons_of(release, table))) >= 10
    assert release.privacy().units.k >= 10
    assert release.privacy().k_units == release.privacy().units.k


METHODS = [
    anon.Mondrian(),
    anon.Mondrian(relaxed=True),
    anon.Mondrian(cuts="median"),
    anon.KMembers(),
    anon.Curve(),
    anon.TGC(),
]


def test_a_key_that_is_called_nothing_is_found_by_what_its_rows_share() -> None:
    table = visits().rename_columns({"patient_id": "x"})
    with pytest.warns(anon.PrivacyWarning, match="column 'x' repeats inside classes"):
        anon.anonymize(table, schema(identifying=["x"]), require=[anon.KAnonymity(10)])


def test_a_column_that_is_merely_kept_back_is_no_person() -> None:
    """Its rows agree in nothing that belongs to a person; under a name of people it would be warned of."""
    table, schema = anon.datasets.census(100, 0), anon.datasets.census_schema()
    assert "education_years" in schema.identifying
    with warnings.catch_warnings():
        warnings.simplefilter("error", anon.PrivacyWarning)
        anon.anonymize(table, schema, require=[anon.KAnonymity(5)])
    renamed = ["patient_id" if name == "education_years" else name for name in table.column_names]
    kept_back = [*schema.identifying, "patient_id"][1:]
    named = anon.Schema(list(schema.quasi), list(schema.sensitive), kept_back)
    with pytest.warns(anon.PrivacyWarning, match="'patient_id' repeats inside classes"):
        anon.anonymize(table.rename_columns(renamed), named, require=[anon.KAnonymity(5)])


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("numeric", ["interval", "level"])
def test_every_method_counts_persons(method: Any, numeric: str) -> None:
    table = visits(120, most=8)
    age = anon.numeric("age", hierarchy=anon.intervals(10, 20, 40))
    asked = anon.Schema([age, "sex", "ward"], ["diagnosis"], unit="patient_id")
    require = [anon.KAnonymity(4), anon.LDiversity(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        release = anon.anonymize(table, asked, require=require, method=method, numeric=numeric)
    assert release.classes.n_classes > 3
    assert min(map(len, persons_of(release, table))) >= 4
    assert max(shares(release, table)) <= Fraction(1, 2)
    assert repr(release.requirements[0]) == "KAnonymity(k=4, count='units')"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 9), st.sampled_from("ab"), st.sampled_from("xy")),
        min_size=4,
        max_size=40,
    ),
    st.integers(1, 3),
)
def test_measures_equal_their_definitions(rows: list[tuple[int, int, str, str]], k: int) -> None:
    """Fewest persons of a class, least persons with the same bag of cells, risk of persons."""
    person, age, sex, diagnosis = map(list, zip(*rows, strict=True))
    table = pa.table({"patient_id": person, "age": age, "sex": sex, "diagnosis": diagnosis})
    asked = anon.Schema(["age", "sex"], ["diagnosis"], unit="patient_id")
    if len(set(person)) < k:
        with pytest.raises(anon.InfeasibleError, match=rf"the largest k is {len(set(person))}"):
            anon.anonymize(table, asked, require=[anon.KAnonymity(k)])
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        release = anon.anonymize(table, asked, require=[anon.KAnonymity(k)])
    persons = persons_of(release, table)
    of_class = {row: c for c, rows in enumerate(class_rows(release)) for row in rows}
    bags: dict[int, list[int]] = defaultdict(list)
    for row, one in enumerate(person):
        bags[one].append(of_class[row])
    alike = [sum(sorted(bag) == sorted(other) for other in bags.values()) for bag in bags.values()]
    risks = [1 / min(len(persons[c]) for c in bag) for bag in bags.values()]
    measured = release.privacy(at_risk=[2]).units
    assert (measured.n_units, measured.k, measured.k_bags) == (
        len(bags),
        min(map(len, persons)),
        min(alike),
    )
    assert measured.alone == sum(len(each) == 1 for each in persons)
    assert measured.risk.max == max(risks)
    assert measured.risk.mean == pytest.approx(sum(risks) / len(risks))
    assert measured.risk.at_risk[2] == pytest.approx(sum(risk > 0.5 for risk in risks) / len(risks))
    assert 1 / max(shares_of(release, table, ["x", "y"])) == release.privacy().l_probabilistic


def class_rows(release: anon.Release) -> list[list[int]]:
    offsets = release.classes.offsets
    return [release.classes.rows[a:b].tolist() for a, b in pairwise(offsets)]


def shares_of(release: anon.Release, table: pa.Table, values: Sequence[str]) -> list[float]:
    ids, told = table["patient_id"].to_pylist(), table["diagnosis"].to_pylist()
    found = []
    for rows in class_rows(release):
        pairs = {(ids[row], told[row]) for row in rows}
        found.append(max(sum(v == each for _, v in pairs) for each in values) / len(pairs))
    return found


def test_bags_of_cells() -> None:
    """The example of the definitions: units 1 {A, B}, 2 {A, B}, 3 {A}, 4 {A}."""
    table = pa.table({"who": [1, 1, 2, 2, 3, 4], "cell": list("ABABAA")})
    asked = anon.Schema(["cell"], unit="who")
    assert anon.check(table, asked).units.k_bags == 2
    assert anon.check(table, asked, require=[anon.KAnonymity(2, count="unit-bags")]).unmet == ()
    without = table.slice(0, 5)
    assert anon.check(without, asked).units.k_bags == 1
    unmet = anon.check(without, asked, require=[anon.KAnonymity(2, count="unit-bags")]).unmet
    assert unmet == ("2-anonymity of unit-bags",)
    with pytest.raises(anon.UsageError, match="no test of one class decides it"):
        anon.anonymize(table, asked, require=[anon.KAnonymity(2, count="unit-bags")])


def test_rows_aaabbb_of_units_112333() -> None:
    table = pa.table({"who": [1, 1, 2, 3, 3, 3], "cell": list("AAABBB")})
    measured = anon.check(table, anon.Schema(["cell"], unit="who"))
    assert (measured.k, measured.units.k) == (3, 1)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_says_that_it_cannot_decide_units(tmp_path: Path, suffix: str) -> None:
    table = visits(100)
    unit = schema(unit="patient_id")
    release = anon.anonymize(table, unit, require=[anon.KAnonymity(5), anon.LDiversity(2)])
    path = tmp_path / f"release.{suffix}"
    release.write(path)
    assert "patient_id" not in release.table.column_names
    assert b"patient_id" not in path.read_bytes()
    assert release.metadata["claimed"] == [repr(each) for each in release.requirements]
    assert anon.check(path, schema(), require=[anon.KAnonymity(5)]).unmet == ()  # as of rows
    for require in ([anon.KAnonymity(5)], [anon.LDiversity(2)]):
        with pytest.raises(anon.UsageError, match="cannot decide it, since it has no column 'patient_id'"):
            anon.check(path, unit, require=require)
    assert anon.check(path, unit, require=[anon.KAnonymity(5, count="rows")]).unmet == ()
    with pytest.raises(anon.UsageError, match="nobody knows whose a row is"):
        anon.check(path, schema(), require=[anon.KAnonymity(5, count="units")])


def test_a_demand_of_units_that_fails_of_rows_is_not_called_unmet(tmp_path: Path) -> None:
    table = pa.table({"who": [1, 1, 1, 2], "age": [1, 1, 1, 1], "dx": ["a", "a", "a", "b"]})
    path = tmp_path / "release.parquet"
    asked = anon.Schema(["age"], ["dx"], unit="who")
    with pytest.warns(anon.PrivacyWarning, match="only one class"):
        anon.anonymize(table, asked, require=[anon.LDiversity(2)]).write(path)
    with pytest.raises(anon.UsageError, match=r"cannot decide it.*demanded of units"):
        anon.check(path, anon.Schema(["age"], ["dx"]), require=[anon.LDiversity(2)])


def test_the_release_is_refused_where_the_recheck_counts_fewer_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that counts rows for units does not get past the re-check."""
    monkeypatch.setattr("anon.methods.mondrian.counts_units", lambda rules: False)
    monkeypatch.setattr("anon.engines.local.Judged.rules", lambda self, require: _rows_only(self))
    with pytest.raises(anon.RecheckError, match=r"KAnonymity\(k=5, count='units'\)"):
        anon.anonymize(visits(100), schema(unit="patient_id"), require=[anon.KAnonymity(5)])


def _rows_only(judged: Any) -> Any:
    from anoncore.requirement import Conjunction

    return Conjunction(judged.counts, judged.n_rows, [("size", 5)])


def test_bad_input() -> None:
    table = pa.table({"who": [1, None, 2, None], "age": [1, 2, 3, 4]})
    with pytest.raises(
        anon.DataError, match=r"'who', the unit, is missing in 2 rows, the first of them row 2"
    ):
        anon.anonymize(table, anon.Schema(["age"], unit="who"), require=[anon.KAnonymity(2)])
    with pytest.raises(anon.UsageError, match="'who' is named as unit and as quasi"):
        anon.Schema(["who", "age"], unit="who")
    with pytest.raises(anon.DataError, match="no column 'whom'; did you mean 'who'"):
        anon.anonymize(table, anon.Schema(["age"], unit="whom"), require=[anon.KAnonymity(2)])
    with pytest.raises(anon.UsageError, match="name the column in the schema"):
        anon.anonymize(table, anon.Schema(["age"]), require=[anon.KAnonymity(2, count="units")])
    with pytest.raises(anon.UsageError, match="count='persons' is unknown"):
        anon.KAnonymity(2, count="persons")


def test_streams_count_units(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    table = visits(100)
    pq.write_table(table, path)
    release = anon.anonymize(
        anon.read_source(path, engine="stream"), schema(unit="patient_id"), require=[anon.KAnonymity(5)]
    )
    release.write(tmp_path / "release.parquet")
    assert min(map(len, persons_of(release, table))) >= 5


def test_a_sweep_measures_units() -> None:
    asked = schema(unit="patient_id")
    swept = anon.frontier(visits(100), asked, "k=5,10", privacy="k_units", utility="gcp")
    measured = [point.measures["k_units"] for point in swept.points if point.configuration is not None]
    assert [k >= asked_k for k, asked_k in zip(measured, (5, 10), strict=True)] == [True, True]


def test_the_command_counts_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Made, and checked: the file decides its rows, and says that it does not decide persons."""
    pq.write_table(visits(100), tmp_path / "in.parquet")
    release = str(tmp_path / "out.csv")
    roles = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis"]
    unit = ["--unit", "patient_id"]
    made = ["anonymize", str(tmp_path / "in.parquet"), "-o", release, *roles, *unit, "--k", "5", "--json"]
    assert main(made) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["privacy"]["units"]["k"] >= 5
    assert main(["check", release, *roles, "--k", "5"]) == 0
    assert main(["check", release, *roles, *unit, "--k", "5", "--k-count", "rows"]) == 0
    capsys.readouterr()
    assert main(["check", release, *roles, *unit, "--k", "5"]) == 2
    assert "cannot decide it, since it has no column 'patient_id'" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "in.parquet"), *roles, *unit, "--k", "2"]) == 1
    assert "not met: 2-anonymity of units" in capsys.readouterr().err


def test_spark_refuses_households_by_name() -> None:
    spark = pytest.importorskip("anon.engines.spark.anonymize")
    asked = anon.Schema(["region", "age"], unit="hid", household=["region"])
    with pytest.raises(anon.UsageError, match="household is not for Spark"):
        spark.check_asked(asked, anon.Mondrian(), [anon.KAnonymity(5)])


@pytest.mark.parametrize("seed", range(4))
def test_a_unit_in_several_classes_counts_once_in_the_table(seed: int) -> None:
    """The distance to the table is that to the distinct pairs of unit and value, in the re-check too."""
    random = np.random.default_rng(seed)
    n = 150
    table = {
        "age": random.integers(20, 50, n),
        "zip": random.integers(0, 24, n),
        "ill": random.choice(list("abc"), n),
        "id": np.arange(n) // 2,
    }
    schema = anon.Schema(["age", "zip"], ["ill"], unit="id")
    for requirement in (anon.TCloseness(0.25, "equal"), anon.BetaLikeness(0.8)):
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(3), requirement])
        pairs = {(int(table["id"][row]), str(table["ill"][row])) for row in release.classes.rows}
        in_table = np.array([sum(ill == value for _, ill in pairs) for value in "abc"]) / len(pairs)
        for start, stop in pairwise(release.classes.offsets.tolist()):
            here = {
                (int(table["id"][row]), str(table["ill"][row])) for row in release.classes.rows[start:stop]
            }
            inside = np.array([sum(ill == value for _, ill in here) for value in "abc"]) / len(here)
            if isinstance(requirement, anon.TCloseness):
                assert np.abs(inside - in_table).sum() / 2 <= 0.25 + 1e-12
            else:
                assert ((inside - in_table) / in_table).max() <= 0.8 + 1e-12


@pytest.mark.filterwarnings("ignore:only one class satisfies:anon.PrivacyWarning")
def test_anatomy_ends_where_a_value_has_more_rows_than_units() -> None:
    """By units l = 2 can be met, and by rows it cannot: no bucket is without the value that is left over."""
    table = {"q": [1, 1, 2, 3, 3, 3], "s": [*"aababb"], "who": [0, 0, 1, 2, 2, 2]}
    schema = anon.Schema(["q"], ["s"], unit="who")
    for rows in ([0, 1, 2], range(6)):
        some = {name: [values[row] for row in rows] for name, values in table.items()}
        release = anon.anonymize(some, schema, method=anon.Anatomy(2), publish="bucketization")
        ids = release.table["class_id"].to_pylist()
        rows_of = list(release.classes.rows)
        for bucket in set(ids):
            held = {(some["who"][r], some["s"][r]) for r, i in zip(rows_of, ids, strict=True) if i == bucket}
            most = max(sum(value == s for _, value in held) for s in "ab")
            assert 2 * most <= len(held)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("suppress", [0, 0.2])
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz"), st.integers(0, 4)), min_size=2, max_size=9)
)
def test_full_domain_counts_the_values_of_units_where_nothing_else_is_asked(
    suppress: float, rows: list[tuple[int, str, int]]
) -> None:
    """Distinct l alone was tested by rows at no node, and the release failed its own check."""
    table = dict(zip(("q", "s", "who"), map(list, zip(*rows, strict=True)), strict=True))
    require, method = [anon.LDiversity(2, "distinct")], anon.FullDomain()
    try:
        release = anon.anonymize(
            table, anon.Schema(["q"], ["s"], unit="who"), require=require, method=method, suppress=suppress
        )
    except anon.InfeasibleError:
        assert len(set(table["s"])) < 2
        return
    values = defaultdict(set)
    for row in release.table.to_pylist():
        values[row["q"]].add(row["s"])
    assert min(map(len, values.values())) >= 2
