# SPDX-License-Identifier: Apache-2.0
"""Persons with several rows, where nobody said whose a row is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes
from anon.encoding import Units, number_units
from anon.measures import units_of_classes
from anon.requirements import Requirement
from anon.schema import Role, Schema, is_text, role_of_name, value_type
from anon.verbs.inspect import inspect

if TYPE_CHECKING:
    from anon.tables import Scan

SAMPLE = 1 << 17  # rows, class by class, in which a column is looked for that repeats inside classes


def notes_on_repeats(
    table: pa.Table | Scan,
    schema: Schema,
    classes: Classes,
    require: Sequence[Requirement],
    n_threads: int = 1,
) -> list[str]:
    """Warnings of columns that tell people apart and repeat inside classes, so that k counts some twice.

    `classes` are those of the rows of `table`, which still has its identifying columns. Of a table that
    stays in its files only the first rows are looked at.
    """
    k = max((each.least_rows or 0 for each in require), default=0)
    if schema.unit is not None or k < 2 or not classes.n_classes:
        return []
    taken = {attribute.name for attribute in (*schema.quasi, *schema.sensitive)}
    kept_back = set(schema.identifying)
    names = [
        name
        for name in table.column_names
        if name not in taken and (name in kept_back or role_of_name(name) is Role.IDENTIFYING)
    ]
    columns, of_rows = pa.table({}), ""
    if isinstance(table, pa.Table):
        columns = table.select(names)
    elif names:
        columns = table.select(names).head()
        of_rows = f" in the first {columns.num_rows} rows"
        inside = classes.rows < columns.num_rows
        sizes = np.add.reduceat(inside.astype(np.int64), classes.offsets[:-1])
        offsets = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
        classes = Classes(classes.rows[inside], offsets, classes.suppressed)
    notes = []
    for name in names:
        column = columns.column(name)
        if not (is_text(value_type(column.type)) or pa.types.is_integer(value_type(column.type))):
            continue
        few = _first(classes, SAMPLE)
        persons = _persons(column, few, n_threads)
        if (persons == few.sizes).all():
            continue
        if role_of_name(name) is not Role.IDENTIFYING and not _is_key(table, name, schema):
            continue
        if of_rows:
            fact = f"several rows of one class belong to the same{of_rows}"
        else:
            persons = _persons(column, classes, n_threads)
            if persons.min() >= k:
                continue
            fact = (
                f"counted by it the release has k = {persons.min()}, {np.count_nonzero(persons < k)} of "
                f"{classes.n_classes} classes have fewer than {k}, {np.count_nonzero(persons == 1)} have one"
            )
        notes.append(
            f"column {name!r} repeats inside classes, and k counts rows: {fact}; if it tells people apart, "
            f"name it as the unit (unit={name!r} or --unit {name}), and k counts them"
        )
    return notes


def _is_key(table: pa.Table | Scan, name: str, schema: Schema) -> bool:
    """Does a column that is merely kept back look like a key of people, beside what is known of them?

    That is, rows of one value agree as those of one person do; a state or a grade is kept back, too.
    """
    columns = table.select(list(dict.fromkeys([name, *(each.name for each in schema.quasi)])))
    some = columns.slice(0, SAMPLE) if isinstance(columns, pa.Table) else columns.head()
    return inspect(some).columns[0].role == Role.IDENTIFYING.value


def _first(classes: Classes, n_rows: int) -> Classes:
    """The first classes, of about so many rows."""
    n = max(int(np.searchsorted(classes.offsets, n_rows, side="right")) - 1, 1)
    return Classes(classes.rows[: classes.offsets[n]], classes.offsets[: n + 1], classes.suppressed)


def _persons(column: pa.ChunkedArray, classes: Classes, n_threads: int) -> npt.NDArray[np.int64]:
    """How many different values each class has; every missing one is another."""
    taken = column.take(pa.array(classes.rows))
    codes, n = number_units(taken, "")
    missing = codes == n
    if missing.any():
        codes = codes.astype(np.uint32)
        codes[missing] = n + np.arange(np.count_nonzero(missing))
    rows = np.arange(len(codes), dtype=np.uint32)
    within = Classes(rows, classes.offsets, classes.suppressed)
    return units_of_classes(within, Units("", codes, n), n_threads)
