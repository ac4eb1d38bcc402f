# SPDX-License-Identifier: Apache-2.0
"""Which sets of columns tell the rows of a table apart: what to take as quasi-identifiers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import group, group_numbers
from anon.encoding import Codes, label_codes
from anon.errors import DataError, Parameter, UsageError
from anon.html import Table, bar_figure, number, result_html
from anon.schema import check_names, kind_of
from anon.tables import read_source
from anon.threads import available_threads, in_threads

MOST_SETS = 100_000


@dataclass(frozen=True)
class ColumnSet:
    """How well the columns together tell rows apart; a missing value is one more value.

    `distinction` is the share of rows that could be told by their values, distinct combinations over rows;
    `separation` the share of pairs of rows that differ in some of the columns; `unique` that of the rows
    which are alone with their values.
    """

    columns: tuple[str, ...]
    distinction: float
    separation: float
    unique: float


@dataclass(frozen=True, repr=False)
class Discovery:
    """Every set of columns up to a size, in the order of the table; `not_counted` are columns of lists and
    structs, which have no values to count.
    """

    n_rows: int
    sets: tuple[ColumnSet, ...]
    not_counted: tuple[str, ...] = ()

    def most(self, n: int = 20, size: int | None = None) -> tuple[ColumnSet, ...]:
        """The n sets (of `size` columns) that tell most rows apart: by distinction, then fewest columns."""
        listed = [each for each in self.sets if size in (None, len(each.columns))]
        return tuple(sorted(listed, key=lambda each: (-each.distinction, len(each.columns)))[: max(n, 0)])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "not_counted": list(self.not_counted),
            "sets": [
                {
                    "columns": list(each.columns),
                    "distinction": each.distinction,
                    "separation": each.separation,
                    "unique": each.unique,
                }
                for each in self.sets
            ],
        }

    def _repr_html_(self) -> str:
        most = self.most()
        words = f"{len(self.sets):,} sets of columns of {number(self.n_rows)} rows."
        if most:
            words += (
                f" {', '.join(most[0].columns)} tells most rows apart: alone with their values are "
                f"{number(most[0].unique)} of them, as a share."
            )
        if self.not_counted:
            words += f" Not counted: {', '.join(self.not_counted)}."
        header = ("columns", "distinction", "separation", "unique")
        rows = tuple(
            (", ".join(each.columns), each.distinction, each.separation, each.unique) for each in most
        )
        return result_html(
            words,
            bar_figure(
                "Distinct combinations, as a share of the rows", {row[0]: row[1] for row in rows[:10]}, high=1
            ),
            Table("The sets that tell most rows apart", header, rows),
        )

    def __repr__(self) -> str:
        return f"Discovery(n_rows={self.n_rows}, sets={len(self.sets)})"


def discover(
    source: Any,
    columns: Sequence[str] | None = None,
    *,
    max_size: int = 2,
    n_threads: int | None = None,
) -> Discovery:
    """Distinction and separation of every set of up to `max_size` columns (Motwani & Xu 2007).

    Columns (default: all that have values to count) that are taken together are quasi-identifiers where
    somebody may know them of a person; the figures say how much they then tell.

    Raises
    ------
    UsageError
        A size below 1, or so many sets that it would take too long.
    DataError
        A column is not there.
    """
    threads = available_threads(n_threads)
    table = read_source(source).table
    names, not_counted = list(table.column_names if columns is None else columns), []
    check_names(names, table.column_names)
    for name in list(names):
        try:
            kind_of(name, table.schema.field(name).type)
        except DataError:
            if columns is not None:
                raise
            names.remove(name)
            not_counted.append(name)
    if not isinstance(max_size, int) or max_size < 1:
        raise UsageError(f"max_size = {max_size}: sets have at least one column")
    n_sets = sum(math.comb(len(names), size) for size in range(1, max_size + 1))
    if n_sets > MOST_SETS:
        raise UsageError(
            f"{len(names)} columns have {n_sets} sets of up to {max_size}, more than {MOST_SETS}: bound "
            "their size (",
            Parameter(f"max_size={max_size - 1}", f"--max-size {max_size - 1}"),
            "), or name fewer columns",
        )
    codes = [column for column, _ in label_codes(table, names, threads)]

    def below(first: int) -> list[tuple[tuple[int, ...], ColumnSet]]:
        return list(_sets(names, codes, first, max_size))

    sets = [one for part in in_threads(threads, below, range(len(names))) for one in part]
    sets.sort(key=lambda one: (len(one[0]), one[0]))
    return Discovery(table.num_rows, tuple(each for _, each in sets), tuple(not_counted))


def _sets(
    names: Sequence[str], codes: Sequence[Codes], first: int, max_size: int
) -> Iterator[tuple[tuple[int, ...], ColumnSet]]:
    """The sets whose first column is the one of that number, depth first."""
    start = group([codes[first]])
    stack: list[tuple[tuple[int, ...], npt.NDArray[np.uint32], npt.NDArray[np.int64]]] = [
        ((first,), group_numbers(start.rows, start.offsets), start.sizes)
    ]
    while stack:
        chosen, numbers, sizes = stack.pop()
        yield chosen, _measured(tuple(names[a] for a in chosen), sizes)
        if len(chosen) == max_size:
            continue
        for a in range(chosen[-1] + 1, len(codes)):
            classes = group([numbers, codes[a]])
            last = len(chosen) + 1 == max_size
            next_numbers = numbers if last else group_numbers(classes.rows, classes.offsets)
            stack.append(((*chosen, a), next_numbers, classes.sizes))


def _measured(columns: tuple[str, ...], sizes: npt.NDArray[np.int64]) -> ColumnSet:
    n = int(sizes.sum())
    alike = float(sizes.astype(np.float64) @ (sizes - 1.0))
    pairs = n * (n - 1.0)
    return ColumnSet(
        columns,
        len(sizes) / n,
        1 - alike / pairs if pairs else 1.0,
        int(np.count_nonzero(sizes == 1)) / n,
    )


def as_table(sets: Sequence[ColumnSet]) -> pa.Table:
    """Sets as a table: `columns` (joined by commas), `size`, `distinction`, `separation`, `unique`."""
    return pa.table(
        {
            "columns": [", ".join(each.columns) for each in sets],
            "size": [len(each.columns) for each in sets],
            "distinction": [each.distinction for each in sets],
            "separation": [each.separation for each in sets],
            "unique": [each.unique for each in sets],
        }
    )
