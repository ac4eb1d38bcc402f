# SPDX-License-Identifier: Apache-2.0
"""How long it takes to make a census, to write it, and to inspect it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from anon.datasets.people import census, write_census
from anon.verbs.inspect import identifying_neutral, inspect


def test_census(benchmark: Any, n_rows: int) -> None:
    """Promised: 10 M rows in less than 30 s."""
    table = benchmark.pedantic(census, args=(n_rows,), rounds=1)
    assert table.num_rows == n_rows
    assert pc.count_distinct(table["postcode"]).as_py() > 3_000


def test_write_census(versus: Callable[..., float], n_rows: int, tmp_path: Path) -> None:
    table = census(n_rows)
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    versus(
        f"write_census, {n_rows:,} rows",
        lambda: write_census(n_rows, 0, ours),
        "pyarrow.parquet.write_table of the finished table",
        lambda: pyarrow.parquet.write_table(table, theirs),
        rounds=1,
    )
    assert pyarrow.parquet.read_metadata(ours).num_rows == n_rows


def test_inspect(versus: Callable[..., float], n_rows: int) -> None:
    table = census(n_rows)
    inspection = inspect(table)
    assert [column.n_distinct for column in inspection.columns[:2]] == [74, 2]
    versus(
        f"inspect, {n_rows:,} rows, 15 columns",
        lambda: inspect(table),
        "pyarrow.compute.count_distinct of the same columns",
        lambda: [pc.count_distinct(column) for column in table.columns],
        rounds=1,
    )


def test_identifying_neutral(versus: Callable[..., float], n_rows: int) -> None:
    table = census(n_rows)
    assert identifying_neutral(table, table.column_names) == []
    versus(
        f"identifying_neutral, {n_rows:,} rows, 15 columns",
        lambda: identifying_neutral(table, table.column_names),
        "pyarrow.compute.count_distinct of the same columns",
        lambda: [pc.count_distinct(column) for column in table.columns],
        rounds=1,
    )
    assert identifying_neutral(pa.table({"id": range(n_rows)}), ["id"]) == ["id"]
