# SPDX-License-Identifier: Apache-2.0
"""Curve: its kernels, and the whole method against Mondrian in time and in loss."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from anon import KAnonymity, KMembers, Mondrian, anonymize
from anon.classes.classes import Classes
from anon.datasets.people import census
from anon.datasets.uci import adult
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.measures import answers, workload
from anon.methods import curve as method
from anon.methods import hilbert, mondrian
from anon.methods.curve import Curve
from anon.methods.repair import pack, widths_of
from anon.methods.task import Task
from anon.schema.attribute import nominal, numeric, ordinal
from anon.schema.schema import Schema
from anoncore import curve
from anoncore.requirement import Conjunction

DATA = Path(os.environ["ANON_DATA"])
ADULT = "age workclass education-num marital-status race sex native-country hours-per-week"
CENSUS = "age workclass education_years marital_status race sex native_country hours_per_week"
K = 10
Versus = Callable[..., float]


def as_encoded(table: pa.Table, names: str, *, sets: bool) -> Encoded:
    """Eight quasi-identifiers: all ordinal in sorted order, or five of them sets and three numeric."""

    def attribute(name: str) -> Any:
        if not sets:
            return ordinal(name, sorted(set(table[name].to_pylist()) - {None}))
        return numeric(name) if pa.types.is_integer(table.schema.field(name).type) else nominal(name)

    schema = Schema(quasi=[attribute(name) for name in names.split()], sensitive=["occupation"])
    return encode(table, schema)


@pytest.fixture(scope="module")
def tables(n_rows: int) -> dict[str, Encoded]:
    """A census, and Adult where its files are there, with ordinal attributes and with sets."""
    sources = [(f"census {n_rows:,}", census(n_rows), CENSUS)]
    if (DATA / "adult").exists():
        sources.append(("Adult", adult(DATA / "adult"), ADULT))
    return {
        f"{name}, {'sets' if sets else 'ordinal'}": as_encoded(table, names, sets=sets)
        for name, table, names in sources
        for sets in (False, True)
    }


@pytest.fixture(scope="module")
def people(tables: dict[str, Encoded]) -> Encoded:
    """The census with ordinal attributes."""
    return next(table for name, table in tables.items() if name.startswith("census") and "ordinal" in name)


def task(table: Encoded, k: int, *rules: tuple[Any, ...]) -> Task:
    counts = [np.bincount(table.sensitive_codes[0], minlength=table.sensitive[0].n_codes).astype(np.int64)]
    return Task(Conjunction(counts, table.n_rows, [("size", k), *rules]), np.random.default_rng(0), 2)


def gcp(table: Encoded, classes: Classes) -> float:
    """NCP of the mean cell, computed apart from the kernels under test."""
    starts, sizes, total = classes.offsets[:-1], classes.sizes, 0.0
    for domain, codes in zip(table.quasi, table.quasi_codes, strict=True):
        arranged = codes[classes.rows].astype(np.int64)
        null = arranged == domain.n_values
        n_nulls = np.add.reduceat(null, starts)
        if domain.positions is not None:
            place = np.append(domain.positions, np.nan)[arranged]
            low, high = np.fmin.reduceat(place, starts), np.fmax.reduceat(place, starts)
            width = np.nan_to_num(high - low) / domain.positions[-1]
        else:
            class_of_row = np.repeat(np.arange(len(starts)), sizes)
            present = np.unique(class_of_row[~null] * domain.n_codes + arranged[~null]) // domain.n_codes
            width = np.maximum(np.bincount(present, minlength=len(starts)) - 1, 0) / (domain.n_values - 1)
        width[(n_nulls > 0) & (n_nulls < sizes)] = 1
        total += float((width * sizes).sum())
    return total / len(classes.rows) / len(table.quasi)


def by_mondrian(table: Encoded, job: Task) -> Classes:
    return mondrian.partition(table, mondrian.Mondrian(), job)


@pytest.mark.parametrize(("effort", "bar"), [("balanced", 20), ("best", 200)])
@pytest.mark.parametrize("kind", ["ordinal", "sets"])
def test_time(versus: Versus, tables: dict[str, Encoded], kind: str, effort: Any, bar: float) -> None:
    name, table = next(item for item in tables.items() if item[0].startswith("census") and kind in item[0])
    job = task(table, K)
    versus(
        f"Curve({effort!r}), {name}, k = {K}, 2 threads",
        lambda: method.partition(table, Curve(effort), job, K),
        "Mondrian's kernel, 2 threads",
        lambda: by_mondrian(table, job),
        bar=bar,
    )


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize("k", [5, 10, 50])
@pytest.mark.parametrize("rules", ["k", "l = 3", "t = 0.2"])
def test_loss(
    benchmark: Any,
    tables: dict[str, Encoded],
    capsys: pytest.CaptureFixture[str],
    k: int,
    rules: str,
) -> None:
    extra = {"k": [], "l = 3": [("share", 0, Fraction(1, 3))], "t = 0.2": [("js", 0, 0.2)]}[rules]
    lines = []
    for name, table in tables.items():
        job = task(table, k, *extra)
        ours = gcp(table, method.partition(table, Curve(), job, k))
        best = gcp(table, method.partition(table, Curve("best"), job, k))
        theirs = gcp(table, by_mondrian(table, job))
        lines.append(
            f"{name}, k = {k}, {rules}: GCP {ours:.5f} (best {best:.5f}) | Mondrian {theirs:.5f} | "
            f"ratio {ours / theirs:.3f}"
        )
        assert ours < theirs
    table = tables["Adult, ordinal"]
    job = task(table, k, *extra)
    benchmark.pedantic(lambda: method.partition(table, Curve(), job, k), rounds=1)
    with capsys.disabled():
        print("\n" + "\n".join(lines))


def test_growth(benchmark: Any, n_rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    def seconds(n: int) -> float:
        table = as_encoded(census(n), CENSUS, sets=False)
        job = task(table, K)
        start = time.perf_counter()
        assert method.partition(table, Curve(), job, K).sizes.min() >= K
        return time.perf_counter() - start

    small = seconds(n_rows // 10)
    large = benchmark.pedantic(seconds, args=(n_rows,), rounds=1)
    with capsys.disabled():
        print(
            f"\nCurve, {n_rows // 10:,} rows {small:.2f} s, {n_rows:,} rows {large:.2f} s: "
            f"{large / small:.1f} times"
        )


@pytest.fixture(scope="module")
def arranged(people: Encoded) -> tuple[npt.NDArray[Any], curve.Widths, hilbert.Axes, npt.NDArray[np.int32]]:
    """Codes in curve order, widths, axes, and the records of the first 65,536 rows."""
    axes = hilbert.Axes.of(people, "ncp")
    rows = hilbert.curve_order(people, axes, "rank", 1)
    codes = pack([column[rows] for column in people.quasi_codes])
    widths = widths_of(people.quasi)
    return (
        codes,
        widths,
        axes,
        curve.place(widths, codes, np.arange(min(len(rows), 1 << 16), dtype=np.uint32)),
    )


def test_hilbert(benchmark: Any, people: Encoded, arranged: Any) -> None:
    axes = arranged[2]
    keys = benchmark(axes.keys, people.quasi_codes)
    assert len(np.unique(keys)) > people.n_rows / 100


def test_sort_rows(versus: Versus, n_rows: int) -> None:
    keys = np.random.default_rng(0).integers(0, 2**63, n_rows).astype(np.uint64)
    rows = np.arange(n_rows, dtype=np.uint32)
    assert (curve.sort_rows(keys, rows) == np.argsort(keys, kind="stable")).all()
    versus(
        f"sort_rows, {n_rows:,} 64-bit keys",
        lambda: curve.sort_rows(keys, rows),
        f"numpy {np.__version__} argsort(kind='stable')",
        lambda: np.argsort(keys, kind="stable"),
        bar=1.0,
    )


def test_place(benchmark: Any, arranged: Any) -> None:
    codes, widths, _, _ = arranged
    records = benchmark(curve.place, widths, codes, np.arange(len(codes), dtype=np.uint32))
    assert len(records) == len(codes)


def test_cut(benchmark: Any, arranged: Any) -> None:
    _, widths, _, records = arranged
    offsets = benchmark(curve.cut, widths, records, K, 2 * K - 1)
    assert K <= np.diff(offsets).min() <= np.diff(offsets).max() < 2 * K


def test_centers(benchmark: Any, arranged: Any) -> None:
    codes, _, axes, _ = arranged
    rows = np.arange(len(codes), dtype=np.uint32)
    offsets = np.append(np.arange(0, len(codes) - K, K), len(codes))
    grid = np.concatenate(axes.grids).clip(max=255).astype(np.uint8)
    places = benchmark(curve.centers, codes, rows, offsets, grid, hilbert.starts_of(axes.grids))
    assert len(places) == len(offsets) - 1


def test_refine(benchmark: Any, arranged: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _, widths, _, records = arranged
    offsets = curve.cut(widths, records, K, 2 * K - 1)
    _, _, before, after = benchmark(curve.refine, widths, records, offsets, K, 2 * K - 1, 90)
    assert after < before
    with capsys.disabled():
        print(f"\none pass over {len(records):,} rows: loss {after / before:.3f} of what it was")


@pytest.mark.adult
@pytest.mark.parametrize("preset", ["loukides-1", "loukides-2"])
def test_count_queries(benchmark: Any, capsys: pytest.CaptureFixture[str], preset: str) -> None:
    """Average relative error of 1,000 COUNT queries at k = 10: Curve's lies below Mondrian's."""
    table = adult(DATA / "adult")
    quasi = ["age", "workclass", "race", "sex", "native-country", "salary-class"]
    schema, require = Schema(quasi=quasi, sensitive=["occupation"]), [KAnonymity(10)]

    def error(method: Any) -> float:
        release = anonymize(table, schema, require=require, method=method)
        queries = workload.preset(release.encoded, preset, n=1000)
        return float(answers.answer(queries, release).average)

    errors = {"Mondrian": error(Mondrian()), "K-Members": error(KMembers())}
    errors["Curve"] = benchmark.pedantic(error, (Curve(),), rounds=1)
    with capsys.disabled():
        print(f"\n{preset}, Adult, k = 10: " + ", ".join(f"{name} {e:.2f} %" for name, e in errors.items()))
    assert errors["Curve"] < errors["Mondrian"]
