# SPDX-License-Identifier: Apache-2.0
"""What kernels ask of arguments: a ValueError names what cannot be read, before any memory is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_ROWS = 2**32 - 1  # of one kernel call
CODES = (np.uint8, np.uint16, np.uint32)


def given(**arguments: object) -> None:
    """Refuse every argument that is None."""
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"{name} must not be None")


def whole(value: Any, least: int, most: int, name: str) -> int:
    """`value` as an int within least..most."""
    if not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}")
    return int(value)


def real(value: Any, name: str) -> float:
    """`value` as a float that is a number; it may be infinite."""
    if not isinstance(value, int | float | np.integer | np.floating) or value != value:
        raise ValueError(f"{name} must be a number")
    return float(value)


def array_of(values: Any, dtype: Any, ndim: int, name: str) -> npt.NDArray[Any]:
    """`values` as a contiguous array of `dtype`, no integer changed by it."""
    array = np.asarray(values)
    target = np.dtype(dtype)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, not {array.ndim}")
    if array.dtype != target and array.size:
        if array.dtype.kind not in ("biuf" if target.kind == "f" else "biu"):
            raise ValueError(f"{name} must be {target}, not {array.dtype}")
        limits = np.iinfo(target) if target.kind in "iu" else None
        if limits and not limits.min <= int(array.min()) <= int(array.max()) <= limits.max:
            raise ValueError(f"{name} must be {target}: a value lies beyond")
    return np.require(array, target, "CAE")  # aligned too: kernels read whole words


def codes_of(values: Any, ndim: int, name: str) -> npt.NDArray[Any]:
    """`values` as a contiguous array of codes (uint8, uint16 or uint32)."""
    if not isinstance(values, np.ndarray) or values.dtype not in CODES or values.ndim != ndim:
        raise ValueError(f"{name} must be uint8, uint16 or uint32 codes with {ndim} dimensions")
    if len(values) > MOST_ROWS:
        raise ValueError(f"{name} has more than 2**32 - 1 rows")
    return np.require(values, None, "CAE")


def one_of(kind: type, thing: Any, name: str) -> Any:
    """`thing`, which is a `kind`."""
    if not isinstance(thing, kind):
        raise ValueError(f"{name} must be {kind.__name__}, not {type(thing).__name__}")
    return thing


def all_of(things: Any, kind: type, name: str) -> tuple[Any, ...]:
    """`things` as a tuple, each of them a `kind`."""
    if not isinstance(things, Iterable):
        raise ValueError(f"{name} must be a sequence")
    listed = tuple(things)
    if not all(isinstance(thing, kind) for thing in listed):
        raise ValueError(f"{name} must hold nothing but {kind.__name__}")
    return listed


def parts_of(offsets: Any, n: int, name: str, empty: bool = False) -> npt.NDArray[np.int64]:
    """`offsets` as int64 that divide 0..n - 1 into parts, none of them empty unless `empty`."""
    bounds = array_of(offsets, np.int64, 1, name)
    before, after = bounds[:-1], bounds[1:]  # compared, as differences may overflow
    descends = np.any(after < before if empty else after <= before)
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != n or descends:
        more = "" if empty else ", every part holding something"
        raise ValueError(f"{name} must ascend from 0 to {n}{more}")
    return bounds


def line_of(positions: Any, n_values: int, name: str) -> npt.NDArray[np.float64]:
    """A copy of the positions of `n_values` values, finite and ascending; see `within_reach`."""
    line = array_of(positions, np.float64, 1, name).copy()
    if len(line) != n_values:
        raise ValueError(f"{name}: {n_values} values but {len(line)} positions")
    if not np.isfinite(line).all() or (line[1:] < line[:-1]).any():
        raise ValueError(f"{name} must be finite and ascending")
    return within_reach(line)


def within_reach(line: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Finite ascending positions, scaled by a power of two where differences or sums of them could overflow.

    Kernels only compare lengths on one line with each other: a scale changes no answer, an infinite
    length makes no number of it.
    """
    return line * 2.0**-600 if len(line) and max(-line[0], line[-1]) > 2.0**400 else line


def node_widths_of(widths: Any, parent: npt.NDArray[np.int32], name: str) -> npt.NDArray[np.float64]:
    """A copy of the widths of nodes, from 0 to 1 and at most that of the parent."""
    of_node = array_of(widths, np.float64, 1, name).copy()
    if len(of_node) != len(parent):
        raise ValueError(f"{name}: {len(parent)} nodes but {len(of_node)} widths")
    within = (of_node >= 0).all() and (of_node <= 1).all()
    if not within or (of_node[1:] > of_node[parent[1:]]).any():
        raise ValueError(f"{name} must lie from 0 to 1 and be at most that of the parent")
    return of_node


def tree_of(parts: Any, n_values: int, name: str) -> tuple[npt.NDArray[np.int32], ...]:
    """Copies of (parent, first, last, leaf) of a tree: three arrays by node, one by value.

    Nodes are numbered from the root 0, parents before children. Below a node lie exactly the
    values first..last, each under one child; a value's node has no child.
    """
    if not isinstance(parts, tuple | list) or len(parts) != 4:
        raise ValueError(f"{name} must be parent, first, last and leaf")
    parent, first, last, leaf = (array_of(part, np.int32, 1, name).copy() for part in parts)
    if n_values == 0:
        return np.full(1, -1, np.int32), np.zeros(1, np.int32), np.full(1, -1, np.int32), leaf[:0]
    n_nodes, codes = len(parent), np.arange(n_values)
    if not 0 < n_nodes == len(first) == len(last) or len(leaf) != n_values:
        raise ValueError(f"{name} must have a leaf per value, and a parent, a first and a last per node")
    if parent[0] != -1 or (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, n_nodes)).any():
        raise ValueError(f"{name}: nodes are numbered from the root 0, parents before children")
    if first[0] != 0 or last[0] != n_values - 1 or (first > last).any():
        raise ValueError(f"{name}: the root holds every value, and each node one")
    if (first[1:] < first[parent[1:]]).any() or (last[1:] > last[parent[1:]]).any():
        raise ValueError(f"{name}: a node's values are among its parent's")
    if (leaf < 0).any() or (leaf >= n_nodes).any() or ((first[leaf] != codes) | (last[leaf] != codes)).any():
        raise ValueError(f"{name}: the leaf of a value holds that value only")
    below = np.bincount(parent[1:], last[1:] - first[1:] + 1.0, n_nodes)
    below[leaf] += 1
    if (below != last - first + 1.0).any():
        raise ValueError(f"{name}: each value of a node lies under one of its children")
    return parent, first, last, leaf
