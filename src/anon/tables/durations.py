# SPDX-License-Identifier: Apache-2.0
"""Durations as text: whole days, hours, minutes or seconds where they are."""

from __future__ import annotations

import re

import pyarrow as pa

from anon.schema import TICKS_PER_SECOND

_LONGER = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}  # in seconds
_DURATION = re.compile(r"(-?[0-9]+)(?: (day|hour|minute|second)s?|(s|ms|us|ns))")


def duration_texts(values: pa.Array) -> pa.Array:
    """Each duration in the longest of whole days, hours, minutes and seconds that fits, else in ticks with
    their unit; null where it is null. As `large_string`.
    """
    coded = values.dictionary_encode()
    unit = values.type.unit
    texts = [_text(ticks, unit) for ticks in coded.dictionary.cast(pa.int64()).to_pylist()]
    return pa.array(texts, pa.large_string()).take(coded.indices)


def _text(ticks: int, unit: str) -> str:
    for name, seconds in _LONGER.items():
        n, rest = divmod(ticks, seconds * TICKS_PER_SECOND[unit])
        if not rest:
            return f"{n} {name}{'' if abs(n) == 1 else 's'}"
    return f"{ticks}{unit}"


def ticks_of_duration(text: str, unit: str) -> int:
    """The duration that `duration_texts` wrote, in ticks of this unit.

    Raises ValueError where the text is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("not a duration")
    n, long, short = int(match[1]), match[2], match[3]
    if long:
        return n * _LONGER[long] * TICKS_PER_SECOND[unit]
    ticks, rest = divmod(n * TICKS_PER_SECOND[unit], TICKS_PER_SECOND[short])
    if rest:
        raise ValueError("not a whole number of ticks")
    return ticks
