# SPDX-License-Identifier: Apache-2.0
"""Least levels, top and bottom codes: what is published, by every method and rendering, and what is lost."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import sys
import warnings
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.choice import Configuration
from anon.command.entry import main
from anon.encoding import columns, encode
from anon.encoding.coding import Coding, coding_of
from anon.errors import PrivacyWarning, RecheckError, UsageError
from anon.measures import measure_utility
from anon.release.recheck_coding import whole_blocks
from anon.schema.attribute import Attribute
from anon.workload import answer, parse_queries

AGE = anon.numeric("age", anon.intervals(5, 10, 20), least=5, top=90, bottom=18)
ZIP = anon.nominal("zip", anon.prefix(4, 3, 2), least=3)
BORN = anon.numeric("born", anon.dates("year", "decade"), least="year", bottom="1940-06-01")
SCHEMA = anon.Schema([AGE, ZIP, BORN], ["ill"])
ONE = [anon.KAnonymity(1)]


def people(n: int = 240, nulls: bool = False) -> pa.Table:
    rng = np.random.default_rng(3)
    days = rng.integers(0, 30_000, n)
    table = {
        "age": rng.integers(14, 98, n).tolist(),
        "zip": [f"{number:05}" for number in rng.integers(90_100, 90_900, n)],
        "born": [dt.date(1930, 1, 1) + dt.timedelta(days=int(day)) for day in days],
        "ill": rng.integers(0, 6, n).astype(str).tolist(),
    }
    for name in ("age", "zip", "born") if nulls else ():
        gone = rng.random(n) < 0.1
        table[name] = [None if one else value for one, value in zip(gone, table[name], strict=True)]
    return pa.table(table)


def cells(name: str, values: list[Any], attribute: Attribute, k: int = 1, **options: Any) -> list[Any]:
    """The cells of a table of one column, by rows in their order."""
    table, schema = pa.table({name: values}), anon.Schema([attribute])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        made = anon.anonymize(table, schema, require=[anon.KAnonymity(k)], order="input", **options)
    shown = made.table
    return shown.column(name).to_pylist() if name in shown.column_names else shown.to_pylist()


def test_a_plain_recode_of_ages() -> None:
    # [15, 20) loses what is up to 18, and [85, 90) ends before the top
    age = anon.numeric("age", least=5, top=88, bottom=17)
    assert cells("age", [12, 17, 18, 36, 39, 40, 87, 88, 95], age) == [
        *("<= 17", "<= 17", "[18, 19]", "[35, 39]", "[35, 39]", "[40, 44]", "[85, 87]", ">= 88", ">= 88")
    ]


def test_cells_of_classes_end_where_least_intervals_do() -> None:
    age = anon.numeric("age", least=5, top=90)
    assert cells("age", [36, 41, 81, 95], age, k=2) == ["[35, 44]"] * 2 + [">= 80"] * 2


@pytest.mark.parametrize(
    ("attribute", "values", "shown"),
    [
        (
            anon.numeric("x", least=5),
            [1.0, 4.9, 5.0, 12.0],
            ["[0.0, 5.0)"] * 2 + ["[5.0, 10.0)", "[10.0, 15.0)"],
        ),
        (anon.numeric("x", top=2.5), [1.0, 2.5, 7.0], ["1.0", ">= 2.5", ">= 2.5"]),
        (
            anon.numeric("x", least=0.5, bottom=0.2),
            [Decimal("0.10"), Decimal("0.30"), Decimal("0.75")],
            ["<= 0.20", "[0.21, 0.49]", "[0.50, 0.99]"],
        ),
        (
            anon.numeric("x", least=100),
            [-150, -1, 0, 250],
            ["[-200, -101]", "[-100, -1]", "[0, 99]", "[200, 299]"],
        ),
        (
            anon.numeric("x", least="quarter", top=dt.date(2024, 5, 1)),
            [dt.date(2024, 3, 31), dt.date(2024, 4, 2), dt.date(2024, 6, 1)],
            ["[2024-01-01, 2024-03-31]", "[2024-04-01, 2024-04-30]", ">= 2024-05-01"],
        ),
        (
            anon.numeric("x", least=3600),
            [dt.datetime(2024, 1, 1, 10, 30), dt.datetime(2024, 1, 1, 12, 0)],
            ["[2024-01-01T10:00:00, 2024-01-01T11:00:00)", "[2024-01-01T12:00:00, 2024-01-01T13:00:00)"],
        ),
        (anon.nominal("x", anon.prefix(2), least=2), ["1234", "12", "7", "1299"], ["12…", "12…", "7", "12…"]),
        (anon.nominal("x", {"*": {"A": ["a", "b"], "C": ["c"]}}, least=1), ["a", "c", "b"], ["A", "C", "A"]),
    ],
)
def test_values_of_every_type_are_recoded(attribute: Attribute, values: list[Any], shown: list[str]) -> None:
    assert cells("x", values, attribute) == shown


def test_one_value_is_published_as_it_is_coded() -> None:
    assert cells("age", [91, 95, 97], anon.numeric("age", top=90)) == [">= 90"] * 3
    assert cells("zip", ["90210", "90211"], ZIP) == ["902"] * 2
    assert cells("zip", ["90210"] * 2, ZIP) == ["902"] * 2
    tree = {"all": {"A": {"B": ["b", "c"]}, "D": {"E": ["e"]}}}
    assert cells("x", ["b", "c"], anon.nominal("x", tree, least=1)) == ["B"] * 2
    assert cells("x", ["b", "c"], anon.nominal("x", tree, least=2)) == ["*"] * 2


def test_a_file_of_a_hierarchy_has_columns_as_levels(tmp_path: Path) -> None:
    path = tmp_path / "zip.csv"
    path.write_text("90210;902;90x;*\n03601;000;0x;*\n03602;000;0x;*\n90301;903;90x;*\n", encoding="utf-8")
    values = ["90210", "03601", "03602", "90301"]
    assert cells("zip", values, anon.nominal("zip", path, least=1)) == ["902", "000", "000", "903"]
    assert cells("zip", values, anon.nominal("zip", path, least=2)) == ["90x", "0x", "0x", "90x"]


METHODS = [
    anon.Mondrian(),
    anon.Mondrian(relaxed=True),
    anon.Curve(),
    anon.KMembers(),
    anon.TGC(),
    anon.Identity(),
]


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("numeric", ["interval", "level", "bounds", "midpoint", "mean"])
def test_no_method_and_no_rendering_publishes_more(method: Any, numeric: Any, nulls: bool) -> None:
    table = people(120, nulls)
    require = [] if method == anon.Identity() else [anon.KAnonymity(3)]
    release = anon.anonymize(table, SCHEMA, require=require, method=method, numeric=numeric)
    coded = [domain.coding for domain in release.encoded.quasi]
    for one, coding in zip(release.cells, coded, strict=True):
        shown = one.low <= one.high
        assert (coding.first[one.low[shown]] == one.low[shown]).all()
        assert (coding.last[one.high[shown]] == one.high[shown]).all()
    labels = re.findall(r"[0-9]+", " ".join(release.table.column("zip").to_pylist()))
    if not (numeric == "level" and getattr(method, "relaxed", False)):  # it cuts no tree among ages
        assert max(map(len, labels)) == 3
    if numeric in ("midpoint", "mean"):
        ages = release.table.column("age").drop_null().to_pylist()
        assert 18 <= min(ages) <= max(ages) <= 90
        return
    lost, measured = release.utility(), anon.compare(table, release.table, SCHEMA)
    assert (measured.gcp, measured.dm) == (lost.gcp, lost.dm)
    assert measured.u_loss == pytest.approx(lost.u_loss)


def test_typed_renderings_show_the_bound_itself() -> None:
    age = anon.numeric("age", least=10, top=90, bottom=18)
    values = [12, 33, 95]
    assert cells("age", values, age, numeric="midpoint") == [18.0, 34.5, 90.0]
    assert cells("age", values, age, numeric="mean") == [18.0, 34.5, 90.0]
    assert cells("age", values, age, numeric="bounds") == [
        {"age_min": 18, "age_max": 18},
        {"age_min": 30, "age_max": 39},
        {"age_min": 90, "age_max": 90},
    ]
    # means of the midpoints 34.5, 34.5 and 44.5; of the interval 30 to 49
    assert cells("age", [31, 38, 44, 95, 96, 97], age, k=3, numeric="mean")[0] == pytest.approx(113.5 / 3)
    assert cells("age", [31, 38, 44, 95, 96, 97], age, k=3, numeric="midpoint")[0] == 39.5


def test_what_is_lost_is_lost_of_the_original() -> None:
    # ages 0..99, each once: of 99 units 4 are lost in each interval of 5
    table = pa.table({"age": list(range(100)), "ill": ["a", "b"] * 50})
    schema = anon.Schema([anon.numeric("age", least=5)], ["ill"])
    release = anon.anonymize(table, schema, require=ONE)
    assert release.classes.n_classes == 20
    assert release.utility().gcp == pytest.approx(4 / 99)
    plain = anon.anonymize(table, schema.uncoded(), require=ONE)
    assert plain.utility().gcp == 0
    tree = anon.Schema([anon.nominal("zip", anon.prefix(1), least=1)])
    codes = pa.table({"zip": [f"{i:02}" for i in range(100)]})
    assert anon.anonymize(codes, tree, require=ONE).utility().gcp == pytest.approx(9 / 99)


def test_a_coded_value_is_lost_as_the_whole_of_its_interval(tmp_path: Path) -> None:
    # 7 and 8 stand for 5..9, 36 for 35..39, 61 and 70 for 60 and more; 3 is the least, so 3..4; of 3..73
    table = pa.table({"age": [3, 7, 8, 36, 61, 70, 73], "ill": [*"abababa"]})
    schema = anon.Schema([anon.numeric("age", least=5, top=60)], ["ill"])
    release = anon.anonymize(table, schema, require=ONE)
    assert set(release.table["age"].to_pylist()) == {"[0, 4]", "[5, 9]", "[35, 39]", ">= 60"}
    lost = [1, 4, 4, 4, 13, 13, 13]
    utility = release.utility()
    assert utility.gcp == pytest.approx(sum(lost) / 70 / 7)
    # of the five ages 35..39 that are equally likely, one is 36
    workload = parse_queries(release.encoded.original, ["age = 36", "age >= 60", "age < 8"])
    answers = answer(workload, release)
    assert answers.estimated == pytest.approx([1 / 5, 3, 1 + 2 * 3 / 5])
    assert answers.least.tolist() == [0, 3, 1]
    assert answers.most.tolist() == [1, 3, 3]
    release.write(tmp_path / "out.parquet")
    for roles in (schema, None):
        compared = anon.compare(table, tmp_path / "out.parquet", roles)
        for name in ("gcp", "um", "kl", "u_loss"):
            assert getattr(compared, name) == pytest.approx(getattr(utility, name)), name


@pytest.mark.filterwarnings("ignore:only one class:anon.PrivacyWarning")
@pytest.mark.parametrize("kind", [pa.int16(), pa.float64(), pa.decimal128(12, 1), pa.date32(), pa.uint64()])
@pytest.mark.parametrize("numeric", ["interval", "bounds", "level"])
def test_compare_and_the_release_agree_on_what_is_lost(
    tmp_path: Path, kind: pa.DataType, numeric: Any
) -> None:
    rng = np.random.default_rng(2)
    days = pa.types.is_date(kind)
    numbers = pa.array(rng.integers(3, 30, 60), pa.int32())
    column = numbers.cast(kind)
    ends = {"top": "1970-01-25", "bottom": "1970-01-07"} if days else {"top": 24, "bottom": 6}
    hierarchy = anon.dates("month") if days else anon.intervals(5, 10)
    attribute = anon.numeric("x", hierarchy, least=None if days else 5, **ends)
    table = pa.table({"x": column, "ill": rng.choice([*"abc"], 60)})
    release = anon.anonymize(
        table, anon.Schema([attribute], ["ill"]), require=[anon.KAnonymity(4)], numeric=numeric
    )
    release.write(tmp_path / "out.parquet")
    compared, ours = anon.compare(table, tmp_path / "out.parquet", release.encoded.schema), release.utility()
    assert 0 < ours.gcp <= 1  # by months all days are one
    # where the roles say nothing of it, the file does
    uncoded = anon.compare(table, tmp_path / "out.parquet", release.encoded.schema.uncoded())
    assert uncoded.gcp == compared.gcp
    if numeric == "bounds" and pa.types.is_floating(kind):
        # 24 ends what lies below the top, and is the top: the file does not tell them apart
        assert compared.gcp >= ours.gcp
        return
    for name in ("gcp", "um", "kl", "u_loss"):
        assert getattr(compared, name) == pytest.approx(getattr(ours, name)), name


def test_flags_tell_how_a_csv_is_coded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = people().select(["age", "ill"]).append_column("pay", paid(240)["pay"])
    schema = anon.Schema([anon.numeric("age", least=5, top=60)], [anon.numeric("pay", top=6000), "ill"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(4)], numeric="bounds")
    pa.parquet.write_table(table, tmp_path / "people.parquet")
    release.write(tmp_path / "out.csv")
    roles = [
        "--quasi",
        "age",
        "--sensitive",
        "pay,ill",
        "--least",
        "age=5",
        "--top",
        "age=60",
        "--top",
        "pay=6000",
    ]
    files = [str(tmp_path / "people.parquet"), str(tmp_path / "out.csv")]
    assert main(["compare", *files, *roles, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gcp"] == pytest.approx(release.utility().gcp)
    roles[1] = "age_min,age_max"
    assert main(["check", files[1], *roles[:4], *roles[8:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["by_sensitive"]["pay"]["t_ordered"]
    assert told == pytest.approx(release.privacy().by_sensitive["pay"].t_ordered)


def test_a_changed_file_cannot_code_what_is_not_coded(tmp_path: Path) -> None:
    table = people().select(["age", "ill"])
    schema = anon.Schema([anon.numeric("age", anon.intervals(5, 10), least=5)], ["ill"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(4)])
    metadata = {**release.metadata, "coding": {"age": {"least": [7]}}}
    forged = release.table.replace_schema_metadata({"anon": json.dumps(metadata)})
    told = anon.compare(table, forged, schema.uncoded())
    plain = anon.compare(table, release.table.replace_schema_metadata(None), schema.uncoded())
    assert told.gcp == plain.gcp


def test_out_of_core_gives_the_same_classes(tmp_path: Path) -> None:
    table = people()
    pa.parquet.write_table(table, tmp_path / "people.parquet", row_group_size=50)
    source = anon.read_source(tmp_path / "people.parquet", engine="stream", memory="64M")
    shown = []
    for each in (table, source):
        anon.anonymize(each, SCHEMA, require=[anon.KAnonymity(3)], effort="fast").write(
            tmp_path / "release.csv"
        )
        shown.append(sorted((tmp_path / "release.csv").read_text(encoding="utf-8").splitlines()))
    assert shown[0] == shown[1]


def test_units_are_counted_in_what_was_recoded() -> None:
    table = people(120).append_column("who", pa.array([i // 2 for i in range(120)]))
    schema = anon.Schema([AGE, ZIP, BORN], ["ill"], unit="who")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(3)])
    assert schema.uncoded().unit == "who"
    assert not schema.uncoded().coded
    assert release.privacy().k >= 3
    for one, domain in zip(release.cells, release.encoded.quasi, strict=True):
        assert (domain.coding.last[one.high] == one.high).all()


def test_every_format_reads_back(tmp_path: Path) -> None:
    release = anon.anonymize(people(nulls=True), SCHEMA, require=[anon.KAnonymity(3)])
    for suffix in ("csv", "parquet", "feather"):
        release.write(tmp_path / f"r.{suffix}")
        assert anon.check(tmp_path / f"r.{suffix}", SCHEMA).k == release.privacy().k


def test_the_metadata_say_it() -> None:
    told = anon.anonymize(people(), SCHEMA, require=[anon.KAnonymity(3)]).metadata
    assert told["coding"] == {
        "age": {"least": 5, "top": 90, "bottom": 18},
        "zip": {"least": 3},
        "born": {"least": "year", "bottom": "1940-06-01"},
    }
    assert "nothing finer" in told["cells"]["zip"]["meaning"]
    assert "coding" not in anon.anonymize(people(), SCHEMA.uncoded(), require=[anon.KAnonymity(3)]).metadata


def test_a_frontier_measures_against_the_original() -> None:
    table = people()
    k = [Configuration((anon.KAnonymity(3),))]
    point = anon.frontier(table, SCHEMA, k, privacy="prosecutor.max", utility="gcp").points[0]
    release = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(3)], effort="fast")
    assert point.utility == release.utility().gcp
    buckets = [Configuration((anon.LDiversity(2),), publish="bucketization")]
    tried = anon.frontier(table, SCHEMA, buckets, privacy="p_loss", utility="gcp")
    lost = anon.anonymize(table, SCHEMA, method=anon.Identity()).utility().gcp
    assert [one.utility for one in tried.points if one.configuration is not None] == [lost]
    assert [one.utility for one in tried.points if one.name == "original"] == [0]
    tried = anon.frontier(table, SCHEMA, buckets, privacy="sample_uniques", utility="gcp")
    alone = {one.name: one.privacy for one in tried.points if one.name != "trivial"}
    assert alone.pop("original") == anon.check(table, SCHEMA).sample_uniques
    shown = anon.anonymize(table, SCHEMA, method=anon.Identity()).privacy().sample_uniques
    assert [*alone.values()] == [shown]


def bucketized(table: Any, schema: anon.Schema = SCHEMA, **options: Any) -> anon.Release:
    more: dict[str, Any] = {"require": [anon.LDiversity(2)], "publish": "bucketization"} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return anon.anonymize(table, schema, **more)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize(
    "method", [anon.Anatomy(3), anon.Mondrian(), anon.Curve(), anon.KMembers()], ids=repr
)
def test_buckets_show_coded_values(method: Any, nulls: bool, tmp_path: Path) -> None:
    table = people(120, nulls)
    release = bucketized(
        table, method=method, require=[] if isinstance(method, anon.Anatomy) else [anon.KAnonymity(4)]
    )
    plain = anon.anonymize(table, SCHEMA, method=anon.Identity(), order="input")
    shown = {row: cells for row, cells in enumerate(plain.table.drop(["ill"]).to_pylist())}
    for row, cells in zip(release.classes.rows.tolist(), release.table.to_pylist(), strict=True):
        assert {name: cells[name] or "missing" for name in ("age", "zip", "born")} == shown[row]
    lost, alone = release.utility(), plain.utility()
    assert (lost.gcp, lost.um_rows, lost.entropy) == (alone.gcp, alone.um_rows, alone.entropy)
    # the risk is that of the values that are shown
    assert release.privacy().prosecutor.mean == plain.privacy().prosecutor.mean
    for suffix in ("csv", "parquet"):
        release.write(tmp_path / f"r.{suffix}")
        checked = anon.check(tmp_path / f"r.{suffix}", SCHEMA)
        assert checked.k == release.privacy().k
        assert checked.prosecutor.mean == plain.privacy().prosecutor.mean
        compared = anon.compare(table, tmp_path / f"r.{suffix}", SCHEMA)
        for name in ("gcp", "um", "entropy", "dm", "kl", "u_loss"):
            assert getattr(compared, name) == pytest.approx(getattr(lost, name)), name


def test_what_buckets_of_coded_values_tell() -> None:
    # [10, 11] and [12, 13] in one bucket with two a and two b: half of what is shown may be 10
    table = pa.table({"age": [10, 11, 12, 13], "ill": [*"abab"]})
    schema = anon.Schema([anon.numeric("age", least=2)], ["ill"])
    release = bucketized(table, schema, require=[anon.KAnonymity(4)])
    workload = parse_queries(release.encoded.original, ["age = 10", "age = 10 & ill = a", "age <= 11"])
    answers = answer(workload, release)
    assert answers.estimated.tolist() == [1, 0.5, 2]
    assert answers.least.tolist() == [0, 0, 2]
    assert answers.most.tolist() == [2, 2, 2]
    # each of four equally likely pairs is thought half as likely, beside four that do not occur
    assert release.utility().kl == pytest.approx(math.log(2))
    # of each age one value, estimated as (1/2, 1/2); of [10, 12) and [12, 14) there is no predicate
    assert release.utility(min_support=0.25).u_loss == pytest.approx(0.75 * math.log(4 / 3))


@pytest.mark.parametrize("nulls", [False, True])
def test_what_is_spread_over_one_value_is_that_value(nulls: bool) -> None:
    """The estimates of coded buckets, where each code is a block of its own, are those of uncoded ones."""
    table = people(60, nulls)
    plain = bucketized(table, SCHEMA.uncoded()).published
    alone = [
        replace(domain, coding=Coding(own, own, labels=tuple(domain.values.cast(pa.string()).to_pylist())))
        for domain in plain.original.quasi
        for own in [np.arange(domain.n_values, dtype=np.uint32)]
    ]
    spread = replace(plain, original=replace(plain.original, quasi=tuple(alone)))
    queries = [
        "age > 40",
        "age <= 30 & ill = 1",
        "ill in {0, 2}",
        "age in [18, 60] & born < 1980-01-01 & ill = 3",
    ]
    workload = parse_queries(plain.original, queries)
    ours, theirs = (answer(workload, one) for one in (spread, plain))
    assert ours.estimated == pytest.approx(theirs.estimated)
    assert (ours.least.tolist(), ours.most.tolist()) == (theirs.least.tolist(), theirs.most.tolist())
    both = [measure_utility(one) for one in (spread, plain)]
    for name in ("kl", "u_loss", "gcp", "um", "entropy"):
        assert getattr(both[0], name) == pytest.approx(getattr(both[1], name)), name


def test_buckets_of_files_show_coded_values(tmp_path: Path) -> None:
    pa.parquet.write_table(people(), tmp_path / "people.parquet", row_group_size=50)
    source = anon.read_source(tmp_path / "people.parquet", engine="stream", memory="64M")
    bucketized(source, effort="fast").write(tmp_path / "out.parquet")
    shown = pa.parquet.read_table(tmp_path / "out.parquet")
    assert max(map(len, shown["zip"].to_pylist())) == 3
    assert ">= 90" in shown["age"].to_pylist()
    told = anon.compare(tmp_path / "people.parquet", tmp_path / "out.parquet", SCHEMA)
    assert told.gcp == pytest.approx(anon.anonymize(people(), SCHEMA, method=anon.Identity()).utility().gcp)
    # the file tells its coding; a hierarchy it does not tell
    roles = anon.Schema([anon.numeric("age", least=5, top=90)], ["ill"])
    bucketized(people(), roles).write(tmp_path / "out.parquet")
    assert anon.compare(people(), tmp_path / "out.parquet").gcp > 0


PAID = anon.Schema(
    ["age"],
    [
        anon.numeric("pay", least=1000, top=6000, bottom=500),
        anon.numeric("day", least="quarter"),
        anon.nominal("dx", anon.prefix(2, 1), least=2),
    ],
)


def paid(n: int = 160) -> pa.Table:
    rng = np.random.default_rng(4)
    days = rng.integers(0, 900, n).tolist()
    return pa.table(
        {
            "age": rng.integers(18, 80, n),
            "pay": pa.array(rng.lognormal(8, 1, n).astype(int), mask=rng.random(n) < 0.05),
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=day) for day in days],
            "dx": [
                f"{a}{b}"
                for a, b in zip(rng.choice([*"ABC"], n), rng.integers(10, 30, n).tolist(), strict=True)
            ],
        }
    )


def as_coded(table: pa.Table, schema: anon.Schema = PAID) -> pa.Table:
    """The table with its sensitive columns recoded one by one, as quasi-identifiers are."""
    for attribute in schema.sensitive:
        one = anon.anonymize(
            table.select([attribute.name]), anon.Schema([attribute]), method=anon.Identity(), order="input"
        )
        words = [None if word == "missing" else word for word in one.table[attribute.name].to_pylist()]
        table = table.set_column(table.column_names.index(attribute.name), attribute.name, pa.array(words))
    return table


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
@pytest.mark.parametrize("in_files", [False, True])
def test_sensitive_values_are_coded_and_required_of_as_coded(
    publish: Any, in_files: bool, tmp_path: Path
) -> None:
    table, source = paid(), paid()
    if in_files:
        pa.parquet.write_table(table, tmp_path / "paid.parquet", row_group_size=50)
        source = anon.read_source(tmp_path / "paid.parquet", engine="stream", memory="64M")
    require = [anon.KAnonymity(4), anon.LDiversity(2)]
    release = bucketized(source, PAID, publish=publish, require=require, effort="fast")
    recoded = as_coded(table)
    pay = sorted(
        set(recoded["pay"].drop_null().to_pylist()), key=lambda word: (word[0] == ">", len(word), word)
    )
    assert pay[0] == "<= 500"
    assert pay[-1] == ">= 6000"
    days = sorted(set(recoded["day"].to_pylist()))
    plain = anon.Schema(
        ["age"],
        [anon.ordinal("pay", pay), anon.ordinal("day", days), anon.nominal("dx", {"*": {
            a: [f"{a}{b}" for b in "12"] for a in "ABC"}})],
    )  # fmt: skip
    by_hand = bucketized(recoded, plain, publish=publish, require=require, effort="fast")
    measured, ours = release.privacy(), by_hand.privacy()
    names = ("k", "l_distinct", "l_probabilistic", "t_ordered", "t_hierarchical", "p_loss", "a_acc")
    if publish == "generalization":
        assert [getattr(measured, name) for name in names] == [getattr(ours, name) for name in names]
    else:  # equal ages are dealt out by chance
        alike = [each.sensitive_table.group_by(["attribute", "value"]).aggregate([("count", "sum")])
                 for each in (release, by_hand)]  # fmt: skip
        assert sorted(map(str, alike[0].to_pylist())) == sorted(map(str, alike[1].to_pylist()))
    # what the file shows is what the table recoded by hand holds, row by row
    for suffix in ("parquet", "csv"):
        release.write(tmp_path / f"out.{suffix}")
        checked = anon.check(tmp_path / f"out.{suffix}", PAID)
        for name in ("k", "l_distinct", "t_ordered", "p_loss"):
            assert getattr(checked, name) == getattr(measured, name), (suffix, name)
        compared = anon.compare(table, tmp_path / f"out.{suffix}", PAID)
        lost = release.utility()
        for name in ("gcp", "kl", "u_loss"):
            assert getattr(compared, name) == pytest.approx(getattr(lost, name)), (suffix, name)
        if publish == "generalization":
            rows = {(row["pay"], row["day"], row["dx"]) for row in recoded.to_pylist()}
            shown = anon.read_table(tmp_path / f"out.{suffix}").to_pylist()
            assert {(row["pay"], row["day"], row["dx"]) for row in shown} == rows
    assert release.metadata["coding"]["pay"] == {"least": 1000, "top": 6000, "bottom": 500}
    told = anon.check(tmp_path / "out.parquet")
    assert (told.t_ordered, told.t_hierarchical) == (measured.t_ordered, measured.t_hierarchical)
    assert anon.check(tmp_path / "out.parquet", PAID, require=require).unmet == ()


def test_a_file_tells_how_its_sensitive_numbers_are_coded(tmp_path: Path) -> None:
    schema = anon.Schema(["age"], [anon.numeric("pay", top=6000)])
    bucketized(paid(), schema, publish="generalization").write(tmp_path / "out.parquet")
    told = anon.compare(paid(), tmp_path / "out.parquet")
    assert told.kl == pytest.approx(anon.compare(paid(), tmp_path / "out.parquet", schema).kl)
    nodes = anon.Schema(["age"], [anon.nominal("dx", anon.prefix(2), least=2)])
    bucketized(paid(), nodes, publish="generalization").write(tmp_path / "out.parquet")
    with pytest.raises(UsageError, match="'dx' cannot be read without its order or hierarchy"):
        anon.compare(paid(), tmp_path / "out.parquet")


def test_nothing_of_a_dictionary_tells_what_was_one_value() -> None:
    schema = anon.Schema(["age"], [anon.numeric("pay", top=600)])
    table = pa.table({"age": [1, 1, 2, 2], "pay": [700, 800, 600, 100]})
    shown = anon.anonymize(table, schema, require=ONE).table["pay"]
    assert sorted(shown.to_pylist()) == ["100", ">= 600", ">= 600", ">= 600"]
    assert shown.combine_chunks().dictionary.to_pylist() == ["100", ">= 600"]


@pytest.mark.parametrize(
    "broken",
    [
        lambda attribute, *domain: None,
        lambda attribute, *domain: own_ends(coding_of(attribute, *domain), domain[0]),
    ],
)
def test_the_recheck_finds_sensitive_values_that_are_not_recoded(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "coding_of", broken)
    with pytest.raises(RecheckError):
        anon.anonymize(paid(), anon.Schema(["age"], [PAID.sensitive[0]]), require=[anon.KAnonymity(4)])


@pytest.mark.parametrize(
    "broken",
    [
        lambda attribute, *domain: None,
        lambda attribute, *domain: own_ends(own_blocks(coding_of(attribute, *domain)), domain[0]),
        lambda attribute, *domain: coding_of(replace(attribute, top=93 if attribute.top else None), *domain),
    ],
)
def test_the_recheck_finds_buckets_that_are_not_recoded(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "coding_of", broken)
    with pytest.raises(RecheckError):
        bucketized(people(240).select(["age", "ill"]), anon.Schema([AGE], ["ill"]))


def own_blocks(coding: Coding | None) -> Coding | None:
    """A coding that recodes nothing."""
    if coding is None:
        return None
    own = np.arange(len(coding.first), dtype=np.uint32)
    return replace(coding, first=own, last=own)


def own_ends(coding: Coding | None, domain: pa.Array) -> Coding | None:
    """A coding that shows where its values lie."""
    return (
        None if coding is None else replace(coding, lower=domain, upper=domain, closed=coding.closed | True)
    )


@pytest.mark.parametrize(
    ("n", "broken"),
    [
        (240, lambda attribute, *domain: own_blocks(coding_of(attribute, *domain))),
        (240, lambda attribute, *domain: None),
        (9, lambda attribute, *domain: own_ends(coding_of(attribute, *domain), domain[0])),
        (9, lambda attribute, *domain: None),
        (40, lambda attribute, *domain: coding_of(replace(attribute, top=93), *domain)),
        (40, lambda attribute, *domain: coding_of(replace(attribute, bottom=15), *domain)),
    ],
)
def test_the_recheck_finds_what_is_not_recoded(n: int, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "coding_of", broken)
    table = pa.table({"age": people(n)["age"]})
    with pytest.raises(RecheckError):
        anon.anonymize(table, anon.Schema([AGE]), require=ONE)


def test_levels_that_cut_what_is_one_value_are_not_shown() -> None:
    # only 36 of [35, 40) occurs; [36, 37) and [36, 48) would tell it
    age = anon.numeric("age", anon.intervals(1, 5, 12, 20), least=5)
    assert cells("age", [21, 36, 60], age, numeric="level") == ["[20, 25)", "[35, 40)", "[60, 65)"]
    days = [dt.date(2020, 3, 5), dt.date(2021, 6, 1), dt.date(2035, 1, 1)]
    born = anon.numeric("born", anon.dates("month", "year", "decade"), least="year")
    assert cells("born", days, born, numeric="level") == ["2020", "2021", "2035"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-200, 200), min_size=1, max_size=40),
    st.sampled_from([None, 3, 7, 0.5, 50]),
    st.one_of(st.none(), st.integers(-150, 150)),
    st.one_of(st.none(), st.integers(-150, 150)),
    st.sampled_from([pa.int16(), pa.float64(), pa.decimal128(21, 2), pa.date32(), pa.timestamp("s")]),
)
def test_blocks_are_those_of_the_recheck(
    numbers: list[int], least: Any, top: int | None, bottom: int | None, kind: pa.DataType
) -> None:
    def end(number: int | None) -> Any:
        if number is None or not pa.types.is_temporal(kind):
            return number
        ticks = pa.scalar(number, pa.int32() if kind.bit_width == 32 else pa.int64())
        return ticks.cast(kind).as_py().isoformat()

    if (top is not None and bottom is not None and bottom >= top) or (kind != pa.float64() and least == 0.5):
        least, top, bottom = None, 1, None
    plain = pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64())
    table = pa.table({"x": plain.cast(kind)})
    attribute = anon.numeric("x", least=least, top=end(top), bottom=end(bottom))
    encoded = encode(table, anon.Schema([attribute]))
    [domain], coding = encoded.quasi, encoded.quasi[0].coding
    codes = np.arange(domain.n_values)
    if coding is None:
        assert not attribute.is_coded
        return
    first, last = whole_blocks(attribute, domain, codes, codes)
    assert (first == coding.first).all()
    assert (last == coding.last).all()
    assert (encoded.quasi_codes[0] == first[encoded.original.quasi_codes[0]]).all()
    for code, value in enumerate(domain.values.to_pylist()):
        lower, upper = coding.lower[code].as_py(), coding.upper[code].as_py()
        low_open = coding.has_bottom and code <= coding.last[0]
        high_open = coding.has_top and code >= coding.first[-1]
        assert low_open or lower <= value
        assert high_open or value < upper or (coding.closed[code] and value == upper)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: anon.numeric("x", anon.intervals(5, 10), least=3), r"no level of intervals\(5, 10\)"),
        (lambda: anon.numeric("x", least="week"), "a width, or one of month, quarter, year, decade"),
        (lambda: anon.numeric("x", least=-1), "a width"),
        (lambda: anon.numeric("x", {"*": [1, 2]}, least=1), r"takes intervals\(\) or dates\(\)"),
        (lambda: anon.numeric("x", top=float("inf")), "top must be a number"),
        (lambda: anon.numeric("x", bottom=True), "bottom must be a number"),
        (lambda: anon.nominal("x", least=3), "give a hierarchy"),
        (lambda: anon.nominal("x", anon.prefix(3), least=2), r"no level of prefix\(3\)"),
        (lambda: anon.nominal("x", anon.prefix(3), least=1.5), "least must be a prefix length"),
        (lambda: Attribute("x", "nominal", top=3), "top is for numbers and dates"),
        (lambda: Attribute("x", "ordinal", None, ("a",), least=1), "not for an ordinal attribute"),
        (
            lambda: cells("x", [1, 2], anon.numeric("x", top=1.5)),
            "top 1.5 is no value of a column of type int64",
        ),
        (lambda: cells("x", [1, 2], anon.numeric("x", top="a")), "top 'a' is no value"),
        (lambda: cells("x", [1, 2], anon.numeric("x", top=1, bottom=1)), "bottom must lie below top"),
        (lambda: cells("x", ["a"], Attribute("x", None, None, top=1)), "top is for numbers and dates"),
        (
            lambda: anon.anonymize(people(), SCHEMA, method=anon.Laplace(1.0, bounds={"age": (0, 100)})),
            "which Laplace cannot show",
        ),
        (
            lambda: anon.anonymize(
                people(),
                anon.Schema(["zip"], [anon.numeric("age", top=80)]),
                method=anon.Laplace(1.0, bounds={"age": (0, 100)}),
            ),
            "'age' has a least level, top or bottom, which Laplace cannot show",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_a_schema_survives_a_job() -> None:
    assert anon.Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    assert repr(AGE) == "numeric('age', hierarchy=intervals(5, 10, 20), least=5, top=90, bottom=18)"


def test_flags_and_keys_of_a_job(tmp_path: Path) -> None:
    pa.parquet.write_table(people(), tmp_path / "people.parquet")
    words = ["anonymize", str(tmp_path / "people.parquet"), "-o", str(tmp_path / "a.csv"), "-q"]
    roles = ["--quasi", "age,zip,born", "--sensitive", "ill", "--k", "3"]
    coding = ["--least", "age=5", "--top", "age=90", "--least", "zip=3", "--least", "born=year"]
    assert (
        main([*words, *roles, "--hierarchy", "zip=prefix:4,3", *coding, "--bottom", "born=1940-06-01"]) == 0
    )
    job = tmp_path / "job.toml"
    job.write_text(
        f'input = "{tmp_path}/people.parquet"\noutput = "{tmp_path}/b.csv"\nquasi = ["age", "zip", "born"]\n'
        'sensitive = ["ill"]\nk = 3\nhierarchy = {zip = "prefix:4,3"}\n'
        'least = {age = 5, zip = 3, born = "year"}\n'
        'top = {age = 90}\nbottom = {born = "1940-06-01"}\n',
        encoding="utf-8",
    )
    assert main(["anonymize", "--config", str(job), "-q"]) == 0
    shown = [sorted((tmp_path / f"{name}.csv").read_text().splitlines()) for name in "ab"]
    assert shown[0] == shown[1]
    assert any(">= " in line or "<= " in line for line in shown[0])
    assert main([*words, *roles, "--top", "ill=3"]) == 2
    assert main([*words, *roles, "--top", "nothing=3"]) == 2


FAR = {
    pa.float64(): [0.5, 1e300, sys.float_info.max],
    pa.float32(): [0.5, 1e38, float(np.finfo(np.float32).max)],
    pa.decimal128(38, 3): [Decimal("0.5"), Decimal("9" * 35 + ".999"), Decimal("-" + "9" * 35 + ".999")],
    pa.decimal256(76, 5): [Decimal("0.5"), Decimal("9" * 71 + ".99999"), Decimal("-" + "9" * 71 + ".99999")],
}


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("kind", FAR, ids=str)
@pytest.mark.parametrize(
    "how", [{"least": 5}, {"ends": "1 digits"}, {"ends": 1000}, {"top": 2}, {"bottom": 0}]
)
def test_numbers_at_the_ends_of_their_type(tmp_path: Path, kind: pa.DataType, how: dict[str, Any]) -> None:
    """They are coded, or refused by name: floats have none between them there, and decimals no greater."""
    table = pa.table({"q": pa.array(FAR[kind] * 2, kind)})
    schema = anon.Schema([anon.numeric("q", anon.intervals(5, 10), **how)])
    for numeric in ("interval", "mean", "bounds"):
        try:
            release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], numeric=numeric)
        except UsageError as error:
            refused = str(error)
            assert "column 'q'" in refused
            continue
        release.write(tmp_path / "r.parquet")
        assert anon.check(tmp_path / "r.parquet").k >= 2


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_a_coded_column_of_nulls_alone(publish: Any) -> None:
    table = pa.table({"q": pa.nulls(4, pa.int64()), "s": pa.nulls(4, pa.date32()), "x": [*"abab"]})
    schema = anon.Schema(
        [anon.numeric("q", top=5)], [anon.numeric("s", anon.dates("month"), least="month"), "x"]
    )
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], publish=publish)
    assert release.table.num_rows == 4
