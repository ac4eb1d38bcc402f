# SPDX-License-Identifier: Apache-2.0
"""Tables that are in memory already, and the plain types that their columns get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError, Parameter, UsageError
from anon.schema import as_word, check_names, check_unique, is_measurable, is_text, value_type
from anon.tables.columns import values_alone, values_type
from anon.tables.written import day_of


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The types as which the columns are held: those that every part of Arrow can work with."""
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def in_plain_types(table: pa.Table) -> pa.Table:
    """The table with every column in its plain type."""
    schema = table.schema
    kinds = [_plain_type(field.type) for field in schema]
    columns = {
        i: pa.chunked_array([_plain(chunk) for chunk in table.column(i).chunks], type=kind)
        for i, (kind, field) in enumerate(zip(kinds, schema, strict=True))
        if kind != field.type or _has_null_values(table.column(i))
    }
    return with_columns(table, columns)


def _has_null_values(column: pa.ChunkedArray) -> bool:
    """Is null a value of a dictionary? Arrow does not join such ones, nor count their nulls."""
    is_coded = pa.types.is_dictionary(column.type)
    return is_coded and any(chunk.dictionary.null_count > 0 for chunk in column.chunks)


@dataclass(frozen=True)
class Meaning:
    """What the user says of columns: the texts that are missing values, and the format of dates.

    `dates` has formats as `datetime.strptime` reads them. `trim`: blanks at the ends of texts say
    nothing, and a text of blanks alone is a missing value.
    """

    null: Mapping[str, frozenset[str]]
    dates: Mapping[str, str]
    trim: bool = False

    def check(self, schema: pa.Schema) -> None:
        """Refuse a name that the table has not, and dates that are not text."""
        check_names([*self.null, *self.dates], schema.names)
        for name in self.dates:
            kind = schema.field(name).type
            if not is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
                raise DataError(
                    f"column {name!r} is {kind}, no text: it needs no format of dates", column=name
                )

    def of_schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of what `of_table` makes of a table."""
        return pa.schema(
            [field.with_type(pa.date32()) if field.name in self.dates else field for field in schema]
        )

    def of_table(self, table: pa.Table, first_row: int = 0) -> pa.Table:
        """The table as it is meant; its rows are numbered from `first_row` on."""
        table = without(trimmed(table) if self.trim else table, self.null)
        return with_columns(
            table,
            {
                table.column_names.index(name): _days(table.column(name), name, format, first_row)
                for name, format in self.dates.items()
                if name in table.column_names
            },
        )


def _days(column: pa.ChunkedArray, name: str, format: str, first_row: int) -> pa.ChunkedArray:
    """Texts as the days that they write."""
    coded = column.combine_chunks()
    coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
    days = [day_of(text, format) for text in coded.dictionary.to_pylist()]
    found = pc.take(pa.array(days, pa.date32()), coded.indices)
    wrong = pc.and_(coded.is_valid(), found.is_null())
    if n_wrong := pc.sum(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        raise DataError(
            f"column {name!r}: {n_wrong} values are no dates of the format {format!r}, the first in row "
            f"{first_row + row + 1}; name a text that is a missing value: ",
            Parameter(f"null={f'{name}=TEXT'!r}", f"--null {as_word(name, 'TEXT')}"),
            column=name,
            row=first_row + row,
            count=n_wrong,
            value=coded[row].as_py(),
        )
    return pa.chunked_array([found])


def trimmed(table: pa.Table) -> pa.Table:
    """The table without blanks at the ends of its texts, those of blanks alone missing."""
    changed = {}
    for i, column in enumerate(table.columns):
        plain = value_type(column.type)
        if is_text(plain):
            texts = pc.utf8_trim_whitespace(column.cast(plain))
            texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, plain), texts)
            changed[i] = texts.cast(column.type) if texts.type != column.type else texts
    return with_columns(table, changed)


def without(table: pa.Table, null: Mapping[str, Iterable[str]]) -> pa.Table:
    """The table with these texts of its columns missing; of a column of numbers, those that they write."""
    changed = {}
    for name in null.keys() & set(table.column_names):
        column = table.column(name)
        plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        written = pa.array(sorted(null[name]), pa.string())
        try:
            markers = written.cast(plain)
        except pa.ArrowException:
            raise DataError(
                f"column {name!r} is {plain}, which none of its texts for missing values writes", column=name
            ) from None
        hit = pc.is_in(column.cast(plain), markers)
        changed[table.column_names.index(name)] = pc.if_else(hit, pa.scalar(None, column.type), column)
    return with_columns(table, changed)


def with_columns(table: pa.Table, columns: Mapping[int, pa.ChunkedArray]) -> pa.Table:
    """The table with other columns at these places, all put there at once: one by one is quadratic."""
    if not columns:
        return table
    fields = list(table.schema)
    for i, column in columns.items():
        fields[i] = pa.field(fields[i].name, column.type)
    whole = [columns.get(i, column) for i, column in enumerate(table.columns)]
    return pa.Table.from_arrays(whole, schema=pa.schema(fields, table.schema.metadata))


# --- Memory --------------------------------------------------------------------------------------


def from_memory(source: Any) -> pa.Table:
    """Arrow data, a data frame or a dict of arrays as a Table. The index of a pandas frame is no column."""
    try:
        if isinstance(source, pa.Table):
            return source
        if isinstance(source, pa.RecordBatch):
            return pa.Table.from_batches([source])
        if isinstance(source, pa.RecordBatchReader):
            return source.read_all()
        if isinstance(source, list | tuple) and source and all(isinstance(b, pa.RecordBatch) for b in source):
            return pa.Table.from_batches(source)
        if isinstance(source, Mapping):
            return _from_arrays(source)
        if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
            names = [str(name) for name in source.columns]
            check_unique(names)
            return _as_meant(_from_arrays({name: source.iloc[:, i] for i, name in enumerate(names)}))
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
            return pa.table(source)
    except pa.ArrowException:
        raise DataError("the table's Arrow data are not valid") from None
    raise UsageError(
        "a table is a path, Arrow data, a data frame or a dict of arrays, "
        f"not {type(source).__module__}.{type(source).__qualname__}"
    )


def _as_meant(table: pa.Table) -> pa.Table:
    """A pandas frame's whole numbers, which are floats where some are missing, and days, which are times."""
    changed = {}
    for i, column in enumerate(table.columns):
        kind = None
        if pa.types.is_floating(column.type) and 0 < column.null_count < len(column):
            kind = pa.int64()
        elif (
            pa.types.is_timestamp(column.type) and column.type.tz is None and column.null_count < len(column)
        ):
            kind = pa.date32()
        if kind is not None:
            with suppress(pa.ArrowInvalid):  # a fraction, or a time of day
                meant = column.cast(kind)
                if meant.cast(column.type).equals(column):  # Arrow drops times of a day
                    changed[i] = meant
    return with_columns(table, changed)


def _plain_type(arrow_type: pa.DataType) -> pa.DataType:
    """The type as which a column is held: one that every part of Arrow can work with."""
    types = pa.types
    if _is_of_nested(arrow_type):
        return values_type(arrow_type) or arrow_type  # None: told where it is to be published
    if types.is_dictionary(arrow_type):
        values = _plain_type(arrow_type.value_type)
        sortable = is_text(values) or (is_measurable(values) and not types.is_float16(values))
        return pa.dictionary(arrow_type.index_type, values, arrow_type.ordered) if sortable else values
    if types.is_run_end_encoded(arrow_type):
        return _plain_type(arrow_type.value_type)
    if types.is_string_view(arrow_type):
        return pa.large_string()
    return pa.large_binary() if types.is_binary_view(arrow_type) else arrow_type


def _is_of_nested(arrow_type: pa.DataType) -> bool:
    """A dictionary of, or runs of, values that are no flat ones."""
    types = pa.types
    return bool(types.is_dictionary(arrow_type) or types.is_run_end_encoded(arrow_type)) and bool(
        types.is_nested(arrow_type.value_type)
        or types.is_dictionary(arrow_type.value_type)
        or isinstance(arrow_type.value_type, pa.BaseExtensionType)
    )


def _plain(array: pa.Array) -> pa.Array:
    """An array in its plain type."""
    plain = _plain_type(array.type)
    is_coded = pa.types.is_dictionary(plain)
    if plain == array.type and not (is_coded and array.dictionary.null_count):
        return array
    if _is_of_nested(array.type):
        return values_alone(array)
    if pa.types.is_run_end_encoded(array.type):
        run = pa.RunEndEncodedArray.from_arrays(array.run_ends, np.arange(len(array.values)))
        return _plain(array.values).take(pc.run_end_decode(run.slice(array.offset, len(array))))
    if not pa.types.is_dictionary(array.type):
        return array.cast(plain)
    values = _plain(array.dictionary)
    if is_coded:
        is_valid = values.is_valid()
        place = pc.if_else(is_valid, pc.cumulative_sum(is_valid.cast(pa.int64())), None)
        codes = pc.subtract(place.take(array.indices), 1).cast(plain.index_type)
        return pa.DictionaryArray.from_arrays(codes, values.drop_null(), ordered=plain.ordered)
    return values.take(array.indices)


def _from_arrays(arrays: Mapping[Any, Any]) -> pa.Table:
    check_unique([str(name) for name in arrays])
    columns = {}
    n_rows = None
    for name, values in arrays.items():
        try:
            column = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
        except OverflowError:
            raise DataError(
                f"column {name!r} holds integers of more than 64 bits; make them decimals or strings",
                column=str(name),
            ) from None
        except (pa.ArrowException, TypeError, ValueError):
            raise DataError(
                f"column {name!r} is no array of one type; convert its values to one type", column=str(name)
            ) from None
        if n_rows is not None and len(column) != n_rows:
            raise DataError(
                f"column {name!r} has {len(column)} values where the columns before it have {n_rows}",
                column=str(name),
            )
        n_rows = len(column)
        columns[str(name)] = column
    try:
        return pa.table(columns)
    except UnicodeError:
        raise DataError("a column's name is not valid Unicode; rename it") from None
