# SPDX-License-Identifier: Apache-2.0
"""What a CSV file may mean otherwise than it was read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from anon.schema import as_word, is_text, value_type
from anon.tables.csv import Csv
from anon.tables.formats import file_name

SOME_ROWS = 1 << 16  # among which a first line is sought
YEAR = r"^(19|20)\d\d$"  # a number that does name columns


def notes_on_csv(csv: Csv, paths: Sequence[Path], table: pa.Table) -> tuple[str, ...]:
    """Notes on how the files were read; `table` are their first rows, or all."""
    notes = []
    if csv.header and _is_row(table.column_names, table.slice(0, SOME_ROWS)):
        notes.append(
            f"the first line of {file_name(paths[0])} looks like the rows below it, and is read as the names "
            "of the columns: --no-header (header=False) reads it as a row"
        )
    notes += note_on_names(csv.trimmed(paths[0]))
    if csv.null:
        notes += _notes_on_null(csv, paths)
    return tuple(notes)


def note_on_names(trimmed: Sequence[str]) -> list[str]:
    """Which names of columns had blanks at their ends that were dropped."""
    if not trimmed:
        return []
    what = "the name of a column" if len(trimmed) == 1 else f"the names of {len(trimmed)} columns"
    return [f"blanks at the ends of {what} are dropped: {', '.join(map(repr, trimmed[:10]))}"]


def _is_row(names: Sequence[str], rows: pa.Table) -> bool:
    """Do the names look like cells: numbers and days over numbers and days, or texts that occur below?"""
    typed, texts = [], []
    for name, column in zip(names, rows.columns, strict=True):
        if is_text(value_type(column.type)):
            texts.append(pc.index(column.cast(value_type(column.type)), name).as_py() >= 0)
        elif not pa.types.is_null(column.type):
            typed.append(False)
            with suppress(pa.ArrowException):
                pa.array([name]).cast(column.type)
                typed[-1] = True
            if not typed[-1]:
                return False
    if not typed:
        return bool(texts) and 2 * sum(texts) >= len(texts)
    years = pc.sum(pc.match_substring_regex(pa.array(names), YEAR)).as_py()
    return years < len(typed) or any(texts)


def _notes_on_null(csv: Csv, paths: Sequence[Path]) -> list[str]:
    """Which columns lose values to a marker that takes some of several."""
    hits: dict[str, dict[str, int]] = {marker: {} for marker in csv.null}
    for path in paths:
        for marker, name, n_rows in csv.null_hits(path):
            hits[marker][name] = hits[marker].get(name, 0) + n_rows
    return [
        f"{marker!r} is a missing value in {len(of)} columns: "
        + ", ".join(f"{name!r} ({n:,} {'row' if n == 1 else 'rows'})" for name, n in of.items())
        + f"; where it is a value of some, say it of one alone: --null {as_word(next(iter(of)), marker)} "
        f"(null={f'{next(iter(of))}={marker}'!r})"
        for marker, of in hits.items()
        if len(of) > 1
    ]
