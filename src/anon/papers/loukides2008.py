# SPDX-License-Identifier: Apache-2.0
"""Loukides & Shao, "Data Utility and Privacy Protection Trade-off in K-Anonymisation", 2008."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, Published, cells, counts_of, merge, sensitive_counts
from anon.datasets import ADULT_OCCUPATIONS, ADULT_TREES
from anon.encoding import Encoded, encode
from anon.engines import Judged
from anon.html import Section, Table
from anon.measures import (
    answer,
    measure_privacy,
    measure_utility,
    normalized_errors,
    parse_queries,
    preset,
)
from anon.methods import TGC, KMembers, Method, Mondrian, Task
from anon.methods.kmembers import closeness
from anon.papers import Results, Setting, Tested, curves, rank_correlation, table_of
from anon.release import Release, recode
from anon.requirements import KAnonymity
from anon.schema import Schema, nominal, numeric, ordinal
from anon.threads import available_threads
from anoncore.diversity import s_diversity

Row = dict[str, Any]

QUASI = ("age", "workclass", "race", "sex", "native-country", "salary-class")
MARITAL, OCCUPATION = "marital-status", "occupation"
TGCS = {"TGCU": (1.0, 0.0), "TGCB": (0.5, 0.5), "TGCP": (0.0, 1.0)}
PRINTED = " as printed"
METHODS: dict[str, Method] = {
    "Mondrian": Mondrian(cuts="median"),
    "K-Members": KMembers(),
    "K-Members-p": KMembers("protection"),
    **{name: TGC(*weights) for name, weights in TGCS.items()},
    **{name + PRINTED: TGC(*weights, variant="printed") for name, weights in TGCS.items()},
}
KS = (2, 5, 10, 25, 50)  # the text has no list
K = 5
DELTAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SUBSPACES = (5, 10, 15, 20, 25, 50, 100, 500, 1000)
RANGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CARDINALITIES = (500, 1000, 2000, 5000, 10_000)
TIMED_SUBSPACES = (10, 25, 50, 100, 200, 300, 400, 500, 1000, 2500, 5000, 10_000)
CLOSE, COMPARABLE = 0.1, 0.2  # how near "close" and "comparable" are, as shares or in normalized errors

DISEASES = {"*": {"Cancer": None, "Other": {"HIV": None, "Respiratory": ["Flu", "Bronchitis", "Pneumonia"]}}}
TABLE_1 = {  # three groups of three; the ends of each group's ranges occur in it
    "age": [10, 20, 25, 10, 20, 25, 10, 20, 30],
    "postcode": [10, 20, 30, 10, 20, 25, 20, 25, 30],
    "disease": [
        *("Cancer", "HIV", "Flu", "Bronchitis", "Flu", "Pneumonia", "Bronchitis", "Flu", "HIV"),
    ],
}
TABLE_2 = {
    "age": [10, 15, 15, 20, 20, 25, 25, 30],
    "height": [170, 175] * 4,
    "postcode": [30, 32] * 4,
    "salary": [20, 20, 65, 65] * 2,
}


def run(setting: Setting) -> Results:
    """Tables 1 to 4 and figures 5 to 20."""
    adults = setting.adult_table(part="train").select([*QUASI, MARITAL, OCCUPATION])
    schema = _schema()
    people = encode(setting.sample(adults, 1500), schema)
    single = Schema(schema.quasi, [nominal(OCCUPATION, ADULT_TREES[OCCUPATION])])
    first = encode(setting.sample(adults.slice(0, 5000), 1000).select([*QUASI, OCCUPATION]), single)
    normal = _normal(1000 if setting.quick else 8000)
    ks = KS[:3] if setting.quick else KS
    figures, about_tables, tables = _micro(setting)
    reflected = _sampled(setting, people)
    quality = _sweep(setting, "figures 6 to 10", people, ks, _adult_measures(setting))
    diverse = _sweep(setting, "figures 11 and 12", first, ks, _diversity)
    skewed = _sweep(setting, "figures 13 and 14", normal, ks, _quality)
    s_adult, s_normal = (_of_subspaces(setting, encoded) for encoded in (people, normal))
    r_normal = [{"r": r} | _quality(_grouped(setting, normal, TGC(r=r), K), r) for r in RANGES]
    w_normal = [{"w_u": w} | _quality(_grouped(setting, normal, TGC(w, 1 - w), 10)) for w in WEIGHTS]
    by_cardinality, by_s = _timed(setting, adults, schema)
    findings = {
        **about_tables,
        **_about_the_sample(reflected),
        **_about_quality(quality, ks),
        **_about_queries(quality, ks),
        **_about_diversity(diverse, ks),
        **_about_skewed_data(skewed, ks),
        **_about_parameters(s_adult, s_normal, r_normal, w_normal),
        **_about_time(by_cardinality, by_s),
    }
    sections = (
        Section("Tables 1 to 4", ("Micro tables of the paper, run through the methods.",), tables),
        *_quality_sections(reflected, quality, diverse, skewed, ks),
        *_parameter_sections(s_adult, s_normal, r_normal, w_normal),
        _time_section(by_cardinality, by_s),
    )
    return Results({"rows": adults.num_rows, "attributes": adults.num_columns, **figures}, findings, sections)


def _schema() -> Schema:
    return Schema(
        [numeric("age"), *(nominal(name, ADULT_TREES.get(name)) for name in QUASI[1:])],
        [nominal(MARITAL, ADULT_TREES[MARITAL]), ordinal(OCCUPATION, ADULT_OCCUPATIONS)],
    )


def _normal(n: int) -> Encoded:
    """Standard normal numbers: four quasi-identifiers and a sensitive attribute (section 4.2)."""
    drawn = np.random.default_rng(0).standard_normal((5, n))
    names = ["a", "b", "c", "d", "e"]
    return encode(pa.table(dict(zip(names, drawn, strict=True))), Schema(names[:4], names[4:]))


# Tables 1 to 4


def _micro(setting: Setting) -> tuple[dict[str, float], dict[str, Tested], tuple[Table, ...]]:
    schema = Schema(["age", "postcode"], [nominal("disease", DISEASES)])
    encoded = encode(pa.table(TABLE_1), schema)
    classes = Classes(np.arange(9, dtype=np.uint32), np.array([0, 3, 6, 9]), np.empty(0, np.uint32))
    table_1 = recode(encoded, classes, cells(encoded, classes, 1), (KAnonymity(3),))
    query = parse_queries(encoded, ["age > 25 & postcode in [25, 30]"])
    answered = answer(query, table_1)
    half, wide = _s_diversities(table_1, 0.5), _s_diversities(table_1, 0.7)
    of_group = np.argsort([rows[0] for rows in _row_numbers(table_1)])
    half, wide = half[of_group], wide[of_group]
    per_class = table_1.privacy(per_class=True).per_class
    assert per_class is not None
    l_values = per_class["disease.l_distinct"].to_numpy()[of_group].tolist()
    partitioned = _table_2(setting, TGC(1, 0, delta=1, s=2, normalize=False, variant="printed", ties="input"))
    clustered = _table_2(setting, TGC(1, 0, delta=0.1, prepartition=False, variant="printed", ties="input"))
    groups_3, groups_4 = sorted(_row_numbers(partitioned)), sorted(_row_numbers(clustered))
    lost_3, lost_4 = partitioned.utility(), clustered.utility()
    figures = {
        "table-1-k": table_1.privacy().k,
        "q1-tuples": int(answered.most[0]),
        "sd-g1": float(half[0]),
        "sd-g2": float(half[1]),
    }
    findings: dict[str, Tested] = {
        "equal-l": (l_values[0] == l_values[1], {"distinct values": l_values}),
        "g2-less-protected": (half[1] > half[0], {"S-diversity of g1, g2": half[:2].tolist()}),
        "g3-range": (half[2] < wide[2], {"r = 0.5": float(half[2]), "r = 0.7": float(wide[2])}),
        "table-3": (groups_3 == [[1, 2], [3, 4], [5, 6], [7, 8]], {"rows": groups_3}),
        "table-4": (groups_4 == [[1, 3], [2, 4], [5, 7], [6, 8]], {"rows": groups_4}),
        "table-3-worse": (lost_3.um > lost_4.um, {"UM of table 3": lost_3.um, "UM of table 4": lost_4.um}),
        "table-3-unprotected": (
            lost_3.pm == 1,
            {"S-diversity of table 3": lost_3.pm, "of table 4": lost_4.pm},
        ),
    }
    by_group = Table(
        "Table 1: its groups",
        ("group", "S-diversity, r = 0.5", "S-diversity, r = 0.7", "distinct values"),
        tuple((f"g{i + 1}", float(half[i]), float(wide[i]), l_values[i]) for i in range(3)),
    )
    asked = Table(
        "Query Q1 on table 1",
        ("estimated answer", "least possible", "most possible"),
        ((float(answered.estimated[0]), int(answered.least[0]), int(answered.most[0])),),
    )
    shown = tuple(
        table_of(f"Table {number}", release.table.to_pylist())
        for number, release in ((3, partitioned), (4, clustered))
    )
    return figures, findings, (by_group, asked, *shown)


def _table_2(setting: Setting, method: TGC) -> Release:
    schema = Schema(["age", "height", "postcode"], ["salary"])
    return setting.anonymize(pa.table(TABLE_2), schema, KAnonymity(2), method=method)


def _row_numbers(release: Release) -> list[list[int]]:
    """The rows of each class, counted from 1."""
    classes = release.classes
    return [sorted((part + 1).tolist()) for part in np.split(classes.rows, classes.offsets[1:-1])]


def _s_diversities(release: Release, r: float) -> npt.NDArray[np.float64]:
    domain, codes = release.encoded.sensitive[0], release.encoded.sensitive_codes[0]
    counts = sensitive_counts(release.classes, codes, domain.n_codes)
    return np.asarray(
        s_diversity(closeness([domain], r)[0], counts.offsets, counts.values.astype(np.int64), counts.counts)
    )


# Groups of tuples and what is measured of them


def _classes(encoded: Encoded, method: Method, k: int, n_threads: int) -> Classes:
    """The groups that a method forms, those with equal cells apart."""
    task = Task(Judged.whole(encoded).rules([KAnonymity(k)]), np.random.default_rng(0), n_threads)
    return method.classes(encoded, task, k)


def _grouped(setting: Setting, encoded: Encoded, method: Method, k: int) -> Published:
    """The groups as if they were published; `anonymize` would merge those with equal cells."""
    threads = available_threads(setting.n_threads)
    classes = _classes(encoded, method, k, threads)
    counts = counts_of(encoded, classes, n_threads=threads)
    shown = cells(encoded, classes, threads)
    return Published(encoded, classes, counts, shown, k_asked=k, n_threads=threads)


def _quality(published: Published, r: float = 1.0) -> Row:
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


def _adult_measures(setting: Setting) -> Callable[[Published], Row]:
    """Quality and the errors of both workloads, which are drawn once."""
    workloads: dict[str, Any] = {}

    def measure(published: Published) -> Row:
        for i in (1, 2):
            if str(i) not in workloads:
                workloads[str(i)] = preset(
                    published.original, f"loukides-{i}", n=1000 if setting.quick else None
                )
        errors = {f"error {i} (%)": answer(workload, published).average for i, workload in workloads.items()}
        return _quality(published) | errors

    return measure


def _diversity(published: Published) -> Row:
    original = published.original
    privacy = measure_privacy(published.classes, original.sensitive, original.sensitive_codes, joint=False)
    return {"c": privacy.ls_c, "l": privacy.ls_l, "PM": measure_utility(published).pm}


def _sweep(
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
        rows += [{"method": name, "k": k} | measure(_grouped(setting, encoded, method, k)) for k in ks]
    setting.tell(stage, len(METHODS), len(METHODS))
    return rows


def _sampled(setting: Setting, encoded: Encoded) -> list[Row]:
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
            quality = _quality(_grouped(setting, rows_of, method, K))
            rows += [
                {"δ": delta, "measure": f"{name}, {data}", "value": quality[name]} for name in ("UM", "PM")
            ]
    setting.tell("figure 5", len(DELTAS), len(DELTAS))
    return rows


def _of_subspaces(setting: Setting, encoded: Encoded) -> list[Row]:
    """Figures 15 and 16: TGCB at k = 5 with subspaces of at least s rows."""
    sizes = [*(s for s in SUBSPACES if s < encoded.n_rows), encoded.n_rows]
    rows = []
    for done, s in enumerate(sizes):
        setting.tell("figures 15 and 16", done, len(sizes))
        rows.append({"s": s} | _quality(_grouped(setting, encoded, TGC(s=s), K)))
    setting.tell("figures 15 and 16", len(sizes), len(sizes))
    return rows


def _timed(setting: Setting, adults: pa.Table, schema: Schema) -> tuple[list[Row], list[Row]]:
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


# Findings

Get = Callable[[str, int, str], float]


def _judged(rows: Sequence[Row], test: Callable[[Get], Tested]) -> Tested:
    """The test on the default variant of TGC; whether it holds of the printed one is added."""
    values = {(row["method"], row["k"]): row for row in rows}

    def get(method: str, k: int, measure: str) -> float:
        return float(values[method, k][measure])

    def get_printed(method: str, k: int, measure: str) -> float:
        return get(method + PRINTED if method in TGCS else method, k, measure)

    held, numbers = test(get)
    return bool(held), {**numbers, "held by the algorithm as printed": bool(test(get_printed)[0])}


def _all(
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


def _about_the_sample(rows: Sequence[Row]) -> dict[str, Tested]:
    values = {(row["δ"], row["measure"]): row["value"] for row in rows}
    pairs = {
        name: {
            delta: [values[delta, f"{name}, dataset"], values[delta, f"{name}, sample"]] for delta in DELTAS
        }
        for name in ("UM", "PM")
    }
    held = all(_near(sample, whole, CLOSE) for each in pairs.values() for whole, sample in each.values())
    return {"sample": (held, {f"{name} of dataset and sample": each for name, each in pairs.items()})}


def _about_quality(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    tgcs = list(TGCS)
    return {
        "um-b-mondrian": _all(rows, ks, "UM", ["TGCB", "Mondrian"], lambda v: v["TGCB"] < v["Mondrian"]),
        "um-b-close": _all(
            rows,
            ks,
            "UM",
            ["TGCB", "K-Members", "TGCU"],
            lambda v: all(_near(v["TGCB"], v[name], CLOSE) for name in ("K-Members", "TGCU")),
        ),
        "um-p-poor": _all(
            rows,
            ks,
            "UM",
            [*tgcs, "K-Members", "K-Members-p", "Mondrian"],
            lambda v: (
                min(v["TGCP"], v["K-Members-p"])
                > max(v[name] for name in ("TGCU", "TGCB", "K-Members", "Mondrian"))
            ),
        ),
        "dm-low": _all(
            rows, ks, "DM", [*tgcs, "Mondrian"], lambda v: all(v[name] <= v["Mondrian"] for name in tgcs)
        ),
        "pm-order": _all(rows, ks, "PM", tgcs, lambda v: v["TGCU"] > v["TGCB"] > v["TGCP"]),
        "pm-p": _all(
            rows,
            ks,
            "PM",
            ["TGCP", "K-Members-p"],
            lambda v: _near(v["TGCP"], v["K-Members-p"], COMPARABLE),
        ),
    }


COMPARED = ("Mondrian", "K-Members", *TGCS)  # K-Members-p is not normalized with the others


def _about_queries(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    low, high = ks[0], ks[-1]

    def normalized(get: Get, k: int) -> dict[str, float]:
        return normalized_errors({name: get(name, k, "error 1 (%)") for name in COMPARED})

    def balanced(get: Get) -> Tested:
        at = {k: normalized(get, k) for k in ks}
        held = all(abs(each["TGCB"] - each["TGCU"]) <= CLOSE for each in at.values())
        return held, {f"k = {k}": {name: at[k][name] for name in ("TGCU", "TGCB")} for k in ks}

    def protected(get: Get) -> Tested:
        at = {k: normalized(get, k)["TGCP"] for k in ks}
        return at[low] <= 0.5 < at[high], {f"k = {k}": error for k, error in at.items()}

    def benchmarks(get: Get) -> Tested:
        at = {k: {n: get(n, k, "error 1 (%)") for n in ("K-Members", "Mondrian")} for k in (low, high)}
        held = at[low]["K-Members"] < at[low]["Mondrian"] and at[high]["K-Members"] > at[high]["Mondrian"]
        return held, {f"k = {k}": each for k, each in at.items()}

    return {
        "error-benchmarks": _judged(rows, benchmarks),
        "error-u-best": _all(
            rows,
            ks,
            "error 1 (%)",
            ["TGCU", "Mondrian", "K-Members"],
            lambda v: v["TGCU"] < min(v["Mondrian"], v["K-Members"]),
        ),
        "error-b": _judged(rows, balanced),
        "error-p": _judged(rows, protected),
        "error-2": _all(
            rows,
            ks,
            "error 2 (%)",
            COMPARED,
            lambda v: max(v[name] for name in TGCS) < min(v["Mondrian"], v["K-Members"]),
        ),
    }


GROUPED = ("Mondrian", "K-Members", "TGCU")
PROTECTED = ("TGCB", "TGCP", "K-Members-p")


def _about_diversity(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    def low_protection(v: dict[str, float]) -> bool:
        return min(v[name] for name in GROUPED) > max(v[name] for name in PROTECTED)

    names = [*GROUPED, *PROTECTED]
    return {
        "diverse-unprotected": _all(rows, ks, "PM", names, low_protection),
        "few-values": _all(rows, ks, "l", names, low_protection),
        "none-frequent": _all(rows, ks, "c", names, low_protection),
    }


def _about_skewed_data(rows: Sequence[Row], ks: Sequence[int]) -> dict[str, Tested]:
    return {
        "normal-u": _all(
            rows, ks, "UM", ["TGCU", "K-Members"], lambda v: _near(v["TGCU"], v["K-Members"], CLOSE)
        ),
        "normal-b": _all(
            rows, ks, "UM", ["TGCB", "K-Members"], lambda v: _near(v["TGCB"], v["K-Members"], COMPARABLE)
        ),
        "normal-unprotected": _all(
            rows,
            ks,
            "PM",
            [*GROUPED, *PROTECTED],
            lambda v: min(v[name] for name in GROUPED) > max(v[name] for name in PROTECTED),
        ),
        "normal-b-protected": _all(
            rows,
            ks,
            "PM",
            PROTECTED,
            lambda v: all(_near(v["TGCB"], v[name], COMPARABLE) for name in ("K-Members-p", "TGCP")),
        ),
    }


def _about_parameters(
    s_adult: Sequence[Row], s_normal: Sequence[Row], r_normal: Sequence[Row], w_normal: Sequence[Row]
) -> dict[str, Tested]:
    def stable(rows: Sequence[Row]) -> Tested:
        wtd = {row["s"]: row["wtd"] for row in rows}
        after = [value for s, value in wtd.items() if s >= 5 * K]
        held = wtd[K] > after[0] and all(_near(value, after[0], 0.05) for value in after)
        return held, {f"wtd at s = {s}": value for s, value in wtd.items()}

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


def _about_time(rows: Sequence[Row], by_s: Sequence[Row]) -> dict[str, Tested]:
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


# The page


def _quality_sections(
    reflected: Sequence[Row],
    quality: Sequence[Row],
    diverse: Sequence[Row],
    skewed: Sequence[Row],
    ks: Sequence[int],
) -> tuple[Section, ...]:
    by_k = "One line per method."
    default = [row for row in quality if not row["method"].endswith(PRINTED)]
    normalized: dict[int, list[Row]] = {1: [], 2: []}
    for i, rows in normalized.items():
        for k in ks:
            errors = {r["method"]: r[f"error {i} (%)"] for r in default if r["k"] == k}
            each = normalized_errors({name: errors[name] for name in COMPARED})
            rows += [{"method": name, "k": k, "normalized error": each[name]} for name in COMPARED]
        rows.sort(key=lambda row: COMPARED.index(row["method"]))
    return (
        Section(
            "Figure 5: dataset and sample",
            ("Algorithm 1 as printed, without pre-partitioning, k = 5, w_u = w_p, r = 1.",),
            (),
            (
                curves(
                    "Figure 5", reflected, "δ", "value", "measure", "Both measures, on all rows and a sample."
                ),
            ),
        ),
        Section(
            "Figures 6 to 10: Adult",
            (),
            (table_of("Quality on Adult", quality),),
            (
                curves("Figure 6", default, "k", "UM", "method", f"Lower is better. {by_k}", log_x=True),
                curves("Figure 7", default, "k", "DM", "method", f"Lower is better. {by_k}", log_x=True),
                *(
                    curves(
                        f"Figure {7 + i}",
                        rows,
                        "k",
                        "normalized error",
                        "method",
                        f"Type-{i} queries: 0 is the best method, 1 the worst.",
                        log_x=True,
                    )
                    for i, rows in normalized.items()
                ),
                curves(
                    "Figure 10", default, "k", "PM", "method", f"Lower protects better. {by_k}", log_x=True
                ),
            ),
        ),
        Section(
            "Figures 11 and 12: (c,l)-diversity",
            ("Means over classes; occupation is the only sensitive attribute, with its hierarchy.",),
            (table_of("(c,l) on Adult", diverse),),
            tuple(
                curves(f"Figure {n}", diverse, "k", name, "method", f"{name} of (c,l). {by_k}", log_x=True)
                for n, name in ((11, "c"), (12, "l"))
            ),
        ),
        Section(
            "Figures 13 and 14: normal data",
            (),
            (table_of("Quality on normal data", skewed),),
            tuple(
                curves(f"Figure {n}", skewed, "k", name, "method", f"Lower is better. {by_k}", log_x=True)
                for n, name in ((13, "UM"), (14, "PM"))
            ),
        ),
    )


def _parameter_sections(
    s_adult: Sequence[Row], s_normal: Sequence[Row], r_normal: Sequence[Row], w_normal: Sequence[Row]
) -> tuple[Section, ...]:
    def long(rows: Sequence[Row], x: str) -> list[Row]:
        return [{x: row[x], "measure": name, "value": row[name]} for name in ("UM", "PM") for row in rows]

    charts = (
        curves("Figure 15", long(s_adult, "s"), "s", "value", "measure", "TGCB, k = 5, Adult.", log_x=True),
        curves("Figure 16", long(s_normal, "s"), "s", "value", "measure", "TGCB, k = 5.", log_x=True),
        curves("Figure 17", long(r_normal, "r"), "r", "value", "measure", "TGCB, k = 5; PM with the same r."),
        curves("Figure 18", long(w_normal, "w_u"), "w_u", "value", "measure", "k = 10; w_p = 1 - w_u."),
    )
    tables = (
        table_of("Subspaces, Adult", s_adult),
        table_of("Subspaces, normal data", s_normal),
        table_of("Range r, normal data", r_normal),
        table_of("Weights, normal data", w_normal),
    )
    return (Section("Figures 15 to 18: parameters", (), tables, charts),)


def _time_section(by_cardinality: Sequence[Row], by_s: Sequence[Row]) -> Section:
    return Section(
        "Figures 19 and 20: time",
        ("Seconds of processor time, one thread, the least of three runs; they depend on the machine.",),
        (),
        (
            curves("Figure 19", by_cardinality, "rows", "seconds", "method", "k = 5.", log_x=True),
            curves("Figure 20", by_s, "s", "seconds", "method", "k = 5.", log_x=True),
        ),
    )
