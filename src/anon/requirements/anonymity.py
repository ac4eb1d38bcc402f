# SPDX-License-Identifier: Apache-2.0
"""k-anonymity, of rows or of the units (persons) that the rows belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from anon.encoding import Domain
from anon.errors import UsageError
from anon.requirements.option import Option
from anon.requirements.requirement import Counts, Requirement, integer, set_parameter

Counted = Literal["rows", "units", "unit-bags"]
COUNT = Option(
    "k_count", Counted, "Whom k counts: units (default where --unit is given), rows or unit-bags.", "count"
)


def counted(count: str | None) -> str | None:
    """A parameter `count`; None leaves it to the schema: units where it names one, else rows."""
    if count not in (None, "rows", "units", "unit-bags"):
        raise UsageError(f"count={count!r} is unknown: use 'rows', 'units' or 'unit-bags'")
    return count


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """At least k rows in every class, or rows of at least k units.

    `count` is what k counts: "rows", or the distinct "units" of the schema (its default where the schema
    names a unit; (X,Y)-anonymity, Wang & Fung 2006). "unit-bags" asks for k units with the same multiset of
    published rows (Nergiz 2009), which full-domain recoding enforces.
    """

    asks_k: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("k", int, "k-anonymity: rows (with --unit: units) of a class."),
        COUNT,
    )

    k: int
    count: str | None = None

    def __post_init__(self) -> None:
        set_parameter(self, "k", integer("k", self.k))
        counted(self.count)

    @property
    def least_rows(self) -> int:
        return self.k

    def of_units(self) -> KAnonymity:
        return replace(self, count="units")

    @property
    def absorbing(self) -> bool:
        return True

    @property
    def family(self) -> str:
        return "k-anonymity" if self.count in (None, "rows") else f"k-anonymity of {self.count}"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"k": (self.k, {"units": "k_units", "unit-bags": "k_unit_bags"}.get(str(self.count), "k"))}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("units" if self.count == "units" else "size", self.k)]

    def __str__(self) -> str:
        return f"{self.k}-anonymity" + (f" of {self.count}" if self.count else "")

    def __repr__(self) -> str:
        return f"KAnonymity(k={self.k}{f', count={self.count!r}' if self.count else ''})"
