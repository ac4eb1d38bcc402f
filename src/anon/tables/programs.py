# SPDX-License-Identifier: Apache-2.0
"""Tables written as files of other programs: SPSS, Stata and Excel (extra `files`).

What such a file cannot hold is refused by the name of its column. A column that was read as the labels of
its codes is written as these codes and labels again, of the values that are there alone: the others are the
input's. SPSS and Stata have no missing text but the empty one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError, UsageError
from anon.schema import is_text, value_type

Program = Literal["SPSS", "Stata", "Excel"]

PROGRAM_OF_SUFFIX: dict[str, Program] = {".sav": "SPSS", ".dta": "Stata", ".xlsx": "Excel"}
MOST_EXACT = 1 << 53  # whole numbers up to it are exact as floats
EXACT_DIGITS = 15  # of a decimal number that a float tells apart
LONGEST_LABEL = {"SPSS": 120, "Stata": 32_000}  # of a value, in bytes
LONGEST_DESCRIPTION = {"SPSS": 255, "Stata": 80}  # of a column
LONGEST_TEXT = {"SPSS": 32_767, "Stata": 2_000_000, "Excel": 32_767}  # in bytes; of Excel, characters
GREATEST_OF_STATA = 8.9e307  # what is more is a missing value
EXCEL_ROWS, EXCEL_COLUMNS = 1_048_575, 16_384
FIRST_DAY_OF_EXCEL = date(1900, 3, 1)  # before it Excel has a day that never was
_NOT_IN_EXCEL = r"[\x00-\x08\x0b-\x1f]|_x[0-9A-Fa-f]{4}_"
_DESCRIPTION, _VALUES = b"anon.description", b"anon.values"
_TRUTH = {0.0: "false", 1.0: "true"}
_TICK = {"SPSS": "s", "Stata": "ms", "Excel": "ms"}  # of a time that the file holds exactly


@dataclass(frozen=True)
class Labels:
    """What a file says of a column: a description, and words for some of its codes."""

    description: str | None = None
    values: Mapping[float, str] = field(default_factory=dict)

    def of(self, described: pa.Field) -> pa.Field:
        """The field with these labels as its metadata."""
        values = [[code, label] for code, label in self.values.items()]
        said = {_DESCRIPTION: self.description or "", _VALUES: json.dumps(values)}
        return described.with_metadata(said if self.description or values else None)


def labels_of(described: pa.Field) -> Labels:
    """The labels that a field has as its metadata."""
    said = described.metadata or {}
    values = json.loads(said.get(_VALUES, b"[]"))
    return Labels(said.get(_DESCRIPTION, b"").decode() or None, {code: label for code, label in values})


def check_held(program: Program, schema: pa.Schema) -> None:
    """Raise DataError for a column that such a file cannot hold, by its type or its name."""
    library = _libraries(program)[0]
    for each in schema:
        kind = value_type(each.type)
        if not _is_held(kind):
            zoned = "make it UTC without a zone" if pa.types.is_timestamp(kind) else "make it text or numbers"
            raise DataError(
                f"{program} holds no column such as {each.name!r} of type {kind}; {zoned}, or write Parquet",
                column=each.name,
            )
    if program == "Excel":
        if len(schema) > EXCEL_COLUMNS:
            raise DataError(f"an Excel sheet has at most {EXCEL_COLUMNS:,} columns; write Parquet")
        return
    seen: dict[str, str] = {}
    for name in schema.names:
        twin = seen.setdefault(name.casefold() if program == "SPSS" else name, name)
        if twin != name:
            raise DataError(
                f"SPSS does not tell the columns {twin!r} and {name!r} apart; rename one", column=name
            )
    with TemporaryDirectory() as folder:
        for name in schema.names:
            try:
                _writer(library, program)(_frame({name: [1.0]}), str(Path(folder) / "a"))
            except (library.ReadstatError, library.PyreadstatError):
                raise DataError(
                    f"{program} takes no column named {name!r}; rename it to at most "
                    f"{64 if program == 'SPSS' else 32} letters, digits and _, or write Parquet",
                    column=name,
                ) from None


def write_program(file: BinaryIO, program: Program, table: pa.Table, labels: Mapping[str, Labels]) -> None:
    """Write a table as the file of a program; DataError for values that it cannot hold."""
    columns = {name: _plain(program, name, table.column(name)) for name in table.column_names}
    if program == "Excel":
        _write_excel(file, columns, table.num_rows)
        return
    library = _libraries(program)[0]
    words: dict[str, Mapping[float, str]] = {}
    values: dict[str, Any] = {}
    for name, column in columns.items():
        values[name], words[name] = _coded(program, name, column, labels.get(name, Labels()))
    about = {
        "column_labels": {
            name: _cut(labels[name].description, LONGEST_DESCRIPTION[program]) if name in labels else None
            for name in columns
        },
        "variable_value_labels": {name: dict(each) for name, each in words.items() if each},
    }
    with TemporaryDirectory() as folder:  # the library writes to a name; the file is another's to open
        path = Path(folder) / "made"
        try:
            _writer(library, program)(_frame(values), str(path), **about)
        except (library.ReadstatError, library.PyreadstatError):
            raise DataError(f"{program} cannot hold this table; write Parquet") from None
        with open(path, "rb") as made:
            while part := made.read(1 << 20):
                file.write(part)


def _libraries(program: Program) -> list[Any]:
    names = ("xlsxwriter",) if program == "Excel" else ("pyreadstat", "pandas")
    try:
        return [import_module(name) for name in names]
    except ImportError:
        raise UsageError(f"install the extra `files` to write files of {program}") from None


def _writer(library: Any, program: Program) -> Callable[..., None]:
    writer: Callable[..., None] = library.write_sav if program == "SPSS" else library.write_dta
    return writer


def _frame(columns: Mapping[str, Any]) -> Any:
    return import_module("pandas").DataFrame(columns)


# --- Types and values


def _is_held(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.precision <= EXACT_DIGITS)
    if types.is_timestamp(kind):
        return kind.tz is None
    of_numbers = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    return bool(of_numbers or is_text(kind) or types.is_null(kind) or types.is_date(kind))


def _plain(program: Program, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as booleans, floats, texts, days or times; DataError where the file would change one."""
    kind = value_type(column.type)
    column = column.cast(kind)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column
    if is_text(kind):
        return _checked_text(program, name, column)
    if pa.types.is_date(kind):
        days = column.cast(pa.date32())
        if program == "Excel":
            _refuse(pc.less(days, FIRST_DAY_OF_EXCEL), program, name, "days before March 1900")
        return days
    if pa.types.is_timestamp(kind):
        unit = _TICK[program]
        exact = column.cast(pa.timestamp(unit), safe=False)
        lost = pc.not_equal(exact.cast(kind), column)
        _refuse(lost, program, name, f"times of less than a {'second' if unit == 's' else 'millisecond'}")
        if program == "Excel":
            _refuse(
                pc.less(exact.cast(pa.date32()), FIRST_DAY_OF_EXCEL), program, name, "times before March 1900"
            )
        return exact.cast(pa.timestamp("us"))
    if kind in (pa.int64(), pa.uint64()):
        most, least = (pa.scalar(end, kind) for end in (MOST_EXACT, -MOST_EXACT if kind == pa.int64() else 0))
        far = pc.or_(pc.greater(column, most), pc.less(column, least))
        _refuse(far, program, name, "whole numbers of more than 53 bits")
    numbers = column.cast(pa.float64(), safe=False)
    _refuse(pc.is_nan(numbers), program, name, "NaN")
    if program == "Excel":
        _refuse(pc.is_inf(numbers), program, name, "infinity")
    if program == "Stata":
        _refuse(pc.greater(pc.abs(numbers), GREATEST_OF_STATA), program, name, "numbers beyond its greatest")
    return numbers


def _checked_text(program: Program, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if program == "Excel":
        _refuse(pc.match_substring_regex(column, _NOT_IN_EXCEL), program, name, "control characters in text")
        lengths = pc.utf8_length(column)
    else:
        _refuse(pc.match_substring(column, "\0"), program, name, "zero bytes in text")
        lengths = pc.binary_length(column)
    _refuse(pc.greater(lengths, LONGEST_TEXT[program]), program, name, "texts that are too long")
    if program == "SPSS":
        _refuse(pc.ends_with(column, " "), program, name, "texts that end in a blank")
    if column.null_count:
        _refuse(pc.equal(column, ""), program, name, "empty texts beside missing values")
    return column


def _refuse(wrong: pa.ChunkedArray, program: Program, name: str, what: str) -> None:
    count = pc.sum(wrong).as_py()
    if count:
        row = pc.index(wrong.combine_chunks(), True).as_py()
        raise DataError(
            f"column {name!r} holds {what} in {count} rows, the first in row {row + 1}, which {program} does "
            "not hold; write Parquet, or recode them",
            column=name,
            row=row,
            count=count,
        )


# --- SPSS and Stata


def _coded(
    program: Program, name: str, column: pa.ChunkedArray, labels: Labels
) -> tuple[Any, Mapping[float, str]]:
    """A column for a frame, and the labels of the codes in it."""
    kind = column.type
    if pa.types.is_null(kind):
        return [float("nan")] * len(column), {}
    if pa.types.is_boolean(kind):
        return column.cast(pa.float64()).to_numpy(), _TRUTH
    if pa.types.is_floating(kind):
        there = set(pc.unique(column).to_pylist()) if labels.values else set()
        return column.to_numpy(), _held(program, name, {c: w for c, w in labels.values.items() if c in there})
    if is_text(kind):
        texts = pc.unique(column).drop_null().to_pylist()
        codes: dict[str, float] = {}
        for code, label in labels.values.items():
            codes.setdefault(label, code)
        if texts and all(text in codes for text in texts):
            words = pa.array(texts, kind)
            numbers = pa.array([float(codes[text]) for text in texts])
            coded = pc.take(numbers, pc.index_in(column, words))
            return coded.to_numpy(), _held(program, name, {codes[text]: text for text in texts})
        return column.fill_null("").to_pylist(), {}
    if pa.types.is_date(kind):
        return column.to_pylist(), {}
    return column.to_pandas(), {}


def _held(program: Program, name: str, labels: Mapping[float, str]) -> Mapping[float, str]:
    """Labels in the order of their codes, whole numbers as such; DataError where one is too long."""
    if any(len(label.encode()) > LONGEST_LABEL[program] for label in labels.values()):
        raise DataError(
            f"column {name!r} has labels of more than {LONGEST_LABEL[program]} bytes, which {program} does "
            "not hold; write Parquet, or shorten them",
            column=name,
        )
    ordered = sorted(labels.items())
    if program == "Stata":  # which labels whole numbers alone
        ordered = [(int(code), label) for code, label in ordered if code == int(code)]
    return {int(code) if code == int(code) else code: label for code, label in ordered}


def _cut(description: str | None, most: int) -> str | None:
    return None if description is None else description.encode()[:most].decode(errors="ignore")


# --- Excel


def _write_excel(file: BinaryIO, columns: Mapping[str, pa.ChunkedArray], n_rows: int) -> None:
    """One sheet. Texts are texts, also those that begin with `=`: nothing in it is run."""
    xlsxwriter = _libraries("Excel")[0]
    if n_rows > EXCEL_ROWS:
        raise DataError(
            f"an Excel sheet has at most {EXCEL_ROWS:,} rows, and the release {n_rows:,}; write CSV"
        )
    with xlsxwriter.Workbook(file, {"constant_memory": True}) as book:
        sheet = book.add_worksheet("release")
        day, time = (
            book.add_format({"num_format": each}) for each in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000")
        )
        puts = [_put(sheet, column.type, day, time) for column in columns.values()]
        for at, name in enumerate(columns):
            sheet.write_string(0, at, name)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            parts = [column.slice(start, ROWS_AT_ONCE).to_pylist() for column in columns.values()]
            for row, values in enumerate(zip(*parts, strict=True), start + 1):
                for at, (put, value) in enumerate(zip(puts, values, strict=True)):
                    if value is not None and value != "":
                        put(row, at, value)


ROWS_AT_ONCE = 1 << 14


def _put(sheet: Any, kind: pa.DataType, day: Any, time: Any) -> Callable[[int, int, Any], Any]:
    if pa.types.is_boolean(kind):
        return sheet.write_boolean  # type: ignore[no-any-return]
    if pa.types.is_floating(kind):
        return sheet.write_number  # type: ignore[no-any-return]
    if pa.types.is_date(kind):
        return lambda row, at, value: sheet.write_datetime(row, at, value, day)
    if pa.types.is_timestamp(kind):
        return lambda row, at, value: sheet.write_datetime(row, at, value, time)
    return sheet.write_string  # type: ignore[no-any-return]


def as_read(names: Sequence[str], columns: Sequence[pa.Array], labels: Sequence[Labels]) -> pa.Table:
    """The columns of a file as a table whose fields carry their labels."""
    fields = [
        each.of(pa.field(name, column.type))
        for name, column, each in zip(names, columns, labels, strict=True)
    ]
    return pa.table(list(columns), schema=pa.schema(fields))
