# SPDX-License-Identifier: Apache-2.0
"""Local suppression: single cells become null, and null matches anything (Willenborg & de Waal 1996).

What is kept is as it was. The promise is weaker than k-anonymity: rows that are compatible make no classes,
and whoever knows whose cells are null tells rows apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, lcm
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, Classes, group, group_numbers, value_cells
from anon.encoding import Encoded
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods.task import STRATA, Limits, Method, Task
from anon.requirements import KAnonymity, Option, Requirement, SubsetAnonymity
from anoncore.classes import shuffle
from anoncore.nulling import null_cells

MOST_SETS = 1000
_MOST_COST = 1 << 20
_SUM = 2.0**61  # of all weights, in the units of the kernel


@dataclass(frozen=True)
class LocalSuppression(Method):
    """Cells made null, greedily, until every row has k compatible ones (`KAnonymity(k, nulls="wildcard")`).

    `importance` says what a null costs: weights by name of quasi-identifiers (1 where none is given), or an
    order of names, first those that are to lose the fewest cells. `subsets=m` asks for k on every m of the
    quasi-identifiers in place of all; `{m: k, ...}` for several such at once. `strata` names a column, or
    several: rows are compared with those of equal values in them alone.
    """

    name: ClassVar[str] = "local-suppression"
    places_nulls: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "importance",
            dict[str, float] | list[str],
            "Local suppression: cost of a null as COLUMN=W (1), or columns, the most important first.",
        ),
        Option(
            "subsets",
            int | dict[str, int],
            "Local suppression: k on any M quasi-identifiers; or M=K, may be repeated.",
            by_column=True,
        ),
        STRATA,
    )

    importance: Any = None
    subsets: Any = None
    strata: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "importance", _importance(self.importance))
        object.__setattr__(self, "subsets", _subsets(self.subsets))
        strata = (self.strata,) if isinstance(self.strata, str) else self.strata
        if strata is not None:
            strata = tuple(strata)
            if not strata or not all(isinstance(name, str) for name in strata):
                raise UsageError("strata must be names of columns")
        object.__setattr__(self, "strata", strata)

    def settings(self) -> dict[str, Any]:
        settings = super().settings()
        for key in ("importance", "subsets"):
            value = getattr(self, key)
            if isinstance(value, tuple) and value and isinstance(value[0], tuple):
                settings[key] = ",".join(f"{name}={each:g}" for name, each in value)
        return settings

    def implied(self) -> tuple[Requirement, ...]:
        if not isinstance(self.subsets, tuple):
            return ()
        return tuple(SubsetAnonymity(k, m) for m, k in self.subsets)

    def demands(self, require: Sequence[Requirement]) -> tuple[Requirement, ...]:
        """What is enforced. UsageError where that is anything but k with nulls that match."""
        for each in require:
            if not isinstance(each, KAnonymity | SubsetAnonymity):
                raise UsageError(
                    f"LocalSuppression enforces k alone, not {each}: leave it out, or use ",
                    Parameter("Mondrian()", "--method mondrian"),
                )
            if not each.by_matching:
                raise UsageError(
                    f"LocalSuppression lets a missing value match anything, which is less than {each}: say ",
                    Parameter(f'KAnonymity({each.k}, nulls="wildcard")', f"--k {each.k} --k-nulls wildcard"),
                    ", or use ",
                    Parameter("Mondrian()", "--method mondrian"),
                )
        if not isinstance(self.subsets, int):
            return (*require, *self.implied())
        if not any(isinstance(each, KAnonymity) for each in require):
            raise UsageError("subsets=m needs a k: ask for ", Parameter("KAnonymity(k)", "--k"))
        size = self.subsets
        return tuple(SubsetAnonymity(one.k, size) if isinstance(one, KAnonymity) else one for one in require)

    def check_published(self, publish: str, numeric: str) -> None:
        if publish != "generalization" or numeric != "interval":
            raise UsageError(
                "LocalSuppression publishes values or null, no cells, numbers or buckets: leave publish and "
                "numeric out"
            )

    def nulled(
        self, encoded: Encoded, task: Task, require: Sequence[Requirement], limits: Limits
    ) -> tuple[Classes, tuple[Cells, ...]]:
        """Rows that show the same, what they show, and, as suppressed, those without any value."""
        _refuse(encoded)
        masks = self.masks(encoded, task, require)
        everything = np.uint64(2 ** len(encoded.quasi) - 1)
        void = masks == everything
        void[encoded.suppressed] = False
        n_void, n_rows = int(np.count_nonzero(void)), encoded.n_rows - len(encoded.suppressed)
        if n_void > int(limits.suppress * n_rows) or (n_void == n_rows and n_rows):
            share = -(-10_000 * n_void // n_rows) / 10_000  # rounded up, so that it does
            way_out: tuple[str | Parameter, ...] = ("ask for a smaller k",)
            if share < 1:
                allowed = Parameter(f"suppress={share:g}", f"--suppress {share:g}")
                way_out = ("let them be left out with ", allowed, ", or ask for a smaller k")
            raise InfeasibleError(
                f"{n_void} of {n_rows} rows would have no value left: ",
                *way_out,
                requirement=require[0],
                tightest=n_void / n_rows,
            )
        suppressed = np.union1d(encoded.suppressed, np.flatnonzero(void)).astype(np.uint32)
        suppressed.flags.writeable = False
        shown = [
            np.where(masks >> np.uint64(a) & np.uint64(1), domain.n_values, codes).astype(np.uint32)
            for a, (domain, codes) in enumerate(zip(encoded.quasi, encoded.quasi_codes, strict=True))
        ]
        classes = group(shown, suppressed, task.n_threads)
        first = classes.rows[classes.offsets[:-1]]
        pairs = zip(encoded.quasi, shown, strict=True)
        return classes, tuple(value_cells(domain, codes[first]) for domain, codes in pairs)

    def masks(self, encoded: Encoded, task: Task, require: Sequence[Requirement]) -> npt.NDArray[np.uint64]:
        """Per row of the table its cells that are null: bit a for the a-th quasi-identifier.

        Rows are numbered by their codes in schema order. Which of equal ones comes first is drawn, so that
        nothing tells which of several people lost a cell.
        """
        domains = encoded.quasi
        sets, ks = _sets(require, len(domains))
        tiers, costs = _costs(self.importance, [domain.name for domain in domains])
        nulls = np.array([domain.n_values if domain.has_null else -1 for domain in domains], np.int64)
        alike = group(encoded.quasi_codes, encoded.suppressed, task.n_threads)
        rows = shuffle(alike.rows, alike.offsets, task.entropy(len(alike.rows)), task.n_threads)
        weights, unit = np.zeros(len(rows), np.int64), 0
        if encoded.weights is not None and len(rows):
            weights, unit = _weights(encoded.weights[alike.rows], alike)
        stratum = _strata(encoded, self.strata or ())[rows]
        order = np.argsort(stratum, kind="stable")
        bounds = (
            np.concatenate([[0], np.cumsum(np.bincount(stratum))]) if len(rows) else np.zeros(1, np.int64)
        )
        masks = np.zeros(encoded.n_rows, np.uint64)
        for i, (start, stop) in enumerate(pairwise(bounds)):
            if task.progress is not None:
                task.progress("suppress", i, len(bounds) - 1)
            some = order[start:stop]
            matrix = np.stack([codes[rows[some]] for codes in encoded.quasi_codes], axis=1).astype(np.uint32)
            masks[rows[some]] = null_cells(matrix, nulls, weights[some], unit, sets, ks, tiers, costs)
        return masks


def _importance(given: Any) -> Any:
    """Weights as pairs, or names in their order; UsageError where it is neither."""
    if given is None or given in ((), [], {}):
        return None
    if isinstance(given, Mapping):
        given = tuple(given.items())
    named = (given,) if isinstance(given, str) else tuple(given)
    names = [one[0] if isinstance(one, tuple) and len(one) == 2 else one for one in named]
    is_order = not any(isinstance(one, tuple) for one in named)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise UsageError(
            "importance must be weights by column, or different columns, the most important first"
        )
    for name, weight in () if is_order else named:
        is_number = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
        if not is_number or not 0 < weight < float("inf"):
            raise UsageError(f"importance of {name!r} must be a number above 0")
    return named


def _subsets(given: Any) -> Any:
    """A size, or pairs of sizes and their k; UsageError where it is neither."""
    if given is None:
        return None
    pairs = tuple(given.items()) if isinstance(given, Mapping) else given
    try:
        if isinstance(pairs, tuple):
            pairs = tuple((int(m), k) for m, k in pairs)
        numbers = [each for pair in pairs for each in pair] if isinstance(pairs, tuple) else [pairs]
        if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in numbers):
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError(
            "subsets must be how many quasi-identifiers at a time, or the k of such sizes, as in {2: 5, 3: 3}"
        ) from None
    return pairs


def _refuse(encoded: Encoded) -> None:
    schema = encoded.schema
    if not isinstance(encoded.table, pa.Table):
        raise UsageError(
            "LocalSuppression needs the table in memory: read it with ",
            Parameter('engine="local"', "--engine local"),
        )
    for what, columns in (("linked", schema.linked), ("household", schema.household), ("unit", schema.unit)):
        if columns:
            raise UsageError(f"LocalSuppression counts rows and nulls each cell by itself: leave out {what}")
    if len(schema.quasi) > 64:
        raise UsageError("LocalSuppression takes at most 64 quasi-identifiers: name fewer, or use Mondrian()")


def _sets(require: Sequence[Requirement], m: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The sets of attributes as bits, and the k of each."""
    asked: dict[int, int] = {}
    for each in require:
        size = each.size if isinstance(each, SubsetAnonymity) else m
        if size > m:
            raise UsageError(f"subsets of {size}: there are {m} quasi-identifiers; choose at most so many")
        if comb(m, size) > MOST_SETS:
            raise UsageError(
                f"there are {comb(m, size)} sets of {size} of {m} quasi-identifiers, and at most {MOST_SETS} "
                "can be asked for: choose another size"
            )
        for some in combinations(range(m), size):
            bits = sum(1 << a for a in some)
            asked[bits] = max(asked.get(bits, 1), each.least_rows or 1)
    return np.array([*asked], np.uint64), np.array([*asked.values()], np.int64)


def _costs(importance: Any, names: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of each attribute its place in the order, and its weight as a whole number."""
    tiers, costs = np.zeros(len(names), np.int64), np.ones(len(names), np.int64)
    if importance is None:
        return tiers, costs
    is_order = isinstance(importance[0], str)
    given = {name: i for i, name in enumerate(importance)} if is_order else dict(importance)
    for name in given:
        if name not in names:
            raise UsageError(f"importance names {name!r}, which is no quasi-identifier: leave it out")
    if is_order:
        return np.array([given.get(name, len(given)) for name in names], np.int64), costs
    exact = [Fraction(str(given.get(name, 1))) for name in names]
    scale = lcm(*(each.denominator for each in exact))
    whole = [int(each * scale) for each in exact]
    whole = [each // int(np.gcd.reduce(np.array(whole, object))) for each in whole]
    if max(whole) > _MOST_COST:
        raise UsageError("weights of importance must have few digits, and a ratio of at most a million")
    return tiers, np.array(whole, np.int64)


def _weights(weights: npt.NDArray[np.float64], alike: Classes) -> tuple[npt.NDArray[np.int64], int]:
    """The mean weight of the rows that are equal, in whole units, and how many of these are one person.

    Equal rows then take each other's place, and sums do not depend on their order.
    """
    means = np.add.reduceat(weights, alike.offsets[:-1]) / alike.sizes
    n, largest = len(weights), max(float(means.max()), 1.0)
    unit = 2 ** max(int(np.floor(np.log2(_SUM / n / largest))), 0)
    whole = np.minimum(np.rint(means * unit), _SUM / n).astype(np.int64)
    return np.repeat(whole, alike.sizes), unit


def _strata(encoded: Encoded, names: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Of each row the number of its stratum."""
    if not names:
        return np.zeros(encoded.n_rows, np.uint32)
    columns = []
    for name in names:
        encoded.check_published(name)
        column = pa.chunked_array([encoded.column(name).combine_chunks()])
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode(null_encoding="encode")
        indices = column.combine_chunks().indices
        columns.append(indices.fill_null(len(column.chunk(0).dictionary)).to_numpy().astype(np.uint32))
    alike = group(columns)
    return group_numbers(alike.rows, alike.offsets)
