# SPDX-License-Identifier: Apache-2.0
"""Individual risk, households and counts of matching rows: published values, and slow twins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.classes import group
from anon.classes.individual import household_risk, individual_risk
from anon.errors import UsageError
from anon.measures.frequencies import frequencies
from reference import individual as twin

A, B = "11122311", "11112212"
WEIGHTS = [10.0, 20, 15, 8, 30, 5, 12, 40]


def coded(cells: str) -> tuple[np.ndarray, np.ndarray]:
    """Codes of one digit a row, `·` is null; and where it is null."""
    codes = np.array([9 if cell == "·" else int(cell) for cell in cells], np.uint8)
    return codes, codes == 9


def counted(*columns: str, weights: list[float] | None = None, **options: Any) -> tuple[list[float], ...]:
    """F and F of each row."""
    codes, nulls = zip(*map(coded, columns), strict=True)
    classes = group(codes)
    first = classes.rows[classes.offsets[:-1]]
    given = None if weights is None else np.array(weights)
    found = frequencies(
        classes, [column[first] for column in codes], [column[first] for column in nulls], given, **options
    )
    of_row = np.empty((2, len(codes[0])))
    of_row[:, classes.rows] = np.repeat([found.f, found.population], classes.sizes, axis=1)
    return of_row[0].tolist(), of_row[1].tolist()


def test_the_values_of_sdcmicro() -> None:
    risk = individual_risk([1, 2, 3], [100, 60, 30])
    assert risk == pytest.approx([0.0465168706, 0.0304385287, 0.0463684295], abs=5e-11)
    assert individual_risk([3], [30], "approx") == pytest.approx([1 / 21], abs=1e-15)
    assert individual_risk([5, 1], [5, 1]) == pytest.approx([1 / 5, 1], abs=1e-15)


def test_a_table_of_sdcmicro_with_households() -> None:
    f, people = counted(A, B, weights=WEIGHTS)
    assert f == [4, 4, 4, 1, 1, 1, 4, 1]
    assert people == [57, 57, 57, 8, 30, 5, 57, 40]
    risk = individual_risk(f, people, "approx")
    assert risk[[0, 3, 4, 5, 7]] == pytest.approx(
        [0.0228571, 0.2970631, 0.1172827, 0.4023595, 0.0945867], abs=5e-8
    )
    assert risk.sum() == pytest.approx(1.0027204, abs=5e-8)
    household = household_risk(risk, np.array([0, 0, 1, 1, 2, 2, 2, 3]))
    assert household[[0, 2, 4, 7]] == pytest.approx([0.0451918, 0.3131302, 0.4845106, 0.0945867], abs=5e-8)
    assert household.sum() == pytest.approx(2.2647625, abs=5e-8)


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(1, [3, 3, 5, 3, 5, 3, 7]), (0.5, [2.5, 2.5, 4, 2.5, 4, 2.5, 7]), (0, [2, 2, 3, 2, 3, 2, 7])],
)
def test_nulls_as_sdcmicro_counts_them(alpha: float, expected: list[float]) -> None:
    found = counted("1112·2·", "11·222·", nulls="wildcard", alpha=alpha, compat="sdcmicro")
    assert found[0] == expected


def test_a_row_without_a_value_helps_nobody() -> None:
    assert counted("1112·2·", "11·222·", nulls="wildcard")[0] == [3, 3, 4, 3, 4, 3, 0]
    assert counted("1112·2·", "11·222·")[0] == [2, 2, 1, 2, 1, 2, 1]


CELLS = st.sampled_from("12·")


@given(st.data(), st.sampled_from([0.0, 0.25, 1.0]), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_counts_are_those_of_the_twin(data: st.DataObject, alpha: float, own: bool, sdcmicro: bool) -> None:
    n = data.draw(st.integers(1, 9))
    columns = [
        "".join(data.draw(st.lists(CELLS, min_size=n, max_size=n)))
        for _ in range(data.draw(st.integers(2, 3)))
    ]
    weights = [float(w) for w in data.draw(st.lists(st.integers(1, 8), min_size=n, max_size=n))]
    rows = [tuple(None if cell == "·" else cell for cell in row) for row in zip(*columns, strict=True)]
    expected = twin.frequencies(rows, weights, alpha, own, sdcmicro and not own)
    found = counted(
        *columns,
        weights=weights,
        nulls="own" if own else "wildcard",
        alpha=alpha,
        compat="sdcmicro" if sdcmicro else None,
    )
    assert [pair[0] for pair in expected] == pytest.approx(found[0])
    assert [pair[1] for pair in expected] == pytest.approx(found[1])


@given(st.integers(1, 80), st.floats(0.02, 1))
@settings(max_examples=300, deadline=None)
def test_risk_is_that_of_the_twin(f: int, p: float) -> None:
    assert individual_risk([f], [f / p])[0] == pytest.approx(twin.individual_risk(f, f / p), rel=1e-10)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 31, 32, 33, 200])
def test_no_digit_is_lost_at_the_edges_of_the_formulas(f: int) -> None:
    """The integral, which serves every p, against whatever formula is taken."""
    from anon.classes.individual import _integral

    p = np.array([1e-9, 1e-6, 1e-3, 0.2, 0.4999, 0.5, 0.5001, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, 1.0])
    people = f / p
    found = individual_risk(np.full(len(p), f), people)
    assert found == pytest.approx(
        _integral(np.full(len(p), float(f)), f / people, (people - f) / people), rel=2e-13
    )
    assert (np.diff(found) > 0).all()


def test_fractional_rows_lie_between_whole_ones() -> None:
    steady = individual_risk(np.linspace(1, 4, 31), np.linspace(1, 4, 31) * 20)
    assert (np.diff(steady) < 0).all()
    odds = 1.5 / 38.5  # f = 1.5, F = 40: 2 (p/q) (1 - sqrt(p/q) atan(sqrt(q/p)))
    expected = 2 * odds * (1 - math.sqrt(odds) * math.atan(math.sqrt(1 / odds)))
    assert individual_risk([1.5], [40]) == pytest.approx([expected], rel=1e-13)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=12))
def test_household_risk_is_that_of_the_twin(rows: list[tuple[float, int]]) -> None:
    risk, members = zip(*rows, strict=True)
    found = household_risk(np.array(risk), np.array(members))
    assert found.tolist() == pytest.approx(twin.household_risk(risk, members), abs=1e-14)


def test_what_has_no_risk_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one row"):
        individual_risk([0], [3])
    with pytest.raises(UsageError, match="choose one of 'exact', 'approx'"):
        individual_risk([1], [3], "best")  # type: ignore[arg-type]
    for options in ({"nulls": "any"}, {"alpha": 2}, {"compat": "arx"}):
        with pytest.raises(UsageError):
            counted("11", "12", **options)
