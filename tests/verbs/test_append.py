# SPDX-License-Identifier: Apache-2.0
"""Rules of a release, hold-out rows as cells, and batches that are released by old rules."""

from __future__ import annotations

import datetime
import json
import stat
from decimal import Decimal
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
from anon.release import Rules

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

K2, K5 = [anon.KAnonymity(2)], [anon.KAnonymity(5)]
AGES = anon.Schema([anon.numeric("age", anon.intervals(10, 50)), "sex"], ["ill"], ["id"])


def people(ages: list[int], sexes: str, first: int = 0) -> pa.Table:
    n = len(ages)
    ids = [f"p{first + i}" for i in range(n)]
    return pa.table({"id": ids, "age": ages, "sex": list(sexes), "ill": [f"i{i % 3}" for i in range(n)]})


FIRST = people([21, 22, 23, 31, 32, 33], "MMMFFF")


@pytest.fixture
def levels() -> Rules:
    return anon.anonymize(FIRST, AGES, require=K2, method=anon.FullDomain(levels=(1, 0))).rules


@pytest.fixture
def regions() -> Rules:
    return anon.anonymize(FIRST, AGES, require=K2, method=anon.Mondrian()).rules


def cells_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in zip(*(table[name].to_pylist() for name in ("age", "sex")), strict=True)]


# --- hold-out rows


def test_hold_out_rows_show_their_level(levels: Rules) -> None:
    made = levels.transform(people([25, 47, 29], "MFX"))
    assert cells_of(made.table) == [("[20, 29]", "M"), ("[40, 49]", "F"), ("[20, 29]", "*")]
    assert (made.outside, made.n_outside) == ({"sex": 1}, 1)
    assert made.table["id"].to_pylist() == ["p0", "p1", "p2"]
    assert repr(levels) == "Rules('full-domain', levels=(1, 0))"


def test_one_row_shows_what_it_would_show_among_others(levels: Rules, regions: Rules) -> None:
    """Not `*`, though its cell holds all that the rows at hand have."""
    assert cells_of(levels.transform(people([25], "M")).table) == [("[20, 29]", "M")]
    assert cells_of(regions.transform(people([25], "M")).table)[0][0] == "[21, 30]"
    made = anon.append(levels, people([24, 25, 26], "MMM", 100), require=K2, new_persons=True)
    assert made.release is not None
    assert cells_of(made.release.table) == [("[20, 29]", "M")] * 3
    # where the highest level holds all rows of a batch it is still no star
    coarse = anon.anonymize(
        people([21, 22, 61, 62], "MMMM"), AGES, require=K2, method=anon.FullDomain(levels=(2, 0))
    ).rules
    made = anon.append(coarse, people([24, 25], "MM", 100), require=K2, new_persons=True)
    assert made.release is not None
    assert cells_of(made.release.table) == [("[0, 49]", "M")] * 2


def test_hold_out_rows_show_their_region(regions: Rules) -> None:
    """The cut lies between 23 and 31: 24 to 30 are on the left of it, and ends are those of the table."""
    assert repr(regions) == "Rules('mondrian', regions=2)"
    made = regions.transform(people([25, 30, 31, 33, 34, 22], "MMFFFX"))
    left, right = ("[21, 30]", "*"), ("[31, 33]", "*")
    found = cells_of(made.table)
    assert [age for age, _ in found] == ["[21, 30]", "[21, 30]", "[31, 33]", "[31, 33]", "*", "*"]
    assert found[0] in (left, ("[21, 30]", "M"))
    assert found[2] in (right, ("[31, 33]", "F"))
    assert (made.outside, made.n_outside) == ({"age": 1, "sex": 1}, 2)


def test_a_table_shows_by_its_own_rules_what_its_full_domain_release_shows() -> None:
    table, schema = anon.datasets.census(500, 1), anon.datasets.census_schema()
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(10)], method=anon.FullDomain(), order="input"
    )
    names = [each.name for each in schema.quasi]
    made = release.rules.transform(table)
    assert made.table.select(names).to_pylist() == release.table.select(names).to_pylist()
    assert made.n_outside == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["nearest", "median"]))
def test_regions_share_nothing_hold_all_and_keep_classes_apart(seed: int, cuts: str) -> None:
    """Numbers, floats, dates, labels, trees and nulls: each row is in the region of its class alone."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    days = rng.integers(0, 40, n).astype(np.int32)
    table = pa.table(
        {
            "i": pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.2),
            "f": rng.normal(size=n).round(1),
            "d": pa.array(days).cast(pa.date32()),
            "t": rng.choice(["1234", "1256", "1299", "4411", "4477"], n),
            "l": rng.choice(list("xyz"), n),
        }
    )
    quasi = ["i", "f", "d", anon.nominal("t", anon.prefix(2, 1)), "l"]
    release = anon.anonymize(table, anon.Schema(quasi), require=K2, method=anon.Mondrian(cuts=cuts))
    rules = Rules.from_dict(json.loads(json.dumps(release.rules.to_dict())))
    fitted = rules.fit(table)
    assert fitted.rows.tolist() == list(range(n))
    of_class = np.empty(n, int)
    of_class[release.classes.rows] = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
    of_region = np.empty(n, int)
    of_region[fitted.classes.rows] = np.repeat(np.arange(fitted.classes.n_classes), fitted.classes.sizes)
    # rows of a class are never parted, and the cells of a region hold its rows
    for number in range(release.classes.n_classes):
        assert len(set(of_region[of_class == number].tolist())) == 1
    assert sorted(fitted.classes.rows.tolist()) == list(range(n))
    for one, codes in zip(fitted.cells, fitted.encoded.quasi_codes, strict=True):
        cell = one.of_class[of_region]
        null = codes == one.domain.n_values
        assert one.null[cell][null].all()
        assert (one.low[cell] <= codes)[~null].all()
        assert (codes <= one.high[cell])[~null].all()


def test_between_two_values_there_is_no_gap() -> None:
    """A new value between the two that a cut parts lies in a region, whatever its type."""
    moments = [datetime.datetime(2024, 1, day) for day in (1, 2, 20, 21)]
    for values, between in (
        ([1.5, 2.5, 8.5, 9.5], 5.25),
        (moments, datetime.datetime(2024, 1, 9, 7, 30)),
        ([datetime.date(2024, 1, day) for day in (1, 2, 20, 21)], datetime.date(2024, 1, 9)),
    ):
        rules = anon.anonymize({"x": values}, anon.Schema(["x"]), require=K2, method=anon.Mondrian()).rules
        assert repr(rules) == "Rules('mondrian', regions=2)"
        again = Rules.from_dict(json.loads(json.dumps(rules.to_dict())))
        made = again.transform({"x": [*values, between]})
        shown = made.table["x"].to_pylist()
        assert made.n_outside == 0
        assert shown[4] == shown[0] == shown[1] != shown[2] == shown[3]


def test_the_file_is_its_owners_and_holds_no_row_and_no_count(tmp_path: Path) -> None:
    table = people([21, 22, 23, 31, 32, 33] * 3, "MMMFFF" * 3)
    for method in (anon.FullDomain(), anon.Mondrian()):
        rules = anon.anonymize(table, AGES, require=K2, method=method).rules
        rules.write(tmp_path / "rules.json")
        assert stat.S_IMODE((tmp_path / "rules.json").stat().st_mode) == 0o600
        written = (tmp_path / "rules.json").read_text()
        assert not any(secret in written for secret in ("p0", "i0", "i1", "18"))
        assert Rules.read(tmp_path / "rules.json").to_dict() == rules.to_dict()


def test_what_has_no_rules_says_so(tmp_path: Path) -> None:
    for method, why in (
        (anon.Curve(), "Curve makes classes of the rows that are there"),
        (anon.Mondrian(relaxed=True), "relaxed cuts share rows out"),
        (anon.FullDomain(iterate=0.5), "the round of a row depends"),
    ):
        release = anon.anonymize(FIRST, AGES, require=K2, method=method)
        with pytest.raises(anon.UsageError, match=why):
            _ = release.rules
    with pytest.raises(anon.UsageError, match="numeric='level'"):
        _ = anon.anonymize(FIRST, AGES, require=K2, method=anon.Mondrian(), numeric="level").rules
    for text in ("{}", "no", '{"anon_rules": 1}', '{"anon_rules": 1, "schema": 3}', "[1]"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(anon.DataError, match="no rules of a release"):
            Rules.read(tmp_path / "x.json")
    with pytest.raises(anon.DataError, match="cannot read the rules"):
        Rules.read(tmp_path / "absent.json")


def test_rules_that_were_changed_are_refused(regions: Rules, levels: Rules) -> None:
    for rules, key, value in (
        (regions, "regions", {"low": [[0]], "high": [[0]], "null": [[False]]}),
        (regions, "regions", {"low": [[0], [0]], "high": [[99], [0]], "null": [[False], [False]]}),
        (regions, "levels", [1, 1]),
        (levels, "levels", [1]),
        (levels, "domain", []),
        (levels, "domain", [levels.to_dict()["domain"][0] | {"type": "double", "values": [1e999]}]),
        (levels, "levels", [1e999]),
    ):
        with pytest.raises(anon.DataError, match="no rules of a release"):
            Rules.from_dict(rules.to_dict() | {key: value})


# --- a batch


def test_a_batch_is_a_release_by_itself(levels: Rules, regions: Rules, tmp_path: Path) -> None:
    """Five in one class, three in the other: those are held, though the old class has three more."""
    batch = people([24, 25, 26, 27, 28, 31, 32, 33], "MMMMMFFF", 100)
    for rules in (levels, regions):
        made = anon.append(rules, batch, require=K5, new_persons=True)
        assert made.release is not None
        assert (made.n_released, made.held["id"].to_pylist()) == (5, ["p105", "p106", "p107"])
        assert set(made.release.table.column_names) == {"age", "sex", "ill"}
        path = tmp_path / "second.parquet"
        made.release.write(path)
        assert anon.check(path, AGES, require=K5).unmet == ()
        assert anon.check(path, AGES).k == 5
        assert made.release.privacy().k == 5
        assert repr(made) == "Appended(released=5, held=3)"


def test_the_cells_are_those_of_the_rules(levels: Rules, regions: Rules) -> None:
    batch = people([24, 25, 26, 27, 28], "MMMMM", 100)
    for rules in (levels, regions):
        made = anon.append(rules, batch, require=K5, new_persons=True)
        assert made.release is not None
        assert cells_of(made.release.table) == cells_of(rules.transform(batch).table)


def test_fewer_than_k_rows_of_an_old_class_are_refused(levels: Rules, regions: Rules) -> None:
    for rules in (levels, regions):
        made = anon.append(rules, people([24, 25], "MM", 100), require=K5, new_persons=True)
        assert (made.release, made.n_released, made.held.num_rows) == (None, 0, 2)


def test_held_rows_are_pooled_with_the_next_batch(levels: Rules, tmp_path: Path) -> None:
    first = anon.append(levels, people([24, 25], "MM", 100), require=K5, new_persons=True)
    path = tmp_path / "held.parquet"
    first.write_held(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = anon.append(
        levels, people([26, 27, 28], "MMM", 200), require=K5, new_persons=True, held=path, key="id"
    )
    assert (second.n_released, second.held.num_rows) == (5, 0)
    with pytest.raises(
        anon.DataError, match=r"'id': 2 rows of the batch, the first of them row 1, .* held already"
    ):
        anon.append(levels, people([24, 25], "MM", 100), require=K5, new_persons=True, held=path, key="id")


@pytest.mark.parametrize(
    ("keys", "earlier", "there"),
    [
        (pa.array([1, 7]), pa.array([7.0, None]), [False, True]),
        (pa.array(["007", " 2", "x", None]), pa.array([7, 2]), [True, True, False, False]),
        (pa.array([7, 2]), pa.array(["7.0", "b"]), [True, False]),
        (pa.array([7, 2**63], pa.uint64()), pa.array([7, -1]), [True, False]),
        (pa.array([10**18 + 1, 10**18]), pa.array([str(10**18 + 1)]), [True, False]),
        (pa.array([datetime.date(2020, 1, 1)]), pa.array([datetime.datetime(2020, 1, 1)]), [True]),
        (pa.array([datetime.date(2020, 1, 1)]), pa.array(["2020-01-01"]), [True]),
        (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b"], pa.large_string()), [False, True]),
        (pa.array([Decimal("7.00")]), pa.array([7]), [True]),
        (pa.array([10**18 + 1, 10**18]), pa.array([Decimal(10**18)]), [False, True]),
    ],
)
def test_persons_are_compared_by_values(
    levels: Rules, keys: pa.Array, earlier: pa.Array, there: list[bool]
) -> None:
    """Whatever type each of the two tables has them in."""
    batch = people([24] * len(keys), "M" * len(keys), 0).set_column(0, "id", keys)
    batch = batch.filter(pa.array([key.is_valid for key in keys]))
    before = people([24] * len(earlier), "M" * len(earlier), 0).set_column(0, "id", earlier)
    with pytest.raises(anon.DataError, match="they are in the earlier table") as told:
        anon.append(levels, batch, require=K2, earlier=before, key="id")
    assert (told.value.row, told.value.count) == (there.index(True), sum(there))


def test_persons_must_be_new(levels: Rules) -> None:
    batch = people([24, 25, 26], "MMM", 4)
    with pytest.raises(anon.UsageError, match="only if its persons are new"):
        anon.append(levels, batch, require=K2)
    with pytest.raises(anon.UsageError, match="name it as key="):
        anon.append(levels, batch, require=K2, earlier=FIRST)
    with pytest.raises(
        anon.DataError, match="of 2 rows of the batch, the first of them row 1, they are in"
    ) as told:
        anon.append(levels, batch, require=K2, earlier=FIRST, key="id")
    assert (told.value.column, told.value.row, told.value.count) == ("id", 0, 2)
    with pytest.raises(anon.DataError, match="the earlier table has no column 'id'"):
        anon.append(levels, batch, require=K2, earlier=FIRST.drop_columns(["id"]), key="id")
    unknown = batch.set_column(0, "id", pa.array([None, "p8", "p9"]))
    with pytest.raises(anon.DataError, match=r"of 1 rows of the batch, .* nobody knows whose"):
        anon.append(levels, unknown, require=K2, earlier=FIRST, key="id")
    made = anon.append(levels, people([24, 25, 26], "MMM", 6), require=K2, earlier=FIRST, key="id")
    assert made.n_released == 3


def test_a_requirement_that_looks_at_the_table_looks_at_the_batch(levels: Rules) -> None:
    """A class that fails t falls out, and t is of the rows that are left."""
    ages, sexes = [24] * 20 + [34] * 20 + [44] * 4, "M" * 20 + "F" * 20 + "M" * 4
    batch = people(ages, sexes, 100).set_column(3, "ill", [list("ab" * 20 + "cccc")])
    require = [anon.KAnonymity(4), anon.TCloseness(0.1, distance="equal")]
    made = anon.append(levels, batch, require=require, new_persons=True)
    assert made.release is not None
    assert (made.n_released, made.held["ill"].to_pylist()) == (40, ["c"] * 4)
    assert made.release.privacy().t_equal == 0


def test_units_are_counted(levels: Rules) -> None:
    schema = anon.Schema(AGES.quasi, ["ill"], unit="id")
    table = people([21, 22, 23, 31, 32, 33], "MMMFFF")
    rules = anon.anonymize(table, schema, require=K2, method=anon.FullDomain(levels=(1, 0))).rules
    batch = people([24, 25, 26, 31, 32], "MMMFF", 100).set_column(0, "id", [["a", "b", "c", "d", "d"]])
    made = anon.append(rules, batch, require=K2, earlier=table)  # the unit is the key
    assert (made.n_released, made.held["id"].to_pylist()) == (3, ["d", "d"])


def test_values_outside_of_the_rules_are_held(levels: Rules, regions: Rules) -> None:
    batch = people([24, 25, 26, 27], "MMMX", 100)
    for rules in (levels, regions):
        made = anon.append(rules, batch, require=K2, new_persons=True)
        assert (made.n_released, made.outside) == (3, {"sex": 1})
        nothing = anon.append(rules, people([24, 25], "XY", 100), require=K2, new_persons=True)
        assert (nothing.release, nothing.held.num_rows, nothing.outside) == (None, 2, {"sex": 2})


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.null(), pa.timestamp("ns")], ids=str)
@pytest.mark.parametrize("method", [anon.FullDomain(), anon.Mondrian()], ids=["levels", "regions"])
def test_of_a_column_without_values_the_rules_know_null_alone(kind: pa.DataType, method: Any) -> None:
    table = pa.table({"a": pa.nulls(4, kind), "b": [1, 1, 2, 2]})
    made = anon.anonymize(table, anon.Schema(["a", "b"]), require=K2, method=method)
    rules = Rules.from_dict(json.loads(json.dumps(made.rules.to_dict())))
    batch = pa.table({"a": [None, None, 7], "b": [1, 1, 2]})
    assert rules.transform(batch).table["a"].to_pylist() == ["missing", "missing", "*"]
    appended = anon.append(rules, batch, require=K2, new_persons=True)
    assert (appended.n_released, appended.held.num_rows, appended.outside) == (2, 1, {"a": 1})


def test_what_no_class_decides_is_refused(levels: Rules) -> None:
    batch = people([24, 25, 26], "MMM", 100)
    with pytest.raises(anon.UsageError, match="no test of one class of the batch"):
        anon.append(levels, batch, require=[anon.KAnonymity(2, nulls="wildcard")], new_persons=True)
    with pytest.raises(anon.UsageError, match="nothing is required"):
        anon.append(levels, batch, require=[], new_persons=True)


# --- the command


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    anon.datasets.write_table(FIRST, "first.csv")
    anon.datasets.write_table(people([24, 25, 26, 31], "MMMF", 100), "second.csv")
    words = "anonymize first.csv -o first.parquet --quasi age,sex --sensitive ill --identifying id --k 2"
    assert main([*words.split(), "--method", "full-domain", "--rules", "rules.json", "--quiet"]) == 0
    return tmp_path


def test_the_command(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stat.S_IMODE(Path("rules.json").stat().st_mode) == 0o600
    words = (
        "append rules.json second.csv -o second.parquet --k 2 --earlier first.csv --key id --held held.csv"
    )
    assert main([*words.split(), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["released"] + told["held"] == 4
    assert pq.read_table("second.parquet").num_rows == told["released"]
    if told["held"]:
        assert stat.S_IMODE(Path("held.csv").stat().st_mode) == 0o600
    assert (
        main(["append", "rules.json", "second.csv", "-o", "third.parquet", "--k", "50", "--new-persons"]) == 1
    )
    said = capsys.readouterr()
    assert "third.parquet: 0 rows released, 4 held" in said.out
    assert "nothing was released" in said.err
    assert "--held writes them" in said.err
    assert not Path("third.parquet").exists()


def test_what_is_the_owners_is_a_file_for_its_owner_alone(files: Path) -> None:
    words = "check first.parquet --roles-from-file --per-class classes.csv --report own.html -q"
    words += " --report-public all.html"
    Path("plain").touch()
    assert main(words.split()) == 0
    modes = [stat.S_IMODE(Path(name).stat().st_mode) for name in ("own.html", "classes.csv", "all.html")]
    assert modes == [0o600, 0o600, stat.S_IMODE(Path("plain").stat().st_mode)]


def test_rows_of_an_earlier_batch_do_not_stay_in_the_file_of_held_rows(files: Path) -> None:
    anon.datasets.write_table(people([24, 25, 26], "MMM", 100), "second.csv")
    anon.datasets.write_table(people([24], "M", 200), "held.parquet")
    words = "append rules.json second.csv -o second.parquet --k 2 --new-persons --held held.parquet --quiet"
    assert main(words.split()) == 0
    assert pq.read_table("held.parquet").num_rows == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("append rules.json second.csv --k 2 --new-persons", "name the release's file with -o"),
        ("append rules.json second.csv -o x.csv --k 2", "--earlier, or claim it yourself with --new-persons"),
        ("append rules.json second.csv -o x.csv --new-persons", "nothing is required"),
        ("append rules.json second.csv -o x.csv --held x.csv --k 2 --new-persons", "files of their own"),
        ("append rules.json second.csv -o second.csv --k 2 --new-persons", "is also an input"),
        ("append second.csv second.csv -o x.csv --k 2 --new-persons", "no rules of a release"),
        ("append rules.json first.csv -o x.csv --k 2 --earlier first.csv --key id", "column 'id': of 6 rows"),
        (
            "anonymize first.csv -o x.csv --quasi age,sex --k 2 --method curve --rules r.json",
            "this release has no rules: Curve",
        ),
        ("anonymize first.csv -o x.csv --quasi age,sex --k 2 --rules x.csv", "another file of this command"),
    ],
)
def test_wrong_use_of_the_command(
    files: Path, words: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    assert why in " ".join(capsys.readouterr().err.split())
    assert not Path("x.csv").exists()


@pytest.mark.parametrize("how", ["", "--method curve", "--effort best", "--method mondrian --numeric mean"])
def test_rules_that_there_are_not_are_refused_before_the_work(
    files: Path, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*given: Any, **more: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(anon, "anonymize", never)
    words = f"anonymize first.csv -o x.csv --quasi age,sex --k 2 --rules r.json {how}"
    assert main(words.split()) == 2
    assert "this release has no rules" in " ".join(capsys.readouterr().err.split())
