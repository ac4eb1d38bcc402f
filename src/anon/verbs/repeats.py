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
from anon.schema import IDENTIFYING_SHARE, Role, Schema, is_text, role_of_name, value_type
from anon.verbs.inspect import inspected_columns

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
    kept_back = set(schema.identifying)
    roles = {name: schema.role(name) for name in table.column_names}
    by_name = {name for name in roles if role_of_name(name) is Role.IDENTIFYING}
    names = [
        name
        for name, role in roles.items()
        if role not in (Role.QUASI, Role.SENSITIVE)
        and (name in kept_back or name in by_name or role is Role.NEUTRAL)
        and _may_tell_people(table, name)
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
    few = _first(classes, SAMPLE)
    names = [name for name in names if (_persons(columns.column(name), few, n_threads) < few.sizes).any()]
    keys = by_name | _keys(table, [name for name in names if name not in by_name], schema)
    notes = []
    for name in (name for name in names if name in keys):
        if of_rows:
            fact = f"several rows of one class belong to the same{of_rows}"
        else:
            persons = _persons(columns.column(name), classes, n_threads)
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


def _may_tell_people(table: pa.Table | Scan, name: str) -> bool:
    kind = value_type(table.schema.field(name).type)
    return is_text(kind) or bool(pa.types.is_integer(kind))


def _keys(table: pa.Table | Scan, names: Sequence[str], schema: Schema) -> set[str]:
    """Those of some columns that look like keys of people, beside what is known of them.

    That is, rows of one value agree as those of one person do; a state or a grade is kept back, too.
    """
    if not names:
        return set()
    columns = table.select([*names, *(each.name for each in schema.quasi)])
    some = columns.slice(0, SAMPLE) if isinstance(columns, pa.Table) else columns.head()
    guessed = inspected_columns(some, some.schema)[: len(names)]
    return {
        column.name
        for column in guessed
        if column.role == Role.IDENTIFYING.value and (column.distinct_share or 0) <= IDENTIFYING_SHARE
    }


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
