# SPDX-License-Identifier: Apache-2.0
"""The repair of classes along a curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anon.classes.classes import Classes
from anon.datasets.people import census
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.methods.repair import repair, sensitive_of
from anon.schema.schema import Schema
from anoncore.requirement import Conjunction

QUASI = "age workclass education_years marital_status race sex native_country hours_per_week"
K = 10


@pytest.fixture(scope="module")
def people(n_rows: int) -> Encoded:
    """A census with numeric attributes and sets."""
    return encode(census(n_rows), Schema(quasi=QUASI.split(), sensitive=["occupation"]))


def test_repair(benchmark: Any, people: Encoded, capsys: pytest.CaptureFixture[str]) -> None:
    n = people.n_rows
    rows = np.lexsort(people.quasi_codes).astype(np.uint32)
    classes = Classes(rows, np.append(np.arange(0, n - K + 1, K), n), np.zeros(0, np.uint32))
    counts = np.bincount(people.sensitive_codes[0], minlength=people.sensitive[0].n_codes).astype(np.int64)
    rules = Conjunction([counts], n, [("size", K), ("js", 0, 0.2)])
    repaired = benchmark.pedantic(repair, args=(classes, people, rules), rounds=1)
    assert sensitive_of(people, repaired.rows).shape == (n, 1)
    with capsys.disabled():
        print(f"\nrepair of {classes.n_classes:,} classes for t = 0.2: {repaired.n_classes:,} are left")
