# SPDX-License-Identifier: Apache-2.0
"""Every requirement tested once more, in plain NumPy, on counts of published values."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encoding import Codes, Domain
from anon.errors import RecheckError
from anon.release.recheck_cells import SAFE, Bools, Ints, chunks, codes_inside
from anon.release.recheck_people import individual


@dataclass(frozen=True)
class Counts:
    """Counts of one sensitive attribute: group g has `count[i]` rows with `value[i]`, i from `start[g]`.

    Sorted by group and value, counts > 0. `group[i]` is the group of entry i, `size[g]` its rows,
    `total[v]` the rows with value v in the whole release.
    """

    domain: Domain
    group: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return int(self.total.sum())

    def per_group(self, entries: Ints) -> Ints:
        """Sums of entries by group, added in pairs: the error grows with the logarithm of their number."""
        return np.asarray(np.add.reduceat(entries, self.start))


def count_values(
    domain: Domain, codes: Codes, classes: Classes, group_of: npt.NDArray[np.int64], n_groups: int
) -> Counts:
    n_codes = domain.n_codes
    keys, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first, last in chunks(classes.offsets):
        inside, _ = codes_inside(codes, classes, first, last)
        key, count = np.unique(
            np.repeat(group_of[first:last] * n_codes, classes.sizes[first:last]) + inside, return_counts=True
        )
        keys.append(key)
        counts.append(count)
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.zeros(len(key), dtype=np.int64)
    np.add.at(count, where, np.concatenate(counts))
    group, value = np.divmod(key, n_codes)
    size = np.zeros(n_groups, dtype=np.int64)
    np.add.at(size, group, count)
    total = np.zeros(n_codes, dtype=np.int64)
    np.add.at(total, value, count)
    return Counts(domain, group, value, count, np.searchsorted(group, np.arange(n_groups)), size, total)


def _wide(bound: int, *arrays: npt.NDArray[np.int64]) -> list[Ints]:
    """The arrays as Python integers where a result up to `bound` would not fit 62 bits."""
    return [array.astype(object) if bound >= SAFE else array for array in arrays]


def _exact(parameter: Any) -> Fraction:
    return Fraction(str(parameter))


def _at_most(left: Ints, right: Ints, share: Fraction) -> Bools:
    """Left <= share * right, exactly; both not negative."""
    bound = max(
        int(left.max(initial=0)) * share.denominator, int(right.max(initial=0)) * abs(share.numerator)
    )
    left, right = _wide(bound, left, right)
    return np.asarray(left * share.denominator <= right * share.numerator, dtype=np.bool_)


def _l_diversity(requirement: Any, attribute: Counts) -> Bools:
    count, size = attribute.count, attribute.size
    present = attribute.per_group(np.ones_like(count))
    if requirement.kind == "distinct":
        return np.asarray(present >= ceil(_exact(requirement.l)), dtype=np.bool_)
    if requirement.kind == "probabilistic":
        return _at_most(np.maximum.reduceat(count, attribute.start), size, 1 / _exact(requirement.l))
    if requirement.kind == "entropy":
        entropy = np.log(size) - attribute.per_group(count * np.log(count)) / size
        return np.asarray(entropy >= log(requirement.l) - 1e-12, dtype=np.bool_)
    if requirement.l == 1:
        return np.ones(len(size), dtype=np.bool_)
    c = _exact(requirement.c)
    falling = count[np.lexsort((-count, attribute.group))]
    rank = np.arange(len(count)) - attribute.start[attribute.group]
    tail = attribute.per_group(np.where(rank >= requirement.l - 1, falling, 0))
    return ~_at_most(tail, falling[attribute.start], 1 / c)


def _alpha(requirement: Any, attribute: Counts) -> Bools:
    return _at_most(
        np.maximum.reduceat(attribute.count, attribute.start), attribute.size, _exact(requirement.alpha)
    )


def _t_closeness(requirement: Any, attribute: Counts) -> Bools:
    if requirement.distance == "js":
        return np.asarray(_jensen_shannon(attribute) <= requirement.t + 1e-12, dtype=np.bool_)
    n_rows, t = attribute.n_rows, _exact(requirement.t)
    flat = requirement.distance == "hierarchical" and attribute.domain.tree is None
    if requirement.distance == "equal" or flat:
        gain, whole = _gains(attribute)
        return _at_most(attribute.per_group(np.maximum(gain, 0)), whole, t)
    _refuse_null(requirement, attribute)
    if requirement.distance == "ordered":
        moved, steps = _ordered_moves(attribute)
    else:
        moved, steps = _tree_moves(attribute)
    [size] = _wide(n_rows * n_rows * steps, attribute.size)
    return _at_most(moved, size * (n_rows * steps), t)


def _refuse_null(requirement: Any, attribute: Counts) -> None:
    if attribute.domain.has_null and attribute.total[-1]:
        raise RecheckError(
            f"{requirement!r} was not tested: column {attribute.domain.name!r} has missing values, "
            "for which it has no meaning"
        )


def _gains(attribute: Counts) -> tuple[Ints, Ints]:
    """Per entry n·count − total·size, and per group n·size: p − q is their quotient."""
    n_rows = attribute.n_rows
    count, total, size = _wide(2 * n_rows * n_rows, attribute.count, attribute.total, attribute.size)
    return count * n_rows - total[attribute.value] * size[attribute.group], size * n_rows


def _jensen_shannon(attribute: Counts) -> npt.NDArray[np.float64]:
    """½[KL(Q‖M)+KL(P‖M)] per group; values that a group lacks add ½ q ln 2 each."""
    q = attribute.total[attribute.value] / attribute.n_rows
    p = attribute.count / attribute.size[attribute.group]
    middle = (p + q) / 2
    present = attribute.per_group(q * np.log(q / middle) + p * np.log(p / middle)) / 2
    absent = attribute.n_rows - attribute.per_group(attribute.total[attribute.value])
    return np.asarray(present + absent / attribute.n_rows / 2 * log(2))


def _ordered_moves(attribute: Counts) -> tuple[Ints, int]:
    """Σ over ranks of |n·(rows of the group up to the rank) − size·(rows of the release up to it)|.

    Ranks are those of the published values; also returns their number less one, which divides the sum.
    """
    published = np.flatnonzero(attribute.total)
    n_values, n_rows = len(published), attribute.n_rows
    bound = 4 * n_values * n_rows * n_rows
    up_to = np.cumsum(attribute.total[published])
    sums = np.concatenate([[0], np.cumsum(up_to)])
    running = np.cumsum(attribute.count)
    before = running[attribute.start] - attribute.count[attribute.start]
    rows = running - before[attribute.group]
    begin = np.searchsorted(published, attribute.value)
    end = np.append(begin[1:], n_values)
    end[np.append(attribute.start[1:], len(begin)) - 1] = n_values
    rows_, size, sums_ = _wide(bound, rows, attribute.size, sums)
    of_entry = size[attribute.group]
    level = (rows_ * n_rows // of_entry).astype(np.int64)
    turn = np.clip(np.searchsorted(up_to, level, side="right"), begin, end)
    above = (turn - begin) * (rows_ * n_rows) - of_entry * (sums_[turn] - sums_[begin])
    below = of_entry * (sums_[end] - sums_[turn]) - (end - turn) * (rows_ * n_rows)
    ahead = size * sums_[begin[attribute.start]]
    return np.asarray(attribute.per_group(above + below) + ahead), max(n_values - 1, 1)


def _levels_up(
    attribute: Counts,
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64], Ints]]:
    """From the deepest level of the tree up: (depth, group, node, rows of the group under the node).

    Sorted by group and node; nodes that hold no rows are left out.
    """
    tree = attribute.domain.tree
    assert tree is not None
    leaf = tree.leaf[attribute.value].astype(np.int64)
    n_nodes = len(tree.labels)
    group, node, rows = (np.empty(0, dtype=np.int64) for _ in range(3))
    for depth in range(tree.height, -1, -1):
        here = tree.depth[leaf] == depth
        key = np.concatenate([group, attribute.group[here]]) * n_nodes
        key += np.concatenate([tree.parent[node], leaf[here]])
        key, where = np.unique(key, return_inverse=True)
        total = np.zeros(len(key), dtype=np.int64)
        np.add.at(total, where, np.concatenate([rows, attribute.count[here]]))
        group, node = np.divmod(key, n_nodes)
        rows = total
        yield depth, group, node, rows


def _tree_moves(attribute: Counts) -> tuple[Ints, int]:
    """Σ over inner nodes of level · min(pos, neg), times n·size, and the height H that divides it."""
    tree, n_rows = attribute.domain.tree, attribute.n_rows
    assert tree is not None
    bound = 2 * max(tree.height, 1) * n_rows * n_rows
    under = np.concatenate([[0], np.cumsum(attribute.total)])
    total, size = _wide(bound, under[tree.last + 1] - under[tree.first], attribute.size)
    moved = np.zeros(len(size), dtype=size.dtype)
    lower: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
    gain: Ints = np.empty(0, dtype=np.int64)
    for depth, group, node, rows in _levels_up(attribute):
        [rows_] = _wide(bound, rows)
        own = rows_ * n_rows - total[node] * size[group]
        if lower is not None:
            place = np.searchsorted(
                group * len(tree.labels) + node, lower[0] * len(tree.labels) + tree.parent[lower[1]]
            )
            up = np.zeros(len(own), dtype=own.dtype)
            np.add.at(up, place, np.maximum(gain, 0))
            inner = np.minimum(up, up - own)
            inner[tree.first[node] == tree.last[node]] = 0
            np.add.at(moved, group, inner * (tree.height - depth))
        lower, gain = (group, node), own
    return moved, max(tree.height, 1)


def _delta(requirement: Any, attribute: Counts) -> Bools:
    ratio = (attribute.count / attribute.size[attribute.group]) / (
        attribute.total[attribute.value] / attribute.n_rows
    )
    worst = np.maximum.reduceat(np.abs(np.log(ratio)), attribute.start)
    passes = worst < requirement.delta - 1e-12
    if requirement.absent == "fail":
        passes &= attribute.per_group(np.ones_like(attribute.count)) == np.count_nonzero(attribute.total)
    return np.asarray(passes, dtype=np.bool_)


def _beta(requirement: Any, attribute: Counts) -> Bools:
    gain, _ = _gains(attribute)
    total, size = _wide(2 * attribute.n_rows**2, attribute.total, attribute.size)
    base = total[attribute.value] * size[attribute.group]
    passes = _at_most(np.maximum(gain, 0), base, _exact(requirement.beta))
    if requirement.enhanced:
        q = attribute.total[attribute.value] / attribute.n_rows
        passes &= (gain <= 0) | ((gain / base).astype(np.float64) <= -np.log(q) + 1e-12)
    return np.asarray(np.logical_and.reduceat(passes, attribute.start), dtype=np.bool_)


def _s_diversity(requirement: Any, attributes: Sequence[Counts]) -> Bools:
    """Σ over attributes of the mean proximity of ordered pairs, proximities below 1 − r left out."""
    total = np.zeros(len(attributes[0].size))
    for attribute in attributes:
        _refuse_null(requirement, attribute)
        near = _near_on_a_line if attribute.domain.positions is not None else _near_in_a_tree
        total += near(attribute, requirement.r) / attribute.size.astype(np.float64) ** 2
    return np.asarray(total <= requirement.bound + 1e-9, dtype=np.bool_)


def _near_on_a_line(attribute: Counts, r: float) -> npt.NDArray[np.float64]:
    """Σ over ordered pairs of rows of 1 − |a − b| / range, where that is at least 1 − r."""
    positions = attribute.domain.positions
    assert positions is not None
    span = float(positions[-1] - positions[0]) or 1.0
    place = (positions - positions[0]) / span
    reach = np.searchsorted(place, place - (r + 1e-9), side="left")
    n_values = attribute.domain.n_codes
    near = np.zeros(len(attribute.size))
    bounds = np.append(attribute.start, len(attribute.group))
    for first, last in chunks(bounds):
        entries = slice(bounds[first], bounds[last])
        group, value = attribute.group[entries], attribute.value[entries]
        count = attribute.count[entries].astype(np.float64)
        x = place[value]
        since = np.searchsorted(group * n_values + value, group * n_values + reach[value])
        rows = np.concatenate([[0.0], np.cumsum(count)])
        moment = np.concatenate([[0.0], np.cumsum(count * x)])
        here = np.arange(len(count))
        pairs = (1 - x) * (rows[here] - rows[since]) + (moment[here] - moment[since])
        near[first:last] = np.add.reduceat(count * (count + 2 * pairs), bounds[first:last] - bounds[first])
    return near


def _near_in_a_tree(attribute: Counts, r: float) -> npt.NDArray[np.float64]:
    """Σ over ordered pairs of 1 − (leaves under their LCA − 1) / |D|, where that is at least 1 − r.

    Equal values add 1. An attribute without a tree is one level of leaves.
    """
    tree, n_values = attribute.domain.tree, attribute.domain.n_values
    same = attribute.per_group(attribute.count.astype(np.float64) ** 2)
    if tree is None:
        proximity = 1 / n_values
        everyone = attribute.size.astype(np.float64) ** 2
        return np.asarray(same + (everyone - same) * proximity * (proximity >= 1 - r - 1e-9))
    near = np.array(same)
    lower: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]] | None = None
    proximity_of = 1 - (tree.last - tree.first) / n_values
    proximity_of[(proximity_of < 1 - r - 1e-9) | (tree.first == tree.last)] = 0
    for _, group, node, rows in _levels_up(attribute):
        squares = rows.astype(np.float64) ** 2
        if lower is not None:
            below_group, below, below_squares = lower
            np.add.at(near, below_group, -below_squares * proximity_of[tree.parent[below]])
        np.add.at(near, group, squares * proximity_of[node])
        lower = group, node, squares
    return near


def _custom(requirement: Any, attribute: Counts) -> Bools:
    """The user's function itself, called class by class."""
    value, count, total = (
        np.ascontiguousarray(array, dtype=np.int64)
        for array in (attribute.value, attribute.count, attribute.total)
    )
    params = np.array(requirement.params, dtype=np.float64)
    call = requirement.cfunc.ctypes
    integers, reals = (ctypes.POINTER(kind) for kind in (ctypes.c_int64, ctypes.c_double))
    ends = np.append(attribute.start[1:], len(value))
    passes = np.empty(len(attribute.size), dtype=np.bool_)
    for group, (start, end) in enumerate(zip(attribute.start.tolist(), ends.tolist(), strict=True)):
        passes[group] = call(
            value[start:end].ctypes.data_as(integers),
            count[start:end].ctypes.data_as(integers),
            end - start,
            total.ctypes.data_as(integers),
            len(total),
            int(attribute.size[group]),
            attribute.n_rows,
            params.ctypes.data_as(reals),
        )
    return passes


def _each(test: Callable[[Any, Counts], Bools]) -> Callable[[Any, Sequence[Counts]], Bools]:
    """The requirement must hold for each attribute."""

    def every(requirement: Any, attributes: Sequence[Counts]) -> Bools:
        verdicts = [test(requirement, attribute) for attribute in attributes]
        return np.asarray(np.logical_and.reduce(verdicts), dtype=np.bool_)

    return every


def _by_itself(requirement: Any, attribute: Counts) -> Bools:
    return np.asarray(requirement.recheck(attribute), dtype=np.bool_)


by_itself = _each(_by_itself)
"""The test that a requirement brings where `TESTS` has none: its `recheck`, of an attribute's Counts."""


def _k_map(requirement: Any, size: npt.NDArray[np.int64]) -> Bools:
    """At least k rows, or so many that k people give as many with no more than the significance."""
    k, mean = requirement.k, requirement.k * float(requirement.sampling_fraction)
    n = np.arange(k + ceil(mean + 40 * mean**0.5) + 40)
    chance = np.exp(n * log(mean) - mean - np.concatenate([[0.0], np.cumsum(np.log(n[1:]))]))
    as_many = np.cumsum(chance[::-1])[::-1]  # P(X >= n), by the smallest terms first
    if requirement.truncated:
        as_many = as_many / as_many[1]
    rare = as_many[np.clip(size, 0, len(n) - 1)] <= float(requirement.significance) + 1e-12
    return np.asarray((size >= k) | ((size > 0) & rare))


def _max_risk(requirement: Any, size: npt.NDArray[np.int64]) -> Bools:
    """The individual risk of so many rows is at most the threshold."""
    f, where = np.unique(size, return_inverse=True)
    risk = individual(f, np.full(len(f), float(requirement.sampling_fraction)))
    return np.asarray((size > 0) & (risk[where] <= float(requirement.threshold) * (1 + 1e-9)))


OF_ROWS: dict[str, Callable[[Any, npt.NDArray[np.int64]], Bools]] = {
    "KMap": _k_map,
    "MaxRisk": _max_risk,
}
"""Tests of the rows of each class alone."""

TESTS: dict[str, Callable[[Any, Sequence[Counts]], Bools]] = {
    "LDiversity": _each(_l_diversity),
    "TCloseness": _each(_t_closeness),
    "DeltaDisclosure": _each(_delta),
    "AlphaK": _each(_alpha),
    "BetaLikeness": _each(_beta),
    "SDiversityBound": _s_diversity,
    "Custom": _each(_custom),
}
