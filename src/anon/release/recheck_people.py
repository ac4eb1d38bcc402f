# SPDX-License-Identifier: Apache-2.0
"""People of the population who look like the rows of each class, counted anew from the published cells.

A cell is read from its text, in the codes of the table and the population together; the people inside are
counted by halving the population until a class holds all of a part, none, or few enough to be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import (
    ROOT,
    Cell,
    Classes,
    Column,
    Union,
    histogram,
    population_uniques,
    reader,
    union_of,
)
from anon.encoding import Domain, Encoded
from anon.errors import DataError, RecheckError, UsageError
from anon.release.recheck_cells import Bools

Ints = npt.NDArray[np.int64]
_PAIRS_AT_ONCE = 1 << 21
_FEW = 32  # people that are compared with every class that may hold them


@dataclass(frozen=True)
class _Side:
    """What each class shows of one attribute: codes low..high, of these a set if any, and null or not."""

    low: Ints
    high: Ints
    null: Bools
    null_code: int
    cell: Ints
    members: Bools | None  # cell x code

    def holds(self, classes: Ints, codes: Ints) -> Bools:
        """Class by class, which codes are inside."""
        at, code = classes[:, None], codes[None, :]
        inside = (code >= self.low[at]) & (code <= self.high[at])
        if self.members is not None:
            inside &= self.members[self.cell[at], code]
        return np.asarray(np.where(code == self.null_code, self.null[at], inside))

    def compare(self, classes: Ints, least: int, most: int) -> tuple[Bools, Bools]:
        """Of the codes least..most, null the greatest: which classes hold none, and which surely all."""
        low, high, null = self.low[classes], self.high[classes], self.null[classes]
        last = most - 1 if most == self.null_code else most
        if most == self.null_code and least == most:
            return ~null, null
        none, every = (high < least) | (low > last), (low <= least) & (high >= last)
        if self.members is not None:
            every &= self.members[self.cell[classes], least : last + 1].all(axis=1)
        if most == self.null_code:
            none, every = none & ~null, every & null
        return none, every


def people_inside(
    union: Union, published: Sequence[Sequence[Column]], of_group: Ints, people: Sequence[npt.NDArray[Any]]
) -> Ints:
    """The people inside the cells of the classes `of_group`, told by their codes before any coding."""
    sides = [
        _side(domain, columns[0], of_group)
        for domain, columns in zip(union.encoded.quasi, published, strict=True)
    ]
    codes = [np.asarray(column, np.int64) for column in people]
    counts = np.zeros(len(of_group), np.int64)
    parts = [(np.arange(len(codes[0])), np.arange(len(of_group)))]
    while parts:
        rows, classes = parts.pop()
        inside = [column[rows] for column in codes]
        ends = [(int(column.min()), int(column.max())) for column in inside]
        every = np.ones(len(classes), np.bool_)
        some = np.ones(len(classes), np.bool_)
        for side, (least, most) in zip(sides, ends, strict=True):
            none, whole = side.compare(classes, least, most)
            some &= ~none
            every &= whole
        counts[classes[every]] += len(rows)
        classes = classes[some & ~every]
        if not len(classes):
            continue
        if len(rows) <= _FEW or len(rows) * len(classes) <= _PAIRS_AT_ONCE:
            step = max(1, _PAIRS_AT_ONCE // len(rows))
            for start in range(0, len(classes), step):
                block = classes[start : start + step]
                held = np.ones((len(block), len(rows)), np.bool_)
                for side, column in zip(sides, inside, strict=True):
                    held &= side.holds(block, column)
                counts[block] += held.sum(axis=1)
            continue
        spread = [
            (most - least) / max(domain.n_codes, 1)
            for (least, most), domain in zip(ends, union.encoded.quasi, strict=True)
        ]
        widest = inside[int(np.argmax(spread))]
        middle = np.median(widest)
        lower = widest < middle if (widest < middle).any() else widest <= middle
        if lower.all():  # all alike in every attribute
            for block in np.array_split(classes, -(-len(classes) // _PAIRS_AT_ONCE)):
                held = np.ones((len(block), 1), np.bool_)
                for side, column in zip(sides, inside, strict=True):
                    held &= side.holds(block, column[:1])
                counts[block] += len(rows) * held[:, 0]
            continue
        parts += [(rows[lower], classes), (rows[~lower], classes)]
    return counts


def _side(domain: Domain, column: Column, of_group: Ints) -> _Side:
    words = column.values.to_pylist()
    read = reader(domain)
    try:
        cells = [read(word) for word in words]
    except DataError as error:
        raise RecheckError(
            f"column {domain.name!r}: cells cannot be read beside the population; this is a fault of the "
            "tool, nothing was written"
        ) from error
    if words == [ROOT]:  # the column is suppressed, for people who lack the value too
        cells = [Cell(0, domain.n_values - 1, null=True)]
    cell = column.index[of_group].astype(np.int64)
    members = None
    if domain.kind == "nominal" and domain.tree is None:
        members = np.zeros((len(cells), domain.n_values + 1), np.bool_)
        for i, one in enumerate(cells):
            members[i, list(one.codes or range(one.low, one.high + 1))] = True
    low, high, null = (np.array([one[i] for one in cells])[cell] for i in range(3))
    return _Side(low, high, null.astype(np.bool_), domain.n_values, cell, members)


def check_people(
    requirements: Sequence[Any],
    encoded: Encoded,
    classes: Classes,
    published: Sequence[Sequence[Column]],
    group_of: Ints,
    n_groups: int,
) -> list[tuple[Any, int]]:
    """The requirements on people that are not met, each with the number of groups of classes that fail it."""
    sizes = np.bincount(group_of, weights=classes.sizes, minlength=n_groups).astype(np.int64)
    of_group = np.zeros(n_groups, np.int64)
    of_group[group_of] = np.arange(classes.n_classes)
    missed = []
    for each in requirements:
        if not on_people(each):
            continue
        n_people = 0
        people: npt.NDArray[Any] = np.zeros(n_groups)
        if each.people == "table":
            union = union_of(encoded, each.population)
            codes = [column[union.n_rows :] for column in union.encoded.original.quasi_codes]
            people, n_people = people_inside(union, published, of_group, codes), union.n_people
        elif each.people == "weights" and encoded.weights is not None:
            np.add.at(people, np.repeat(group_of, classes.sizes), encoded.weights[classes.rows])
            people = np.maximum(people, sizes)
        passes = np.asarray(_PASS[type(each).__name__](each, sizes, people, n_people), np.bool_)
        if not passes.all():
            missed.append((each, int((~passes).sum())))
    return missed


def on_people(requirement: Any) -> bool:
    """Is it tested here, and nowhere else?"""
    return getattr(requirement, "people", None) is not None or getattr(requirement, "by_levels", False)


def _k_map(each: Any, sizes: Ints, people: Any, n_people: int) -> Any:
    return people >= each.k * (1 - 1e-12)


def _max_risk(each: Any, sizes: Ints, people: Any, n_people: int) -> Any:
    if each.people == "table":
        least = Fraction(1) / Fraction(str(each.threshold))
        return [int(number) >= least for number in people.tolist()]
    return individual(sizes, sizes / people) <= float(each.threshold) * (1 + 1e-9)


def individual(sizes: Ints, p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The integral of t^(f - 1) p/(p + q t) over 0..1, with t = exp(-v/f), for f rows of a fraction p."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    f = np.maximum(sizes, 1).astype(np.float64)
    risk = np.zeros(len(f))
    for low, high in pairwise(np.linspace(0, 60, 61)):
        for node, weight in zip(nodes, weights, strict=True):
            v = (low + high) / 2 + (high - low) / 2 * node
            risk += (high - low) / 2 * weight * np.exp(-v) * p / (p + (1 - p) * np.exp(-v / f))
    return risk / f


def _presence(each: Any, sizes: Ints, people: Any, n_people: int) -> Any:
    low, high = Fraction(str(each.low)), Fraction(str(each.high))
    shares = [Fraction(f, among) for f, among in zip(sizes.tolist(), people.tolist(), strict=True)]
    covers = not low or int(people.sum()) == n_people  # cells of whole columns do not overlap
    return [covers and low <= share <= high for share in shares]


def _uniqueness(each: Any, sizes: Ints, people: Any, n_people: int) -> Any:
    fraction = each.sampling_fraction
    if fraction is None:
        fraction = min(1.0, float(sizes.sum()) / float(people.sum()))
    try:
        share = population_uniques(histogram(sizes), float(fraction), each.model).share
    except UsageError:
        return [False]
    return [share <= float(each.share) * (1 + 1e-9)]


_PASS = {
    "KMap": _k_map,
    "MaxRisk": _max_risk,
    "DeltaPresence": _presence,
    "PopulationUniqueness": _uniqueness,
}
