# SPDX-License-Identifier: Apache-2.0
"""Least levels, top and bottom codes: which values of a domain are one as published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import UsageError
from anon.schema import Attribute, CsvFile, Prefix, Tree, file_rows, least_sets, places, values_at

BLOCK = 1 << 16  # rows recoded at a time: temporaries stay in the cache
Ends = npt.NDArray[np.uint32]


@dataclass(frozen=True, repr=False)
class Coding:
    """Blocks of consecutive codes of a domain, which are published as one value.

    Code c belongs to the block `first[c]..last[c]` (uint32), whose rows all have the code `first[c]`. On a
    line `lower[c]` and `upper[c]` (of the type of the values) are the ends of what it is published as, and
    `closed[c]` whether the upper one belongs to it; `reach` are the ends of all that is published as it, as
    places on the line (float64) from the least value to the greatest. A tree has `labels[c]`, a line of one
    block its name. Where the ends of cells are rounded, `lower` and `upper` are, and `rounded` are the first
    and last code of a cell that ends so, for each code that it ends at. With `has_bottom` the first block
    holds everything up to its upper end, with `has_top` the last everything from its lower end on. `is_star`:
    there is one block, which null belongs to.
    """

    first: Ends
    last: Ends
    lower: pa.Array | None = None
    upper: pa.Array | None = None
    closed: npt.NDArray[np.bool_] | None = None
    labels: tuple[str, ...] = ()
    has_bottom: bool = False
    has_top: bool = False
    is_star: bool = False
    reach: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    rounded: tuple[Ends, Ends] | None = None

    @property
    def cell_ends(self) -> tuple[Ends, Ends]:
        """The first code of a cell that begins at each code, and the last of one that ends there."""
        return self.rounded or (self.first, self.last)

    @classmethod
    def star(cls, n_values: int) -> Self:
        """All values, and null, are one."""
        last = np.full(n_values, max(n_values - 1, 0), np.uint32)
        return cls(np.zeros(n_values, np.uint32), last, labels=("*",) * n_values, is_star=True)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(np.unique(self.first))

    def coded(
        self, codes: npt.NDArray[Any], room: Callable[[int, np.dtype[Any]], npt.NDArray[Any]] = np.empty
    ) -> npt.NDArray[Any]:
        """The codes of rows, each that of its block; null's (all above) stays. `room` makes the array."""
        code_of = np.append(self.first, 0 if self.is_star else len(self.first)).astype(codes.dtype)
        coded = room(len(codes), codes.dtype)
        for start in range(0, len(codes), BLOCK):
            np.take(code_of, codes[start : start + BLOCK], out=coded[start : start + BLOCK], mode="clip")
        coded.flags.writeable = False
        return coded

    def is_open(self, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which ranges of codes reach into the bottom or the top."""
        below = self.has_bottom & (np.asarray(low) <= self.last[0])
        return np.asarray(below | (self.has_top & (np.asarray(high) >= self.first[-1])))


def within(coding: Coding, values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """For each of the sorted `values` the ends of all that is published as it, inside the domain."""
    code = np.arange(len(values))
    lower, upper = coding.lower, coding.upper
    lowest = (coding.has_bottom & (code <= coding.last[0])) | np.asarray(pc.less(lower, values[0]))
    highest = (coding.has_top & (code >= coding.first[-1])) | np.asarray(pc.greater(upper, values[-1]))
    return (
        pc.if_else(pa.array(lowest), values[0], lower),
        pc.if_else(pa.array(highest), values[-1], upper),
    )


def coding_of(attribute: Attribute, values: pa.Array, unit_lattice: bool, tree: Tree | None) -> Coding | None:
    """The coding of an attribute on its domain; None where it has none.

    Raises UsageError where `top` or `bottom` is no value of the column's type.
    """
    if not attribute.is_coded:
        return None
    if attribute.kind == "nominal":
        assert tree is not None
        return _of_tree(attribute, values, tree)
    coding = _of_line(attribute, values, unit_lattice)
    return coding if attribute.ends is None else _rounded(attribute, coding, values)


def _rounded(attribute: Attribute, coding: Coding, values: pa.Array) -> Coding:
    """The coding, the ends of cells rounded outward; a top and a bottom stay what they are.

    Between these and the other values ends are not rounded over them.
    """
    types, kind, where = pa.types, values.type, f"column {attribute.name!r}"
    if not (types.is_integer(kind) or types.is_decimal(kind) or types.is_floating(kind)):
        raise UsageError(
            f"{where}: ends rounds numbers, and this is a column of type {kind}; dates and times are shown "
            "coarser by least"
        )
    assert coding.lower is not None
    assert coding.upper is not None
    assert coding.closed is not None
    lower, upper = _outward(attribute, values)
    closed = coding.closed
    code = np.arange(len(values))
    below = code < (int(coding.last[0]) + 1 if coding.has_bottom else 0)
    above = code >= (int(coding.first[-1]) if coding.has_top else len(values))
    if coding.has_bottom:
        bottom = coding.upper[0]
        lower = pc.if_else(pc.less_equal(lower, bottom), _after(bottom, 1), lower)
    if coding.has_top:
        top, is_float = coding.lower[-1], types.is_floating(kind)
        over = pc.greater_equal(upper, top)
        upper = pc.if_else(over, top if is_float else _after(top, -1), upper)
        closed = closed & ~(is_float & np.asarray(over))
    known = values.to_numpy(zero_copy_only=False)
    first = np.searchsorted(known, lower.to_numpy(zero_copy_only=False))
    last = np.searchsorted(known, upper.to_numpy(zero_copy_only=False), side="right") - 1
    first, last = np.maximum(first, below.sum()), np.minimum(last, len(values) - 1 - above.sum())
    own = below | above
    return replace(
        coding,
        lower=pc.if_else(pa.array(own), coding.lower, lower),
        upper=pc.if_else(pa.array(own), coding.upper, upper),
        closed=closed | own,
        rounded=(
            np.where(own, coding.first, first).astype(np.uint32),
            np.where(own, coding.last, last).astype(np.uint32),
        ),
    )


def _outward(attribute: Attribute, values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Each number rounded down and up, as `ends` says."""
    kind, digits, where = values.type, attribute.digits, f"column {attribute.name!r}"
    types, is_float = pa.types, pa.types.is_floating(kind)
    line, per_unit = (values.to_numpy(), 1) if is_float else places(values)
    exact = [Fraction(number) for number in line.tolist()]
    step = Fraction(1 if digits else str(attribute.ends)) * per_unit
    if not (is_float or digits or step.denominator == 1):
        raise UsageError(f"{where}: ends={attribute.ends!r} is no multiple of the unit of its {kind} values")
    rounded: tuple[list[Fraction], list[Fraction]] = ([], [])
    try:
        for number in exact:
            by = _unit_of_digits(number, digits) if digits else step
            nearest = round(number / by) * by
            on_it = is_float and pa.scalar(float(nearest), pa.float64()).cast(kind).as_py() == number
            rounded[0].append(nearest if on_it else number // by * by)
            rounded[1].append(nearest if on_it else -(-number // by) * by)
        if types.is_integer(kind):  # values_at keeps to the ends of the type
            pa.array([int(end) for end in (*rounded[0], *rounded[1])], kind)
        if types.is_decimal(kind) and max(map(abs, (*rounded[0], *rounded[1]))) >= 10**kind.precision:
            raise OverflowError
        return values_at(rounded[0], kind), values_at(rounded[1], kind)
    except (pa.ArrowInvalid, OverflowError):
        raise UsageError(
            f"{where}: rounded by ends={attribute.ends!r}, some are no values of {kind}; cast the column to "
            "a wider type"
        ) from None


def _unit_of_digits(number: Fraction, digits: int) -> Fraction:
    """What the last of so many significant digits counts."""
    size = abs(number)
    power = len(str(size.numerator)) - len(str(size.denominator))
    while size >= Fraction(10) ** (power + 1):
        power += 1
    while size and size < Fraction(10) ** power:
        power -= 1
    return Fraction(10) ** (power + 1 - digits)


def _of_line(attribute: Attribute, values: pa.Array, unit_lattice: bool) -> Coding:
    name, n = attribute.name, len(values)
    block = np.arange(n)
    lower, upper = values, values
    closed = np.ones(n, np.bool_)
    labels: tuple[str, ...] = ()
    if attribute.least is not None:
        block, *ends, names = least_sets(attribute.least, values, unit_lattice, name)
        labels = tuple(names) if len(names) == 1 else ()
        lower, upper = (each.take(pa.array(block)) for each in ends)
        closed[:] = unit_lattice
    top, bottom = (_end(attribute, key, values.type) for key in ("top", "bottom"))
    if top is not None and bottom is not None and bottom.as_py() >= top.as_py():
        raise UsageError(f"column {name!r}: bottom must lie below top")
    if bottom is not None:
        inside = np.asarray(pc.less_equal(values, bottom))
        if attribute.least is not None:
            lower = pc.if_else(pc.less_equal(lower, bottom), _after(bottom, 1), lower)
        lower, upper = (pc.if_else(pa.array(inside), bottom, each) for each in (lower, upper))
        block, closed = np.where(inside, -1, block), closed | inside
    if top is not None:
        inside = np.asarray(pc.greater_equal(values, top))
        if attribute.least is not None:
            last = _after(top, -1) if unit_lattice else top
            upper = pc.if_else(pc.greater_equal(upper, top), last, upper)
        lower, upper = (pc.if_else(pa.array(inside), top, each) for each in (lower, upper))
        block, closed = np.where(inside, block.max(initial=0) + 1, block), closed | inside
        has_top = bool(inside.any())
    else:
        has_top = False
    has_bottom = bool(n) and bool(block[0] == -1)
    if has_bottom or has_top:
        labels = ()
    return Coding(*_extents(block), lower, upper, closed, labels, has_bottom, has_top)


def _extents(block: npt.NDArray[Any]) -> tuple[Ends, Ends]:
    """First and last code of the block of each code; blocks are runs."""
    starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    sizes = np.diff(np.append(starts, len(block)))
    first, last = np.repeat(starts, sizes), np.repeat(starts + sizes - 1, sizes)
    return first.astype(np.uint32), last.astype(np.uint32)


def _end(attribute: Attribute, key: str, arrow_type: pa.DataType) -> pa.Scalar | None:
    """`top` or `bottom` as a value of the column's type."""
    end = getattr(attribute, key)
    if end is None:
        return None
    try:
        if pa.types.is_temporal(arrow_type) != isinstance(end, str):
            raise pa.ArrowInvalid("a number of a date, or a date of a number")
        value = pa.scalar(end)
        if pa.types.is_decimal(arrow_type):
            value = pa.scalar(str(end))
        return value.cast(arrow_type)
    except (pa.ArrowException, OverflowError):
        raise UsageError(
            f"column {attribute.name!r}: {key} {end!r} is no value of a column of type {arrow_type}"
        ) from None


def _after(end: pa.Scalar, steps: int) -> pa.Scalar:
    """The value one step of the type above (1) or below (-1) another."""
    if pa.types.is_floating(end.type):
        number = np.array([end.as_py()], end.type.to_pandas_dtype())
        with np.errstate(over="ignore"):
            return pa.array(np.nextafter(number, number.dtype.type(steps * np.inf)))[0]
    ticks, _ = places(pa.array([end.as_py()], end.type))
    return values_at([int(ticks[0]) + steps], end.type)[0]


def _of_tree(attribute: Attribute, values: pa.Array, tree: Tree) -> Coding:
    """Blocks of the leaves below one node: of a prefix, in a column of a file, or so many steps above the
    deepest leaves.
    """
    least = int(attribute.least or 0)
    node = np.array(tree.leaf)
    name: dict[int, str] = {}
    if isinstance(attribute.hierarchy, Prefix):
        for code, label in enumerate(values.to_pylist()):
            if len(label) < least:
                continue  # it has no such prefix, and is published as it is
            at, matches = node[code], -1
            while at >= 0:  # a value that is itself the prefix stands below it
                if tree.labels[at].rstrip("\u2026") == label[:least]:
                    matches = at
                at = tree.parent[at]
            if matches >= 0:
                node[code] = matches
            elif len(label) > least:  # all values have more in common
                node[code], name[code] = 0, label[:least]
    elif isinstance(attribute.hierarchy, CsvFile):
        texts = values.cast(pa.string()).to_pylist()
        rows = file_rows(attribute.hierarchy, attribute.name, set(texts))
        for code, text in enumerate(texts):
            label, at = (*rows[text][least:], "*")[0], node[code]
            while at > 0 and tree.labels[at] != label:
                at = tree.parent[at]
            node[code] = at
            if tree.labels[at] != label:  # all values have more in common
                name[code] = label
    else:
        depth = tree.height - least
        while (deeper := tree.depth[node] > max(depth, 0)).any():
            node = np.where(deeper, tree.parent[node], node)
        if depth < 0:  # the level lies above what all values have in common
            name = dict.fromkeys(range(len(node)), "*")
    labels = tuple(name.get(code, tree.labels[at]) for code, at in enumerate(node.tolist()))
    return Coding(tree.first[node].astype(np.uint32), tree.last[node].astype(np.uint32), labels=labels)
