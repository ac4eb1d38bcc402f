# SPDX-License-Identifier: Apache-2.0
"""Rows left out of classes where that lowers the loss: one that is left out costs all of its cells.

A row alone at an end of its class's cells makes them wide for all others; without it they shrink. Rows are
sought class by class, or where classes may be cut again also by pairs of neighbors, in rounds: of each class
the candidate that promises most is tried, and of those that do lower the loss the best are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranges, starts_of_sizes
from anon.encoding import Codes, Domain, Encoded
from anon.methods.repair import (
    Ties,
    class_order,
    pack,
    pass_rules,
    row_numbers,
    sensitive_of,
    widths_of,
)
from anon.schema import lca
from anoncore import curve, recut
from anoncore.requirement import Conjunction

AT_ONCE = 4  # rows of one end of a class's cells that are tried together, at most
TRIES = 3  # candidates of a class that are tried, the most promising first
ROUNDS = 60
SHARE = 4  # a round takes one part in so many of what may still be left out
LEAST_GAIN = 1e-9

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.uint32]


def leave_out(
    classes: Classes,
    encoded: Encoded,
    rules: Conjunction,
    most: int,
    *,
    ties: Ties = "rank",
    cut: bool = False,
) -> Classes:
    """The classes without up to `most` rows whose leaving lowers the loss; all still pass the rules.

    The loss is the sum over rows of the widths of their cells (NCP, times the weights of the attributes), and
    of all weights for a row that is left out. With `cut` classes are cut again, too, alone and together with
    a neighbor along a Hilbert curve. The classes must pass the rules, whose T is not changed by what is
    left out. Neither the order of the rows nor that of the classes has a part in what is chosen.
    """
    groups = Groups.of(classes, encoded, ties)
    idle = 0
    for number in range(ROUNDS):
        if not cut or number % 3 == 0:
            units = np.arange(len(groups.sizes))[:, None]
        elif number % 3 == 1:
            order = class_order(groups.classes(classes), encoded, ties)
            units = order[: len(order) // 2 * 2].reshape(-1, 2)
        else:
            order = class_order(groups.classes(classes), encoded, ties)
            units = order[1 : 1 + (len(order) - 1) // 2 * 2].reshape(-1, 2)
        trial = Trial.of(groups, encoded, rules, units, most, cut)
        taken = trial.best(max(most // SHARE, 1))
        most -= int(trial.n_out[taken].sum())
        idle = 0 if trial.goes_on else idle + 1
        groups = groups.after(trial, taken)
        if not most or idle == (3 if cut else 1):
            break
    return groups.classes(classes)


@dataclass(frozen=True)
class Groups:
    """Classes in the making: class c holds `rows[offsets[c]:offsets[c + 1]]`, by rank.

    `tries[i, c]` counts the candidates of class c that were tried in vain, alone (i = 0) and in pairs (1).
    """

    rows: Rows
    offsets: Ints
    tries: Ints

    @classmethod
    def of(cls, classes: Classes, encoded: Encoded, ties: Ties) -> Self:
        """Classes by their lowest row, rows by rank."""
        ranks = row_numbers(encoded, ties)[classes.rows]
        lowest = np.minimum.reduceat(ranks, classes.offsets[:-1]) if classes.n_classes else ranks
        class_of = np.repeat(np.argsort(np.argsort(lowest)), classes.sizes)
        rows = classes.rows[np.lexsort((ranks, class_of))]
        sizes = classes.sizes[np.argsort(lowest)]
        return cls(rows, starts_of_sizes(sizes), np.zeros((2, len(sizes)), np.int64))

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)

    def classes(self, before: Classes) -> Classes:
        """As classes; the rows that are in none are suppressed."""
        kept = np.zeros(len(before.rows) + len(before.suppressed), np.bool_)
        kept[self.rows] = True
        return Classes(self.rows, self.offsets, np.flatnonzero(~kept).astype(np.uint32))

    def after(self, trial: Trial, taken: Ints) -> Groups:
        """With what these units of a trial became in place of their classes, which stand last."""
        tries = self.tries.copy()
        tries[int(trial.units.shape[1] > 1)] += trial.failed
        gone = np.zeros(len(self.sizes), np.bool_)
        gone[trial.units[taken].ravel()] = True
        stays = np.flatnonzero(~gone)
        new = np.flatnonzero(np.isin(trial.unit_of, taken))
        rows = [
            each[ranges(ends[which], ends[which + 1])]
            for each, ends, which in ((self.rows, self.offsets, stays), (trial.rows, trial.offsets, new))
        ]
        sizes = np.concatenate([self.sizes[stays], np.diff(trial.offsets)[new]])
        fresh = np.zeros((2, len(new)), np.int64)
        return Groups(np.concatenate(rows), starts_of_sizes(sizes), np.hstack([tries[:, stays], fresh]))


@dataclass(frozen=True)
class Trial:
    """What units of one or two classes become without some rows.

    Class i of the result holds `rows[offsets[i]:offsets[i + 1]]` and comes from unit `unit_of[i]`; unit u
    loses `n_out[u]` rows and gains `gain[u]` (0: in vain). `failed` counts for each class of the groups
    whether its candidate was in vain; `goes_on` says whether another trial may find more.
    """

    units: Ints
    rows: Rows
    offsets: Ints
    unit_of: Ints
    n_out: Ints
    gain: Floats
    failed: Ints
    goes_on: bool

    @classmethod
    def of(
        cls, groups: Groups, encoded: Encoded, rules: Conjunction, units: Ints, most: int, cut: bool
    ) -> Trial:
        cost = sum(
            domain.weight * (1.0 if domain.node_widths is None else float(domain.node_widths[0]))
            for domain in encoded.quasi
        )
        pairs = units.shape[1] > 1
        tries = groups.tries[int(pairs)]
        units = units[(tries[units] < TRIES).any(axis=1)]
        members = units.ravel()
        rows = groups.rows[ranges(groups.offsets[members], groups.offsets[members + 1])]
        offsets = starts_of_sizes(groups.sizes[members])
        least = 0 if pairs else max(rules.min_size, 1)
        skip = np.minimum(tries[members], TRIES)
        seen = candidates(encoded, rows, offsets, skip, least, min(most, AT_ONCE), cost)
        failed = np.zeros(len(groups.sizes), np.int64)
        failed[members[seen.promise <= LEAST_GAIN]] = TRIES  # there is nothing more to try
        promise = seen.promise.reshape(units.shape)
        tried = np.argmax(promise, axis=1)
        at = np.arange(len(units))
        keeps = np.ones(len(rows), np.bool_)
        chosen = (at * units.shape[1] + tried)[promise[at, tried] > LEAST_GAIN]
        out = seen.out(chosen)
        keeps[out] = False
        n_out = np.bincount(np.searchsorted(offsets, out, side="right") - 1, minlength=len(members))
        n_out = n_out.reshape(units.shape).sum(axis=1)
        before = (seen.width * np.diff(offsets)).reshape(units.shape).sum(axis=1)
        bounds = offsets[:: units.shape[1]]
        left = np.diff(bounds) - n_out
        works = (n_out > 0) & (left >= max(rules.min_size, 1))
        keeps &= np.repeat(works, np.diff(bounds))
        unit_of, kept, ends = np.flatnonzero(works), rows[keeps], starts_of_sizes(left[works])
        unit_of, kept, ends = _passing(encoded, rules, unit_of, kept, ends)
        if cut and len(unit_of):
            widths = widths_of(encoded.quasi)
            records = curve.place(widths, pack(encoded.quasi_codes), kept)
            sensitive = sensitive_of(encoded, kept)
            places, parts, *_ = recut.divide(widths, records, ends, rules.min_size, rules, sensitive)
            unit_of = unit_of[np.searchsorted(ends, parts[:-1], side="right") - 1]
            kept, ends = kept[places], parts
        after = np.zeros(len(units))
        np.add.at(after, unit_of, class_widths(encoded, kept, ends) * np.diff(ends))
        is_made = np.bincount(unit_of, minlength=len(units)) > 0
        gain = np.where(is_made, before - after - cost * n_out, 0.0)
        gain[gain <= LEAST_GAIN] = 0.0
        vain = units[at, tried][(promise[at, tried] > LEAST_GAIN) & (gain == 0)]
        failed[vain] += 1
        return cls(units, kept, ends, unit_of, n_out, gain, failed, bool((promise > LEAST_GAIN).any()))

    def best(self, most: int) -> Ints:
        """The units that gain most by row, as many as leave out at most `most` rows, or the first alone."""
        order = np.lexsort((np.arange(len(self.gain)), -self.gain / np.maximum(self.n_out, 1)))
        order = order[self.gain[order] > 0]
        within = np.cumsum(self.n_out[order]) <= most
        return np.asarray(order[within])


def _passing(
    encoded: Encoded, rules: Conjunction, unit_of: Ints, rows: Rows, offsets: Ints
) -> tuple[Ints, Rows, Ints]:
    """Those of the classes that pass the rules."""
    if not rules.n_sensitive or not len(unit_of):
        return unit_of, rows, offsets
    passes = np.flatnonzero(pass_rules(encoded, rules, rows, offsets))
    kept = ranges(offsets[passes], offsets[passes + 1])
    return unit_of[passes], rows[kept], starts_of_sizes(np.diff(offsets)[passes])


@dataclass(frozen=True)
class Candidates:
    """Of each class its `width`, and the rows that it may lose: those at `order[first:first + size]` of
    attribute `of` (-1: at `first` itself), by which the loss would fall by `promise`, cells of others aside.
    """

    width: Floats
    promise: Floats
    of: Ints
    first: Ints
    size: Ints
    orders: list[Ints]

    def out(self, classes: Ints) -> Ints:
        """The places of the rows that these classes would lose, ascending."""
        places = [self.first[classes][self.of[classes] < 0]]
        for a, order in enumerate(self.orders):
            here = classes[self.of[classes] == a]
            places.append(order[ranges(self.first[here], self.first[here] + self.size[here])])
        return np.sort(np.concatenate(places))


def candidates(
    encoded: Encoded, rows: Rows, offsets: Ints, skip: Ints, least: int, most: int, cost: float
) -> Candidates:
    """Of each class the candidate that promises most, after `skip` better ones: so that at least `least` rows
    are left and at most `most` go, each at `cost`.
    """
    n, sizes = len(offsets) - 1, np.diff(offsets)
    lines = [
        Line.of(domain, codes[rows], offsets)
        for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True)
    ]
    width = np.zeros(n)
    for line in lines:
        width += line.width
    alone = np.zeros(len(rows))  # what the cells shrink by without one row
    found: list[tuple[int, Floats, Ints, Ints]] = []
    for a, line in enumerate(lines):
        for shrinks, first, size in line.ends(most):
            found.append((a, shrinks, first, size))
            single = np.flatnonzero((size == 1) & (shrinks > 0))
            np.add.at(alone, line.order[first[single]], shrinks[single])
    if n:
        top = np.maximum.reduceat(alone, offsets[:-1])
        is_top = np.flatnonzero(alone == np.repeat(top, sizes))
        _, at = np.unique(np.searchsorted(offsets, is_top, side="right"), return_index=True)
        found.append((-1, top, is_top[at], np.ones(n, np.int64)))
    promise = np.full((len(found), n), -np.inf)
    for i, (_, shrinks, _, size) in enumerate(found):
        allowed = (shrinks > 0) & (sizes - size >= least) & (size <= most)
        gain = (sizes - size) * shrinks - size * (cost - width)
        promise[i, allowed] = gain[allowed]
    promise[:, skip >= TRIES] = -np.inf
    best = np.zeros(n, np.int64)
    at = np.arange(n)
    for tried in range(int(skip.max(initial=0)) + 1) if n else ():
        best = np.where(skip >= tried, np.argmax(promise, axis=0), best)
        again = np.flatnonzero(skip > tried)
        promise[best[again], again] = -np.inf
    table = [np.stack([each[i] for each in found]) if n else np.zeros((1, 0), np.int64) for i in (2, 3)]
    of = np.array([each[0] for each in found] or [0], np.int64)
    return Candidates(
        width,
        promise[best, at] if n else np.zeros(0),
        of[best],
        table[0][best, at],
        table[1][best, at],
        [line.order for line in lines],
    )


@dataclass(frozen=True)
class Line:
    """The codes of one attribute in classes: `codes[order]` ascends in each class, null last.

    `width` is that of each class's cell; `n_present` counts its rows without null.
    """

    domain: Domain
    codes: Codes
    offsets: Ints
    order: Ints
    n_present: Ints
    distinct: Ints
    width: Floats

    @classmethod
    def of(cls, domain: Domain, codes: Codes, offsets: Ints) -> Self:
        class_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        keys = class_of * domain.n_codes + codes
        order = np.argsort(keys, kind="stable")
        null = np.concatenate([[0], np.cumsum(codes == domain.n_values)])
        n_present = np.diff(offsets) - (null[offsets[1:]] - null[offsets[:-1]])
        ordered = codes[order]
        runs = np.flatnonzero(np.diff(keys[order], prepend=-1))
        runs = runs[ordered[runs] < domain.n_values]
        distinct = np.bincount(class_of[runs], minlength=len(n_present)).astype(np.int64)
        line = cls(domain, ordered, offsets, order, n_present, distinct, np.zeros(0))
        low, high = line.at(0), line.at(-1)
        object.__setattr__(line, "width", line.cell(low, high, distinct, n_present < np.diff(offsets)))
        return line

    def at(self, place: int) -> Ints:
        """The codes at a place of each class's present ones, from the end if negative; 0 where none is."""
        first, n = self.offsets[:-1], self.n_present
        within = first + (place if place >= 0 else n + place)
        exists = (n > place) if place >= 0 else (n >= -place)
        return np.where(exists, self.codes[np.where(exists, within, 0)], 0).astype(np.int64)

    def cell(self, low: Ints, high: Ints, distinct: Ints, has_null: Bools) -> Floats:
        """How wide cells are; of nulls only 0, of null and values the whole domain."""
        domain = self.domain
        if domain.positions is not None:
            wide = (domain.positions[high] - domain.positions[low]) / (float(domain.positions[-1]) or 1.0)
        elif domain.tree is not None:
            tree, node = domain.tree, lca(domain.tree, np.minimum(low, high), high)
            wide = (tree.last[node] - tree.first[node]) / max(domain.n_values - 1, 1)
            if domain.node_widths is not None:
                wide = domain.node_widths[node]
        else:
            wide = np.maximum(distinct - 1, 0) / max(domain.n_values - 1, 1)
        return domain.weight * np.where(distinct == 0, 0.0, np.where(has_null, 1.0, wide))

    def ends(self, most: int) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Rows at one end of each class's cell: by how much it shrinks without them (0: not at all), where in
        `order` they begin, and how many they are.
        """
        first, n, sizes = self.offsets[:-1], self.n_present, np.diff(self.offsets)
        if not len(first) or not self.domain.n_values:
            return
        has_null = n < sizes
        low, high = self.at(0), self.at(-1)
        if has_null.any():
            whole = self.cell(low, high, self.distinct, np.zeros_like(has_null))
            yield np.where(has_null, self.width - whole, 0.0), first + n, sizes - n
            yield np.where(has_null, self.width, 0.0), first, n
        if self.domain.positions is None and self.domain.tree is None:
            yield self._rarest(has_null)
            return
        for j in range(1, most + 1):
            size = np.full(len(first), j)
            fits = (n > j) & ~has_null
            shorter = self.cell(self.at(j), high, np.where(fits, 1, 0), has_null)
            yield np.where(fits, self.width - shorter, 0.0), first, size
            shorter = self.cell(low, self.at(-j - 1), np.where(fits, 1, 0), has_null)
            yield np.where(fits, self.width - shorter, 0.0), np.maximum(first + n - j, 0), size

    def _rarest(self, has_null: Bools) -> tuple[Floats, Ints, Ints]:
        """The rows of each class's rarest label; of several that with the lowest code."""
        class_of = np.repeat(np.arange(len(self.n_present)), np.diff(self.offsets))
        is_new = np.append(True, (np.diff(self.codes.astype(np.int64)) != 0) | (np.diff(class_of) != 0))
        start = np.flatnonzero(is_new)
        length = np.diff(np.append(start, len(self.codes)))
        present = self.codes[start] < self.domain.n_values
        start, length = start[present], length[present]
        order = np.lexsort((start, length, class_of[start]))
        which, at = np.unique(class_of[start[order]], return_index=True)
        first, size = np.zeros((2, len(self.n_present)), np.int64)
        first[which], size[which] = start[order][at], length[order][at]
        fewer = self.cell(self.at(0), self.at(-1), np.maximum(self.distinct - 1, 1), has_null)
        return np.where((self.distinct > 1) & ~has_null, self.width - fewer, 0.0), first, size


def class_widths(encoded: Encoded, rows: Rows, offsets: Ints) -> Floats:
    """How wide the cells of each class are together, weighted."""
    total = np.zeros(len(offsets) - 1)
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        total += Line.of(domain, codes[rows], offsets).width
    return total
