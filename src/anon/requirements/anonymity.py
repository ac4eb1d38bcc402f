# SPDX-License-Identifier: Apache-2.0
"""k-anonymity, of rows or of the units (persons) that the rows belong to, and where nulls match anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from anon.encoding import Domain
from anon.errors import Parameter, UsageError
from anon.requirements.option import Option
from anon.requirements.requirement import Counts, Requirement, integer, set_parameter

Nulls = Literal["own", "wildcard"]
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

    With `nulls="wildcard"` every row has k compatible ones instead, itself among them: equal, or one of the
    two null, in each quasi-identifier. Rows with nulls alone help nobody and need nobody. That makes no
    classes and promises less; local suppression enforces it.
    """

    asks_k: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("k", int, "k-anonymity: rows (with --unit: units) of a class."),
        COUNT,
        Option(
            "k_nulls",
            Nulls,
            "For k a missing value is one more (own, default), or matches any (wildcard: it promises less).",
            "nulls",
        ),
    )

    k: int
    count: str | None = None
    nulls: Nulls = "own"

    def __post_init__(self) -> None:
        set_parameter(self, "k", integer("k", self.k))
        counted(self.count)
        if self.nulls not in get_args(Nulls):
            raise UsageError(f"nulls={self.nulls!r}: choose 'own' or 'wildcard'")
        if self.by_matching and self.count not in (None, "rows"):
            raise self._of_rows()

    @property
    def by_matching(self) -> bool:
        return self.nulls == "wildcard"

    @property
    def least_rows(self) -> int:
        return self.k

    def of_units(self) -> KAnonymity:
        if self.by_matching:
            raise self._of_rows()
        return replace(self, count="units")

    @property
    def absorbing(self) -> bool:
        return True

    @property
    def family(self) -> str:
        if self.by_matching:
            return "k-anonymity where nulls match"
        return "k-anonymity" if self.count in (None, "rows") else f"k-anonymity of {self.count}"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        if self.by_matching:
            return {"k": (self.k, "k_matching")}
        return {"k": (self.k, {"units": "k_units", "unit-bags": "k_unit_bags"}.get(str(self.count), "k"))}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("units" if self.count == "units" else "size", self.k)]

    def _of_rows(self) -> UsageError:
        return UsageError(
            f"{self}: null can match anything for rows, not for units: leave out the unit, or ask for ",
            Parameter('nulls="own"', "--k-nulls own"),
        )

    def __str__(self) -> str:
        matching = ", a missing value matching anything" if self.by_matching else ""
        return f"{self.k}-anonymity" + (f" of {self.count}" if self.count else "") + matching

    def __repr__(self) -> str:
        more = "".join(
            f", {name}={value!r}"
            for name, value in (("count", self.count), ("nulls", self.nulls))
            if value not in (None, "own")
        )
        return f"KAnonymity(k={self.k}{more})"


@dataclass(frozen=True)
class SubsetAnonymity(Requirement):
    """On every `size` of the quasi-identifiers each row has k compatible ones, null matching anything.

    As `KAnonymity(k, nulls="wildcard")`, of whoever knows so many of them; local suppression enforces it.
    """

    k: int
    size: int

    def __post_init__(self) -> None:
        set_parameter(self, "k", integer("k", self.k))
        set_parameter(self, "size", integer("size", self.size))

    @property
    def by_matching(self) -> bool:
        return True

    @property
    def least_rows(self) -> int:
        return self.k

    @property
    def family(self) -> str:
        return "k-anonymity of some attributes where nulls match"

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("size", self.k)]

    def __str__(self) -> str:
        return f"{self.k}-anonymity on any {self.size} quasi-identifiers, a missing value matching anything"
