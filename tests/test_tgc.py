# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anoncore import tgc
from reference import tgc as slow
from test_diversity import attribute_of, attributes, closeness_of

DTYPES = [np.uint8, np.uint16, np.uint32]


def line(n_values: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "ordered",
        "n_values": n_values,
        "positions": list(range(n_values)),
        "weight": 1.0,
        **more,
    }


# LS table 2: age (10, 15, .. 30), height (170, 175), postcode (30, 32), salary (20, 65) as codes.
MICRODATA = [
    [0, 0, 0, 0],
    [1, 1, 1, 0],
    [1, 0, 0, 1],
    [2, 1, 1, 1],
    [2, 0, 0, 0],
    [3, 1, 1, 0],
    [3, 0, 0, 1],
    [4, 1, 1, 1],
]
AGE = line(5, positions=[0, 5, 10, 15, 20])
HEIGHT = line(2, positions=[0, 5])
POSTCODE = line(2, positions=[0, 2])
SALARY = line(2, positions=[0, 45])
TABLE_3 = [[0, 1], [2, 3], [4, 5], [6, 7]]
TABLE_4 = [[0, 2], [1, 3], [4, 6], [5, 7]]


def objective_of(objective: dict[str, Any]) -> tgc.Objective:
    sensitive = objective["sensitive"]
    return tgc.Objective(
        [attribute_of(one, "q-diversity", one["weight"]) for one in objective["attributes"]],
        [closeness_of(one, r, printed) for one, r, printed, _ in sensitive],
        [weight for *_, weight in sensitive],
        w_u=objective["w_u"],
        w_p=objective["w_p"],
    )


def ls_objective(w_u: float, w_p: float) -> dict[str, Any]:
    return {
        "attributes": [AGE, HEIGHT, POSTCODE],
        "sensitive": [(SALARY, 1.0, False, 1.0)],
        "w_u": w_u,
        "w_p": w_p,
    }


def classes_of(home: Any) -> list[list[int]]:
    home = np.asarray(home)
    return sorted(np.flatnonzero(home == c).tolist() for c in range(home.max(initial=-1) + 1))


def grow(
    codes: Any, offsets: Any, objective: Any, k: int, delta: float, dtype: Any = np.uint8, **more: Any
) -> Any:
    table = np.array(codes, dtype).reshape(len(codes), -1)
    home, n = tgc.grow(table, np.array(offsets, np.int64), objective_of(objective), k, delta, **more)
    return home.tolist(), n


@pytest.mark.parametrize("mend", [False, True])
@pytest.mark.parametrize(
    ("w_u", "delta", "classes"),
    [
        (1.0, 0.1, TABLE_4),
        (1.0, 1.0, [list(range(8))]),
        (0.5, 0.3, TABLE_4),
    ],
)
def test_algorithm_1_on_table_2(w_u: float, delta: float, classes: Any, mend: bool) -> None:
    home, n = grow(MICRODATA, [0, 8], ls_objective(w_u, 1 - w_u), 2, delta, mend=mend)
    assert (classes_of(home), n) == (classes, len(classes))


def test_algorithm_1_may_reject_everything() -> None:
    objective = ls_objective(1.0, 0.0)
    home, n = grow(MICRODATA, [0, 8], objective, 2, 0.05, mend=False)
    assert (home, n) == ([-1] * 8, 0)
    home = tgc.reinsert(np.array(MICRODATA, np.uint8), np.array(home), objective_of(objective)).tolist()
    assert home == [0] * 8
    assert classes_of(grow(MICRODATA, [0, 8], objective, 2, 0.05)[0]) == TABLE_4


def test_wtd_of_table_2() -> None:
    rows = [MICRODATA[0], MICRODATA[2]]
    assert slow.wtd(ls_objective(0.5, 0.5), rows) == pytest.approx(7 / 24, abs=1e-15)


@pytest.mark.parametrize(("raw", "classes"), [(True, TABLE_3), (False, TABLE_4)])
def test_algorithm_2_on_table_2(raw: bool, classes: Any) -> None:
    attributes = [{**one, "weight": one["positions"][-1] if raw else 1.0} for one in (AGE, HEIGHT, POSTCODE)]
    rows, offsets = tgc.split(
        np.array(MICRODATA, np.uint8)[:, :3],
        [attribute_of(one, "ncp", one["weight"]) for one in attributes],
        s=2,
        mend=False,
    )
    assert sorted(part.tolist() for part in np.split(rows, offsets[1:-1])) == classes


@st.composite
def objectives(draw: st.DrawFn) -> dict[str, Any]:
    weights = st.sampled_from([1.0, 1.0, 2.0, 0.3, 0.0])
    quasi = draw(st.lists(attributes(), max_size=4))
    sensitive = draw(st.lists(attributes(huge=False), min_size=0 if quasi else 1, max_size=2))
    w_u = draw(st.sampled_from([1.0, 0.5, 0.0, 0.7]))
    return {
        "attributes": [one | {"weight": draw(weights)} for one in quasi],
        "sensitive": [
            (one, draw(st.sampled_from([0.0, 0.3, 1.0])), draw(st.booleans()), draw(weights))
            for one in sensitive
        ],
        "w_u": w_u,
        "w_p": 1 - w_u,
    }


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 25) -> Any:
    """(codes, offsets of subspaces, objective); equal rows in runs and apart."""
    objective = draw(objectives())
    row = st.tuples(
        *(st.integers(0, one["n_values"]) for one in objective["attributes"]),
        *(st.integers(0, one["n_values"] - 1) for one, *_ in objective["sensitive"]),
    )
    pool = draw(st.lists(row, min_size=1, max_size=max_rows))
    codes = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_rows))
    if draw(st.booleans()):
        codes.sort()
    bounds = draw(st.sets(st.integers(1, len(codes)), max_size=2)) | {0, len(codes)}
    return codes, sorted(bounds), objective


@given(
    tables(),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0, 3.0]),
    st.booleans(),
    st.sampled_from([None, 0, 3]),
    st.sampled_from(DTYPES[1:]),
)
@settings(max_examples=300, deadline=None)
def test_grow_equals_its_twin(
    table: Any, k: int, delta: float, mend: bool, more: int | None, dtype: Any
) -> None:
    codes, offsets, objective = table
    most = None if more is None else k + more
    assert grow(codes, offsets, objective, k, delta, dtype, mend=mend, most=most) == slow.grow(
        codes, offsets, objective, k, delta, most, mend
    )


@given(st.data(), tables(max_rows=20))
@settings(max_examples=150, deadline=None)
def test_reinsert_equals_its_twin(data: Any, table: Any) -> None:
    codes, _, objective = table
    drawn = data.draw(st.lists(st.integers(-1, 3), min_size=len(codes), max_size=len(codes)))
    present = sorted(set(drawn) - {-1})
    home = [-1 if c == -1 else present.index(c) for c in drawn]
    placed = tgc.reinsert(np.array(codes, np.uint16), np.array(home, np.int64), objective_of(objective))
    assert placed.tolist() == slow.reinsert(codes, home, objective)


@given(
    st.data(),
    tables(max_rows=40),
    st.integers(1, 6),
    st.sampled_from([None, 0.3, 0.6, 1.0, 1.4]),
    st.sampled_from([None, 10, 20]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_split_equals_its_twin(data: Any, table: Any, s: int, limit: Any, limited: Any, mend: bool) -> None:
    codes, _, objective = table
    dtype = data.draw(st.sampled_from(DTYPES[1:]))
    quasi, sensitive = objective["attributes"], [one[:3] for one in objective["sensitive"]]
    if not quasi:
        quasi = [line(4)]
        codes = [(data.draw(st.integers(0, 4)), *row) for row in codes]
    rows, offsets = tgc.split(
        np.array(codes, dtype),
        [attribute_of(one, "ncp", one["weight"]) for one in quasi],
        [closeness_of(*one) for one in sensitive],
        s=s,
        limit=np.inf if limit is None else limit,
        limited=limited,
        mend=mend,
    )
    parts = [part.tolist() for part in np.split(rows, offsets[1:-1])]
    assert parts == slow.split(codes, quasi, sensitive, s, limit, limited, mend)
