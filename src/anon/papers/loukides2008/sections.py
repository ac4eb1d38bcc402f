# SPDX-License-Identifier: Apache-2.0
"""The page about Loukides & Shao: its tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

from anon.html import Section
from anon.measures import normalized_errors
from anon.papers import curves, table_of
from anon.papers.loukides2008.findings import COMPARED
from anon.papers.loukides2008.groups import PRINTED, Row


def quality_sections(
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


def parameter_sections(
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


def time_section(by_cardinality: Sequence[Row], by_s: Sequence[Row]) -> Section:
    return Section(
        "Figures 19 and 20: time",
        ("Seconds of processor time, one thread, the least of three runs; they depend on the machine.",),
        (),
        (
            curves("Figure 19", by_cardinality, "rows", "seconds", "method", "k = 5.", log_x=True),
            curves("Figure 20", by_s, "s", "seconds", "method", "k = 5.", log_x=True),
        ),
    )
