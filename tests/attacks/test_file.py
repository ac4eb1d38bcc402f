# SPDX-License-Identifier: Apache-2.0
"""The file against its promise: whatever reader opens a CSV release, every class holds what was asked for.

Tables are made of texts that readers of CSV take for one another. A file that was written is read by `check`
and by pandas as it comes: in the view of each, no class has fewer rows or fewer distinct values than were
asked for. The threshold is none of `TABLES`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import anon

TABLES = 300
LEAST = [anon.KAnonymity(2), anon.LDiversity(2, "distinct")]
ALIKE = [
    *("", None, "NA", "null", "nan", "None", "1", "1.0", "01", "+1", " 1", "1 ", "1e0", "-0", "0", "0.0"),
    *(
        "true",
        "True",
        "TRUE",
        "x",
        "x ",
        "\tx",
        "2020-01-01",
        "a,b",
        'a"b',
        "=1",
        "'=1",
        "é",
        "e\u0301",
        "\n",
    ),
]


def tables() -> Iterator[pa.Table]:
    rng = random.Random(0)
    for _ in range(TABLES):
        n, values = rng.randint(4, 12), rng.sample(ALIKE, rng.randint(2, 5))
        cells = rng.sample(ALIKE, 2) if rng.random() < 0.3 else ["p", "q"]
        columns = {"q": [rng.choice(cells) for _ in range(n)], "s": [rng.choice(values) for _ in range(n)]}
        yield pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})


@pytest.mark.filterwarnings("ignore::anon.errors.PrivacyWarning")
@pytest.mark.parametrize("guard", [False, True])
def test_no_reader_of_a_csv_release_sees_less_than_was_asked_for(tmp_path: Path, guard: bool) -> None:
    path, written, failing = tmp_path / "r.csv", 0, []
    schema = anon.Schema([anon.nominal("q")], [anon.nominal("s")])
    for number, table in enumerate(tables()):
        path.unlink(missing_ok=True)
        try:
            anon.anonymize(table, schema, require=LEAST).write(path, csv_guard=guard)
        except (anon.DataError, anon.InfeasibleError):
            assert not path.exists()
            continue
        written += 1
        others = pd.read_csv(path).groupby("q", dropna=False)["s"]
        seen = min(others.size()), min(others.nunique(dropna=False))
        if anon.check(path, schema, require=LEAST).unmet or min(seen) < 2:
            failing.append((number, table.to_pydict(), seen))
    assert written > TABLES // 6
    assert failing == []
