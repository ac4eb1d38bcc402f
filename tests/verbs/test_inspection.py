# SPDX-License-Identifier: Apache-2.0
"""What `inspect` says of a column, and what it keeps to itself."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.command.entry import main
from anon.datasets.people import census
from anon.errors import DataError
from anon.tables.read import read_table
from anon.verbs.inspect import Column, identifying_neutral, inspect


def column(values: Any, name: str = "x", **arrow: Any) -> Column:
    array = values if isinstance(values, pa.ChunkedArray) else pa.array(values, **arrow)
    return inspect(pa.table({name: array})).columns[0]


def test_counts_of_a_small_column() -> None:
    # a a b c null: three values, b and c occur once, one null of five rows
    seen = column(["a", "a", "b", "c", None])
    assert (seen.n_distinct, seen.n_null) == (3, 1)
    assert seen.unique_share == 2 / 5
    assert seen.distinct_share == 3 / 4
    assert (seen.kind, seen.type) == ("nominal", "string")


def test_nan_is_a_null_and_the_two_zeros_are_one_value() -> None:
    seen = column([float("nan"), 0.0, -0.0, 1.5, None])
    assert (seen.n_distinct, seen.n_null) == (2, 2)
    assert seen.kind == "numeric"


def test_categories_that_never_occur_are_not_counted() -> None:
    array = pa.DictionaryArray.from_arrays([0, 0, 1, None], ["x", "y", "never"])
    seen = column(pa.chunked_array([array, array]))
    assert (seen.n_distinct, seen.n_null) == (2, 2)
    assert (seen.type, seen.kind) == ("string", "nominal")


def test_a_file_is_read_with_the_options_of_read_table(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("city;zip\nA;02139\nB;?\nA;2139\n", encoding="utf-8")
    city, postcode = inspect(path, delimiter=";", null=["?"]).columns
    assert (city.n_distinct, city.n_null) == (2, 0)
    assert (postcode.type, postcode.n_distinct, postcode.n_null) == ("string", 2, 1)


def test_a_parquet_file_tells_its_own_types(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"city": ["A", "B"] * 5_000}), tmp_path / "people.parquet")
    assert inspect(tmp_path / "people.parquet").columns[0].type == "string"


@pytest.mark.parametrize(
    "values", [[True, False], [dt.date(2020, 1, 1)] * 2, [1, 2], ["a", "b"], [None, None], [b"a", b"b"]]
)
def test_every_type_is_inspected(values: list[Any]) -> None:
    seen = column(values)
    assert seen.n_null == values.count(None)


def test_a_nested_column_is_named_but_not_counted() -> None:
    seen = column([[1], [2, 3], None])
    assert (seen.kind, seen.n_distinct, seen.n_null, seen.unique_share) == ("other", None, 1, None)


def test_an_all_null_column() -> None:
    nothing = column([None, None], type=pa.string())
    assert (nothing.n_distinct, nothing.n_null, nothing.unique_share) == (0, 2, 0)


def test_a_column_named_twice_is_refused() -> None:
    with pytest.raises(DataError, match="'x'"):
        inspect(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]))


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("Last Name", ["a"] * 4, "identifying"),
        ("firstName", ["a"] * 4, "identifying"),
        ("patient_email", ["a", "b", "c", "d"], "identifying"),
        ("record", [1, 2, 3, 4], "identifying"),
        ("record", ["a", "b", "c", "d"], "identifying"),
        ("record", [1, 1, 2, 2], "neutral"),
        ("measured", [0.1, 0.2, 0.3, 0.4], "neutral"),
        ("Age", [1, 2, 3, 4], "quasi-identifying"),
        ("zip-code", ["1", "2", "3", "4"], "quasi-identifying"),
        ("maritalStatus", ["a", "b"], "quasi-identifying"),
        ("stay", [dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "quasi-identifying"),
        ("disease", ["a", "b", "c", "d"], "sensitive"),
        ("ANNUAL_SALARY", [1, 2, 3, 4], "sensitive"),
        ("message", ["a"] * 4, "neutral"),  # holds the letters of age, but not the word
        ("group", ["a"] * 4, "neutral"),
    ],
)
def test_role_hints(name: str, values: list[Any], role: str) -> None:
    assert column(values, name).role == role


@pytest.mark.parametrize(
    "texts",
    [
        ["31.12.2020", "1.3.1999"],
        ["12/31/20", "01/02/99"],
        ["2020/12/31", None, "2020.1.2"],
        ["31-12-2020 10:30", "x", "01-02-1999 00:00"],
    ],
)
def test_dates_that_are_not_iso_are_noted(texts: list[str | None]) -> None:
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        seen = column(pa.chunked_array([[None], texts], pa.string()).cast(kind), "born")
        assert seen.kind == "nominal"
        assert seen.note is not None
        assert "'born' holds dates that are not ISO in 2 rows, the first of them row 2;" in seen.note
        assert "1980-12-31" in seen.note or "--date born=%" in seen.note


@pytest.mark.parametrize(
    "values",
    [
        *(["2020-12-31", "2020-01-01"], ["1.2.3.4", "10.0.0.1"], ["31.12.2020", "x"], ["1.2", "3.14"]),
        *([None], [dt.date(2020, 1, 1)], ["3-4", "1/2"], ["", "x "], [20.5], ["v1.2.2020"]),
    ],
)
def test_what_is_no_such_date_has_no_note(values: list[Any]) -> None:
    assert column(values, "born").note is None


def test_dates_that_are_not_iso_are_told_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("born,ill\n31/12/2020,flu\n01/02/1999,flu\n")
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr()
    assert "note: column 'born' holds dates that are not ISO in 2 rows" in shown.err
    assert "2020" not in shown.out + shown.err
    words = ["anonymize", str(path), "-o", str(tmp_path / "r.csv"), "--quasi", "born", "--k", "2"]
    assert main([*words, "--hierarchy", "born=dates:month"]) == 2
    assert "dates in text are read where all of them are ISO" in capsys.readouterr().err


def test_no_value_is_shown() -> None:
    inspection = inspect(pa.table({"disease": ["plague", "plague", "cholera"], "age": [41, 42, 43]}))
    text = json.dumps(inspection.to_dict()) + repr(inspection) + repr(inspection.columns)
    for value in ("plague", "cholera", "41", "42", "43"):
        assert value not in text
    assert inspection.to_dict()["n_rows"] == 3
    assert [item["name"] for item in inspection.to_dict()["columns"]] == ["disease", "age"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=60), st.integers(1, 20))
def test_counts_agree_with_counting_by_hand(values: list[int | None], chunk: int) -> None:
    chunks = [pa.array(values[i : i + chunk], pa.int64()) for i in range(0, len(values), chunk)]
    seen = column(pa.chunked_array(chunks, pa.int64()))
    counts = Counter(value for value in values if value is not None)
    assert seen.n_distinct == len(counts)
    assert seen.n_null == values.count(None)
    n_unique = sum(count == 1 for count in counts.values())
    assert seen.unique_share == n_unique / len(values)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 200)), max_size=60), st.booleans())
def test_identifying_neutral_agrees_with_counting_by_hand(values: list[int | None], encoded: bool) -> None:
    array = pa.array(values, pa.int64())
    table = pa.table({"x": array.dictionary_encode() if encoded else array})
    present = [value for value in values if value is not None]
    identifies = len(present) > 1 and 10 * len(set(present)) > 9 * len(present)
    assert identifying_neutral(table, ["x"]) == (["x"] if identifies else [])


def test_identifying_neutral_at_the_boundary() -> None:
    # 90 of 100 values distinct is not more than 90 %, 91 of 100 is; repeats last, then first
    ninety = [*range(90), *[0] * 10]
    ninety_one = [*range(91), *[0] * 9]
    table = pa.table({"a": ninety, "b": ninety_one, "c": ninety[::-1], "d": ninety_one[::-1]})
    assert identifying_neutral(table, table.column_names) == ["b", "d"]
    assert identifying_neutral(table, ["a"]) == []


def test_identifying_neutral_of_other_types() -> None:
    table = pa.table({"list": [[1], [2]], "nan": [float("nan"), float("nan")], "text": ["a", "b"]})
    assert identifying_neutral(table, table.column_names) == ["text"]


def test_the_census_and_an_id() -> None:
    table = census(20_000)
    table = table.append_column("key", pa.array(range(table.num_rows)))
    assert identifying_neutral(table, table.column_names) == ["key"]
    hints = {seen.name: seen.role for seen in inspect(table).columns}
    assert hints["key"] == "identifying"
    assert hints["postcode"] == "quasi-identifying"
    assert hints["salary"] == "sensitive"


HALVES = np.array([1, 2, 2, np.nan], np.float16)


@pytest.mark.parametrize(
    ("values", "n_distinct", "n_null"),
    [
        (pa.nulls(4), 0, 4),
        (pa.array(HALVES), 2, 1),
        (pa.array([1, 2, 2, None], pa.decimal32(5)), 2, 1),
        (pa.array([1, 2, 2, None], pa.decimal64(12, 2)), 2, 1),
        (pa.DictionaryArray.from_arrays([0, 1, 1, None], pa.array(HALVES[:2])), 2, 1),
        (pa.DictionaryArray.from_arrays([0, 1, 1, 0], pa.nulls(2)), 0, 4),
        (pa.DictionaryArray.from_arrays([0, 1, 1, None], pa.array([1, 2], pa.decimal32(5))), 2, 1),
    ],
    ids=lambda each: str(getattr(each, "type", "")),
)
def test_types_in_which_arrow_cannot_count(values: pa.Array, n_distinct: int, n_null: int) -> None:
    seen = column(values)
    assert (seen.n_distinct, seen.n_null) == (n_distinct, n_null)
    assert identifying_neutral(pa.table({"x": values}), ["x"]) == []


@pytest.mark.parametrize(
    "values",
    [
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
        pa.array([b"a"], pa.binary_view()),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([None], pa.month_day_nano_interval()),
        pa.array([b"0" * 16], pa.uuid()),
    ],
    ids=lambda each: str(each.type),
)
def test_types_that_are_not_counted(values: pa.Array) -> None:
    seen = column(values)
    assert (seen.kind, seen.n_distinct, seen.role) == ("other", None, "neutral")
    assert identifying_neutral(pa.table({"x": values}), ["x"]) == []


def test_a_neutral_column_without_values_is_no_reason_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,e\n1,x,\n1,x,\n2,y,\n2,y,\n", encoding="utf-8")
    assert inspect(path).columns[2].n_distinct == 0
    assert identifying_neutral(read_table(path), ["e"]) == []


FOUR = {"age": [30, 30, 40, 40], "sex": list("mfmf"), "zip": ["1", "1", "1", "2"], "note": list("aabc")}


def test_a_quasi_identifier_says_what_it_tells_apart() -> None:
    why = {column.name: column.why for column in inspect(pa.table(FOUR)).columns}
    assert why["age"].endswith("tells apart 67 % of the pairs of rows; with sex 100 % of the rows are alone")
    assert why["zip"].endswith(
        "apart 50 % of the pairs of rows; with age and sex 100 % of the rows are alone"
    )
    assert "tells apart" not in why["note"]
    alike = pa.table({"age": [30] * 2000 + [31], "sex": ["m"] * 2001})
    why = {column.name: column.why for column in inspect(alike).columns}
    assert why["age"].endswith("it tells apart less than 1 % of the pairs of rows")


@pytest.mark.parametrize(("most", "words"), [(24, "are alone"), (12, "tells apart"), (11, "")])
def test_sets_of_columns_are_left_out_where_they_take_too_long(
    most: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[inspect.__module__], "MOST_WORK", most)
    age = inspect(pa.table(FOUR)).columns[0].why
    assert words in age
    assert ("tells apart" in age) == (most >= 12)
    assert ("are alone" in age) == (most >= 24)
