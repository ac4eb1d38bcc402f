# SPDX-License-Identifier: Apache-2.0
"""Whose each row is, and how many people it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.encoding.columns import rows
from anon.encoding.domain import Codes, Units, code_type
from anon.encoding.factors import Factors, each_column, factors_of
from anon.errors import DataError
from anon.schema import Attribute, check_names, value_type

if TYPE_CHECKING:
    from anon.tables import Scan


def encode_units(table: pa.Table | Scan, name: str) -> Units:
    """The unit of every row; DataError where there is no such column or, with the rows, one has none."""
    check_names([name], table.column_names)
    [(codes, n)] = each_column(table, [Attribute(name)], lambda factors, _: _numbered(factors), 1)
    missing = codes == n
    if missing.any():
        count, row = int(np.count_nonzero(missing)), int(np.argmax(missing))
        raise DataError(
            f"column {name!r}, the unit, is missing {rows(row, count)}; nobody knows whose these rows are: "
            "fill it, or leave them out",
            column=name,
            row=row,
            count=count,
        )
    return Units(name, codes, n)


def number_units(column: pa.ChunkedArray, name: str) -> tuple[Codes, int]:
    """A number for each value of a column, and how many there are, which is the code of a missing one."""
    return _numbered(factors_of(column, name))


def _numbered(factors: Factors) -> tuple[Codes, int]:
    """The number of each row's value among the distinct ones that occur; their count for a missing value."""
    used = factors.used()[:-1] & np.asarray(factors.values.is_valid())
    distinct = factors.values.take(pa.array(np.flatnonzero(used))).dictionary_encode()
    n = len(distinct.dictionary)
    code_of = np.full(len(factors.values) + 1, n, dtype=code_type(n + 1))
    code_of[:-1][used] = distinct.indices.to_numpy()
    return factors.recode(code_of), n


def check_shared(name: str, codes: Codes, units: Units) -> None:
    """Raise DataError unless all rows of each unit have one code of a household's column."""
    low = np.full(units.n, np.iinfo(np.int64).max)
    high = np.full(units.n, -1)
    np.minimum.at(low, units.codes, codes)
    np.maximum.at(high, units.codes, codes)
    count = int(np.count_nonzero(low != high))
    if count:
        row = int(np.argmax((low != high)[units.codes]))
        raise DataError(
            f"column {name!r} has several values in {count} {'household' if count == 1 else 'households'}, "
            f"the first in row {row + 1}; a column of household= is the same for all rows of one "
            f"{units.name!r}: correct it, or leave it out of household",
            column=name,
            row=row,
            count=count,
        )


def encode_weights(table: pa.Table | Scan, name: str) -> npt.NDArray[np.float64]:
    """The sampling weight of every row (float64); DataError unless all are above 0, their sum finite."""
    whole = table.select([name])
    column = (whole if isinstance(whole, pa.Table) else whole.whole()).column(name)
    plain = value_type(column.type)
    if not (pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain)):
        raise DataError(
            f"column {name!r}, the sampling weight, has type {plain}; cast it to numbers", column=name
        )
    numbers = np.asarray(pc.cast(column.cast(plain), pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    wrong = ~(np.isfinite(numbers) & (numbers > 0))
    if wrong.any():
        count, row = int(np.count_nonzero(wrong)), int(np.argmax(wrong))
        missing = int(np.count_nonzero(np.isnan(numbers)))
        raise DataError(
            f"column {name!r}, the sampling weight, is not a finite number above 0 {rows(row, count)}"
            f"{f' ({missing} missing)' if missing else ''}; correct these rows, or leave them out",
            column=name,
            row=row,
            count=count,
        )
    with np.errstate(over="ignore"):
        total = float(numbers.sum())
    if not np.isfinite(total):
        raise DataError(
            f"column {name!r}, the sampling weight, adds up to more than a float holds; divide it",
            column=name,
        )
    return numbers
