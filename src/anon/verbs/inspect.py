# SPDX-License-Identifier: Apache-2.0
"""What a table's columns look like before roles are chosen. No value is ever shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError
from anon.html import Table, bar_figure, number, result_html
from anon.schema import IDENTIFYING_SHARE, Role, is_text, kind_of
from anon.tables import read_local, read_table
from anon.threads import available_threads, in_threads
from anon.verbs.discover import discover
from anon.verbs.guess import Guess, Key, Seen, chosen_keys, guess, with_repeated_keys
from anon.verbs.nearly import DATE_NOT_ISO, Mask, note_on_text

MOST_WORK = 50_000_000  # rows times sets of columns that are compared
MOST_TOGETHER = 3  # columns of a set


@dataclass(frozen=True)
class Column:
    """One column: how many values it has, and a guess at its role.

    `kind` is numeric, nominal, or other (lists, structs, bytes: not counted, hinted to be neutral).
    `n_distinct` does not count null; NaN counts as null. `distinct_share` is n_distinct over the
    rows that have a value, `unique_share` the share of all rows whose value no other row has. `why` says in
    words what the guess at `role` goes by, `note` what to look at before the column is used. `key` is
    "unit" for the column that seems to tell whose a row is, where somebody has several, and
    "sampling_weight" for the one that seems to tell how many people a row stands for.
    """

    name: str
    type: str
    kind: str
    n_distinct: int | None
    n_null: int
    distinct_share: float | None
    unique_share: float | None
    role: str
    why: str
    note: str | None = None
    key: Key | None = None


@dataclass(frozen=True, repr=False)
class Inspection:
    """Every column of a table, in its order; `notes` say how it was read, where that may be wrong."""

    n_rows: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, strings and numbers, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "columns": [asdict(column) for column in self.columns],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        keys = [f"{each.name} may be the {each.key.replace('_', ' ')}" for each in self.columns if each.key]
        words = (
            f"{number(self.n_rows)} rows, {len(self.columns)} columns. The roles are guesses to begin with; "
            f"anon.Schema says what they are. {'; '.join(keys)}"
        )
        alone = [(each.unique_share, each.name) for each in self.columns if each.unique_share]
        return result_html(
            words,
            bar_figure(
                "Share of the rows whose value no other row has",
                {name: share for share, name in sorted(alone, reverse=True)},
                high=1,
            ),
            inspection_table(self),
        )

    def __repr__(self) -> str:
        return f"Inspection(n_rows={self.n_rows}, columns={len(self.columns)})"


def inspection_table(inspected: Inspection) -> Table:
    """Column by column the guess and what it goes by."""
    header = ("column", "role", "kind", "distinct", "missing", "share of rows alone")
    rows = tuple(
        (
            f"{each.name}\n{each.why}{'; ' if each.note else ''}{each.note or ''}",
            each.role,
            f"{each.kind} ({each.type})",
            each.n_distinct,
            each.n_null,
            each.unique_share,
        )
        for each in inspected.columns
    )
    return Table("The columns", header, rows)


def inspect(source: Any, **reading: Any) -> Inspection:
    """Kind, distinct values, nulls, uniqueness and a hint of the role of every column.

    `source` and the keyword arguments are those of `read_table`. The guess goes by the words of the column's
    name in seven languages, by what its values look like, by how many there are and by what rows of one
    value have in common; it is where to start, not a decision, and `why` says what it goes by. Of columns
    guessed to be quasi-identifiers it also says how many pairs of rows they tell apart (their separation),
    and with which others of them most rows are alone.
    """
    read = read_local(source, **reading)
    table = read_table(read)
    columns = inspected_columns(table, read.schema)
    told = _told_apart(table, [each.name for each in columns if each.role == Role.QUASI.value])
    columns = [
        replace(each, why=f"{each.why}; {told[each.name]}") if each.name in told else each for each in columns
    ]
    return Inspection(table.num_rows, tuple(columns), read.notes)


def inspected_columns(table: pa.Table, schema: pa.Schema) -> list[Column]:
    """What `inspect` says of each column but what it tells apart; `schema` has the types of the source."""
    inspected = in_threads(available_threads(), _inspect_column, list(schema), table.columns)
    guesses = with_repeated_keys(
        [guessed for _, guessed, _ in inspected],
        [seen for _, _, seen in inspected],
        lambda i: _plain(table.column(i)),
    )
    keys = chosen_keys(guesses, [seen for _, _, seen in inspected])
    return [
        replace(column, role=guessed.role.value, why=guessed.why, key=key)
        for (column, _, _), guessed, key in zip(inspected, guesses, keys, strict=True)
    ]


def _told_apart(table: pa.Table, names: Sequence[str]) -> dict[str, str]:
    """Of each column, in words, the pairs of rows that differ in it, and the set of up to three in which most
    rows are alone. Sets of fewer where it would take too long, and nothing where columns share a name.
    """
    if not names or table.num_rows < 2 or len(set(names)) < len(names):
        return {}
    size = min(len(names), MOST_TOGETHER)
    while size and table.num_rows * sum(math.comb(len(names), n) for n in range(1, size + 1)) > MOST_WORK:
        size -= 1
    if not size:
        return {}
    sets = discover(table, names, max_size=size).sets
    told = {}
    for name in names:
        [alone] = [each for each in sets if each.columns == (name,)]
        words = f"it tells apart {_percent(alone.separation)} of the pairs of rows"
        together = max(
            (each for each in sets if name in each.columns and len(each.columns) > 1),
            key=lambda each: (each.unique, -len(each.columns)),
            default=None,
        )
        if together is not None and together.unique > 0:
            others = [each for each in together.columns if each != name]
            words += f"; with {' and '.join(others)} {_percent(together.unique)} of the rows are alone"
        told[name] = words
    return told


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def identifying_neutral(table: pa.Table, names: Iterable[str]) -> list[str]:
    """Those of the named columns in which more than 90 % of the values are distinct.

    Most columns are settled by the first eighth of the rows: they repeat themselves too often there
    to reach 90 % any more.
    """
    return [name for name in names if _identifies(table.column(name))]


def _identifies(column: pa.ChunkedArray) -> bool:
    if not _is_countable(column.type):
        return False
    if pa.types.is_dictionary(column.type):
        n_labels = sum(len(chunk.dictionary) for chunk in column.chunks)
        if n_labels <= IDENTIFYING_SHARE * (len(column) - column.null_count):
            return False
    column = _plain(column)
    n_values = len(column) - column.null_count
    start = column.slice(0, len(column) // 8)
    repeats = len(start) - start.null_count - _n_distinct(start)
    if n_values < 2 or repeats >= (1 - IDENTIFYING_SHARE) * n_values:
        return False
    return bool(_n_distinct(column) > IDENTIFYING_SHARE * n_values)


def _inspect_column(field: pa.Field, column: pa.ChunkedArray) -> tuple[Column, Guess, Seen | None]:
    """`field` tells the type of the source; the column may be encoded as a dictionary."""
    column_type = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    name, type_name = field.name, str(column_type)
    if not _is_countable(column_type):
        guessed = Guess(Role.NEUTRAL, f"values of type {column_type} are not counted")
        uncounted = (None, column.null_count, None, None)
        return Column(name, type_name, "other", *uncounted, guessed.role.value, guessed.why), guessed, None
    plain = _plain(column)
    values = plain.drop_null()
    counted = pc.value_counts(values)
    counts = counted.field("counts")
    n_unique = pc.sum(pc.equal(counts, 1)).as_py() or 0
    n_dates = _n_dates(counted) if is_text(column_type) else 0
    seen = Seen(name, column_type, counted, len(column), len(values), n_dates)
    guessed = guess(seen)
    inspected = Column(
        name=name,
        type=type_name,
        kind=kind_of(name, column_type),
        n_distinct=len(counts),
        n_null=len(column) - len(values),
        distinct_share=len(counts) / len(values) if len(values) else 0.0,
        unique_share=n_unique / len(column),
        role=guessed.role.value,
        why=guessed.why,
        note=_note(name, plain, counted) if is_text(column_type) and len(values) else None,
    )
    return inspected, guessed, seen


def _n_dates(counted: pa.StructArray) -> int:
    """How many rows hold a date that is not as ISO writes it."""
    is_date = pc.match_substring_regex(counted.field("values"), DATE_NOT_ISO)
    return pc.sum(counted.field("counts").filter(is_date)).as_py() or 0


def _note(name: str, column: pa.ChunkedArray, counted: pa.StructArray) -> str | None:
    """A word on a column of text that is nearly something else."""
    texts, counts = counted.field("values"), counted.field("counts").to_numpy()

    def first_row(mask: Mask) -> int:
        return int(pc.index(pc.is_in(column, texts.filter(pa.array(mask))), True).as_py())

    return note_on_text(name, texts, counts, first_row)


def _is_countable(column_type: pa.DataType) -> bool:
    try:
        kind_of("", column_type)
    except DataError:
        return False
    return True


def _n_distinct(column: pa.ChunkedArray) -> int:
    return int(pc.count_distinct(column, mode="only_valid").as_py())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that Arrow can count: without dictionary, NaN as null, -0.0 as 0.0."""
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    elif types.is_null(column.type):
        column = column.cast(pa.bool_())
    elif types.is_decimal(column.type) and column.type.bit_width < 128:
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    elif types.is_float16(column.type):
        column = column.cast(pa.float32())
    if types.is_floating(column.type):
        column = pc.add(pc.if_else(pc.is_nan(column), None, column), pa.scalar(0.0, column.type))
    return column
