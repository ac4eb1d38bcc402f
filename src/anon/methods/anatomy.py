# SPDX-License-Identifier: Apache-2.0
"""Anatomy (Xiao & Tao 2006): buckets of l distinct sensitive values, whatever the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encoding import Encoded
from anon.entropy import Entropy, permutation
from anon.errors import Parameter, UsageError
from anon.methods.task import Method, Task
from anon.requirements import LDiversity, Requirement
from anoncore.classes import shuffle
from anoncore.cluster import deal


@dataclass(frozen=True)
class Anatomy(Method):
    """Buckets in which every sensitive value has a share of at most 1/l; for `publish="bucketization"`.

    `l` is an integer >= 2; `sensitive` names the attribute where the schema has several. The
    requirement `LDiversity(l, "probabilistic")` is implied.
    """

    name: ClassVar[str] = "anatomy"
    needs: ClassVar[tuple[str, ...]] = ("l",)
    repaired: ClassVar[bool] = True

    l: int
    sensitive: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or self.l < 2:
            raise UsageError("Anatomy(l): an integer of at least 2")

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Self:
        if not float(values["l"]).is_integer():
            raise UsageError("--method anatomy needs a whole number for --l")
        return super().of({**values, "l": int(values["l"])}, **fixed)

    @property
    def chooses(self) -> bool:
        return True

    def implied(self) -> tuple[Requirement, ...]:
        return (LDiversity(self.l, "probabilistic", sensitive=self.sensitive),)

    def check_published(self, publish: str, numeric: str) -> None:
        if publish != "bucketization":
            raise UsageError(
                "Anatomy leaves quasi-identifiers intact: it needs ",
                Parameter('publish="bucketization"', "--publish bucketization"),
            )

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return partition(encoded, self, task)


def partition(encoded: Encoded, method: Anatomy, task: Task) -> Classes:
    """Deal the rows into buckets of l rows with l distinct values; the at most l - 1 rows left over
    each join a random bucket without their value (Xiao & Tao 2006, figure 3).

    Which row of a value goes into which bucket is the secret that the buckets keep, so it is drawn from
    `task.entropy`, as is the order in which equally frequent values are dealt: neither the seed nor the
    order of the input has a part in it.
    """
    codes = encoded.sensitive_codes[_position(encoded, method)]
    rows = encoded.kept
    counts = np.bincount(codes[rows])
    drawn = permutation(len(counts), task.entropy)
    values = drawn[np.argsort(-counts[drawn], kind="stable")][: np.count_nonzero(counts)]
    counts = counts[values]
    taken, left = deal(counts, method.l)

    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    by_value = _rows_by_value(rows, codes, values)
    by_value = shuffle(by_value, starts, task.entropy(len(rows)), task.n_threads)
    dealt = np.arange(len(rows)) - np.repeat(starts[:-1], counts) < np.repeat(counts - left, counts)
    slots = np.argsort(taken.ravel(), kind="stable")
    placed = np.empty(taken.size, np.uint32)
    placed[slots] = by_value[dealt]

    extra = by_value[~dealt]
    homes = _homes(taken, np.repeat(np.arange(len(values)), left), task.entropy)
    bucket = np.concatenate([np.repeat(np.arange(len(taken)), method.l), homes])
    order = np.argsort(bucket, kind="stable")
    sizes = np.bincount(bucket, minlength=len(taken))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Classes(np.concatenate([placed, extra])[order], offsets, encoded.suppressed)


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
    rows: npt.NDArray[np.uint32], codes: npt.NDArray[np.uint32], values: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    rank = np.zeros(int(values.max(initial=0)) + 1, np.int64)
    rank[values] = np.arange(len(values))
    return rows[np.argsort(rank[codes[rows]], kind="stable")]


def _homes(
    taken: npt.NDArray[np.uint32], extra: npt.NDArray[np.int64], entropy: Entropy
) -> npt.NDArray[np.int64]:
    """A random bucket without its value for each row left over.

    Where people are counted a value may have more rows than that: then any bucket, and the repair merges.
    """
    homes = np.empty(len(extra), np.int64)
    for value in np.unique(extra):
        rows = np.flatnonzero(extra == value)
        without = np.flatnonzero((taken != value).all(axis=1))
        free = without if len(without) else np.arange(max(len(taken), 1))
        homes[rows] = free[entropy(len(rows)) % np.uint64(len(free))]
    return homes
