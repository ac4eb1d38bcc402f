# SPDX-License-Identifier: Apache-2.0
"""Rows that stay in their files: the same release, the same measures, nothing left behind."""

from __future__ import annotations

import datetime as dt
import errno
import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anon
import anon.encoding.factors
import anon.tables.csv
import anon.tables.read
from anon import datasets
from anon.command.entry import main
from anon.release import spill as stream
from anon.tables import scan
from anon.tables.files import remove_leftovers, replacing
from anon.tables.scan import Scan

# of the neutral columns some narrow a quasi-identifier by chance
pytestmark = pytest.mark.filterwarnings("ignore:column .* is neutral and narrows:anon.PrivacyWarning")

ROWS = 200


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table comes in many batches and goes out in many pieces."""
    monkeypatch.setattr(scan, "BATCH_ROWS", 37)
    monkeypatch.setattr(stream, "BATCH_ROWS", 23)
    monkeypatch.setattr(scan, "UNIT_ROWS", 11)
    monkeypatch.setattr(stream, "LEAST_PIECE", 1)


def people(n: int = ROWS, seed: int = 1) -> pa.Table:
    """Quasi-identifiers of all kinds with ties and nulls, two sensitive attributes, neutral columns."""
    rng = np.random.default_rng(seed)

    def some(values: list[Any], kind: pa.DataType | None = None, nulls: float = 0.1) -> pa.Array:
        picks = rng.integers(0, len(values), n)
        missing = rng.random(n) < nulls
        return pa.array([None if m else values[p] for p, m in zip(picks, missing, strict=True)], kind)

    days = [dt.date(2000, 1, 1) + dt.timedelta(days=31 * i) for i in range(12)]
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": some(list(range(20, 60)), pa.int64()),
            "height": some([1.5, 1.75, float("nan"), -0.0, 0.0, 2.25], pa.float64()),
            "born": some(days),
            "income": some([Decimal("1.10"), Decimal("2.20"), Decimal("35.00")], pa.decimal128(6, 2)),
            "grade": some(["low", "middle", "high"]),
            "city": some(["Paris, TX", "Rome", "Ulm", "missing"], pa.dictionary(pa.int8(), pa.string())),
            "zip": some(["02138", "02139", "10001", "10027"], nulls=0),
            "member": some([True, False]),
            "disease": some(["flu", "ulcer", "asthma", "none"], nulls=0),
            "salary": some(list(range(8)), pa.int32()),
            "note": some([f"note {i}" for i in range(50)]),
            "tags": pa.array([["a", "b"][: i % 3] for i in range(n)], pa.list_(pa.string())),
            "seen": some([dt.datetime(2020, 1, 1, i) for i in range(9)], pa.timestamp("ms", "UTC")),
            "level": pa.array(
                [None if i % 7 == 0 else "cba"[i % 3] for i in range(n)],
                pa.dictionary(pa.int8(), pa.string(), ordered=True),
            ),
        }
    )


SCHEMA = anon.Schema(
    quasi=[
        anon.numeric("age", hierarchy=anon.intervals(5, 10, 20)),
        anon.numeric("height", hierarchy=anon.intervals(1)),
        anon.numeric("born", hierarchy=anon.dates("month", "year")),
        anon.numeric("income", hierarchy=anon.intervals(1, 10)),
        anon.ordinal("grade", ["low", "middle", "high"]),
        anon.nominal("city"),
        anon.nominal("zip", hierarchy=anon.prefix(4, 3)),
        "member",
    ],
    sensitive=["disease", "salary"],
    identifying=["name"],
    neutral="rest",
)
K = anon.KAnonymity(5)


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=60)
    elif path.suffix == ".feather":
        pa_feather.write_feather(table.unify_dictionaries(), path, chunksize=60)
    elif path.suffix == ".arrows":
        with pa_ipc.new_stream(path, table.schema) as sink:
            sink.write_table(table, 60)
    else:
        pa_csv.write_csv(table, path)
    return path


def rows_of(path: Path) -> tuple[pa.Schema, Counter[str]]:
    """The types of a file, and its rows as a multiset; the ids of buckets mean nothing."""
    table = anon.read_table(path)
    shown = table.drop_columns(["class_id"]) if "class_id" in table.column_names else table
    own = pq.read_schema(path) if path.suffix == ".parquet" else table.schema
    return own, Counter(map(repr, shown.to_pylist()))


def both(path: Path, suffix: str = ".parquet", **options: Any) -> tuple[Any, Any]:
    """The release of either engine, written, and compared in all that has no order."""
    releases = []
    for engine in ("local", "stream"):
        source = anon.read_source(path, engine=engine)
        assert isinstance(source.table, Scan) == (engine == "stream")
        how = {} if "method" in options else {"effort": "fast"}
        release = anon.anonymize(source, **{"schema": SCHEMA, **how, **options})
        release.write(path.with_name(f"{engine}{suffix}"))
        releases.append(release)
    local, streamed = releases
    (local_types, local_rows), (types, rows) = (
        rows_of(path.with_name(f"{engine}{suffix}")) for engine in ("local", "stream")
    )
    assert types.equals(local_types, check_metadata=True)
    assert rows == local_rows
    assert streamed.metadata == local.metadata
    assert streamed.classes.n_classes == local.classes.n_classes
    return local, streamed


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_identifying_columns_are_looked_for_in_the_first_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"q": [1] * 80, "id": range(80), "later": [0] * 50 + list(range(30))})
    path = write(table, tmp_path / "in.parquet")
    source = anon.read_source(path, engine="stream")
    release = anon.anonymize(source, anon.Schema(["q"], neutral="rest"), require=[K])
    [warning, _] = release.warnings
    assert "'id' is neutral but more than 90 % of its values in the first 33 rows are distinct" in warning
    monkeypatch.setattr(scan, "BATCH_ROWS", 80)
    local = anon.anonymize(path, anon.Schema(["q"]), require=[K], effort="fast")
    assert anon.anonymize(source, anon.Schema(["q"]), require=[K]).warnings == local.warnings


RENDERINGS = ["interval", "bounds", "midpoint", "mean", "level"]


@pytest.mark.parametrize("missing", ["category", "suppress"])
@pytest.mark.parametrize("numeric", RENDERINGS)
def test_a_streamed_release_is_the_local_one(tmp_path: Path, numeric: str, missing: str) -> None:
    path = write(people(), tmp_path / "in.parquet")
    local, streamed = both(path, require=[anon.KAnonymity(3)], numeric=numeric, missing=missing)
    assert local.classes.n_classes > 3
    assert streamed.privacy() == local.privacy()
    assert streamed.utility() == local.utility()
    assert streamed.utility().to_dict() == local.utility().to_dict()


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrows"])
@pytest.mark.parametrize(
    "options",
    [
        {"require": [K], "order": "input"},
        {"require": [K, anon.LDiversity(2, sensitive="disease"), anon.TCloseness(0.4)]},
        {"require": [K, anon.LDiversity(2, "distinct")], "publish": "bucketization"},
        {"require": [K], "method": anon.Mondrian(split="information-gain", target="note")},
        {"require": [K], "method": anon.Mondrian(relaxed=True)},
        {"require": [K], "method": anon.Curve()},
        {"require": [K], "method": anon.KMembers(), "missing": "suppress"},
        {"require": [K], "method": anon.TGC(), "missing": "suppress"},
        {"method": anon.Anatomy(2, sensitive="disease"), "publish": "bucketization"},
        {"method": anon.Identity()},
        {"method": anon.Suppress("quasi")},
        {"method": anon.Suppress("sensitive")},
    ],
    ids=lambda options: "-".join(map(str, options.values()))[:60],
)
def test_every_method_and_format(tmp_path: Path, suffix: str, options: dict[str, Any]) -> None:
    path = write(people(), tmp_path / f"in{suffix}")
    local, streamed = both(path, suffix=".feather" if suffix == ".feather" else ".parquet", **options)
    if options.get("publish") != "bucketization":
        assert streamed.privacy() == local.privacy()
        assert streamed.utility() == local.utility()


def test_a_csv_file(tmp_path: Path) -> None:
    table = people().drop_columns(["tags", "level"])
    table = table.set_column(6, "city", table["city"].cast(pa.string()))
    path = write(table, tmp_path / "in.csv")
    local, streamed = both(path, suffix=".csv", require=[K])
    assert streamed.file_schema.equals(local.file_schema)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@given(st.integers(1, 120), st.integers(0, 5), st.sampled_from(["category", "suppress"]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_of_any_size(tmp_path: Path, n: int, seed: int, missing: str) -> None:
    path = write(people(n, seed), tmp_path / "in.parquet")
    try:
        local, streamed = both(path, require=[anon.KAnonymity(2)], missing=missing)
    except (anon.DataError, anon.InfeasibleError) as error:
        message = str(error)
        source = anon.read_source(path, engine="stream")
        if message.endswith("has no rows"):  # a column without values: every row is suppressed
            empty = anon.anonymize(source, SCHEMA, require=[anon.KAnonymity(2)], missing=missing)
            assert empty.n_rows == 0
            return
        with pytest.raises(type(error)) as caught:
            anon.anonymize(source, SCHEMA, require=[anon.KAnonymity(2)], missing=missing)
        assert str(caught.value) == message
    else:
        assert streamed.privacy() == local.privacy()


def test_several_files_are_one_table(tmp_path: Path) -> None:
    table = people()
    folder = tmp_path / "in"
    folder.mkdir()
    write(table.slice(0, 90), folder / "a.parquet")
    write(table.slice(90), folder / "b.parquet")
    releases = [
        anon.anonymize(anon.read_source(folder, engine=engine), SCHEMA, require=[K], effort="fast")
        for engine in ("local", "stream")
    ]
    assert releases[0].classes.sizes.tolist() == releases[1].classes.sizes.tolist()


def test_values_that_many_batches_share_are_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anon.encoding.factors, "MOST_VALUES", 4)
    both(write(people(), tmp_path / "in.parquet"), require=[K])
    both(write(people(), tmp_path / "in.feather"), require=[K])


# --- reading


TEXTS = {
    "integers": ["1", "20", "-3"],
    "floats": ["1.5", "2e3", "nan"],
    "dates": ["2020-01-01", "1999-12-31"],
    "seconds": ["2020-01-01 10:00:00", "2021-02-03T04:05:06"],
    "zoned": ["2020-01-01 10:00:00Z", "2021-02-03T04:05:06+01:00"],
    "fractions": ["2020-01-01 10:00:00.5", "2020-01-01 10:00:00.000000001"],
    "times": ["10:00", "10:00:30"],
    "truth": ["true", "FALSE"],
    "nothing": ["", "?"],
    "zeros": ["007", "0123"],
    "long": ["12345678901234567", "1.0"],
    "words": ["a", 'say "no"', "two\nlines", "ä"],
}


@given(
    st.lists(
        st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=3), min_size=1, max_size=3
    ),  # for each column the kinds of texts in it, each kind in a part of the rows
    st.integers(0, 3),
    st.booleans(),
)
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_csv_columns_have_the_types_of_the_whole_file(
    tmp_path: Path, columns: list[list[str]], seed: int, two_files: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    for number, first in enumerate((0, n // 2) if two_files else (0,)):
        lines = [",".join(f"c{i}" for i in range(len(columns))) + ",end"]
        for row in range(first, first + n // 2 if two_files else n):
            fields = [rng.choice(TEXTS[kinds[row * len(kinds) // n]]) for kinds in columns]
            lines.append(",".join(f'"{f.replace(chr(34), chr(34) * 2)}"' for f in fields) + ",x")
        (tmp_path / f"{number}.csv").write_text("\n".join(lines) + "\n")
    if not two_files:
        (tmp_path / "1.csv").unlink(missing_ok=True)
    local = anon.read_source(tmp_path / "*.csv", engine="local", null="?")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anon.tables.csv, "BLOCK", 160)
        streamed = anon.read_source(tmp_path / "*.csv", engine="stream", null="?")
        assert streamed.schema.equals(local.schema)
        assert streamed.table.num_rows == local.table.num_rows
        assert repr(streamed.table.whole().to_pydict()) == repr(local.table.to_pydict())


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n3\n",
        b'a,b\n1,"2\n',
        b"a,a\n1,2\n",
        b"a,b\n1,\xff\n",
        b"a,b\n",
        b"\xff\n",
        b"a,b\n" + b"1,2\n" * 100 + b"3\n",
        b"a,b\n" + b"1,2\n" * 100 + b"3,\xff\n",
    ],
)
def test_faults_of_a_csv_file_are_told_in_the_same_words(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    with pytest.raises(anon.DataError) as local:
        anon.read_source(path, engine="local")
    monkeypatch.setattr(anon.tables.csv, "BLOCK", 64)
    with pytest.raises(anon.DataError) as streamed:
        anon.read_source(path, engine="stream")
    assert str(streamed.value) == str(local.value)


@pytest.mark.parametrize(
    ("column", "attribute", "missing"),
    [
        ([1.0] * 60 + [float("inf")] * 2, "q", "category"),
        ([1.0] * 60 + [None, None], "q", "error"),
        (["1"] * 60 + ["x"] * 2, anon.numeric("q"), "category"),
        (["a"] * 60 + ["b"] * 2, anon.ordinal("q", ["a"]), "category"),
        (["a"] * 60 + ["b"] * 2, anon.nominal("q", hierarchy={"*": ["a"]}), "category"),
        ([b"x"] * 62, "q", "category"),
        (["x"] * 62, "p", "category"),
    ],
)
def test_faults_of_a_table_are_told_in_the_same_words(
    tmp_path: Path, column: list[Any], attribute: Any, missing: Any
) -> None:
    path = write(pa.table({"q": column}), tmp_path / "in.parquet")
    told = []
    for engine in ("local", "stream"):
        source = anon.read_source(path, engine=engine)
        with pytest.raises(anon.DataError) as caught:
            anon.anonymize(source, anon.Schema([attribute]), require=[K], missing=missing)
        told.append((str(caught.value), caught.value.row, caught.value.count, caught.value.value))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("in.csv", "å;b\nä;1\n;2\n".encode("latin-1"), {"encoding": "latin-1"}),
        ("in.csv", "\ufeffa,b\nx,1\n".encode(), {}),
        ("in.csv", b"\n\na\tb\n1\t2\n\n3\t4\n", {}),
        ("in.csv", b"a\n1\n\n3\n", {}),
        ("in.csv", b"a|b\n1|NA\n2|?\n", {"null": ["NA", "?"], "delimiter": "|"}),
        ("in.csv.gz", gzip.compress(b"a,b\n1,2\n3,4\n", mtime=0), {}),
        ("in.tsv", b"a\tb\r\n1\t2\r\n3\t\r\n", {}),
    ],
)
def test_csv_files_are_read_alike(tmp_path: Path, name: str, content: bytes, options: dict[str, Any]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    local, streamed = (anon.read_source(path, engine=engine, **options) for engine in ("local", "stream"))
    assert streamed.schema.equals(local.schema)
    table = anon.read_table(local)
    assert streamed.table.whole().equals(table)
    names = table.column_names[-1:]
    assert (
        anon.read_source(path, engine="stream", columns=names, **options)
        .table.whole()
        .equals(table.select(names))
    )


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    for suffix in (".parquet", ".feather", ".arrows"):
        path = write(people(), tmp_path / f"in{suffix}")
        path.write_bytes(path.read_bytes()[:-400])
        with pytest.raises(anon.DataError, match="damaged"):
            anon.anonymize(anon.read_source(path, engine="stream"), SCHEMA, require=[K])


# --- choosing


def test_the_engine_is_chosen_by_size_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"q": np.arange(1_000_000) % 5000})  # 8 MB, 20 MB to work with
    for suffix in (".parquet", ".feather", ".csv"):
        path = tmp_path / f"in{suffix}"
        datasets.write_table(table, path)
        streamed = anon.read_source(path, memory="16M").table
        assert isinstance(streamed, Scan)
        assert streamed.memory == 1 << 24
        assert isinstance(anon.read_source(path, memory="1G").table, pa.Table)
        assert isinstance(anon.read_source(path, memory="16M", engine="local").table, pa.Table)
        assert isinstance(anon.read_source(path).table, pa.Table)
        assert isinstance(anon.read_table(path, memory="16M"), pa.Table)


@pytest.mark.parametrize(
    ("memory", "n_bytes"),
    [(1 << 24, 1 << 24), ("16M", 1 << 24), ("1.5 GiB", 3 << 29), ("2g", 2 << 30), ("99999999B", 99999999)],
)
def test_memory_is_said_in_bytes_or_words(memory: Any, n_bytes: int) -> None:
    assert anon.tables.read.bytes_of(memory) == n_bytes


@pytest.mark.parametrize("memory", ["1M", 5, "much", "", "4X", True, 2.5e9])
def test_memory_that_is_none_is_refused(memory: Any) -> None:
    with pytest.raises(anon.UsageError, match="memory must be"):
        anon.read_source("people.csv", memory=memory)


def test_what_cannot_be_streamed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(anon.UsageError, match="in memory cannot be streamed"):
        anon.read_source({"a": [1]}, engine="stream")
    path = write(people(), tmp_path / "in.parquet")
    with pytest.raises(anon.UsageError, match="engine must be one of local, stream"):
        anon.read_source(path, engine="fast")  # type: ignore[arg-type]
    for engine in ("stream", "local", None):  # a job is not to fail on the day its table has grown
        with pytest.raises(anon.UsageError, match="no folder"):
            anon.read_source(path, engine=engine, spill=tmp_path / "none")
    release = anon.anonymize(anon.read_source(path, engine="stream"), SCHEMA, require=[K])
    with pytest.raises(anon.UsageError, match="write"):
        _ = release.table


# --- measuring


def test_check_and_compare_stream(tmp_path: Path) -> None:
    path = write(people(), tmp_path / "in.parquet")
    for publish, numeric in (("generalization", "bounds"), ("bucketization", "interval")):
        released = tmp_path / "out.parquet"
        require = [K, anon.LDiversity(2, "distinct")]
        anon.anonymize(path, SCHEMA, require=require, publish=publish, numeric=numeric).write(released)
        one, other = (anon.read_source(released, engine=engine) for engine in ("local", "stream"))
        first, second = (anon.check(each, require=[K], roles_from_file=True) for each in (one, other))
        assert first == second
        first, second = (anon.read_source(path, engine=engine) for engine in ("local", "stream"))
        local, streamed = anon.compare(first, one, SCHEMA), anon.compare(second, other, SCHEMA)
        assert streamed == local
        assert streamed.to_dict() == local.to_dict()


def test_check_and_compare_stream_what_others_made(tmp_path: Path) -> None:
    table = people().select(["zip", "city", "disease"])
    path = write(table, tmp_path / "in.parquet")
    stars = pa.array(["*" if i < 20 else z[:3] + "**" for i, z in enumerate(table["zip"].to_pylist())])
    released = write(table.set_column(0, "zip", stars), tmp_path / "out.csv")
    schema = anon.Schema([anon.nominal("zip", hierarchy=anon.prefix(4, 3)), "city"], ["disease"])
    one, other = (anon.read_source(released, engine=engine) for engine in ("local", "stream"))
    assert anon.check(other, schema) == anon.check(one, schema)
    first, second = (anon.read_source(path, engine=engine) for engine in ("local", "stream"))
    try:
        local = anon.compare(first, one, schema)
    except anon.DataError as error:
        with pytest.raises(anon.DataError, match=str(error)[:40]):
            anon.compare(second, other, schema)
    else:
        assert anon.compare(second, other, schema) == local


def test_a_population_can_be_looked_at(tmp_path: Path) -> None:
    path = write(people(), tmp_path / "in.parquet")
    names = [attribute.name for attribute in SCHEMA.quasi]
    population = people(500, 7).select(names)
    local, streamed = both(path, require=[K])
    assert streamed.privacy(population=population) == local.privacy(population=population)


# --- nothing wrong, nothing left


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path: Path) -> None:
    path = write(people(), tmp_path / "in.parquet")
    release = anon.anonymize(anon.read_source(path, engine="stream"), SCHEMA, require=[K])
    write(people(seed=2), path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(anon.DataError, match="has changed"):
        release.write(tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_a_csv_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n1,2020-01-01T00:00:00\n2,2020-01-02T00:00:00\n")
    scanned = anon.read_source(path, engine="stream").table
    assert isinstance(scanned, Scan)
    path.write_text("a,b\none,x\ntwo,y\n")
    with pytest.raises(anon.DataError, match="has changed"):
        list(scanned.read(["a"]))
    path.write_text("a,b\n1,2020-01-01T00:00:00\n2,2020-01-02T00:00:00\n")
    kept_apart = scan._kept_apart

    def changed(csv: Any, path: Path, *more: Any) -> Any:
        path.write_text("a,b\n1,x\n2,y\n")
        return kept_apart(csv, path, *more)

    monkeypatch.setattr(scan, "_kept_apart", changed)
    with pytest.raises(anon.DataError, match="has changed"):
        anon.read_source(path, engine="stream")


CUT_SHORT = """
import sys
from pathlib import Path
import pyarrow as pa
import anon
from anon.tables import scan
path = Path(sys.argv[1])
batch = pa.record_batch({"a": range(1 << 16)})
with pa.ipc.new_file(path, batch.schema) as writer:
    for _ in range(8):
        writer.write(batch)
found = anon.read_source(path, engine="stream").table.read(["a"])
next(found)
with open(path, "r+b") as file:
    file.truncate(1 << 16)
try:
    list(found)
except anon.DataError as error:
    print(error)
"""


def test_an_arrow_file_that_is_cut_short_while_it_is_read_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CUT_SHORT, str(tmp_path / "in.arrow")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "is damaged or truncated" in done.stdout


def test_rows_that_come_back_in_other_places_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(people(), tmp_path / "in.parquet")
    release = anon.anonymize(anon.read_source(path, engine="stream"), SCHEMA, require=[K])
    add = stream.Spilled.add

    def turned(self: stream.Spilled, columns: Any, first: int) -> None:
        add(self, [pa.chunked_array([c.combine_chunks()[::-1]]) for c in columns], first)

    monkeypatch.setattr(stream.Spilled, "add", turned)
    with pytest.raises(anon.RecheckError, match="spilled rows"):
        release.write(tmp_path / "out.parquet")
    monkeypatch.setattr(stream.Spilled, "add", lambda self, columns, first: first or add(self, columns, 0))
    with pytest.raises(anon.RecheckError, match="spilled rows"):
        release.write(tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_temporary_files_have_no_name_and_one_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "spill"
    folder.mkdir()
    made: list[tuple[int, int, int]] = []
    finish, reserve = stream.Spilled.finish, scan._reserve

    def seen(file: Any) -> None:
        told = os.fstat(file.fileno())
        made.append((told.st_mode & 0o777, len(os.listdir(folder)), told.st_dev))

    def watched(self: stream.Spilled) -> None:
        finish(self)
        seen(self._file)

    def reserved(file: Any, size: int, folder: Path) -> None:
        reserve(file, size, folder)
        seen(file)

    monkeypatch.setattr(stream.Spilled, "finish", watched)
    monkeypatch.setattr(scan, "_reserve", reserved)
    path = write(people(), tmp_path / "in.parquet")
    source = anon.read_source(path, engine="stream", spill=folder)
    anon.anonymize(source, SCHEMA, require=[K]).write(tmp_path / "out.parquet")
    assert len(made) == 21  # ten columns of codes, the rows, and the codes of ten columns read back
    assert set(made) == {(0o600, 0, os.stat(folder).st_dev)}
    assert os.listdir(folder) == []


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = write(people(), tmp_path / "in.parquet")
    release = anon.anonymize(anon.read_source(path, engine="stream"), SCHEMA, require=[K])
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(anon.DataError, match="No space left"):
            anon.anonymize(anon.read_source(path, engine="stream", spill=tmp_path), SCHEMA, require=[K])

    class Full:
        write = flush = full

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: Any) -> None: ...

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: Full())
    with pytest.raises(anon.DataError, match=r"No space left.*name a folder"):
        release.write(tmp_path / "out.parquet")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(anon.DataError, match="takes no temporary files: No space left"):
        release.write(tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == ["in.parquet"]


KILLED = """
import os, signal, sys
import anon.encoding.columns, anon.release.spill
from anon.command.entry import main
where = {where}
name = where.__qualname__.split(".")
whole = getattr(sys.modules[where.__module__], name[0])
setattr(whole, name[1], lambda *arguments: os.kill(os.getpid(), signal.SIGKILL))
sys.argv[1:] = {arguments!r}
main()
"""


@pytest.mark.parametrize(
    "where",
    [
        "anon.encoding.factors._Gathering.add",
        "anon.encoding.factors._Gathering.factors",
        "anon.release.spill.Spilled.finish",
        "anon.release.spill.Spilled.take",
        "anon.release.spill._Words.of",
    ],
)
@pytest.mark.parametrize("old", [False, True])
def test_a_killed_run_leaves_nothing_that_the_next_does_not_remove(
    tmp_path: Path, where: str, old: bool
) -> None:
    folder = tmp_path / "spill"
    folder.mkdir()
    path = write(people(), tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    if old:
        target.write_text("the old release")
    arguments = ["anonymize", str(path), "-o", str(target), "--quasi", "age,city", "--k", "5", "--quiet"]
    arguments += ["--neutral", "*", "--engine", "stream", "--spill", str(folder)]
    program = KILLED.format(where=where, arguments=arguments)
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (killed.returncode, killed.stderr) == (-signal.SIGKILL, "")
    assert os.listdir(folder) == []
    assert target.read_text() == "the old release" if old else not target.exists()
    left = [each for each in os.listdir(tmp_path) if each.endswith(".tmp")]
    assert len(left) == ("_Gathering" not in where)
    assert all((tmp_path / each).stat().st_mode & 0o777 == 0o600 for each in left)
    assert main([*arguments, "--k", "1000"]) == 1  # more than there are: gone even if nothing is written
    assert sorted(os.listdir(tmp_path)) == ["in.parquet", *["out.parquet"][:old], "spill"]
    assert main(arguments) == 0
    assert sorted(os.listdir(tmp_path)) == ["in.parquet", "out.parquet", "spill"]
    assert anon.check(target).k >= 5


def test_files_that_are_being_written_are_no_leftovers(tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    other = tmp_path / ".out.parquet.0123456789abcdef.tmp.kept"
    other.write_text("mine")
    with replacing([target]) as [first]:
        with replacing([target]) as [second]:
            second.write_text("second")
            first.write_text("first")
        assert target.read_text() == "second"
    assert target.read_text() == "first"
    assert sorted(os.listdir(tmp_path)) == [other.name, target.name]


KILLED_BETWEEN = """
import os, signal, sys
from pathlib import Path
from anon.tables.files import replacing
replace, left = os.replace, [{n}]
def once(old, new):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    replace(old, new)
os.replace = once
with replacing([Path(each) for each in sys.argv[1:]]) as paths:
    for path in paths:
        path.write_text("new")
"""


@pytest.mark.parametrize("n", [0, 1])
def test_what_a_killed_process_put_aside_is_removed(tmp_path: Path, n: int) -> None:
    """Killed before its first or second `os.replace`: of the first target there is only the copy."""
    first, second = targets = [tmp_path / "out.parquet", tmp_path / "out.sensitive.parquet"]
    for target in targets:
        target.write_text("old")
    command = [sys.executable, "-c", KILLED_BETWEEN.format(n=n), *map(str, targets)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert not first.exists()
    assert len(list(tmp_path.glob(".*.old"))) == 2
    remove_leftovers(first)
    [kept] = tmp_path.glob(".out.parquet.*.old")
    assert kept.read_text() == "old"  # there is no other
    remove_leftovers(second)
    assert list(tmp_path.glob(".*.old")) == [kept]
    with replacing(targets) as paths:
        for path in paths:
            path.write_text("newer")
    assert sorted(os.listdir(tmp_path)) == [first.name, second.name]


def test_what_is_put_aside_stays_while_files_are_replaced(tmp_path: Path) -> None:
    import fcntl

    target, old = tmp_path / "out.parquet", tmp_path / ".out.parquet.0123456789abcdef.tmp.old"
    target.write_text("new")
    old.write_text("old")
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    remove_leftovers(target)
    assert old.exists()
    os.close(folder)
    remove_leftovers(target)
    assert os.listdir(tmp_path) == [target.name]


# --- the command


def test_a_job_file_says_the_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(people(), tmp_path / "in.parquet")
    (tmp_path / "spill").mkdir()
    (tmp_path / "job.toml").write_text(
        'input = "in.parquet"\noutput = "out.parquet"\nquasi = ["age", "city"]\nsensitive = ["disease"]\n'
        'k = 5\nengine = "stream"\nmemory = "64M"\nspill = "spill"\n'
    )
    seen: list[Any] = []
    read = anon.read_source

    def watched(*arguments: Any, **options: Any) -> Any:
        seen.append(read(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(anon, "read_source", watched)
    assert main(["anonymize", "--config", str(tmp_path / "job.toml"), "--json"]) == 0
    assert (seen[-1].table.memory, seen[-1].table.folder) == (64 << 20, tmp_path / "spill")
    released = str(tmp_path / "out.parquet")
    assert (
        main(["check", released, "--engine", "stream", "--roles-from-file", "--k", "5", "--memory", "32M"])
        == 0
    )
    assert seen[-1].table.memory == 32 << 20
    original = str(tmp_path / "in.parquet")
    roles = ["--quasi", "age,city", "--sensitive", "disease"]
    assert main(["compare", original, released, "--engine", "stream", *roles]) == 0
    assert all(isinstance(each.table, Scan) for each in seen)
    assert main(["check", released, "--engine", "spark"]) == 2
    assert main(["check", released, "--memory", "1K"]) == 2
    assert "memory must be" in capsys.readouterr().err


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    [shell] = [body for body in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "--engine stream" in body]
    monkeypatch.chdir(tmp_path)
    datasets.write_census(2000, 0, "people.parquet")
    for line in shell.splitlines():
        assert main(line.split()[1:]) == 0
    assert sorted(os.listdir(tmp_path)) == ["people.parquet", "release.parquet"]


@pytest.mark.slow
def test_neutral_columns_are_never_all_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    columns = {f"n{i}": rng.random(n) for i in range(60)}  # 480 MB
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"q": rng.integers(0, 100, n), **columns}), path)
    arguments = ["anonymize", str(path), "-o", str(tmp_path / "out.parquet"), "--quasi", "q", "--k", "5"]
    arguments += ["--quiet", "--engine", "stream", "--memory", "128M"]
    program = f"""
from anon.command.entry import main
assert main({arguments!r}) == 0
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(ended.stdout) * 1024 < 560e6  # the local engine: 1.7e9


def test_progress_and_threads_change_nothing(tmp_path: Path) -> None:
    path = write(people(), tmp_path / "in.parquet")
    told: list[str] = []
    sizes = [
        anon.anonymize(
            anon.read_source(path, engine="stream"),
            SCHEMA,
            require=[K],
            n_threads=n_threads,
            progress=lambda stage, done, total: told.append(stage),
        ).classes.sizes.tolist()
        for n_threads in (1, 3)
    ]
    assert sizes[0] == sizes[1]
    assert {"read", "encode", "partition", "recode"} <= set(told)
