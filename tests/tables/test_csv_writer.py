# SPDX-License-Identifier: Apache-2.0
"""CSV as it is written, against Arrow's own writer."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anon.tables import CsvWriter, lines

SPAN = pa.duration("us")
KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), st.text(st.characters(codec="utf-8"), max_size=4)),
    (pa.large_string(), st.sampled_from(["", '"', "a,b", "x\n", 'say "so"'])),
    (pa.binary(), st.sampled_from([b"", b'a"', b"x"])),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats()),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    (pa.timestamp("us"), st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))),
    (pa.time64("us"), st.times(time(0))),
    (pa.decimal128(8, 2), st.decimals(-999, 999, places=2)),
    (SPAN, st.timedeltas(timedelta(-9), timedelta(9))),
    (pa.null(), st.none()),
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, pa.Schema]:
    n_rows = draw(st.integers(0, 12))
    columns, fields = [], []
    for at in range(draw(st.integers(1, 4))):
        kind, values = draw(st.sampled_from(KINDS))
        column = pa.array(draw(st.lists(st.none() | values, min_size=n_rows, max_size=n_rows)), kind)
        fields.append(pa.field(f'c"{at}', kind))
        coded = kind not in (pa.null(), SPAN) and draw(st.booleans())
        columns.append(column.dictionary_encode() if coded else column)
    return pa.table(columns, names=[each.name for each in fields]), pa.schema(fields)


def spelled(column: pa.ChunkedArray) -> pa.Array:
    """Durations as cells show them."""
    units = [("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)]

    def word(span: timedelta | None) -> str | None:
        if span is None:
            return None
        ticks = span // timedelta(microseconds=1)
        for unit, seconds in units:
            if ticks % (seconds * 1_000_000) == 0:
                n = ticks // (seconds * 1_000_000)
                return f"{n} {unit}" + ("s" if n not in (1, -1) else "")
        return f"{ticks}us"

    return pa.array([word(each) for each in column.to_pylist()], pa.string())


@given(tables(), st.integers(1, 5))
def test_it_writes_what_arrows_writer_does(drawn: tuple[pa.Table, pa.Schema], piece: int) -> None:
    table, schema = drawn
    ours, theirs = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", piece)
        writer = CsvWriter(ours, schema)
        writer.write_table(table)
        writer.write_table(table.slice(1))
    shown = pa.schema([each.with_type(pa.string()) if each.type == SPAN else each for each in schema])
    with pa_csv.CSVWriter(theirs, shown) as arrow:
        for each in (table, table.slice(1)):
            columns = [spelled(column) if column.type == SPAN else column for column in each.columns]
            arrow.write_table(pa.table(columns, schema.names).cast(shown))
    assert ours.getvalue() == theirs.getvalue()


def test_a_type_without_text_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        CsvWriter(io.BytesIO(), pa.schema([("a", pa.list_(pa.int64()))]))


def test_the_bytes_of_a_small_table() -> None:
    file = io.BytesIO()
    table = pa.table({"a": pa.array(["x", None, 'y"'], pa.string()).dictionary_encode(), "b": [1, 2, None]})
    CsvWriter(file, pa.schema([("a", pa.string()), ("b", pa.decimal128(21, 1))])).write_table(table)
    assert file.getvalue() == b'"a","b"\n"x",1.0\n,2.0\n"y""",\n'
