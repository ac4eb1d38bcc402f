# SPDX-License-Identifier: Apache-2.0
"""Anatomy (Xiao & Tao 2006): buckets of l distinct sensitive values, whatever the quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranked_rows
from anon.encode import Encoded
from anon.errors import UsageError
from anon.methods.task import Task
from anoncore.cluster import deal


@dataclass(frozen=True)
class Anatomy:
    """Buckets in which every sensitive value has a share of at most 1/l; for `publish="bucketization"`.

    `l` is an integer >= 2; `sensitive` names the attribute where the schema has several. The
    requirement `LDiversity(l, "probabilistic")` is implied.
    """

    l: int
    sensitive: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or self.l < 2:
            raise UsageError("Anatomy(l): an integer of at least 2")


def partition(encoded: Encoded, method: Anatomy, task: Task) -> Classes:
    """Deal the rows into buckets of l rows with l distinct values; the at most l - 1 rows left over
    each join a random bucket without their value (Xiao & Tao 2006, figure 3).

    Which row of a value goes into which bucket is drawn by `task.rng`, on rows in rank order, so
    that the answer does not depend on the order of the input.
    """
    codes = encoded.sensitive_codes[_position(encoded, method)]
    ranked = ranked_rows(encoded, task.n_threads)
    drawn = ranked[task.rng.permutation(len(ranked))]
    counts = np.bincount(codes[drawn])
    values = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    taken, left = deal(counts[values], method.l)

    by_value = _rows_by_value(drawn, codes, values)
    starts = np.cumsum(counts[values]) - counts[values]
    dealt = np.arange(len(drawn)) - np.repeat(starts, counts[values]) < np.repeat(
        counts[values] - left, counts[values]
    )
    slots = np.argsort(taken.ravel(), kind="stable")
    rows = np.empty(taken.size, np.uint32)
    rows[slots] = by_value[dealt]

    extra = by_value[~dealt]
    homes = _homes(taken, np.repeat(np.arange(len(values)), left), task.rng)
    bucket = np.concatenate([np.repeat(np.arange(len(taken)), method.l), homes])
    order = np.argsort(bucket, kind="stable")
    sizes = np.bincount(bucket, minlength=len(taken))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Classes(np.concatenate([rows, extra])[order], offsets, encoded.suppressed)


def _position(encoded: Encoded, method: Anatomy) -> int:
    names = [domain.name for domain in encoded.sensitive]
    if method.sensitive is None and len(names) == 1:
        return 0
    if method.sensitive in names:
        return names.index(method.sensitive)
    raise UsageError(
        "Anatomy needs one sensitive attribute; name it with sensitive=, "
        f"one of {', '.join(names) or '(none)'}"
    )


def _rows_by_value(
    drawn: npt.NDArray[np.uint32], codes: npt.NDArray[np.uint32], values: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    rank = np.zeros(int(values.max(initial=-1)) + 1, np.int64)
    rank[values] = np.arange(len(values))
    return drawn[np.argsort(rank[codes[drawn]], kind="stable")]


def _homes(
    taken: npt.NDArray[np.uint32], extra: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    homes = np.empty(len(extra), np.int64)
    for i, value in enumerate(extra):
        bucket = rng.integers(len(taken))
        while value in taken[bucket]:
            bucket = rng.integers(len(taken))
        homes[i] = bucket
    return homes
