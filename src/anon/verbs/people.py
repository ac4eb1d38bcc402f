# SPDX-License-Identifier: Apache-2.0
"""How many people of a table of the population look like each row of another table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, equal_rows, group, population_counts
from anon.encoding import encode, encode_like
from anon.errors import DataError, UsageError
from anon.schema import Schema
from anon.tables import read_table
from anon.verbs.foreign import generalized

if TYPE_CHECKING:
    from anon.tables import Scan


def people_inside(
    table: pa.Table | Scan,
    schema: Schema,
    metadata: Mapping[str, Any] | None,
    population: Any,
    n_threads: int = 1,
) -> tuple[Classes, npt.NDArray[np.int64], int | None]:
    """The classes of a table, the rows of the population inside the cells of each, and how many people are
    alone in the population.

    A table whose values are all those of the population is read as it stands; another one as a release of
    it, and then nobody is said to be alone (None).
    """
    people = read_table(population)
    quasi = Schema(schema.quasi)
    encoded = encode(people, quasi, empty=True, n_threads=n_threads)
    codes = None
    if metadata is None:
        try:
            codes = encode_like(table, encoded.quasi, n_threads)
        except DataError:
            codes = None  # text where the population has numbers: intervals
    if codes is not None and all(
        (column < domain.n_codes).all() for domain, column in zip(encoded.quasi, codes, strict=True)
    ):
        classes = group(codes, n_threads=n_threads)
        both = [
            np.concatenate([ours, theirs.astype(ours.dtype)])
            for ours, theirs in zip(codes, encoded.quasi_codes, strict=True)
        ]
        alone = int(np.count_nonzero(group(encoded.quasi_codes, n_threads=n_threads).sizes == 1))
        return classes, equal_rows(both, classes, n_threads), alone
    try:
        published, _ = generalized(encoded, table, metadata, n_threads)
    except DataError as error:
        raise DataError(
            f"the population does not hold the table: {error}", column=error.column, row=error.row
        ) from None
    if published.cells is None:
        raise UsageError(f"risk in a table of the population: {published.refusal}")
    inside = population_counts(published.cells, encoded.quasi_codes, n_threads)
    return published.classes, inside, None


def refuse_smaller(classes: Classes, inside: npt.NDArray[np.int64]) -> None:
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
