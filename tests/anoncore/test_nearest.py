# SPDX-License-Identifier: Apache-2.0
"""Nearest rows, guesses and expected rows against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference.nearest as twin
from anoncore import nearest


@st.composite
def releases(draw: st.DrawFn) -> dict[str, Any]:
    n_parts, n_boxes, n_persons = draw(st.integers(1, 3)), draw(st.integers(0, 12)), draw(st.integers(0, 20))
    cells, parts, picks = [], [], []
    for _ in range(n_parts):
        shape = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        some = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=shape[1], max_size=shape[1])
        parts.append(np.array([draw(some) for _ in range(shape[0])]))
        cells.append(draw(st.lists(st.integers(0, shape[1] - 1), min_size=n_boxes, max_size=n_boxes)))
        picks.append(draw(st.lists(st.integers(0, shape[0] - 1), min_size=n_persons, max_size=n_persons)))
    sizes = draw(st.lists(st.integers(1, 4), min_size=n_boxes, max_size=n_boxes))
    return {
        "cells": np.array(cells, np.uint32).reshape(n_parts, n_boxes),
        "parts": parts,
        "picks": np.array(picks, np.uint32).reshape(n_parts, n_persons),
        "sizes": np.array(sizes, np.int64),
        "salts": np.arange(n_persons, dtype=np.uint64) * np.uint64(2**61 + 1),
    }


@given(releases(), st.integers(1, 5), st.integers(1, 3))
def test_rows_is_its_twin(case: dict[str, Any], n_neighbors: int, n_threads: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(case["sizes"])]).astype(np.int64)
    given_ = {name: case[name] for name in ("cells", "parts", "picks", "salts")}
    found = nearest.rows(**given_, offsets=offsets, n_neighbors=n_neighbors, n_threads=n_threads)
    assert found.tolist() == twin.rows(**given_, offsets=offsets.tolist(), n_neighbors=n_neighbors)


@given(releases(), st.data(), st.integers(1, 3))
def test_guesses_is_its_twin(case: dict[str, Any], data: st.DataObject, n_threads: int) -> None:
    n_boxes, n_values = len(case["sizes"]), data.draw(st.integers(1, 4))
    n_groups = data.draw(st.integers(1, max(n_boxes, 1)))
    listed = [
        sorted(data.draw(st.sets(st.integers(0, n_values - 1), min_size=1, max_size=n_values)))
        for _ in range(n_groups)
    ]
    values = [v for each in listed for v in each]
    counts = data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)))
    of_box = st.integers(0, n_groups - 1)
    arguments = {
        **{name: case[name] for name in ("cells", "parts", "picks")},
        "shares": np.array(
            data.draw(st.lists(st.sampled_from([0.5, 1.0]), min_size=n_boxes, max_size=n_boxes)), np.float64
        ),
        "groups": np.array(data.draw(st.lists(of_box, min_size=n_boxes, max_size=n_boxes)), np.uint32),
        "offsets": np.cumsum([0, *map(len, listed)]),
        "values": np.array(values, np.uint32),
        "counts": np.array(counts, np.int64),
        "n_values": n_values,
    }
    found = nearest.guesses(**arguments, n_threads=n_threads)
    assert found.tolist() == twin.guesses(**arguments)


@given(releases(), st.integers(1, 3))
def test_expected_is_its_twin(case: dict[str, Any], n_threads: int) -> None:
    arguments = {name: case[name] for name in ("cells", "parts", "picks", "sizes")}
    found = nearest.expected(**arguments, n_threads=n_threads)
    assert found.tolist() == twin.expected(**arguments)


def test_rows_that_are_equally_near_are_drawn_evenly() -> None:
    n = 20_000
    salts = np.random.default_rng(0).integers(0, 2**63, n).astype(np.uint64)
    found = nearest.rows(
        np.zeros((1, 1), np.uint32),
        [np.zeros((1, 1))],
        np.zeros((1, n), np.uint32),
        np.array([0, 4]),
        salts,
        1,
    )
    counts = np.bincount(found[:, 0], minlength=4)
    assert np.abs(counts - n / 4).max() < 5 * np.sqrt(n * 3 / 16)
