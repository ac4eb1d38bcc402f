# SPDX-License-Identifier: Apache-2.0
"""Texts of a CSV file that write numbers with thousands marks, or days such as 31.12.1999."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc

HEAD = 1000  # texts by which most columns are told to be neither
DAY = r"^\d{1,2}\.\d{1,2}\.\d{4}$"
LATE_DAY = r"^(1[3-9]|2\d|3\d)\."  # no month: what comes first is a day


@dataclass(frozen=True)
class Written:
    """What every text seen could be (whole numbers, numbers, days), and whether some shows that it is that.

    A number with a thousands mark shows it, and a day after the 12th, which is no month.
    """

    whole: bool = True
    number: bool = True
    day: bool = True
    marked: bool = False
    late: bool = False

    def __and__(self, other: Written) -> Written:
        return Written(
            self.whole and other.whole,
            self.number and other.number,
            self.day and other.day,
            self.marked or other.marked,
            self.late or other.late,
        )

    @property
    def is_something(self) -> bool:
        """Can it still be of numbers or days?"""
        return self.number or self.day

    @property
    def type(self) -> pa.DataType | None:
        """The type that the texts are read as; None where they are texts."""
        if self.day and self.late:
            return pa.date32()
        if self.number and self.marked:
            return pa.int64() if self.whole else pa.float64()
        return None


def written_in(columns: Iterable[pa.Array], thousands: str | None, decimal: str) -> Written:
    """What the texts of these parts of one column are."""
    seen = Written()
    for each in columns:
        for part in (each.slice(0, HEAD), each.slice(HEAD)):
            if len(part) and seen.is_something:
                seen = seen & _seen(part.drop_null(), thousands, decimal)
    return seen


def read_as(
    column: pa.ChunkedArray, kind: pa.DataType, thousands: str | None, decimal: str
) -> pa.ChunkedArray:
    """Texts that `written_in` told to be of this type, as its values."""
    if pa.types.is_date(kind):
        coded = column.combine_chunks().dictionary_encode()
        days = pa.array([day_of(text, "%d.%m.%Y") for text in coded.dictionary.to_pylist()], pa.date32())
        return pa.chunked_array([days.take(coded.indices)])
    plain = pc.replace_substring(column, thousands, "") if thousands else column
    return pc.replace_substring(plain, decimal, ".").cast(kind)


def day_of(text: str, format: str) -> date | None:
    """The day that a text writes, or None."""
    try:
        return datetime.strptime(text, format).date()
    except ValueError:
        return None


def thousands_pattern(thousands: str, decimal: str) -> str:
    """Numbers with at least one thousands mark, of few enough digits to be told apart."""
    return rf"^[+-]?[1-9]\d{{0,2}}({re.escape(thousands)}\d{{3}}){{1,4}}({re.escape(decimal)}\d+)?$"


def _seen(texts: pa.Array, thousands: str | None, decimal: str) -> Written:
    def match(pattern: str) -> pa.Array:
        return pc.match_substring_regex(texts, pattern)

    def every(mask: pa.Array) -> bool:
        return bool(pc.all(mask, min_count=0).as_py())

    number = day = marked = late = False
    if thousands is not None:
        with_mark = match(thousands_pattern(thousands, decimal))
        plain = match(rf"^[+-]?(0|[1-9]\d{{0,14}})({re.escape(decimal)}\d+)?$")
        number = every(pc.or_(with_mark, plain))
        marked = bool(pc.any(with_mark, min_count=0).as_py())
    if every(match(DAY)):
        distinct = texts.unique()
        day = all(day_of(text, "%d.%m.%Y") is not None for text in distinct.to_pylist())
        late = bool(pc.any(match(LATE_DAY), min_count=0).as_py())
    whole = number and not bool(pc.any(pc.match_substring(texts, decimal), min_count=0).as_py())
    return Written(whole, number, day, marked, late)
