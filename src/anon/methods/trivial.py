# SPDX-License-Identifier: Apache-2.0
"""The trivial releases: the table as it is, or without its quasi-identifiers or sensitive attributes.

They enforce nothing and accept no requirement; comparisons need them as end points
(Li & Li 2009, 4.3; Brickell & Shmatikov 2008, 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from anon.classes import Classes, group
from anon.encoding import Encoded
from anon.errors import UsageError
from anon.methods.task import Task


@dataclass(frozen=True)
class Identity:
    """The table as it is: classes are the rows with equal quasi-identifiers."""


@dataclass(frozen=True)
class Suppress:
    """The table without its quasi-identifiers (`what="quasi"`: every cell is `*`) or without its
    sensitive attributes (`what="sensitive"`).
    """

    what: Literal["quasi", "sensitive"]

    def __post_init__(self) -> None:
        if self.what not in ("quasi", "sensitive"):
            raise UsageError('Suppress(what): "quasi" or "sensitive"')


def identity(encoded: Encoded, method: Any, task: Task) -> Classes:
    """Rows with equal quasi-identifiers share a class, whatever the method does beside."""
    return group(encoded.quasi_codes, suppressed=encoded.suppressed, n_threads=task.n_threads)


def suppress(encoded: Encoded, method: Suppress, task: Task) -> Classes:
    """One class where the quasi-identifiers go, the classes of `identity` where they stay."""
    if method.what == "sensitive":
        return identity(encoded, method, task)
    rows = encoded.kept
    return Classes(rows, np.unique([0, len(rows)]), encoded.suppressed)
