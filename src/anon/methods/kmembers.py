# SPDX-License-Identifier: Apache-2.0
"""K-Members: greedy clustering (Byun et al. 2007), and its turn to protection (Loukides & Shao 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, group, ranked_rows
from anon.encoding import Codes, Domain, Encoded
from anon.errors import NAME_SENSITIVE, SUPPRESS, DataError, Parameter, UsageError
from anon.methods.task import LOSS, TIES, Method, Task, refuse_few
from anon.requirements import Option
from anoncore import kmembers
from anoncore.diversity import Closeness

Objective = Literal["utility", "protection"]
Loss = Literal["ncp", "byun"]
Ties = Literal["rank", "input"]
RowNumbers = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class KMembers(Method):
    """Clusters of k rows, grown one by one from the row furthest from the seed before.

    `objective="utility"` adds the row with which the cluster's loss is least; `"protection"`
    (K-Members-p) the one with which the sum of S-diversities (r = 1) is, seeds still being chosen by the
    distance of quasi-identifiers. `loss="ncp"` measures a nominal cell by its leaves or labels, `"byun"`
    by the level of the common ancestor, two different labels without a tree being 1 wide. `ties="rank"`
    makes the classes independent of the order of the rows, `"input"` follows it.
    """

    name: ClassVar[str] = "kmembers"
    grows: ClassVar[bool] = True
    needs_k: ClassVar[bool] = True
    repaired: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("objective", Objective, "K-Members grows for utility (default) or protection."),
        LOSS,
        TIES,
    )

    objective: Objective = "utility"
    loss: Loss = "ncp"
    ties: Ties = "rank"

    def __post_init__(self) -> None:
        for name, choices in (("objective", Objective), ("loss", Loss), ("ties", Ties)):
            if getattr(self, name) not in get_args(choices):
                raise UsageError(f"{name} must be {' or '.join(map(repr, get_args(choices)))}")

    def needs_complete(self, sensitive: Sequence[Domain]) -> bool:
        if self.objective == "protection" and not sensitive:
            raise UsageError(
                Parameter('objective="protection"', "--objective protection"),
                " needs a sensitive attribute: ",
                NAME_SENSITIVE,
            )
        return self.objective == "protection"

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return partition(encoded, self, task, k)


def partition(encoded: Encoded, method: KMembers, task: Task, k: int) -> Classes:
    """Classes of at least k rows; fewer than 2k unless leftovers crowd into one."""
    kept = encoded.kept
    n, threads, tell = len(kept), task.n_threads, task.progress
    refuse_few(n, k)
    if method.ties == "rank":
        kept = ranked_rows(encoded, threads)
    sensitive = None
    if method.needs_complete(encoded.sensitive):
        refuse_missing(encoded, kept)
        codes, offsets, rows = records([codes[kept] for codes in encoded.sensitive_codes], threads)
        sensitive = (closeness(encoded.sensitive), codes.astype(np.int64), offsets, rows)
    members, left, home = kmembers.grow(
        *records([codes[kept] for codes in encoded.quasi_codes], threads),
        [domain.measured(method.loss) for domain in encoded.quasi],
        k,
        int(task.rng.integers(n)),
        sensitive=sensitive,
        progress=None if tell is None else lambda done, total: tell("clustering", done, total),
    )
    class_of_row = np.empty(n, np.int64)
    class_of_row[members] = np.arange(len(members))[:, None]
    class_of_row[left] = home
    offsets = np.concatenate([[0], np.cumsum(np.bincount(class_of_row))])
    return Classes(kept[np.argsort(class_of_row, kind="stable")], offsets, encoded.suppressed)


def closeness(domains: Sequence[Domain], r: float = 1.0, printed: bool = False) -> list[Closeness]:
    """Sensitive attributes as the kernels read them."""
    return [Closeness(domain.attribute, r=r, printed=printed) for domain in domains]


def records(
    columns: Sequence[Codes], n_threads: int = 1
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], RowNumbers]:
    """The codes of the distinct rows of some columns, ascending, and the rows of each in CSR form."""
    equal = group(columns, n_threads=n_threads)
    first = equal.rows[equal.offsets[:-1]]
    codes = np.empty((equal.n_classes, len(columns)), np.result_type(*columns))
    for a, column in enumerate(columns):
        codes[:, a] = column[first]
    return codes, equal.offsets, equal.rows


def refuse_missing(encoded: Encoded, kept: RowNumbers) -> None:
    """Raise DataError where one of the rows `kept` misses a value that S-diversity is asked about."""
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        missing = kept[codes[kept] == domain.n_values]
        if len(missing):
            raise DataError(
                f"{domain.name}: {len(missing)} values are missing, the first in row {missing.min() + 1}; "
                "S-diversity has no place for them: use ",
                SUPPRESS,
                column=domain.name,
                row=int(missing.min()),
                count=len(missing),
            )
