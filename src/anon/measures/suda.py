# SPDX-License-Identifier: Apache-2.0
"""Special uniques (SUDA2): how many small sets of attributes single a row out.

A minimal sample unique (MSU) of a row is a set of attributes on which it is alone, and on no proper subset of
which it is (Elliot; Manning, Haglin & Keane 2008). A missing value takes no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, group
from anon.encoding import Codes, Domain
from anon.errors import Parameter, UsageError
from anoncore.suda import minimal_uniques

Scores = Literal["elliot", "ihsn"]
Floats = npt.NDArray[np.float64]

MOST_COLUMNS = 64
MOST_SETS = 1 << 22  # of attributes that are looked at without being asked for


@dataclass(frozen=True, repr=False)
class MinimalUniques:
    """The MSUs of a table: `rows[i]` (uint32) is alone on the attributes of `sets[i]` (uint64, bit a for the
    a-th quasi-identifier). `classes` are the rows that look alike on all of them.
    """

    rows: npt.NDArray[np.uint32]
    sets: npt.NDArray[np.uint64]
    n_columns: int
    classes: Classes

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Attributes of each MSU."""
        sizes = np.zeros(len(self.sets), np.int64)
        for a in range(self.n_columns):
            sizes += self.has(a)
        return sizes

    def has(self, column: int) -> npt.NDArray[np.bool_]:
        """Which MSUs hold the attribute."""
        return (self.sets >> np.uint64(column) & np.uint64(1)).astype(np.bool_)


def find_minimal_uniques(
    quasi: Sequence[Domain], columns: Sequence[Codes], max_size: int | None = None, n_threads: int = 1
) -> MinimalUniques:
    """Every MSU of at most `max_size` attributes (default: all of them)."""
    m = len(columns)
    if m < 2:
        raise UsageError("special uniques need at least two quasi-identifiers: name more of them")
    if m > MOST_COLUMNS:
        raise UsageError(f"special uniques are of at most {MOST_COLUMNS} quasi-identifiers, not {m}")
    if max_size is not None and not 1 <= max_size <= m:
        raise UsageError(f"max_size = {max_size}: must be between 1 and {m}, the number of quasi-identifiers")
    n_sets = sum(math.comb(m, size) for size in range(1, (max_size or m) + 1))
    if n_sets > MOST_SETS and max_size is None:
        raise UsageError(
            f"{m} quasi-identifiers have {n_sets} sets, which may take very long: bound their size (",
            Parameter("max_size=3", "--max-size 3"),
            "), or choose fewer",
        )
    classes = group(columns, n_threads=n_threads)
    first = classes.rows[classes.offsets[:-1]]
    single = (classes.sizes == 1).astype(np.uint8)
    # those with many values last, as the kernel splits by the last ones first
    order = sorted(range(m), key=lambda a: quasi[a].n_codes)
    codes = np.empty((m, len(first)), max((column.dtype for column in columns), default=np.dtype(np.uint8)))
    for i, a in enumerate(order):
        codes[i] = columns[a][first]
    nulls = np.array([quasi[a].n_values if quasi[a].has_null else -1 for a in order], np.int64)
    keys, masks = minimal_uniques(codes, nulls, single, max_size or m)
    sets = np.zeros(len(masks), np.uint64)
    for i, a in enumerate(order):
        sets |= (masks >> np.uint64(i) & np.uint64(1)) << np.uint64(a)
    return MinimalUniques(first[keys], sets, m, classes)


def weights(uniques: MinimalUniques, scores: Scores = "elliot") -> Floats:
    """What each MSU adds to its row's score, by its size s of m attributes.

    "elliot": (m - s)!; "ihsn": (2^(m - s) - 1) s! (m - s)!/m!, which is 0 for all m attributes.
    """
    if scores not in get_args(Scores):
        raise UsageError(f"scores={scores!r}: choose one of 'elliot', 'ihsn'")
    m = uniques.n_columns
    by_size = [0.0]
    for s in range(1, m + 1):
        if scores == "elliot":
            by_size.append(float(math.factorial(m - s)))
        else:
            by_size.append((2.0 ** (m - s) - 1) / math.comb(m, s))
    return np.array(by_size)[uniques.sizes]


def contributions(uniques: MinimalUniques, weight: Floats) -> Floats:
    """The percentage of the whole score that comes from MSUs with each attribute; they sum to over 100."""
    total = float(weight.sum())
    shares = [float(weight[uniques.has(a)].sum()) for a in range(uniques.n_columns)]
    return np.array([100 * share / total if total else 0.0 for share in shares])


def value_contributions(
    uniques: MinimalUniques, weight: Floats, column: int, codes: Codes, n_codes: int
) -> tuple[Floats, Floats]:
    """For each value of one attribute: the summed scores of the rows that have it, and the percentage of them
    that comes from MSUs with the attribute.
    """
    value = codes[uniques.rows]
    total = np.bincount(value, weight, n_codes).astype(np.float64)
    has = uniques.has(column)
    part = np.bincount(value[has], weight[has], n_codes).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return total, np.where(total > 0, 100 * part / np.where(total > 0, total, 1), 0.0)


def dis_fraction(classes: Classes, sampling_fraction: float) -> float:
    """The chance that a sample unique matches one person of the population (Skinner & Elliot 2002).

    U pi/(U pi + 2 P (1 - pi)), U unique rows and P pairs of rows that look alike; 0 without a unique row.
    """
    alone = int(np.count_nonzero(classes.sizes == 1))
    pairs = int(np.count_nonzero(classes.sizes == 2))
    if not alone:
        return 0.0
    return alone * sampling_fraction / (alone * sampling_fraction + 2 * pairs * (1 - sampling_fraction))


def dis_scores(scores: Floats, classes: Classes, n_columns: int, sampling_fraction: float) -> Floats:
    """The DIS-SUDA score of every row: its share of the DIS fraction, greater where its score is.

    A row without a score has 0.
    """
    dis = np.zeros(len(scores))
    has = scores > 0
    theta = dis_fraction(classes, sampling_fraction)
    if not has.any() or theta == 0:
        return dis
    alone = int(np.count_nonzero(classes.sizes == 1))
    q = 1 + (8 - n_columns) / 20
    # relative to the least score, so that no power overflows
    powered = (scores[has] / scores[has].min()) ** q
    dis[has] = 1 / (1 + (alone / theta - alone) / (powered * math.fsum(1 / powered)))
    return dis
