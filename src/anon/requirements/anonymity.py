# SPDX-License-Identifier: Apache-2.0
"""k-anonymity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from anon.encoding import Domain
from anon.requirements.option import Option
from anon.requirements.requirement import Counts, Requirement, integer, set_parameter


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """At least k rows in every class."""

    asks_k: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (Option("k", int, "k-anonymity: rows of a class."),)

    k: int

    def __post_init__(self) -> None:
        set_parameter(self, "k", integer("k", self.k))

    @property
    def least_rows(self) -> int:
        return self.k

    @property
    def family(self) -> str:
        return "k-anonymity"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"k": (self.k, "k")}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("size", self.k)]

    def __str__(self) -> str:
        return f"{self.k}-anonymity"
