# SPDX-License-Identifier: Apache-2.0
"""k of persons against k of rows: census, a quarter as many persons as rows, two threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.datasets.people import census, census_schema

Versus = Callable[..., float]


@pytest.mark.parametrize("rows_of_a_person", ["anywhere", "alike"])
def test_units(versus: Versus, n_rows: int, rows_of_a_person: str) -> None:
    """Rows of a person have nothing in common, or all quasi-identifiers."""
    rng = np.random.default_rng(0)
    person = rng.permutation(np.arange(n_rows) // 4)
    table = census(n_rows)
    if rows_of_a_person == "alike":
        table = table.take(pa.array(person * 4))
    table = table.append_column("person", pa.array(person))
    roles = census_schema()
    names = [*(each.name for each in (*roles.quasi, *roles.sensitive)), "person"]
    table = table.select(names)
    units = anon.Schema(roles.quasi, roles.sensitive, unit="person")
    rows = anon.Schema(roles.quasi, roles.sensitive)

    def run(table: pa.Table, schema: anon.Schema) -> anon.Release:
        return anon.anonymize(table, schema, require=[anon.KAnonymity(10)], n_threads=2)

    alone = table.drop_columns("person")
    assert run(table, units).privacy().k_units == 10
    versus(
        f"anonymize {n_rows:,} census rows of {n_rows // 4:,} persons, 10 persons, rows {rows_of_a_person}",
        lambda: run(table, units),
        "the same rows without persons, 10 rows",
        lambda: run(alone, rows),
        1.3,
    )
