# SPDX-License-Identifier: Apache-2.0
"""The page about Brickell & Shmatikov: its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from anon.html import Axis, Figure, Plot, Section, Table, legend, words_of
from anon.methods import Mondrian
from anon.papers import Row, Setting, printed_in, table_of
from anon.papers.brickell2008.coins import learned_of_coins, three_coins
from anon.papers.brickell2008.releases import (
    DATASETS,
    INTACT,
    MARITAL,
    OCCUPATION,
    SUPPRESSED,
    Dataset,
    Point,
    Sanitized,
    percent,
    releases_of,
    schema_of,
)


def page(
    setting: Setting,
    table: pa.Table,
    by_years: Sequence[str],
    learned: Mapping[str, Mapping[str, float]],
    points: Mapping[str, Sequence[Point]],
    others: Mapping[str, Sequence[Sanitized]],
) -> tuple[Section, ...]:
    coins = three_coins()
    artificial = Table(
        "The artificial table: every outcome of the three coins",
        tuple(coins),
        tuple(zip(*coins.values(), strict=True)),
    )
    table_2 = [{"learned": name, **{f"{w} (%)": v for w, v in row.items()}} for name, row in learned.items()]
    return (
        Section(
            "Table 2: what age, sex and race are worth to a tree",
            ("Accuracy by cross-validation, all other attributes of table 1 given.",),
            (table_of("Table 2", table_2),),
        ),
        *(
            Section(
                f"Figures {first} and {first + 2}: the {data.name} dataset",
                (
                    f"Quasi-identifiers {', '.join(data.quasi)}; sensitive {data.sensitive}; "
                    f"the workload is learning {data.workload}.",
                    "Gains in points of percent: the adversary's is A_acc, a researcher's U_san - U_base; "
                    "S is the sensitive attribute, w the workload.",
                ),
                (table_of(f"Releases of {data.name}", [_row(point) for point in points[data.name]]),),
                _charts(data, first, points[data.name]),
            )
            for first, data in enumerate(DATASETS, 1)
        ),
        Section(
            "Table 3, and what it hangs on",
            (
                "The paper names neither the target that cuts are to tell most about, nor how they are "
                "placed, nor hierarchies; A_acc and A_know by these choices. The first is the one used "
                "everywhere else: table 1 says that race and sex have a hierarchy, and with both cuts about "
                "a median weighed, as information gain is to be maximized, table 3 is nearest.",
            ),
            (
                table_of(
                    "Table 3: A_acc and A_know of the Occupation dataset",
                    [
                        {
                            "sanitization": p.sanitization,
                            "A_acc": p.a_acc,
                            "A_know": p.a_know,
                            "classes": p.release.classes.n_classes,
                        }
                        for p in points["Occupation"]
                    ],
                ),
                table_of("Table 3 by reading: errors", _errors(points["Occupation"], others)),
                table_of("Table 3 by target and cuts: A_know", _variants(setting, table, by_years)),
            ),
        ),
        Section(
            "Section 7: an artificial table with privacy and utility",
            ("Q = {a1, a2}, S = a3; r1, r2, r3 are fair coins.",),
            (artificial, learned_of_coins(setting, coins)),
        ),
    )


def _row(point: Point) -> Row:
    u_base = percent(point.workload.u_base)
    return {
        "sanitization": point.sanitization,
        "classes": point.release.classes.n_classes,
        "A_know": point.a_know,
        "A_acc": percent(point.a_acc),
        "S: tree": percent(point.gains[0]),
        **{
            f"w: {miner.split()[-1]}": percent(one.u_san) - u_base
            for miner, one in point.workload.by_miner.items()
        },
    }


def _charts(data: Dataset, first: int, points: Sequence[Point]) -> tuple[Figure, ...]:
    rows = [_row(point) for point in points if point.sanitization != SUPPRESSED]

    def bars_of(learned: str) -> list[Row]:
        return [
            {
                "sanitization": row["sanitization"],
                "who": "adversary (A_acc)"
                if name == "A_acc"
                else f"researcher, {name.removeprefix(learned)}",
                "gain (points)": gain,
            }
            for row in rows
            for name, gain in row.items()
            if name == "A_acc" or name.startswith(learned)
        ]

    return (
        _bars(
            f"Figure {first}: learning the sensitive attribute ({data.sensitive})",
            bars_of("S: "),
            "A tree learns from quasi-identifiers as published and from neutral attributes; "
            "at zero it learns no more than without quasi-identifiers.",
        ),
        _bars(
            f"Figure {first + 2}: learning a neutral attribute ({data.workload})",
            bars_of("w: "),
            "Below zero a miner learns less than the best one does from a trivial release.",
        ),
    )


def _bars(title: str, rows: Sequence[Row], caption: str) -> Figure:
    """Bars side by side for each sanitization, one for the adversary and one for each miner."""
    order, who = (list(dict.fromkeys(row[name] for row in rows)) for name in ("sanitization", "who"))
    gains = [float(row["gain (points)"]) for row in rows]
    across = Axis("", -0.5, len(order) - 0.5, labels=tuple(map(str, order)))
    plot = Plot(across, Axis("gain (points of percent)", min(0.0, *gains), max(0.1, *gains)), 620, 330)
    width = 0.8 / len(who)
    for row in rows:
        series = who.index(row["who"])
        start = order.index(row["sanitization"]) - 0.4 + series * width
        plot.box(start, start + width, 0, float(row["gain (points)"]), series, words_of(row))
    return Figure(title, (legend([str(each) for each in who], 620), plot.panel()), caption, tuple(rows))


def _errors(points: Sequence[Point], others: Mapping[str, Sequence[Sanitized]]) -> list[Row]:
    """How far A_acc and A_know of table 3 are from the printed ones, in percent, by reading."""
    printed = printed_in("brickell2008")["figures"]
    rows: list[Row] = []
    by_reading: dict[str, Sequence[Sanitized]] = {"the one used": points, **others}
    for reading, each in by_reading.items():
        off = {
            name: [
                100 * abs(gain / float(published) - 1)
                for one in each
                for gain in [getattr(one, name)]
                for published in [printed.get(f"{one.sanitization}, A{name[1:]}", {}).get("published")]
                if published and one.sanitization != INTACT
            ]
            for name in ("a_acc", "a_know")
        }
        rows.append(
            {
                "reading": reading,
                **{f"A{name[1:]}, mean (%)": float(np.mean(of)) for name, of in off.items()},
                **{f"A{name[1:]}, greatest (%)": max(of) for name, of in off.items()},
            }
        )
    return rows


def _variants(setting: Setting, table: pa.Table, by_years: Sequence[str]) -> list[Row]:
    _, data = DATASETS
    methods = {
        f"{target}, {cuts}": Mondrian("information-gain", cuts=cuts, target=target)
        for cuts in ("medians", "median", "nearest")
        for target in (MARITAL, OCCUPATION)
    } | {"widest, median": Mondrian(cuts="median")}
    schema = schema_of(data, by_years)
    made = {called: releases_of(setting, table, data, schema, one) for called, one in methods.items()}
    return [
        {
            "sanitization": name,
            **{called: each[name].privacy().a_know for called, each in made.items()},
        }
        for name in data.requirements()
    ]
