# SPDX-License-Identifier: Apache-2.0
"""Targeted record swapping: households at risk exchange their places (Shlomo 2010; as sdcMicro does)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.entropy import uniform
from anon.errors import DataError, Parameter, UsageError
from anon.methods.perturbation import Change, ColumnPerturbation, column_names
from anon.requirements import Option, exact
from anon.schema import Schema
from anoncore.swap import partners

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RecordSwap(ColumnPerturbation):
    """Households at risk exchange all their columns `geography` with households elsewhere; enforces nothing.

    `geography` goes from coarse to fine, and the schema's unit is the household. A household is at risk at a
    level if some member shares the columns `risk` and the geography down to that level with fewer than `k`
    rows, the member's own among them. It is swapped at the coarsest such level, with one of another area of
    that level that agrees in the columns of `similar`; where none is left, in those of the next list of
    `similar`, and in the end it stays, which a warning counts. Then more households, drawn by their risk,
    are swapped until a share `rate` of all is. Every other column stays, as does the number of households
    in each area.
    """

    name: ClassVar[str] = "record-swap"
    kind: ClassVar[str] = "record-swap"
    what: ClassVar[str] = "record swapping"
    of_numbers: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("geography", "risk")
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "geography", list[str], "Record swapping: columns of places, from coarse to fine.", read=tuple
        ),
        Option("risk", list[str], "Record swapping: columns by which people are recognized.", read=tuple),
        Option("similar", list[str], "Record swapping: columns in which both agree (none).", read=tuple),
        Option("swap_k", int, "Record swapping: fewer rows that agree are a risk (3).", "k"),
        Option("rate", float, "Record swapping: least share of households that are swapped (0)."),
    )

    geography: Sequence[str]
    risk: Sequence[str]
    similar: Sequence[str] | Sequence[Sequence[str]] = ()
    k: int = 3
    rate: float | Fraction = 0

    def __post_init__(self) -> None:
        for parameter in ("geography", "risk"):
            object.__setattr__(self, parameter, column_names(getattr(self, parameter)) or ())
        if not self.geography or not self.risk:
            raise UsageError("geography and risk must name columns")
        one = all(isinstance(each, str) for each in self.similar)
        profiles = [self.similar] if one else self.similar
        object.__setattr__(
            self, "similar", tuple(tuple(column_names(each) or ()) for each in profiles if each)
        )
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise UsageError("k must be a whole number, at least 2")
        if (
            isinstance(self.rate, bool)
            or not isinstance(self.rate, int | float | Fraction)
            or not 0 <= self.rate <= 1
        ):
            raise UsageError("rate must be a share of the households, from 0 to 1")

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """The columns that change."""
        return self.geography

    @property
    def profiles(self) -> list[tuple[str, ...]]:
        """The lists of columns in which partners agree, the one asked for first in front."""
        return [tuple(each) for each in self.similar] or [()]

    def needed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.risk, *(name for each in self.profiles for name in each)]))

    def hidden(self, schema: Schema) -> tuple[str, ...]:
        if schema.unit is None:
            raise UsageError(
                "record swapping exchanges households: name the column that tells them apart, ",
                Parameter('Schema(unit="household_id")', "--unit household_id"),
            )
        return (schema.unit,)

    def change(self, table: pa.Table, names: Sequence[str]) -> Change:
        unit = next(name for name in table.column_names if name not in (*names, *self.needed()))
        household = coded(table.column(unit))
        first = np.unique(household, return_index=True)[1]
        for name in dict.fromkeys([*self.geography, *(name for each in self.profiles for name in each)]):
            _same_inside(coded(table.column(name)), household, first, name)
        places = [joined(table, self.geography[: level + 1]) for level in range(len(self.geography))]
        risky = joined(table, self.risk)
        alike = np.stack([least(together(risky, place), household) for place in places])
        profiles = [
            joined(table, each)[first] if each else np.zeros(len(first), np.int64) for each in self.profiles
        ]
        source, n_left = swaps(alike, [place[first] for place in places], profiles, self.k, exact(self.rate))
        rows = pa.array(first[source][household])
        n_swapped = int(np.count_nonzero(source != np.arange(len(source))))
        fact = {
            "k": self.k,
            "rate": float(self.rate),
            "owner": {"household": household, "swapped": n_swapped},
        }
        warnings = [f"{n_left} households at risk found no partner and stay where they are"] if n_left else []
        return Change(
            {name: table.column(name).combine_chunks().take(rows) for name in names},
            dict.fromkeys(names, fact),
            warnings,
        )


def swaps(
    alike: Numbers, places: Sequence[Numbers], profiles: Sequence[Numbers], k: int, rate: Fraction
) -> tuple[Numbers, int]:
    """For each household whose place it takes, its own where it stays; and how many at risk found no partner.

    `alike[level]` counts the rows that agree with a household's rarest member, `places[level]` numbers its
    area there, and `profiles` number what must agree, each list if the one before found nobody.
    """
    n = len(places[0])
    source, swapped = np.arange(n), np.zeros(n, np.uint8)
    n_left = 0

    def pair(level: int, chosen: npt.NDArray[np.bool_], most: int) -> int:
        """Swap these households, the likelier the greater their risk; how many stay."""
        chance = -np.log(uniform(n)) * alike[level]  # least where risk / Exp(1) is greatest
        order = np.argsort(chance, kind="stable").astype(np.uint32)
        seekers = order[(chosen & (swapped == 0))[order]]
        for profile in profiles:
            found = partners(
                profile.astype(np.uint32), places[level].astype(np.uint32), order, seekers, swapped, most
            )
            with_one = found >= 0
            source[seekers[with_one]], source[found[with_one]] = found[with_one], seekers[with_one]
            most -= int(np.count_nonzero(with_one))
            seekers = seekers[swapped[seekers] == 0]
        return len(seekers)

    before = np.zeros(n, bool)
    for level in range(len(places)):
        due = (alike[level] < k) & ~before
        before |= due
        n_left += pair(level, due, n)
    wanted = math.ceil(rate * n / 2) - int(swapped.sum()) // 2
    if wanted > 0:
        pair(len(places) - 1, np.ones(n, bool), wanted)
    return source, n_left


def coded(column: pa.ChunkedArray) -> Numbers:
    """A number for each value, missing ones a value like others."""
    codes = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode").indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)


def joined(table: pa.Table, names: Sequence[str]) -> Numbers:
    """A number for each combination of values."""
    numbers = coded(table.column(names[0]))
    for name in names[1:]:
        numbers = together(numbers, coded(table.column(name)))
    return numbers


def together(one: Numbers, other: Numbers) -> Numbers:
    """A number for each pair of numbers."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    numbers: Numbers = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return numbers


def least(group: Numbers, household: Numbers) -> Numbers:
    """For each household the size of the smallest group of one of its rows."""
    size: Numbers = np.bincount(group)[group]
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    return np.asarray(np.minimum.reduceat(size[order], starts), np.int64)


def _same_inside(codes: Numbers, household: Numbers, first: Numbers, name: str) -> None:
    other: Any = codes != codes[first][household]
    if other.any():
        row, count = int(np.argmax(other)), len(np.unique(household[other]))
        raise DataError(
            f"column {name!r} differs inside {count} households, first in row {row + 1}: places and what "
            "partners agree in are of the whole household; correct them, or name another column",
            column=name,
            row=row,
            count=count,
        )
