# SPDX-License-Identifier: Apache-2.0
"""The doors of the kernels: every public one refuses what it cannot read, and reads nothing of it.

    python tests/anoncore/test_doors.py

Each kernel stands in `KERNELS` with arguments that are right. Every argument, and every part of one, is
then replaced by what a kernel may meet: nothing, too little, too much, other dimensions, the ends of its
type, no number. All must end in a `ValueError`, but for those listed with the kernel as `right`. Kernels
run in processes of their own, so that a crash is a failure that names its argument. The command prints
how many there are of each.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anoncore

ROOMS = sorted(path.stem for path in Path(anoncore.__file__).parent.glob("*.pyi"))
BEYOND = [-1, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 1.5]


@dataclass(frozen=True)
class Kernel:
    """How a kernel is called, and which of the hostile arguments are right for it (starts of their names)."""

    arguments: Callable[[], dict[str, Any]]
    right: tuple[str, ...] = ()
    more: Callable[[], dict[str, dict[str, Any]]] = field(default=dict)


def u8(*codes: int) -> np.ndarray:
    return np.array(codes, np.uint8)


def u32(*codes: int) -> np.ndarray:
    return np.array(codes, np.uint32)


def i32(*codes: int) -> np.ndarray:
    return np.array(codes, np.int32)


def i64(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def reals(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float64)


TREE = (
    i32(-1, 0, 0, 1, 1),
    i32(0, 0, 2, 0, 1),
    i32(2, 1, 2, 0, 1),
    i32(3, 4, 2),
)  # parent, first, last, leaf
CODES = np.array([[0, 1, 2], [1, 0, 1], [2, 3, 0], [1, 1, 1], [0, 2, 2], [2, 0, 0]], np.uint8)
SALARY = u8(0, 1, 0, 1, 0, 1)


@cache
def described() -> list[Any]:
    """A line, a tree and a set of 3 values each; `CODES` has a null."""
    from anoncore.attribute import Attribute

    return [Attribute(3, reals(0, 1, 3)), Attribute(3, tree=TREE), Attribute(3)]


@cache
def by_level() -> list[Any]:
    """The same, measured as distances are."""
    from anoncore.attribute import Attribute

    return [
        Attribute(3, reals(0, 1, 3), loss="byun"),
        Attribute(3, tree=TREE, loss="byun"),
        Attribute(3, loss="byun"),
    ]


@cache
def widths() -> Any:
    from anoncore.curve import Widths

    return Widths(described())


@cache
def lattice() -> Any:
    from anoncore.lattice import Lattice

    return Lattice(CODES.astype(np.uint32), [[u32(0, 1, 2, 2), u32(0, 0, 0, 0)]] * 3)


@cache
def closeness() -> Any:
    from anoncore.attribute import Attribute
    from anoncore.diversity import Closeness

    return [Closeness(Attribute(2, reals(0, 1)), r=0.5)]


@cache
def conjunction() -> Any:
    from anoncore.requirement import Conjunction

    return Conjunction([i64(3, 3)], 6, [("size", 2), ("share", 0, Fraction(2, 3))])


def grouped() -> dict[str, Any]:
    """Six rows in two groups, and what their refinement is given."""
    return {
        "rows": u32(0, 2, 4, 1, 3, 5),
        "offsets": i64(0, 3, 6),
        "k": 2,
        "q": 4,
        "tried": np.zeros(2, np.uint64),
        "seeds": u8(1, 1),
        "most": 4,
        "rules": conjunction(),
        "sensitive": SALARY.astype(np.int32)[:, None],
    }


@cache
def objective() -> Any:
    from anoncore.tgc import Objective

    return Objective(described(), closeness(), w_u=0.5, w_p=0.5)


def records() -> np.ndarray:
    from anoncore.curve import place

    return place(widths(), CODES, np.arange(6, dtype=np.uint32))


def threads(**more: Any) -> dict[str, Any]:
    return {**more, "n_threads": 1}


def hostile(value: Any) -> Iterator[tuple[str, Any]]:
    """What stands in the place of a right argument: (what it is, the value)."""
    yield "None", None
    if isinstance(value, bool) or callable(value):
        return
    if isinstance(value, int | np.integer):
        yield from ((str(number), number) for number in BEYOND)
    elif isinstance(value, float):
        yield "nan", np.nan
        yield "text", "?"
    elif isinstance(value, str):
        yield "text", "?"
    elif isinstance(value, np.ndarray):
        yield from _arrays(value)
    elif isinstance(value, list | tuple):
        yield "shorter", value[:-1]
        yield "longer", type(value)([*value, value[-1] if value else None])
        for i, part in enumerate(value):
            for what, worse in hostile(part):
                yield f"[{i}] {what}", type(value)([*value[:i], worse, *value[i + 1 :]])
    else:
        yield "another object", object()


def _arrays(value: np.ndarray) -> Iterator[tuple[str, Any]]:
    yield "a dimension more", value[None]
    yield "text", np.full(value.shape, "?")
    yield "objects", value.astype(object)
    if value.ndim > 1:
        yield "a dimension less", value.ravel()
        yield "a column less", np.ascontiguousarray(value[:, :-1])
        yield "a column more", np.ascontiguousarray(value[:, [*range(value.shape[1]), 0]])
    yield "shorter", value[:-1].copy()
    yield "longer", np.concatenate([value, value[-1:]])
    yield "empty", value[:0].copy()
    if not value.size:
        return
    if value.dtype.kind == "f":
        ends = [np.nan, np.inf, -np.inf]
    elif value.dtype.kind == "b":
        return
    else:
        limits = np.iinfo(value.dtype)
        ends = [limits.max, limits.min] if value.dtype.kind == "i" else [limits.max]
        yield "fractions", value + 0.5
    for end in ends:
        for at, where in {0: "first", value.size - 1: "last"}.items():
            changed = value.copy()
            changed.reshape(-1)[at] = end
            if not np.array_equal(changed, value):
                yield f"{where} {end}", changed
    if value.dtype == np.int64 and value.ndim == 1 and value.size > 3:
        # differences of neighbors overflow, so that they seem to ascend
        changed = value.copy()
        changed[1:3] = 2**63 - 1, -2
        yield "wrapping", changed


RUNS = (i64(0, 1, 2), u32(0, 2), u32(1, 3))  # two predicates on a column: codes 0..1 and 2..3
QUERIES = {
    "columns": [u8(0, 1, 2, 3), np.array([3, 2, 1, 0], np.uint16)],
    "predicates": [RUNS, RUNS],
    "queries": np.array([[0, -1], [1, 0], [-1, 1]], np.int32),
}
LISTS = {"offsets": i64(0, 2, 3), "values": u32(0, 2, 1), "counts": i64(1, 1, 2)}
ASKED = {"asked": np.eye(3, dtype=bool), "asks": i32(0, 1, 2)}
COUNTED = {
    "offsets": i64(0, 2, 3, 5),
    "values": u32(0, 1, 2, 0, 2),
    "counts": i64(1, 2, 1, 1, 1),
    "table_counts": i64(2, 2, 2),
}
NODES = {"parent": TREE[0], "depth": i32(0, 1, 1, 2, 2), "leaf": TREE[3]}
BOXES = {"cells": np.array([[0, 1], [1, 0]], np.uint32), "shares": [np.ones((2, 2)), np.full((1, 2), 0.5)]}
CLASSES = {"codes": u8(0, 1, 2, 1, 0, 2), "rows": u32(0, 1, 2, 3, 4, 5), "offsets": i64(0, 2, 6)}
GROWN = {"codes": CODES, "offsets": i64(0, 1, 2, 3, 4, 5, 6), "rows": u32(0, 1, 2, 3, 4, 5)}
TABLE = np.column_stack([CODES, SALARY])


@cache
def of_three() -> Any:
    from anoncore.diversity import Closeness

    return Closeness(described()[0], r=0.5)


GRID = {"grid": np.arange(12, dtype=np.uint32), "starts": i64(0, 4, 8, 12)}
LISTED = {"offsets": i64(0, 2, 3), "values": i64(0, 2, 1)}


@cache
def rules() -> list[Any]:
    line, tree, flat = described()
    return [
        ("size", 2),
        ("distinct", 0, 2),
        ("share", 0, Fraction(2, 3)),
        ("recursive", 0, Fraction(3), 2),
        ("equal", 0, Fraction(1, 2)),
        ("ordered", 0, Fraction(1, 2)),
        ("hierarchical", 0, Fraction(1, 2), tree),
        ("beta", 0, 2),
        ("enhanced_beta", 0, 2),
        ("entropy", 0, 1.5),
        ("js", 0, 0.5),
        ("delta", 0, 2.0),
        ("delta_present", 0, 2.0),
        ("s_diversity", 1.0, 0.5, [(0, line), (0, tree), (0, flat)]),
    ]


CELL = (u32(0, 1), u32(0, 1), u32(1, 2), np.array([False, True]), 3, i64(0, 1, 3), u32(0, 1, 2))
RIGHT_OF_CELLS = (
    "columns [0] first",
    "columns [0] last",
    "columns [1] first",
    "columns [1] last",
    "cells [0] [1] first",
    "cells [0] [1] last",
    "cells [0] [2] first",
    "cells [0] [2] last",
    "cells [0] [4] -1",
    "cells [0] [5] None",
    "cells [0] [6] longer",
    "cells [0] [6] first",
    "cells [0] [6] last",
    "cells [1] [1] first",
    "cells [1] [1] last",
    "cells [1] [2] first",
    "cells [1] [2] last",
    "cells [1] [4] -1",
    "cells [1] [5] None",
    "cells [1] [6] longer",
    "cells [1] [6] first",
    "cells [1] [6] last",
)

COUNTS = (i64(0, 1, 2), i64(0, 2, 4, 6))  # of the codes of each column of CODES: values, rows before each
BESIDE = ((i64(0, 1, 3, 5), i64(0, 0, 1, 0, 1), i64(2, 1, 1, 1, 1)),) * 2

NEAREST = {
    "cells": np.array([[0, 1], [1, 0]], np.uint32),
    "parts": [np.ones((3, 2)), np.full((1, 2), 0.5)],
    "picks": np.array([[0, 1, 2], [0, 0, 0]], np.uint32),
}
MORE_PARTS = tuple(f"parts [{a}] {what}" for a in (0, 1) for what in ("a column more", "longer"))

KERNELS: dict[str, Kernel] = {
    "attribute.Attribute": Kernel(
        lambda: {
            "n_values": 3,
            "positions": None,
            "tree": TREE,
            "loss": "ncp",
            "weight": 1.0,
            "widths": reals(1, 0.5, 0, 0, 0),
        },
        more=lambda: {
            "a line and a tree": {"positions": reals(0, 1, 3)},
            **{
                f"a line {what}": {"positions": line, "tree": None, "widths": None}
                for what, line in hostile(reals(0, 1, 3))
                if line is not None
            },
        },
        right=(
            "positions None",
            "widths None",
        ),
    ),
    "classes.boxes": Kernel(
        lambda: threads(**CLASSES, null_code=2, block_rows=2),
        right=(
            "codes longer",
            "codes first",
            "codes last",
            "null_code -1",
            "block_rows 4",
        ),
    ),
    "classes.count_common": Kernel(
        lambda: threads(
            first=(np.array([0, 1, 2, 3]), u32(0, 1, 0)),
            second=(np.array([0, 1, 3, 3]), u32(0, 0, 1)),
            weights=np.array([1, 2, 1]),
            elements=u32(0, 1),
            block=1,
        ),
        right=(
            "block 4",
            "first [1] first 4294967295",
            "first [1] last 4294967295",
            "second [1] first 4294967295",
            "second [1] last 4294967295",
            "elements None",
            "elements shorter",
            "elements longer",
            "elements empty",
        ),
    ),
    "classes.count_inside": Kernel(
        lambda: threads(columns=[u8(0, 1, 2), u8(1, 0, 1)], cells=[CELL, CELL], block=1),
        right=(
            *RIGHT_OF_CELLS,
            "block 4",
        ),
    ),
    "classes.find_inside": Kernel(
        lambda: threads(columns=[u8(0, 1, 2), u8(1, 0, 1)], cells=[CELL, CELL], most=9, block=1),
        right=(
            *RIGHT_OF_CELLS,
            "block 4",
            "most 4611686018427387904",
        ),
    ),
    "classes.few_candidates": Kernel(
        lambda: threads(
            of=u8(0, 1, 0, 1, 0, 1),
            by=CLASSES["codes"],
            rows=CLASSES["rows"],
            offsets=CLASSES["offsets"],
            k=2,
            ends=[np.zeros(len(CLASSES["offsets"]) - 1, np.uint32)] * 2,
            block_rows=2,
        ),
        right=(
            "ends None",
            "ends [0] first 4294967295",
            "ends [0] last 4294967295",
            "ends [1] first 4294967295",
            "ends [1] last 4294967295",
            "of first",
            "of last",
            "by first",
            "by last",
            "rows first",
            "rows last",
            "k 4",
            "block_rows 4",
        ),
    ),
    "classes.group": Kernel(
        lambda: threads(columns=[u8(0, 1, 0), u8(1, 1, 1)], rows=u32(0, 2), block_rows=2),
        right=(
            "columns shorter",
            "columns longer",
            "columns [0] first",
            "columns [0] last",
            "columns [1] first",
            "columns [1] last",
            "rows None",
            "rows shorter",
            "rows longer",
            "rows empty",
            "block_rows 4",
        ),
    ),
    "classes.shuffle": Kernel(
        lambda: threads(
            rows=CLASSES["rows"],
            offsets=CLASSES["offsets"],
            random=np.arange(6, dtype=np.uint64),
            block_rows=2,
        ),
        right=(
            "rows first",
            "rows last",
            "random first",
            "random last",
            "block_rows 4",
        ),
    ),
    "classes.split": Kernel(
        lambda: threads(
            columns=[u8(0, 1, 0, 1, 0, 1), CLASSES["codes"]],
            rows=CLASSES["rows"],
            offsets=CLASSES["offsets"],
            block_rows=2,
        ),
        right=(
            "columns shorter",
            "columns longer",
            "columns [0] first",
            "columns [0] last",
            "columns [1] first",
            "columns [1] last",
            "block_rows 4",
        ),
    ),
    "classes.value_counts": Kernel(
        lambda: threads(**CLASSES, n_values=3, block_rows=2),
        right=(
            "codes longer",
            "block_rows 4",
        ),
    ),
    "curve.Widths": Kernel(
        lambda: {"attributes": described()},
        more=lambda: {"no attributes": {"attributes": []}},
        right=("attributes shorter", "attributes longer"),
    ),
    "curve.hilbert": Kernel(
        lambda: {"codes": CODES, **GRID, "bits": 4},
        right=(
            "codes shorter",
            "codes longer",
            "codes empty",
        ),
    ),
    "curve.sort_rows": Kernel(
        lambda: {"keys": np.arange(6, dtype=np.uint64), "rows": CLASSES["rows"]},
        right=(
            "keys longer",
            "keys first",
            "keys last",
            "rows shorter",
            "rows longer",
            "rows empty",
        ),
    ),
    "curve.place": Kernel(
        lambda: {"widths": widths(), "codes": CODES, "rows": CLASSES["rows"]},
        right=(
            "codes longer",
            "rows shorter",
            "rows longer",
            "rows empty",
        ),
    ),
    "curve.cut": Kernel(
        lambda: {
            "widths": widths(),
            "records": records(),
            "k": 2,
            "max_size": 4,
            "step": 1,
            "rules": conjunction(),
            "sensitive": SALARY.astype(np.int32)[:, None],
        },
        right=("rules None",),
    ),
    "curve.centers": Kernel(
        lambda: {
            "codes": CODES,
            "rows": CLASSES["rows"],
            "offsets": CLASSES["offsets"],
            "grid": GRID["grid"].astype(np.uint8),
            "starts": GRID["starts"],
        },
        right=(
            "codes longer",
            "grid first",
            "grid last",
        ),
    ),
    "curve.refine": Kernel(
        lambda: {
            "widths": widths(),
            "records": records(),
            "offsets": i64(0, 2, 4, 6),
            "k": 2,
            "max_size": 4,
            "reach": 90,
            "rules": conjunction(),
            "sensitive": SALARY.astype(np.int32)[:, None],
        },
        right=("rules None",),
    ),
    "recut.divide": Kernel(
        lambda: {
            "widths": widths(),
            "records": records(),
            "offsets": i64(0, 4, 6),
            "k": 2,
            "rules": conjunction(),
            "sensitive": SALARY.astype(np.int32)[:, None],
        },
        right=("rules None",),
    ),
    "recut.recut": Kernel(
        lambda: {
            "widths": widths(),
            "records": records(),
            "offsets": i64(0, 2, 4, 6),
            "k": 2,
            "reach": 90,
            "rules": conjunction(),
            "sensitive": SALARY.astype(np.int32)[:, None],
        },
        right=("rules None",),
    ),
    "diversity.Closeness": Kernel(
        lambda: {"attribute": described()[0], "r": 0.5, "printed": False},
        more=lambda: {f"r {r}": {"r": r} for r in (-0.1, 1.1, np.inf, -np.inf, 2**64, [0.5])},
        right=("printed None",),
    ),
    "diversity.q_diversity": Kernel(
        lambda: {"attribute": described()[1], **LISTED}, right=("offsets longer",)
    ),
    "diversity.s_diversity": Kernel(
        lambda: {"closeness": of_three(), **LISTED, "counts": i64(1, 2, 1)},
        right=(
            "offsets longer",
            "counts first",
            "counts last",
        ),
    ),
    "diversity.pairwise_contribution": Kernel(
        lambda: {"closeness": of_three(), "u": i64(0, 1), "v": i64(2, 1)}
    ),
    "diversity.s_diversity_of_prefixes": Kernel(
        lambda: {"closeness": of_three(), "codes": i64(0, 1, 2, 0, 2)},
        right=(
            "codes shorter",
            "codes longer",
            "codes empty",
        ),
    ),
    "diversity.q_diversity_of_prefixes": Kernel(
        lambda: {"attribute": described()[1], "codes": i64(0, 1, 2, 0, 2)},
        right=(
            "codes shorter",
            "codes longer",
            "codes empty",
        ),
    ),
    "requirement.Conjunction": Kernel(
        lambda: {"table_counts": [i64(2, 2, 2)], "n_rows": 6, "rules": rules()},
        right=(
            "table_counts longer",
            "rules shorter",
            "rules longer",
            "rules [0] [1] 4611",
            "rules [0] [1] 9223",
            "rules [0] [1] 1844",
            "rules [1] [2] 4611",
            "rules [1] [2] 9223",
            "rules [1] [2] 1844",
            "rules [3] [3] 4611",
            "rules [3] [3] 9223",
            "rules [3] [3] 1844",
            "rules [7] [2] 4611",
            "rules [7] [2] 9223",
            "rules [7] [2] 1844",
            "rules [8] [2] 4611",
            "rules [8] [2] 9223",
            "rules [8] [2] 1844",
            "rules [7] [2] 1.5",
            "rules [8] [2] 1.5",
            "rules [13] [3] shorter",
            "rules [13] [3] longer",
        ),
    ),
    "requirement.passing_classes": Kernel(
        lambda: {
            "conjunction": conjunction(),
            "sizes": i64(2, 4),
            "offsets": [i64(0, 2, 4)],
            "values": [i64(0, 1, 0, 1)],
            "counts": [i64(1, 1, 2, 2)],
        }
    ),
    "cluster.deal": Kernel(
        lambda: {"counts": i64(3, 2, 1), "l": 2}, right=("counts shorter", "counts longer", "counts empty")
    ),
    "divergence.concentration": Kernel(
        lambda: threads(offsets=i64(0, 2, 3), counts=i64(1, 2, 1), block=2), right=("counts first",)
    ),
    "divergence.distances": Kernel(lambda: threads(**COUNTED, block=2), right=("table_counts longer",)),
    "divergence.ordered": Kernel(lambda: threads(**COUNTED, block=2), right=("table_counts longer",)),
    "divergence.hierarchical": Kernel(lambda: threads(**COUNTED, **NODES, block=2)),
    "kmembers.grow": Kernel(
        lambda: {
            **GROWN,
            "attributes": described(),
            "k": 2,
            "start": 0,
            "sensitive": (closeness(), np.array([[0], [1]]), i64(0, 3, 6), u32(0, 2, 4, 1, 3, 5)),
        },
        right=("sensitive None",),
    ),
    "lattice.Lattice": Kernel(
        lambda: {"codes": CODES.astype(np.uint32), "labels": [[u32(0, 1, 2, 2), u32(0, 0, 0, 0)]] * 3},
        right=(
            "codes shorter",
            "codes longer",
            "codes empty",
            "codes first",
            *(f"labels [{a}] {how}" for a in range(3) for how in ("shorter", "longer")),
        ),
    ),
    "lattice.roll_up": Kernel(
        lambda: {"lattice": lattice(), "node": (0, 1, 1), "members": u32(0, 2, 5), "counts": i64(1, 2, 1)},
        right=("members first", "members last", "counts first"),
    ),
    "mdav.mdav": Kernel(
        lambda: {"points": CODES.astype(np.float64), "weights": reals(1, 2, 3), "k": 2},
        right=("points shorter", "points longer", "points fractions"),
    ),
    "mdav.gower": Kernel(
        lambda: {"codes": CODES, "attributes": by_level(), "k": 2},
        right=("codes shorter", "codes longer"),
    ),
    "mdav.optimal": Kernel(
        lambda: {"values": reals(0, 1, 1, 5), "k": 2},
        right=("values shorter", "values longer"),
    ),
    "sse.refine": Kernel(
        lambda: {
            "points": CODES.astype(np.float64),
            **grouped(),
        },
        right=(
            *("points a column", "points fractions", "tried first", "tried last", "seeds "),
            *("most None", "rules None"),
        ),
    ),
    "sse.gower": Kernel(
        lambda: {
            "codes": CODES,
            "attributes": by_level(),
            **grouped(),
        },
        right=("codes longer", "tried first", "tried last", "seeds ", "most None", "rules None"),
    ),
    "sse.spread": Kernel(
        lambda: {
            "codes": CODES,
            "attributes": by_level(),
            "rows": u32(0, 2, 4, 1, 3, 5),
            "offsets": i64(0, 3, 6),
        },
        right=("codes longer",),
    ),
    "sse.cut": Kernel(
        lambda: {"points": CODES.astype(np.float64), "k": 2},
        right=("points a column", "points shorter", "points longer", "points fractions"),
    ),
    "merge.repair": Kernel(
        lambda: {
            "widths": widths(),
            "records": records(),
            "sensitive": SALARY.astype(np.int32)[:, None],
            "offsets": i64(0, 2, 4, 6),
            "rules": conjunction(),
            "failing": np.array([True, False, False]),
        },
        right=("failing None",),
    ),
    "nearest.rows": Kernel(
        lambda: threads(**NEAREST, offsets=i64(0, 1, 3), salts=np.array([1, 2, 3], np.uint64), n_neighbors=1),
        right=(*MORE_PARTS, "salts first 18446744073709551615", "salts last 18446744073709551615"),
    ),
    "nearest.guesses": Kernel(
        lambda: threads(**NEAREST, shares=reals(1, 0.5), groups=u32(0, 1), **LISTS, n_values=3),
        right=(
            *MORE_PARTS,
            "picks a column",
            *(f"counts {at} 9223372036854775807" for at in ("first", "last")),
        ),
    ),
    "nearest.expected": Kernel(
        lambda: threads(**NEAREST, sizes=i64(1, 2)),
        right=(
            *MORE_PARTS,
            "picks a column",
            *(f"sizes {at} 9223372036854775807" for at in ("first", "last")),
        ),
    ),
    "nulling.null_cells": Kernel(
        lambda: {
            "codes": CODES,
            "nulls": i64(-1, 2, -1),
            "weights": i64(1, 2, 1, 2, 1, 2),
            "unit": 1,
            "sets": np.array([7, 3], np.uint64),
            "ks": i64(2, 3),
            "tiers": i64(0, 0, 1),
            "costs": i64(1, 2, 1),
        },
        right=("codes first", "codes last", "tiers first", "tiers last"),
    ),
    "partition.best_cut": Kernel(
        lambda: {
            "attributes": described(),
            "histograms": [(0, *COUNTS, BESIDE), (2, *COUNTS, BESIDE)],
            "conjunction": conjunction(),
            "chooser": "information-gain",
            "nearest": True,
        },
        right=(
            *("attributes longer", "histograms shorter", "histograms longer", "nearest None", "a huge k"),
            *(f"histograms [{i}] [3] [1] [1] {end} {2**63 - 1}" for i in (0, 1) for end in ("first", "last")),
        ),
        more=lambda: {
            "a relaxed cut": {"relaxed": True},
            "rival cuts": {"rival": True},
            "another chooser": {"chooser": "widest"},
            "a huge k": {"conjunction": _conjunction(2**62)},
        },
    ),
    "partition.partition": Kernel(
        lambda: threads(
            columns=[np.ascontiguousarray(column) for column in CODES.T],
            attributes=described(),
            conjunction=conjunction(),
            sensitive=[SALARY],
            rows=u32(0, 1, 2, 3, 4, 5),
            chooser="widest",
            priority=[1],
        ),
        right=("rows None", "rows shorter", "rows empty", "priority shorter", "priority longer", "a huge k"),
        more=lambda: {
            "target": {"chooser": "information-gain", "priority": (), "target": u8(0, 1, 0)},
            "target of reals": {"chooser": "information-gain", "priority": (), "target": np.zeros(6)},
            "rival cuts": {"nearest": False, "rival": True},
            "a huge k": {"conjunction": _conjunction(2**62)},
        },
    ),
    "partition.turns": Kernel(
        lambda: {
            "attributes": described(),
            "low": i64(0, 0, 1),
            "high": i64(2, 3, 2),
            "distinct": i64(3, 2, 2),
            "chooser": "widest",
            "priority": [1],
        },
        right=("priority shorter", "priority longer"),
    ),
    "populations.mine": Kernel(
        lambda: threads(
            columns=QUERIES["columns"],
            predicates=QUERIES["predicates"],
            min_count=1,
            sensitive=[u8(0, 1, 0, 1)],
            n_values=[2],
        ),
        right=(
            *(f"columns [{a}] {end}" for a in (0, 1) for end in ("first", "last")),
            *(f"predicates [{a}] [2] {end} 4294967295" for a in (0, 1) for end in ("first", "last")),
            f"min_count {2**62}",
            f"min_count {2**63 - 1}",
        ),
    ),
    "queries.count": Kernel(
        lambda: threads(**QUERIES),
        right=(
            *(f"columns [{a}] {end}" for a in (0, 1) for end in ("first", "last")),
            *(f"predicates [{a}] [2] {end} 4294967295" for a in (0, 1) for end in ("first", "last")),
            *(f"predicates [{a}] [0] longer" for a in (0, 1)),
            "queries shorter",
            "queries longer",
            "queries empty",
        ),
    ),
    "queries.count_buckets": Kernel(
        lambda: threads(**QUERIES, groups=u32(0, 0, 1, 1), **LISTS, **ASKED),
        right=(
            *(f"columns [{a}] {end}" for a in (0, 1) for end in ("first", "last")),
            *(f"predicates [{a}] [2] {end} 4294967295" for a in (0, 1) for end in ("first", "last")),
            *(f"predicates [{a}] [0] longer" for a in (0, 1)),
            "asked longer",
            "asked a column more",
        ),
    ),
    "queries.estimate": Kernel(
        lambda: threads(
            **BOXES,
            kinds=[np.ones((2, 2), np.uint8), np.ones((1, 2), np.uint8)],
            queries=np.array([[0, -1], [1, 0], [-1, 0]], np.int32),
            **LISTS,
            **ASKED,
        ),
        right=(
            *(f"shares [{a}] {end}" for a in (0, 1) for end in ("first", "last")),
            *(f"kinds [{a}] {end}" for a in (0, 1) for end in ("first", "last")),
            "asked longer",
            "asked a column more",
        ),
    ),
    "queries.reconstruct": Kernel(
        lambda: {
            **BOXES,
            "groups": u32(0, 1),
            **LISTS,
            "n_values": 3,
            "parent": i64(-1, 0, -1),
            "attribute": i32(0, 1, 0),
            "predicate": i32(0, 0, 1),
            "start": 0,
            "stop": 3,
        },
        right=(
            *(f"shares [{a}] {end}" for a in (0, 1) for end in ("first", "last")),
            "shares [0] longer",
            "shares [1] longer",
            "shares [0] a column more",
            "shares [1] a column more",
            "groups None",
        ),
    ),
    "queries.overlaps": Kernel(
        lambda: {
            "low": u32(0, 2),
            "high": u32(1, 3),
            "null": np.array([True, False]),
            "reach": (reals(0, 2), reals(1, 3)),
            "sets": None,
            "offsets": i64(0, 1, 2),
            "first": u32(0, 2),
            "last": u32(1, 3),
            "run_reach": (reals(0, 2), reals(1, 3)),
            "unit": True,
        },
        right=(
            *(
                f"{name} [{i}] {end}"
                for name in ("reach", "run_reach")
                for i in (0, 1)
                for end in ("first", "last")
            ),
            "low first",
            "low last",
            "high first",
            "high last",
            "last first 4294967295",
            "last last 4294967295",
            "sets None",
            "offsets longer",
            "unit None",
        ),
        more=lambda: {
            "two forms": {"sets": (i64(0, 1, 2), u32(0, 1))},
            "offsets of sets": {"reach": None, "sets": (i64(0, 3, 2), u32(0, 1))},
            "sets without codes": {"reach": None, "sets": (i64(0, 1, 2), None)},
            "sets of one part": {"reach": None, "sets": (i64(0, 1, 2),)},
        },
    ),
    "suda.minimal_uniques": Kernel(
        lambda: {
            "codes": np.array([[0, 1, 1], [1, 0, 1]], np.uint8),
            "nulls": i64(-1, 1),
            "single": u8(1, 1, 0),
            "max_size": 2,
        },
        right=("codes first 255", "codes last 255"),
    ),
    "fields.whole_rows": Kernel(
        lambda: {"text": u8(97, 10, 34, 10)},
        right=("text first 255", "text last 255", "text shorter", "text longer", "text empty"),
    ),
    "fields.fields": Kernel(
        lambda: {
            "text": u8(97, 44, 98, 10),
            "n_columns": 2,
            "wanted": i64(0, 1),
            "delimiter": 44,
            "starts": i64(0, 0, 1),
            "missing": u8(97),
            "seed": 5,
        },
        right=(
            *("text shorter", "text longer", "text empty", "text first 255", "text last 255"),
            *("wanted shorter", "wanted empty", "starts longer", "missing last 255"),
            *(f"seed {seed}" for seed in (2**62, 2**63 - 1, 2**63)),
        ),
    ),
    "lines.lines": Kernel(
        lambda: {
            "codes": [u32(1, 0), None],
            "starts": [i64(0, 1, 3), i64(0, 1, 2)],
            "texts": [u8(97, 98, 99), u8(10, 10)],
            "n_rows": 2,
        },
        right=(
            *("codes [0] None", "codes [1] None", "starts [0] longer", "texts [0] first 255"),
            *("texts [0] last 255", "texts [1] first 255", "texts [1] last 255"),
        ),
    ),
    "swap.swapped": Kernel(
        lambda: {"draws": np.array([0.5, 0.0, 0.25]), "window": 2},
        right=("draws shorter", "draws longer", "draws empty"),
    ),
    "swap.partners": Kernel(
        lambda: {
            "profile": np.array([0, 0, 1], np.uint32),
            "area": np.array([0, 1, 1], np.uint32),
            "order": np.array([2, 0, 1], np.uint32),
            "seekers": np.array([1, 2], np.uint32),
            "swapped": u8(0, 0, 0),
            "most": 2,
        },
        right=(
            *("profile first 4294967295", "profile last 4294967295", "area first 4294967295"),
            *("area last 4294967295", "seekers shorter", "seekers empty", "swapped first 255"),
            "swapped last 255",
        ),
    ),
    "tgc.Objective": Kernel(
        lambda: {
            "attributes": described(),
            "closeness": closeness(),
            "weights": reals(1),
            "w_u": 0.5,
            "w_p": 0.5,
        },
        right=("attributes shorter", "attributes longer", "weights None"),
    ),
    "tgc.split": Kernel(
        lambda: threads(
            codes=TABLE,
            attributes=described(),
            closeness=closeness(),
            s=1,
            limit=1.0,
            limited=6,
        ),
        right=(
            "codes shorter",
            "codes longer",
            "codes empty",
            f"s {2**62}",
            f"s {2**63 - 1}",
            "limited None",
            f"limited {2**62}",
            f"limited {2**63 - 1}",
        ),
    ),
    "tgc.grow": Kernel(
        lambda: threads(codes=TABLE, offsets=i64(0, 4, 6), objective=objective(), k=2, delta=0.5, most=3),
        right=("most None", f"most {2**62}", f"most {2**63 - 1}"),
        more=lambda: {"k beyond most": {"k": 4}},
    ),
    "tgc.improve": Kernel(
        lambda: threads(
            codes=TABLE, offsets=i64(0, 4, 6), home=i64(0, 1, 0, 1, 2, 2), objective=objective(), k=2
        ),
    ),
    "tgc.reinsert": Kernel(
        lambda: {"codes": TABLE, "home": i64(0, 1, -1, 0, -1, 1), "objective": objective()},
    ),
}


def _conjunction(k: int) -> Any:
    from anoncore.requirement import Conjunction

    return Conjunction([i64(3, 3)], 6, [("size", k)])


def public() -> set[str]:
    """Every function and class of the rooms that others may call."""
    names = set()
    for room in ROOMS:
        module = importlib.import_module(f"anoncore.{room}")
        for name, thing in vars(module).items():
            ours = getattr(thing, "__module__", None) == module.__name__
            if not name.startswith("_") and ours and (inspect.isroutine(thing) or inspect.isclass(thing)):
                names.add(f"{room}.{name}")
    return names


def cases(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The hostile calls of a kernel: what is wrong with each, and its arguments."""
    kernel = KERNELS[name]
    arguments = kernel.arguments()
    for argument, value in arguments.items():
        for what, worse in hostile(value):
            yield f"{argument} {what}", {**arguments, argument: worse}
    for what, changed in kernel.more().items():
        yield what, {**arguments, **changed}


def judge(first: int) -> None:
    """Print, a line per hostile call from the `first` on, [number, kernel, what is wrong, how it ended]."""
    number = -1
    for name in sorted(KERNELS):
        room, kernel = name.split(".")
        call = getattr(importlib.import_module(f"anoncore.{room}"), kernel)
        call(**KERNELS[name].arguments())
        for what, arguments in cases(name):
            number += 1
            if number < first:
                continue
            print(json.dumps([number, name, what, "died"]), flush=True)
            try:
                call(**arguments)
                ended = "accepted"
            except Exception as error:
                ended = f"{type(error).__name__}: {error}"
            print(json.dumps([number, name, what, ended]), flush=True)


@cache
def ends() -> dict[str, dict[str, str]]:
    """How every hostile call of every kernel ended."""
    ended: dict[str, dict[str, str]] = {name: {} for name in KERNELS}
    first = 0
    while True:
        done = subprocess.run(
            [sys.executable, __file__, "--judge", "--first", str(first)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        for _, name, what, end in lines:
            ended[name][what] = end
        if done.returncode == 0:
            return ended
        assert lines, done.stderr
        assert lines[-1][3] == "died", done.stderr
        first = lines[-1][0] + 1


def faults(name: str) -> list[str]:
    """The hostile calls of a kernel that did not end as they should."""
    return [
        f"{name}, {what}: {end}"
        for what, end in ends()[name].items()
        if not end.startswith("ValueError")
        and not (end == "accepted" and any(what.startswith(start) for start in KERNELS[name].right))
    ]


def test_every_kernel_stands_here() -> None:
    assert public() == set(KERNELS)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_kernel_refuses_what_it_cannot_read(name: str) -> None:
    assert len(ends()[name]) >= 10
    assert faults(name) == []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.judge:
        judge(asked.first)
        return 0
    wrong = [fault for name in sorted(KERNELS) for fault in faults(name)]
    for fault in wrong:
        print(fault)
    calls = [end for each in ends().values() for end in each.values()]
    refused = sum(end.startswith("ValueError") for end in calls)
    print(
        f"doors: {len(KERNELS)} kernels, {len(calls)} hostile calls: {refused} refused, "
        f"{len(calls) - refused - len(wrong)} right, {len(wrong)} not as they should"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
