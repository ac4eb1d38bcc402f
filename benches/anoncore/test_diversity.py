# SPDX-License-Identifier: Apache-2.0
"""Diversity of classes of ten rows each, and of one large class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anoncore import diversity
from anoncore.attribute import Attribute

N_VALUES = 1_000


def shapes() -> dict[str, dict[str, Any]]:
    """A line, a tree of 1,000 leaves in tens of tens, and flat labels."""
    parent, first, last, leaf, above = [-1], [0], [N_VALUES - 1], [], 0
    for hundred in range(10):
        above = len(parent)
        parent, first, last = [*parent, 0], [*first, 100 * hundred], [*last, 100 * hundred + 99]
        for ten in range(10):
            low = 100 * hundred + 10 * ten
            parent, first, last = [*parent, above], [*first, low], [*last, low + 9]
            node = len(parent) - 1
            for value in range(low, low + 10):
                leaf.append(len(parent))
                parent, first, last = [*parent, node], [*first, value], [*last, value]
    return {
        "ordered": {"positions": np.arange(float(N_VALUES))},
        "tree": {"tree": tuple(np.array(part, np.int32) for part in (parent, first, last, leaf))},
        "flat": {},
    }


SHAPES = shapes()
KINDS = pytest.mark.parametrize("kind", list(SHAPES))


def classes(n_rows: int) -> Any:
    """(offsets, values, counts) of classes of ten rows."""
    codes = np.sort(np.random.default_rng(0).integers(0, N_VALUES, (n_rows // 10, 10)), axis=1)
    first = np.concatenate([np.ones((len(codes), 1), bool), np.diff(codes, axis=1) > 0], axis=1)
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, codes.size))
    offsets = np.concatenate([[0], np.cumsum(first.sum(axis=1))])
    return offsets, codes.ravel()[starts], counts


@KINDS
def test_q_diversity(benchmark: Any, n_rows: int, kind: str) -> None:
    offsets, values, _ = classes(n_rows)
    attribute = Attribute(N_VALUES, **SHAPES[kind], loss="q-diversity")
    widths = benchmark(diversity.q_diversity, attribute, offsets, values)
    assert len(widths) == n_rows // 10
    assert 0 < widths.min() <= widths.max() <= 1


@KINDS
def test_s_diversity(benchmark: Any, n_rows: int, kind: str) -> None:
    closeness = diversity.Closeness(Attribute(N_VALUES, **SHAPES[kind]), r=1.0)
    near = benchmark(diversity.s_diversity, closeness, *classes(n_rows))
    assert len(near) == n_rows // 10
    assert 0.1 <= near.min() <= near.max() < 1


@KINDS
def test_q_diversity_of_prefixes(benchmark: Any, n_rows: int, kind: str) -> None:
    codes = np.random.default_rng(0).integers(0, N_VALUES, n_rows)
    attribute = Attribute(N_VALUES, **SHAPES[kind])
    widths = benchmark(diversity.q_diversity_of_prefixes, attribute, codes)
    assert widths[-1] == 1
    assert (np.diff(widths) >= 0).all()


@KINDS
def test_s_diversity_of_prefixes(benchmark: Any, n_rows: int, kind: str) -> None:
    codes = np.random.default_rng(0).integers(0, N_VALUES, n_rows)
    closeness = diversity.Closeness(Attribute(N_VALUES, **SHAPES[kind]), r=1.0)
    near = benchmark(diversity.s_diversity_of_prefixes, closeness, codes)
    values, counts = np.unique(codes, return_counts=True)
    assert near[-1] == pytest.approx(
        diversity.s_diversity(closeness, np.array([0, len(values)]), values, counts)[0]
    )


@KINDS
def test_pairwise_contribution(benchmark: Any, n_rows: int, kind: str) -> None:
    u, v = np.random.default_rng(0).integers(0, N_VALUES, (2, n_rows))
    near = benchmark(
        diversity.pairwise_contribution, diversity.Closeness(Attribute(N_VALUES, **SHAPES[kind]), r=1.0), u, v
    )
    assert ((near == 1) == (u == v)).all()
