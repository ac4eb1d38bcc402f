# SPDX-License-Identifier: Apache-2.0
"""What every measure reads."""

from __future__ import annotations

from dataclasses import dataclass

from anon.classes.classes import Classes, Counts
from anon.classes.generalized import Cells
from anon.encoding import Codes, Encoded


@dataclass(frozen=True, repr=False)
class Published:
    """What a release shows, in the codes of the original table.

    `classes` lists the published rows, whatever their numbers mean; what is not in it is suppressed.
    `counts[i]` is what each class holds of the i-th sensitive attribute of `original`, None where the
    release leaves it out. `cells[i]` is what each class shows of the i-th quasi-identifier; a
    bucketization has None there and the intact codes of its rows (numbered as in `classes`) in
    `intact`. With neither, `refusal` says why there are no cells. With `by_level` numeric cells are the
    intervals of the attribute's levels. `k_asked` is the k that was demanded.
    """

    original: Encoded
    classes: Classes
    counts: tuple[Counts | None, ...]
    cells: tuple[Cells, ...] | None = None
    intact: tuple[Codes, ...] | None = None
    by_level: bool = False
    k_asked: int | None = None
    n_starred: int = 0
    refusal: str = ""
    n_threads: int = 1

    @property
    def n_suppressed(self) -> int:
        """Rows of the original that are not published."""
        return self.original.n_rows - len(self.classes.rows)

    def __repr__(self) -> str:
        return f"Published(n_classes={self.classes.n_classes}, rows={len(self.classes.rows)})"
