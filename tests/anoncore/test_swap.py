# SPDX-License-Identifier: Apache-2.0
"""Rank swapping against its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference.swap as twin
from anoncore import swap

DRAWS = st.lists(st.floats(0, 1, exclude_max=True), max_size=70)


@given(DRAWS, st.integers(0, 80))
def test_swapped_is_its_twin(draws: list[float], window: int) -> None:
    assert swap.swapped(np.array(draws), window).tolist() == twin.swapped(draws, window)


@given(DRAWS, st.integers(0, 80))
def test_values_are_exchanged_in_pairs_of_near_ranks(draws: list[float], window: int) -> None:
    source = swap.swapped(np.array(draws), window)
    ranks = np.arange(len(draws))
    assert (source[source] == ranks).all()
    assert (np.abs(source - ranks) <= window).all()


def test_the_value_of_the_definition() -> None:
    values = np.arange(10, 101, 10)
    swapped = values[swap.swapped(np.full(10, 0.5), 3)]
    assert swapped.tolist() == [30, 50, 10, 70, 20, 90, 40, 100, 60, 80]


@st.composite
def households(draw: st.DrawFn) -> dict[str, Any]:
    n = draw(st.integers(0, 40))
    numbers = st.integers(0, draw(st.integers(0, 4)))
    order = draw(st.permutations(range(n)))[: draw(st.integers(0, n))]
    seekers = draw(st.permutations(order))[: draw(st.integers(0, len(order)))]
    return {
        "profile": draw(st.lists(numbers, min_size=n, max_size=n)),
        "area": draw(st.lists(numbers, min_size=n, max_size=n)),
        "order": order,
        "seekers": seekers,
        "swapped": draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=n, max_size=n)),
        "most": draw(st.sampled_from([0, 1, 3, 100])),
    }


@given(households())
def test_partners_is_its_twin(case: dict[str, Any]) -> None:
    kinds = dict.fromkeys(("profile", "area", "order", "seekers"), np.uint32) | {"swapped": np.uint8}
    arrays = {name: np.array(case[name], kind) for name, kind in kinds.items()}
    assert swap.partners(**arrays, most=case["most"]).tolist() == twin.partners(**case)
    assert arrays["swapped"].tolist() == case["swapped"]


def test_partners_of_an_area_that_has_most_are_found_in_time() -> None:
    """Each second seeker passes over all that is left of the first half of the order."""
    n = 400_000
    area = np.repeat(np.array([0, 1], np.uint32), n // 2)
    area[n // 4 : n // 2] = 2  # half of the seekers: they take the first that there is
    order = np.arange(n, dtype=np.uint32).reshape(4, -1)[[0, 2, 1, 3]].ravel()
    seekers = np.arange(n // 4).repeat(2)
    seekers[::2] = seekers[::2][::-1]
    seekers[1::2] += n // 4
    seekers = seekers[: n // 4].astype(np.uint32)
    found = swap.partners(np.zeros(n, np.uint32), area, order, seekers, np.zeros(n, np.uint8), n)
    assert found[::2].tolist() == list(range(n // 2, n // 2 + n // 8))
    assert found[1::2].tolist() == list(range(n // 8))
