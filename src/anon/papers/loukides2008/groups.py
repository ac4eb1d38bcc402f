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


def _classes(encoded: Encoded, method: Method, k: int, n_threads: int) -> Classes:
    """The groups that a method forms, those with equal cells apart."""
    task = Task(Judged.whole(encoded).rules([KAnonymity(k)]), np.random.default_rng(0), n_threads)
    return method.classes(encoded, task, k)


def grouped(setting: Setting, encoded: Encoded, method: Method, k: int) -> Published:
    """The groups as if they were published; `anonymize` would merge those with equal cells."""
    threads = available_threads(setting.n_threads)
    classes = _classes(encoded, method, k, threads)
    counts = counts_of(encoded, classes, n_threads=threads)
    cells_of_groups = cells(encoded, classes, threads)
    return Published(encoded, classes, counts, cells_of_groups, k_asked=k, n_threads=threads)


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


def adult_measures(setting: Setting) -> Callable[[Published], Row]:
    """Quality and the errors of both workloads, which are drawn once."""
    workloads: dict[str, Any] = {}

    def measure(published: Published) -> Row:
        for i in (1, 2):
            if str(i) not in workloads:
                workloads[str(i)] = preset(
                    published.original, f"loukides-{i}", n=1000 if setting.quick else None
                )
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
    rows = []
    for done, (name, method) in enumerate(METHODS.items()):
        setting.tell(stage, done, len(METHODS))
        rows += [{"method": name, "k": k} | measure(grouped(setting, encoded, method, k)) for k in ks]
    setting.tell(stage, len(METHODS), len(METHODS))
    return rows


def sampled(setting: Setting, encoded: Encoded) -> list[Row]:
    """Figure 5: algorithm 1 with every δ, on the table and on a sample with replacement of 2.5 % of it."""
    drawn = np.random.default_rng(0).integers(encoded.n_rows, size=max(encoded.n_rows // 40, 20 * K))
    sample = replace(
        encoded,
        table=pa.table({name: encoded.column(name).take(drawn) for name in encoded.table.column_names}),
        quasi_codes=tuple(codes[drawn] for codes in encoded.quasi_codes),
        sensitive_codes=tuple(codes[drawn] for codes in encoded.sensitive_codes),
    )
    rows = []
    for done, delta in enumerate(DELTAS):
        setting.tell("figure 5", done, len(DELTAS))
        method = TGC(delta=delta, prepartition=False, variant="printed")
        for data, rows_of in (("dataset", encoded), ("sample", sample)):
            quality = quality_of(grouped(setting, rows_of, method, K))
            rows += [
                {"δ": delta, "measure": f"{name}, {data}", "value": quality[name]} for name in ("UM", "PM")
            ]
    setting.tell("figure 5", len(DELTAS), len(DELTAS))
    return rows


def of_subspaces(setting: Setting, encoded: Encoded) -> list[Row]:
    """Figures 15 and 16: TGCB at k = 5 with subspaces of at least s rows."""
    sizes = [*(s for s in SUBSPACES if s < encoded.n_rows), encoded.n_rows]
    rows = []
    for done, s in enumerate(sizes):
        setting.tell("figures 15 and 16", done, len(sizes))
        rows.append({"s": s} | quality_of(grouped(setting, encoded, TGC(s=s), K)))
    setting.tell("figures 15 and 16", len(sizes), len(sizes))
    return rows


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
            {"method": name, "rows": n, "seconds": _seconds(encoded, method)}
            for name, method in methods.items()
        ]
    encoded = encode(adults.slice(0, sizes[-1]), schema)
    by_s = [
        {"s": s, "method": "TGCB", "seconds": _seconds(encoded, TGC(s=s))}
        for s in TIMED_SUBSPACES
        if s <= sizes[-1]
    ]
    setting.tell("figures 19 and 20", len(sizes) + 1, len(sizes) + 1)
    return rows, by_s


def _seconds(encoded: Encoded, method: Method) -> float:
    """The least of three runs."""
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        _classes(encoded, method, K, 1)
        seconds.append(time.process_time() - begin)
    return min(seconds)
