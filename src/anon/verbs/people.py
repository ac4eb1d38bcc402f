# SPDX-License-Identifier: Apache-2.0
"""How many people of a table of the population look like each row of another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, equal_rows, group, population_counts, refuse_smaller
from anon.encoding import Codes, Domain, encode, encode_like, encode_weights
from anon.errors import DataError, Parameter, UsageError
from anon.requirements import Requirement
from anon.schema import Schema
from anon.tables import as_written, read_source
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
    source = read_source(population)
    labels = [each.name for each in schema.quasi if each.kind in ("nominal", "ordinal")]
    people = as_written(source, [name for name in labels if name in source.table.column_names]).table
    quasi = Schema(schema.quasi)
    encoded = encode(people, quasi, n_threads=n_threads)
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
    if published.cells is None and codes is not None:
        raise _unknown(encoded.quasi, codes)
    if published.cells is None:
        raise UsageError(f"risk in a table of the population: {published.refusal}")
    inside = population_counts(published.cells, encoded.quasi_codes, n_threads)
    return published.classes, inside, None


def _unknown(domains: Sequence[Domain], codes: Sequence[Codes]) -> DataError:
    """The error for a table of values, some of which nobody in the population has."""
    wrong = [codes == domain.n_codes for domain, codes in zip(domains, codes, strict=True)]
    [name, unlike] = next(
        (domain.name, rows) for domain, rows in zip(domains, wrong, strict=True) if rows.any()
    )
    row, count = int(np.argmax(unlike)), int(np.count_nonzero(unlike))
    return DataError(
        f"column {name!r} has values that nobody in the population has in {count} rows, the first of them "
        f"row {row + 1}: the population does not hold the table, or these are midpoints, means or noise, "
        "which hide who is inside; give the population that the table was drawn from",
        column=name,
        row=row,
        count=count,
    )


def unmet_by_people(
    require: Sequence[Requirement],
    table: pa.Table | Scan,
    schema: Schema,
    metadata: Mapping[str, Any] | None,
    classes: Classes,
    n_threads: int = 1,
) -> tuple[str, ...]:
    """Those of the requirements on people, in words, that some class of a table does not meet.

    `classes` are the table's. UsageError where weights are asked for and the table has none, or where a
    requirement is decided only while a release is made.
    """
    missed = []
    weight = schema.sampling_weight
    for each in require:
        of_weights = None
        if each.people == "weights":
            if weight is None or weight not in table.column_names:
                raise UsageError(
                    f"{each}: nobody knows how many people a row stands for: name the column ",
                    Parameter("in the schema (sampling_weight=)", "with --sampling-weight"),
                )
            of_row = encode_weights(table, weight)[classes.rows]
            of_class = np.repeat(np.arange(classes.n_classes), classes.sizes)
            of_weights = np.maximum(np.bincount(of_class, of_row, classes.n_classes), classes.sizes)
        if each.people == "table" and each.by_levels:
            raise UsageError(
                f"{each}: the table alone cannot decide it: the population is recoded while a release is made"
            )
        if each.people == "table":
            population: Any = getattr(each, "population", None)
            alike, inside, _ = people_inside(table, schema, metadata, population, n_threads)
            refuse_smaller(alike, inside)
            passes = bool(each.enough(alike.sizes, inside.astype(np.float64)).all())
        elif each.by_levels:
            people = np.zeros(classes.n_classes) if of_weights is None else of_weights
            passes = each.holds_together(classes.sizes, people, 0)
        else:
            assert of_weights is not None
            passes = bool(each.enough(classes.sizes, of_weights).all())
        if not passes:
            missed.append(str(each))
    return tuple(missed)
