# SPDX-License-Identifier: Apache-2.0
"""Labels, numbers and moments as the text of a cell, so that every cell reads back."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from anon.schema import TICKS_PER_SECOND
from anon.tables import duration_texts, ticks_of_duration

Rendering = Literal["interval", "bounds", "midpoint", "mean", "median", "level"]
BY_NUMBER = ("midpoint", "mean", "median")  # renderings that stand for a cell without telling it

MISSING = "missing"
OR_MISSING = " or missing"
ROOT = "*"

_SPECIAL = re.compile(r'[{}\[\],"*]')
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)
_MOMENT = re.compile(
    r"(?P<local>-?[0-9]{4,}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?)(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?"
)
OPEN_END = re.compile(r"(>=|<=|<) ([^ \"].*)")
ATOM = re.compile(r'"(?:[^"\\]|\\.)*"|[^{}\[\],"*]+')


def quote(label: str) -> str:
    """The label itself where it reads back, otherwise as a JSON string."""
    if (
        label
        and label == label.strip()
        and label != MISSING
        and not label.endswith(OR_MISSING)
        and not _SPECIAL.search(label)
    ):
        return label
    return json.dumps(label, ensure_ascii=False)


def unquote(atom: str) -> str:
    """The label that `quote` was given. Raises ValueError where there is none."""
    if atom.startswith('"'):
        label = json.loads(atom)
        if isinstance(label, str):
            return label
    elif quote(atom) == atom:
        return atom
    raise ValueError("not a label")


def texts(values: pa.Array) -> list[str]:
    """Each value as text that reads back as the same value of its type. No nulls, no quotes."""
    kind = values.type
    types = pa.types
    if types.is_boolean(kind):
        return ["true" if value else "false" for value in values.to_pylist()]
    if types.is_floating(kind):
        return [str(value) for value in values.to_numpy(zero_copy_only=False)]
    if types.is_decimal(kind):
        return [format(value, "f") for value in values.to_pylist()]
    if types.is_duration(kind):
        return list(duration_texts(values).to_pylist())
    if types.is_date(kind):
        return [str(day) for day in values.cast(pa.date32()).cast(pa.int32()).to_numpy().astype("M8[D]")]
    if types.is_timestamp(kind) or types.is_time(kind):
        zone = "Z" if types.is_timestamp(kind) and kind.tz is not None else ""
        moments = np.array(ticks_of(values), dtype=np.int64).view(f"M8[{kind.unit}]")
        written = [_without_zeros(str(moment)) + zone for moment in moments]
        return [text.partition("T")[2] for text in written] if types.is_time(kind) else written
    return [str(value) for value in values.to_pylist()]


def keys(values: pa.Array) -> list[Any]:
    """Each value as a Python object that compares as the values do: `number` of its text."""
    kind = values.type
    if pa.types.is_temporal(kind):
        return ticks_of(values.cast(pa.date32()) if pa.types.is_date(kind) else values)
    return list(values.to_pylist())


def number(text: str, kind: pa.DataType) -> Any:
    """What the text of a number, date or time of Arrow type `kind` stands for, to compare with `keys`.

    A number between two values of the type is kept as it is. Raises ValueError where the text is none.
    """
    types = pa.types
    if types.is_temporal(kind):
        return _moment(text, kind)
    if types.is_integer(kind) or types.is_decimal(kind):
        if not _NUMBER.fullmatch(text):
            raise ValueError("not a number")
        return Decimal(text)
    return float(text) if types.is_float64(kind) else float(kind.to_pandas_dtype()(text))


def _moment(text: str, kind: pa.DataType) -> int:
    types = pa.types
    if types.is_duration(kind):
        return ticks_of_duration(text, kind.unit)
    if types.is_time(kind):
        midnight = text.startswith("24:")  # the end of the last interval of a day
        text = f"1970-01-02T00:{text[3:]}" if midnight else f"1970-01-01T{text}"
    match = _MOMENT.fullmatch(text)
    zone = match and match["zone"]
    if match is None or (zone not in (None, "Z") and not types.is_timestamp(kind)):
        raise ValueError("not a date or time")
    unit: Any = "D" if types.is_date(kind) else kind.unit
    local = int(np.datetime64(match["local"], unit).astype(np.int64))
    if zone in (None, "Z"):
        return local
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return local + (60 if zone[0] == "-" else -60) * minutes * TICKS_PER_SECOND[unit]


def ticks_of(values: pa.Array) -> list[int]:
    """The integers behind dates and times."""
    wide = values.type.bit_width == 64
    return list(values.cast(pa.int64() if wide else pa.int32()).to_pylist())


def _without_zeros(moment: str) -> str:
    """A time without the zeros that end its fraction of a second, and without the dot if nothing is left."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment
