# SPDX-License-Identifier: Apache-2.0
"""Which published values are one to other readers of CSV: pandas, R, Arrow, Polars, DuckDB, a spreadsheet.

They leave out spaces, and take texts for numbers, truth values, dates, times and missing values. Most hold
numbers in 53 bits, and spreadsheets keep 15 digits of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MISSING_TO_READERS = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None", "NaN", "nan"),
    *("-NaN", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
"""Texts that readers take for a missing value: pandas, Arrow and R, as they come."""

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_ENDLESS = r"[+-]?(?:inf|infinity)"
_BITS = r"[+-]?0(?:x[0-9a-f]+|b[01]+)"
_CLOCK = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]*))?)?"
_DAY = r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})"
_MOMENT = rf"{_DAY}(?:[ T]{_CLOCK}(?:Z|([+-])([0-9]{{2}})(?::?([0-9]{{2}}))?)?)?"
_TRUTH = {"true": 1.0, "t": 1.0, "yes": 1.0, "y": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "n": 0.0}
_READABLE = rf"(?i)^(?:{'|'.join((_NUMBER, _ENDLESS, _BITS, _CLOCK, _MOMENT, *_TRUTH))})$"
_PLAIN = (  # and one of its kind alone, whoever reads it
    r"^(?:0|-?[1-9][0-9]{0,14}|-?(?:0|[1-9][0-9]{0,6})\.[0-9]{0,6}[1-9]|[0-9]{4}-[0-9]{2}-[0-9]{2})$"
)
_AS_KEPT = tuple(Context(15, rounding, traps=[]) for rounding in (ROUND_DOWN, ROUND_HALF_EVEN))
_NEAR = 2e-14  # relative: what differs by more has other digits among the first 15


def one_to_readers(values: pa.Array, has_null: bool) -> npt.NDArray[np.bool_]:
    """Which of some distinct texts, then null if `has_null`, are one with others to some reader."""
    trimmed = pc.utf8_trim_whitespace(values)
    missing = pc.is_in(trimmed, value_set=pa.array(MISSING_TO_READERS, trimmed.type))
    texts = pc.if_else(missing, pa.scalar("", trimmed.type), trimmed)
    if has_null:
        texts = pa.concat_arrays([texts, pa.array([""], texts.type)])
    codes = texts.dictionary_encode().indices.to_numpy()
    merged = np.bincount(codes)[codes] > 1
    readable = pc.match_substring_regex(texts, _READABLE)
    if pc.any(pc.and_not(readable, pc.match_substring_regex(texts, _PLAIN))).as_py():
        at = np.flatnonzero(readable)
        words = texts.filter(readable).to_pylist()
        only_truth = len(words) == len(texts) - int(pc.sum(pc.equal(texts, "")).as_py())
        only_truth &= all(word.lower() in _TRUTH for word in words)
        merged[at] |= _shared([_readings(word, only_truth) for word in words])
    return np.asarray(merged)


def numbers_one_to_readers(values: pa.Array) -> npt.NDArray[np.bool_]:
    """The same of distinct ascending numbers, as they are written."""
    line = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    merged = np.zeros(len(line), np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.flatnonzero(np.diff(line) <= _NEAR * np.abs(line[1:]))
    for first in near.tolist():  # what lies between two values of one reading has it too
        pair = slice(first, first + 2)
        merged[pair] |= _shared([_readings(str(number), False) for number in values[pair].to_pylist()])
    return merged


def _shared(readings: list[set[Hashable]]) -> npt.NDArray[np.bool_]:
    """Which of some values have a reading that another has."""
    times = Counter(reading for each in readings for reading in each)
    return np.array([any(times[reading] > 1 for reading in each) for each in readings], np.bool_)


def _readings(text: str, only_truth: bool) -> set[Hashable]:
    """What readers may take a text for; `only_truth`: one letter is a truth value where all texts are."""
    word = text.lower()
    if word in _TRUTH:
        is_one = only_truth or word in ("true", "false")
        return {("number", _TRUTH[word])} if is_one else {("text", text)}
    if re.fullmatch(_NUMBER, text, re.ASCII):
        kept = [context.create_decimal(text) for context in _AS_KEPT]
        return {("number", float(text)), *(("digits", i, number) for i, number in enumerate(kept))}
    if re.fullmatch(_ENDLESS, word, re.ASCII):
        return {("number", float(word))}
    if re.fullmatch(_BITS, word, re.ASCII):
        return {("number", float(Decimal(int(word, 0))))}  # of an int beyond all floats it would fail
    return {_moment(text) or ("text", text)}


def _moment(text: str) -> Hashable | None:
    """A time of day, or the moment of a date, in UTC where nothing else is said; None where there is none."""
    clock = re.fullmatch(_CLOCK, text, re.ASCII)
    if clock is not None:
        hour, minute, second, part = clock.groups()
        return ("clock", int(hour), int(minute), int(second or 0), (part or "").rstrip("0"))
    found = re.fullmatch(_MOMENT, text, re.ASCII | re.IGNORECASE)
    if found is None:
        return None
    *numbers, part, sign, hours, minutes = found.groups()
    try:
        year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
        moment = datetime(year, month, day, hour, minute, second)
        east = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        return ("moment", moment + east if sign == "-" else moment - east, (part or "").rstrip("0"))
    except (ValueError, OverflowError):
        return None
