# SPDX-License-Identifier: Apache-2.0
"""1,000 persons against all classes of a release, and against all rows of a table, on two threads."""

import numpy as np
import pytest

from anoncore import nearest

N_PERSONS, N_PARTS, N_CELLS = 1000, 8, 60


@pytest.fixture(scope="module", params=[1, 10], ids=["rows", "classes of ten"])
def boxes(n_rows, request):
    rng = np.random.default_rng(0)
    n_boxes = n_rows // request.param
    parts = [np.abs(np.arange(N_CELLS) - np.arange(N_CELLS)[:, None]) / N_CELLS for _ in range(N_PARTS)]
    return {
        "cells": rng.integers(0, N_CELLS, (N_PARTS, n_boxes)).astype(np.uint32),
        "parts": parts,
        "picks": rng.integers(0, N_CELLS, (N_PARTS, N_PERSONS)).astype(np.uint32),
    }


def test_rows(benchmark, boxes):
    n_boxes = boxes["cells"].shape[1]
    salts = np.arange(N_PERSONS, dtype=np.uint64)
    offsets = np.arange(n_boxes + 1, dtype=np.int64)

    def found():
        return nearest.rows(**boxes, offsets=offsets, salts=salts, n_neighbors=1, n_threads=2)

    assert (benchmark.pedantic(found, rounds=1) >= 0).all()


def test_guesses(benchmark, boxes):
    n_boxes = boxes["cells"].shape[1]
    every = np.arange(n_boxes + 1, dtype=np.int64)
    groups = every[:-1].astype(np.uint32)
    held = {"offsets": every, "values": groups % 14, "counts": np.ones(n_boxes, np.int64), "n_values": 14}

    def found():
        return nearest.guesses(**boxes, shares=np.ones(n_boxes), groups=groups, **held, n_threads=2)

    assert (benchmark.pedantic(found, rounds=1) >= 0).all()


def test_expected(benchmark, boxes):
    sizes = np.ones(boxes["cells"].shape[1], np.int64)
    shares = [(part == 0).astype(float) for part in boxes["parts"]]

    def found():
        return nearest.expected(**{**boxes, "parts": shares}, sizes=sizes, n_threads=2)

    assert (benchmark.pedantic(found, rounds=1) >= 0).all()
