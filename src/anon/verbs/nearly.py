# SPDX-License-Identifier: Apache-2.0
"""Columns of text that hold numbers or days but for some, or write them otherwise, and what reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.schema import as_word
from anon.tables import thousands_pattern

Mask = npt.NDArray[np.bool_]

DATE_NOT_ISO = r"^\s*(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2})(\s.*)?$"
ISO_DAY = r"^\s*\d{4}-\d\d-\d\d\s*$"
NUMBER = r"^\s*[+-]?\d+(\.\d+)?\s*$"
WITH_COMMA = r"^\s*[+-]?\d+,\d+\s*$"
INTERVAL = r"^\[[^\[\]]+, [^\[\]]+[\])]$"
CELL = r"^(\[[^\[\]]+, [^\[\]]+[\])]|\*|\{.*\})$"  # as a release shows several values
FORMATS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
)
NEARLY = 0.9  # share of values from which a column is said to be of numbers


def note_on_text(
    name: str, values: pa.Array, counts: npt.NDArray[np.int64], first_row: Callable[[Mask], int]
) -> str | None:
    """A word on a column whose distinct texts `values` stand in `counts` rows each, or None.

    `first_row(mask)` is the number, from 0 on, of the first row that has one of the values of the mask.
    """
    n = int(counts.sum())
    cells = _match(values, CELL)
    if 2 * int(counts[cells].sum()) > n and (cells & _match(values, INTERVAL)).any():
        return (
            f"column {name!r} holds intervals, as a release does, the first in row {first_row(cells) + 1}: "
            "they are labels here; anonymize the original"
        )
    bare = pc.utf8_trim_whitespace(values)
    n_alike = len(values) - len(bare.unique())
    with_blanks = np.asarray(pc.not_equal(bare, values).to_numpy(zero_copy_only=False), np.bool_)
    if n_alike or (with_blanks.any() and with_blanks.all()):
        what = (
            f"{n_alike} of the {len(values)} labels of column {name!r} differ from others by blanks alone"
            if n_alike
            else f"every label of column {name!r} has blanks at its ends"
        )
        return (
            f"{what}, the first with blanks in row {first_row(with_blanks) + 1}; they are labels as they "
            "stand: --trim (trim=True) drops blanks at the ends of texts"
        )
    dates, numbers, commas = (_match(values, each) for each in (DATE_NOT_ISO, NUMBER, WITH_COMMA))
    n_dates, n_numbers, n_commas = (int(counts[each].sum()) for each in (dates, numbers, commas))
    if n_dates * 2 > n:
        fitting = formats_of(values.filter(pa.array(dates)).to_pylist())
        reads = "to have them as dates, write all as in 1980-12-31"
        if fitting:
            pairs = " or ".join(f"--date {as_word(name, each)}" for each in fitting)
            reads = f"{pairs} reads them (date={{{name!r}: {fitting[0]!r}}})"
        return (
            f"column {name!r} holds dates that are not ISO in {n_dates} rows, the first of them row "
            f"{first_row(dates) + 1}; they are labels as they stand: {reads}"
        )
    if n_commas and n_commas + n_numbers == n:
        if not (commas & ~_match(values, thousands_pattern(",", "."))).any():
            return (
                f"column {name!r} holds numbers with commas, the first in row {first_row(commas) + 1}; they "
                "are labels as they stand: of a CSV file --thousands , reads them as thousands "
                "(thousands=','), --decimal , as decimal marks (decimal=',')"
            )
        return (
            f"column {name!r} holds numbers with a decimal comma, the first in row {first_row(commas) + 1}; "
            "they are labels as they stand: --decimal , reads those of a CSV file (decimal=',')"
        )
    for mark, decimal in ((",", "."), (".", ",")):
        grouped = _match(values, thousands_pattern(mark, decimal))
        plain = _match(values, rf"^[+-]?\d+({re.escape(decimal)}\d+)?$")
        if grouped.any() and (grouped | plain).all():
            also = f" --decimal {decimal}" if decimal == "," else ""
            return (
                f"column {name!r} holds numbers with thousands marks, the first in row "
                f"{first_row(grouped) + 1}; they are labels as they stand: --thousands {mark}{also} reads "
                f"those of a CSV file (thousands={mark!r}{', decimal=' + repr(decimal) if also else ''})"
            )
    is_iso = _match(values, ISO_DAY)
    n_iso = int(counts[is_iso].sum())
    nearly = [("numbers", numbers, n_numbers)] if NEARLY * n <= n_numbers < n else []
    nearly += [("days as in 1980-12-31", is_iso, n_iso)] if n < 2 * n_iso < 2 * n else []
    for what, are, n_are in nearly:
        return (
            f"{n_are} of {n} values of column {name!r} are {what}, the first other is in row "
            f"{first_row(~are) + 1}; all are labels as they stand: correct the others, or make them "
            f"missing, --null {as_word(name, 'TEXT')} (null={f'{name}=TEXT'!r})"
        )
    return None


def formats_of(texts: list[str]) -> list[str]:
    """Which of the usual formats read all these days."""
    fitting = []
    for each in FORMATS:
        with suppress(ValueError):
            for text in texts:
                datetime.strptime(text, each)
            fitting.append(each)
    return fitting


def _match(values: pa.Array, pattern: str) -> Mask:
    return np.asarray(pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False), np.bool_)
