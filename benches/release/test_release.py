# SPDX-License-Identifier: Apache-2.0
"""What it costs to recode, verify and write a release whose classes are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anon.classes.classes import Classes
from anon.classes.generalized import Cells
from anon.encoding.domain import Domain, Encoded
from anon.release.recheck import recheck
from anon.release.recoding import recode
from anon.release.release import Release
from anon.schema import Schema


class KAnonymity:
    """Known to the re-check by its name."""

    k = 10


def known(n: int) -> tuple[Encoded, Classes, list[Cells]]:
    """A table of 15 columns, 8 of them quasi-identifiers, and classes of 10 to 19 rows."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(10, 20, n // 10 + 1)
    offsets = np.minimum(np.concatenate([[0], np.cumsum(sizes)]), n)
    offsets = offsets[: np.searchsorted(offsets, n) + 1]
    if offsets[-1] - offsets[-2] < 10:
        offsets = np.delete(offsets, -2)
    n_classes = len(offsets) - 1
    of_row = np.repeat(np.arange(n_classes), np.diff(offsets))
    rows = rng.permutation(n).astype(np.uint32)
    names, domains, codes, cells = [], [], [], []
    columns: dict[str, Any] = {}
    for number, n_values in enumerate((75, 9, 16, 7, 15, 6, 42, 2)):
        name = f"q{number}"
        numeric = number in (0, 4, 6)
        words = pa.array(range(n_values)) if numeric else pa.array([f"label {c:02}" for c in range(n_values)])
        center = rng.integers(0, n_values, n_classes)
        code = np.empty(n, dtype=np.uint8)
        code[rows] = np.clip(center[of_row] + rng.integers(0, 3, n), 0, n_values - 1)
        positions = np.arange(n_values, dtype=np.float64) if numeric else None
        domain = Domain(name, "numeric" if numeric else "nominal", words, False, positions, numeric)
        names.append(name)
        domains.append(domain)
        codes.append(code)
        cells.append(boxes(domain, code[rows], offsets))
        plain = words.take(pa.array(code))
        columns[name] = (
            plain if numeric else pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), words)
        )
    words = pa.array([f"word {number}" for number in range(1000)])
    for number in range(3):
        columns[f"n{number}"] = rng.integers(0, 100_000, n)
    columns["f"] = rng.normal(size=n)
    for number in range(2):
        columns[f"w{number}"] = pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, 1000, n).astype(np.int32)), words
        )
    columns["s"] = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 14, n).astype(np.int32)), words[:14]
    )
    encoded = Encoded(
        pa.table(columns),
        Schema([d.name for d in domains]),
        tuple(domains),
        tuple(codes),
        (),
        (),
        np.empty(0, dtype=np.uint32),
    )
    return encoded, Classes(rows, offsets.astype(np.int64), encoded.suppressed), cells


def boxes(domain: Domain, ordered: Any, offsets: Any) -> Cells:
    """Bounding boxes, or sets of at most 64 labels as bits."""
    low = np.minimum.reduceat(ordered, offsets[:-1]).astype(np.uint32)
    high = np.maximum.reduceat(ordered, offsets[:-1]).astype(np.uint32)
    bits = np.left_shift(1, ordered.astype(np.int64))
    in_class = np.bitwise_or.reduceat(bits, offsets[:-1]) if domain.kind == "nominal" else np.zeros_like(low)
    _, first, of_class = np.unique(
        np.stack([low.astype(np.int64), high, in_class]), axis=1, return_index=True, return_inverse=True
    )
    null = np.zeros(len(first), dtype=np.bool_)
    sets = [[c for c in range(64) if mask >> c & 1] for mask in in_class[first].tolist()]
    flat = domain.kind == "nominal"
    return Cells(
        domain,
        of_class.ravel().astype(np.uint32),
        low[first],
        high[first],
        null,
        np.cumsum([0, *map(len, sets)]) if flat else None,
        np.array([code for codes in sets for code in codes], dtype=np.uint32) if flat else None,
    )


@pytest.fixture(scope="module")
def table(n_rows: int) -> tuple[Encoded, Classes, list[Cells]]:
    return known(n_rows)


@pytest.fixture(scope="module")
def release(table: tuple[Encoded, Classes, list[Cells]]) -> Release:
    return recode(*table)


def group_by(encoded: Encoded) -> Callable[[], Any]:
    import polars

    codes = polars.DataFrame(
        {domain.name: code for domain, code in zip(encoded.quasi, encoded.quasi_codes, strict=True)}
    )
    return lambda: codes.group_by(codes.columns).len()


def test_recheck(table: Any, release: Release, n_rows: int, versus: Callable[..., float]) -> None:
    """Every published cell read back, every row inside it, k-anonymity: 8 quasi-identifiers."""
    encoded = table[0]

    def ours() -> None:
        recheck(encoded, release.classes, release.columns, [KAnonymity()])

    versus(
        f"re-check of {n_rows} rows, 8 QIs", ours, "polars group_by(8 uint8 columns).len()", group_by(encoded)
    )


def test_recode(table: Any, n_rows: int, versus: Callable[..., float]) -> None:
    """Labels, order and re-check, from classes and cells."""
    versus(
        f"recode {n_rows} rows, 8 QIs, re-check included",
        lambda: recode(*table, [KAnonymity()]),
        "polars group_by(8 uint8 columns).len()",
        group_by(table[0]),
    )


def test_write(release: Release, n_rows: int, tmp_path: Path, versus: Callable[..., float]) -> None:
    """From a release that was never put together in memory to a file, against writing the input."""
    encoded = release.encoded
    source = tmp_path / "in.parquet"
    pq.write_table(encoded.table.cast(plain(encoded.table.schema)), source)

    def copy() -> None:
        pq.write_table(pq.read_table(source), tmp_path / "copy.parquet")

    path = tmp_path / "out.parquet"
    versus(
        f"write {n_rows} rows x 15 columns",
        lambda: release.write(path),
        "pyarrow read_table + write_table",
        copy,
    )
    assert pq.read_metadata(path).num_rows == n_rows


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema without dictionaries."""
    fields = [(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema]
    return pa.schema(fields)
