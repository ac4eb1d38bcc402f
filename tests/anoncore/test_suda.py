# SPDX-License-Identifier: Apache-2.0
"""The search for minimal sample uniques against its slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anoncore.suda import minimal_uniques
from reference import suda as twin


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_sets_are_those_of_the_twin(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 5))
    n_values = data.draw(st.lists(st.integers(1, 5), min_size=m, max_size=m))
    distinct = data.draw(
        st.lists(st.tuples(*(st.integers(0, k - 1) for k in n_values)), unique=True, max_size=12)
    )
    single = data.draw(st.lists(st.integers(0, 1), min_size=len(distinct), max_size=len(distinct)))
    nulls = [data.draw(st.sampled_from([-1, k - 1])) for k in n_values]
    max_size = data.draw(st.integers(1, m + 1))
    width = data.draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
    codes = np.ascontiguousarray(np.array(distinct, width).reshape(len(distinct), m).T)
    rows, masks = minimal_uniques(codes, np.array(nulls), np.array(single, np.uint8), max_size)
    found = list(zip(rows.tolist(), masks.tolist(), strict=True))
    assert masks.tolist() == sorted(masks.tolist())
    assert len(found) == len(set(found))
    assert set(found) == twin.minimal_uniques(codes.tolist(), nulls, single, max_size)


def test_the_last_of_64_columns_counts() -> None:
    codes = np.zeros((64, 3), np.uint8)
    codes[63] = [0, 1, 1]
    codes[0] = [0, 0, 1]
    rows, masks = minimal_uniques(codes, np.full(64, -1), np.ones(3, np.uint8), 64)
    found = set(zip(rows.tolist(), masks.tolist(), strict=True))
    assert found == {(2, 1), (0, 2**63), (1, 2**63 + 1)}


def test_bad_arguments() -> None:
    codes, nulls, single = np.zeros((2, 2), np.uint8), np.array([-1, -1]), np.ones(2, np.uint8)
    for wrong in (
        (codes, nulls[:1], single, 2),
        (codes, nulls, single[:1], 2),
        (codes, nulls, single * 2, 2),
        (codes, nulls, single, 0),
        (np.zeros((65, 1), np.uint8), np.full(65, -1), single[:1], 2),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            minimal_uniques(*wrong)
