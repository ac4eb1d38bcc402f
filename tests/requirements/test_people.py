# SPDX-License-Identifier: Apache-2.0
"""Requirements on people: counted in a table of the population or by weights, enforced and checked again."""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.classes import individual_risk, union_of
from anon.encoding import encode
from anon.errors import DataError, InfeasibleError, RecheckError, UsageError
from anon.release.recheck import recheck
from anon.release.recheck_people import people_inside

pytestmark = pytest.mark.filterwarnings("ignore::anon.errors.PrivacyWarning")
TREE = anon.nominal("zip", hierarchy=anon.prefix(2, 1))
SCHEMA = anon.Schema([anon.numeric("age", hierarchy=anon.intervals(5, 20)), "sex", TREE], ["ill"])
METHODS = [anon.Mondrian(), anon.Curve(), anon.FullDomain()]


def people_table(n: int, seed: int, missing: float = 0.0) -> pa.Table:
    random = np.random.default_rng(seed)
    zips = [f"{a}{b}{c}" for a in "01" for b in "012" for c in "0123"]
    columns: dict[str, list[Any]] = {
        "age": random.integers(20, 50, n).tolist(),
        "sex": random.choice(list("mfx"), n, p=[0.5, 0.45, 0.05]).tolist(),
        "zip": random.choice(zips, n).tolist(),
        "ill": random.choice(list("abc"), n).tolist(),
    }
    for name in ("age", "sex", "zip"):
        for row in np.flatnonzero(random.random(n) < missing):
            columns[name][row] = None
    return pa.table(columns)


def sampled(people: pa.Table, n: int, seed: int = 1) -> pa.Table:
    rows = np.sort(np.random.default_rng(seed).choice(people.num_rows, n, replace=False))
    return people.take(rows)


def holds(cell: Any, value: Any, name: str) -> bool:
    """Is a person's value inside a published cell, read by hand?"""
    text = str(cell)
    if cell is None or text == "missing":
        return value is None
    if text.endswith(" or missing"):
        return value is None or holds(text.removesuffix(" or missing"), value, name)
    if value is None:
        return False
    if text == "*":
        return True
    if name == "age":
        inside = re.fullmatch(r"\[(\d+), (\d+)([])])", text)
        if inside is None:
            return int(text) == value
        return int(inside[1]) <= value < int(inside[2]) + (inside[3] == "]")
    if text.startswith("{"):
        return value in text[1:-1].split(", ")
    return str(value).startswith(text) if name == "zip" else text == value


def counted(release: pa.Table, people: pa.Table) -> list[int]:
    """The people inside the cells of every published row."""
    everybody = people.select(["age", "sex", "zip"]).to_pylist()
    known: dict[tuple[Any, ...], int] = {}
    for row in release.select(["age", "sex", "zip"]).to_pylist():
        key = tuple(row.values())
        if key not in known:
            known[key] = sum(all(holds(row[name], one[name], name) for name in row) for one in everybody)
    return [known[tuple(row.values())] for row in release.select(["age", "sex", "zip"]).to_pylist()]


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("numeric", ["interval", "level"])
def test_people_enough_are_inside_every_class(method: Any, missing: float, numeric: Any) -> None:
    people = people_table(1500, 3, missing)
    sample = sampled(people, 150)
    asked = [anon.KMap(30, population=people), anon.KAnonymity(2)]
    release = anon.anonymize(sample, SCHEMA, require=asked, method=method, numeric=numeric, suppress=0)
    assert release.classes.n_classes > 1
    assert min(counted(release.table, people)) >= 30
    assert release.privacy().k >= 2


def test_a_k_map_by_a_table_loses_less_than_by_the_fraction() -> None:
    people = anon.datasets.census(5000)
    sample = sampled(people, 500)
    schema = anon.Schema(["age", "sex", "race"])
    by_table = anon.anonymize(sample, schema, require=[anon.KMap(20, population=people)])
    by_fraction = anon.anonymize(sample, schema, require=[anon.KMap(20, 0.1)])
    assert by_table.utility().gcp < by_fraction.utility().gcp
    assert by_table.privacy().k < by_fraction.privacy().k


@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from(METHODS), st.sampled_from([0.0, 0.2]))
@settings(max_examples=10, deadline=None)
def test_random_tables_meet_what_they_are_asked(seed: int, k: int, method: Any, missing: float) -> None:
    people = people_table(120, seed, missing)
    sample = sampled(people, 30, seed)
    asked = anon.KMap(k, population=people)
    release = anon.anonymize(sample, SCHEMA, require=[asked], method=method)
    assert min(counted(release.table, people)) >= k


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
def test_the_risk_by_a_table_is_one_over_the_people(method: Any) -> None:
    people = people_table(1500, 4)
    sample = sampled(people, 150)
    release = anon.anonymize(sample, SCHEMA, require=[anon.MaxRisk(0.04, population=people)], method=method)
    assert 25 <= min(counted(release.table, people)) < 40 or method.recodes
    assert anon.risk(release.table, SCHEMA, population=people).max <= 0.04


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
def test_weights_are_people(method: Any, tmp_path: Path) -> None:
    sample = people_table(200, 5)
    weights = np.random.default_rng(0).integers(1, 30, 200).astype(float)
    sample = sample.append_column("w", pa.array(weights))
    schema = dataclasses.replace(SCHEMA, sampling_weight="w")
    for asked in (anon.KMap(100), anon.MaxRisk(0.01)):
        release = anon.anonymize(sample, schema, require=[asked], method=method)
        classes = release.classes
        assert classes.n_classes > 1
        for first, last in zip(classes.offsets[:-1], classes.offsets[1:], strict=True):
            rows = classes.rows[first:last]
            if isinstance(asked, anon.KMap):
                assert weights[rows].sum() >= 100
            else:
                assert individual_risk(len(rows), weights[rows].sum())[0] <= 0.01 * (1 + 1e-9)
        release.write(tmp_path / "out.parquet")
        tighter: Any = anon.KMap(3000) if isinstance(asked, anon.KMap) else anon.MaxRisk(1e-4)
        checked = anon.check(tmp_path / "out.parquet", schema, require=[asked, tighter])
        assert checked.unmet == (str(tighter),)


def test_delta_presence_of_the_definitions() -> None:
    sample, people = pa.table({"q": list("AAB")}), pa.table({"q": list("AAAABBC")})
    schema = anon.Schema(["q"])

    def made(low: float, high: float) -> Any:
        asked = anon.DeltaPresence(low, high, people)
        return anon.anonymize(sample, schema, require=[asked], method=anon.FullDomain())

    assert made(0, 0.5).lattice.best == (0,)  # shares 2/4, 1/2 and 0
    assert made(0, 0.49).lattice.best == (1,)  # 3/7
    assert made(0.1, 0.5).lattice.best == (1,)  # nobody of C
    with pytest.raises(InfeasibleError, match="3 of the 7 people are in the table, so the least") as raised:
        made(0, 0.4)
    assert raised.value.tightest == 3 / 7
    with pytest.raises(InfeasibleError, match="so the greatest low is") as raised:
        made(0.45, 0.5)
    assert raised.value.tightest == 3 / 7


def test_delta_presence_may_suppress_where_nothing_need_be_covered() -> None:
    sample, people = pa.table({"q": list("AAAABBC")}), pa.table({"q": [*"A" * 40, *"B" * 20, "C"]})
    asked = anon.DeltaPresence(0, 0.2, people)
    release = anon.anonymize(
        sample, anon.Schema(["q"]), require=[asked], method=anon.FullDomain(), suppress=0.2
    )
    assert release.lattice.best == (0,)
    assert len(release.classes.suppressed) == 1
    with pytest.raises(InfeasibleError, match=r"levels \[0\] do not meet delta-presence of 0.01 to 1"):
        anon.anonymize(
            sample,
            anon.Schema(["q"]),
            require=[anon.DeltaPresence(0.01, 1, pa.table({"q": [*"A" * 40, *"B" * 20, "C", "D"]}))],
            method=anon.FullDomain([0]),
        )


def test_population_uniqueness_is_tested_at_nodes() -> None:
    sample = sampled(people_table(1500, 6), 150)
    for model in ("zayatz", "pitman", "dankar"):
        asked = anon.PopulationUniqueness(0.05, 0.1, model=model)
        release = anon.anonymize(sample, SCHEMA, require=[asked], method=anon.FullDomain())
        measured = anon.risk(release.table, SCHEMA, sampling_fraction=0.1, model=model)
        assert measured.population_uniques.share <= 0.05
        assert release.lattice.best != tuple(release.lattice.heights)
        loose = anon.anonymize(
            sample, SCHEMA, require=[anon.PopulationUniqueness(1, 0.1, model=model)], method=anon.FullDomain()
        )
        assert loose.lattice.best == (0, 0, 0)
        assert anon.check(release.table, SCHEMA, require=[asked]).unmet == ()
        assert anon.check(loose.table, SCHEMA, require=[asked]).unmet == (str(asked),)


@pytest.mark.parametrize("numeric", ["interval", "level"])
def test_an_exhaustive_search_finds_the_same_node(numeric: Any) -> None:
    people = people_table(400, 7)
    sample = sampled(people, 60)
    asked = [anon.KMap(12, population=people)]
    best = anon.anonymize(sample, SCHEMA, require=asked, method=anon.FullDomain(), numeric=numeric)
    feasible = {}
    for node in np.ndindex(*(height + 1 for height in best.lattice.heights)):
        try:
            one = anon.anonymize(sample, SCHEMA, require=asked, method=anon.FullDomain(levels=[*node]))
        except InfeasibleError:
            continue
        feasible[node] = one.lattice.judged[node].score
        assert min(counted(one.table, people)) >= 12
    assert len(feasible) > 1
    least = min(feasible.values())
    tied = [node for node, score in feasible.items() if score <= least + 1e-9]
    assert best.lattice.best == min(tied, key=lambda node: (sum(node), node))


def test_what_no_release_meets_says_what_it_could() -> None:
    people = people_table(300, 8)
    sample = sampled(people, 40)
    for method in METHODS:
        for asked in (anon.KMap(1000, population=people), anon.MaxRisk(0.001, population=people)):
            with pytest.raises(InfeasibleError, match="look like all rows together, so the") as raised:
                anon.anonymize(sample, SCHEMA, require=[asked], method=method)
            key = "k" if isinstance(asked, anon.KMap) else "threshold"
            tightest = raised.value.tightest
            least = Fraction(tightest) if key == "k" else tightest * (1 + 1e-9)
            anon.anonymize(
                sample, SCHEMA, require=[dataclasses.replace(asked, **{key: least})], method=method
            ) if key == "threshold" else anon.anonymize(
                sample, SCHEMA, require=[anon.KMap(int(tightest), population=people)], method=method
            )


def test_a_population_that_does_not_hold_the_table_is_refused() -> None:
    people = people_table(300, 8)
    sample = sampled(people, 40)
    for wrong, words in (
        (people.slice(0, 100), "classes have more rows in the table than people"),
        (people.drop_columns(["zip"]), "no column 'zip'"),
        (people.slice(0, 0), "the population: the table has no rows"),
        (people.set_column(0, "age", pa.array(["x"] * 300)), "other types"),
    ):
        with pytest.raises(DataError, match=words) as raised:
            anon.anonymize(sample, SCHEMA, require=[anon.KMap(2, population=wrong)])
        assert "person" not in str(raised.value)
    with pytest.raises(DataError, match="of the population holds values that the table's hierarchy"):
        anon.anonymize(
            {"z": ["00", "10"]},
            anon.Schema([anon.nominal("z", hierarchy={"*": {"0": ["00", "01"], "1": ["10"]}})]),
            require=[anon.KMap(2, population={"z": ["00", "10", "77"]})],
        )


@pytest.mark.parametrize(
    ("asked", "more", "words"),
    [
        (anon.KMap(5), {}, "nobody knows how many people a row stands for"),
        (anon.MaxRisk(0.1), {}, "nobody knows how many people a row stands for"),
        (anon.PopulationUniqueness(0.1), {"method": anon.FullDomain()}, "nobody knows how many people"),
        (anon.PopulationUniqueness(0.1, 0.1), {}, r"use FullDomain\(\)"),
        (anon.DeltaPresence(0, 1, people_table(50, 1)), {"method": anon.Mondrian()}, r"use FullDomain\(\)"),
        (anon.KMap(5, population=people_table(50, 1)), {"numeric": "midpoint"}, "choose interval or level"),
        (
            anon.KMap(5, population=people_table(50, 1)),
            {"publish": "bucketization"},
            "a generalization",
        ),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(asked: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        anon.anonymize(people_table(20, 1), SCHEMA, require=[asked], **more)
    assert str(asked) in str(raised.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: anon.KMap(5, 0.1, population={"q": [1]}),
        lambda: anon.DeltaPresence(0.5, 0.4, {"q": [1]}),
        lambda: anon.DeltaPresence(0, 0.4, None),
        lambda: anon.DeltaPresence(-0.1, 0.4, {"q": [1]}),
        lambda: anon.PopulationUniqueness(1.5, 0.1),
        lambda: anon.PopulationUniqueness(0.5, 0.1, model="best"),
    ],
)
def test_parameters_without_meaning_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        wrong()


def test_no_word_of_a_requirement_holds_the_population() -> None:
    people = people_table(300, 8)
    for asked in (
        anon.KMap(5, population=people),
        anon.MaxRisk(0.5, population=people),
        anon.DeltaPresence(0, 1, people),
    ):
        assert "population" in repr(asked)
        assert len(repr(asked)) < 60
        assert "population" not in asked.settings()
        assert not asked.cacheable
        assert not asked.on_spark
    release = anon.anonymize(sampled(people, 40), SCHEMA, require=[anon.KMap(5, population=people)])
    assert release.metadata["requirements"] == ["KMap(k=5, population=...)"]
    assert release.summary()["requirements"] == ["5-map (table of the population)"]


@pytest.mark.parametrize(
    "asked",
    [
        anon.KMap(40, population=people_table(300, 8)),
        anon.MaxRisk(0.02, population=people_table(300, 8)),
        anon.DeltaPresence(0, 0.1, people_table(300, 8)),
        anon.DeltaPresence(0.1, 1, people_table(300, 8)),
        anon.PopulationUniqueness(0.01, 0.1),
    ],
    ids=repr,
)
def test_the_recheck_finds_what_the_engine_missed(asked: Any) -> None:
    sample = sampled(people_table(300, 8), 40)
    release = anon.anonymize(sample, SCHEMA, require=[anon.KAnonymity(1)], method=anon.FullDomain())
    with pytest.raises(RecheckError, match="do not meet"):
        recheck(release.encoded, release.classes, release.columns, [asked])


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1]), st.integers(1, 40))
@settings(max_examples=8, deadline=None)
def test_people_are_counted_anew(seed: int, missing: float, at_once: int) -> None:
    """By halving, in parts so small that all ways of counting are taken."""
    people = people_table(400, seed, missing)
    sample = sampled(people, 60, seed)
    method = METHODS[seed % 3]
    release = anon.anonymize(sample, SCHEMA, require=[anon.KAnonymity(3)], method=method)
    union = union_of(release.encoded, people)
    codes = [column[union.n_rows :] for column in union.encoded.original.quasi_codes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anon.release.recheck_people._PAIRS_AT_ONCE", 100)
        patch.setattr("anon.release.recheck_people._FEW", at_once)
        inside = people_inside(union, release.columns, np.arange(release.classes.n_classes), codes)
    rows = np.repeat(inside, release.classes.sizes)
    assert rows.tolist() == counted(release.table, people)


def test_a_union_tells_who_is_in_both() -> None:
    encoded = encode(pa.table({"q": [1, 3, 3]}), anon.Schema(["q"]))
    union = union_of(encoded, {"q": [1, 2, 3, 3, 9]})
    assert union.n_people == 5
    assert union.encoded.quasi[0].n_values == 4


def test_households_are_refused() -> None:
    sample = people_table(20, 1).append_column("home", pa.array(range(20)))
    schema = dataclasses.replace(SCHEMA, unit="home", household=["zip"])
    with pytest.raises(UsageError, match="leave out household="):
        anon.anonymize(sample, schema, require=[anon.KMap(2, population=sample)], method=anon.Mondrian())


@pytest.mark.parametrize(
    "also", [anon.TCloseness(0.3, "equal"), anon.LDiversity(2), anon.KAnonymity(4)], ids=repr
)
def test_other_requirements_hold_beside_it(also: Any) -> None:
    people = people_table(1500, 9)
    sample = sampled(people, 150)
    units = sample.append_column("id", pa.array(np.arange(150) // 2))
    for table, schema in ((sample, SCHEMA), (units, dataclasses.replace(SCHEMA, unit="id"))):
        asked = [anon.KMap(30, population=people), also]
        release = anon.anonymize(table, schema, require=asked)  # which is checked again
        assert release.classes.n_classes > 1
        assert min(counted(release.table, people)) >= 30


def test_linked_columns_and_rows_left_out_count_as_published(tmp_path: Path) -> None:
    people = people_table(1500, 10, 0.05)
    born = [None if age is None else 2020 - age for age in people["age"].to_pylist()]
    people = people.append_column("born", pa.array(born))
    sample = sampled(people, 150)
    schema = dataclasses.replace(SCHEMA, linked=[["age", "born"]])
    asked = [anon.KMap(25, population=people)]
    release = anon.anonymize(sample, schema, require=asked, missing="suppress")
    assert len(release.classes.suppressed)
    assert anon.risk(release.table, schema, population=people).max <= 1 / 25
    anon.datasets.write_table(sample, str(tmp_path / "in.parquet"))
    files = anon.read_source(tmp_path / "in.parquet", engine="stream")
    anon.anonymize(files, SCHEMA, require=asked).write(tmp_path / "out.parquet")
    assert min(counted(anon.read_table(tmp_path / "out.parquet"), people)) >= 25


def test_populations_are_told_apart() -> None:
    one, other = people_table(100, 11), people_table(100, 11)
    by_one = anon.KMap(5, population=one)
    assert by_one == anon.KMap(5, population=one)
    assert by_one != anon.KMap(5, population=other)
    assert by_one != anon.KMap(5)
    assert anon.KMap(5, population="a.csv") == anon.KMap(5, population="a.csv")
    assert len({by_one, anon.KMap(5, population=one), anon.DeltaPresence(0, 1, one)}) == 2
    sample = sampled(one, 40)
    tried = [anon.Configuration((anon.KMap(k, population=one),)) for k in (5, 20)]
    points = anon.frontier(sample, SCHEMA, tried).points
    assert all(point.satisfied for point in points)
    assert len({point.parameters.get("k_map") for point in points} - {None}) == 2
