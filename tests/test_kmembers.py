# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import kmembers as slow
from test_diversity import LOSSES, attribute_of, attributes, closeness_of

from anoncore import kmembers


def records(codes: Any, dtype: Any) -> Any:
    """(codes of the distinct rows, offsets, rows) of a list of rows."""
    distinct, record = np.unique(np.array(codes), axis=0, return_inverse=True)
    record = record.reshape(-1)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(record))]).astype(np.int64)
    return np.ascontiguousarray(distinct, dtype), offsets, np.argsort(record, kind="stable").astype(np.uint32)


def grow(
    codes: Any, twins: list[dict[str, Any]], k: int, start: int, dtype: Any = np.uint16, sensitive: Any = None
) -> Any:
    fast = [attribute_of(twin, twin["loss"], twin["weight"]) for twin in twins]
    members, left, home = kmembers.grow(*records(codes, dtype), fast, k, start, sensitive=sensitive)
    return members.tolist(), left.tolist(), home.tolist()


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 40) -> Any:
    twins = draw(st.lists(attributes(), min_size=1, max_size=4))
    for twin in twins:
        twin["loss"] = draw(st.sampled_from(LOSSES))
        twin["weight"] = draw(st.sampled_from([1.0, 1.0, 2.0, 0.3, 0.0]))
    row = st.tuples(*(st.integers(0, twin["n_values"]) for twin in twins))
    n_distinct = draw(st.integers(1, max_rows))
    pool = draw(st.lists(row, min_size=n_distinct, max_size=n_distinct))
    codes = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_rows))
    return codes, twins, draw(st.integers(1, min(6, len(codes)))), draw(st.integers(0, len(codes) - 1))


@given(tables(), st.sampled_from([np.uint16, np.uint32]))
@settings(max_examples=200)
def test_grow_equals_its_twin(table: Any, dtype: Any) -> None:
    codes, twins, k, start = table
    assert grow(codes, twins, k, start, dtype) == slow.grow(codes, twins, k, start)


@given(st.data(), tables(max_rows=20), st.lists(attributes(huge=False), min_size=1, max_size=2))
@settings(max_examples=100)
def test_grow_for_protection_equals_its_twin(data: Any, table: Any, sensitive: list[dict[str, Any]]) -> None:
    codes, twins, k, start = table
    row = st.tuples(*(st.integers(0, twin["n_values"] - 1) for twin in sensitive))
    values = data.draw(st.lists(row, min_size=len(codes), max_size=len(codes)))
    r, printed = data.draw(st.sampled_from([0.0, 0.3, 1.0])), data.draw(st.booleans())
    closeness = [closeness_of(twin, r, printed) for twin in sensitive]
    assert grow(codes, twins, k, start, sensitive=(closeness, *records(values, np.int64))) == slow.grow(
        codes, twins, k, start, [(twin, r, printed) for twin in sensitive], values
    )


@pytest.mark.parametrize("seed", range(4))
def test_grow_equals_its_twin_where_the_tree_is_deep(seed: int) -> None:
    # Hundreds of records, skewed positions: leaves are split, boxes shrink, the tree is rebuilt.
    rng = np.random.default_rng(seed)
    twins: list[dict[str, Any]] = [
        {"kind": "ordered", "n_values": 60, "positions": np.cumsum(rng.geometric(0.05, 60)).tolist()},
        {"kind": "ordered", "n_values": 90, "positions": [2.0**i for i in range(90)]},
        {"kind": "flat", "n_values": 70},
        {"kind": "tree", "n_values": 6, "parent": [-1, 0, 1, 1, 0, 4, 4, 4, 0], "leaf": [2, 3, 5, 6, 7, 8]},
    ]
    for twin in twins:
        twin |= {"loss": "ncp", "weight": 1.0}
    codes = np.column_stack([rng.integers(0, twin["n_values"] + 1, 250) for twin in twins])
    codes[:, 1] = rng.geometric(0.1, 250).clip(max=90)
    rows = codes[rng.integers(0, 250, 300)].tolist()
    assert grow(rows, twins, 7, 5, np.uint8) == slow.grow(rows, twins, 7, 5)
