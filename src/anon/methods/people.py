# SPDX-License-Identifier: Apache-2.0
"""How many people of the population look like the rows of a class: what k-map and the like are tested on.

They are counted in a table of the population, or summed up from sampling weights. At a node of full-domain
recoding a population is recoded as the table is; other classes show cells, and people are inside or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, Union, group, group_numbers, refuse_smaller, union_of
from anon.encoding import Domain, Encoded
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.requirements import Requirement
from anon.schema import Ladder, ladder_of
from anoncore.lattice import Lattice, roll_up

Floats = npt.NDArray[np.float64]
Labels = list[list[npt.NDArray[np.uint32]]]


@dataclass(frozen=True, repr=False)
class Crowd:
    """The requirements that look at people or at the whole release, and the people of each.

    `unions[i]` is the table with the population of the i-th, None where weights are summed up or nobody is
    counted. With `by_level` numbers are shown as sets of their levels.
    """

    require: tuple[Requirement, ...]
    unions: tuple[Union | None, ...]
    encoded: Encoded
    by_level: bool = False
    n_threads: int = 1

    @classmethod
    def of(
        cls, require: Sequence[Requirement], encoded: Encoded, by_level: bool = False, n_threads: int = 1
    ) -> Crowd | None:
        """None where no requirement looks at people.

        UsageError where weights are needed and there are none; DataError where a population does not hold
        the table.
        """
        counting = tuple(each for each in require if each.people is not None or each.by_levels)
        if not counting:
            return None
        known: dict[int, Union] = {}
        for each in counting:
            if each.people == "weights" and encoded.weights is None:
                raise UsageError(
                    f"{each}: nobody knows how many people a row stands for: give a table of them (",
                    Parameter("population=", "--population"),
                    "), the share that was drawn (",
                    Parameter("sampling_fraction=", f"--{each.options[0].key.replace('_', '-')}-fraction"),
                    ") or a column of sampling weights (",
                    Parameter("Schema(sampling_weight=)", "--sampling-weight"),
                    ")",
                )
            population: Any = getattr(each, "population", None)
            if each.people == "table" and id(population) not in known:
                union = known[id(population)] = union_of(encoded, population, n_threads)
                same = group(encoded.original.quasi_codes, encoded.suppressed, n_threads)
                refuse_smaller(same, union.equal(same, n_threads))
        unions = tuple(
            known[id(getattr(each, "population", None))] if each.people == "table" else None
            for each in counting
        )
        return cls(counting, unions, encoded, by_level, n_threads)

    def people(self, classes: Classes) -> tuple[Floats, ...]:
        """For every requirement the people who look like each class."""
        counted: dict[int, Floats] = {}
        for union in self.unions:
            if union is not None and id(union) not in counted:
                cells = union.cells(classes, self.by_level, self.n_threads)
                counted[id(union)] = union.inside(cells, self.n_threads).astype(np.float64)
        return tuple(
            self._weights(each, classes) if union is None else counted[id(union)]
            for each, union in zip(self.require, self.unions, strict=True)
        )

    def _weights(self, each: Requirement, classes: Classes) -> Floats:
        """The sum of each class's weights, but at least its rows; 0 where nobody is counted."""
        weights = self.encoded.weights
        if each.people is None or weights is None:
            return np.zeros(classes.n_classes)
        of_class = np.repeat(np.arange(classes.n_classes), classes.sizes)
        return np.maximum(np.bincount(of_class, weights[classes.rows], classes.n_classes), classes.sizes)

    def failing(self, classes: Classes) -> npt.NDArray[np.bool_]:
        """Which classes have too few people for some requirement."""
        failing = np.zeros(classes.n_classes, np.bool_)
        for each, people in zip(self.require, self.people(classes), strict=True):
            if each.people is not None:
                failing |= ~each.enough(classes.sizes, people)
        return failing

    def impossible(self) -> InfeasibleError | None:
        """The first requirement that all rows as one class fail, with the tightest value that can be met."""
        rows = self.encoded.kept
        if not len(rows):
            return None
        whole = Classes(rows, np.array([0, len(rows)], np.int64), self.encoded.suppressed)
        for each, union, people in zip(self.require, self.unions, self.people(whole), strict=True):
            if each.people is None:
                continue
            if each.by_levels and union is not None:
                people = np.array([float(union.n_people)])
            if not each.enough(whole.sizes, people).all():
                reason, tightest = each.explain_people(len(rows), float(people[0]))
                return InfeasibleError(f"{each} cannot be met: {reason}", requirement=each, tightest=tightest)
        return None

    def at_nodes(
        self, bases: Any, ladders: Sequence[Ladder], domains: Sequence[Domain], file: Any
    ) -> AtNodes:
        """The same at the nodes of a lattice over the combinations of `bases`, a `lattice.Base`."""
        counters: list[Any] = []
        for each, union in zip(self.require, self.unions, strict=True):
            if union is not None:
                counters.append(_Recoded(union, bases, ladders, domains, self.encoded, file))
                continue
            weights = self.encoded.weights
            of_row = np.zeros(self.encoded.n_rows) if weights is None or each.people is None else weights
            counters.append(np.add.reduceat(of_row[bases.rows], bases.offsets[:-1]))
        return AtNodes(self.require, tuple(counters))


@dataclass(frozen=True, repr=False)
class AtNodes:
    """The people who look like the classes of a node, for every requirement that looks at them."""

    require: tuple[Requirement, ...]
    counters: tuple[Any, ...]

    def people(
        self,
        node: Sequence[int],
        members: npt.NDArray[np.uint32],
        number: npt.NDArray[np.uint32] | None = None,
        finer: Sequence[Floats] = (),
    ) -> tuple[Floats, ...]:
        """Of the classes with these `members`, each a combination that stands for it.

        `number` are the classes of those of a finer node, whose people are `finer`; None at the bottom.
        """
        return tuple(
            counter.people(node, members)
            if isinstance(counter, _Recoded)
            else counter
            if number is None
            else np.bincount(number, finer[i], len(members)).astype(np.float64)
            for i, counter in enumerate(self.counters)
        )

    def short(
        self, sizes: npt.NDArray[np.int64], people: Sequence[Floats], absorbing: bool
    ) -> npt.NDArray[np.bool_]:
        """Which classes fail a test of their people, of those requirements that are absorbing or are not."""
        short = np.zeros(len(sizes), np.bool_)
        for each, of_class in zip(self.require, people, strict=True):
            if each.people is not None and each.absorbing == absorbing:
                short |= ~each.enough(sizes, np.maximum(of_class, sizes))
        return short

    def hold_together(
        self, sizes: npt.NDArray[np.int64], people: Sequence[Floats], out: npt.NDArray[np.bool_]
    ) -> bool:
        """Do the classes that are not `out` pass together?"""
        return all(
            each.holds_together(
                sizes[~out],
                np.maximum(of_class, sizes)[~out],
                counter.n_people if isinstance(counter, _Recoded) else float(of_class.sum()),
            )
            for each, of_class, counter in zip(self.require, people, self.counters, strict=True)
        )


class _Recoded:
    """A population recoded as the table is, node by node."""

    def __init__(
        self,
        union: Union,
        bases: Any,
        ladders: Sequence[Ladder],
        domains: Sequence[Domain],
        encoded: Encoded,
        file: Any,
    ) -> None:
        both = union.encoded
        alike = group(both.quasi_codes, None, 1)
        number = group_numbers(alike.rows, alike.offsets)
        first = alike.rows[alike.offsets[:-1]]
        codes = np.column_stack([column[first].astype(np.uint32) for column in both.quasi_codes])
        self.of_base = number[bases.rows[bases.offsets[:-1]]]
        self.counts = np.bincount(number[union.n_rows :], minlength=len(first)).astype(np.int64)
        self.n_people = float(union.n_people)
        labels = []
        for a, (ladder, domain, attribute, ours) in enumerate(
            zip(ladders, both.quasi, encoded.schema.quasi, domains, strict=True)
        ):
            wider = ladder_of(attribute.hierarchy, domain.values, domain.levels, domain.name, file)
            known = np.zeros(ours.n_codes, np.int64)
            known[bases.codes[:, a]] = codes[self.of_base, a]
            levels = _levels_like(ladder, wider, known[: ours.n_values], np.unique(bases.codes[:, a]))
            labels.append(levels_of_codes(ladder.height, levels, domain.n_codes))
        self.kernel = Lattice(np.ascontiguousarray(codes), labels)
        self.whole = np.arange(len(first), dtype=np.uint32)

    def people(self, node: Sequence[int], members: npt.NDArray[np.uint32]) -> Floats:
        number = roll_up(self.kernel, tuple(node), self.whole, self.counts)[2]
        inside = np.bincount(number, self.counts).astype(np.float64)
        return np.asarray(inside[number[self.of_base[members]]], np.float64)


def levels_of_codes(
    height: int, of_code: Sequence[npt.NDArray[np.uint32]], n_codes: int
) -> list[npt.NDArray[np.uint32]]:
    """The label of every code at every level: null has its own, and that of all others at the last one."""
    levels = []
    for g, labels in enumerate(of_code):
        null = 0 if g == height or not len(labels) else int(labels.max()) + 1
        levels.append(np.append(labels, np.uint32(null)).astype(np.uint32)[:n_codes])
    return levels


def _levels_like(
    ladder: Ladder, wider: Ladder, known: npt.NDArray[np.int64], codes: npt.NDArray[np.uint32]
) -> list[npt.NDArray[np.uint32]]:
    """The levels of a wider domain that are those of a ladder; `known` are the codes there of its `codes`.

    Values that only the wider domain has may add a level below or above the others.
    """
    codes = codes[codes < len(known)].astype(np.int64)
    more = wider.height - ladder.height
    for shift in dict.fromkeys((0, more)):
        places = [0, *(g + shift for g in range(1, ladder.height)), wider.height]
        if all(
            [ladder.labels[g][c] for c in ladder.of_code[g][codes]]
            == [wider.labels[place][c] for c in wider.of_code[place][known[codes]]]
            for g, place in enumerate(places[:-1])
        ):
            return [
                wider.of_code[place] if g < ladder.height else _one(wider) for g, place in enumerate(places)
            ]
    raise UsageError(
        f"column {ladder.name!r}: the population has values that lie at other levels of the hierarchy than "
        "the table's; give every value of the hierarchy the same number of levels"
    )


def _one(ladder: Ladder) -> npt.NDArray[np.uint32]:
    """At the last level all values are one."""
    return np.zeros(len(ladder.of_code[-1]), np.uint32)
