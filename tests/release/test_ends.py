# SPDX-License-Identifier: Apache-2.0
"""Ends of published intervals, rounded outward; and how many cells end at the value of one person."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.pages import of_release

PAY = [1834, 2900, 3333, 4100, 5200, 7777, 8000, 9_000_000]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        yield


def made(values: Any, k: int = 2, numeric: Any = "interval", **how: Any) -> anon.Release:
    table = pa.table({"pay": values})
    schema = anon.Schema([anon.numeric("pay", **how)])
    return anon.anonymize(table, schema, require=[anon.KAnonymity(k)], numeric=numeric, order="input")


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        ({"ends": 1000}, ["[1000, 3000]", "[3000, 5000]", "[5000, 8000]", "[8000, 9000000]"]),
        ({"ends": "2 digits"}, ["[1800, 2900]", "[3300, 4100]", "[5200, 7800]", "[8000, 9000000]"]),
        ({"ends": "1 digit"}, ["[1000, 3000]", "[3000, 5000]", "[5000, 8000]", "[8000, 9000000]"]),
        (
            {"ends": 5000, "top": 9000, "bottom": 2000},
            ["<= 5000", "[2001, 5000]", "[5000, 8999]", ">= 5000"],
        ),
    ],
)
def test_ends_are_rounded_outward(how: dict[str, Any], shown: list[str]) -> None:
    assert made(PAY, **how).table["pay"].unique().to_pylist() == shown


@pytest.mark.parametrize(
    ("values", "ends", "shown"),
    [
        ([0.1, 0.3, 0.31, 0.5, 2.5, 7.25], 0.1, ["[0.1, 0.3]", "[0.3, 0.5]", "[2.5, 7.3]"]),
        (pa.array([0.1, 0.3], pa.float32()), 0.1, ["*"]),
        ([-1834, -1100, 1, 99, 250, 260], 100, ["[-1900, -1100]", "[0, 100]", "[200, 300]"]),
        ([Decimal("1.05"), Decimal("1.21"), Decimal("2.00"), Decimal("2.00")], 0.5, ["[1.00, 1.50]", "2.00"]),
        ([None, None, 7, 8, 30, 33], 10, ["missing", "[0, 10]", "[30, 40]"]),
    ],
)
def test_numbers_of_every_type(values: Any, ends: float, shown: list[str]) -> None:
    assert made(values, ends=ends).table["pay"].unique().to_pylist() == shown


def test_cells_that_round_to_the_same_are_one() -> None:
    release = made([1, 2, 3, 4, 50, 60, 70, 80], ends=10)
    assert release.table["pay"].to_pylist() == ["[0, 10]"] * 4 + ["[50, 60]"] * 2 + ["[70, 80]"] * 2
    assert release.privacy().n_classes == 3


@pytest.mark.parametrize("numeric", ["bounds", "midpoint", "mean"])
def test_typed_renderings_show_the_rounded_ends(numeric: str) -> None:
    table = made(PAY, numeric=numeric, ends=1000).table.to_pydict()
    if numeric == "bounds":
        assert table == {
            "pay_min": [1000, 1000, 3000, 3000, 5000, 5000, 8000, 8000],
            "pay_max": [3000, 3000, 5000, 5000, 8000, 8000, 9_000_000, 9_000_000],
        }
    else:
        assert table["pay"][::2] == [2000.0, 4000.0, 6500.0, 4504000.0]


numbers = st.one_of(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=12),
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 3)), min_size=2, max_size=12),
)


@given(numbers, st.sampled_from([1, 7, 100, 2500, "1 digit", "3 digits"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_end_is_round_and_no_row_outside(values: list[Any], ends: Any, coded: bool) -> None:
    """The independent check of the release, told again from the numbers, holds the cells against the rows."""
    how = {"top": 500, "bottom": -500} if coded else {}
    release = made(
        pa.array(values, pa.float64() if isinstance(values[0], float) else pa.int64()), ends=ends, **how
    )
    for text, value in zip(release.table["pay"].to_pylist(), values, strict=True):
        if not text.startswith("["):
            continue
        low, high = (Decimal(part) for part in text[1:-1].split(", "))
        assert low <= Decimal(str(value)) <= high
        for end, how_rounded in ((low, ROUND_FLOOR), (high, ROUND_CEILING)):
            if coded and abs(abs(end) - 500) <= 1:  # beside the top and the bottom
                continue
            if isinstance(ends, str):
                assert Context(int(ends[0]), how_rounded).create_decimal(end) == end
            else:
                assert end % ends == 0


def test_what_is_lost_is_what_is_shown(tmp_path: Path) -> None:
    release = made(PAY, ends=1000)
    reach = 9_000_000 - 1834
    widths = [3000 - 1834, 2000, 3000, 9_000_000 - 8000]  # within the least and the greatest value
    assert release.utility().gcp == pytest.approx(2 * sum(widths) / reach / 8)
    for name in ("release.parquet", "release.csv"):
        release.write(tmp_path / name)
        pq.write_table(pa.table({"pay": PAY}), tmp_path / "table.parquet")
        schema = anon.Schema([anon.numeric("pay", ends=1000)])
        compared = anon.compare(tmp_path / "table.parquet", tmp_path / name, schema)
        assert compared.gcp == pytest.approx(release.utility().gcp)
        assert anon.check(tmp_path / name, anon.Schema(["pay"])).k == 2


def test_the_report_counts_cells_that_end_at_the_value_of_one_person() -> None:
    pay = [1800, 2000, 2000, 2500, 2500, 2600, 2600, 2600, 2700, 9_000_000]
    plain = made(pay, k=5)
    assert plain.table["pay"].unique().to_pylist() == ["[1800, 2500]", "[2600, 9000000]"]
    assert plain.ends_of_one == {"pay": 2}
    report = of_release(plain)
    assert report.facts["ends_of_one"] == {"pay": 2}
    said = " ".join(report.sections[0].paragraphs)
    assert "2 of 2 cells of pay end at the value of one person; ends= (--ends pay=...) rounds them" in said
    assert made(pay, k=5, ends=1000).ends_of_one == {"pay": 0}
    assert "end at the value" not in " ".join(of_release(made(pay, k=5, ends=1000)).sections[0].paragraphs)
    assert made(pay, k=5, top=2600).ends_of_one == {"pay": 1}
    assert made(pay, k=5, numeric="midpoint").ends_of_one == {}
    twice = [*pay, 9_000_000, 1800]
    assert made(twice, k=5).ends_of_one == {"pay": 0}


def test_the_same_person_twice_is_one() -> None:
    table = pa.table({"pay": [1, 1, 2, 2, 3, 3, 9, 9], "who": [1, 1, 2, 2, 3, 3, 4, 4]})
    release = anon.anonymize(table, anon.Schema(["pay"], unit="who"), require=[anon.KAnonymity(2)])
    assert release.ends_of_one == {"pay": 2}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: anon.numeric("pay", ends=0), "a number above 0"),
        (lambda: anon.numeric("pay", ends="some digits"), 'such as "2 digits"'),
        (lambda: anon.numeric("pay", ends=True), "a number above 0"),
        (lambda: anon.numeric("pay", ends=5, least=5), "leave out ends or least"),
        (lambda: anon.Attribute("pay", "nominal", ends=5), "not for a nominal attribute"),
        (lambda: made(PAY, ends=0.25), "no multiple of the unit of its int64 values"),
        (lambda: made(pa.array([Decimal("9.99"), Decimal("1.00")]), ends="1 digit"), "wider type"),
        (lambda: made(np.array(["2020-01-01", "2021-01-01"], "M8[D]"), ends=5), "coarser by least"),
        (
            lambda: made(PAY, numeric="level", ends=5, hierarchy=anon.intervals(5)),
            "shows its levels: leave out one",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(make: Any, words: str) -> None:
    with pytest.raises(anon.UsageError, match=words):
        make()


@pytest.mark.parametrize("ends", [5, "2 digits"])
@pytest.mark.parametrize("value", [2**63 - 1, 2**63 - 2])
def test_ends_beyond_the_type_are_refused(value: int, ends: Any) -> None:
    with pytest.raises(anon.UsageError, match="wider type"):
        made(pa.array([value, value]), ends=ends)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(21, 2)])
def test_a_bucketization_shows_values_with_one_rounded_cell(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"pay": pa.array([1, 2, 13, None] * 2).cast(kind), "s": [*"aabb", *"bbaa"]})
    release = anon.anonymize(
        table,
        anon.Schema([anon.numeric("pay", ends=10)], ["s"]),
        require=[anon.LDiversity(2)],
        publish="bucketization",
    )
    release.write(tmp_path / "release.parquet")
    shown = anon.read_table(tmp_path / "release.parquet")["pay"].to_pylist()
    assert {*shown} == {*release.table["pay"].to_pylist()}
    assert len({*shown}) == 3
    assert shown.count(None) == 2


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_values_and_cells_of_levels_end_at_nobodys_value() -> None:
    """Nothing is to be rounded there: one shows values or null, the other the intervals of its rounds."""
    table = {"pay": [1, 1, 1, 2, 3, 17, 18, 18, 18, 19]}
    schema = anon.Schema([anon.numeric("pay", anon.intervals(5, 20))])
    blanked = anon.anonymize(
        table,
        schema,
        require=[anon.KAnonymity(2, nulls="wildcard")],
        method=anon.LocalSuppression(),
        suppress=0.9,
    )
    in_rounds = anon.anonymize(
        table, schema, require=[anon.KAnonymity(3)], method=anon.FullDomain(iterate=0.1), suppress=0.9
    )
    assert blanked.ends_of_one == in_rounds.ends_of_one == {}
