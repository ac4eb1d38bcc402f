# SPDX-License-Identifier: Apache-2.0
"""The tables that Loukides & Shao print, run through the methods."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, cells, sensitive_counts
from anon.encoding import encode
from anon.html import Table
from anon.measures import answer, parse_queries
from anon.methods import TGC
from anon.methods.kmembers import closeness
from anon.papers import Setting, Tested, table_of
from anon.release import Release, recode
from anon.requirements import KAnonymity
from anon.schema import Schema, nominal
from anoncore.diversity import s_diversity

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


def tables_run(setting: Setting) -> tuple[dict[str, float], dict[str, Tested], tuple[Table, ...]]:
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
    micro_tables = tuple(
        table_of(f"Table {number}", release.table.to_pylist())
        for number, release in ((3, partitioned), (4, clustered))
    )
    return figures, findings, (by_group, asked, *micro_tables)


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
