# SPDX-License-Identifier: Apache-2.0
"""Every source gives the same table, no value is changed on the way, and bad files are refused in words."""

from __future__ import annotations

import csv as csv_module
import datetime as dt
import gzip
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anon
from anon.encoding.table import encode
from anon.errors import AnonError, DataError, UsageError
from anon.schema.schema import Schema
from anon.tables import inferred
from anon.tables.inferred import with_one_dictionary
from anon.tables.read import read_source, read_table

PLAIN = {"q": ["x", "x", None, "y"], "n": [1, 2, 3, None]}


@pytest.fixture
def csv(tmp_path: Path) -> Callable[..., pa.Table]:
    """Read a CSV file with this content."""

    def read(content: str | bytes, **options: Any) -> pa.Table:
        path = tmp_path / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return read


def refused(read: Callable[[], Any]) -> str:
    with pytest.raises(DataError) as caught:
        read()
    return str(caught.value)


# --- Memory --------------------------------------------------------------------------------------


class OnlyStream:
    """What a foreign library gives: an object with the Arrow stream protocol and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.batch.__arrow_c_array__(requested_schema)


TABLE = pa.table(PLAIN)
BATCHES = TABLE.to_batches(max_chunksize=3)


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_batches()[0],
        BATCHES,
        pa.RecordBatchReader.from_batches(TABLE.schema, BATCHES),
        OnlyStream(TABLE),
        OnlyArray(TABLE.to_batches()[0]),
        PLAIN,
        {"q": pa.array(PLAIN["q"]), "n": pa.chunked_array([[1, 2], [3, None]])},
        {
            "q": np.array(["x", "x", None, "y"], dtype=object),
            "n": pd.Series([1, 2, 3, None], index=[7, 7, 8, 9]),
        },
        pytest.param("polars", marks=pytest.mark.polars),
        pd.DataFrame(PLAIN),
    ],
    ids=[
        "table",
        "batch",
        "batches",
        "reader",
        "stream",
        "array",
        "dict",
        "arrow dict",
        "numpy dict",
        "polars",
        "pandas",
    ],
)
def test_every_kind_of_source_in_memory(source: Any) -> None:
    if isinstance(source, str):
        source = import_module(source).DataFrame(PLAIN)
    assert read_table(source).to_pydict() == PLAIN
    assert read_source(source if not isinstance(source, pa.RecordBatchReader) else TABLE).format is None


@pytest.mark.parametrize(
    "index", [[0, 2, 1, 3], list("abcd"), [0, 1, 0, 1], pd.MultiIndex.from_product([[1, 2], [3, 4]])], ids=str
)
def test_a_pandas_index_is_no_column_and_moves_no_row(index: Any) -> None:
    """Traps 22 and 23."""
    frame = pd.DataFrame({"q": ["x", "x", "y", "y"], "s": ["a", "a", "b", "c"]}, index=index)
    assert read_table(frame).to_pydict() == {"q": ["x", "x", "y", "y"], "s": ["a", "a", "b", "c"]}


def test_concatenated_frames_keep_their_number_of_rows() -> None:
    half = pd.DataFrame({"q": [1, 2]})
    assert read_table(pd.concat([half, half])).num_rows == 4


def test_pandas_categories_and_missing_values() -> None:
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["a", None, "b"], ["z", "b", "a"]),
            "f": [1.5, np.nan, 2],
            "t": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
        }
    )
    table = read_table(frame)
    assert table["c"].to_pylist() == ["a", None, "b"]
    assert table["f"].null_count == table["t"].null_count == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": [1, "x"]}, "column 'a' is no array of one type"),
        (pd.DataFrame({"a": [1, "secret"]}), "column 'a' is no array of one type"),
        ({"a": [1], "b": [1, 2]}, "column 'b' has 2 values where the columns before it have 1"),
        ({1: [1], "1": [2]}, "2 columns named '1'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "2 columns named 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "2 columns named 'a'; rename"),
        ({"a": []}, "no rows"),
        (pa.table({}), "no columns"),
        ({}, "no columns"),
    ],
)
def test_tables_that_are_none(source: Any, message: str) -> None:
    text = refused(lambda: read_table(source))
    assert message in text
    assert "secret" not in text


@pytest.mark.parametrize("source", [5, None, [1, 2], [], object()])
def test_sources_that_are_none(source: Any) -> None:
    with pytest.raises(
        UsageError, match="a table is a path, Arrow data, a data frame or a dict of arrays, not "
    ):
        read_table(source)


def test_columns_wanted() -> None:
    assert read_table(PLAIN, columns=["n"]).column_names == ["n"]
    assert read_table(PLAIN, columns=["n", "q"]).column_names == ["q", "n"]
    assert "no column 'qq'" in refused(lambda: read_table(PLAIN, columns=["qq"]))


# --- Parquet and Arrow files ---------------------------------------------------------------------


def save(table: pa.Table, path: Path) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path, row_group_size=2)
        case ".arrows":
            with pa_ipc.new_stream(path, table.schema) as stream:
                stream.write_table(table)
        case _:
            pa_feather.write_feather(table, path, compression="lz4")
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrows", "parquet.unknown", "feather.csv"])
def test_files_are_told_by_their_content(tmp_path: Path, name: str) -> None:
    path = save(TABLE, tmp_path / ("x.parquet" if name.startswith("parquet") else name))
    path = path.rename(tmp_path / name)
    source = read_source(str(path))
    assert source.table.to_pydict() == PLAIN
    assert source.schema.equals(TABLE.schema)
    assert source.paths == (path,)
    assert source.format == ("parquet" if "parquet" in name else "feather")
    assert "'x'" not in repr(source)


def test_directories_globs_and_lists_are_one_table(tmp_path: Path) -> None:
    for i, suffix in enumerate(["a/2.parquet", "1.parquet", "_SUCCESS", ".crc", "a/_temporary/x.parquet"]):
        save(pa.table({"i": [i]}), tmp_path / "d" / suffix) if suffix.endswith("parquet") else (
            tmp_path / "d" / suffix
        ).touch()
    assert read_table(tmp_path / "d").to_pydict() == {"i": [1, 0]}
    assert read_table(tmp_path / "d" / "*.parquet").to_pydict() == {"i": [1]}
    assert read_table(tmp_path / "d" / "[!_]" / "*.parquet").to_pydict() == {"i": [0]}
    files = [tmp_path / "d" / "a" / "2.parquet", str(tmp_path / "d" / "1.parquet")]
    assert read_table(files).to_pydict() == {"i": [0, 1]}
    assert len(read_source(files).paths) == 2


def test_strings_stored_as_dictionaries_are_read_as_such(tmp_path: Path) -> None:
    n = 20_000
    table = pa.table(
        {
            "few": pa.array(["red", "green", "blue", None] * (n // 4)),
            "many": [f"value {i}" for i in range(n)],
            "large": pa.array(["red", "green"] * (n // 2), pa.large_string()),
            "number": range(n),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=3000)
    source = read_source(tmp_path / "t.parquet")
    assert source.schema.equals(table.schema)
    kinds = [pa.types.is_dictionary(field.type) for field in source.table.schema]
    assert kinds == [True, False, True, False]
    assert source.table["few"].num_chunks > 1
    assert len({tuple(chunk.dictionary.to_pylist()) for chunk in source.table["few"].chunks}) == 1
    assert source.table.cast(source.schema).equals(table)


def test_an_unnamed_pandas_index_in_a_file_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": ["x", "y"]}, index=[3, 3])
    frame.to_parquet(tmp_path / "t.parquet")
    pa_feather.write_feather(pa.Table.from_pandas(frame), tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        source = read_source(tmp_path / name)
        assert source.table.to_pydict() == {"q": ["x", "y"]}
        assert source.schema.names == ["q"]
        assert not source.table.schema.metadata


@pytest.mark.polars
def test_polars_strings_come_in_a_layout_that_all_of_arrow_knows(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"s": ["a", None], "c": pl.Series(["b", None], dtype=pl.Categorical)})
    table = read_table(frame)
    assert table.schema.field("s").type == pa.large_string()
    assert table.schema.field("c").type.value_type == pa.large_string()
    assert table.to_pydict() == {"s": ["a", None], "c": ["b", None]}
    frame.write_ipc(tmp_path / "t.arrow")
    source = read_source(tmp_path / "t.arrow")
    assert source.schema.field("s").type == source.table.schema.field("s").type == pa.large_string()
    assert source.table.to_pydict() == table.to_pydict()


def test_a_column_that_begins_like_another_is_read_alone(tmp_path: Path) -> None:
    path = save(pa.table({"a": [1], "a.b": [2]}), tmp_path / "t.parquet")
    assert read_table(path, columns=["a"]).to_pydict() == {"a": [1]}
    assert read_table(path, columns=["a.b"]).to_pydict() == {"a.b": [2]}


def test_an_arrow_file_outlives_its_reading(tmp_path: Path) -> None:
    pa_feather.write_feather(TABLE, tmp_path / "t.feather", compression="uncompressed")
    table = read_table(tmp_path / "t.feather")
    (tmp_path / "t.feather").unlink()
    assert table.to_pydict() == PLAIN


def test_columns_of_a_parquet_file(tmp_path: Path) -> None:
    path = save(pa.table({"a": [1], "b": [2], "c": [[3]]}), tmp_path / "t.parquet")
    assert read_table(path, columns=["c", "a"]).to_pydict() == {"a": [1], "c": [[3]]}
    assert "no column 'd'" in refused(lambda: read_table(path, columns=["d"]))


def test_a_file_without_values_in_a_column_agrees_with_any_type(tmp_path: Path) -> None:
    save(pa.table({"a": pa.nulls(1)}), tmp_path / "1.parquet")
    save(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    assert read_table(tmp_path).to_pydict() == {"a": [None, "x"]}


def parquet_bytes(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


GOOD = parquet_bytes(a=list(range(5000)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.parquet", GOOD[:-200], "is damaged or truncated, or is not Parquet"),
        ("t.parquet", GOOD[:4], "is damaged or truncated, or is not Parquet"),
        ("t.parquet", b"no Parquet at all", "is damaged or truncated, or is not Parquet"),
        ("t.parquet", GOOD[:200] + bytes(2000) + GOOD[2200:], "is damaged or truncated, or is not Parquet"),
        ("t.feather", b"ARROW1\0\0\1\2\3", "is damaged or truncated, or is not Arrow IPC"),
        ("t.feather", b"nothing", "is damaged or truncated, or is not Arrow IPC"),
        ("t.feather", b"FEA1....", "Feather version 1"),
        ("t.parquet", b"", "is empty"),
        ("t.csv", b"", "is empty"),
        ("t.parquet", parquet_bytes(a=pa.array([], pa.int64())), "no rows"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    text = refused(lambda: read_table(tmp_path / name))
    assert message in text
    assert message == "no rows" or name in text


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    assert "there is no file" in refused(lambda: read_table(tmp_path / "nothing.csv"))
    assert "there is no file" in refused(lambda: read_table(str(tmp_path / "*.parquet")))
    assert "there is no file" in refused(lambda: read_table(tmp_path))
    assert "there is no file" in refused(lambda: read_table([tmp_path / "nothing.csv"]))


def test_files_that_are_no_one_table(tmp_path: Path) -> None:
    one, other, third = (tmp_path / name for name in ("1.parquet", "2.parquet", "3.csv"))
    save(pa.table({"a": [1], "b": [1]}), one)
    save(pa.table({"a": [1], "c": [1]}), other)
    third.write_text("a,b\n1,2\n")
    assert "lacks 'b' and has 'c' more" in refused(lambda: read_table([one, other]))
    assert "3.csv' is csv where file" in refused(lambda: read_table([one, third]))
    save(pa.table({"a": [1], "b": ["x"]}), other)
    assert "column 'b' is string in" in refused(lambda: read_table([one, other]))
    (tmp_path / "4.csv").write_text("a,c\n1,2\n")
    assert "lacks 'b' and has 'c' more" in refused(lambda: read_table([third, tmp_path / "4.csv"]))
    save(pa.table({"a": [1]}), tmp_path / "year=2020" / "x.parquet")
    assert "hold the values of a column in their names" in refused(lambda: read_table(tmp_path))


def test_a_column_named_twice_in_a_file(tmp_path: Path, csv: Callable[..., pa.Table]) -> None:
    path = save(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    assert "2 columns named 'a'" in refused(lambda: read_table(path))
    path = save(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.arrows")
    assert "2 columns named 'a'" in refused(lambda: read_table(path))
    assert "2 columns named 'a'" in refused(lambda: csv("a,b,a\n1,2,3\n"))


def damaged(tmp_path: Path, column: pa.Array, at: list[int], position: int, by: int) -> Path:
    """A Feather file in which one of the int32 (that follow each other as in `at`) is another."""
    path = tmp_path / "t.feather"
    pa_feather.write_feather(pa.table({"q": column}), path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    start = bytes(content).index(np.array(at, "<i4").tobytes()) + 4 * position
    content[start : start + 4] = np.array([by], "<i4").tobytes()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("by", [2**31 - 1, -1, 2])
def test_a_feather_file_whose_strings_lie_elsewhere_is_refused(tmp_path: Path, by: int) -> None:
    path = damaged(tmp_path, pa.array(["x", "yy", "zzz", "w"]), [0, 1, 3, 6, 7], 3, by)
    assert refused(lambda: read_table(path)) == (
        f"column 'q' of file {str(path)!r} is damaged: its Arrow data contradict themselves; make it again"
    )


@pytest.mark.parametrize("by", [10**6, -5])
def test_a_feather_file_with_an_index_outside_of_its_dictionary_is_refused(tmp_path: Path, by: int) -> None:
    path = damaged(tmp_path, pa.array(["x", "yy", "zzz", "w"]).dictionary_encode(), [0, 1, 2, 3], 2, by)
    assert "is damaged" in refused(lambda: read_table(path))


@pytest.mark.parametrize("suffix", ["feather", "parquet"])
def test_a_column_name_that_is_not_utf_8_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    write = {"feather": pa_feather.write_feather, "parquet": pq.write_table}[suffix]
    table = pa.table({"name": ["x"]})
    write(table.replace_schema_metadata(None), path)
    path.write_bytes(path.read_bytes().replace(b"name", b"nam\xff"))
    assert "is damaged or truncated" in refused(lambda: read_table(path))


HALVES = pa.array(np.array([1, 2], np.float16))


def indexed(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), values, ordered=True)


@pytest.mark.parametrize(
    ("column", "plain"),
    [
        (pa.RunEndEncodedArray.from_arrays([1, 3], ["a", None]), pa.string()),
        (pa.RunEndEncodedArray.from_arrays([2, 4], ["a", "b"]).slice(1), pa.string()),
        (
            pa.RunEndEncodedArray.from_arrays([1, 3], pa.array(["a", "b"], pa.string_view())),
            pa.large_string(),
        ),
        (pa.array([b"a", None], pa.binary_view()), pa.large_binary()),
        (pa.array(["a", None], pa.string_view()), pa.large_string()),
        (indexed(HALVES), pa.float16()),
        (indexed(pa.array([[1], [2, 3]])), pa.list_(pa.int64())),
        (indexed(pa.array(["a", "b"], pa.string_view())), pa.dictionary(pa.int64(), pa.large_string(), True)),
        (indexed(pa.array(["a", "b"])), pa.dictionary(pa.int64(), pa.string(), True)),
        (indexed(pa.array([["a"], []], pa.list_view(pa.string_view()))), pa.large_list(pa.large_string())),
        (indexed(pa.array(["a", "b"]).dictionary_encode()), pa.large_string()),
        (
            pa.RunEndEncodedArray.from_arrays(
                [1, 3], pa.array([{"a": "x"}, None], pa.struct({"a": pa.string_view()}))
            ),
            pa.struct({"a": pa.large_string()}),
        ),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_layouts_that_arrow_cannot_sort_or_take_are_plain(
    column: pa.Array, plain: pa.DataType, n_chunks: int
) -> None:
    source = read_source(pa.table({"q": pa.chunked_array([column] * n_chunks)}))
    assert source.schema.field("q").type == source.table.schema.field("q").type == plain
    assert source.table["q"].to_pylist() == column.to_pylist() * n_chunks
    source.table["q"].validate(full=True)
    source.table.take([0])


@pytest.mark.slow
def test_more_text_than_one_dictionary_holds_is_plain() -> None:
    def part(letter: str) -> pa.Array:
        long = pa.array([letter * (1100 << 20)])
        return pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 0], pa.int32()), long)

    column = with_one_dictionary(pa.chunked_array([part("a").slice(3), part("b").slice(3)]))
    assert column.type == pa.string()
    assert [each[0].as_py()[:1] for each in column.chunks] == ["a", "b"]


@pytest.mark.parametrize("most", [1, 300, 1 << 28])
def test_types_do_not_depend_on_what_is_typed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(inferred, "MOST_BYTES", most)
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + "".join(f"{i},{i}.5,x{i % 3},{i % 4 or ''}\n" for i in range(40)))
    assert read_table(path).schema.types == [pa.int64(), pa.float64(), pa.string(), pa.int64()]


def test_null_as_a_value_of_a_dictionary_is_a_missing_value(tmp_path: Path) -> None:
    one = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], pa.int8()), pa.array(["a", None, 'q"x']))
    other = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array(["z", "a"]))
    column = pa.chunked_array([one, other, one.slice(1)])
    table = pa.table({"age": list(range(len(column))), "d": column})
    read = read_source(table).table["d"]
    assert read.type == column.type
    assert read.to_pylist() == column.to_pylist()
    assert read.null_count == column.to_pylist().count(None)
    release = anon.anonymize(
        table, Schema(["age"], neutral=["d"]), require=[anon.KAnonymity(3)], order="input"
    )
    for name in ("out.csv", "out.parquet"):
        release.write(tmp_path / name)
        assert read_table(tmp_path / name)["d"].to_pylist() == column.to_pylist()


def test_integers_of_more_than_64_bits_are_refused() -> None:
    for source in ({"n": [1], "q": [2**70]}, pd.DataFrame({"n": [1], "q": [2**70]})):
        assert "column 'q' holds integers of more than 64 bits" in refused(
            lambda table=source: read_table(table)
        )


def test_a_column_name_that_is_no_text_is_refused() -> None:
    assert "name is not valid Unicode" in refused(lambda: read_table({"\ud800": [1]}))


@pytest.mark.parametrize("index", [4, -1])
def test_an_index_outside_of_a_dictionary_in_memory_is_refused(index: int) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, index]), ["x", "y"], safe=False)
    assert "column 'q' of the table is damaged" in refused(lambda: read_table({"n": [1, 2], "q": column}))


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    buffers = pa.array([b"x", b"\xff"], pa.binary()).buffers()
    column = pa.Array.from_buffers(pa.string(), 2, buffers)
    assert "not UTF-8" in refused(lambda: encode(pa.table({"q": column}), Schema(["q"])))
    pa_feather.write_feather(pa.table({"q": column}), tmp_path / "t.feather")
    assert "is damaged" in refused(lambda: read_table(tmp_path / "t.feather"))
    pq.write_table(pa.table({"q": column}), tmp_path / "t.parquet")
    assert "not UTF-8" in refused(lambda: encode(read_table(tmp_path / "t.parquet"), Schema(["q"])))


# --- Paths ---------------------------------------------------------------------------------------


def test_of_a_directory_only_the_tables_are_read(tmp_path: Path) -> None:
    for name in ("part-1.csv", "part-2.csv.gz", "sub/part-3.CSV", "py.typed", "notes.md", "sub/_SUCCESS"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(b"q\n1\n") if name.endswith(".gz") else b"q\n1\n")
    (tmp_path / "py.typed").write_bytes(b"")
    assert read_table(tmp_path)["q"].to_pylist() == [1, 1, 1]


def test_a_directory_without_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "py.typed").touch()
    assert re.search(r"there is no file \.parquet, .* in '", refused(lambda: read_table(tmp_path)))


def test_an_empty_path_is_not_the_current_directory() -> None:
    for path in ("", [""]):
        with pytest.raises(UsageError, match="path of the table is empty"):
            read_table(path)


# --- CSV -----------------------------------------------------------------------------------------


def test_na_is_a_value_unless_listed(csv: Callable[..., pa.Table]) -> None:
    """Trap 4."""
    text = "country,n\nNA,1\nNA,\nFR,3\n,4\n"
    assert csv(text)["country"].to_pylist() == ["NA", "NA", "FR", None]
    assert csv(text, null="NA")["country"].to_pylist() == [None, None, "FR", None]
    assert csv(text)["n"].to_pylist() == [1, None, 3, 4]
    assert csv("n\n1\n?\n3\n", null="?")["n"].to_pylist() == [1, None, 3]
    assert csv("n\n1\n?\n3\n")["n"].to_pylist() == ["1", "?", "3"]


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        (["02139", "2139"], ["02139", "2139"]),  # trap 5
        (["2139", "2138", '"02139"'], ["2139", "2138", "02139"]),
        (["-01", "5"], ["-01", "5"]),
        (["00", "0"], ["00", "0"]),
        (["01.50", "1.5"], ["01.50", "1.5"]),
        (["12345678901234567890", "12345678901234567891"], ["12345678901234567890", "12345678901234567891"]),
        (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        (["0", "10", "-3"], [0, 10, -3]),
        (["0.5", "-0.25", "10", "1e3"], [0.5, -0.25, 10.0, 1000.0]),
        (["9223372036854775807", "1"], [2**63 - 1, 1]),
        (["1", "x", "3"], ["1", "x", "3"]),
        (["1", "true"], ["1", "true"]),
        (["true", "False"], [True, False]),
        (["2020-01-15", "2020-03-31"], [dt.date(2020, 1, 15), dt.date(2020, 3, 31)]),
        (
            ["2020-01-15T10:00:00.123", "2020-03-31 11:00:00"],
            [dt.datetime(2020, 1, 15, 10, 0, 0, 123000), dt.datetime(2020, 3, 31, 11)],
        ),
        (["2020-01-15", "soon"], ["2020-01-15", "soon"]),
        (["Paris", '"Paris, TX"'], ["Paris", "Paris, TX"]),
        (['"a\nb"', '"say ""x"""'], ["a\nb", 'say "x"']),
        (['5" pipe', '6" pipe'], ['5" pipe', '6" pipe']),
        ([" x", "x "], [" x", "x "]),
    ],
)
def test_fields_keep_what_tells_them_apart(
    csv: Callable[..., pa.Table], fields: list[str], values: list[Any]
) -> None:
    table = csv("i,v\n" + "".join(f"{i},{field}\n" for i, field in enumerate(fields)))
    assert table["v"].to_pylist() == values
    assert table["i"].to_pylist() == list(range(len(fields)))


NASTY = st.text(st.sampled_from('0123456789+-.eE ,;"\n\ré漢NAntrue'), max_size=6)
NUMBERISH = st.from_regex(r"[+-]?0{0,2}[0-9]{1,3}(\.[0-9])?", fullmatch=True)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(NASTY, NUMBERISH), min_size=1, max_size=6)
    | st.lists(NUMBERISH, min_size=1, max_size=6)
)
def test_no_field_loses_what_tells_it_apart(tmp_path: Path, fields: list[str]) -> None:
    """A column of strings is what was written; numbers that were written differently stay different."""
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv_module.writer(file)
        writer.writerows([["i", "v"], *enumerate(fields)])
    column = read_table(path, delimiter=",")["v"]
    values = column.to_pylist()
    assert len(values) == len(fields)
    if pa.types.is_string(column.type):
        assert values == [field or None for field in fields]
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        for field, value in zip(fields, values, strict=True):
            assert value is None if field == "" else value == float(field) or value != value
            whole = re.fullmatch(r"\s*[+-]?(\d+)\s*", field)
            assert not whole or not whole[1].startswith("0") or whole[1] == "0"
    else:
        assert pa.types.is_boolean(column.type) or set(fields) == {""}


def test_a_null_marker_with_a_leading_zero_makes_no_column_a_string(csv: Callable[..., pa.Table]) -> None:
    assert csv("n\n1\n00\n3\n", null="00")["n"].to_pylist() == [1, None, 3]


def test_long_fields(csv: Callable[..., pa.Table]) -> None:
    assert csv(f"a,b\n1,{'x' * 3_000_000}\n")["b"][0].as_py() == "x" * 3_000_000


def test_late_rows_count_for_the_type(csv: Callable[..., pa.Table]) -> None:
    """The rule holds over the whole file, not its first block."""
    n = 300_000
    assert csv("zip\n" + "12345\n" * n + "02139\n")["zip"].to_pylist()[-1] == "02139"
    assert csv("n\n" + "12345\n" * n + "unknown\n")["n"][0].as_py() == "12345"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a;b\n1;2,5\n", {}),
        ("a\tb\n1\t2,5\n", {}),
        ("a|b\n1|2,5\n", {}),
        ("a:b\n1:2,5\n", {"delimiter": ":"}),
        ('"a,x";b\n1;"2,5"\n', {"delimiter": ";"}),
    ],
)
def test_delimiters(csv: Callable[..., pa.Table], text: str, options: Any) -> None:
    assert csv(text, **options)[1].to_pylist() == ["2,5"]


def test_one_column_keeps_its_empty_rows(csv: Callable[..., pa.Table]) -> None:
    assert csv("a\n1\n\n3\n")["a"].to_pylist() == [1, None, 3]
    assert csv("a,b\n1,2\n\n3,4\n").num_rows == 2


def test_byte_order_mark_and_compression(tmp_path: Path, csv: Callable[..., pa.Table]) -> None:
    assert csv(b"\xef\xbb\xbfa,b\n1,2\n").to_pydict() == {"a": [1], "b": [2]}
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_table(tmp_path / "t.csv.gz").to_pydict() == {"a": [1], "b": [2]}


def test_encodings(csv: Callable[..., pa.Table]) -> None:
    assert csv("a,é\n1,ü\n".encode("latin-1"), encoding="latin-1").to_pydict() == {"a": [1], "é": ["ü"]}
    assert csv("a,é\n1,ü\n".encode("utf-16"), encoding="utf-16").to_pydict() == {"a": [1], "é": ["ü"]}
    with pytest.raises(UsageError, match="no encoding 'klingon'"):
        csv("a\n1\n", encoding="klingon")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,\n1,2\n3,4\n", "line 2: 2 fields where the header has 3 (the last one empty"),
        ("a,b\n1,secret\n3,4,5\n", "line 3: 3 fields where the header has 2; quote fields"),
        ('a,b\n1,"x\ny"\nsecret\n', "line 4: 1 fields where the header has 2"),
        ('a,b\n1,"secret\n3,4\n', "line 2: a quote has no proper end"),
        (
            b"a,b\n1,x\n2,secret\xff\n",
            "is not utf-8: byte 16, in line 3; try --encoding latin-1, which reads all of it",
        ),
        (b"a,\xff\n1,2\n", "is not utf-8: byte 2, in line 1"),
        (b"a,b\n1,x\n" + b"1,x\n" * 300_000 + b"2,\xe9\n", "is not utf-8: byte 1200010, in line 300003"),
        ("a,b\n", "table.csv' has no rows"),
        ("a,b", "table.csv' has no rows"),
        ("\n", " has no "),
    ],
)
def test_csv_that_cannot_be_read(csv: Callable[..., pa.Table], content: str | bytes, message: str) -> None:
    """Trap 29 and its kind: line and counts, never a value."""
    text = refused(lambda: csv(content))
    assert message in text
    assert "secret" not in text


def test_options_of_csv_are_refused_elsewhere(tmp_path: Path) -> None:
    path = save(TABLE, tmp_path / "t.parquet")
    for source in (path, PLAIN):
        for options in ({"null": ["NA"]}, {"delimiter": ";"}, {"encoding": "latin-1"}):
            with pytest.raises(UsageError, match="for CSV files only"):
                read_table(source, **options)
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match="one character"):
        read_table(tmp_path / "t.csv", delimiter="::")


def test_one_quote_inside_a_field_is_no_fault(csv: Callable[..., pa.Table]) -> None:
    assert csv('a,b\n5" pipe,1\n6 pipe,2\n')["a"].to_pylist() == ['5" pipe', "6 pipe"]


def test_nanoseconds_are_kept_where_they_say_something(csv: Callable[..., pa.Table]) -> None:
    table = csv("t,u\n2020-01-01 00:00:00.000000001,2020-01-01 00:00:00.000001\n")
    assert [field.type for field in table.schema] == [pa.timestamp("ns"), pa.timestamp("us")]


def test_several_csv_files_agree_on_types_without_changing_a_field(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("zip,n,m,e\n02139,1,1,\n")
    (tmp_path / "2.csv").write_text("zip,n,m,e\n2139,2.5,x,7\n+1,3,y,8\n")
    assert read_table(tmp_path).to_pydict() == {
        "zip": ["02139", "2139", "+1"],
        "n": [1.0, 2.5, 3.0],
        "m": ["1", "x", "y"],
        "e": [None, 7, 8],
    }
    (tmp_path / "1.csv").write_text("n\n9007199254740993\n")
    (tmp_path / "2.csv").write_text("n\n0.5\n")
    assert read_table(tmp_path).to_pydict() == {"n": ["9007199254740993", "0.5"]}


def test_what_is_read_can_be_encoded(csv: Callable[..., pa.Table]) -> None:
    table = csv("zip,age,country\n02139,30,NA\n2139,,NA\n02139,31,FR\n")
    encoded = encode(table, Schema(["zip", "age", "country"]))
    assert [codes.tolist() for codes in encoded.quasi_codes] == [[0, 1, 0], [0, 2, 1], [1, 1, 0]]


def test_what_is_read_whole_takes_no_other_engine(tmp_path: Path) -> None:
    path = save(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    for engine in (None, "local"):
        assert anon.read_table(path, engine=engine).num_rows == 2
        assert anon.inspect(path, engine=engine).n_rows == 2
    for engine in ("stream", "fast"):
        with pytest.raises(UsageError, match="is read whole here: leave out the engine"):
            anon.read_table(path, engine=engine)
        with pytest.raises(UsageError, match="is read whole here: leave out the engine"):
            anon.inspect(path, engine=engine)


def test_all_errors_are_ours() -> None:
    assert issubclass(DataError, AnonError)
    assert issubclass(UsageError, AnonError)


def test_importing_pulls_in_no_data_frame_library() -> None:
    code = (
        "import sys, anon.tables.read, anon.encoding.columns, anon.schema.schema;"
        "assert not {'pandas', 'polars', 'sklearn', 'numba', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("rows", [["q,n", "x,1", "y,2"], ["q", "x", "y"]])
def test_empty_lines_before_the_header_are_passed_over(
    csv: Callable[..., pa.Table], bom: str, end: str, rows: list[str]
) -> None:
    plain = csv(end.join([*rows, ""]))
    assert csv(bom + end.join(["", "", *rows, ""])).equals(plain)


def test_lines_are_counted_from_the_first_also_if_it_is_empty(csv: Callable[..., pa.Table]) -> None:
    assert "line 4: 3 fields where the header has 2" in refused(lambda: csv("\nq,n\nx,1\ny,2,3\n"))
    for content in ("\n", "\n\n\n"):
        refused(lambda text=content: csv(text))


@pytest.mark.parametrize("delimiter", ["é", "", ";;", "\n", "\r", '"', "\0"])
def test_delimiters_are_one_character_of_ascii(csv: Callable[..., pa.Table], delimiter: str) -> None:
    with pytest.raises(UsageError, match="one character of ASCII"):
        csv("q,n\nx,1\n", delimiter=delimiter)
    assert csv("q\x01n\nx\x011\n", delimiter="\x01").column_names == ["q", "n"]


@pytest.mark.parametrize("encoding", ["undefined", "punycode", "idna", "ascii", "utf-32", "utf-7"])
def test_a_file_that_is_not_in_its_encoding_is_refused(csv: Callable[..., pa.Table], encoding: str) -> None:
    message = refused(lambda: csv("q,n\nx,é-1\nü,2\n", encoding=encoding))
    assert f"is not {encoding}" in message
    assert "name its encoding" not in message  # one was named


@pytest.mark.parametrize("encoding", ["", "no-such", "rot13", "hex", "a\0b"])
def test_an_encoding_that_is_none_is_refused(csv: Callable[..., pa.Table], encoding: str) -> None:
    with pytest.raises(UsageError, match="there is no encoding"):
        csv("q,n\nx,1\n", encoding=encoding)


def test_a_character_cut_off_at_the_end_is_not_in_the_encoding(csv: Callable[..., pa.Table]) -> None:
    assert "is not utf-8: byte 6, in line 2" in refused(lambda: csv(b"q,n\nx,\xc3"))


def test_a_field_too_long_for_a_block_is_called_that(csv: Callable[..., pa.Table]) -> None:
    message = refused(lambda: csv("q,n\nx,1\n" + "y" * (40 << 20) + ",2\n"))
    assert "line 3: a field has more than 131072 characters" in message


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2"])
def test_a_damaged_compressed_file_is_named(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(1)
    content = ("q,n\n" + "".join(f"{x},1\n" for x in rng.integers(0, 10**9, 10_000))).encode()
    path = tmp_path / f"table.csv.{suffix}"
    with pa.output_stream(path, compression={"zst": "zstd", "gz": "gzip"}.get(suffix, suffix)) as file:
        file.write(content)
    whole = path.read_bytes()
    assert read_table(path).num_rows == 10_000
    for damaged_bytes in (whole[: len(whole) // 2], whole[:30] + b"\xff" * 30 + whole[60:], content):
        path.write_bytes(damaged_bytes)
        assert f"file {str(path)!r}" in refused(lambda: read_table(path))


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
@pytest.mark.parametrize(
    "error",
    [pa.ArrowMemoryError("malloc failed"), pa.ArrowException("Failed to launch worker thread: no resource")],
)
def test_memory_that_ran_out_is_not_called_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, error: Exception
) -> None:
    path = tmp_path / f"table.{suffix}"
    {"parquet": pq.write_table, "feather": pa_feather.write_feather, "csv": pa_csv.write_csv}[suffix](
        TABLE, path
    )

    def fails(*arguments: Any, **options: Any) -> Any:
        raise error

    for module, name in ((pq, "ParquetFile"), (pa_ipc, "open_file"), (pa_csv, "read_csv")):
        monkeypatch.setattr(module, name, fails)
    with pytest.raises(MemoryError):
        read_table(path)


def test_a_table_outlives_its_file(tmp_path: Path) -> None:
    """A program that still maps a file into memory is killed when the file is cut off."""
    path = tmp_path / "table.feather"
    with pa_ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE)
    table = read_table(path)
    path.write_bytes(b"")
    assert table.to_pydict() == PLAIN


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz", "in.parquet"])
def test_progress_tells_how_far_files_are_read(tmp_path: Path, name: str) -> None:
    """Bytes of the files, compressed or not; what is read is the same as without."""
    table = pa.table({"a": ["x", "y", None] * 40_000, "b": range(120_000)})
    paths = [tmp_path / f"{number}{name}" for number in (1, 2)]
    for path in paths:
        if name == "in.parquet":
            pq.write_table(table, path, row_group_size=1000)
        else:
            with pa.output_stream(path, compression="detect") as file:
                pa_csv.write_csv(table, file)
    told: list[tuple[str, int, int]] = []
    read = anon.read_source(paths, engine="local", progress=lambda *each: told.append(each))
    assert anon.read_table(read).equals(anon.read_table(paths))
    size = sum(path.stat().st_size for path in paths)
    done = [at for _, at, _ in told]
    assert {(stage, total) for stage, _, total in told} == {("read", size)}
    assert done == sorted(done)
    assert done[-1] == size if name != "in.csv.gz" else 0 < done[-1] <= size


def test_progress_tells_how_far_the_types_of_a_streamed_file_are_found(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + "x,1\n" * 9000)
    told: list[tuple[str, int, int]] = []
    anon.read_source(path, engine="stream", progress=lambda *each: told.append(each))
    size = path.stat().st_size
    assert told == [("types", number * size, 3 * size) for number in (1, 2, 3)]


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_trim_drops_blanks_at_the_ends_of_names(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "in.csv"
    path.write_text("\n zip ;age\u00a0;b\n021 ;5;x\n022;6;y\n")
    read = anon.read_source(path, trim=True, engine=engine, typed=["zip", "age"])
    assert anon.read_table(read).to_pydict() == {"zip": ["021", "022"], "age": [5, 6], "b": ["x", "y"]}
    assert read.notes == ("blanks at the ends of the names of 2 columns are dropped: 'zip', 'age'",)
    kept = anon.read_source(path, engine=engine)
    assert (kept.table.column_names, kept.notes) == ([" zip ", "age\u00a0", "b"], ())
    path.write_text(" a,a\n1,2\n")
    with pytest.raises(DataError, match="'a'"):
        anon.read_source(path, trim=True, engine=engine)
    path.write_text('"a\nb ",c \n1,2\n')
    read = anon.read_source(path, trim=True, engine=engine)
    assert anon.read_table(read).to_pydict() == {"a\nb ": [1], "c ": [2]}


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_names_that_go_on_in_the_next_line(tmp_path: Path, engine: Any) -> None:
    """Their columns have the types of others, numbers with leading zeros among them."""
    path = tmp_path / "in.csv"
    path.write_text('"zip\ncode";b;"x;\r\n""y"""\n021;5;a\n022;6;b\n')
    read = anon.read_source(path, engine=engine)
    assert anon.read_table(read).to_pydict() == {
        "zip\ncode": ["021", "022"],
        "b": [5, 6],
        'x;\r\n"y"': ["a", "b"],
    }


def test_trim_drops_blanks_at_the_ends_of_names_in_excel(tmp_path: Path) -> None:
    pd.DataFrame({" zip ": ["021 "], "b": [1]}).to_excel(tmp_path / "in.xlsx", index=False)
    read = anon.read_source(tmp_path / "in.xlsx", trim=True)
    assert anon.read_table(read).to_pydict() == {"zip": ["021"], "b": [1]}
    assert read.notes == ("blanks at the ends of the name of a column are dropped: 'zip'",)
