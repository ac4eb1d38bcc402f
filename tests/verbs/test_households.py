# SPDX-License-Identifier: Apache-2.0
"""Households: all members show the same cells in the columns that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.classes import Classes
from anon.release.recheck import recheck
from reference.partition import Attribute
from reference.partition import partition as partition_twin

QUASI = ["region", "age", "sex"]


def people(n_households: int = 400, seed: int = 0) -> pa.Table:
    """Households of one to six people in one of 60 regions."""
    rng = np.random.default_rng(seed)
    household = np.repeat(np.arange(n_households), rng.integers(1, 7, n_households))
    n = len(household)
    return pa.table(
        {
            "hid": household,
            "region": rng.integers(0, 60, n_households)[household],
            "age": rng.integers(0, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "diagnosis": rng.choice(["a", "b", "c"], n),
        }
    )


def schema(**more: Any) -> anon.Schema:
    return anon.Schema(QUASI, ["diagnosis"], unit="hid", **more)


def given_away(release: anon.Release, table: pa.Table) -> int:
    """Households for which the intersection of their members' regions leaves fewer than five candidates."""
    cells = release.cells[0]
    of_row = np.repeat(cells.of_class, release.classes.sizes)
    household = table["hid"].to_numpy()[release.classes.rows]
    n = int(household.max()) + 1
    low, high = np.zeros(n, np.int64), np.full(n, 1000)
    np.maximum.at(low, household, cells.low[of_row])
    np.minimum.at(high, household, cells.high[of_row])
    region = np.zeros(n, np.int64)
    region[household] = release.encoded.quasi_codes[0][release.classes.rows]
    candidates = ((region >= low[:, None]) & (region <= high[:, None])).sum(axis=1)
    return int(np.count_nonzero(candidates < 5))


def test_members_no_longer_give_their_household_away() -> None:
    table = people()
    require = [anon.KAnonymity(5)]
    assert given_away(anon.anonymize(table, schema(), require=require), table) == 8
    release = anon.anonymize(table, schema(household=["region"]), require=require)
    assert given_away(release, table) == 0
    assert release.privacy().units.k >= 5
    assert release.metadata["household"] == {"columns": ["region"], "quasi": ["region", "size"]}
    assert release.summary()["quasi-identifiers of households"] == ["region", "size"]


@pytest.mark.parametrize("numeric", ["interval", "bounds", "level"])
@pytest.mark.parametrize("l", [None, 2])
def test_all_members_show_the_same_in_the_file(tmp_path: Path, numeric: Any, l: int | None) -> None:
    table = people(120)
    region = anon.numeric("region", hierarchy=anon.intervals(5, 15, 60))
    age = anon.numeric("age", hierarchy=anon.intervals(10, 30, 90))
    asked = anon.Schema([region, age, "sex"], ["diagnosis"], unit="hid", household=["region"])
    require = [anon.KAnonymity(4), *([anon.LDiversity(l)] if l else [])]
    release = anon.anonymize(table, asked, require=require, numeric=numeric, order="input")
    release.write(tmp_path / "release.parquet")
    names = [name for name in release.table.column_names if name.startswith("region")]
    shown = release.table.select(names).append_column("hid", table["hid"])
    assert shown.group_by([*names, "hid"]).aggregate([]).num_rows == 120
    assert release.classes.n_classes > 5


@pytest.mark.parametrize("seed", range(20))
def test_classes_are_those_of_two_twins(seed: int) -> None:
    """Households' rows by region and size, then each part by the other columns; k in households."""
    table = people(60, seed)
    region, household = table["region"].to_pylist(), table["hid"].to_pylist()
    size = np.bincount(household)
    release = anon.anonymize(table, schema(household=["region"]), require=[anon.KAnonymity(3)])
    first = [list(codes) for codes in zip(_codes(region), _codes(size[household]), strict=True)]
    second = [
        list(codes)
        for codes in zip(_codes(table["age"].to_pylist()), _codes(table["sex"].to_pylist()), strict=True)
    ]

    def passes(rows: list[int]) -> bool:
        return len({household[row] for row in rows}) >= 3

    lines = [
        Attribute(len(set(column)), positions=_positions(column)) for column in (region, size[household])
    ]
    ages = table["age"].to_pylist()
    others = [Attribute(len(set(ages)), positions=_positions(ages)), Attribute(2)]
    twin = [
        sorted(part)
        for group in partition_twin(first, lines, passes)
        for part in partition_twin(second, others, passes, rows=group)
    ]
    ours = [sorted(release.classes.rows[a:b].tolist()) for a, b in pairwise(release.classes.offsets)]
    assert sorted(ours) == sorted(twin)


def _codes(values: Sequence[Any]) -> list[int]:
    return np.unique(np.array(values), return_inverse=True)[1].tolist()


def _positions(values: Sequence[int]) -> list[float]:
    distinct = sorted(set(values))
    return [float(value - distinct[0]) for value in distinct]


def test_the_recheck_finds_members_who_show_other_cells() -> None:
    table = people(60)
    unaware = anon.anonymize(table, schema(), require=[anon.KAnonymity(3)])
    aware = replace(unaware.encoded, schema=schema(household=["region"]).bind(table.schema))
    classes = unaware.classes
    with pytest.raises(anon.RecheckError, match=r"\d+ households show several cells in region"):
        recheck(aware, Classes(classes.rows, classes.offsets, classes.suppressed), unaware.columns, ())


def test_bad_input() -> None:
    table = people(50)
    with pytest.raises(anon.DataError, match=r"'age' has several values in \d+ households, the first in row"):
        anon.anonymize(table, schema(household=["age"]), require=[anon.KAnonymity(3)])
    with pytest.raises(anon.UsageError, match="household needs unit"):
        anon.Schema(QUASI, household=["region"])
    with pytest.raises(anon.UsageError, match="'diagnosis', which is not a quasi-identifier"):
        schema(household=["diagnosis"])
    asked = schema(household=["region"])
    for more in (
        {"method": anon.KMembers()},
        {"method": anon.Curve()},
        {"method": anon.Mondrian(relaxed=True)},
        {"publish": "bucketization"},
        {"numeric": "mean"},
    ):
        with pytest.raises(anon.UsageError, match="household="):
            anon.anonymize(table, asked, require=[anon.KAnonymity(3)], **more)
