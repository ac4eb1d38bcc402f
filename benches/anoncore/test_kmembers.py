# SPDX-License-Identifier: Apache-2.0
"""Exact K-Members through the kd-tree against the plain quadratic algorithm, tuned."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from anon.classes.classes import group
from anon.datasets.people import census
from anon.datasets.uci import adult
from anon.methods.kmembers import records
from anoncore import kmembers
from anoncore.attribute import Attribute
from anoncore.diversity import Closeness

DATA = Path(os.environ["ANON_DATA"])
ADULT = "age workclass education-num marital-status race sex native-country hours-per-week"
CENSUS = "age workclass education_years marital_status race sex native_country hours_per_week"
K = 10
BLOCK = 512  # rows whose losses are summed before they are compared


def ordinal(table: pa.Table, names: str) -> list[npt.NDArray[np.uint8]]:
    """The columns as ranks of their sorted values, missing ones last, rows sorted by them."""
    columns = []
    for name in names.split():
        encoded = pc.dictionary_encode(table[name].combine_chunks())
        rank = pc.rank(encoded.dictionary).to_numpy() - 1
        codes = np.append(rank, len(rank))[
            pc.fill_null(encoded.indices, len(rank)).to_numpy(zero_copy_only=False)
        ]
        columns.append(codes.astype(np.uint8))
    rows = group(columns).rows
    return [codes[rows] for codes in columns]


def exact(columns: list[npt.NDArray[np.uint8]], sensitive: Any = None) -> Any:
    attributes = [Attribute(int(codes.max()) + 1, np.arange(codes.max() + 1.0)) for codes in columns]
    return kmembers.grow(*records(columns), attributes, K, 0, sensitive=sensitive)


@numba.njit(nogil=True)
def best(columns: Any, row_of: Any, n_live: int, widths: Any, sign: float, sums: Any) -> Any:
    """Position of the live row with the least sign * loss; ties: the lowest row."""
    least, at = np.inf, -1
    for start in range(0, n_live, BLOCK):
        end = min(start + BLOCK, n_live)
        for a in range(len(columns)):
            codes, width = columns[a, start:end], widths[a]
            if a == 0:
                for i in range(end - start):
                    sums[i] = width[codes[i]]
            else:
                for i in range(end - start):
                    sums[i] += width[codes[i]]
        here = np.inf
        for i in range(end - start):
            here = min(here, sign * sums[i])
        if here <= least:
            for i in range(end - start):
                if sign * sums[i] == here and (here < least or row_of[start + i] < row_of[at]):
                    least, at = here, start + i
    return at


@numba.njit(nogil=True)
def grow_plainly(columns: Any, spans: Any, k: int, start: int) -> Any:
    """K-Members on ordinal codes (attributes x rows): every live row is looked at in every step."""
    columns = columns.copy()
    m, n_live = columns.shape
    row_of = np.arange(n_live)
    members = np.empty((n_live // k, k), np.uint32)
    widths, sums = np.empty((m, int(spans.max()) + 1)), np.empty(BLOCK)
    seed = columns[:, start].astype(np.int64)
    low, high = seed.copy(), seed.copy()
    n_evaluations = 0
    for cluster in range(len(members)):
        low[:], high[:] = seed, seed
        for j in range(k):
            for a in range(m):
                for code in range(int(spans[a]) + 1):
                    widths[a, code] = (max(high[a], code) - min(low[a], code)) / spans[a]
            n_evaluations += n_live * m
            at = best(columns, row_of, n_live, widths, -1.0 if j == 0 else 1.0, sums)
            members[cluster, j] = row_of[at]
            if j == 0:
                seed[:] = columns[:, at]
                low[:], high[:] = seed, seed
            for a in range(m):
                low[a], high[a] = min(low[a], columns[a, at]), max(high[a], columns[a, at])
            n_live -= 1
            row_of[at] = row_of[n_live]
            columns[:, at] = columns[:, n_live]
    return members, n_evaluations


def plainly(columns: list[npt.NDArray[np.uint8]]) -> Any:
    spans = np.array([max(int(codes.max()), 1) for codes in columns], np.float64)
    return grow_plainly(np.stack(columns), spans, K, 0)


@pytest.fixture(scope="module")
def adults() -> list[npt.NDArray[np.uint8]]:
    return ordinal(adult(DATA / "adult"), ADULT)


@pytest.mark.slow
@pytest.mark.adult
def test_grow(versus: Callable[..., float], adults: Any, capsys: pytest.CaptureFixture[str]) -> None:
    plainly([codes[:100] for codes in adults])
    start = time.perf_counter()
    members, n_evaluations = plainly(adults)
    rate = n_evaluations / (time.perf_counter() - start)
    with capsys.disabled():
        print(f"\nplain K-Members (numba): {rate / 1e9:.2f}e9 evaluations per second (bar >= 1e9)")
    assert (exact(adults)[0] == members).all()
    versus(
        f"grow, {len(adults[0]):,} Adult rows, 8 ordinal attributes, k = {K}",
        lambda: exact(adults),
        "the plain algorithm, tuned (numba)",
        lambda: plainly(adults),
        bar=1 / 2,
    )


def test_grow_census(benchmark: Any, n_rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    """At most a twentieth of the plain algorithm's time, extrapolated as n**2 from a tenth of the rows."""
    part = ordinal(census(n_rows // 10), CENSUS)
    plainly([codes[:100] for codes in part])
    start = time.perf_counter()
    members, _ = plainly(part)
    plain = (time.perf_counter() - start) * 100
    assert (exact(part)[0] == members).all()
    columns = ordinal(census(n_rows), CENSUS)
    members, left, _ = benchmark.pedantic(exact, args=(columns,), rounds=1)
    assert len(np.unique(np.concatenate([members.ravel(), left]))) == n_rows
    own = benchmark.stats["mean"]
    benchmark.extra_info |= {"ratio": plain / own, "bar": 20}
    with capsys.disabled():
        print(
            f"\ngrow, {n_rows:,} census rows: {own:.1f} s | plain, extrapolated from {n_rows // 10:,}: "
            f"{plain:.0f} s | {plain / own:.0f} times faster (bar >= 20)"
        )


@pytest.mark.adult
def test_grow_for_protection(benchmark: Any, adults: Any) -> None:
    pay = np.random.default_rng(0).integers(0, 14, len(adults[0])).astype(np.uint8)
    codes, offsets, rows = records([pay])
    sensitive = [Closeness(Attribute(14, np.arange(14.0)), r=1.0)], codes.astype(np.int64), offsets, rows
    members, _, _ = benchmark.pedantic(exact, args=(adults, sensitive), rounds=1)
    spread = pay[members].max(axis=1).astype(int) - pay[members].min(axis=1)
    assert np.median(spread[: len(spread) // 4]) == 13  # later clusters have to do without the ends
