# SPDX-License-Identifier: Apache-2.0
"""People against the distinct rows of a release, so many at a time as memory allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from anon.attackers.seen import Boxes, Column, Floats, Ints, Secret, Seen
from anon.encoding import Codes
from anoncore import nearest as kernel

MOST = 1 << 23  # numbers of one table of values and cells
Block = tuple[slice, list[Floats], npt.NDArray[np.uint32]]


@dataclass(frozen=True, repr=False)
class People:
    """Rows of the original, and of the control table after them."""

    targets: Ints
    control: Ints

    def __len__(self) -> int:
        return len(self.targets) + len(self.control)

    def codes(self, columns: Sequence[Column]) -> list[Codes]:
        """What they have of some columns."""
        return [column.codes(self.targets, self.control) for column in columns]


def _blocks(boxes: Boxes, people: People, of: Literal["distances", "shares"]) -> Iterator[Block]:
    """Parts and picks of the kernels, for some people after others."""
    n_people = len(people)
    widest = max(len(column.cells.low) for column in boxes.columns)
    step = max(MOST // max(widest, 1), 16)
    for start in range(0, n_people, step):
        block = slice(start, min(start + step, n_people))
        parts, picks = [], []
        for column, codes in zip(boxes.columns, people.codes(boxes.columns), strict=True):
            distinct, pick = np.unique(codes[block], return_inverse=True)
            parts.append(column.distances(distinct) if of == "distances" else column.shares(distinct))
            picks.append(pick.astype(np.uint32))
        yield block, parts, np.stack(picks)


def nearest_rows(seen: Seen, boxes: Boxes, people: People, salts: npt.NDArray[np.uint64], n: int) -> Ints:
    """The released rows nearest to each of some people (people x n, -1: none), ties in a random order."""
    found = np.full((len(people), n), -1, np.int64)
    for block, parts, picks in _blocks(boxes, people, "distances"):
        offsets = boxes.classes.offsets
        found[block] = kernel.rows(boxes.cells, parts, picks, offsets, salts[block], n, seen.n_threads)
    rows: Ints = np.where(found < 0, -1, boxes.classes.rows.astype(np.int64)[found])
    return rows


def guesses(seen: Seen, boxes: Boxes, secret: Secret, people: People) -> Ints:
    """The most frequent sensitive value of what lies nearest to each of some people."""
    classes = boxes.classes
    if secret.of_bucket is not None:
        assert seen.bucket is not None
        counts = secret.of_bucket
        groups = seen.bucket[classes.rows[classes.offsets[:-1]]]
        sizes = np.add.reduceat(counts.counts, counts.offsets[:-1])
        shares = classes.sizes / sizes[groups]
    else:
        counts = seen.counts(secret, classes)
        groups = np.arange(classes.n_classes, dtype=np.uint32)
        shares = np.ones(classes.n_classes)
    held = counts.offsets, counts.values, counts.counts, secret.domain.n_codes + 1
    guess = np.empty(len(people), np.int64)
    for block, parts, picks in _blocks(boxes, people, "distances"):
        guess[block] = kernel.guesses(boxes.cells, parts, picks, shares, groups, *held, seen.n_threads)
    return guess


def expected_rows(seen: Seen, boxes: Boxes, people: People) -> Floats:
    """How many released rows are to be expected at the values of each of some people."""
    score = np.empty(len(people))
    for block, parts, picks in _blocks(boxes, people, "shares"):
        score[block] = kernel.expected(boxes.cells, parts, picks, boxes.classes.sizes, seen.n_threads)
    return score
