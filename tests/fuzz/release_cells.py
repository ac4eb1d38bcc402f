# SPDX-License-Identifier: Apache-2.0
"""Cells of releases: any text as a cell of attributes of every kind, of ours and of another tool."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from decimal import Decimal

import pyarrow as pa

import anon
from anon.classes.reading import Cell, reader
from anon.encoding.table import encode
from anon.errors import AnonError
from anon.verbs.foreign import _foreign_reader

TREE = {"*": {"N": ["a", "b, c"], "S": ["d", "missing"]}}
COLUMNS = {
    "int": ([1, 2, 30, None], anon.numeric("int", anon.intervals(5, 20))),
    "float": ([-1e300, 0.1, 5e-324], anon.numeric("float")),
    "decimal": ([Decimal("1.50"), Decimal("-2.25")], anon.numeric("decimal")),
    "date": ([dt.date(2020, 1, 1), dt.date(2021, 5, 6)], anon.numeric("date", anon.dates("month", "year"))),
    "time": ([dt.datetime(2020, 1, 1, 3, 4, 5), dt.datetime(1969, 1, 1)], anon.numeric("time")),
    "clock": ([dt.time(1, 2, 3), dt.time(23, 59)], anon.numeric("clock")),
    "span": ([dt.timedelta(seconds=5), dt.timedelta(days=-3)], anon.numeric("span")),
    "rank": (["l", "m", "h h"], anon.ordinal("rank", ["l", "m", "h h"])),
    "text": (["a", "", "b, c", "{", '"'], anon.nominal("text")),
    "tree": (["a", "b, c", "d", None], anon.nominal("tree", TREE)),
    "zip": (["021", "022", "100"], anon.nominal("zip", anon.prefix(2, 1))),
}
ENCODED = [
    encode(pa.table({name: values}), anon.Schema([attribute]), n_threads=1)
    for name, (values, attribute) in COLUMNS.items()
]
DOMAINS = [each.quasi[0] for each in ENCODED]
READERS = [reader(domain) for domain in DOMAINS]
FOREIGN = [_foreign_reader(each.quasi[0], each.schema.quasi[0].hierarchy) for each in ENCODED]


def target(data: bytes) -> None:
    """Read the text; the first byte says for which attribute."""
    which = data[0] % len(DOMAINS) if data else 0
    text = data[1:].decode("utf-8", "replace")
    for read in (READERS[which], FOREIGN[which]):
        with suppress(AnonError):
            _check(read(text), DOMAINS[which].n_values)


def _check(cell: Cell, n_values: int) -> None:
    """Codes of a cell are codes of the domain."""
    if cell.low <= cell.high:
        assert cell.low >= 0
        assert cell.high < n_values
    if cell.codes is not None:
        assert all(0 <= code < n_values for code in cell.codes)
