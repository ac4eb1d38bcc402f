# SPDX-License-Identifier: Apache-2.0
"""Requirements together: compiled for the kernels, or found to be more than any release can meet."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from anon.encoding import Domain
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.requirements.requirement import Counts, Requirement, plural
from anoncore.requirement import Conjunction, passing_classes


def check_list(require: Any) -> None:
    """Raise UsageError unless `require` is a list of requirements."""
    if isinstance(require, Requirement):
        raise UsageError(f"require takes a list: write require=[{require!r}]")
    if not isinstance(require, Sequence):
        raise UsageError(f"require must be a list of requirements, not {type(require).__name__}")
    for requirement in require:
        if not isinstance(requirement, Requirement):
            raise UsageError(
                f"require takes requirements such as KAnonymity(10), not {type(requirement).__name__}"
            )


def counting(require: Sequence[Requirement], unit: str | None, bags: bool = False) -> tuple[Requirement, ...]:
    """The requirements with whom they count said: units where the schema names one, else rows.

    UsageError where units are to be counted and there are none, or their `bags` by a method that does not.
    """
    said: list[Requirement] = []
    for each in require:
        count = getattr(each, "count", "rows")
        if count == "unit-bags" and not bags:
            raise UsageError(
                f"{each}: no test of one class decides it: use ",
                Parameter("FullDomain()", "--method full-domain"),
                ", or count units, and see what holds of their bags in privacy().units.k_bags",
            )
        if count in ("units", "unit-bags") and unit is None:
            raise UsageError(
                f"{each}: nobody knows whose a row is: name the column ",
                Parameter("in the schema (unit=...)", "with --unit"),
            )
        said.append(each.of_units() if count is None and unit is not None else each)
    return tuple(said)


def compile(
    requirements: Sequence[Requirement],
    domains: Sequence[Domain],
    table_counts: Sequence[Counts],
    n_rows: int,
    by_units: bool = False,
) -> Conjunction:
    """The requirements as one test for the kernels.

    `domains` are the sensitive attributes', `table_counts` (int64, one per code) count the `n_rows`
    published rows; a value that only suppressed rows have counts 0 and is not in the table. `by_units`:
    they count each unit once for every value that it has.
    """
    rules = [rule for requirement in requirements for rule in requirement.rules(domains, table_counts)]
    return Conjunction(table_counts, n_rows, rules, by_units)


def infeasible(
    requirements: Sequence[Requirement],
    domains: Sequence[Domain],
    table_counts: Sequence[Counts],
    n_rows: int,
    n_units: int | None = None,
) -> InfeasibleError | None:
    """The first requirement that the table as one class fails, with the tightest value that can be met.

    Arguments as for `compile`; `n_units` are those of the rows where units are counted. A table without
    rows fails nothing.
    """
    if n_rows == 0:
        return None
    for requirement in requirements:
        by_units = n_units is not None
        conjunction = compile([requirement], domains, table_counts, n_rows, by_units)
        if _one_class_passes(conjunction, table_counts, n_rows, n_units):
            continue
        reason: str
        tightest: Any
        if n_units is not None and conjunction.min_units > n_units:
            reason = f"the table has {plural(n_units, 'unit')}, so the largest k is {n_units}"
            tightest = n_units
        elif (requirement.least_rows or 0) > n_rows:
            reason, tightest = requirement._explain_rows(n_rows)
        elif (summed := requirement._explain_sum(conjunction)) is not None:
            reason, tightest = summed
        else:
            failing = [
                requirement._explain(domains[a].name, table_counts[a], int(table_counts[a].sum()))
                for a in requirement.attributes(domains)
                if not _one_class_passes(
                    Conjunction(
                        table_counts,
                        n_rows,
                        [requirement._rule(a, domains[a], table_counts[a])],
                        by_units,
                    ),
                    table_counts,
                    n_rows,
                    n_units,
                )
            ]
            _, reason, tightest = min(failing, key=operator.itemgetter(0))
        return InfeasibleError(
            f"{requirement} cannot be met: {reason}", requirement=requirement, tightest=tightest
        )
    return None


def _one_class_passes(
    conjunction: Conjunction, table_counts: Sequence[Counts], n_rows: int, n_units: int | None
) -> bool:
    codes = [np.flatnonzero(counts).astype(np.int64) for counts in table_counts]
    counts = [table[table > 0] for table in table_counts]
    offsets = [np.array([0, len(present)], dtype=np.int64) for present in codes]
    sizes = np.array([n_rows], dtype=np.int64)
    units = None if n_units is None else np.array([n_units], dtype=np.int64)
    return bool(passing_classes(conjunction, sizes, offsets, codes, counts, units)[0])
