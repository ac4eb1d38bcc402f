# SPDX-License-Identifier: Apache-2.0
"""The groups that the methods of Loukides & Shao form, and what is measured of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from anon.classes import Classes, Published, cells, counts_of, merge
from anon.encoding import Encoded, encode
from anon.engines import Judged
from anon.measures import answer, measure_privacy, measure_utility, preset
from anon.methods import TGC, KMembers, Method, Mondrian, Task
from anon.papers import Setting
from anon.requirements import KAnonymity
from anon.schema import Schema
from anon.threads import available_threads
from anoncore.threads import in_threads

Row = dict[str, Any]


TGCS = {"TGCU": (1.0, 0.0), "TGCB": (0.5, 0.5), "TGCP": (0.0, 1.0)}


PRINTED = " as printed"


METHODS: dict[str, Method] = {
    "Mondrian": Mondrian(cuts="median"),
    "K-Members": KMembers(),
    "K-Members-p": KMembers("protection"),
    **{name: TGC(*weights) for name, weights in TGCS.items()},
    **{name + PRINTED: TGC(*weights, variant="printed") for name, weights in TGCS.items()},
}


K = 5


DELTAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SUBSPACES = (5, 10, 15, 20, 25, 50, 100, 500, 1000)


CARDINALITIES = (500, 1000, 2000, 5000, 10_000)


TIMED_SUBSPACES = (10, 25, 50, 100, 200, 300, 400, 500, 1000, 2500, 5000, 10_000)


def _classes(encoded: Encoded, method: Method, k: int) -> Classes:
    """The groups that a method forms by one thread, those with equal cells apart."""
    task = Task(Judged.whole(encoded).rules([KAnonymity(k)]), np.random.default_rng(0), 1)
    return method.classes(encoded, task, k)


def grouped(encoded: Encoded, method: Method, k: int) -> Published:
    """The groups as if they were published; `anonymize` would merge those with equal cells."""
    classes = _classes(encoded, method, k)
    counts = counts_of(encoded, classes, n_threads=1)
    return Published(encoded, classes, counts, cells(encoded, classes, 1), k_asked=k, n_threads=1)


def quality_of(published: Published, r: float = 1.0) -> Row:
    utility = measure_utility(published, r=r)
    merged = merge(published.classes, published.cells or ())[0].sizes
    return {
        "UM": utility.um,
        "UM by rows": utility.um_rows,
        "PM": utility.pm,
        "DM": utility.dm,
        "DM, equal cells merged": int(merged @ merged),
        "wtd": utility.avg_wtd,
        "classes": utility.n_classes,
    }


def adult_measures(setting: Setting, people: Encoded) -> Callable[[Published], Row]:
    """Quality and the errors of both workloads, which are drawn once."""
    n = 1000 if setting.quick else None
    workloads = {i: preset(people, f"loukides-{i}", n=n) for i in (1, 2)}

    def measure(published: Published) -> Row:
        errors = {f"error {i} (%)": answer(workload, published).average for i, workload in workloads.items()}
        return quality_of(published) | errors

    return measure


def diversity_of(published: Published) -> Row:
    original = published.original
    privacy = measure_privacy(published.classes, original.sensitive, original.sensitive_codes, joint=False)
    return {"c": privacy.ls_c, "l": privacy.ls_l, "PM": measure_utility(published).pm}


def every_method(
    setting: Setting,
    stage: str,
    encoded: Encoded,
    ks: Sequence[int],
    measure: Callable[[Published], Row],
) -> list[Row]:
    """Every method at every k."""
    points = [(name, k) for name in METHODS for k in ks]
    measured = side_by_side(
        setting, stage, [(encoded, METHODS[name], k) for name, k in points], lambda one, _: measure(one)
    )
    return [{"method": name, "k": k} | row for (name, k), row in zip(points, measured, strict=True)]


def side_by_side(
    setting: Setting,
    stage: str,
    runs: Sequence[tuple[Encoded, Method, int]],
    measure: Callable[[Published, int], Row],
) -> list[Row]:
    """`measure(groups, i)` of the groups of each run i, the runs side by side in threads: each takes one."""
    return in_threads(
        lambda i: measure(grouped(*runs[i]), i),
        [(i,) for i in range(len(runs))],
        available_threads(setting.n_threads),
        lambda done: setting.tell(stage, done, len(runs)),
    )


def sampled(setting: Setting, encoded: Encoded) -> list[Row]:
    """Figure 5: algorithm 1 with every δ, on the table and on a sample with replacement of 2.5 % of it."""
    drawn = np.random.default_rng(0).integers(encoded.n_rows, size=max(encoded.n_rows // 40, 20 * K))
    sample = replace(
        encoded,
        table=pa.table({name: encoded.column(name).take(drawn) for name in encoded.table.column_names}),
        quasi_codes=tuple(codes[drawn] for codes in encoded.quasi_codes),
        sensitive_codes=tuple(codes[drawn] for codes in encoded.sensitive_codes),
    )
    data = {"dataset": encoded, "sample": sample}
    points = [(delta, name) for delta in DELTAS for name in data]
    methods = {delta: TGC(delta=delta, prepartition=False, variant="printed") for delta in DELTAS}
    qualities = side_by_side(
        setting,
        "figure 5",
        [(data[name], methods[delta], K) for delta, name in points],
        lambda one, _: quality_of(one),
    )
    return [
        {"δ": delta, "measure": f"{measure}, {name}", "value": quality[measure]}
        for (delta, name), quality in zip(points, qualities, strict=True)
        for measure in ("UM", "PM")
    ]


def of_subspaces(setting: Setting, encoded: Encoded) -> list[Row]:
    """Figures 15 and 16: TGCB at k = 5 with subspaces of at least s rows."""
    sizes = [*(s for s in SUBSPACES if s < encoded.n_rows), encoded.n_rows]
    return side_by_side(
        setting,
        "figures 15 and 16",
        [(encoded, TGC(s=s), K) for s in sizes],
        lambda one, i: {"s": sizes[i]} | quality_of(one),
    )


def timed(setting: Setting, adults: pa.Table, schema: Schema) -> tuple[list[Row], list[Row]]:
    """Figures 19 and 20: processor seconds at k = 5, without reading, encoding and publishing."""
    alone = "TGCB without pre-partitioning"
    methods = {name: METHODS[name] for name in ("Mondrian", "K-Members", "TGCB")}
    methods[alone] = TGC(prepartition=False)
    sizes = CARDINALITIES[:2] if setting.quick else CARDINALITIES
    rows = []
    for done, n in enumerate(sizes):
        setting.tell("figures 19 and 20", done, len(sizes) + 1)
        encoded = encode(adults.slice(0, n), schema)
        rows += [
            {"method": name, "rows": n, "seconds": _seconds(setting, encoded, method)}
            for name, method in methods.items()
        ]
    encoded = encode(adults.slice(0, sizes[-1]), schema)
    by_s = [
        {"s": s, "method": "TGCB", "seconds": _seconds(setting, encoded, TGC(s=s))}
        for s in TIMED_SUBSPACES
        if s <= sizes[-1]
    ]
    setting.tell("figures 19 and 20", len(sizes) + 1, len(sizes) + 1)
    return rows, by_s


def _seconds(setting: Setting, encoded: Encoded, method: Method) -> float:
    """The least of three runs, with `quick` of one."""
    seconds = []
    for _ in range(1 if setting.quick else 3):
        begin = time.process_time()
        _classes(encoded, method, K)
        seconds.append(time.process_time() - begin)
    return min(seconds)
