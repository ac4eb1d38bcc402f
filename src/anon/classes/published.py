# SPDX-License-Identifier: Apache-2.0
"""What every measure reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from anon.classes.classes import Classes, Counts, sensitive_counts
from anon.classes.generalized import Cells
from anon.classes.rendering import Column
from anon.encoding import Codes, Encoded


@dataclass(frozen=True, repr=False)
class RowWeights:
    """How many people each published row stands for.

    `of_row` (float64, > 0) and `sensitive[i]`, the codes of the i-th sensitive attribute (None where it is
    left out), have one entry for every row that a release's classes number.
    """

    of_row: npt.NDArray[np.float64]
    sensitive: tuple[Codes | None, ...]

    def __repr__(self) -> str:
        return f"RowWeights({len(self.of_row)} rows)"


@dataclass(frozen=True, repr=False)
class Published:
    """What a release shows, in the codes of the original table.

    `classes` lists the published rows, whatever their numbers mean; what is not in it is suppressed.
    `counts[i]` is what each class holds of the i-th sensitive attribute of `original`, None where the
    release leaves it out. `cells[i]` is what each class shows of the i-th quasi-identifier; a
    bucketization has None there and the intact codes of its rows (numbered as in `classes`) in
    `intact`. With neither, `refusal` says why there are no cells. With `by_level` numeric cells are the
    intervals of the attribute's levels; `numbers[i]` are the midpoints or means that stand for them.
    `k_asked` is the k that was demanded. `weights` are there where rows stand for different numbers of
    people.
    """

    original: Encoded
    classes: Classes
    counts: tuple[Counts | None, ...]
    cells: tuple[Cells, ...] | None = None
    intact: tuple[Codes, ...] | None = None
    by_level: bool = False
    numbers: tuple[Column | None, ...] = ()
    k_asked: int | None = None
    n_starred: int = 0
    refusal: str = ""
    n_threads: int = 1
    weights: RowWeights | None = None

    @property
    def n_suppressed(self) -> int:
        """Rows of the original that are not published."""
        return self.original.n_rows - len(self.classes.rows)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Sensitive attributes that the release leaves out."""
        pairs = zip(self.original.sensitive, self.counts, strict=True)
        return tuple(domain.name for domain, counts in pairs if counts is None)

    def __repr__(self) -> str:
        return f"Published(n_classes={self.classes.n_classes}, rows={len(self.classes.rows)})"


def counts_of(
    original: Encoded, classes: Classes, dropped: Collection[str] = (), n_threads: int = 1
) -> tuple[Counts | None, ...]:
    """What each class holds of every sensitive attribute, None for those left out."""
    return tuple(
        None if domain.name in dropped else sensitive_counts(classes, codes, domain.n_codes, n_threads)
        for domain, codes in zip(original.sensitive, original.sensitive_codes, strict=True)
    )


class Showing(Protocol):
    """Whatever has a Published, as a Release does."""

    @property
    def published(self) -> Published:
        """What it shows."""


def published_of(release: Published | Showing) -> Published:
    """The door of the public measures: what a release shows."""
    return release if isinstance(release, Published) else release.published
