# SPDX-License-Identifier: Apache-2.0
"""Microaggregation: groups of near rows, which show their mean (Domingo-Ferrer & Torra 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranked_rows
from anon.encoding import Codes, Domain, Encoded
from anon.errors import SUPPRESS, DataError, Parameter, UsageError
from anon.methods.repair import pack
from anon.methods.task import TIES, Method, Task, refuse_few
from anon.requirements import Option
from anoncore import mdav

Groups = Literal["mdav", "optimal"]
Ties = Literal["rank", "input"]


@dataclass(frozen=True)
class Microaggregation(Method):
    """Groups of k to 2k - 1 near rows; with `numeric="mean"` or `"median"` each shows its own, of an ordinal
    attribute the lower median, of a nominal one the most frequent label (ties: the least).

    `method="mdav"`: of the rows left, the one furthest from their mean and the one furthest from that each
    make a group with their k - 1 nearest (exact, by squared distances over the variance). A table with
    nominal or ordinal quasi-identifiers is grouped under Gower's distance, around the medoid; each step then
    looks at every row left. `method="optimal"`: the groups of least squared error of a single numeric
    quasi-identifier. All quasi-identifiers are grouped together, so that the release is k-anonymous; groups
    that show the same are one class. Numbers may not be missing, unless there are categories beside them.
    """

    name: ClassVar[str] = "microaggregation"
    grows: ClassVar[bool] = True
    needs_k: ClassVar[bool] = True
    repaired: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("groups", Groups, "Microaggregation: mdav (default) or optimal, for one number.", "method"),
        TIES,
    )

    method: Groups = "mdav"
    ties: Ties = "rank"

    def __post_init__(self) -> None:
        for name, choices in (("method", Groups), ("ties", Ties)):
            if getattr(self, name) not in get_args(choices):
                raise UsageError(f"{name} must be {' or '.join(map(repr, get_args(choices)))}")

    @property
    def keeps_groups(self) -> bool:
        return True

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return partition(encoded, self, task, k)


def partition(encoded: Encoded, method: Microaggregation, task: Task, k: int) -> Classes:
    """Groups of at least k rows, fewer than 2k unless the table has fewer; in the order of their making."""
    rows = ranked_rows(encoded, task.n_threads) if method.ties == "rank" else encoded.kept
    refuse_few(len(rows), k)
    numeric = all(domain.kind == "numeric" for domain in encoded.quasi)
    if method.method == "optimal" and not (numeric and len(encoded.quasi) == 1):
        raise UsageError(
            "optimal groups are of a single quasi-identifier, and that numeric: use ",
            Parameter('Microaggregation("mdav")', "--groups mdav"),
        )
    columns = [codes[rows] for codes in encoded.quasi_codes]
    tell = task.progress
    told = None if tell is None else lambda done, total: tell("grouping", done, total)
    if not numeric:
        attributes = [domain.measured("byun") for domain in encoded.quasi]
        members, offsets = mdav.gower(pack(columns), attributes, k, progress=told)
    else:
        refuse_missing(encoded, rows)
        points, weights = standardized(encoded.quasi, columns)
        if method.method == "optimal":
            members = np.argsort(points[:, 0], kind="stable").astype(np.uint32)
            offsets = mdav.optimal(points[members, 0], k)
        else:
            members, offsets = mdav.mdav(points, weights, k, progress=told)
    return Classes(rows[members], offsets, encoded.suppressed)


def refuse_missing(encoded: Encoded, rows: npt.NDArray[np.uint32]) -> None:
    """Raise DataError where one of these rows misses a number."""
    missing = np.zeros(encoded.n_rows, np.bool_)
    names = []
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        null = rows[codes[rows] == domain.n_values]
        missing[null] = True
        names += [domain.name] * bool(len(null))
    if names:
        first, count = int(np.argmax(missing)), int(np.count_nonzero(missing))
        raise DataError(
            f"column {' and '.join(map(repr, names))}: {count} rows miss a number, the first of them row "
            f"{first + 1}; a mean has no place for them: fill them, or use ",
            SUPPRESS,
            column=names[0],
            row=first,
            count=count,
        )


def standardized(
    domains: tuple[Domain, ...], columns: list[Codes]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Numbers (rows x attributes), and what their squared differences are multiplied by: the attribute's
    weight over the variance. Attributes that are constant or weigh nothing are left out; where none is left,
    one of zeros stands for all.
    """
    points: list[npt.NDArray[np.float64]] = []
    weights: list[float] = []
    for domain, codes in zip(domains, columns, strict=True):
        assert domain.positions is not None
        # a scale by a power of two changes no group, and no square overflows or vanishes
        line = np.ldexp(domain.positions, -int(np.frexp(domain.positions.max(initial=0.0))[1]))
        if domain.unit_lattice:
            line = domain.positions
        counts = np.bincount(codes, minlength=len(line))
        mean = fsum(counts * line) / len(codes)
        variance = fsum(counts * (line - mean) ** 2) / len(codes)
        if np.count_nonzero(counts) > 1 and domain.weight > 0 and variance > 0:
            points.append(line[codes])
            weights.append(domain.weight / variance)
    if not points:
        return np.zeros((len(columns[0]), 1)), np.ones(1)
    return np.column_stack(points), np.array(weights)
