# SPDX-License-Identifier: Apache-2.0
"""A hierarchy to start from, drafted from the values of a column."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import texts
from anon.encoding import encode
from anon.errors import DataError, UsageError
from anon.schema import Schema, check_names, dates, intervals, is_text, numeric
from anon.tables import read_table, write_file

By = Literal["intervals", "dates", "prefix", "suffix", "frequency"]
MOST_LEVELS = 4  # of prefixes and suffixes that are drafted
MOST_INTERVALS = 20  # about, on the finest level
BANDS = (0.01, 0.05)  # shares of the rows below which a label is one of the others
CODE = r"^[0-9A-Za-z][0-9A-Za-z.\- ]*$"


@dataclass(frozen=True, repr=False)
class Draft:
    """A hierarchy in the form of an ARX file: one row per value, from the value to `*`; `by` says how."""

    column: str
    by: By
    rows: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """What stands in the CSV file; fields have `;` between."""
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(self.rows)
        return text.getvalue()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the CSV file, whole or not at all. DataError where it cannot be."""
        write_file(path, self.text.encode())

    def __repr__(self) -> str:
        n_levels = len(self.rows[0]) if self.rows else 0
        return f"Draft({self.column!r}, by {self.by}, values={len(self.rows)}, levels={n_levels})"


def draft_hierarchy(
    source: Any, column: str, *, by: By | None = None, levels: Sequence[Any] = (), **reading: Any
) -> Draft:
    """Draft a hierarchy of one column from its values, to be edited and given as its hierarchy file.

    `source` and the further keyword arguments are those of `read_table`. `by`: "intervals" of numbers,
    "dates" in calendar units, "prefix" (`0213*`) or "suffix" (`*2139`) of codes, "frequency" (labels of few
    rows are told as others). None chooses by the values. `levels` are widths, calendar units, lengths that
    are kept, or shares of the rows; without them some are chosen. Missing values have no place.

    Raises UsageError where the values are not what `by` is for, DataError where there are none.
    """
    if by not in (None, *get_args(By)):
        raise UsageError(f"by must be one of {', '.join(get_args(By))}")
    table = read_table(source, **reading)
    check_names([column], table.column_names)
    values = table.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    counted = pc.value_counts(values.drop_null())
    if not len(counted):
        raise DataError(f"column {column!r} has no values to draft a hierarchy of", column=column)
    labelled = is_text(values.type) or pa.types.is_boolean(values.type)
    chosen = by or _chosen(counted, labelled)
    if chosen in ("intervals", "dates"):
        if labelled or (chosen == "dates" and not _has_days(values.type)):
            what = "numbers, dates and times" if chosen == "intervals" else "dates and timestamps"
            raise UsageError(f"column {column!r} is {values.type}: {chosen} are for {what}")
        return Draft(column, chosen, _by_sets(table, column, chosen, levels))
    if any(isinstance(each, str) for each in levels):
        raise UsageError(f"levels by {chosen} are numbers")
    words = texts(counted.field("values"))
    rows = sorted(zip(words, counted.field("counts").to_pylist(), strict=True))
    if chosen == "frequency":
        return Draft(column, chosen, _by_frequency(rows, [float(each) for each in levels] or BANDS))
    return Draft(column, chosen, _masked([word for word, _ in rows], chosen, [int(each) for each in levels]))


def _chosen(counted: pa.StructArray, labelled: bool) -> By:
    values = counted.field("values")
    if not labelled:
        return "dates" if _has_days(values.type) else "intervals"
    if not is_text(values.type):
        return "frequency"
    codes = pc.and_(pc.match_substring_regex(values, CODE), pc.match_substring_regex(values, "[0-9]"))
    lengths = pc.utf8_length(values)
    long = pc.min(lengths).as_py() > 2 and pc.max(lengths).as_py() - pc.min(lengths).as_py() <= 3
    return "prefix" if long and pc.mean(codes).as_py() > 0.9 else "frequency"


def _has_days(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _by_sets(table: pa.Table, column: str, by: By, levels: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    """Rows of intervals or calendar units, in the order of the values."""
    if by == "dates":
        hierarchy: Any = dates(*(levels or ("month", "year", "decade")))
    else:
        hierarchy = intervals(*(levels or _widths(table, column)))
    domain = encode(table.select([column]), Schema([numeric(column, hierarchy)])).quasi[0]
    assert domain.levels is not None
    rows = []
    for code, word in enumerate(texts(domain.values)):
        sets = [int(of_code[code]) for of_code in domain.levels.of_code]
        rows.append((word, *(domain.levels.labels[each] if each >= 0 else "*" for each in sets), "*"))
    return tuple(rows)


def _widths(table: pa.Table, column: str) -> list[int | float]:
    """Widths that nest, such as 2, 10 and 20: about `MOST_INTERVALS` of the finest."""
    domain = encode(table.select([column]), Schema([numeric(column)])).quasi[0]
    assert domain.positions is not None
    length = float(domain.positions[-1] - domain.positions[0]) or 1.0
    raw = length / MOST_INTERVALS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each for each in (1, 2, 5, 10) if each * power >= raw)
    more = {1: (1, 5, 10), 2: (2, 10, 20), 5: (5, 10, 50), 10: (10, 50, 100)}[step]
    widths = [float(f"{each * power:.12g}") for each in more]
    if domain.unit_lattice:
        widths = [each for each in widths if each > 1] or [2.0]
    return [int(each) if each.is_integer() else each for each in widths if each < length] or [widths[0]]


def _masked(words: Sequence[str], by: By, lengths: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """Rows of the first or last characters, with `*` for the others."""
    longest = max(map(len, words))
    if any(not each > 0 for each in lengths):
        raise UsageError("levels of a prefix or suffix are numbers of characters above 0")
    kept = sorted({*lengths}, reverse=True)
    if not kept:
        kept = list(range(longest - 1, 0, -1))
        if len(kept) > MOST_LEVELS:
            kept = sorted({round(longest * i / (MOST_LEVELS + 1)) for i in range(1, MOST_LEVELS + 1)} - {0})[
                ::-1
            ]

    def masked(word: str, n: int) -> str:
        if len(word) <= n:
            return word
        return word[:n] + "*" if by == "prefix" else "*" + word[-n:]

    return tuple((word, *(masked(word, n) for n in kept), "*") for word in words)


def _by_frequency(rows: Sequence[tuple[str, int]], bands: Sequence[float]) -> tuple[tuple[str, ...], ...]:
    """Labels of fewer rows than each share of them are told as others."""
    if any(not 0 < each < 1 for each in bands):
        raise UsageError("levels by frequency are shares of the rows between 0 and 1")
    n_rows = sum(count for _, count in rows)
    known = {word for word, _ in rows}
    names = []
    for share in sorted(bands):
        name = f"other (below {share:.3g} of the rows)"
        while name in known:
            name += "'"
        names.append((share, name))
    return tuple(
        (word, *(name if count < share * n_rows else word for share, name in names), "*")
        for word, count in rows
    )
