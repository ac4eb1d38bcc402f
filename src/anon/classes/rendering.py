# SPDX-License-Identifier: Apache-2.0
"""The cells of classes as people read them, and back.

| cell | text |
| --- | --- |
| a single value | `17`, `Divorced` |
| values of a line | `[17, 25]` (both ends belong to it) |
| a level's interval | `[20, 30)` (the upper end does not) |
| a node of a tree | its label |
| a set of labels | `{Divorced, Widowed}` |
| the whole domain of several values | `*` |
| any of these, or null | `[17, 25] or missing` |
| nulls only | `missing` |

Labels that could be mistaken for something else are JSON strings: `"Paris, TX"`. Dates and times
are ISO 8601, with a time zone in UTC and marked `Z`; durations are numbers with their unit; floats
have as many digits as they need to read back; decimals have their scale.
A domain of one value is published as that value: `*` would tell as much, and rows of `*` only are taken
for suppressed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes.classes import Classes
from anon.classes.generalized import Cells
from anon.classes.label import is_full, labels
from anon.classes.reaches import single_cells
from anon.classes.text import Rendering, ticks_of
from anon.encoding import Codes, Domain
from anon.errors import DataError, Parameter, UsageError
from anon.schema import TICKS_PER_SECOND, places


@dataclass(frozen=True, repr=False)
class Column:
    """One published column of a quasi-identifier: class c shows `values[index[c]]`."""

    name: str
    values: pa.Array
    index: npt.NDArray[np.uint32]

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.values.type}, n_values={len(self.values)})"


def render(
    cells: Cells,
    numeric: Rendering,
    codes: Codes | None = None,
    classes: Classes | None = None,
    follows: bool = False,
) -> tuple[Column, ...]:
    """The published columns of one quasi-identifier.

    Text, or for a numeric attribute what `numeric` asks for: `bounds` gives `<name>_min` and
    `<name>_max`, `midpoint` and `mean` one number (float64; dates and times keep their type and are
    rounded down), `median` one value, of two middle ones the lower. These add `<name>_missing` where the
    domain has null, and are null in a class of nulls only. `mean` and `median` need the rows' codes and the
    classes. Of a column that `follows` another the whole domain of several values is blank: null, and so is
    the mark; so is a column at the level `*`, whose ends may be those of rows that are left out, or coded.
    Where single cells were suppressed: the values themselves, or null.
    """
    domain, name = cells.domain, cells.domain.name
    if cells.blank is not None:
        shown = pa.array(np.where(cells.blank, 0, cells.low), mask=cells.blank)
        return (Column(name, domain.values.take(shown), cells.of_class),)
    _refuse_impossible_times(domain)
    if domain.kind != "numeric" or numeric in ("interval", "level"):
        return (Column(name, labels(cells, numeric), cells.of_class),)
    empty = cells.low > cells.high
    low, high = (pa.array(np.where(empty, 0, end), mask=empty) for end in (cells.low, cells.high))
    columns: tuple[Column, ...]
    if numeric == "bounds":
        lower, upper = _ends(domain)
        columns = (
            Column(f"{name}_min", lower.take(low), cells.of_class),
            Column(f"{name}_max", upper.take(high), cells.of_class),
        )
    elif numeric == "midpoint":
        numbers, per_unit = zip(*map(measures, _ends(domain)), strict=True)
        first, last = (
            (each if len(each) else np.zeros(1))[np.where(empty, 0, end)]
            for each, end in zip(numbers, (cells.low, cells.high), strict=True)
        )
        if first.dtype == np.float64:
            middle = pa.array(_middle(first, last), mask=empty)
        else:
            total = first.astype(object) + last.astype(object)
            middle = as_published(
                domain.values.type, total, np.full(len(total), 2, object), per_unit[0], empty
            )
        columns = (Column(name, middle, cells.of_class),)
    else:
        if codes is None or classes is None:
            raise ValueError("means and medians are made from the rows of the classes")
        columns = ((_medians if numeric == "median" else _means)(cells, codes, classes),)
    if domain.has_null:
        columns = (*columns, Column(f"{name}_missing", pa.array(cells.null), cells.of_class))
    is_star = domain.coding is not None and domain.coding.is_star
    blank = is_full(cells)[cells.of_class] | is_star
    if is_star or (follows and domain.n_values > 1 and blank.any()):
        columns = tuple(_blanked(column, blank) for column in columns)
    return columns


def _blanked(column: Column, blank: npt.NDArray[np.bool_]) -> Column:
    """The column, null in the classes `blank`."""
    values = pa.concat_arrays([column.values, pa.nulls(1, column.values.type)])
    index = np.where(blank, len(column.values), column.index).astype(np.uint32)
    return Column(column.name, values, index)


def looks(column: Column) -> npt.NDArray[np.uint32]:
    """For each class a number that is equal for equal published values, null one of them."""
    same = column.values.dictionary_encode(null_encoding="encode").indices
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.uint32)[column.index]


def _ends(domain: Domain) -> tuple[pa.Array, pa.Array]:
    """The ends of what each code is published as: a value itself, unless it is coded."""
    coding = domain.coding
    if coding is None or coding.lower is None or coding.upper is None:
        return domain.values, domain.values
    return coding.lower, coding.upper


def _refuse_impossible_times(domain: Domain) -> None:
    """Raise DataError where a time of day lies outside the day, or a timestamp has no text."""
    kind = domain.values.type
    if domain.kind != "numeric" or not len(domain.values):
        return
    if not (pa.types.is_time(kind) or pa.types.is_timestamp(kind)):
        return
    first, last = (ticks_of(domain.values.slice(at, 1))[0] for at in (0, domain.n_values - 1))
    if pa.types.is_time(kind) and not 0 <= first <= last < 86400 * TICKS_PER_SECOND[kind.unit]:
        what = "times of day before 00:00 or after 23:59:59"
    elif pa.types.is_timestamp(kind) and first == -(2**63):
        what = "a timestamp of -2**63 ticks, which is no time"
    else:
        return
    raise DataError(
        f"column {domain.name!r} holds {what}; correct them or make them null", column=domain.name
    )


def measures(values: pa.Array) -> tuple[npt.NDArray[Any], int]:
    """Floats as float64; other numbers, dates and times as whole ticks, and how many of these make one.

    The ticks are int64, or Python integers where they do not fit; those of dates and times make one each.
    """
    if pa.types.is_floating(values.type) or not len(values):
        return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), 1
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int64()).to_numpy(), 1
    ticks, per_unit = places(values)
    if ticks.dtype == np.uint64:
        ticks = ticks.astype(np.int64 if int(ticks[-1]) < 2**63 else object)
    return ticks, 1 if pa.types.is_temporal(values.type) else per_unit


def as_published(
    kind: pa.DataType,
    total: npt.NDArray[Any],
    parts: npt.NDArray[Any],
    per_unit: int,
    null: npt.NDArray[np.bool_],
) -> pa.Array:
    """`total / parts` ticks (Python integers) as the column that stands for values of type `kind`."""
    if not pa.types.is_temporal(kind):
        return pa.array((total / (parts * per_unit)).astype(np.float64), mask=null)
    ticks = pa.array((total // parts).astype(np.int64), mask=null)
    return (ticks if kind.bit_width == 64 else ticks.cast(pa.int32())).cast(kind)


def _middle(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The midpoint, rounded once; a sum beyond the largest float is made of halves, which are exact."""
    with np.errstate(over="ignore"):
        total = low + high
    return np.where(np.isfinite(total), total / 2, low / 2 + high / 2)


def _means(cells: Cells, codes: Codes, classes: Classes) -> Column:
    """The mean of each class's values, from an exact sum, so that row order does not matter."""
    domain = cells.domain
    in_class = codes[classes.rows]
    present = in_class < domain.n_values
    ends = np.concatenate([[0], np.cumsum(present)])[classes.offsets]
    in_class, n_present = in_class[present], np.diff(ends)
    empty = n_present == 0
    parts = np.where(empty, 1, n_present)
    lower, upper = _ends(domain)
    numbers, per_unit = measures(lower)
    if lower is not upper:  # the mean of midpoints
        others, _ = measures(upper)
        if numbers.dtype == np.float64:
            numbers = _middle(numbers, others)
        else:
            numbers, parts = numbers.astype(object) + others.astype(object), 2 * parts
    if numbers.dtype == np.float64:
        means = np.zeros(classes.n_classes)
        for c in np.flatnonzero(~empty):
            means[c] = _mean(numbers[in_class[ends[c] : ends[c + 1]]].tolist())
        values = pa.array(means, mask=empty)
    else:
        largest = max(abs(int(numbers[0])), abs(int(numbers[-1])))
        if largest * int(parts.max(initial=1)) >= 2**63:
            numbers = numbers.astype(object)
        total = np.zeros(classes.n_classes, dtype=object)
        if len(in_class):
            total[~empty] = np.add.reduceat(numbers[in_class], ends[:-1][~empty]).astype(object)
        values = as_published(domain.values.type, total, parts.astype(object), per_unit, empty)
    return Column(domain.name, values, np.arange(classes.n_classes, dtype=np.uint32))


def _medians(cells: Cells, codes: Codes, classes: Classes) -> Column:
    """The value in the middle of each class, of two the lower; nulls are left out."""
    domain = cells.domain
    middle = _middle_codes(domain, codes, classes)
    shown = pa.array(np.minimum(middle, max(domain.n_values - 1, 0)), mask=middle == domain.n_values)
    return Column(domain.name, domain.values.take(shown), np.arange(classes.n_classes, dtype=np.uint32))


def middles(cells: Cells, codes: Codes, classes: Classes) -> Column:
    """What stands for the labels of each class: the most frequent one, null too, of equally frequent ones the
    least; of an ordinal attribute the one in the middle, of two the lower, nulls left out.
    """
    domain = cells.domain
    if domain.kind == "ordinal":
        shown = _middle_codes(domain, codes, classes)
    else:
        _refuse_coded(domain)
        class_of = np.repeat(np.arange(classes.n_classes, dtype=np.int64), classes.sizes)
        present, counts = np.unique(class_of * domain.n_codes + codes[classes.rows], return_counts=True)
        order = np.lexsort((present, -counts, present // domain.n_codes))
        _, first = np.unique(present[order] // domain.n_codes, return_index=True)
        shown = present[order][first] % domain.n_codes
    return Column(domain.name, labels(single_cells(domain)), shown.astype(np.uint32))


def _middle_codes(domain: Domain, codes: Codes, classes: Classes) -> npt.NDArray[np.int64]:
    """The code in the middle of each class, of two the lower; null's only in a class of nulls."""
    _refuse_coded(domain)
    class_of = np.repeat(np.arange(classes.n_classes, dtype=np.int64), classes.sizes)
    ordered = np.sort(class_of * domain.n_codes + codes[classes.rows]) % domain.n_codes
    ends = np.concatenate([[0], np.cumsum(ordered < domain.n_values)])[classes.offsets]
    return np.asarray(ordered[classes.offsets[:-1] + np.maximum(np.diff(ends) - 1, 0) // 2])


def _refuse_coded(domain: Domain) -> None:
    if domain.coding is not None:
        raise UsageError(
            f"column {domain.name!r} has a least level, top or bottom, or a level of FullDomain, and one of "
            "its values is to stand for a class: publish cells, ",
            Parameter('numeric="interval"', "--numeric interval"),
        )


def _mean(values: Sequence[float]) -> float:
    try:
        return fsum(values) / len(values)
    except OverflowError:
        return float(sum(map(Fraction, values)) / len(values))
