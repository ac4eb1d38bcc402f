# SPDX-License-Identifier: Apache-2.0
"""The trivial releases: the table as it is, or without its quasi-identifiers or sensitive attributes.

They enforce nothing and accept no requirement; comparisons need them as end points
(Li & Li 2009, 4.3; Brickell & Shmatikov 2008, 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from anon.classes import Classes, group
from anon.encoding import Encoded
from anon.errors import UsageError
from anon.methods.task import Method, Task


@dataclass(frozen=True)
class Identity(Method):
    """The table as it is: classes are the rows with equal quasi-identifiers."""

    name: ClassVar[str] = "identity"
    enforces: ClassVar[bool] = False

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return identity(encoded, task)


@dataclass(frozen=True)
class Suppress(Method):
    """The table without its quasi-identifiers (`what="quasi"`: every cell is `*`) or without its
    sensitive attributes (`what="sensitive"`).
    """

    name: ClassVar[str] = "suppress"
    forms: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "suppress-quasi": {"what": "quasi"},
        "suppress-sensitive": {"what": "sensitive"},
    }
    enforces: ClassVar[bool] = False

    what: Literal["quasi", "sensitive"]

    def __post_init__(self) -> None:
        if self.what not in ("quasi", "sensitive"):
            raise UsageError('Suppress(what): "quasi" or "sensitive"')

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        """One class where the quasi-identifiers go, the classes of `identity` where they stay."""
        if self.what == "sensitive":
            return identity(encoded, task)
        rows = encoded.kept
        return Classes(rows, np.unique([0, len(rows)]), encoded.suppressed)


def identity(encoded: Encoded, task: Task) -> Classes:
    """Rows with equal quasi-identifiers share a class."""
    return group(encoded.quasi_codes, suppressed=encoded.suppressed, n_threads=task.n_threads)
