# SPDX-License-Identifier: Apache-2.0
"""Recut: its two kernels on Mondrian's classes of a census with its hierarchies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from anon.datasets import census, census_schema
from anon.encoding import encode
from anon.methods import mondrian
from anon.methods.repair import pack, sensitive_of, widths_of
from anon.methods.task import Task
from anoncore import curve, recut
from anoncore.requirement import Conjunction

K = 10
Start = tuple[curve.Widths, npt.NDArray[np.int32], npt.NDArray[np.int64], Conjunction, npt.NDArray[np.int32]]


@pytest.fixture(scope="module")
def start(n_rows: int) -> Start:
    """Widths, records and offsets of Mondrian's classes under k = 10 and l = 3 on occupation."""
    table = encode(census(min(n_rows, 200_000)), census_schema())
    counts = [
        np.bincount(codes, minlength=domain.n_codes).astype(np.int64)
        for codes, domain in zip(table.sensitive_codes, table.sensitive, strict=True)
    ]
    rules = Conjunction(counts, table.n_rows, [("size", K), ("share", 0, 1 / 3)])
    task = Task(rules, np.random.default_rng(0), 2)
    classes = mondrian.partition(table, mondrian.Mondrian(), task)
    widths = widths_of(table.quasi)
    records = curve.place(widths, pack(table.quasi_codes), classes.rows)
    return widths, records, classes.offsets, rules, sensitive_of(table, classes.rows)


@pytest.mark.parametrize("ruled", [False, True], ids=["k", "l = 3"])
def test_divide(benchmark: Any, start: Start, ruled: bool) -> None:
    widths, records, offsets, *rules = start
    rest = rules if ruled else []
    *_, before, after = benchmark(recut.divide, widths, records, offsets, K, *rest)
    assert after < before


@pytest.mark.parametrize("ruled", [False, True], ids=["k", "l = 3"])
def test_recut(benchmark: Any, start: Start, capsys: pytest.CaptureFixture[str], ruled: bool) -> None:
    """A pass along Mondrian's own order of the classes, as one block."""
    widths, records, offsets, *rules = start
    rest = rules if ruled else []
    *_, before, after = benchmark(recut.recut, widths, records, offsets, K, 95, *rest)
    assert after < before
    with capsys.disabled():
        print(f"\none recut of {len(records):,} rows: loss {after / before:.3f} of what it was")
