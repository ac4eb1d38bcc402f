# SPDX-License-Identifier: Apache-2.0
"""CSV: the type of each column, found from its first rows and held against all others."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from anon.errors import DataError, Parameter, UsageError
from anon.schema import check_unique, value_type
from anon.tables.fields import plain_columns
from anon.tables.formats import (
    bytes_in_files,
    file_name,
    no_rows,
    raise_if_out_of_memory,
    unreadable,
    wanted_names,
)
from anon.tables.inferred import AS_WRITTEN, BLOCK, as_values, coded, inferred, texts_of
from anon.tables.memory import with_columns
from anon.tables.watch import Progress, read_watched
from anon.tables.written import read_as, written_in
from anon.threads import available_threads, in_threads

# An integer that would not survive as a number: a leading zero, or more digits than a float holds.
UNSAFE_INTEGER = r"^\s*[+-]?0\d+\s*$"
UNSAFE_FLOAT = r"^\s*[+-]?(0\d+([.,]\d*)?|\d{16,})\s*$"
_SEPARATOR = re.compile(r"\ufeff?\"?sep=(.)\"?\r?\n?", re.IGNORECASE)


@dataclass(frozen=True)
class Csv:
    """How the CSV files of one table are read."""

    null: tuple[str, ...]
    delimiter: str | None
    encoding: str
    decimal: str = "."
    header: bool = True
    text: tuple[str, ...] = ()  # columns that are strings whatever they hold
    thousands: str | None = None
    typed: frozenset[str] | None = None  # the columns that are more than text (None: all)
    trim: bool = False  # blanks at the ends of names say nothing

    def __post_init__(self) -> None:
        delimiter = self.delimiter
        if delimiter is not None and (
            len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\0\r\n"'
        ):
            raise UsageError(
                "the delimiter of a CSV file must be one character of ASCII, no quote or line end"
            )
        if self.decimal not in (".", ","):
            raise UsageError("the decimal mark of a CSV file is . or ,")
        if self.thousands is not None and (
            self.thousands not in (".", ",", " ", "'", "_") or self.thousands == self.decimal
        ):
            raise UsageError(
                "the thousands mark of a CSV file is , . ' _ or a space, and another than the decimal mark ",
                Parameter("(decimal=',')", "(--decimal ,)"),
            )
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
        except (LookupError, ValueError):
            raise UsageError(f"there is no encoding {self.encoding!r}") from None

    @property
    def is_plain(self) -> bool:
        """Is nothing said of CSV files?"""
        return replace(self, text=(), typed=None, trim=False) == Csv((), None, "utf-8")

    def texts(self, header: Iterable[str], further: Iterable[str] = ()) -> set[str]:
        """Which columns are strings whatever they hold."""
        typed = self.typed
        return {*self.text, *further} | {name for name in header if typed is not None and name not in typed}

    def tables(
        self, paths: Sequence[Path], columns: Sequence[str] | None = None, progress: Progress | None = None
    ) -> list[pa.Table]:
        """One table per file, of types that agree: a column that they type differently is text in all.

        Of one file alone, just the `columns` (None: all).
        """
        columns = columns if len(paths) == 1 else None
        sizes = [os.stat(path).st_size for path in paths]
        tables = [
            self.read(path, columns=columns, told=(progress, sum(sizes[:i]), sum(sizes)))
            for i, path in enumerate(paths)
        ]
        names = tables[0].column_names
        if any(set(table.column_names) != set(names) for table in tables):
            return tables
        tables = [each.select(names) for each in tables]
        texts, numbers = to_agree(
            [dict(zip(names, map(value_type, each.schema.types), strict=True)) for each in tables],
            lambda name: (each.column(name) for each in tables),
        )
        if texts:
            tables = [self.read(path, texts).select(names) for path in paths]
        return _of_one_type(tables, numbers) if len(tables) > 1 else tables

    def read(
        self,
        path: Path,
        as_text: Iterable[str] = (),
        columns: Sequence[str] | None = None,
        told: tuple[Progress | None, int, int] = (None, 0, 0),
    ) -> pa.Table:
        """One file. `as_text` names more columns that are strings, `columns` those wanted (None: all).

        `told` is who is told how far it is read, and the bytes before it and of all files.
        """
        try:
            return self._read(path, as_text, columns, told)
        except (pa.ArrowException, OSError, EOFError) as error:
            raise_if_out_of_memory(error)
            raise unreadable(path, "csv") from None

    def options(
        self, path: Path
    ) -> tuple[pa_csv.ReadOptions, pa_csv.ParseOptions, pa_csv.ConvertOptions, list[str]]:
        """What to tell Arrow's reader of a file, and the names of its columns."""
        header, delimiter, n_skipped = self._header(path)
        names = self._names(header)
        is_named = not self.header or names != header
        read = pa_csv.ReadOptions(
            encoding=self._encoding_of(path),
            block_size=BLOCK,
            skip_rows=n_skipped + (self.header and is_named),
            column_names=names if is_named else None,
        )
        # in a file of one column an empty line is an empty field
        parse = pa_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1
        )
        convert = pa_csv.ConvertOptions(
            null_values=list({"", *self.null}),
            strings_can_be_null=True,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            decimal_point=self.decimal,
        )
        return read, parse, convert, names

    def trimmed(self, path: Path) -> list[str]:
        """The names of a file's columns that had blanks at their ends."""
        header = self._header(path)[0] if self.trim and self.header else []
        return [name for name, before in zip(trimmed_names(header), header, strict=True) if name != before]

    def _names(self, header: list[str]) -> list[str]:
        """What columns of this header are called."""
        return trimmed_names(header) if self.trim and self.header else header

    def null_hits(self, path: Path) -> Iterator[tuple[str, str, int]]:
        """Every marker of missing values that occurs in a column, the column, and in how many rows."""
        read, parse, convert, header = self.options(path)
        convert.column_types = dict.fromkeys(header, AS_WRITTEN)
        convert.null_values = [""]
        counts: Counter[tuple[str, str]] = Counter()
        try:
            with pa_csv.open_csv(os.fspath(path), read, parse, convert) as reader:
                if any(field.type != AS_WRITTEN for field in reader.schema):  # as in `_read`
                    raise unreadable(path, "csv")
                for batch in reader:
                    for name, column in zip(batch.schema.names, batch.columns, strict=True):
                        found = pc.is_in(column.dictionary, pa.array(self.null))
                        for at in pc.indices_nonzero(found).to_pylist():
                            n_rows = pc.sum(pc.equal(column.indices, at)).as_py()
                            counts[column.dictionary[at].as_py(), name] += n_rows
        except (pa.ArrowException, UnicodeError, OSError) as error:
            raise_if_out_of_memory(error)
            raise self.fault(path, parse.delimiter) from None
        for (marker, name), n_rows in counts.items():
            yield marker, name, n_rows

    def check_ends(self, path: Path, header: Sequence[str], delimiter: str) -> None:
        """Raise DataError where two columns have one name, or a quote has no end."""
        if "" in header or self._has_open_quote(path):
            fault = self.fault(path, delimiter)
            if fault.row is not None:
                raise fault
        way_out = (", or read the first line as a row ", Parameter("(header=False)", "(--no-header)"))
        check_unique(header, file_name(path), *(way_out if self.header else ()))

    def _read(
        self,
        path: Path,
        as_text: Iterable[str],
        columns: Sequence[str] | None,
        told: tuple[Progress | None, int, int],
    ) -> pa.Table:
        read, parse, convert, header = self.options(path)
        names = header if columns is None else wanted_names(columns, header)
        columns_read = self._plain(path, header, names, told)
        if columns_read is None:
            self.check_ends(path, header, parse.delimiter)
            convert.include_columns = names
            convert.column_types = dict.fromkeys(header, AS_WRITTEN)
            try:
                table = read_watched(path, lambda file: pa_csv.read_csv(file, read, parse, convert), *told)
            except (pa.ArrowException, UnicodeError, OSError) as error:
                raise_if_out_of_memory(error)
                raise self.fault(path, parse.delimiter) from None
            if any(field.type != AS_WRITTEN for field in table.schema):  # its names are others than we read
                raise unreadable(path, "csv")
            columns_read = table.columns
            del table
        columns_read = in_threads(available_threads(), coded, columns_read)
        as_they_stand = self.texts(header, as_text)
        to_type = [at for at, name in enumerate(names) if name not in as_they_stand]
        texts = {at: texts_of(columns_read[at]) for at in to_type}
        convert.column_types, convert.include_columns = {}, []
        values = inferred(texts, convert)
        for at in to_type:
            typed = self._typed(texts[at], values.pop(at, None))
            if typed is not None:
                columns_read[at] = as_values(columns_read[at], typed)
        return pa.table(columns_read, names=names)

    def _plain(
        self, path: Path, header: Sequence[str], names: Sequence[str], told: tuple[Progress | None, int, int]
    ) -> list[pa.ChunkedArray] | None:
        """The columns of these names, `AS_WRITTEN`; None where the file is none of the plainest."""
        as_it_stands, delimiter, n_skipped = self._header(path)
        is_utf_8 = self._encoding_of(path).lower().replace("_", "-") in ("utf-8", "utf8")
        is_odd = len(header) < 2 or "" in header or len({*header}) < len(header) or not names
        has_changed = self._names(as_it_stands) != header
        if n_skipped or is_odd or has_changed or not is_utf_8:
            return None
        among = {*names}
        wanted = [at for at, name in enumerate(header) if name in among]

        def read(file: Any) -> list[pa.ChunkedArray] | None:
            with bytes_in_files(path) if isinstance(file, str) else nullcontext(file) as opened:
                missing = ["", *self.null]
                return plain_columns(opened, as_it_stands, wanted, delimiter, missing, named=self.header)

        with suppress(pa.ArrowException, OSError, EOFError):  # told by who reads it again
            return read_watched(path, read, *told)
        return None

    def _typed(self, texts: pa.ChunkedArray, values: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
        """Texts as what they write, `values` where Arrow's reader finds a type; None where they are texts."""
        if values is None:
            kind = written_in(texts.chunks, self.thousands, self.decimal).type
            return None if kind is None else self.held(texts, kind)
        if is_number(values.type) and is_unsafe([texts], values.type):
            return None
        if pa.types.is_timestamp(values.type):
            with suppress(pa.ArrowInvalid):
                return values.cast(pa.timestamp("us", values.type.tz))
        return values

    def held(self, texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """Texts as the numbers with thousands marks, or the days, that they write."""
        return read_as(texts, kind, self.thousands, self.decimal)

    def _header(self, path: Path) -> tuple[list[str], str, int]:
        """The names of the columns, the delimiter, and the number of lines before the first row or header.

        The delimiter is the given one, that of a line `sep=;` before all others, as spreadsheets write it,
        or the one that finds most names.
        """
        n_skipped, delimiters = 0, self.delimiter or ",;\t|"
        headers = []
        with self._text(path) as text:
            try:
                while (first := text.readline()) and not first.strip("\r\n"):
                    n_skipped += 1
                if told := _SEPARATOR.fullmatch(first):
                    n_skipped, delimiters, first = n_skipped + 1, self.delimiter or told[1], text.readline()
                rest = text.read(csv.field_size_limit()) if first.count('"') % 2 else ""  # a name goes on
            except UnicodeError:
                raise self.fault(path, ",") from None
        lines = [first, *rest.splitlines(keepends=True)]
        for each in delimiters:
            with suppress(csv.Error):  # a name, or with another delimiter the whole line, can be too long
                headers.append((next(csv.reader(lines, delimiter=each), []), each))
        if not headers:
            raise DataError(
                f"{file_name(path)}, line {n_skipped + 1}: the name of a column has more than "
                f"{csv.field_size_limit()} characters; shorten it, or name the --delimiter"
            )
        names, delimiter = max(headers, key=lambda header: len(header[0]))
        if not self.header:
            names = [f"column {i}" for i in range(1, len(names) + 1)]
        return names, delimiter, n_skipped

    def _encoding_of(self, path: Path) -> str:
        """The encoding, or UTF-16 where the file starts with its mark and no other was named."""
        if self.encoding == "utf-8":
            with bytes_in_files(path) as file:
                if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                    return "utf-16"
        return self.encoding

    def _text(self, path: Path) -> io.TextIOWrapper:
        encoding = self._encoding_of(path)
        if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            encoding = "utf-8-sig"
        return io.TextIOWrapper(bytes_in_files(path), encoding=encoding, newline="")

    def fault(self, path: Path, delimiter: str) -> DataError:
        """What is wrong with a file that Arrow could not read, said without its values."""
        encoding = self._encoding_of(path)
        decoder = codecs.getincrementaldecoder(encoding)()
        n_bytes, n_lines = 0, 1
        with bytes_in_files(path) as file:
            block = b"-"
            while block:
                block = file.read(1 << 20)
                n_bytes += len(block)
                try:
                    n_lines += decoder.decode(block, final=not block).count("\n")
                except UnicodeDecodeError as error:
                    byte = n_bytes - len(error.object) + error.start
                    line = n_lines + error.object[: error.start].count(b"\n")
                    return DataError(
                        f"{file_name(path)} is not {encoding}: byte {byte}, in line {line}; {_remedy(path)}"
                    )
                except UnicodeError:
                    return DataError(f"{file_name(path)} is not {encoding}; {_remedy(path)}")
        with self._text(path) as text:
            rows = csv.reader(self._after_separator(text), delimiter=delimiter, strict=True)
            line = n_rows = 0
            try:
                header = next(filter(None, rows), [])
                line = rows.line_num + 1
                for row in rows:
                    if row and len(row) != len(header):
                        ending = "" if header[-1] else " (the last one empty: it ends with a delimiter)"
                        return DataError(
                            f"{file_name(path)}, line {line}: {len(row)} fields where the header has "
                            f"{len(header)}{ending}; quote fields that hold a {delimiter!r}, or name the "
                            "--delimiter",
                            row=n_rows,
                        )
                    line, n_rows = rows.line_num + 1, n_rows + 1
            except csv.Error as error:
                what = "a quote has no proper end; double quotes inside of quotes"
                if "field limit" in str(error):
                    most = csv.field_size_limit()
                    what = f"a field has more than {most} characters; shorten it, or end its quote"
                return DataError(
                    f"{file_name(path)}, line {line}: {what}",
                    row=max(0, n_rows),
                )
        return unreadable(path, "csv") if n_rows else no_rows([path])

    def _after_separator(self, text: io.TextIOWrapper) -> Iterable[str]:
        """The lines, an empty one in place of a first `sep=;`."""
        first = text.readline()
        return chain(["\n" if _SEPARATOR.fullmatch(first) else first], text)

    def _has_open_quote(self, path: Path) -> bool:
        n_quotes = 0
        with bytes_in_files(path) as file:
            while block := file.read(1 << 20):
                n_quotes += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord('"')))
        return n_quotes % 2 == 1


def _remedy(path: Path) -> str:
    """The encoding that a file which is not UTF-8 is likely in: one that decodes all of it."""
    controls = False
    for encoding in ("cp1252", "latin-1"):
        decoder = codecs.getincrementaldecoder(encoding)()
        with suppress(UnicodeDecodeError), bytes_in_files(path) as file:
            while block := file.read(1 << 20):
                controls |= any(0x80 <= byte < 0xA0 for byte in block.translate(None, bytes(range(0x80))))
                decoder.decode(block)
            # both read a file without the bytes in which they differ: the standard's name is better known
            return f"try --encoding {encoding if controls else 'latin-1'}, which reads all of it"
    return "name the --encoding that it is in"


def trimmed_names(names: Sequence[str]) -> list[str]:
    """The names without blanks at their ends; as they are where one goes on in the next line."""
    if any("\n" in name for name in names):
        return list(names)
    return [name.strip() or name for name in names]


def is_number(arrow_type: pa.DataType) -> bool:
    """Integers and floats, as which a CSV file's numbers are read."""
    return bool(pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type))


def is_unsafe(texts: Iterable[pa.Array | pa.ChunkedArray], arrow_type: pa.DataType) -> bool:
    """Do texts that were read as numbers hold integers that are told apart by more than their value?"""
    pattern = UNSAFE_INTEGER if pa.types.is_integer(arrow_type) else UNSAFE_FLOAT
    return any(pc.any(pc.match_substring_regex(each, pattern)).as_py() for each in texts)


def to_agree(
    types: Sequence[Mapping[str, pa.DataType]], columns: Callable[[str], Iterable[pa.ChunkedArray]]
) -> tuple[set[str], set[str]]:
    """The columns that files of one table type differently: those to be text, and those to be floats.

    `types` are those of each file, `columns` gives the parts of a column. Integers beside floats are
    floats where all can be told apart as such.
    """
    kinds_of = {name: {each[name] for each in types} - {pa.null()} for name in types[0]}
    differ = {name for name, kinds in kinds_of.items() if len(kinds) > 1}
    floats = {
        name for name in differ if kinds_of[name] == {pa.int64(), pa.float64()} and _fit_floats(columns(name))
    }
    return differ - floats, floats


def _of_one_type(tables: Sequence[pa.Table], floats: set[str]) -> list[pa.Table]:
    """Tables of the same columns: those of `floats` as floats, texts coded only where all are."""
    names = tables[0].column_names
    kinds: dict[int, pa.DataType] = {at: pa.float64() for at, name in enumerate(names) if name in floats}
    for at, types in enumerate(zip(*(each.schema.types for each in tables), strict=True)):
        if AS_WRITTEN in types and len(set(types)) > 1:
            kinds[at] = pa.string()
    return [
        with_columns(each, {at: each.column(at).cast(kind) for at, kind in kinds.items()}) for each in tables
    ]


def _fit_floats(parts: Iterable[pa.ChunkedArray]) -> bool:
    """Can the integers of a column be told apart as floats?"""
    try:
        for part in parts:
            part.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
