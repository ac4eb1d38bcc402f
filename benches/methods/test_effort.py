# SPDX-License-Identifier: Apache-2.0
"""What `effort` gives and costs: GCP as a share of Mondrian's, and seconds, in one run on the same tables."""

from __future__ import annotations

import os
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anon import Curve, Mondrian, Schema, nominal, numeric, ordinal, prefix
from anon.classes import Classes
from anon.datasets import adult, census, census_schema
from anon.encoding import Encoded, encode
from anon.methods import Method, Task
from anon.methods.repair import pack, widths_of
from anoncore import curve, recut
from anoncore.requirement import Conjunction

DATA = Path(os.environ["ANON_DATA"])
ADULT = "age workclass education-num marital-status race sex native-country hours-per-week"
L3, T2 = ("share", 0, Fraction(1, 3)), ("js", 0, 0.2)
BOTH = [T2, ("js", 1, 0.2)]
# Rows (0: those of the run; skipped where it has fewer), k, what else is required, and the bars of balanced
# and best, if any.
CENSUS: tuple[tuple[int, int, str, list[Any], float | None, float | None], ...] = (
    (0, 10, "", [], 0.85, 0.77),
    (0, 100, "", [], 0.80, 0.73),
    (0, 10, "l = 3", [L3], 0.70, 0.55),
    (0, 10, "t = 0.2", [T2], 0.92, 0.78),
    (0, 10, "t = 0.2 of both", BOTH, 0.93, 0.88),
    (50_000, 10, "", [], 0.84, None),
    (50_000, 100, "", [], 0.82, None),
    (50_000, 10, "l = 3", [L3], 0.74, None),
    (50_000, 10, "t = 0.2", [T2], 0.84, None),
)


def task(table: Encoded, k: int, rules: list[Any]) -> Task:
    counts = [
        np.bincount(codes, minlength=domain.n_codes).astype(np.int64)
        for codes, domain in zip(table.sensitive_codes, table.sensitive, strict=True)
    ]
    return Task(Conjunction(counts, table.n_rows, [("size", k), *rules]), np.random.default_rng(0), 2)


def gcp(table: Encoded, classes: Classes) -> float:
    """NCP of the mean cell, of equally weighted attributes."""
    widths = widths_of(table.quasi)
    records = curve.place(widths, pack(table.quasi_codes), classes.rows)
    *_, loss, _ = recut.divide(widths, records, classes.offsets, table.n_rows + 1)
    return float(loss / (len(classes.rows) * len(table.quasi) * (2**28 // len(table.quasi))))


def compare(name: str, table: Encoded, k: int, rules: list[Any], bars: tuple[float | None, ...]) -> str:
    """A line: loss and seconds of every effort."""

    def made(method: Method) -> tuple[float, float]:
        start = time.perf_counter()
        classes = method.classes(table, task(table, k, rules), k)
        return gcp(table, classes), time.perf_counter() - start

    simple, seconds = made(Mondrian())
    words = [f"{name}: fast {simple:.4f} in {seconds:.2f} s"]
    for effort, bar in zip(("balanced", "best"), bars, strict=True):
        loss, seconds = made(Curve(effort))  # type: ignore[arg-type]
        promise = "" if bar is None else f", bar {bar:.2f}"
        words.append(f"{effort} {loss:.4f} in {seconds:.2f} s (ratio {loss / simple:.3f}{promise})")
        assert loss <= simple * (1 + 1e-7)
    return " | ".join(words)


@pytest.mark.parametrize(("n", "k", "rule", "rules", "balanced", "best"), CENSUS)
def test_census(
    benchmark: Any,
    n_rows: int,
    capsys: pytest.CaptureFixture[str],
    n: int,
    k: int,
    rule: str,
    rules: list[Any],
    balanced: float | None,
    best: float | None,
) -> None:
    if n > n_rows:
        pytest.skip(f"--rows {n_rows} are fewer than {n}")
    table = encode(census(n or n_rows), census_schema())
    name = f"census {table.n_rows:,}, k = {k}, {rule or 'k alone'}"
    line = benchmark.pedantic(compare, (name, table, k, rules, (balanced, best)), rounds=1)
    with capsys.disabled():
        print(f"\n{line}")


def test_three_attributes(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    quasi = [numeric("age"), nominal("sex"), nominal("postcode", hierarchy=prefix(4, 3, 2, 1))]
    table = encode(census(20_000).select(["age", "sex", "postcode"]), Schema(quasi=quasi))
    name = "census 20,000, age, sex, postcode, k = 10"
    line = benchmark.pedantic(compare, (name, table, 10, [], (0.91, None)), rounds=1)
    with capsys.disabled():
        print(f"\n{line}")


@pytest.mark.adult
@pytest.mark.parametrize("k", [5, 10, 50])
@pytest.mark.parametrize("sets", [False, True], ids=["ordinal", "sets"])
def test_adult(benchmark: Any, capsys: pytest.CaptureFixture[str], k: int, sets: bool) -> None:
    source = adult(DATA / "adult")
    kinds = {"age": numeric, "education-num": numeric, "hours-per-week": numeric}
    quasi = [
        kinds.get(name, nominal)(name)
        if sets
        else ordinal(name, sorted(set(source[name].to_pylist()) - {None}))
        for name in ADULT.split()
    ]
    table = encode(source, Schema(quasi=quasi, sensitive=["occupation"]))
    name = f"Adult, {'sets' if sets else 'ordinal'}, k = {k}"
    line = benchmark.pedantic(compare, (name, table, k, [], (None, None)), rounds=1)
    with capsys.disabled():
        print(f"\n{line}")
