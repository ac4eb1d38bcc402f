# SPDX-License-Identifier: Apache-2.0
"""Rows compatible where null matches anything, counted anew from published cells, by pairs of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from anon.classes import Classes, Column
from anon.encoding import Codes, Domain
from anon.errors import RecheckError
from anon.release.recheck_cells import SAFE, Bools, chunks, codes_inside

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shown:
    """What each class shows of a quasi-identifier: a number that is equal for equal cells, and is it null."""

    identity: Ints
    null: Bools


def shown_of(column: Column) -> Shown:
    """What a column that was or will be written shows."""
    identity = column.values.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
    null = column.values.is_null().to_numpy(zero_copy_only=False)
    return Shown(identity.astype(np.int64)[column.index], null[column.index])


def read_as(codes: Codes, domain: Domain, classes: Classes) -> Shown:
    """What the classes of a file show, from the codes that its rows were read as."""
    of_class = codes[classes.rows[classes.offsets[:-1]]].astype(np.int64)
    return Shown(of_class, np.asarray(of_class == domain.n_values))


def is_matching(requirement: Any) -> bool:
    """Is it of compatible rows?"""
    return (
        getattr(requirement, "nulls", "own") == "wildcard" or type(requirement).__name__ == "SubsetAnonymity"
    )


def n_incompatible(requirement: Any, shown: Sequence[Shown], sizes: Ints) -> int:
    """How many classes have fewer than k compatible rows, on all attributes or on some of its size."""
    size = getattr(requirement, "size", len(shown))
    failing = np.zeros(len(sizes), np.bool_)
    for some in combinations(shown, min(size, len(shown))):
        failing |= _below(some, sizes, requirement.k)
    return int(np.count_nonzero(failing))


def _below(shown: Sequence[Shown], sizes: Ints, k: int) -> Bools:
    """Which classes have fewer than k compatible rows; those that are null in every column need none."""
    pattern = np.zeros(len(sizes), np.uint64)
    for a, one in enumerate(shown):
        pattern |= one.null.astype(np.uint64) << np.uint64(a)
    failing = np.zeros(len(sizes), np.bool_)
    everything = (1 << len(shown)) - 1
    masks, which, n_of = np.unique(pattern, return_inverse=True, return_counts=True)
    of_mask = {int(mask): np.flatnonzero(which == i) for i, mask in enumerate(masks) if mask != everything}
    largest_first = sorted(of_mask, key=lambda mask: -int(n_of[np.searchsorted(masks, np.uint64(mask))]))
    for mask in of_mask:
        left, count = of_mask[mask], np.zeros(len(of_mask[mask]), np.int64)
        for other in largest_first:
            theirs = of_mask[other]
            both = [one.identity for a, one in enumerate(shown) if not (mask | other) >> a & 1]
            ours, keys = _keys(both, left, theirs)
            rows = np.bincount(keys, sizes[theirs], int(max(ours.max(), keys.max())) + 1)[ours]
            count = count + rows.astype(np.int64)
            left, count = left[count < k], count[count < k]
            if not len(left):
                break
        failing[left] = True
    return failing


def _keys(identities: Sequence[Ints], ours: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Numbers that are equal for classes of both that are equal in all columns, without gaps."""
    which = np.concatenate([ours, theirs])
    key, n_keys = np.zeros(len(which), np.int64), 1
    for identity in identities:
        n_values = int(identity.max()) + 1
        if n_keys * n_values >= SAFE:
            known, key = np.unique(key, return_inverse=True)
            n_keys = len(known)
        key = key * n_values + identity[which]
        n_keys *= n_values
    _, key = np.unique(key, return_inverse=True)
    return key[: len(ours)], key[len(ours) :]


def check_values(domain: Domain, codes: Codes, classes: Classes, column: Column) -> None:
    """Raise RecheckError unless every class shows null, or the one value that all of its rows have."""
    shown = pc.index_in(column.values, value_set=domain.values).fill_null(-1).to_numpy(zero_copy_only=False)
    null = column.values.is_null().to_numpy(zero_copy_only=False)
    wrong = 0
    for first, last in chunks(classes.offsets):
        inside, starts = codes_inside(codes, classes, first, last)
        index = column.index[first:last]
        unlike = np.minimum.reduceat(inside, starts) != shown[index]
        unlike |= np.maximum.reduceat(inside, starts) != shown[index]
        wrong += int(np.count_nonzero(unlike & ~null[index]))
    if wrong:
        raise RecheckError(
            f"column {domain.name!r}: a value that is not that of its rows in {wrong} classes; "
            "this is a fault of the tool, nothing was written"
        )
