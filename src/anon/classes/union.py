# SPDX-License-Identifier: Apache-2.0
"""A table and the population that it was drawn from, in the codes of both together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes.classes import Classes, equal_rows
from anon.classes.generalized import Cells, population_counts
from anon.classes.generalized import cells as cells_of
from anon.classes.label import to_levels
from anon.encoding import Codes, Encoded, encode
from anon.errors import DataError
from anon.schema import Schema, check_names
from anon.tables import as_written, read_source

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Union:
    """`encoded` has the quasi-identifiers of the table's `n_rows` rows, then those of the population.

    A value that only one of the two has gets its place in the other's cells.
    """

    encoded: Encoded
    n_rows: int

    @property
    def n_people(self) -> int:
        """People of the population."""
        return self.encoded.n_rows - self.n_rows

    @property
    def people(self) -> list[Codes]:
        """The codes of the population, a column for each quasi-identifier."""
        return [codes[self.n_rows :] for codes in self.encoded.quasi_codes]

    def cells(self, classes: Classes, by_level: bool = False, n_threads: int = 1) -> tuple[Cells, ...]:
        """What classes of the table's rows show; with `by_level` numbers as sets of their levels."""
        cells = cells_of(self.encoded, classes, n_threads)
        if not by_level:
            return cells
        return tuple(to_levels(one) if one.domain.kind == "numeric" else one for one in cells)

    def inside(self, cells: Sequence[Cells], n_threads: int = 1) -> Counts:
        """The people inside the cells of each class (int64)."""
        return population_counts(cells, self.people, n_threads)

    def equal(self, classes: Classes, n_threads: int = 1) -> Counts:
        """The people who equal the rows of each class of equal rows, before least levels, top and bottom."""
        return equal_rows(self.encoded.original.quasi_codes, classes, n_threads)


def union_of(encoded: Encoded, population: object, n_threads: int = 1) -> Union:
    """The table and a population, anything that `read_source` takes, encoded as one.

    DataError where the population lacks a column, has other types, or values that a hierarchy lacks.
    """
    quasi = encoded.schema.quasi
    names = [attribute.name for attribute in quasi]
    try:
        source = read_source(population)
    except DataError as error:
        raise DataError(f"the population: {error}", column=error.column, row=error.row) from None
    check_names(names, source.table.column_names)
    labels = [attribute.name for attribute in quasi if attribute.kind != "numeric"]
    people = as_written(source, labels).table
    ours, theirs = encoded.table.select(names), people.select(names)
    ours, theirs = (each if isinstance(each, pa.Table) else each.whole() for each in (ours, theirs))
    try:
        both = pa.concat_tables([ours, theirs.cast(ours.schema)])
    except pa.ArrowException:
        raise DataError(
            "the population's quasi-identifiers have other types than the table's; convert them first"
        ) from None
    try:
        return Union(encode(both, Schema(quasi), n_threads=n_threads), ours.num_rows)
    except DataError as error:
        row = None if error.row is None else error.row - ours.num_rows
        if row is None or row < 0:
            raise
        raise DataError(
            f"column {error.column!r} of the population holds values that the table's hierarchy, order or "
            f"kind does not allow, the first in row {row + 1}; correct them, or leave these people out",
            column=error.column,
            row=row,
            count=error.count,
        ) from None


def refuse_smaller(classes: Classes, inside: Counts) -> None:
    """Raise DataError where some class has more rows than the population has people that look like them."""
    short = inside < classes.sizes
    if short.any():
        row = int(classes.rows[classes.offsets[:-1][short]].min())
        raise DataError(
            f"{int(np.count_nonzero(short))} classes have more rows in the table than people in the "
            f"population, the first of them that of row {row + 1}: the population does not hold the table; "
            "give the one that the table was drawn from",
            row=row,
            count=int(np.count_nonzero(short)),
        )
