# SPDX-License-Identifier: Apache-2.0
"""S-diversity: sensitive values of a class not too near each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from anon.encoding import Domain
from anon.requirements.option import Option
from anon.requirements.requirement import (
    Counts,
    Real,
    Requirement,
    real,
    refuse_missing,
    set_parameter,
    written,
)
from anoncore.requirement import Conjunction


@dataclass(frozen=True)
class SDiversityBound(Requirement):
    """The S-diversities of a class, summed over the sensitive attributes, are at most `bound`.

    S-diversity is the mean closeness of pairs of rows, pairs with a closeness below 1 - r counted
    as 0 (Loukides & Shao 2008, defs 2.3 and 2.4); low is good. `sensitive` restricts the sum to one
    attribute. With r < 1 merging two passing classes may fail.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option("s_bound", float, "Bound of S-diversity.", "bound"),
        Option("r", float, "Range r of S-diversity (1)."),
    )

    bound: Real
    r: Real = 1.0
    sensitive: str | None = None

    def __post_init__(self) -> None:
        set_parameter(self, "bound", real("bound", self.bound, least=0))
        set_parameter(self, "r", real("r", self.r, least=0, most=1))

    @property
    def monotone(self) -> bool:
        return self.r >= 1

    @property
    def tests_sensitive(self) -> bool:
        return True

    @property
    def family(self) -> str:
        return "S-diversity"

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        lines: list[tuple[int, Any]] = []
        for a in self.attributes(domains):
            domain = domains[a]
            refuse_missing(self, domain, table_counts[a])
            lines.append((a, domain.attribute))
        return [("s_diversity", float(self.bound), float(self.r), lines)]

    def _explain_sum(self, conjunction: Conjunction) -> tuple[str, Any]:
        least = conjunction.table_diversities[0]
        return f"the whole table as one class has {least!r}, and that is the least bound", least

    def __str__(self) -> str:
        return self._describe(f"S-diversity at most {written(self.bound)} (r = {written(self.r)})")
