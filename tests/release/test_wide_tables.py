# SPDX-License-Identifier: Apache-2.0
"""Many quasi-identifiers, and many labels without a hierarchy."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import anon
from anon.pages import of_release

METHODS = [anon.Mondrian(), anon.Curve(), anon.Curve("best"), anon.KMembers(), anon.TGC(w_u=1, w_p=0)]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_more_than_64_quasi_identifiers(method: anon.Method) -> None:
    rng = random.Random(0)
    names = [f"q{i}" for i in range(65)]
    table = pa.table({name: [rng.randrange(5) for _ in range(6)] for name in names})
    release = anon.anonymize(table, anon.Schema(names), require=[anon.KAnonymity(2)], method=method)
    assert release.privacy().k >= 2
    assert release.utility().gcp < 0.5  # 1 would be one class


def a_wide_table() -> pa.Table:
    rng = random.Random(1)
    columns: dict[str, Any] = {"few": [rng.choice("abc") for _ in range(300)]}
    for i in range(12):
        columns[f"q{i}"] = [f"{rng.randrange(5000):04}" for _ in range(300)]
    return pa.table(columns)


@pytest.mark.filterwarnings("ignore:.*may identify people:anon.PrivacyWarning")
def test_long_sets_propose_a_hierarchy() -> None:
    table = a_wide_table()
    require = [anon.KAnonymity(100)]
    release = anon.anonymize(table, anon.Schema(table.column_names), require=require, effort="fast")
    [note] = release.notes
    assert note.startswith("each cell of 12 columns list ")
    assert "labels or more on average" in note
    assert "--hierarchy q0=prefix:2" in note
    assert "few" not in note
    assert any(note in said for said in of_release(release).sections[0].paragraphs)
    by_prefix = [anon.nominal(name, anon.prefix(2, 1)) for name in table.column_names[1:]]
    mended = anon.anonymize(table, anon.Schema(["few", *by_prefix]), require=require, effort="fast")
    assert mended.notes == ()
