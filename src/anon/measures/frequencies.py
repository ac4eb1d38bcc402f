# SPDX-License-Identifier: Apache-2.0
"""How many rows look like each one, and how many people of the population they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

import anoncore.classes as classes_kernel
from anon.classes import Classes
from anon.encoding import Codes
from anon.errors import UsageError
from anon.measures.risk import meet

Nulls = Literal["own", "wildcard"]
Compat = Literal["sdcmicro"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Frequencies:
    """Per class of `classes`: its matching rows `f`, and their weights summed, `population`.

    Both are float64. The population is at least f; without weights it is f. A class whose f is 0 (null in
    every quasi-identifier, where null matches anything) is as good as suppressed.
    """

    classes: Classes
    f: Floats
    population: Floats


def frequencies(
    classes: Classes,
    columns: Sequence[Codes],
    missing: Sequence[npt.NDArray[np.bool_]],
    weights: Floats | None = None,
    *,
    nulls: Nulls = "own",
    alpha: float = 1.0,
    compat: Compat | None = None,
) -> Frequencies:
    """Rows that match each class's, and the sum of their `weights` (one per row of the table).

    `columns[i][c]` is what class c shows of quasi-identifier i, `missing[i][c]` whether that is null.
    With `nulls="own"` null is one more value. With "wildcard" two classes match that agree wherever
    neither lacks a value; a match with another class that lacks one weighs `alpha` (0 to 1). A row that
    lacks every value then helps nobody, and has f = 0; `compat="sdcmicro"` gives it all rows, and counts it
    for rows that lack a value.
    """
    if nulls not in get_args(Nulls):
        raise UsageError(f"nulls={nulls!r}: choose one of 'own', 'wildcard'")
    if compat not in (None, *get_args(Compat)):
        raise UsageError(f"compat={compat!r}: choose 'sdcmicro' or None")
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha weighs a match with a missing value, between 0 and 1, not {alpha}")
    sizes = classes.sizes.astype(np.float64)
    sums = sizes
    if weights is not None:
        if classes.n_classes:
            sums = np.add.reduceat(weights[classes.rows], classes.offsets[:-1])
        sums = np.maximum(sums, sizes)
    if nulls == "own" or not any(column.any() for column in missing):
        return Frequencies(classes, sizes, sums)
    f, people = _wildcard(columns, missing, sizes, sums, alpha, compat)
    return Frequencies(classes, f, np.maximum(people, f))


def _wildcard(
    columns: Sequence[Codes],
    missing: Sequence[npt.NDArray[np.bool_]],
    sizes: Floats,
    sums: Floats,
    alpha: float,
    compat: Compat | None,
) -> tuple[Floats, Floats]:
    """Classes are compared by pairs of null patterns, on the columns that both patterns have."""
    members, bounds = classes_kernel.group([column.view(np.uint8) for column in missing])
    patterns = [members[start:stop] for start, stop in pairwise(bounds)]
    present = [{i for i, column in enumerate(missing) if not column[pattern[0]]} for pattern in patterns]
    n_columns = len(columns)
    counted = [np.zeros(len(sizes)), np.zeros(len(sizes))]
    for pattern, has in zip(patterns, present, strict=True):
        if not has:
            for total, amounts in zip(counted, (sizes, sums), strict=True):
                total[pattern] = amounts.sum() if compat == "sdcmicro" else 0.0
            continue
        for other, other_has in zip(patterns, present, strict=True):
            if not other_has and (compat is None or len(has) == n_columns):
                continue
            own, to = meet([columns[i] for i in sorted(has & other_has)], pattern, other)
            n_ids = int(max(own.max(), to.max())) + 1
            weight = 1.0 if len(other_has) == n_columns else alpha
            for total, amounts in zip(counted, (sizes, sums), strict=True):
                total[pattern] += weight * np.bincount(to, amounts[other], n_ids)[own]
                if other is pattern:  # the class itself counts in full
                    total[pattern] += (1 - weight) * amounts[pattern]
    return counted[0], counted[1]


def least_matching(
    classes: Classes,
    columns: Sequence[Codes],
    missing: Sequence[npt.NDArray[np.bool_]],
    size: int | None = None,
) -> int | None:
    """The fewest rows that match a row where null matches anything; None where no row has a value.

    Arguments as for `frequencies`. With a `size` the fewest on any so many of the columns.
    """
    sizes = classes.sizes.astype(np.float64)
    fewest = []
    for each in combinations(range(len(columns)), len(columns) if size is None else min(size, len(columns))):
        some, lacking = [columns[a] for a in each], [missing[a] for a in each]
        f, _ = _wildcard(some, lacking, sizes, sizes, 1.0, None)
        fewest += [int(f[f > 0].min())] if (f > 0).any() else []
    return min(fewest, default=None)
