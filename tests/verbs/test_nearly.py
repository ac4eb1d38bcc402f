# SPDX-License-Identifier: Apache-2.0
"""Text that is nearly numbers or days is said to be, and what reads it, inspected or anonymized."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import anon
from anon.verbs.nearly import formats_of

AGES = [*map(str, range(20, 119)), "unknown"]
HEIGHTS = [f"1,{50 + i % 40}" for i in range(100)]
BORN = [f"{1 + i % 28:02}.{1 + i % 12:02}.19{i % 10}9" for i in range(100)]


def note_of(values: list[str | None]) -> str | None:
    [column] = anon.inspect({"x": pa.array(values)}).columns
    return column.note


def test_nearly_numbers() -> None:
    shuffled = random.Random(0).sample(AGES, 100)
    note = note_of([None, *shuffled])
    row = 2 + shuffled.index("unknown")
    assert note is not None
    assert f"99 of 100 values of column 'x' are numbers, the first other is in row {row};" in note
    assert "unknown" not in note
    assert note_of(AGES[:-1]) is None
    assert note_of(["a", "b", *AGES[:8]]) is None


def test_decimal_commas() -> None:
    note = note_of(["2", *HEIGHTS])
    assert note is not None
    assert "decimal comma, the first in row 2; they are labels as they stand: --decimal ," in note
    assert note_of(["x", *HEIGHTS]) is None


def test_days_and_the_format_that_reads_them(tmp_path: Path) -> None:
    note = note_of(BORN)
    assert note is not None
    assert "--date x=%d.%m.%Y reads them" in note
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "\n".join(BORN))
    assert anon.read_table(path, date={"x": "%d.%m.%Y"}).schema.field("x").type == pa.date32()
    assert formats_of(["01/02/2020", "03/04/2021"]) == ["%d/%m/%Y", "%m/%d/%Y"]
    assert formats_of(["01/02/2020", "13/04/2021"]) == ["%d/%m/%Y"]
    assert formats_of(["31.02.2020"]) == []


def test_it_is_said_when_anonymizing_and_not_where_the_column_is_recoded() -> None:
    table = {"age": AGES, "born": BORN}
    with pytest.warns(anon.PrivacyWarning) as told:
        anon.anonymize(table, anon.Schema(["age", "born"]), require=[anon.KAnonymity(5)])
    said = " ".join(str(each.message) for each in told)
    assert "99 of 100 values of column 'age' are numbers, the first other is in row 100;" in said
    assert "column 'born' holds dates that are not ISO in 100 rows, the first of them row 1;" in said
    by_prefix = anon.Schema([anon.nominal("age", hierarchy=anon.prefix(1))])
    assert not anon.anonymize(table, by_prefix, require=[anon.KAnonymity(5)]).warnings
