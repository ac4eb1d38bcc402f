# SPDX-License-Identifier: Apache-2.0
"""Released rows held against the original ones of the same id."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, Published, measures, reach
from anon.encoding import Codes, Domain, Encoded, encode_column, encode_like
from anon.errors import DataError, UsageError
from anon.measures import Aligned, Numbers, as_floats, numbers_from
from anon.schema import Attribute, Role, check_names, is_measurable, kind_of, value_type
from anon.verbs.foreign import shows_numbers


def matched(encoded: Encoded, table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """The row of the original that each row of the release is, by a column that tells rows apart."""
    role = encoded.schema.role(name)
    if role is not None and role is not Role.NEUTRAL:
        what = f"column {name!r} is {role.value}"
        raise UsageError(f"{what}; rows are matched by a neutral column of both tables")
    check_names([name], encoded.table.column_names)
    check_names([name], table.column_names)
    column = encoded.column(name)
    kind_of(name, column.type)
    _refuse_ids(name, np.asarray(column.is_null()), "no id", "original")
    _refuse_ids(name, np.asarray(table[name].is_null()), "no id", "release")
    domain, codes = encode_column(column, Attribute(name, "nominal"))
    [there] = encode_like(table.select([name]), [domain])
    _refuse_ids(name, codes == domain.n_values, "no id", "original")
    _refuse_ids(name, np.bincount(codes)[codes] > 1, "an id that is repeated", "original")
    _refuse_ids(name, there >= domain.n_values, "an id that the original lacks", "release")
    _refuse_ids(name, np.bincount(there)[there] > 1, "an id that is repeated", "release")
    return np.argsort(codes)[there]


def _refuse_ids(name: str, wrong: npt.NDArray[np.bool_], what: str, where: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise DataError(
            f"column {name!r} of the {where} has {what} in {len(rows)} rows, the first in row "
            f"{rows[0] + 1}; rows are matched by ids that each stand once",
            column=name,
            row=int(rows[0]),
            count=len(rows),
        )


def aligned(
    published: Published, row_cells: Sequence[Cells] | None, table: pa.Table, rows: npt.NDArray[np.int64]
) -> Aligned:
    """What the matched rows tell: those of `table`, with cells `row_cells`, are `rows` of the original."""
    original = published.original
    outside: dict[str, float | None] = {}
    error: dict[str, float | None] = {}
    for i, (domain, codes) in enumerate(zip(original.quasi, original.quasi_codes, strict=True)):
        cells = None if row_cells is None else row_cells[i]
        outside[domain.name] = None if cells is None else 1 - _share(_inside(cells, codes[rows]))
        if domain.kind == "numeric":
            error[domain.name] = _error(domain, codes[rows], cells, published.by_level, table)
    changed: dict[str, float | None] = {}
    for domain, codes in zip(original.sensitive, original.sensitive_codes, strict=True):
        changed[domain.name] = None
        if published.intact is None and domain.name in table.column_names:
            [there] = encode_like(table, [domain])
            changed[domain.name] = _share(there != codes[rows])
    return Aligned(len(rows), outside, error, changed)


def _share(marked: npt.NDArray[np.bool_]) -> float:
    return int(np.count_nonzero(marked)) / max(len(marked), 1)


def _inside(cells: Cells, codes: Codes) -> npt.NDArray[np.bool_]:
    """Does the cell of each row (`of_class`) hold the row's code?"""
    domain, cell = cells.domain, cells.of_class.astype(np.int64)
    inside = (cells.low[cell] <= codes) & (codes <= cells.high[cell])
    if cells.set_offsets is not None and cells.set_codes is not None:
        of_set = np.repeat(np.arange(len(cells.low)), np.diff(cells.set_offsets))
        inside = np.isin(cell * domain.n_codes + codes, of_set * domain.n_codes + cells.set_codes)
    return np.where(codes == domain.n_values, cells.null[cell], inside)


def _error(
    domain: Domain, codes: Codes, cells: Cells | None, by_level: bool, table: pa.Table
) -> float | None:
    """Mean distance between the values of rows and the middles of their cells, or the numbers they show."""
    assert domain.positions is not None
    per_unit = measures(domain.values)[1]
    if cells is not None:
        lower, upper = reach(cells, by_level) or (np.empty(0), np.empty(0))
        numbers = ((lower + upper) / 2 / per_unit)[cells.of_class]
        known = (cells.low <= cells.high)[cells.of_class]
    elif domain.name in table.column_names and shows_numbers(table, [domain.name]):
        column, first = table[domain.name], domain.values.slice(0, 1)
        known = ~np.asarray(column.is_null())
        numbers = as_floats(column, first.type) - as_floats(first, first.type)
    else:
        return None
    known = known & (codes < domain.n_values)
    away = np.abs(numbers[known] - domain.positions[codes[known]] / per_unit)
    return math.fsum(away) / len(away) if len(away) else None


def numbers_compared(
    encoded: Encoded, table: pa.Table, names: Sequence[str], row: npt.NDArray[np.int64] | None
) -> Numbers | None:
    """What became of these columns of the original that the release shows by numbers; None where of none.

    `row` is the row of the original that each row of the release is, if anybody knows.
    """
    shown = [name for name in names if name in table.column_names and shows_numbers(table, [name])]
    shown = [name for name in shown if is_measurable(value_type(encoded.table.schema.field(name).type))]
    if not shown:
        return None
    before = [encoded.column(name) for name in shown]
    kinds = [value_type(column.type) for column in before]
    return numbers_from(
        shown,
        [as_floats(column, kind) for column, kind in zip(before, kinds, strict=True)],
        [as_floats(table[name], kind) for name, kind in zip(shown, kinds, strict=True)],
        row,
    )
