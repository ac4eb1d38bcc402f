# SPDX-License-Identifier: Apache-2.0
"""Benches of the measures of information loss, of a release and of its file."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon


@pytest.fixture(scope="module")
def census(n_rows: int) -> tuple[pa.Table, anon.Release]:
    """A synthetic census and its Mondrian release at k = 10."""
    table = anon.datasets.census(n_rows, 0)
    schema = anon.datasets.census_schema()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return table, anon.anonymize(table, schema, require=[anon.KAnonymity(10)])


def gcp_by_rows(release: anon.Release) -> float:
    """GCP of a release row by row in NumPy: every row looks its class's cells up."""
    classes = release.classes
    of_row = np.repeat(np.arange(classes.n_classes), classes.sizes)
    total = 0.0
    for cells in release.cells:
        cell, domain = cells.of_class[of_row], cells.domain
        empty = (cells.low > cells.high)[cell]
        low, high = (np.where(empty, 0, codes[cell]).astype(np.int64) for codes in (cells.low, cells.high))
        if domain.positions is not None:
            width = (domain.positions[high] - domain.positions[low]) / domain.positions[-1]
        elif cells.set_offsets is not None:
            width = (np.diff(cells.set_offsets)[cell] - 1) / (domain.n_values - 1)
        else:
            width = (high - low) / (domain.n_values - 1)
        total += np.where(empty, 0.0, np.where(cells.null[cell], 1.0, width)).sum()
    return float(total / (len(release.cells) * len(of_row)))


def test_utility(census: tuple[pa.Table, anon.Release], versus: Callable[..., float]) -> None:
    _, release = census
    utility = release.utility()
    assert utility.gcp == pytest.approx(gcp_by_rows(release))
    versus(
        f"every syntactic measure of a release of {release.n_rows:,} rows ({utility.n_classes:,} classes)",
        release.utility,
        "GCP alone, row by row in NumPy",
        lambda: gcp_by_rows(release),
    )


def test_compare(census: tuple[pa.Table, anon.Release], tmp_path: Path, versus: Callable[..., float]) -> None:
    table, release = census
    path = tmp_path / "release.parquet"
    release.write(path)
    assert anon.compare(table, path, release.encoded.schema) == release.utility()
    versus(
        f"compare a file of {release.n_rows:,} rows with its original",
        lambda: anon.compare(table, path, release.encoded.schema),
        "reading that file with pyarrow",
        lambda: pq.read_table(path),
    )
