# SPDX-License-Identifier: Apache-2.0
"""Seconds of processor time of `anon.risk` and `anon.suda`, one thread, and their ratio to a yardstick.

    python benches/measures/risk_speed.py ADULT_FOLDER [--people 1000000]

The yardstick is Arrow's count of rows per combination of the same columns (`group_by(…).aggregate`), on one
thread, interleaved with what is measured; of both the least of some runs is taken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import pyarrow as pa

import anon
from anon.datasets import adult, census

ADULT = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
CENSUS = [name.replace("-", "_") for name in ADULT]


def least(runs: int, *calls: Callable[[], object]) -> list[float]:
    """The least processor time of each call, interleaved."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(runs):
        for spent, call in zip(times, calls, strict=True):
            started = time.process_time()
            call()
            spent.append(time.process_time() - started)
    return [min(spent) for spent in times]


def measure(title: str, table: pa.Table, names: list[str], max_size: int, runs: int) -> None:
    schema = anon.Schema(names)

    def yardstick() -> pa.Table:
        return table.group_by(names, use_threads=False).aggregate([([], "count_all")])

    def risk() -> float:
        return anon.risk(table, schema, sampling_fraction=0.05, n_threads=1).expected

    def suda() -> object:
        return anon.suda(table, schema, max_size=max_size, n_threads=1)

    counted, risked, scored = least(runs, yardstick, risk, suda)
    print(f"{title}, {table.num_rows:,} rows, {len(names)} quasi-identifiers; Arrow's count {counted:.3f} s")
    print(f"  counts and individual risk {risked:.3f} s, {risked / counted:.2f} x the count")
    print(f"  SUDA2 with max_size={max_size} {scored:.3f} s, {scored / counted:.2f} x the count", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("adult")
    parser.add_argument("--people", type=int, default=1_000_000)
    asked = parser.parse_args(arguments)
    measure("Adult", adult(asked.adult), ADULT, 8, 5)
    measure("Census", census(asked.people), CENSUS, 4, 2)


if __name__ == "__main__":
    main(sys.argv[1:])
