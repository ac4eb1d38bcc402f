# SPDX-License-Identifier: Apache-2.0
"""Brickell & Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility", KDD 2008."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anon.measures import Privacy
from anon.methods import Identity, Suppress
from anon.papers import Results, Setting, Tested
from anon.papers.brickell2008.coins import about_coins, three_coins
from anon.papers.brickell2008.findings import (
    about_abstract,
    about_definitions,
    about_figures,
    about_table_2,
    about_table_3,
)
from anon.papers.brickell2008.releases import (
    BAYES,
    COLUMNS,
    DATASETS,
    FOREST,
    INTACT,
    SUPPRESSED,
    TREE,
    Point,
    Sanitized,
    accuracy_of_trees,
    is_proper,
    known,
    other_readings,
    percent,
    points_of,
    schema_of,
)
from anon.papers.brickell2008.sections import page


def run(setting: Setting) -> Results:
    """Tables 1 to 3, figures 1 to 4 and the artificial table of section 7."""
    adults = setting.adult_table()
    by_years = pc.unique(adults.sort_by("education-num")["education"]).to_pylist()
    complete = adults.select(COLUMNS)
    table = setting.sample(complete, 2000)
    points = {data.name: points_of(setting, table, data, by_years) for data in DATASETS}
    whole = {
        (data.name, method): setting.anonymize(complete, schema_of(data, by_years), method=method).privacy()
        for data in DATASETS
        for method in (Identity(), Suppress("quasi"))
    }
    others = other_readings(setting, table, DATASETS[1], by_years)
    learned = accuracy_of_trees(setting, table)
    figures = {
        "rows": complete.num_rows,
        **{f"values of {name}": len(pc.unique(complete[name])) for name in COLUMNS},
        **{f"{name}, {way}": value for name, row in learned.items() for way, value in row.items()},
        **{f"{data.name}, adversary": percent(_most(complete, data.sensitive)) for data in DATASETS},
        **_baselines(points),
        **_of_table_3(points["Occupation"], whole),
    }
    own = {name: [p for p in each if is_proper(p)] for name, each in points.items()}
    everything = [point for each in own.values() for point in each]
    findings = {
        **about_definitions(setting, points, complete, by_years),
        **about_abstract(points, everything),
        **about_table_2(learned),
        **about_figures(points, own),
        **_by_each_reading(points["Occupation"], others, whole["Occupation", Identity()], complete.num_rows),
        **about_coins(three_coins()),
    }
    readings = {reading: _of_table_3(each, whole) for reading, each in others.items()}
    return Results(
        figures, findings, page(setting, table, by_years, learned, points, others), readings=readings
    )


def _by_each_reading(
    points: Sequence[Point], others: Mapping[str, Sequence[Sanitized]], intact: Privacy, n_rows: int
) -> dict[str, Tested]:
    """The findings of table 3, and whether they hold where the paper is read otherwise."""
    read = {reading: about_table_3(each, intact, n_rows) for reading, each in others.items()}
    return {
        name: (held, {**numbers, **{f"held by {reading}": each[name][0] for reading, each in read.items()}})
        for name, (held, numbers) in about_table_3(points, intact, n_rows).items()
    }


def _most(table: pa.Table, name: str) -> float:
    """The share of the most frequent value."""
    return float(pc.max(pc.value_counts(table[name]).field("counts")).as_py() / table.num_rows)


def _baselines(points: Mapping[str, Sequence[Point]]) -> dict[str, float]:
    """Accuracies in the text of section 6.3 and below figures 1 to 4, in percent."""
    marital, occupation = points["Marital"][0], points["Occupation"][0]
    without = {name: one.by_base["sensitive"] for name, one in marital.workload.by_miner.items()}
    return {
        "Marital, researcher": percent(marital.sensitive.u_base),
        "Marital, J48": percent(without[TREE]),
        "Marital, random forests": percent(without[FOREST]),
        "Marital, naive Bayes": percent(without[BAYES]),
        "Marital, U_base": percent(marital.workload.u_base),
        "Occupation, researcher": percent(occupation.sensitive.u_base),
        "Occupation, U_max": percent(occupation.workload.u_max),
        "Occupation, U_base": percent(occupation.workload.u_base),
    }


def _of_table_3(points: Sequence[Sanitized], whole: Mapping[Any, Privacy]) -> dict[str, float]:
    measured = {point.sanitization: point.privacy for point in points}
    measured[INTACT] = whole["Occupation", Identity()]
    measured[SUPPRESSED] = whole["Occupation", Suppress("quasi")]
    return {
        f"{name}, {called}": known(value)
        for name, privacy in measured.items()
        for called, value in (("A_acc", privacy.a_acc), ("A_know", privacy.a_know))
    }
