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

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import fsum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Cells, Classes
from anon.encode import Codes, Domain
from anon.errors import DataError, UsageError
from anon.hierarchy import TICKS_PER_SECOND, places

if TYPE_CHECKING:
    from anon.hierarchy import Levels

Rendering = Literal["interval", "bounds", "midpoint", "mean", "level"]

MISSING = "missing"
OR_MISSING = " or missing"
ROOT = "*"

_SPECIAL = re.compile(r'[{}\[\],"*]')
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)
_MOMENT = re.compile(
    r"(?P<local>-?[0-9]{4,}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?)(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_ATOM = re.compile(r'"(?:[^"\\]|\\.)*"|[^{}\[\],"*]+')


class Cell(NamedTuple):
    """One cell read back: codes `low..high` (none if low > high), only `codes` if given, and null or not."""

    low: int
    high: int
    null: bool = False
    codes: tuple[int, ...] | None = None


@dataclass(frozen=True, repr=False)
class Column:
    """One published column of a quasi-identifier: class c shows `values[index[c]]`."""

    name: str
    values: pa.Array
    index: npt.NDArray[np.uint32]

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.values.type}, n_values={len(self.values)})"


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
        return [f"{value}{kind.unit}" for value in _ticks(values)]
    if types.is_date(kind):
        return [str(day) for day in values.cast(pa.date32()).cast(pa.int32()).to_numpy().astype("M8[D]")]
    if types.is_timestamp(kind) or types.is_time(kind):
        zone = "Z" if types.is_timestamp(kind) and kind.tz is not None else ""
        moments = np.array(_ticks(values), dtype=np.int64).view(f"M8[{kind.unit}]")
        shown = [_without_zeros(str(moment)) + zone for moment in moments]
        return [text.partition("T")[2] for text in shown] if types.is_time(kind) else shown
    return [str(value) for value in values.to_pylist()]


def keys(values: pa.Array) -> list[Any]:
    """Each value as a Python object that compares as the values do: `number` of its text."""
    kind = values.type
    if pa.types.is_temporal(kind):
        return _ticks(values.cast(pa.date32()) if pa.types.is_date(kind) else values)
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
        return int(text.removesuffix(kind.unit))
    if types.is_time(kind):
        midnight = text.startswith("24:")  # the end of the last interval of a day
        text = f"1970-01-02T00:{text[3:]}" if midnight else f"1970-01-01T{text}"
    found = _MOMENT.fullmatch(text)
    zone = found and found["zone"]
    if found is None or (zone not in (None, "Z") and not types.is_timestamp(kind)):
        raise ValueError("not a date or time")
    unit: Any = "D" if types.is_date(kind) else kind.unit
    local = int(np.datetime64(found["local"], unit).astype(np.int64))
    if zone in (None, "Z"):
        return local
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return local + (60 if zone[0] == "-" else -60) * minutes * TICKS_PER_SECOND[unit]


def _ticks(values: pa.Array) -> list[int]:
    """The integers behind dates and times."""
    wide = values.type.bit_width == 64
    return list(values.cast(pa.int64() if wide else pa.int32()).to_pylist())


def _without_zeros(moment: str) -> str:
    """A time without the zeros that end its fraction of a second, and without the dot if nothing is left."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def render(
    cells: Cells, numeric: Rendering, codes: Codes | None = None, classes: Classes | None = None
) -> tuple[Column, ...]:
    """The published columns of one quasi-identifier.

    Text, or for a numeric attribute what `numeric` asks for: `bounds` gives `<name>_min` and
    `<name>_max`, `midpoint` and `mean` one number (float64; dates and times keep their type and are
    rounded down). These add `<name>_missing` where the domain has null, and are null in a class of
    nulls only. `mean` needs the rows' codes and the classes.
    """
    domain, name = cells.domain, cells.domain.name
    _refuse_impossible_times(domain)
    if domain.kind != "numeric" or numeric in ("interval", "level"):
        return (Column(name, labels(cells, numeric), cells.of_class),)
    empty = cells.low > cells.high
    low, high = (pa.array(np.where(empty, 0, end), mask=empty) for end in (cells.low, cells.high))
    shown: tuple[Column, ...]
    if numeric == "bounds":
        shown = (
            Column(f"{name}_min", domain.values.take(low), cells.of_class),
            Column(f"{name}_max", domain.values.take(high), cells.of_class),
        )
    elif numeric == "midpoint":
        numbers, per_unit = measures(domain.values)
        numbers = numbers if len(numbers) else np.zeros(1)
        first, last = (numbers[np.where(empty, 0, end)] for end in (cells.low, cells.high))
        if numbers.dtype == np.float64:
            middle = pa.array(_middle(first, last), mask=empty)
        else:
            total = first.astype(object) + last.astype(object)
            middle = as_published(domain.values.type, total, np.full(len(total), 2, object), per_unit, empty)
        shown = (Column(name, middle, cells.of_class),)
    else:
        if codes is None or classes is None:
            raise ValueError("means are made from the rows of the classes")
        shown = (_means(cells, codes, classes),)
    if domain.has_null:
        shown = (*shown, Column(f"{name}_missing", pa.array(cells.null), cells.of_class))
    return shown


def _refuse_impossible_times(domain: Domain) -> None:
    """Raise DataError where a time of day lies outside the day, or a timestamp has no text."""
    kind = domain.values.type
    if domain.kind != "numeric" or not len(domain.values):
        return
    if not (pa.types.is_time(kind) or pa.types.is_timestamp(kind)):
        return
    first, last = (_ticks(domain.values.slice(at, 1))[0] for at in (0, domain.n_values - 1))
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
    numbers, per_unit = measures(domain.values)
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


def _mean(values: Sequence[float]) -> float:
    try:
        return fsum(values) / len(values)
    except OverflowError:
        return float(sum(map(Fraction, values)) / len(values))


def to_levels(cells: Cells) -> Cells:
    """The cells widened to the smallest of the attribute's levels that holds them; else to all values.

    Cells that become equal are one. Raises UsageError where the attribute has no levels, or where
    the values of a level's set do not follow each other in the domain.
    """
    domain = cells.domain
    levels = domain.levels
    if levels is None:
        raise UsageError(
            f"column {domain.name!r} has no levels to publish; give it intervals(), dates() or a CSV "
            "hierarchy, or choose another rendering of numbers"
        )
    low, high = cells.low.copy(), cells.high.copy()
    shown = low <= high
    chosen = levels.interval_of(low[shown], high[shown])
    first, last, size = _extents(levels)
    gaps = np.flatnonzero(np.append(size != last - first + 1, False)[chosen])
    if len(gaps):
        raise UsageError(
            f"column {domain.name!r}: the values under {levels.labels[chosen[gaps[0]]]!r} do not follow each "
            "other, so that it cannot be published as an interval; choose another rendering of numbers"
        )
    low[shown] = np.append(first, 0)[chosen]
    high[shown] = np.append(last, domain.n_values - 1)[chosen]
    order = np.lexsort((cells.null, high, low))
    low, high, null = low[order], high[order], cells.null[order]
    new = np.ones(len(low), dtype=np.bool_)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1]) | (null[1:] != null[:-1])
    merged = np.empty(len(order), dtype=np.uint32)
    merged[order] = np.cumsum(new) - 1
    return Cells(domain, merged[cells.of_class], low[new], high[new], null[new])


def _extents(levels: Levels) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First code, last code and number of codes of each set of the levels."""
    n_sets = len(levels.labels)
    codes = np.arange(levels.of_code.shape[1])
    first, last, size = np.full(n_sets, len(codes)), np.full(n_sets, -1), np.zeros(n_sets, dtype=np.int64)
    for set_of in levels.of_code:
        inside = set_of >= 0
        np.minimum.at(first, set_of[inside], codes[inside])
        np.maximum.at(last, set_of[inside], codes[inside])
        size += np.bincount(set_of[inside], minlength=n_sets)
    return first, last, size


def is_full(cells: Cells) -> npt.NDArray[np.bool_]:
    """Which cells cover every value of their domain, null aside."""
    last = cells.domain.n_values - 1
    if cells.set_offsets is not None:
        return np.asarray(np.diff(cells.set_offsets) == last + 1)
    return np.asarray((cells.low == 0) & (cells.high == last))


def labels(cells: Cells, numeric: Rendering = "interval") -> pa.Array:
    """The text of each distinct cell (string, no nulls), in the order of the cells.

    `numeric="level"` names the smallest level that holds a cell of a numeric attribute; every other
    rendering gives its interval.
    """
    domain = cells.domain
    empty = cells.low > cells.high
    low, high = (np.where(empty, 0, codes) for codes in (cells.low, cells.high))
    if domain.n_values == 0:
        body = pa.array([ROOT] * len(low), pa.large_string())
    elif cells.set_codes is not None and cells.set_offsets is not None:
        body = _sets(domain, cells.set_offsets, cells.set_codes)
    elif domain.tree is not None and domain.kind == "nominal":
        body = _nodes(domain, low, high)
    elif numeric == "level" and domain.levels is not None:
        body = _level_names(domain, domain.levels, low, high)
    else:
        body = _intervals(domain, low, high)
    if domain.n_values > 1:
        body = pc.if_else(pa.array(is_full(cells)), pa.scalar(ROOT, pa.large_string()), body)
    if cells.null.any():
        either = _joined(body, pa.scalar(OR_MISSING, pa.large_string()))
        body = pc.if_else(pa.array(cells.null), either, body)
        body = pc.if_else(pa.array(empty), pa.scalar(MISSING, pa.large_string()), body)
    return body.cast(pa.string()) if body.nbytes < 2**31 else body


def _joined(*parts: pa.Array | pa.Scalar) -> pa.Array:
    """Texts (large_string) end to end, element by element."""
    return pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()))


def _atoms(domain: Domain, codes: npt.NDArray[np.uint32]) -> pa.Array:
    """The quoted text of each code (large_string); each distinct value is put into words once."""
    used, index = np.unique(codes, return_inverse=True)
    words = texts(domain.values.take(pa.array(used)))
    if domain.kind != "numeric":
        words = [quote(word) for word in words]
    return pa.array(words, pa.large_string()).take(pa.array(index))


def _intervals(domain: Domain, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]) -> pa.Array:
    ends = _atoms(domain, np.concatenate([low, high]))
    first, last = ends[: len(low)], ends[len(low) :]
    opening, comma, closing = (pa.scalar(mark, pa.large_string()) for mark in ("[", ", ", "]"))
    interval = _joined(opening, first, comma, last, closing)
    return pc.if_else(pa.array(low == high), first, interval)


def _sets(domain: Domain, offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.uint32]) -> pa.Array:
    atoms = _atoms(domain, codes)
    sizes = np.diff(offsets)
    joined = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(offsets), atoms), pa.scalar(", ", pa.large_string())
    )
    opening, closing = (pa.scalar(mark, pa.large_string()) for mark in "{}")
    return pc.if_else(pa.array(sizes == 1), joined, _joined(opening, joined, closing))


def _nodes(domain: Domain, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]) -> pa.Array:
    """Labels of the lowest nodes that hold exactly these leaves; their set where a label means two things."""
    tree = domain.tree
    assert tree is not None
    meaning = _named_leaves(domain)
    node_of = {}
    for first, last, label in zip(tree.first.tolist(), tree.last.tolist(), tree.labels, strict=True):
        node_of[first, last] = label  # preorder: the lowest of a chain comes last
    words = texts(domain.values)
    shown = []
    for first, last in zip(low.tolist(), high.tolist(), strict=True):
        if first == last:
            shown.append(quote(words[first]))
        elif meaning.get(node_of[first, last]) == (first, last):
            shown.append(quote(node_of[first, last]))
        else:
            shown.append("{" + ", ".join(quote(word) for word in words[first : last + 1]) + "}")
    return pa.array(shown, pa.large_string())


def _level_names(
    domain: Domain, levels: Levels, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]
) -> pa.Array:
    """Names of the smallest sets that hold these codes; the closed interval where a name would mislead."""
    chosen = levels.interval_of(low, high)
    first, last, _ = _extents(levels)
    named = _named_levels(levels)
    line = _line_reader(domain)
    shown = []
    for level_set, plain in zip(chosen.tolist(), _intervals(domain, low, high).to_pylist(), strict=True):
        name = levels.labels[level_set] if level_set >= 0 else ""
        if level_set < 0 or named.get(name) != (first[level_set], last[level_set]):
            shown.append(plain)
            continue
        try:
            means = line(name)[:2]
        except (ValueError, KeyError):
            shown.append(quote(name))
        else:
            shown.append(name if means == named[name] else json.dumps(name, ensure_ascii=False))
    return pa.array(shown, pa.large_string())


def _named_levels(levels: Levels) -> dict[str, tuple[int, int]]:
    """First and last code behind each name of the levels' sets, for names with one meaning."""
    first, last, _ = _extents(levels)
    return _meanings(levels.labels, first.tolist(), last.tolist())


def _named_leaves(domain: Domain) -> dict[str, tuple[int, int]]:
    """First and last leaf behind each label of the tree that has one meaning; a value means itself."""
    tree = domain.tree
    assert tree is not None
    meanings = _meanings(tree.labels, tree.first.tolist(), tree.last.tolist())
    return meanings | {word: (code, code) for code, word in enumerate(texts(domain.values))}


def _meanings(names: Sequence[str], first: Sequence[int], last: Sequence[int]) -> dict[str, tuple[int, int]]:
    """The range of codes that each name stands for; names that stand for two are left out."""
    meaning: dict[str, tuple[int, int] | None] = {}
    for name, *codes in zip(names, first, last, strict=True):
        span = (codes[0], codes[1])
        meaning[name] = span if meaning.get(name, span) == span else None
    return {name: span for name, span in meaning.items() if span is not None}


def parse(text: str, domain: Domain) -> Cell:
    """The cell that `text` shows; see `reader`."""
    return reader(domain)(text)


def reader(domain: Domain) -> Callable[[str], Cell]:
    """A function from the text of a cell of this attribute to its codes.

    It raises DataError, without the text in its message, where the text is no cell of the attribute.
    """
    read = _label_reader(domain) if domain.kind == "nominal" else _named_line_reader(domain)
    everything = Cell(0, domain.n_values - 1)

    def cell(text: str) -> Cell:
        if text == MISSING:
            return Cell(1, 0, null=True)
        null = text.endswith(OR_MISSING)
        body = text[: -len(OR_MISSING)] if null else text
        try:
            found = everything if body == ROOT else read(body)
        except (ValueError, KeyError):
            raise DataError(
                f"column {domain.name!r} has a cell that is no cell of this attribute",
                column=domain.name,
                value=text,
            ) from None
        return found._replace(null=null)

    return cell


def _label_reader(domain: Domain) -> Callable[[str], Cell]:
    code_of = {word: code for code, word in enumerate(texts(domain.values))}
    nodes = _named_leaves(domain) if domain.tree is not None else {}

    def read(body: str) -> Cell:
        if body.startswith("{") and body.endswith("}"):
            members = tuple(sorted(code_of[unquote(atom)] for atom in _split(body[1:-1])))
            if len(set(members)) < len(members):
                raise ValueError("a label twice")
            return Cell(members[0], members[-1], codes=members)
        label = unquote(body)
        if label in code_of:
            code = code_of[label]
            return Cell(code, code, codes=(code,))
        return Cell(*nodes[label])

    return read


def _named_line_reader(domain: Domain) -> Callable[[str], Cell]:
    """As `_line_reader`, and the names of the attribute's levels."""
    line = _line_reader(domain)
    levels = domain.levels
    if levels is None:
        return line
    named = _named_levels(levels)

    def read(body: str) -> Cell:
        try:
            return line(body)
        except ValueError:
            return Cell(*named[unquote(body)])

    return read


def _line_reader(domain: Domain) -> Callable[[str], Cell]:
    """Intervals with both ends, half-open intervals and single values of an ordered attribute."""
    ordinal = domain.kind == "ordinal"
    line = list(range(domain.n_values)) if ordinal else keys(domain.values)
    rank = {word: code for code, word in enumerate(texts(domain.values))} if ordinal else {}
    known: dict[str, Any] = {}

    def place(atom: str) -> Any:
        if atom not in known:
            known[atom] = rank[unquote(atom)] if ordinal else number(atom, domain.values.type)
        return known[atom]

    def read(body: str) -> Cell:
        if not body.startswith("["):
            first = last = place(body)
        elif body.endswith(("]", ")")):
            lower, upper = _split(body[1:-1])
            first, last = place(lower), place(upper)
        else:
            raise ValueError("an interval without an end")
        if body.endswith(")"):
            return Cell(bisect_left(line, first), bisect_left(line, last) - 1)
        return Cell(bisect_left(line, first), bisect_right(line, last) - 1)

    return read


def _split(listed: str) -> list[str]:
    """The atoms of a list `a, b, "c, d"`."""
    if '"' not in listed:
        return listed.split(", ")
    atoms = []
    end = -2
    while end < len(listed):
        match = _ATOM.match(listed, end + 2)
        if match is None or listed[match.end() : match.end() + 2] not in ("", ", "):
            raise ValueError("not a list of labels")
        atoms.append(match.group())
        end = match.end()
    return atoms
