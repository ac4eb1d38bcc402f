# SPDX-License-Identifier: Apache-2.0
"""Text in a CSV file that spreadsheets take for a formula, and the apostrophe that guards against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import CSV_GUARD, DataError, PrivacyWarning, UsageError
from anon.schema import is_text

_STARTS = np.zeros(256, np.bool_)
_STARTS[list(b"=+-@\t\r")] = True
# what numbers and durations are written as (cells.texts): it is calculated, and stays what it was
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(s|ms|us|ns)?$|^[+-]?(inf|nan)$"
_BEGIN = "begins with =, +, -, @, a tab or a carriage return and is no number"


def is_formula(texts: pa.Array) -> pa.BooleanArray:
    """Which texts (large strings) a spreadsheet would run; null is none."""
    if not len(texts):  # may lack buffers
        return pa.array([], pa.bool_())
    _, ends, content = texts.buffers()
    end = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first = np.frombuffer(content or b"\0", np.uint8).take(end[:-1], mode="clip")
    starts = pa.array(_STARTS.take(first) & (end[1:] > end[:-1]))
    if texts.null_count:
        starts = pc.and_(starts, texts.is_valid())
    if not pc.any(starts).as_py():
        return starts
    numbers = pc.match_substring_regex(texts.filter(starts), _NUMBER)
    return pc.replace_with_mask(starts, starts, pc.invert(numbers))


def guarded(texts: pa.Array) -> pa.Array:
    """The texts, with an apostrophe before each that is a formula."""
    return pc.if_else(is_formula(texts), pc.binary_replace_slice(texts, 0, 0, "'"), texts)


def guarded_names(names: Sequence[str]) -> list[str]:
    """The names of columns as a guarded file shows them; DataError where two become one."""
    written: list[str] = guarded(pa.array(names, pa.large_string())).to_pylist()
    for i, name in enumerate(written):
        if name in written[:i]:
            raise DataError(
                f"columns {names[written.index(name)]!r} and {names[i]!r}: an apostrophe before formulas (",
                CSV_GUARD,
                ") makes their names equal; rename one, choose Parquet, or leave the guard out",
                column=names[i],
            )
    return written


@dataclass
class _Seen:
    """Of one column: how many cells are formulas and, where these are guarded, which values could clash."""

    n_cells: int = 0
    formulas: list[pa.Array] = field(default_factory=list)
    guarded_already: list[pa.Array] = field(default_factory=list)


@dataclass
class Formulas:
    """Goes with the tables that are written to one CSV file, and tells in the end what was in them.

    `guard` puts an apostrophe before every formula, in cells and in names of columns.
    """

    guard: bool
    names: dict[str, str] = field(default_factory=dict)
    seen: dict[str, _Seen] = field(default_factory=dict)

    def schema(self, written: pa.Schema) -> pa.Schema:
        """The schema of the file for that of the tables."""
        names = guarded_names(written.names) if self.guard else written.names
        self.names = dict(zip(written.names, names, strict=True))
        return pa.schema([written.field(i).with_name(name) for i, name in enumerate(names)])

    def written(self, table: pa.Table) -> pa.Table:
        """The next rows as they stand in the file."""
        columns = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            if is_text(kind):
                seen = self.seen.setdefault(name, _Seen())
                column = pa.chunked_array([self._column(chunk, seen) for chunk in column.chunks], column.type)
            columns.append(column)
        return pa.table(columns, names=[self.names[name] for name in table.column_names])

    def _column(self, chunk: pa.Array, seen: _Seen) -> pa.Array:
        """A chunk, guarded if wanted; a dictionary is looked at once, for all its rows."""
        if pa.types.is_dictionary(chunk.type):
            marks, values = self._texts(chunk.dictionary, seen)
            if marks is None:
                return chunk
            seen.n_cells += pc.sum(marks.take(chunk.indices)).as_py() or 0
            return pa.DictionaryArray.from_arrays(chunk.indices, values, ordered=chunk.type.ordered)
        marks, values = self._texts(chunk, seen)
        if marks is not None:
            seen.n_cells += marks.true_count
        return values

    def _texts(self, texts: pa.Array, seen: _Seen) -> tuple[pa.BooleanArray | None, pa.Array]:
        """Which texts are formulas, None where none is, and the texts as they are written."""
        plain = texts.cast(pa.large_string())
        marks = is_formula(plain)
        if self.guard:
            behind = pc.starts_with(plain, "'").fill_null(False)
            if behind.true_count:
                like = plain.filter(behind)
                like = like.filter(is_formula(pc.utf8_slice_codeunits(like, 1)))
                seen.guarded_already.append(like.unique())
        if not marks.true_count:
            return None, texts
        if not self.guard:
            return marks, texts
        formulas = guarded(plain.filter(marks))
        seen.formulas.append(formulas.unique())
        return marks, pc.replace_with_mask(plain, marks, formulas).cast(texts.type)

    def refuse_clashes(self) -> None:
        """Raise DataError where two values of a column became one."""
        for name, seen in self.seen.items():
            if not seen.formulas or not seen.guarded_already:
                continue
            like = pa.concat_arrays(seen.guarded_already).unique()
            both = like.filter(pc.is_in(like, value_set=pa.concat_arrays(seen.formulas)))
            if len(both):
                raise DataError(
                    f"column {name!r}: an apostrophe before formulas (",
                    CSV_GUARD,
                    f") makes {len(both)} of its values equal to others; recode these, choose Parquet, or "
                    "leave the guard out",
                    column=name,
                    count=len(both),
                    value=both[0].as_py(),
                )

    def note(self) -> PrivacyWarning | None:
        """What the file holds of formulas, None where it holds none or they were guarded."""
        if self.guard:
            return None
        such = [
            f"{each.n_cells} cells of column {name!r}" for name, each in self.seen.items() if each.n_cells
        ]
        n_names = is_formula(pa.array([*self.names], pa.large_string())).true_count
        if n_names:
            such.append(f"{n_names} names of columns")
        if not such:
            return None
        return PrivacyWarning(
            f"spreadsheets run as formulas what {_BEGIN}: {', '.join(such)}; ",
            CSV_GUARD,
            " puts an apostrophe before each",
        )


def refuse_guard(suffix: str) -> None:
    """Raise UsageError where another format than CSV is to be guarded."""
    if suffix.lower() != ".csv":
        raise UsageError(
            CSV_GUARD, " is for CSV files: end the name of the output in .csv, or leave the guard out"
        )
