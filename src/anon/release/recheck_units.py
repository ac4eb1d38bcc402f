# SPDX-License-Identifier: Apache-2.0
"""Units (persons with several rows) of groups of classes, counted in plain NumPy from the owner's data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encoding import Codes, Domain
from anon.release.recheck_cells import chunks, codes_inside
from anon.release.recheck_requirements import Counts


def units_of_groups(
    units: Codes, classes: Classes, group_of: npt.NDArray[np.int64], n_groups: int
) -> npt.NDArray[np.int64]:
    """How many distinct units the rows of each group belong to."""
    if not n_groups:
        return np.zeros(0, dtype=np.int64)
    keys = _distinct(_by_chunk(group_of, units, classes), len(group_of) > n_groups)
    n_units = int(units.max(initial=0)) + 1
    return sum(
        (np.bincount(key // n_units, minlength=n_groups) for key in keys), np.zeros(n_groups, np.int64)
    )


def n_in_rare_bags(
    units: Codes, classes: Classes, group_of: npt.NDArray[np.int64], k: int
) -> tuple[int, int]:
    """Units whose multiset of groups fewer than k units have, and how many units there are."""
    of_row = np.repeat(group_of, classes.sizes)
    whose = units[classes.rows]
    order = np.lexsort((of_row, whose))
    bags: dict[bytes, int] = {}
    starts = np.append(np.flatnonzero(np.diff(whose[order].astype(np.int64), prepend=-1)), len(order))
    sorted_groups = of_row[order]
    for start, stop in pairwise(starts.tolist()):
        bag = sorted_groups[start:stop].tobytes()
        bags[bag] = bags.get(bag, 0) + 1
    return sum(n for n in bags.values() if n < k), len(starts) - 1


def count_by_units(
    domain: Domain,
    codes: Codes,
    units: Codes,
    classes: Classes,
    group_of: npt.NDArray[np.int64],
    n_groups: int,
) -> Counts:
    """Counts of one sensitive attribute: each unit counts once for every value that it has in a group, and in
    the table once for every value, in however many groups.
    """
    n_codes, n_units = domain.n_codes, int(units.max(initial=0)) + 1
    pairs: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    counts: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    apart = len(group_of) > n_groups
    for key in _distinct(_by_chunk(group_of, units, classes, codes, n_codes), apart):
        pair, count = np.unique(key // n_units, return_counts=True)
        pairs.append(pair)
        counts.append(count)
    pair, count = np.concatenate(pairs), np.concatenate(counts)
    order = np.argsort(pair, kind="stable")
    group, value = np.divmod(pair[order], n_codes)
    count = count[order]
    size = np.zeros(n_groups, dtype=np.int64)
    np.add.at(size, group, count)
    of_table = np.unique(codes[classes.rows].astype(np.int64) * n_units + units[classes.rows])
    total = np.bincount(of_table // n_units, minlength=n_codes)
    return Counts(domain, group, value, count, np.searchsorted(group, np.arange(n_groups)), size, total)


def _by_chunk(
    group_of: npt.NDArray[np.int64],
    units: Codes,
    classes: Classes,
    codes: Codes | None = None,
    n_codes: int = 1,
) -> Iterator[npt.NDArray[np.int64]]:
    """Of every row a number for its group, sensitive value and unit; ascending and distinct in each part."""
    n_units = int(units.max(initial=0)) + 1
    for first, last in chunks(classes.offsets):
        key = np.repeat(group_of[first:last] * n_codes, classes.sizes[first:last])
        if codes is not None:
            key += codes_inside(codes, classes, first, last)[0]
        key *= n_units
        key += codes_inside(units, classes, first, last)[0]
        key.sort()
        yield key[np.diff(key, prepend=-1) != 0]


def _distinct(keys: Iterator[npt.NDArray[np.int64]], together: bool) -> Iterator[npt.NDArray[np.int64]]:
    """The parts; as one where a group may have classes in several."""
    if together:
        yield np.unique(np.concatenate(list(keys)))
    else:
        yield from keys
