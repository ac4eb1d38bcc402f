# SPDX-License-Identifier: Apache-2.0
"""Loukides & Shao, "Data Utility and Privacy Protection Trade-off in K-Anonymisation", 2008."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anon.datasets import ADULT_OCCUPATIONS, ADULT_TREES
from anon.encoding import Encoded, encode
from anon.html import Section
from anon.methods import TGC
from anon.papers import Results, Setting
from anon.papers.loukides2008.findings import (
    about_diversity,
    about_parameters,
    about_quality,
    about_queries,
    about_skewed_data,
    about_the_sample,
    about_time,
)
from anon.papers.loukides2008.groups import (
    WEIGHTS,
    K,
    adult_measures,
    diversity_of,
    every_method,
    of_subspaces,
    quality_of,
    sampled,
    side_by_side,
    timed,
)
from anon.papers.loukides2008.printed import tables_run
from anon.papers.loukides2008.sections import parameter_sections, quality_sections, time_section
from anon.schema import Schema, nominal, numeric, ordinal

QUASI = ("age", "workclass", "race", "sex", "native-country", "salary-class")


MARITAL, OCCUPATION = "marital-status", "occupation"


KS = (2, 5, 10, 25, 50)  # the text has no list


RANGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def run(setting: Setting) -> Results:
    """Tables 1 to 4 and figures 5 to 20."""
    adults = setting.adult_table(part="train").select([*QUASI, MARITAL, OCCUPATION])
    schema = _schema()
    people = encode(setting.sample(adults, 600), schema)
    single = Schema(schema.quasi, [nominal(OCCUPATION, ADULT_TREES[OCCUPATION])])
    first = encode(setting.sample(adults.slice(0, 5000), 400).select([*QUASI, OCCUPATION]), single)
    normal = _normal(400 if setting.quick else 8000)
    ks = KS[:3] if setting.quick else KS
    figures, about_tables, tables = tables_run(setting)
    reflected = sampled(setting, people)
    quality = every_method(setting, "figures 6 to 10", people, ks, adult_measures(setting, people))
    diverse = every_method(setting, "figures 11 and 12", first, ks, diversity_of)
    skewed = every_method(setting, "figures 13 and 14", normal, ks, quality_of)
    s_adult, s_normal = (of_subspaces(setting, encoded) for encoded in (people, normal))
    r_normal = side_by_side(
        setting,
        "figure 17",
        [(normal, TGC(r=r), K) for r in RANGES],
        lambda one, i: {"r": RANGES[i]} | quality_of(one, RANGES[i]),
    )
    w_normal = side_by_side(
        setting,
        "figure 18",
        [(normal, TGC(w, 1 - w), 10) for w in WEIGHTS],
        lambda one, i: {"w_u": WEIGHTS[i]} | quality_of(one),
    )
    by_cardinality, by_s = timed(setting, adults, schema)
    findings = {
        **about_tables,
        **about_the_sample(reflected),
        **about_quality(quality, ks),
        **about_queries(quality, ks),
        **about_diversity(diverse, ks),
        **about_skewed_data(skewed, ks),
        **about_parameters(s_adult, s_normal, r_normal, w_normal),
        **about_time(by_cardinality, by_s),
    }
    sections = (
        Section("Tables 1 to 4", ("Micro tables of the paper, run through the methods.",), tables),
        *quality_sections(reflected, quality, diverse, skewed, ks),
        *parameter_sections(s_adult, s_normal, r_normal, w_normal),
        time_section(by_cardinality, by_s),
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
