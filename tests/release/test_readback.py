# SPDX-License-Identifier: Apache-2.0
"""What is checked is what is written: files read back before they take their names, and sealed releases."""

from __future__ import annotations

import copy
import dataclasses
import io
import itertools
import math
import os
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon.errors import DataError, RecheckError, UsageError
from anon.release import write
from anon.release.readers import MISSING_TO_READERS, numbers_one_to_readers, one_to_readers
from anon.release.recheck import _n_unlike

K2 = anon.KAnonymity(2)
L2 = anon.LDiversity(2, "distinct")


def made(values: list[Any], l: float = 2, **how: Any) -> anon.Release:
    """Four rows or more in classes x and y, with these sensitive values."""
    half = len(values) // 2
    table = pa.table({"q": ["x"] * half + ["y"] * (len(values) - half), "s": pa.array(values, pa.string())})
    require = [K2, anon.LDiversity(l, "distinct")]
    return anon.anonymize(table, anon.Schema(["q"], ["s"]), require=require, **how)


@pytest.mark.filterwarnings("ignore:.*differ from others by blanks alone:anon.PrivacyWarning")
@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
@pytest.mark.parametrize(
    ("values", "merged"),
    [
        (["", None, "u", None], True),
        (["", "u", "w", "v"], False),
        (["NA", None, "u", "v"], True),
        (["NA", "FR", "NA", "FR"], False),
        (["1", "1.0", "x", "y"], True),
        (["1", " 1", "x", "y"], True),
        (["1", "+1", "x", "y"], True),
        (["0", "-0", "x", "y"], True),
        (["02139", "2139", "x", "y"], True),
        (["1e3", "1000", "x", "y"], True),
        (["true", "True", "false", "true"], True),
        (["a", "a ", "x", "y"], True),
        (["1", "2", "3", "4"], False),
    ],
)
def test_values_that_csv_merges_are_not_written(
    tmp_path: Path, values: list[str | None], merged: bool, publish: Any
) -> None:
    release = made(values, publish=publish)
    schema = anon.Schema(["q"], ["s"])
    for suffix in ("parquet", "feather"):
        path = tmp_path / f"r.{suffix}"
        release.write(path)
        assert anon.check(path, schema, require=release.requirements).unmet == ()
    path = tmp_path / "r.csv"
    if not merged:
        release.write(path)
        assert anon.check(path, schema, require=release.requirements).unmet == ()
        return
    with pytest.raises(
        DataError, match=r"column 's' holds in \d+ rows values.*write Parquet, or recode"
    ) as info:
        release.write(path)
    assert (info.value.column, info.value.value) == ("s", None)
    assert info.value.count is not None
    assert info.value.count >= 2
    assert not [name for name in os.listdir(tmp_path) if "csv" in name]


def test_cells_that_csv_merges_are_not_written(tmp_path: Path) -> None:
    table = pa.table({"q": ["1", "1", "1.0", "1.0", "", ""]})
    release = anon.anonymize(table, anon.Schema([anon.nominal("q")]), require=[K2])
    with pytest.raises(DataError, match="column 'q' holds in 4 rows"):
        release.write(tmp_path / "r.csv")
    release.write(tmp_path / "r.parquet")
    assert anon.check(tmp_path / "r.parquet", require=[K2], roles_from_file=True).k == 2
    assert os.listdir(tmp_path) == ["r.parquet"]


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
def test_one_value_and_nulls_have_the_same_k_from_every_format(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"smoker": ["yes", "yes", None, None]})
    release = anon.anonymize(table, anon.Schema(["smoker"]), require=[K2])
    assert set(release.table["smoker"].to_pylist()) == {"yes", "missing"}
    release.write(tmp_path / f"r.{suffix}")
    assert anon.check(tmp_path / f"r.{suffix}", anon.Schema(["smoker"]), require=[K2]).k == 2


@pytest.mark.parametrize("engine", ["local", "stream"])
@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("fault", ["value", "cell", "row", "count"])
def test_a_file_that_is_not_the_release_is_not_written(
    tmp_path: Path, suffix: str, fault: str, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"q": [*"xxyyzz"], "s": [*"abcdef"], "n": [1] * 6})
    pq.write_table(table, tmp_path / "in.parquet")
    source = anon.read_source(tmp_path / "in.parquet", engine=engine)
    publish: Any = "bucketization" if fault == "count" else "generalization"
    release = anon.anonymize(
        source, anon.Schema(["q"], ["s"]), require=[K2, anon.LDiversity(2)], publish=publish
    )
    open_of = {"parquet": "_parquet", "feather": "_feather", "csv": "csv"}[suffix]
    opener = getattr(write, open_of)

    class Wrong:
        def __init__(self, sink: Any) -> None:
            self.sink = sink

        def write_table(self, part: pa.Table) -> None:
            first = pa.array([True] + [False] * (len(part) - 1))
            name = {"value": "s", "cell": "q", "count": "count"}.get(fault)
            if fault == "row":
                part = part.slice(1)
            elif name in part.column_names:
                column = part[name].combine_chunks()
                column = (
                    column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
                )
                other = pa.array(column).take(pa.array([len(part) - 1]))
                other = other if name != "count" else pa.array([7])
                changed = pa.compute.replace_with_mask(column, first, other.cast(column.type))
                kind = part.schema.field(name).type
                changed = changed.dictionary_encode() if pa.types.is_dictionary(kind) else changed
                part = part.set_column(part.column_names.index(name), name, changed.cast(kind))
            self.sink.write_table(part)

    class Opened:
        def __init__(self, *arguments: Any) -> None:
            self.manager = opener(*arguments)

        def __enter__(self) -> Wrong:
            return Wrong(self.manager.__enter__())

        def __exit__(self, *error: Any) -> Any:
            return self.manager.__exit__(*error)

    monkeypatch.setattr(write, open_of, Opened)
    monkeypatch.setitem(write.FORMAT, Opened, write.FORMAT[opener])
    with pytest.raises((RecheckError, DataError)):
        release.write(tmp_path / f"r.{suffix}")
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_only_recode_seals_a_release(tmp_path: Path) -> None:
    good = made(["a", "b", "c", "d"])
    assert good.is_sealed
    path = tmp_path / "r.parquet"
    for changed in (
        dataclasses.replace(good, requirements=(anon.KAnonymity(100),)),
        dataclasses.replace(good, columns=good.columns),
        dataclasses.replace(good, classes=good.classes),
        dataclasses.replace(good),
    ):
        assert not changed.is_sealed
        with pytest.raises(UsageError, match="not as it was checked"):
            changed.write(path)
        assert b"anon" not in (changed.table.schema.metadata or {})
        assert changed.privacy().k == good.privacy().k
    bent = copy.copy(good)
    object.__setattr__(bent, "requirements", (anon.KAnonymity(100),))
    with pytest.raises(UsageError, match="not as it was checked"):
        bent.write(path)
    assert not path.exists()
    assert b"anon" in good.table.schema.metadata
    for same in (copy.copy(good), pickle.loads(pickle.dumps(good))):
        same.write(path)
        assert anon.check(path).k == 2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_numbers_that_come_back_as_text_have_no_order(tmp_path: Path, suffix: str) -> None:
    times = pa.array([1, 2, 3, 4], pa.time64("us"))
    table = pa.table({"q": [*"xxyy"], "s": times})
    schema = anon.Schema(["q"], [anon.numeric("s")])
    for require in ([K2], [K2, anon.TCloseness(0.5, "ordered")]):
        release = anon.anonymize(table, schema, require=require)
        if suffix == "parquet" or len(require) == 1:
            release.write(tmp_path / f"r.{suffix}")
            continue
        with pytest.raises(DataError, match="column 's' is read as text, which has no order"):
            release.write(tmp_path / "r.csv")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 3, 4], pa.time64("us")),
        pa.array([2**64 - 1, 2**63, 5, 6], pa.uint64()),
        pa.array([-(10**16), 2, 10**16, None], pa.timestamp("us")),
        pa.array([0.5, 1e20, 3, 4]),
    ],
)
@pytest.mark.parametrize("engine", ["local", "stream"])
def test_a_csv_whose_numbers_are_text_passes_its_own_check(
    tmp_path: Path, values: pa.Array, engine: str
) -> None:
    schema = anon.Schema(["q"], [anon.numeric("s")])
    release = anon.anonymize(pa.table({"q": [*"xxyy"], "s": values}), schema, require=[K2, L2])
    release.write(tmp_path / "r.csv")
    checked = anon.check(anon.read_source(tmp_path / "r.csv", engine=engine), schema, require=[K2, L2])
    assert (checked.unmet, checked.k, checked.l_distinct) == ((), 2, 2)
    assert len(checked.notes) == (values.type != pa.float64())


def test_other_text_is_not_taken_for_numbers(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("q,s\nx,12:00:00.5\nx,noon\n")
    with pytest.raises(DataError, match="'s' is declared numeric and holds other text in 2 rows"):
        anon.check(tmp_path / "r.csv", anon.Schema(["q"], [anon.numeric("s")]))


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("require", [anon.TCloseness(0.9, "ordered"), anon.SDiversityBound(0.9)])
def test_numbers_in_buckets_keep_their_order(tmp_path: Path, suffix: str, require: anon.Requirement) -> None:
    """Nobody declared them numeric: the same roles and requirements pass on what was written."""
    table = pa.table({"q": [*"xxyyzz"], "s": [10, 20, 30, 10, 2, 3]})
    release = anon.anonymize(table, anon.Schema(["q"], ["s"]), require=[K2, require], publish="bucketization")
    release.write(tmp_path / f"r.{suffix}")
    checked = anon.check(tmp_path / f"r.{suffix}", anon.Schema(["q"], ["s"]), require=[K2, require])
    assert checked.unmet == ()
    assert checked.t_ordered == release.privacy().t_ordered


def test_codes_in_buckets_are_no_numbers(tmp_path: Path) -> None:
    table = pa.table({"q": [*"xxyy"], "s": ["007", "08", "1", "2"]})
    schema = anon.Schema(["q"], ["s"])
    for suffix in ("parquet", "csv"):
        anon.anonymize(table, schema, require=[K2], publish="bucketization").write(tmp_path / f"r.{suffix}")
        assert anon.check(tmp_path / f"r.{suffix}", schema).t_ordered is None


def test_what_no_bucket_counts_is_told_apart(tmp_path: Path) -> None:
    table = pa.table({"q": [*"xxyy"], "s": [*"abab"], "neutral": [*"cdcd"]})
    path = tmp_path / "r.parquet"
    anon.anonymize(
        table, anon.Schema(["q"], ["s"], neutral="rest"), require=[K2], publish="bucketization"
    ).write(path)
    with pytest.raises(DataError, match=r"'neutral' stands in the first half .* hide nothing of it"):
        anon.check(path, anon.Schema(["q"], ["neutral"]))
    with pytest.raises(DataError, match="counts no values of a column 'other'"):
        anon.check(path, anon.Schema(["q"], ["other"]))


def reads_as(text: str | None) -> Any:
    trimmed = "" if text is None else text.strip()
    if trimmed in MISSING_TO_READERS:
        return None
    if trimmed.lower() in ("true", "false"):
        return float(trimmed.lower() == "true")
    try:
        return float(trimmed)
    except ValueError:
        return trimmed


TEXTS = st.text("019.+-e ", max_size=4) | st.sampled_from([*MISSING_TO_READERS, "true", "TRUE", "a", " a"])


@given(st.lists(TEXTS, unique=True, max_size=12), st.booleans())
def test_texts_that_are_one_to_readers(texts: list[str], has_null: bool) -> None:
    readings = [reads_as(text) for text in [*texts, *[None] * has_null]]
    expected = [readings.count(reading) > 1 for reading in readings]
    assert one_to_readers(pa.array(texts, pa.string()), has_null).tolist() == expected


OF_READERS = (
    *("0", "00", "1", "1.0", "01", "+1", "1e0", "0x1", "0X1", "0b1", "16", "0x10", "1,0", "1e400", "2e400"),
    *("5e-324", "1e-400", "inf", "Inf", "INFINITY", "+inf", "-inf", "true", "TRUE", "T", "t", "yes"),
    *("false", "F", "no", "a", "2020-01-01", "2020-01-01 00:00:00", "2020-01-01T00:00"),
    *("2020-01-01T00:00:00.000", "2020-01-01T00:00:00Z", "2020-01-01T02:00:00+02:00", "2020-1-1"),
    *("2020/01/01", "2020-13-01", "12:30", "12:30:00", "12:30:00.0", "0:30", "00:30", "9007199254740992"),
    *("9007199254740993", "18446744073709551615", "18446744073709551616", "0.3", "0.30000000000000004"),
    *("0.30000000000000002", "123456789012345678", "123456789012345679", "é", "e\u0301"),
)


def test_texts_that_pandas_or_arrow_read_as_one_are_one_to_readers() -> None:
    """Each pair is a column of its own, which these readers then take for the type that it fits."""
    pairs = list(itertools.combinations(OF_READERS, 2))
    lines = [[f"c{i}" for i in range(len(pairs))], *zip(*pairs, strict=True)]
    csv = "".join(",".join(f'"{word}"' for word in line) + "\n" for line in lines).encode()
    by_pandas = pandas.read_csv(io.BytesIO(csv))
    by_arrow = pyarrow.csv.read_csv(io.BytesIO(csv), pyarrow.csv.ReadOptions(block_size=1 << 20))
    n_one = 0
    for i, pair in enumerate(pairs):
        readings = (by_pandas.iloc[:, i].tolist(), by_arrow.column(i).to_pylist())
        if any(first == second for first, second in readings):
            n_one += 1
            assert one_to_readers(pa.array(pair), False).all(), pair
    assert n_one > 40


@pytest.mark.parametrize(
    "texts", [("1", "2"), ("T", "X"), ("t", "T", "other"), ("2020-01-01", "2020-01-02"), ("1:2", "01:2")]
)
def test_texts_that_no_reader_takes_for_one(texts: tuple[str, ...]) -> None:
    assert not one_to_readers(pa.array(texts), False).any()


def test_digits_of_16_beyond_the_greatest_float_are_one() -> None:
    texts = pa.array([f"0x{'f' * 300}", f"0xe{'f' * 300}", "0x10", f"-0x{'f' * 300}"])
    assert one_to_readers(texts, False).tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2**53, 2**53 + 1], pa.int64()),
        ([-(2**53) - 1, -(2**53)], pa.int64()),
        ([2**63, 2**63 + 1], pa.uint64()),
        ([0.3, 0.1 + 0.2], pa.float64()),
        ([Decimal("1234567890123456.1"), Decimal("1234567890123456.2")], pa.decimal128(20, 1)),
    ],
)
def test_numbers_that_are_one_to_readers_are_not_in_a_csv(
    tmp_path: Path, values: list[Any], kind: pa.DataType
) -> None:
    """R and spreadsheets, and beyond 64 bits Arrow, hold less of them: two values would be one, and l = 1."""
    table = pa.table({"q": [1, 1, 2, 2], "s": pa.array(values * 2, kind)})
    release = anon.anonymize(table, anon.Schema(["q"], ["s"]), require=[K2, anon.LDiversity(2)])
    release.write(tmp_path / "r.parquet")
    with pytest.raises(DataError, match="'s' holds in 4 rows values that are one to readers of CSV"):
        release.write(tmp_path / "r.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["r.parquet"]


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.3]) | st.floats(0.1, 0.4), unique=True, min_size=1),
    st.integers(0, 20),
)
def test_floats_that_are_one_to_readers(numbers: list[float], steps: int) -> None:
    near = numbers[0]
    for _ in range(steps):
        near = math.nextafter(near, 1)
    values = sorted({*numbers, near})
    readings = [{f"{Decimal(repr(value)):.14e}", cut(repr(value))} for value in values]
    expected = [
        any(one & other for j, other in enumerate(readings) if i != j) for i, one in enumerate(readings)
    ]
    assert numbers_one_to_readers(pa.array(values)).tolist() == expected


def cut(number: str) -> str:
    """A number from 0.1 to 1 without its digits from the sixteenth on, as spreadsheets keep it."""
    return number[:17].ljust(17, "0")


@pytest.mark.parametrize("engine", ["local", "stream"])
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_sensitive_floats_are_written_as_they_are_counted(
    tmp_path: Path, kind: pa.DataType, engine: Any
) -> None:
    """NaN beside null and -0.0 beside 0.0 would be two values to some readers, of which t counts one."""
    numbers = pa.array(np.array([0.0, -0.0, math.nan, math.nan], kind.to_pandas_dtype()), from_pandas=False)
    table = pa.table({"q": [1, 1, 2, 2, 3], "s": pa.concat_arrays([numbers, pa.nulls(1, kind)])})
    pq.write_table(table, tmp_path / "people.parquet")
    source = anon.read_source(tmp_path / "people.parquet", engine=engine)
    release = anon.anonymize(source, anon.Schema(["q"], ["s"]), require=[anon.KAnonymity(5)])
    release.write(tmp_path / "r.parquet")
    written = pq.read_table(tmp_path / "r.parquet")["s"]
    assert written.type == kind
    assert sorted(map(str, written.to_pylist())) == ["0.0", "0.0", "None", "None", "None"]


@pytest.mark.parametrize("values", [["NA", None], ["1", "1.0"], ["true", "TRUE"], ["inf", "Inf"]])
def test_texts_that_pandas_reads_as_one_are_not_in_an_excel_file(tmp_path: Path, values: list[Any]) -> None:
    with pytest.raises(DataError, match="'s' holds in 4 rows values that are one to readers of Excel"):
        made(values * 2).write(tmp_path / "r.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_what_csv_does_not_hold_is_named_where_rows_stay_in_their_files(tmp_path: Path) -> None:
    table = pa.table(
        {"q": [1, 1, 9], "word": pa.array([*"abc"]).dictionary_encode(), "list": [[1], [2], [3]]}
    )
    pq.write_table(table, tmp_path / "people.parquet")
    source = anon.read_source(tmp_path / "people.parquet", engine="stream")
    schema = anon.Schema(["q"], neutral=["word", "list"])
    release = anon.anonymize(source, schema, require=[K2], suppress=0.4)
    assert len(release.classes.suppressed) == 1
    with pytest.raises(DataError, match="CSV cannot hold column 'list'"):
        release.write(tmp_path / "r.csv")


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_a_quasi_identifier_named_class_id(tmp_path: Path) -> None:
    table = {"class_id": [1, 1, 2, 2], "s": [*"abab"]}
    schema = anon.Schema(["class_id"], ["s"])
    release = anon.anonymize(table, schema, require=[K2, anon.LDiversity(2)])
    for suffix in ("parquet", "csv"):
        release.write(tmp_path / f"r.{suffix}")
        checked = anon.check(tmp_path / f"r.{suffix}", schema, require=[K2, anon.LDiversity(2)])
        assert (checked.k, checked.unmet) == (2, ())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30))
def test_rows_of_values_that_are_read_otherwise(pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array([pair[i] for pair in pairs], np.uint8) for i in (0, 1))
    expected = sum(
        len({other for one, other in pairs if one == a}) > 1
        or len({one for one, other in pairs if other == b}) > 1
        for a, b in pairs
    )
    assert _n_unlike(before, after) == expected
