# SPDX-License-Identifier: Apache-2.0
"""Seconds of processor time of `FullDomain` on one thread, and their ratio to a yardstick.

    python benches/methods/full_domain_speed.py ADULT_FOLDER [--rows 45222 ...] [--census 1000000 ...]

Adult's seven quasi-identifiers with ARX's hierarchies (2,160 nodes), k = 10. Larger tables are Adult's rows
drawn again and again, one cell of each from the same column of another row; and the synthetic census, nearly
every row of which is alone at first (eight quasi-identifiers, 2,304 nodes). The yardstick is Arrow's count of
rows per combination of the same columns (`group_by(…).aggregate`) on one thread, interleaved; of both the
least of some runs.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

import anon
from anon.datasets import adult, census

NAMES = ["age", "education", "marital-status", "native-country", "race", "sex", "workclass"]
CENSUS = anon.Schema(
    [
        anon.numeric("age", anon.intervals(5, 10, 20, 40)),
        *("workclass", "education", "marital_status", "occupation", "race", "sex"),
        anon.nominal("postcode", anon.prefix(4, 3, 2, 1)),
    ]
)
JOBS = {
    "limit-0": (0.0, anon.FullDomain()),
    "limit-5": (0.05, anon.FullDomain()),
    "iterated": (0.05, anon.FullDomain(iterate=0.01)),
}


def people(folder: str, n_rows: int) -> pa.Table:
    table = adult(folder).select(NAMES)
    if n_rows == table.num_rows:
        return table
    rng = np.random.default_rng(0)
    rows, others = rng.integers(0, table.num_rows, (2, n_rows))
    redrawn = rng.integers(0, len(NAMES), n_rows)
    return pa.table(
        {
            name: table[name].dictionary_encode().take(pa.array(np.where(redrawn == a, others, rows)))
            for a, name in enumerate(NAMES)
        }
    )


def least(runs: int, *calls: Callable[[], object]) -> list[float]:
    """The least processor time of each call, interleaved."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(runs):
        for spent, call in zip(times, calls, strict=True):
            started = time.process_time()
            call()
            spent.append(time.process_time() - started)
    return [min(spent) for spent in times]


def measure(title: str, table: pa.Table, schema: anon.Schema, only: list[str]) -> None:
    names = [attribute.name for attribute in schema.quasi]
    calls = [
        partial(
            anon.anonymize,
            table,
            schema,
            require=[anon.KAnonymity(10)],
            method=JOBS[name][1],
            suppress=JOBS[name][0],
            n_threads=1,
        )
        for name in only
    ]

    def yardstick() -> pa.Table:
        return table.group_by(names, use_threads=False).aggregate([([], "count_all")])

    counted, *spent = least(5 if table.num_rows < 100_000 else 1, yardstick, *calls)
    print(f"{title}, {table.num_rows:,} rows; Arrow's count {counted:.3f} s")
    for name, seconds in zip(only, spent, strict=True):
        print(f"  {name}: {seconds:.3f} s, {seconds / counted:.1f} x the count", flush=True)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  memory so far at most {most:.2f} GiB", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("adult")
    parser.add_argument("--rows", type=int, nargs="+", default=[45_222, 1_000_000])
    parser.add_argument("--census", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    asked = parser.parse_args(arguments)
    schema = anon.Schema([anon.nominal(name, f"{asked.adult}/hierarchies/{name}.csv") for name in NAMES])
    for n_rows in asked.rows:
        measure("Adult", people(asked.adult, n_rows), schema, asked.only)
    for n_rows in asked.census:
        measure("Census", census(n_rows), CENSUS, asked.only)


if __name__ == "__main__":
    warnings.simplefilter("ignore", anon.PrivacyWarning)
    main(sys.argv[1:])
