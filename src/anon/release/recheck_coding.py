# SPDX-License-Identifier: Apache-2.0
"""Which values least levels, top and bottom codes make one, told again from the values themselves."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import OR_MISSING, number
from anon.encoding import Domain
from anon.errors import RecheckError
from anon.schema import Attribute, CsvFile, Prefix, file_rows, places

Codes = npt.NDArray[np.int64]


def whole_blocks(attribute: Attribute, domain: Domain, low: Codes, high: Codes) -> tuple[Codes, Codes]:
    """Ranges of codes widened to all values that are published as one with their ends; low > high stays."""
    if not attribute.is_coded or not domain.n_values:
        return low, high
    keys = _keys(attribute, domain)
    runs = np.flatnonzero([True, *(one != next_one for one, next_one in pairwise(keys))])
    if len({keys[run] for run in runs}) < len(runs):
        raise RecheckError(f"column {domain.name!r}: values of one level do not follow each other")
    sizes = np.diff(np.append(runs, len(keys)))
    first, last = np.repeat(runs, sizes), np.repeat(runs + sizes - 1, sizes)
    if attribute.ends is not None:
        first, last = _to_round_ends(attribute, domain, keys, first, last)
    empty = low > high
    return (
        np.where(empty, low, first[np.where(empty, 0, low)]),
        np.where(empty, high, last[np.where(empty, 0, high)]),
    )


def _to_round_ends(
    attribute: Attribute, domain: Domain, keys: list[Hashable], first: Codes, last: Codes
) -> tuple[Codes, Codes]:
    """First and last code of the cells that begin and end at each code, rounded; not into top and bottom."""
    shown = [_decimal(value, domain.values.type) for value in domain.values.to_pylist()]
    inside = [code for code, key in enumerate(keys) if key not in ("bottom", "top")]
    first, last = first.copy(), last.copy()
    for code in inside:
        low, high = (_round(attribute, shown[code], how) for how in (ROUND_FLOOR, ROUND_CEILING))
        first[code] = max(bisect_left(shown, low), inside[0])
        last[code] = min(bisect_right(shown, high) - 1, inside[-1])
    return first, last


def _round(attribute: Attribute, number: Decimal, how: str) -> Decimal:
    """The number rounded down or up as `ends` says."""
    with localcontext(prec=1000):
        if attribute.digits:
            return Context(attribute.digits, how).create_decimal(number)
        step = Decimal(str(attribute.ends))
        return (number / step).quantize(Decimal(1), how) * step


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    """A number as its shortest text tells."""
    if pa.types.is_float32(kind):
        value = np.float32(value)
    return Decimal(str(value))


def n_finer(attribute: Attribute, domain: Domain, texts: Iterable[str]) -> int:
    """How many texts of cells of a numeric attribute end inside what is published as one value."""
    if not attribute.is_coded:
        return 0
    kind, n = domain.values.type, 0
    for text in texts:
        match = _CELL.fullmatch(text.removesuffix(OR_MISSING))
        if match is None:  # the whole domain, or missing
            continue
        lower, upper = (
            match["low"] or match["one"] or match["from"],
            match["high"] or match["one"] or match["to"],
        )
        starts = [] if lower is None else [_value(lower, kind)]
        stops = [] if upper is None else [_value(upper, kind)]
        if match["open"] or match["below"]:  # the upper end is the start of what follows
            starts, stops = starts + stops, []
        if attribute.ends is not None:
            n += any(not _is_round(attribute, one, kind) for one in starts + stops)
            continue
        n += any(_same(attribute, _beside(one, kind, -1), one, kind) for one in starts) or any(
            _same(attribute, one, _beside(one, kind, 1), kind) for one in stops
        )
    return n


def _is_round(attribute: Attribute, end: Any, kind: pa.DataType) -> bool:
    """Is the end of a cell rounded, or one of the top or the bottom?"""
    given = [_value(str(one), kind) for one in (attribute.top, attribute.bottom) if one is not None]
    if any(end in (one, _beside(one, kind, 1), _beside(one, kind, -1)) for one in given):
        return True
    number = _decimal(end, kind)
    return _round(attribute, number, ROUND_FLOOR) == number


_CELL = re.compile(
    r"\[(?P<low>[^,]+), (?P<high>[^,]+)(?:\]|(?P<open>\)))|>= (?P<from>.+)|(?:<=|(?P<below><)) (?P<to>.+)"
    r"|(?!\*|missing)(?P<one>[^*\[<>]+)"
)


def _value(text: str, kind: pa.DataType) -> Any:
    return float(text) if pa.types.is_floating(kind) else number(text, kind)


def _beside(value: Any, kind: pa.DataType, steps: int) -> Any:
    """The value of the type next to another."""
    if pa.types.is_floating(kind):
        as_type: Any = np.dtype(kind.to_pandas_dtype()).type
        with np.errstate(over="ignore"):  # beyond the greatest there is infinity
            return float(np.nextafter(as_type(value), as_type(steps * np.inf)))
    if pa.types.is_decimal(kind):
        with localcontext(prec=1000):
            return value + Decimal(steps).scaleb(-kind.scale)
    return value + steps


def _same(attribute: Attribute, low: Any, high: Any, kind: pa.DataType) -> bool:
    """Are two neighboring values published as one?"""
    ticks = pa.int32() if kind.bit_width == 32 else pa.int64()
    try:
        values = pa.array([low, high], ticks if pa.types.is_temporal(kind) else kind)
    except (pa.ArrowInvalid, OverflowError):  # beyond the type
        return False
    first, last = _keys_on_a_line(attribute, values.view(kind) if pa.types.is_temporal(kind) else values)
    return first == last


def _keys(attribute: Attribute, domain: Domain) -> list[Hashable]:
    """Per value something that is equal for values published as one."""
    values, least = domain.values, attribute.least
    if domain.kind == "nominal":
        if isinstance(attribute.hierarchy, Prefix):
            return [label[: int(least or 0)] for label in values.to_pylist()]
        tree = domain.tree
        assert tree is not None
        if isinstance(attribute.hierarchy, CsvFile):
            labels = values.cast(pa.string()).to_pylist()
            rows = file_rows(attribute.hierarchy, attribute.name, set(labels))
            return [rows[label][int(least or 0) :] for label in labels]
        keys: list[Hashable] = []
        for node in tree.leaf.tolist():
            while tree.depth[node] > max(tree.height - int(least or 0), 0):
                node = int(tree.parent[node])
            keys.append(node)
        return keys
    return _keys_on_a_line(attribute, values)


def _keys_on_a_line(attribute: Attribute, values: pa.Array) -> list[Hashable]:
    least = attribute.least
    keys: list[Hashable] = list(range(len(values)))
    if isinstance(least, str):
        kind = values.type
        seconds = (
            values.cast(pa.timestamp("us", kind.tz), safe=False) if pa.types.is_timestamp(kind) else values
        )
        keys = [_unit_of(day, least) for day in seconds.to_pylist()]
    elif least is not None:
        keys = [("in", number) for number in _intervals(values, Fraction(str(least)))]
    for name, end, beyond in (
        ("bottom", attribute.bottom, pc.less_equal),
        ("top", attribute.top, pc.greater_equal),
    ):
        if end is not None:
            scalar = pa.scalar(str(end) if pa.types.is_decimal(values.type) else end).cast(values.type)
            keys = [
                name if is_beyond else key
                for key, is_beyond in zip(keys, beyond(values, scalar).to_pylist(), strict=True)
            ]
    return keys


def _unit_of(day: dt.date, unit: str) -> tuple[int, ...]:
    match unit:
        case "month":
            return day.year, day.month
        case "quarter":
            return day.year, (day.month - 1) // 3
        case "year":
            return (day.year,)
        case _:
            return (day.year // 10,)


def _intervals(values: pa.Array, width: Fraction) -> list[int]:
    """The i of the interval [i * width, (i + 1) * width) of each value; floats: of the nearest floats."""
    if not pa.types.is_floating(values.type):
        ticks, per_unit = places(values)
        return [floor(Fraction(int(tick), per_unit) / width) for tick in ticks]
    as_float: Any = np.dtype(values.type.to_pandas_dtype()).type
    numbers = []
    for value in values.to_pylist():
        i = floor(Fraction(value) / width)
        if value >= as_float(float((i + 1) * width)):
            i += 1
        elif value < as_float(float(i * width)):
            i -= 1
        numbers.append(i)
    return numbers
