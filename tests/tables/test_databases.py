# SPDX-License-Identifier: Apache-2.0
"""Tables of databases: read and never changed, written whole or not at all, told without secrets."""

from __future__ import annotations

import datetime
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon.command import main
from anon.command.entry import _kept
from anon.errors import DataError, UsageError
from anon.tables import Target, check_no_password, place_of, shown, target_of
from anon.tables.places import parts_of, quoted
from asked import KINDS, Database, in_file

PERSON = "CREATE TABLE person (age INTEGER, zip TEXT, disease TEXT)"
ROLES = ("--quasi", "age,zip", "--sensitive", "disease", "--k", "3")


@pytest.fixture(
    params=[pytest.param(kind, marks=pytest.mark.postgres) if kind == KINDS[0] else kind for kind in KINDS]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Each of the databases in turn, empty."""
    if request.param != "PostgreSQL":
        return in_file(request.param, tmp_path)
    made = Database(request.param, request.getfixturevalue("postgres"))
    made.run(
        "DROP SCHEMA IF EXISTS public CASCADE", "DROP SCHEMA IF EXISTS clinic CASCADE", "CREATE SCHEMA public"
    )
    return made


@pytest.fixture
def people(database: Database) -> Database:
    """One with 60 people."""
    rows = ", ".join(f"({20 + i % 30}, '0{i % 7}100', '{'flu' if i % 3 else 'cold'}')" for i in range(60))
    database.run(PERSON, f"INSERT INTO person VALUES {rows}")
    return database


def release_of(source: Any, **options: Any) -> Any:
    schema = anon.Schema(["age", "zip"], ["disease"])
    return anon.anonymize(anon.read_source(source, **options), schema, require=[anon.KAnonymity(3)])


# --- what is read


def test_a_table_is_read_and_its_columns_have_their_types(people: Database) -> None:
    table = anon.read_table(people.source, table="person")
    assert table.column_names == ["age", "zip", "disease"]
    assert pa.types.is_integer(table.schema.field("age").type)
    assert table.column("zip").to_pylist()[:2] == ["00100", "01100"] or table.num_rows == 60
    assert sorted(table.column("age").to_pylist()) == sorted(20 + i % 30 for i in range(60))
    assert anon.read_table(people.source, table="person", columns=["zip"]).column_names == ["zip"]


def test_the_only_table_needs_no_name_and_of_several_one_is_to_be_named(people: Database) -> None:
    assert anon.read_table(people.source).num_rows == 60
    people.run("CREATE VIEW old AS SELECT * FROM person WHERE age > 40")
    assert anon.read_table(people.source, table="old").num_rows == 18
    with pytest.raises(DataError, match="several tables: 'old', 'person'; name one: table="):
        anon.read_table(people.source)
    with pytest.raises(DataError, match="no table 'persons'; did you mean 'person'"):
        anon.read_table(people.source, table="persons")


def test_names_may_hold_anything(database: Database) -> None:
    name, column = 'we"ird, näme.x', 'cölumn "1" = a'
    database.run(
        f"CREATE TABLE {quoted(name)} ({quoted(column)} INTEGER)", f"INSERT INTO {quoted(name)} VALUES (1)"
    )
    read = anon.read_table(database.source, table=quoted(name))
    assert read.to_pydict() == {column: [1]}
    assert anon.read_table(database.source, table=quoted(name), null=[f"{quoted(column)}=2"]).num_rows == 1


def test_a_schema_is_named_before_a_dot(database: Database) -> None:
    if database.kind == "SQLite":
        pytest.skip("SQLite has one schema")
    database.run(
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.visits (a INTEGER)",
        "INSERT INTO clinic.visits VALUES (1)",
    )
    assert anon.read_table(database.source, table="clinic.visits").num_rows == 1
    with pytest.raises(DataError, match=r"no table 'visits'; did you mean 'clinic.visits'"):
        anon.read_table(database.source, table="visits")


def test_a_query_is_read_in_place_of_a_table(people: Database) -> None:
    read = anon.read_table(people.source, query="SELECT age, zip AS code FROM person WHERE age < 22; ")
    assert read.column_names == ["age", "code"]
    assert read.num_rows == 4
    with pytest.raises(UsageError, match="a table and a query"):
        anon.read_table(people.source, table="person", query="SELECT 1 AS a")
    with pytest.raises(DataError, match=r"does not take the query.*nothere"):
        anon.read_table(people.source, query="SELECT nothere FROM person")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM person",
        "DROP TABLE person",
        "SELECT 1 AS a) AS b; DELETE FROM person; SELECT * FROM (SELECT 1 AS a",
        "WITH gone AS (DELETE FROM person RETURNING age) SELECT * FROM gone",
        "COMMIT",
        "ATTACH 'stolen.db' AS stolen",
        "COPY person TO 'stolen.csv'",
        "SELECT * FROM 'stolen.csv'",
        "selec",
    ],
)
def test_a_query_changes_nothing_and_reads_nothing_else(
    people: Database, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stolen.csv").write_text("secret\n1\n")
    before = sorted(os.listdir("."))
    with pytest.raises(DataError) as caught:
        anon.read_table(people.source, query=query)
    assert "\n" not in str(caught.value)
    assert people.run("SELECT count(*) FROM person") == [(60,)]
    assert sorted(os.listdir(".")) == before


def test_what_makes_no_sense_is_refused(people: Database, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="for CSV files only"):
        anon.read_source(people.source, table="person", delimiter=";")
    with pytest.raises(UsageError, match="read whole"):
        anon.read_source(people.source, table="person", engine="stream")
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    with pytest.raises(UsageError, match="asked of a database"):
        anon.read_source(path, table="person")
    people.run("DELETE FROM person")
    with pytest.raises(DataError, match="no rows"):
        anon.read_source(people.source, table="person")


def test_nothing_depends_on_the_order_of_rows(database: Database, tmp_path: Path) -> None:
    rows = [f"({20 + i % 9}, '{i % 4}', 'd{i % 2}')" for i in range(80)]
    found = []
    for seed in range(2):
        random.Random(seed).shuffle(rows)
        database.run("DROP TABLE IF EXISTS person", PERSON, f"INSERT INTO person VALUES {', '.join(rows)}")
        release = release_of(database.source)
        found.append(sorted(map(str, release.table.to_pylist())))
    assert found[0] == found[1]


# --- types


@pytest.mark.postgres
def test_types_of_postgresql(postgres: str) -> None:
    database = Database("PostgreSQL", postgres)
    database.run(
        "DROP TABLE IF EXISTS kinds", "DROP TYPE IF EXISTS mood", "CREATE TYPE mood AS ENUM ('sad', 'ok')"
    )
    columns = {  # type: (value in SQL, what is read)
        "smallint": ("1", 1),
        "bigint": ("9007199254740993", 9007199254740993),
        "numeric": ("1.50", Decimal("1.50")),
        "numeric(12,2)": ("-1234567890.25", Decimal("-1234567890.25")),
        "real": ("1.5", 1.5),
        "boolean": ("true", True),
        "text": ("''", ""),
        "char(4)": ("'ab'", "ab"),
        "mood": ("'ok'", "ok"),
        "date": ("'2020-01-31'", datetime.date(2020, 1, 31)),
        "timestamp": ("'2020-01-31 10:20:30.5'", datetime.datetime(2020, 1, 31, 10, 20, 30, 500000)),
        "timestamptz": (
            "'2020-01-31 10:20:30+02'",
            datetime.datetime(2020, 1, 31, 8, 20, 30, tzinfo=datetime.UTC),
        ),
        "time": ("'12:30'", datetime.time(12, 30)),
        "interval": ("'1 day'", "1 day"),
        "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        "jsonb": ("""'{"a": 1}'""", '{"a": 1}'),
        "bytea": (r"'\x00ff'", b"\x00\xff"),
        "integer[]": ("'{1,2}'", [1, 2]),
        "inet": ("'10.0.0.1'", "10.0.0.1/32"),
        "money": ("1.5::money", Decimal("1.50")),
        "oid": ("4294967295", 4294967295),
    }
    names = [f"c{i}" for i in range(len(columns))]
    described = ", ".join(f"{name} {kind}" for name, kind in zip(names, columns, strict=True))
    values = ", ".join(value for value, _ in columns.values())
    nulls = ", ".join("NULL" for _ in columns)
    database.run(f"CREATE TABLE kinds ({described})", f"INSERT INTO kinds VALUES ({values}), ({nulls})")
    read = anon.read_table(postgres, table="kinds")
    for name, (kind, (_, expected)) in zip(names, columns.items(), strict=True):
        assert sorted(read.column(name).to_pylist(), key=lambda value: value is None) == [expected, None], (
            kind
        )
    database.run("UPDATE kinds SET c9 = 'infinity'", "INSERT INTO kinds (c2) VALUES ('NaN')")
    with pytest.raises(DataError, match="column 'c9' holds infinity in 2 rows"):
        anon.read_table(postgres, table="kinds")
    with pytest.raises(DataError, match="column 'c2' holds NaN or infinity in 1 rows"):
        anon.read_table(postgres, table="kinds", columns=["c2"])
    asked = anon.read_table(postgres, query="SELECT c2::float8 AS n FROM kinds WHERE c2 <> 'NaN'")
    assert asked.to_pydict() == {"n": [1.5]}
    with pytest.raises(DataError, match="more than 38 digits"):
        anon.read_table(postgres, query="SELECT 1e30 + 1e-20 AS n")
    with pytest.raises(DataError, match=r"'a'"):
        anon.read_table(postgres, query="SELECT 1 AS a, 2 AS a")
    database.run("DROP TABLE kinds")


def test_types_of_sqlite(tmp_path: Path) -> None:
    database = in_file("SQLite", tmp_path)
    database.run(
        "CREATE TABLE kinds (day DATE, at DATETIME, yes BOOLEAN, mixed, half NUMERIC, "
        "none TEXT, raw BLOB, bad DATE, n)",
        "INSERT INTO kinds VALUES "
        "('2020-01-31', '2020-01-31 10:20:30', 1, 1, 1, NULL, x'00ff', '2020-01-31', 1), "
        "(NULL, '2020-01-31T10:20:30', 0, 'two', 1.5, NULL, NULL, 'soon', 2)",
    )
    read = anon.read_table(database.source)
    at = datetime.datetime(2020, 1, 31, 10, 20, 30)
    assert read.to_pydict() == {
        "day": [datetime.date(2020, 1, 31), None],
        "at": [at, at],
        "yes": [True, False],
        "mixed": ["1", "two"],
        "half": [1.0, 1.5],
        "none": [None, None],
        "raw": [b"\x00\xff", None],
        "bad": ["2020-01-31", "soon"],
        "n": [1, 2],
    }
    database.run("INSERT INTO kinds (half) VALUES (9007199254740993)")
    with pytest.raises(DataError, match="column 'half' holds 1 whole numbers of more than 53 bits"):
        anon.read_table(database.source)


def test_types_of_duckdb(tmp_path: Path) -> None:
    database = in_file("DuckDB", tmp_path)
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE kinds (m mood, h HUGEINT, d DECIMAL(10, 2), i INTERVAL, b BIT, z TIMESTAMPTZ, "
        "u UUID, l INTEGER[])",
        "SET TimeZone = 'UTC'",
        "INSERT INTO kinds VALUES ('ok', 5, 1.5, INTERVAL 1 DAY, '101', '2020-01-31 10:00+02', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', [1, 2])",
    )
    read = anon.read_table(database.source)
    assert read.to_pydict() == {
        "m": ["ok"],
        "h": [Decimal(5)],
        "d": [Decimal("1.50")],
        "i": ["1 day"],
        "b": ["101"],
        "z": [datetime.datetime(2020, 1, 31, 8, tzinfo=datetime.UTC)],
        "u": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
        "l": [[1, 2]],
    }


# --- what is written

EVERY_TYPE = {
    "truth": [True, False, None],
    "small": pa.array([1, -2, None], pa.int8()),
    "large": pa.array([2**63 - 1, -(2**63), None]),
    "unsigned": pa.array([2**32 - 1, 0, None], pa.uint32()),
    "real": pa.array([1.5, 0.1, None], pa.float32()),
    "double": [0.1, 1e300, None],
    "text": ["", "é\n'\"", None],
    "empty": pa.nulls(3),
    "bytes": [b"\0x", b"", None],
    "day": [datetime.date(1899, 12, 31), datetime.date(2020, 2, 29), None],
    "at": pa.array(
        [datetime.datetime(2020, 1, 1, 1, 1, 1, 5), datetime.datetime(1, 1, 1), None], pa.timestamp("us")
    ),
    "cents": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(12, 2)),
}


def test_a_release_goes_to_a_table_and_passes_its_check(people: Database) -> None:
    release = release_of(people.source)
    release.write(people.source, table="safe")
    assert people.tables() == ["person", "safe"]
    back = anon.read_source(people.source, table="safe")
    assert sorted(map(str, back.table.to_pylist())) == sorted(map(str, release.table.to_pylist()))
    assert anon.check(back, anon.Schema(["age", "zip"], ["disease"])).k == release.privacy().k


def test_every_type_is_written_and_read_back(database: Database) -> None:
    n = 40
    table = pa.table(
        {
            "age": [i % 5 for i in range(3 * n)],
            **{k: pa.concat_arrays([pa.array(v)] * n) for k, v in EVERY_TYPE.items()},
        }
    )
    release = anon.anonymize(table, anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(3)])
    release.write(database.source, table="safe")
    back = anon.read_table(database.source, table="safe")
    for name in EVERY_TYPE:
        ours, theirs = release.table.column(name).to_pylist(), back.column(name).to_pylist()
        if name == "cents" and database.kind == "SQLite":
            ours = [None if value is None else float(value) for value in ours]
        assert sorted(map(str, ours)) == sorted(map(str, theirs)), name


def test_what_a_database_cannot_hold_is_refused_by_name(database: Database) -> None:
    table = pa.table({"age": [1, 1, 1, 2, 2, 2], "parts": [[1], [2], [3]] * 2})
    release = anon.anonymize(table, anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(3)])
    with pytest.raises(DataError, match=f"{database.kind} holds no column such as 'parts' of type list"):
        release.write(database.source, table="safe")
    assert not os.path.exists(database.source)
    for values, kind in (([2**64 - 1, 0, 1], pa.uint64()), ([1, 0, 1], pa.timestamp("ns"))):
        table = pa.table({"age": [1, 1, 1, 2, 2, 2], "far": pa.array(values * 2, kind)})
        release = anon.anonymize(table, anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(3)])
        with pytest.raises(DataError, match=r"column 'far' of type .* make them text, or write Parquet"):
            release.write(database.source, table="safe")
    if database.kind == "SQLite":
        table = pa.table({"age": [1, 1, 1, 2, 2, 2], "part": [0.5, float("nan"), 1.5] * 2})
        release = anon.anonymize(table, anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(3)])
        with pytest.raises(DataError, match="column 'part' holds NaN in 2 rows"):
            release.write(database.source, table="safe")
    if database.kind == "PostgreSQL":
        assert database.tables() == []
        table = pa.table({"age": [1, 1, 1, 2, 2, 2], "text": ["a", "b", "c\0"] * 2})
        release = anon.anonymize(table, anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(3)])
        with pytest.raises(DataError, match="zero byte"):
            release.write(database.source, table="safe")


def test_a_table_that_is_there_needs_replace_and_an_input_is_never_replaced(people: Database) -> None:
    people.run("CREATE TABLE safe (old INTEGER)", "CREATE VIEW seen AS SELECT * FROM person")
    release = release_of(people.source, table="person")
    with pytest.raises(UsageError, match="has a table 'safe': name another, or replace it: replace=True"):
        release.write(people.source, table="safe")
    assert people.run("SELECT * FROM safe") == []
    release.write(people.source, table="safe", replace=True)
    assert people.run("SELECT count(*) FROM safe") == [(release.n_rows,)]
    for name in ("person", '"person"', "main.person" if people.kind != "PostgreSQL" else "public.person"):
        with pytest.raises(UsageError, match="also an input"):
            release.write(people.source, table=name, replace=True)
    with pytest.raises(UsageError, match="is a view"):
        release.write(people.source, table="seen", replace=True)
    asked = release_of(people.source, query="SELECT * FROM Person AS p")
    with pytest.raises(UsageError, match="also an input"):
        asked.write(people.source, table="person", replace=True)
    assert people.run("SELECT count(*) FROM person") == [(60,)]
    with pytest.raises(UsageError, match="name it: table="):
        release.write(people.source)


def test_an_input_is_never_replaced_whatever_it_is_named_by(people: Database) -> None:
    name = 'we"ird; [x]'
    people.run(
        f"CREATE TABLE {quoted(name)} AS SELECT * FROM person",
        f"CREATE VIEW first AS SELECT * FROM {quoted(name)}",
        "CREATE VIEW second AS SELECT * FROM first",
    )
    n = people.run(f"SELECT count(*) FROM {quoted(name)}")
    asked = [
        {"query": f"SELECT * FROM {quoted(name)}"},
        {"query": "SELECT * FROM second"},
        {"table": "second"},
    ]
    if people.kind == "SQLite":
        asked += [{"query": f"SELECT * FROM `{name}`"}, {"query": "SELECT * FROM [person]"}]
    for how in asked:
        target = "person" if "[person]" in how.get("query", "") else name
        # PostgreSQL knows what its views need
        is_known = people.kind != "PostgreSQL" or "second" not in str(how)
        with pytest.raises(UsageError if is_known else DataError, match="input" if is_known else "views"):
            release_of(people.source, **how).write(people.source, table=quoted(target), replace=True)
    assert people.run(f"SELECT count(*) FROM {quoted(name)}") == n


@pytest.mark.parametrize("end", [RuntimeError, KeyboardInterrupt])
def test_a_table_is_whole_or_as_it_was(
    people: Database, end: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    people.run("CREATE TABLE safe (old INTEGER)", "INSERT INTO safe VALUES (7)")
    release = release_of(people.source, table="person")
    ended: list[str] = []

    def read(target: Target, columns: Any) -> Any:
        ended.append("after all was written")
        raise end

    monkeypatch.setattr(Target, "read", read)
    with pytest.raises(end):
        release.write(people.source, table="safe", replace=True)
    with pytest.raises(end):
        release.write(people.source, table="new")
    assert ended == ["after all was written"] * 2
    assert people.tables() == ["person", "safe"]
    assert people.run("SELECT * FROM safe") == [(7,)]


KILLED = """
import os, signal, sys, anon
from anon.tables import Target
release = anon.anonymize(
    anon.read_source(sys.argv[1], table="person"),
    anon.Schema(["age", "zip"], ["disease"]),
    require=[anon.KAnonymity(3)],
)
Target.read = lambda target, columns: os.kill(os.getpid(), signal.SIGKILL)
release.write(sys.argv[1], table="safe", replace=True)
"""


def test_a_killed_process_leaves_a_table_as_it_was(people: Database) -> None:
    people.run("CREATE TABLE safe (old INTEGER)", "INSERT INTO safe VALUES (7)")
    done = subprocess.run([sys.executable, "-c", KILLED, people.source], check=False)
    assert done.returncode == -signal.SIGKILL
    assert people.tables() == ["person", "safe"]
    assert people.run("SELECT * FROM safe") == [(7,)]


def test_what_is_read_back_is_compared_before_it_is_seen(
    people: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of(people.source, table="person")
    honest = Target.write_table

    def lossy(target: Target, table: pa.Table) -> None:
        at = table.column_names.index("disease")
        honest(target, table.set_column(at, "disease", pa.array(["flu"] * table.num_rows)))

    monkeypatch.setattr(Target, "write_table", lossy)
    with pytest.raises(
        DataError, match=r"column 'disease' holds in \d+ rows values that .* does not tell apart"
    ):
        release.write(people.source, table="safe")
    assert people.tables() == ["person"]


@pytest.mark.parametrize("kind", ["SQLite", "DuckDB"])
def test_a_file_appears_when_its_table_is_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"age": [1, 1, 1, 2, 2, 2], "zip": ["a"] * 6, "disease": ["x"] * 6})
    release = release_of(table)
    new = in_file(kind, tmp_path)
    seen: list[list[str]] = []
    honest = Target.read

    def read(target: Target, columns: Any) -> Any:
        seen.append([path.name for path in tmp_path.iterdir() if not path.name.startswith(".")])
        return honest(target, columns)

    monkeypatch.setattr(Target, "read", read)
    release.write(new.source, table="safe")
    assert seen == [[]]
    assert [path.name for path in tmp_path.iterdir()] == [Path(new.source).name]
    assert new.tables() == ["safe"]


def test_only_a_table_of_a_whole_release_is_written(people: Database, tmp_path: Path) -> None:
    schema = anon.Schema(["age", "zip"], ["disease"])
    buckets = anon.anonymize(
        anon.read_source(people.source), schema, require=[anon.LDiversity(1.5)], publish="bucketization"
    )
    with pytest.raises(UsageError, match="bucketization has two tables"):
        buckets.write(people.source, table="safe")
    release = release_of(people.source)
    with pytest.raises(UsageError, match="csv_guard=True is for CSV"):
        release.write(people.source, table="safe", csv_guard=True)
    with pytest.raises(UsageError, match="table of a database alone"):
        release.write(tmp_path / "a.parquet", table="safe")


def test_a_streamed_release_goes_to_a_table(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,zip,disease\n" + "".join(f"{i % 9},0{i % 3},d{i % 2}\n" for i in range(300)))
    release = release_of(str(path), engine="stream")
    release.write(database.source, table="safe")
    assert database.run("SELECT count(*) FROM safe") == [(release.n_rows,)]


# --- what is told


SECRET = "hunter2"


@pytest.mark.parametrize(
    "uri",
    [
        f"postgresql://me:{SECRET}@host/db",
        f"postgres://me:{SECRET}@/db",
        f"POSTGRESQL://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}/x@host/db",
        f"postgresql://me:{SECRET}?x@host/db",
        f"postgresql://host/db?password={SECRET}",
        f"postgresql://host/db?user=a&pass%77ord={SECRET}",
        f"postgresql://host/db?sslpassword={SECRET}#x",
        "postgresql://me:@host/db",
    ],
)
def test_a_uri_with_a_password_is_refused_without_repeating_it(uri: str) -> None:
    with pytest.raises(UsageError, match="PGPASSWORD") as caught:
        anon.read_source(uri)
    assert SECRET not in str(caught.value)
    assert "host" not in str(caught.value)


def test_the_command_takes_no_password(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri = f"postgresql://me:{SECRET}@host/db"
    job = tmp_path / "job.toml"
    job.write_text(f'input = "{uri}"\noutput = "{uri}"\nquasi = ["a"]\nk = 2\n')
    out = str(tmp_path / "out.parquet")
    for words in (
        ["anonymize", uri, "-o", out, *ROLES],
        ["anonymize", str(job), "-o", uri, *ROLES],
        ["anonymize", "--config", str(job)],
        ["check", "--config", str(job)],
        ["check", uri, "--quasi", "a", "--json"],
        ["compare", uri, uri],
        ["risk", uri, "--quasi", "a"],
        ["inspect", uri],
        ["discover", uri],
        ["anonymize", "--population", uri, str(job), "-o", out, *ROLES],
        ["frontier", uri, "--quasi", "a", "--grid", "k=2"],
        ["check", uri, uri],
    ):
        assert main(words) == 2, words
        said = "".join(capsys.readouterr())
        assert "PGPASSWORD" in said or words == ["check", uri, uri]
        assert SECRET not in said
        assert "host/" not in said


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://host:5432/db",
        "postgresql:///db?host=/run",
        "postgresql://me@[::1]:5432/db?user=a@b",
        "people:1.csv",
    ],
)
def test_a_uri_without_one_is_not(uri: str) -> None:
    check_no_password(uri)


@given(
    st.text(
        st.characters(
            exclude_characters="/@?# \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0", exclude_categories=["Cs", "Z"]
        ),
        min_size=6,
    )
)
def test_no_password_is_repeated(password: str) -> None:
    uri = f"postgresql://me:{password}@host/db"
    with pytest.raises(UsageError) as caught:
        place_of(uri)
    assert f":{password}@" not in str(caught.value)
    assert shown(f"could not read {uri} today") == "could not read postgresql://… today"


def test_other_addresses_are_refused_unrepeated() -> None:
    with pytest.raises(UsageError, match="mysql:// is nothing that is read here") as caught:
        anon.read_source(f"mysql://me:{SECRET}@host/db")
    assert SECRET not in str(caught.value)
    with pytest.raises(UsageError, match="give it as text"):
        anon.read_source(Path("postgresql://host/db"))


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"anon@": "asked@"}, "refuses the user or the password: set PGUSER and PGPASSWORD"),
        ({"anon@": "nobody@"}, "does not know that user"),
        ({"/postgres?": "/nothere?"}, "does not exist on that server"),
        ({"?host=": "?x=1&host="}, "has a URI that libpq does not read"),
        ({"?host=": "?service=nothere&host="}, "a service that is not known"),
        ({"?host=": "?port=1&host="}, "does not answer"),
    ],
)
def test_why_a_database_cannot_be_reached_is_told_without_where_it_is(
    postgres: str,
    change: dict[str, str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Database("PostgreSQL", postgres).run(
        "DROP ROLE IF EXISTS asked", f"CREATE ROLE asked LOGIN PASSWORD '{SECRET}'"
    )
    monkeypatch.setenv("PGPASSWORD", "wrong-one")
    uri = postgres
    for before, after in change.items():
        uri = uri.replace(before, after)
    assert main(["check", uri, "--table", "person", "--quasi", "age"]) == 2
    told = "".join(capsys.readouterr())
    assert said in told
    assert told.count("\n") == 1
    for secret in ("wrong-one", postgres.partition("host=")[2], "asked@", "nothere"):
        assert secret not in told


@pytest.mark.postgres
def test_the_password_comes_from_the_environment(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database("PostgreSQL", postgres)
    database.run(
        "DROP SCHEMA public CASCADE",
        "CREATE SCHEMA public",
        "DROP ROLE IF EXISTS asked",
        f"CREATE ROLE asked LOGIN PASSWORD '{SECRET}'",
        PERSON,
        "INSERT INTO person VALUES (1, 'a', 'b')",
    )
    monkeypatch.setenv("PGPASSWORD", SECRET)
    uri = postgres.replace("anon@", "asked@")
    database.run("GRANT USAGE ON SCHEMA public TO asked")
    with pytest.raises(DataError, match="no right to do that"):
        anon.read_table(uri, table="person")
    database.run("GRANT SELECT ON person TO asked")
    assert anon.read_table(uri, table="person").num_rows == 1
    table = pa.table({"age": [1, 1, 1, 2, 2, 2], "zip": ["a"] * 6, "disease": ["x"] * 6})
    with pytest.raises(DataError, match="no right to do that"):
        release_of(table).write(uri, table="safe")
    database.run("DROP TABLE person", "REVOKE ALL ON SCHEMA public FROM asked", "DROP ROLE asked")


@pytest.mark.parametrize("kind", ["SQLite", "DuckDB"])
def test_files_that_are_damaged_or_in_use_say_so(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = in_file(kind, tmp_path)
    database.run("CREATE TABLE a (b INTEGER)", "INSERT INTO a VALUES (1)")
    if kind == "DuckDB":
        import duckdb

        with duckdb.connect(database.source), pytest.raises(DataError, match="is open in this program"):
            anon.read_source(database.source)
    else:
        with closing(sqlite3.connect(database.source)) as other:
            other.execute("BEGIN EXCLUSIVE")
            monkeypatch.setattr("anon.tables.databases.LONGEST_WAIT", 0)
            with pytest.raises(DataError, match="is in use by another program"):
                anon.read_source(database.source)
    content = Path(database.source).read_bytes()
    Path(database.source).write_bytes(content[:20])
    with pytest.raises(DataError, match=f"^{kind} file .* (is damaged|cannot be)"):
        anon.read_source(database.source)


def test_a_missing_driver_names_the_extra(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("anon.tables.databases.import_module", absent)
    with pytest.raises(UsageError, match=f"install the extra `db` to read and write {people.kind}"):
        anon.read_source(people.source)


def test_no_driver_is_imported_before_it_is_needed() -> None:
    program = (
        "import sys, anon; from anon.command import main; main(['--help']); main(['anonymize', '--help'])\n"
        "assert not {'adbc_driver_manager', 'duckdb', '_duckdb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


# --- the command


def test_the_command_reads_and_writes_tables(
    people: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [people.source, "--table", "person", "-o", people.source, "--release-table", "safe"]
    report = tmp_path / "report.html"
    with_report = ["--report", str(report)] if people.kind == "PostgreSQL" else []
    assert main(["anonymize", *ends, *ROLES, "--json", *with_report]) == 0
    said = json.loads(capsys.readouterr().out)
    if people.kind == "PostgreSQL":
        assert said["input"] == said["output"] == "postgresql://…"
        assert people.source.partition("host=")[2] not in json.dumps(said) + report.read_text()
    assert main(["anonymize", *ends, *ROLES]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["anonymize", *ends, *ROLES, "--replace", "-q"]) == 0
    assert main(["check", people.source, "--table", "safe", *ROLES]) == 0
    assert (
        main(
            [
                "compare",
                people.source,
                people.source,
                "--table",
                "person",
                "--release-table",
                "safe",
                "--quasi",
                "age,zip",
            ]
        )
        == 0
    )
    for command in (
        ["risk", *ROLES[:2], "--sampling-fraction", "0.1"],
        ["suda", *ROLES[:2]],
        ["inspect"],
        ["discover"],
    ):
        assert main([command[0], people.source, "--table", "person", *command[1:]]) == 0
        assert main([command[0], people.source, "--query", "SELECT age, zip FROM person", *command[1:]]) == 0
    assert main(["frontier", people.source, "--table", "person", *ROLES[:4], "--grid", "k=2"]) == 0
    told = "".join(capsys.readouterr())
    assert people.kind != "PostgreSQL" or people.source.partition("host=")[2] not in told
    assert (
        main(
            [
                "anonymize",
                people.source,
                "--table",
                "person",
                "-o",
                people.source,
                "--release-table",
                "person",
                *ROLES,
                "--replace",
            ]
        )
        == 2
    )
    assert "also an input" in capsys.readouterr().err


def test_a_query_is_kept_out_of_reports_and_job_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = in_file("SQLite", tmp_path)
    people.run(PERSON, "INSERT INTO person VALUES (1, 'a', 'b'), (1, 'a', 'b'), (1, 'a', 'b')")
    report, out, job = tmp_path / "report.html", tmp_path / "out.parquet", tmp_path / "job.toml"
    query = "SELECT * FROM person WHERE zip <> 'Zebra Street'"
    words = ["anonymize", people.source, "-o", str(out), *ROLES, "--report", str(report)]
    assert main([*words, "--query", query]) == 0
    assert "--query" in report.read_text()
    assert "Zebra" not in report.read_text()
    assert _kept([*words, f"--query={query}"]).endswith("--query=…'")
    assert (
        _kept(["frontier", "postgres://me@host/db", "--query", "a=1"])
        == "anon frontier 'postgresql://…' --query a=1"
    )
    assert main(["inspect", people.source, "--query", query, "-o", str(job)]) == 0
    assert "Zebra" not in job.read_text()
    job.write_text(f'input = "x"\nquery = "{query}"\n')
    capsys.readouterr()
    assert main(["anonymize", "--config", str(job)]) == 2
    assert "query: no such key" in capsys.readouterr().err


def test_a_job_names_its_tables(people: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.toml"
    assert main(["inspect", people.source, "--table", "person", "-o", str(job)]) == 0
    assert 'table = "person"' in job.read_text()
    job.write_text(
        f'input = "{people.source}"\ntable = "person"\noutput = "{people.source}"\nrelease_table = "safe"\n'
        'quasi = ["age", "zip"]\nsensitive = ["disease"]\nk = 3\n'
    )
    assert main(["anonymize", "--config", str(job), "-q"]) == 0
    assert main(["check", "--config", str(job), "--json"]) == 0
    capsys.readouterr()
    assert main(["check", "--config", str(job), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == people.run("SELECT count(*) FROM safe")[0][0]
    assert main(["risk", "--config", str(job), "--sampling-fraction", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 60


# --- names


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=2))
def test_quoted_names_mean_their_parts(parts: list[str]) -> None:
    assert parts_of(quoted(*parts)) == (parts[0] if len(parts) == 2 else None, parts[-1])


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a.b.c", '"a', 'a"b', '"a"b', '""'])
def test_what_names_no_table_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="names no table"):
        parts_of(name)


def test_what_is_written_is_told_by_its_suffix(tmp_path: Path) -> None:
    kinds = {name: target_of(tmp_path / name) for name in ("a.db", "a.SQLite", "a.duckdb", "a.csv", "a")}
    assert [place and place.kind for place in kinds.values()] == ["SQLite", "SQLite", "DuckDB", None, None]


def test_a_pipe_is_not_opened_to_see_whether_it_is_a_database(tmp_path: Path) -> None:
    """Who reads a pipe that nobody writes to waits for ever, and what was read of another is gone."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    assert place_of(pipe) is None
    assert target_of(str(pipe)) is None
