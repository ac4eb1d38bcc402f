# SPDX-License-Identifier: Apache-2.0
"""The Mondrian kernel against its twin, against tables worked by hand, and against its promises."""

from __future__ import annotations

import concurrent.futures
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.partition import Attribute
from reference.partition import partition as partition_twin

import anoncore.partition
from anoncore.partition import Attributes, partition
from anoncore.requirement import Conjunction

WIDTHS = (np.uint8, np.uint16, np.uint32)


def kernel_attributes(attributes: Sequence[Attribute]) -> Attributes:
    """The kernel's description of the twin's attributes; nodes of trees are in preorder."""
    trees: list[Any] = []
    for attribute in attributes:
        if attribute.parent is None:
            trees.append(None)
            continue
        paths = [attribute.path(code) for code in range(attribute.n_values)]
        below = [[c for c, path in enumerate(paths) if v in path] for v in range(len(attribute.parent))]
        first = [min(codes) for codes in below]
        last = [max(codes) for codes in below]
        trees.append((attribute.parent, first, last, attribute.leaf))
    return Attributes(
        [attribute.n_values for attribute in attributes],
        [attribute.weight for attribute in attributes],
        [attribute.positions for attribute in attributes],
        trees,
    )


def size_only(k: int, n: int) -> Conjunction:
    return Conjunction([], n, [("size", k)])


def classes_of(rows: np.ndarray, offsets: np.ndarray) -> list[list[int]]:
    return [rows[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


@st.composite
def trees(draw: st.DrawFn, n_values: int) -> tuple[list[int], list[int]]:
    """Parents in preorder and the node of every leaf."""
    parent: list[int] = []
    leaf: list[int] = []

    def grow(above: int, codes: list[int]) -> None:
        node = len(parent)
        parent.append(above)
        if len(codes) == 1 and draw(st.booleans()):
            leaf.append(node)
            return
        if len(codes) == 1:
            grow(node, codes)
            return
        n_parts = draw(st.integers(1 if len(codes) < n_values or above < 0 else 2, len(codes)))
        cuts = sorted(draw(st.permutations(range(1, len(codes))))[: n_parts - 1])
        if not cuts:
            cuts = [1]
        for a, b in zip([0, *cuts], [*cuts, len(codes)], strict=True):
            grow(node, codes[a:b])

    grow(-1, list(range(n_values)))
    return parent, leaf


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Attribute], np.ndarray]:
    """Attributes of any kind and the codes of up to 60 rows, one column each."""
    n = draw(st.integers(0, 60))
    attributes, columns = [], []
    for _ in range(draw(st.integers(1, 4))):
        n_values = draw(st.sampled_from([1, 2, 3, 5, 8, 12, 300]))
        kind = draw(st.sampled_from(["ordered", "tree", "flat"]))
        if kind == "tree":
            n_values = min(n_values, 12)
        attribute = Attribute(n_values, weight=draw(st.sampled_from([0.5, 1.0, 2.0])))
        if kind == "ordered":
            steps = draw(st.lists(st.integers(1, 9), min_size=n_values, max_size=n_values))
            attribute.positions = np.cumsum([0, *steps[1:]]).astype(float).tolist()
        elif kind == "tree":
            attribute.parent, attribute.leaf = draw(trees(n_values))
        seed = draw(st.integers(0, 2**32 - 1))
        few = draw(st.integers(1, n_values + 1))
        attributes.append(attribute)
        columns.append(np.random.default_rng(seed).integers(n_values + 1 - few, n_values + 1, n))
    return attributes, np.array(columns).reshape(len(columns), n)


def typed(draw: st.DrawFn, column: np.ndarray) -> np.ndarray:
    widths = [width for width in WIDTHS if column.max(initial=0) <= np.iinfo(width).max]
    return column.astype(draw(st.sampled_from(widths)))


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of both twins for one run."""
    attributes, codes = draw(tables())
    m, n = codes.shape
    chooser = draw(st.sampled_from(["widest", "most-repeated", "least-repeated", "information-gain"]))
    options: dict[str, Any] = {
        "chooser": chooser,
        "nearest": draw(st.booleans()),
        "relaxed": draw(st.booleans()),
    }
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if chooser == "information-gain":
        options["target"] = rng.integers(0, draw(st.sampled_from([2, 4, 3000])), n).astype(np.uint16)
    if chooser == "widest":
        options["priority"] = draw(st.permutations(range(m)))[: draw(st.integers(0, m))]
    if draw(st.booleans()):
        options["rows"] = rng.permutation(n)[: draw(st.integers(0, n))].astype(np.uint32)
    sizes = draw(st.lists(st.sampled_from([2, 4, 20, 3000]), max_size=2))
    sensitive = [rng.integers(0, size, n) for size in sizes]
    return {
        "attributes": attributes,
        "codes": codes,
        "columns": [typed(draw, column) for column in codes],
        "sensitive": sensitive,
        "sizes": sizes,
        "sensitive_columns": [typed(draw, column) for column in sensitive],
        "k": draw(st.integers(1, 6)),
        "l": draw(st.integers(2, 3)),
        "options": options,
    }


def run_kernel(run: dict[str, Any], **more: Any) -> tuple[np.ndarray, np.ndarray]:
    n = run["codes"].shape[1]
    counts = [np.bincount(s, minlength=d) for s, d in zip(run["sensitive"], run["sizes"], strict=True)]
    rules: list[Any] = [("size", run["k"])]
    rules += [("distinct", a, run["l"]) for a in range(len(counts))]
    return partition(
        run["columns"],
        kernel_attributes(run["attributes"]),
        Conjunction(counts, n, rules),
        sensitive=run["sensitive_columns"],
        **run["options"],
        **more,
    )


def passes_of(run: dict[str, Any]) -> Callable[[list[int]], bool]:
    def passes(rows: list[int]) -> bool:
        diverse = all(len({int(s[r]) for r in rows}) >= run["l"] for s in run["sensitive"])
        return len(rows) >= run["k"] and diverse

    return passes


@settings(max_examples=300, deadline=None)
@given(runs())
def test_partition_equals_its_twin(run: dict[str, Any]) -> None:
    rows, offsets = run_kernel(run)
    expected = partition_twin(run["codes"].T.tolist(), run["attributes"], passes_of(run), **run["options"])
    assert (rows.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert classes_of(rows, offsets) == expected
