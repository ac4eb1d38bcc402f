# SPDX-License-Identifier: Apache-2.0
"""Levels of numbers and dates: nested intervals, and the least one that holds a class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError, UsageError
from anon.schema.hierarchy.declared import MOST_DIGITS, Dates, Hierarchy, Intervals
from anon.schema.hierarchy.rows import hierarchy_rows, placed
from anon.schema.hierarchy.tree import MissingValues, frozen, parents_of, readonly

TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, repr=False)
class Levels:
    """Named sets of a numeric attribute's values, level by level from the finest, on one domain.

    Set s is called `labels[s]`, belongs to level `level[s]` (int32) and reaches from `lower[s]` to
    `upper[s]` (float64, positions on the domain's line, clipped to it; the first and last lattice
    point that the set covers, or on floats and timestamps its two ends); `single[s]` (bool) is whether,
    unclipped, that is one point. A set that holds the whole
    domain is not listed. `of_code[g, c]` (int32) is the set of level g that holds code c, or -1.
    `run[g, c]` (int32) numbers the runs of consecutive codes of one set; two codes with the same run
    have every code between them in that set too.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    level: npt.NDArray[np.int32]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    single: npt.NDArray[np.bool_]
    of_code: npt.NDArray[np.int32]
    run: npt.NDArray[np.int32]

    def interval_of(self, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """The smallest set that holds all codes low[i]..high[i]; -1 where none does."""
        first, last = np.asarray(low, dtype=np.intp), np.asarray(high, dtype=np.intp)
        smallest = np.full(first.shape, -1, dtype=np.int32)
        for of_code, run in zip(self.of_code[::-1], self.run[::-1], strict=True):
            smallest = np.where((run[first] == run[last]) & (of_code[first] >= 0), of_code[first], smallest)
        return np.asarray(smallest, dtype=np.int32)

    def __repr__(self) -> str:
        return f"Levels({', '.join(self.names)}; sets={len(self.labels)})"


def levels_of(
    hierarchy: Hierarchy,
    values: pa.Array,
    positions: npt.NDArray[np.float64],
    unit_lattice: bool,
    column: str,
) -> Levels:
    """The levels of a numeric attribute on its domain (sorted distinct `values`, their `positions`).

    Raises MissingValues where a CSV file or dict lacks values, DataError where it is no hierarchy.
    """
    try:
        if isinstance(hierarchy, Intervals):
            widths = sorted(hierarchy.widths)
            bins = [_interval_bins(values, width, unit_lattice, column) for width in widths]
            return _levels_of_bins(tuple(map(str, widths)), bins, positions)
        if isinstance(hierarchy, Dates):
            units = hierarchy.ordered
            bins = [_calendar_bins(values, unit, column) for unit in units]
            return _levels_of_bins(tuple(units), bins, positions)
    except OverflowError:
        raise UsageError(
            f"column {column!r}: {hierarchy!r} is too fine or too coarse for its {values.type} values"
        ) from None
    return _levels_of_rows(hierarchy, values, positions, column)


def least_sets(
    least: int | float | str, values: pa.Array, unit_lattice: bool, column: str
) -> tuple[npt.NDArray[np.int64], pa.Array, pa.Array, list[str]]:
    """The sets of one level of a numeric attribute: intervals of a width, or calendar units.

    The set of each of the sorted distinct `values`, ascending, and the two ends of each set as values: on a
    unit lattice both belong to it, otherwise only the first does. Ends beyond the type are its own. Last, the
    name of each set.
    """
    try:
        if isinstance(least, str):
            bins = _calendar_bins(values, least, column)
        else:
            bins = _interval_bins(values, least, unit_lattice, column)
        lower, upper = (values_at(ends, values.type) for ends in (bins.lower, bins.upper))
        if pa.types.is_floating(values.type):
            _check_told_apart(values, *(ends.take(pa.array(bins.of_code)) for ends in (lower, upper)))
        return bins.of_code, lower, upper, bins.labels
    except OverflowError:
        raise UsageError(
            f"column {column!r}: the level {least!r} is too fine or too coarse for its {values.type} values"
        ) from None


def _check_told_apart(values: pa.Array, lower: pa.Array, upper: pa.Array) -> None:
    """Raise OverflowError where floats are so far apart that none ends an interval after its values."""
    if not pc.all(pc.and_(pc.less_equal(lower, values), pc.less(values, upper))).as_py():
        raise OverflowError("no float is between")


def values_at(ticks: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """The values at some places of `places`, of those beyond the type its last; of floats, the numbers
    themselves, or OverflowError.
    """
    types = pa.types
    if types.is_floating(arrow_type):
        numbers = pa.array([float(tick) for tick in ticks], pa.float64()).cast(arrow_type)
        if not pc.all(pc.is_finite(numbers)).as_py():
            raise OverflowError("beyond the greatest float")
        return numbers
    whole = [math.ceil(tick) for tick in ticks]
    if types.is_decimal(arrow_type):
        most, exact = 10**arrow_type.precision - 1, Context(arrow_type.precision)
        inside = [Decimal(min(max(tick, -most), most)) for tick in whole]
        return pa.array([tick.scaleb(-arrow_type.scale, exact) for tick in inside], arrow_type)
    if types.is_integer(arrow_type):
        ends = np.iinfo(arrow_type.to_pandas_dtype())
        least, most = int(ends.min), int(ends.max)
    else:
        most = 2 ** (arrow_type.bit_width - 1) - 1
        least = -most - 1
    plain = pa.array(
        [min(max(tick, least), most) for tick in whole], pa.int64() if most < 2**63 else pa.uint64()
    )
    if types.is_integer(arrow_type):
        return plain.cast(arrow_type)
    return (plain.cast(pa.int32()) if arrow_type.bit_width == 32 else plain).view(arrow_type)


@dataclass(frozen=True)
class _Bins:
    """One level of consecutive sets: `of_code[c]` is the set of code c, ascending; per set its label
    and the first and last place it covers (exact, on the line of the values, not of positions).
    """

    of_code: npt.NDArray[np.int64]
    labels: list[str]
    lower: list[Any]
    upper: list[Any]
    origin: Any  # the first value's place on that line


def _levels_of_bins(names: tuple[str, ...], bins: list[_Bins], positions: npt.NDArray[np.float64]) -> Levels:
    """Levels of consecutive sets; a set that holds the whole domain is not listed."""
    labels: list[str] = []
    level: list[int] = []
    lower: list[float] = []
    upper: list[float] = []
    single: list[bool] = []
    of_code = np.full((len(bins), len(positions)), -1, dtype=np.int32)
    most = int(np.finfo(np.float64).max)
    for g, each in enumerate(bins):
        if len(each.labels) == 1:
            continue
        of_code[g] = each.of_code + len(labels)
        labels += each.labels
        level += [g] * len(each.labels)
        lower += [float(min(end - each.origin, most)) for end in each.lower]
        upper += [float(min(end - each.origin, most)) for end in each.upper]
        single += [first == last for first, last in zip(each.lower, each.upper, strict=True)]
    reach = positions[-1]
    return Levels(
        names,
        tuple(labels),
        frozen(level),
        readonly(np.clip(np.array(lower, dtype=np.float64), 0, reach)),
        readonly(np.clip(np.array(upper, dtype=np.float64), 0, reach)),
        readonly(np.array(single, dtype=np.bool_)),
        readonly(of_code),
        readonly(of_code.copy()),
    )


def _interval_bins(values: pa.Array, width: int | float, unit_lattice: bool, column: str) -> _Bins:
    """Half-open intervals of one width, aligned at 0, decided exactly (floats: against the float
    nearest to each end, so that 0.3 is in [0.3, 0.4)).
    """
    step = Fraction(str(width))
    types = pa.types
    if types.is_floating(values.type):
        of_value = _float_bins(values.to_numpy(), step)
        ticks = 1
        origin: int | Fraction = Fraction(values[0].as_py())
    else:
        line, ticks = places(values)
        origin = int(line[0])
        if types.is_date(values.type) and step.denominator != 1:
            raise UsageError(f"column {column!r}: intervals() of dates are whole days, not {width}")
        if types.is_temporal(values.type) and (step * ticks).denominator != 1:
            raise UsageError(f"column {column!r}: {width} seconds are no multiple of the column's resolution")
        times, by = step.denominator, step.numerator * ticks
        fits = max(abs(int(line[0])), abs(int(line[-1]))) * times < 1 << 63 and by < 1 << 63
        of_value = line.astype(np.int64 if fits else object) * times // by
    numbers, of_code = np.unique(of_value, return_inverse=True)
    size = step if step.denominator > 1 else int(step)
    starts = [number * size for number in numbers.tolist()]
    stops = [start + size for start in starts]
    labels = [
        f"[{_end_label(start, values.type)}, {_end_label(stop, values.type)})"
        for start, stop in zip(starts, stops, strict=True)
    ]
    if unit_lattice:
        lower = [math.ceil(start * ticks) for start in starts]
        upper = [math.ceil(stop * ticks) - 1 for stop in stops]
        return _Bins(of_code, labels, lower, upper, origin)
    return _Bins(
        of_code, labels, [start * ticks for start in starts], [stop * ticks for stop in stops], origin
    )


def _float_bins(numbers: npt.NDArray[Any], step: Fraction) -> npt.NDArray[Any]:
    """The i with fl(i * step) <= x < fl((i + 1) * step) for every x; where floats are too far apart
    for that, the i with i * step <= x < (i + 1) * step.
    """
    p, q = step.numerator, step.denominator
    with np.errstate(over="ignore"):
        bins = np.floor(numbers.astype(np.float64) / float(step))
        small = ((np.abs(bins) + 2) * p < 2**53) & (q < 2**53)
        dense = small & (float(step) > 4 * np.spacing(np.abs(numbers)))
        # i * p and q are exact, so one division rounds to the float nearest to i * step
        bins -= dense & (numbers < (bins * p / q).astype(numbers.dtype))
        bins += dense & (numbers >= ((bins + 1) * p / q).astype(numbers.dtype))
    if dense.all():
        return bins.astype(np.int64)
    pairs = zip(bins.tolist(), dense.tolist(), numbers.tolist(), strict=True)
    exact = [int(i) if is_dense else math.floor(Fraction(x) / step) for i, is_dense, x in pairs]
    return np.array(exact, dtype=object)


def places(values: pa.Array) -> tuple[npt.NDArray[Any], int]:
    """Integers, decimals, dates and times as whole ticks, and the ticks per 1, per day or per second.

    The ticks are int64 where they fit, uint64 for that type, otherwise Python integers.
    """
    types = pa.types
    if types.is_decimal(values.type):
        return _unscaled(values), 10**values.type.scale
    if types.is_integer(values.type):
        numbers = values.to_numpy()
        return (numbers if types.is_uint64(values.type) else numbers.astype(np.int64)), 1
    integers = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    per_unit = 1 if types.is_date(values.type) else TICKS_PER_SECOND[values.type.unit]
    return integers.to_numpy().astype(np.int64), per_unit


def _unscaled(decimals: pa.Array) -> npt.NDArray[Any]:
    """The integers behind decimals: int64, or Python integers where one is too long."""
    n_words = decimals.type.bit_width // 64
    words = np.frombuffer(decimals.buffers()[1], dtype="<i8")[decimals.offset * n_words :]
    words = np.ascontiguousarray(words[: len(decimals) * n_words].reshape(-1, n_words).T).T
    low = words[:, 0]
    if (words[:, 1:] == (low >> 63)[:, None]).all():
        return low
    integers = words[:, -1].astype(object)
    for i in range(n_words - 2, -1, -1):
        integers = (integers << 64) + words[:, i].view(np.uint64).astype(object)
    return np.asarray(integers)


def _end_label(end: int | Fraction, arrow_type: pa.DataType) -> str:
    """The end of an interval as text: a plain decimal, a date, a timestamp or a time of day."""
    types = pa.types
    if types.is_date(arrow_type):
        return str(np.datetime64(int(end), "D"))
    if types.is_timestamp(arrow_type) or types.is_time(arrow_type):
        day, second = divmod(math.floor(end), 86400)
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        if types.is_time(arrow_type) and day:
            clock = "24:00:00"
        clock += _decimal(end - math.floor(end))[1:]
        if types.is_time(arrow_type):
            return clock
        return f"{np.datetime64(day, 'D')} {clock}{'Z' if arrow_type.tz else ''}"
    return _decimal(end)


def _decimal(number: int | Fraction) -> str:
    """A number whose denominator divides a power of ten, in plain decimal notation."""
    if isinstance(number, int):
        return str(number)
    decimals = 0
    while (number * 10**decimals).denominator != 1:
        decimals += 1
    digits = str(abs(number.numerator * 10**decimals // number.denominator)).rjust(decimals + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def _calendar_bins(values: pa.Array, unit: str, column: str) -> _Bins:
    """Months, quarters, years or decades of dates or timestamps (those with a time zone: local ones)."""
    types = pa.types
    if not (types.is_date(values.type) or types.is_timestamp(values.type)):
        raise UsageError(f"column {column!r}: dates() is for dates and timestamps, not for {values.type}")
    zone = values.type.tz if types.is_timestamp(values.type) else None
    ticks, per_unit = places(values)
    # in whole seconds, as nanoseconds may not hold the local time or the ends
    local = (
        values if types.is_date(values.type) else pa.array(ticks // per_unit).view(pa.timestamp("s", zone))
    )
    local = (pc.local_timestamp(local) if zone else local).to_numpy(zero_copy_only=False)
    month = local.astype("datetime64[M]").astype(np.int64)
    n_months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    since = 1970 * 12  # months are counted from year 0, so that decades start at years divisible by 10
    numbers, of_code = np.unique((month + since) // n_months, return_inverse=True)
    labels = [_calendar_label(int(number), unit) for number in numbers]
    ends = (np.append(numbers, numbers + 1) * n_months - since).astype("datetime64[M]")
    if types.is_date(values.type):
        days = ends.astype("datetime64[D]").astype(np.int64).tolist()
    else:
        instants = pa.array(ends.astype("datetime64[s]"))
        if zone:
            instants = pc.assume_timezone(instants, zone, ambiguous="earliest", nonexistent="earliest")
        days = [second * per_unit for second in instants.cast(pa.int64()).to_pylist()]
    starts, stops = days[: len(numbers)], days[len(numbers) :]
    origin = int(ticks[0])
    if types.is_date(values.type):
        stops = [stop - 1 for stop in stops]
    return _Bins(of_code, labels, starts, stops, origin)


def _calendar_label(number: int, unit: str) -> str:
    match unit:
        case "month":
            return f"{number // 12:04}-{number % 12 + 1:02}"
        case "quarter":
            return f"{number // 4:04}-Q{number % 4 + 1}"
        case "year":
            return f"{number:04}"
        case _:
            return f"{number * 10:04}s"


def _levels_of_rows(
    hierarchy: Hierarchy, values: pa.Array, positions: npt.NDArray[np.float64], column: str
) -> Levels:
    """Levels named by the labels of a CSV file or dict; only leaves are read as numbers."""
    rows = list(dict.fromkeys(hierarchy_rows(hierarchy, column, set(values.cast(pa.string()).to_pylist()))))
    parents_of(rows, hierarchy, column)
    leaves = pa.array([_leaf(row[0], values.type, hierarchy, column) for row in rows], type=values.type)
    distinct = pc.value_counts(leaves.drop_null())
    if pc.max(distinct.field("counts")).as_py() not in (None, 1):
        twice = distinct.field("values")[int(np.argmax(distinct.field("counts")))]
        texts = [row[0] for row, leaf in zip(rows, leaves, strict=True) if leaf == twice]
        raise DataError(
            f"{placed(hierarchy, column)}: the leaves {texts[0]!r} and {texts[1]!r} are one number; keep one",
            column=column,
        )
    row_of_code = pc.index_in(values, value_set=leaves)
    if row_of_code.null_count:
        raise MissingValues(np.asarray(row_of_code.is_null()))

    height = max(map(len, rows))
    kept = [rows[i] for i in row_of_code.to_pylist()]
    set_of_label: dict[str, int] = {}
    level: list[int] = []
    of_code = np.full((height, len(values)), -1, dtype=np.int32)
    for g in range(height):
        labels = [row[max(0, g - height + len(row))] for row in kept]
        if len(set(labels)) == 1:
            continue
        for code, label in enumerate(labels):
            if label not in set_of_label:
                set_of_label[label] = len(level)
                level.append(g)
            of_code[g, code] = set_of_label[label]
    run = np.zeros_like(of_code)
    run[:, 1:] = np.cumsum(of_code[:, 1:] != of_code[:, :-1], axis=1)
    lower, upper = np.full(len(level), np.inf), np.full(len(level), -np.inf)
    for codes in of_code:
        listed = codes >= 0
        np.minimum.at(lower, codes[listed], positions[listed])
        np.maximum.at(upper, codes[listed], positions[listed])
    return Levels(
        tuple(f"level {g}" for g in range(height)),
        tuple(set_of_label),
        frozen(level),
        readonly(lower),
        readonly(upper),
        readonly(lower == upper),
        readonly(of_code),
        readonly(run),
    )


def _leaf(text: str, arrow_type: pa.DataType, hierarchy: Hierarchy, column: str) -> Any:
    """A leaf as a value of the column's type; None where that type has no such value."""
    types = pa.types
    try:
        if types.is_temporal(arrow_type):
            return pa.scalar(text, type=pa.string()).cast(arrow_type)
        number = Decimal(text)
        if not number.is_finite():
            raise ValueError
        if number and abs(number.adjusted()) > MOST_DIGITS:
            return None
        if types.is_floating(arrow_type):
            value = float(number)
            if math.isinf(value):
                return None
            return value + 0.0
        if types.is_integer(arrow_type):
            return pa.scalar(int(number), type=arrow_type) if number == int(number) else None
        return pa.scalar(number, type=arrow_type)
    except (pa.ArrowInvalid, OverflowError) as error:
        if types.is_temporal(arrow_type):
            raise _no_value(text, arrow_type, hierarchy, column) from error
        return None
    except (ArithmeticError, ValueError) as error:
        raise _no_value(text, arrow_type, hierarchy, column) from error


def _no_value(text: str, arrow_type: pa.DataType, hierarchy: Hierarchy, column: str) -> DataError:
    return DataError(
        f"{placed(hierarchy, column)}: the leaf {text!r} is no {arrow_type}; "
        "correct it, or declare the column nominal",
        column=column,
    )
