# SPDX-License-Identifier: Apache-2.0
"""Sweeps: Li & Li's figures on Adult, and 32 points on a census: of Mondrian, with the memory they take, and
of Mondrian and Curve, beside as many calls of `anonymize`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anon
from anon.choice.configuration import as_configurations
from anon.measures.workload import random_queries

N_THREADS = 2
DATA = Path(os.environ["ANON_DATA"]) / "adult"
KS = "k=10,50,100,200,500,1000,2000,5000"
LS = "l=3.0,3.5,4.0,4.25,4.5,4.75,5.0,5.5"
TS = "t=0.075,0.1,0.15,0.2,0.25,0.3,0.35,0.4"
DELTAS = "delta=1.0,1.2,1.4,1.5,1.7,1.9,2.0,2.1"


def adult_schema() -> anon.Schema:
    files = DATA / "hierarchies"
    names = ("workclass", "education", "marital-status", "race", "sex")
    return anon.Schema(
        [
            anon.numeric("age", hierarchy=str(files / "age.csv")),
            *(anon.nominal(name, hierarchy=str(files / f"{name}.csv")) for name in names),
        ],
        ["occupation"],
    )


def timed(benchmark: Any, capsys: Any, what: str, bar: float, run: Callable[[], Any]) -> Any:
    """Run once, and print the seconds beside the bar."""
    measured = benchmark.pedantic(run, rounds=1)
    with capsys.disabled():
        print(f"\n{what}: {benchmark.stats['min']:.2f} s on {N_THREADS} threads (bar <= {bar:g} s)")
    return measured


@pytest.mark.adult
def test_figure_2a(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """4 requirements x 8 parameters, P_loss and U_loss of each; also prints how the time divides."""
    table = anon.datasets.adult(DATA)
    swept = timed(
        *(benchmark, capsys, "figure 2(a), 34 points", 10),
        lambda: anon.frontier(table, adult_schema(), [KS, LS, TS, DELTAS], n_threads=N_THREADS),
    )
    assert {point.requirement for point in swept.efficient} >= {"t-closeness", "trivial", "original"}
    with capsys.disabled():
        for point in swept.points:
            mark = "efficient" if point.efficient else ""
            print(f"  {point.name:38} P_loss {point.privacy:.4f}  U_loss {point.utility:.5f}  {mark}")


@pytest.mark.adult
def test_figures_2b_and_3(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Both ways of publishing; query errors by requirement, by selectivity, by number of attributes."""
    table, schema = anon.datasets.adult(DATA), adult_schema()

    def sweep(grids: list[str], qd: int, sel: float) -> anon.Frontier:
        return anon.frontier(
            table,
            schema,
            grids,
            utility="count_error",
            workload=lambda encoded: random_queries(encoded, qd, sel),
            n_threads=N_THREADS,
        )

    def run() -> list[anon.Frontier]:
        both = "publish=generalization,bucketization"
        buckets = [f"{TS} publish=bucketization"]
        return [
            anon.frontier(table, schema, [f"{LS} {both}", f"{TS} {both}"], n_threads=N_THREADS),
            sweep([KS, LS, TS, DELTAS], 4, 0.05),
            *(sweep(buckets, 4, sel) for sel in (0.03, 0.05, 0.07, 0.1)),
            *(sweep(buckets, qd, 0.05) for qd in (2, 3, 4, 5, 6)),
        ]

    swept = timed(benchmark, capsys, "figures 2(b) and 3, 11 sweeps, 150 points", 20, run)
    by_way: dict[str, list[float]] = {}
    for point in swept[0].points[:-2]:
        by_way.setdefault(point.parameters["publish"], []).append(point.utility)
    better = sum(b <= g for g, b in zip(by_way["generalization"], by_way["bucketization"], strict=True))
    with capsys.disabled():
        print(f"  bucketization loses no more than generalization in {better} of 16 pairs")


CENSUS = """
import json, sys, time
import anon

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

n_rows, n_threads = map(int, sys.argv[1:])
table, schema = anon.datasets.census(n_rows, 0), anon.datasets.census_schema()
asked = ["k=" + ",".join(str(k) for k in range(10, 330, 10))]
anon.frontier(table.slice(0, 1000), schema, "k=10", utility="gcp", n_threads=n_threads)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before, start = status("VmRSS"), time.perf_counter()
swept = anon.frontier(table, schema, asked, utility="gcp", n_threads=n_threads)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "bytes": (status("VmHWM") - before) / n_rows / n_threads,
                  "points": len(swept.points)}))
"""


def test_32_points_of_a_census(benchmark: Any, capsys: pytest.CaptureFixture[str], n_rows: int) -> None:
    """K = 10, 20, ... 320 with P_loss and GCP, in a process of its own: seconds, and peak memory."""
    measured = benchmark.pedantic(
        lambda: json.loads(
            subprocess.run(
                [sys.executable, "-c", CENSUS, str(n_rows), str(N_THREADS)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        ),
        rounds=1,
    )
    assert measured["points"] == 34
    with capsys.disabled():
        print(
            f"\n32 Mondrian points, {n_rows:,} rows: {measured['seconds']:.1f} s on {N_THREADS} threads "
            f"(bar <= 40 s for 1,000,000), above the process before {measured['bytes']:.0f} bytes per row "
            "and worker (bar <= 64)"
        )


def test_32_points_of_mondrian_and_curve(
    benchmark: Any, capsys: pytest.CaptureFixture[str], n_rows: int
) -> None:
    """K = 2 ... 200, with and without l = 3, by both methods: seconds, and as a share of 32 single calls."""
    table, schema = anon.datasets.census(n_rows, 0), anon.datasets.census_schema()
    ks = "k=2,5,10,20,50,100,150,200 method=mondrian,curve"
    asked = as_configurations([ks, f"{ks} l=3"])

    def single() -> float:
        start = time.process_time()
        for one in asked:
            release = anon.anonymize(
                table, schema, require=one.require, method=one.method, n_threads=N_THREADS
            )
            assert release.privacy().prosecutor.mean
            assert release.utility().gcp
        return time.process_time() - start

    def swept() -> tuple[float, float]:
        start, processor = time.perf_counter(), time.process_time()
        assert len(anon.frontier(table, schema, asked, n_threads=N_THREADS).efficient) > 2
        return time.perf_counter() - start, time.process_time() - processor

    seconds, processor = benchmark.pedantic(swept, rounds=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        alone = single()
    with capsys.disabled():
        print(
            f"\n32 points, 16 of them Curve, {n_rows:,} rows: {seconds:.1f} s on {N_THREADS} threads, "
            f"{processor:.1f} of one (bar <= 60 s for 1,000,000), {processor / alone:.2f} of 32 single calls"
        )
