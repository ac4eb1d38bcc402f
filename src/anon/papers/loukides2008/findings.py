# SPDX-License-Identifier: Apache-2.0
"""Whether the sentences of Loukides & Shao hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anon.measures import normalized_errors
from anon.papers import Tested, rank_correlation
from anon.papers.loukides2008.groups import DELTAS, PRINTED, TGCS, WEIGHTS, K, Row

CLOSE, COMPARABLE = 0.1, 0.2  # how near "close" and "comparable" are, as shares or in normalized errors


WELL = 0.5  # the greatest normalized error of a method that does well


Get = Callable[[str, int, str], float]


def _judged(rows: Sequence[Row], test: Callable[[Get], Tested]) -> Tested:
    """The test on the default variant of TGC; whether it holds of the printed one is added."""
    values = {(row["method"], row["k"]): row for row in rows}

    def get(method: str, k: int, measure: str) -> float:
        return float(values[method, k][measure])

    def get_printed(method: str, k: int, measure: str) -> float:
        return get(method + PRINTED if method in TGCS else method, k, measure)

    agrees, numbers = test(get)
    return bool(agrees), {**numbers, "held by the algorithm as printed": bool(test(get_printed)[0])}


def all_agree(
    rows: Sequence[Row],
    ks: Sequence[int],
    measure: str,
    methods: Sequence[str],
    holds: Callable[[dict[str, float]], bool],
) -> Tested:
    """Whether something holds at every k of one measure of some methods, and that measure."""

    def test(get: Get) -> Tested:
        at = {k: {name: get(name, k, measure) for name in methods} for k in ks}
        numbers = {f"k = {k}": values for k, values in at.items()}
        return all(holds(values) for values in at.values()), numbers

    return _judged(rows, test)


def _near(one: float, other: float, share: float) -> bool:
    return abs(one - other) <= share * other


def about_the_sample(rows: Sequence[Row]) -> dict[str, Tested]:
    values = {(row["δ"], row["measure"]): row["value"] for row in rows}
    pairs = {
        name: {
            delta: [values[delta, f"{name}, dataset"], values[delta, f"{name}, sample"]] for delta in DELTAS
        }
        for name in ("UM", "PM")
    }
    agrees = all(_near(sample, whole, CLOSE) for each in pairs.values() for whole, sample in each.values())
    return {"sample": (agrees, {f"{name} of dataset and sample": each for name, each in pairs.items()})}


def about_quality(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    tgcs = list(TGCS)
    return {
        "um-b-mondrian": all_agree(rows, ks, "UM", ["TGCB", "Mondrian"], lambda v: v["TGCB"] < v["Mondrian"]),
        "um-b-close": all_agree(
            rows,
            ks,
            "UM",
            ["TGCB", "K-Members", "TGCU"],
            lambda v: all(_near(v["TGCB"], v[name], CLOSE) for name in ("K-Members", "TGCU")),
        ),
        "um-p-poor": all_agree(
            rows,
            ks,
            "UM",
            [*tgcs, "K-Members", "K-Members-p", "Mondrian"],
            lambda v: (
                min(v["TGCP"], v["K-Members-p"])
                > max(v[name] for name in ("TGCU", "TGCB", "K-Members", "Mondrian"))
            ),
        ),
        "dm-low": all_agree(
            rows, ks, "DM", [*tgcs, "Mondrian"], lambda v: all(v[name] <= v["Mondrian"] for name in tgcs)
        ),
        "pm-order": all_agree(rows, ks, "PM", tgcs, lambda v: v["TGCU"] > v["TGCB"] > v["TGCP"]),
        "pm-p": all_agree(
            rows,
            ks,
            "PM",
            ["TGCP", "K-Members-p"],
            lambda v: _near(v["TGCP"], v["K-Members-p"], COMPARABLE),
        ),
    }


COMPARED = ("Mondrian", "K-Members", *TGCS)  # K-Members-p is not normalized with the others


def about_queries(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    low, high = ks[0], ks[-1]

    def normalized(get: Get, k: int) -> dict[str, float]:
        return normalized_errors({name: get(name, k, "error 1 (%)") for name in COMPARED})

    def balanced(get: Get) -> Tested:
        at = {k: normalized(get, k) for k in ks}
        agrees = all(abs(each["TGCB"] - each["TGCU"]) <= CLOSE for each in at.values())
        return agrees, {f"k = {k}": {name: at[k][name] for name in ("TGCU", "TGCB")} for k in ks}

    def protected(get: Get) -> Tested:
        at = {k: normalized(get, k)["TGCP"] for k in ks}
        return at[low] <= WELL < at[high], {f"k = {k}": error for k, error in at.items()}

    def benchmarks(get: Get) -> Tested:
        at = {k: normalized(get, k) for k in (low, high)}
        agrees = max(at[low]["K-Members"], at[high]["Mondrian"]) <= WELL
        return agrees, {f"k = {k}": {n: at[k][n] for n in ("K-Members", "Mondrian")} for k in at}

    return {
        "error-benchmarks": _judged(rows, benchmarks),
        "error-u-best": all_agree(
            rows,
            ks,
            "error 1 (%)",
            ["TGCU", "Mondrian", "K-Members"],
            lambda v: v["TGCU"] < min(v["Mondrian"], v["K-Members"]),
        ),
        "error-b": _judged(rows, balanced),
        "error-p": _judged(rows, protected),
        "error-2": all_agree(
            rows,
            ks,
            "error 2 (%)",
            COMPARED,
            lambda v: max(v[name] for name in TGCS) < min(v["Mondrian"], v["K-Members"]),
        ),
    }


GROUPED = ("Mondrian", "K-Members", "TGCU")


PROTECTED = ("TGCB", "TGCP", "K-Members-p")


def about_diversity(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    def low_protection(v: dict[str, float]) -> bool:
        return min(v[name] for name in GROUPED) > max(v[name] for name in PROTECTED)

    names = [*GROUPED, *PROTECTED]
    return {
        "diverse-unprotected": all_agree(rows, ks, "PM", names, low_protection),
        "few-values": all_agree(rows, ks, "l", names, low_protection),
        "none-frequent": all_agree(rows, ks, "c", names, low_protection),
    }


def about_skewed_data(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    return {
        "normal-u": all_agree(
            rows, ks, "UM", ["TGCU", "K-Members"], lambda v: _near(v["TGCU"], v["K-Members"], CLOSE)
        ),
        "normal-b": all_agree(
            rows, ks, "UM", ["TGCB", "K-Members"], lambda v: _near(v["TGCB"], v["K-Members"], COMPARABLE)
        ),
        "normal-unprotected": all_agree(
            rows,
            ks,
            "PM",
            [*GROUPED, *PROTECTED],
            lambda v: min(v[name] for name in GROUPED) > max(v["TGCB"], v["TGCP"]),
        ),
        "normal-b-protected": all_agree(
            rows,
            ks,
            "PM",
            PROTECTED,
            lambda v: all(_near(v["TGCB"], v[name], COMPARABLE) for name in ("K-Members-p", "TGCP")),
        ),
    }


def about_parameters(
    s_adult: Sequence[Row], s_normal: Sequence[Row], r_normal: Sequence[Row], w_normal: Sequence[Row]
) -> dict[str, Tested]:
    def stable(rows: Sequence[Row]) -> Tested:
        wtd = {row["s"]: row["wtd"] for row in rows}
        after = [value for s, value in wtd.items() if s >= 5 * K]
        agrees = wtd[K] > after[0] and all(_near(value, after[0], 0.05) for value in after)
        return agrees, {f"wtd at s = {s}": value for s, value in wtd.items()}

    def changes(rows: Sequence[Row], name: str) -> dict[str, Any]:
        return {f"{name} = {row[name]:g}": {"UM": row["UM"], "PM": row["PM"]} for row in rows}

    first, last = r_normal[0], r_normal[-1]
    um, pm = ([row[name] for row in w_normal] for name in ("UM", "PM"))
    follows = [rank_correlation(WEIGHTS, each) for each in (um, pm)]
    return {
        "s-adult": stable(s_adult),
        "s-normal": stable(s_normal),
        "r": (first["UM"] > last["UM"] and first["PM"] < last["PM"], changes(r_normal, "r")),
        "weights": (
            follows[0] <= -0.9 and follows[1] >= 0.9,
            {"rank correlation of w_u with UM, PM": follows} | changes(w_normal, "w_u"),
        ),
    }


def about_time(rows: Sequence[Row], by_s: Sequence[Row]) -> dict[str, Tested]:
    seconds: dict[str, dict[int, float]] = {}
    for row in rows:
        seconds.setdefault(row["method"], {})[row["rows"]] = row["seconds"]
    alone = "TGCB without pre-partitioning"
    slopes = {
        name: float(np.polyfit(np.log(list(each)), np.log(list(each.values())), 1)[0])
        for name, each in seconds.items()
    }
    most = max(seconds["TGCB"])
    near = {n: seconds["TGCB"][n] / seconds["Mondrian"][n] for n in seconds["TGCB"]}
    small = {row["s"]: row["seconds"] for row in by_s if row["s"] < 100 * K}
    saved = seconds[alone][most] / seconds["TGCB"][most]
    return {
        "quadratic": (
            min(slopes["K-Members"], slopes[alone]) >= 1.5,
            {"exponent of n": {name: slopes[name] for name in ("K-Members", alone)}},
        ),
        "mondrian-fastest": (
            all(min(seconds, key=lambda name: seconds[name][n]) == "Mondrian" for n in seconds["Mondrian"]),
            {f"seconds of {name}": each for name, each in seconds.items()},
        ),
        "near-mondrian": (
            max(near.values()) <= 2,
            {"TGCB over Mondrian, by rows": near},
        ),
        "s-time": (max(small.values()) <= 2 * min(small.values()), {"seconds by s": small}),
        "orders-of-magnitude": (saved >= 100, {f"times faster with pre-partitioning, {most} rows": saved}),
    }
