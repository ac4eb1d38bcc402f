# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anoncore import cluster
from reference import cluster as slow


@given(st.lists(st.integers(1, 9), max_size=8), st.integers(1, 9))
def test_deal_equals_its_twin(counts: list[int], l: int) -> None:
    counts = sorted(counts, reverse=True)
    taken, left = cluster.deal(np.array(counts, np.int64), l)
    buckets, rest = slow.deal(counts, l)
    assert [sorted(bucket) for bucket in taken.tolist()] == [sorted(bucket) for bucket in buckets]
    assert left.tolist() == rest


def test_deal_leaves_at_most_one_row_of_a_value_when_no_value_is_too_frequent() -> None:
    # 7 rows, l = 2: the most frequent value has 3 <= 7/2 rows.
    taken, left = cluster.deal(np.array([3, 2, 2], np.int64), 2)
    assert taken.shape == (3, 2)
    assert sorted(left.tolist()) == [0, 0, 1]


@pytest.mark.parametrize("counts", [[1, 2], [0], [2, 0]])
def test_deal_refuses_counts_that_do_not_descend_or_are_not_positive(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="descending"):
        cluster.deal(np.array(counts, np.int64), 2)
