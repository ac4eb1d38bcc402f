# SPDX-License-Identifier: Apache-2.0
"""Squared error of `Curve(loss="sse")` as a share of exact MDAV's, and seconds, in one run.

python -m pytest benches/methods/test_microaggregation.py -m '' -s
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anon.datasets import adult, census
from anon.methods import Task
from anon.methods.squares import groups_of
from anoncore import mdav
from anoncore.requirement import Conjunction

DATA = Path(os.environ["ANON_DATA"])
ADULT = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
SIZES = (3, 5, 10)
EFFORTS: dict[Any, dict[int, float]] = {
    "balanced": dict.fromkeys(SIZES, 0.93),
    "best": {3: 0.87, 5: 0.86, 10: 0.86},
}


def numbers(table: Any, names: list[str]) -> Any:
    return np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])


def tables() -> dict[str, Any]:
    """Five tables of numbers over their population deviation."""
    rng = np.random.default_rng(1)
    people = census(20_000)
    size = np.exp(rng.normal(3, 1.5, 10_000))
    ratios = ((4, 0.8), (3, 0.5), (2, 1.0), (1, 1.2))
    firms = [
        np.round(size) + 1,
        *(np.round(size * np.exp(rng.normal(*each, len(size))), 1) for each in ratios),
    ]
    tail = rng.pareto(1.5, 4000) + 1
    few = rng.normal(size=(1080, 4)) @ rng.normal(size=(4, 13))
    found = {
        "Adult": numbers(adult(DATA / "adult"), ADULT),
        "census": numbers(people, [each.name for each in people.schema if str(each.type).startswith("int")]),
        "firms, log-normal": np.column_stack(firms),
        "firms, Pareto": np.column_stack(
            [tail * np.exp(rng.normal(0, s, 4000)) for s in (0.3, 0.6, 0.9, 1.2)]
        ),
        "normals": few + 0.7 * rng.normal(size=(1080, 13)),
    }
    varied = {name: points[:, points.std(axis=0) > 0] for name, points in found.items()}
    return {name: points / points.std(axis=0) for name, points in varied.items()}


def measured(points: Any, groups: Any) -> float:
    rows, offsets = groups
    return float(sum(len(part) * points[part].var(axis=0).sum() for part in np.split(rows, offsets[1:-1])))


@pytest.mark.slow
@pytest.mark.adult
def test_squared_error() -> None:
    shares: dict[Any, list[float]] = {}
    for name, points in tables().items():
        for k in SIZES:
            started = time.process_time()
            exact = measured(points, mdav.mdav(points, np.ones(points.shape[1]), k))
            line = f"{name}, {points.shape[0]:,} x {points.shape[1]}, k = {k}: MDAV {exact / points.size:.4f}"
            line += f" ({time.process_time() - started:.2f} s)"
            for effort in EFFORTS:
                task = Task(Conjunction([], len(points), [("size", k)]), np.random.default_rng(0), 2)
                wall, started = time.perf_counter(), time.process_time()
                groups = groups_of(points, k, effort, task)
                spent, wall = time.process_time() - started, time.perf_counter() - wall
                share = measured(points, groups) / exact
                shares.setdefault((effort, k), []).append(share)
                line += f", {effort} {share:.3f} ({spent:.2f} processor s, {wall:.2f} s on two threads)"
            print(line, flush=True)
    for (effort, k), each in shares.items():
        mean = float(np.exp(np.log(each).mean()))
        print(f"{effort}, k = {k}: geometric mean {mean:.3f}, greatest {max(each):.3f}")
        assert mean <= EFFORTS[effort][k]
        assert max(each) <= 0.98
