# SPDX-License-Identifier: Apache-2.0
"""t-closeness: each class near the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from anon.encoding import Domain
from anon.errors import Parameter, UsageError
from anon.requirements.option import Option
from anon.requirements.requirement import (
    Counts,
    Real,
    Requirement,
    exact,
    real,
    refuse_missing,
    set_parameter,
    written,
)

Distance = Literal["js", "equal", "ordered", "hierarchical"]


@dataclass(frozen=True)
class TCloseness(Requirement):
    """In every class the distribution of the sensitive values is within t of the table's.

    `distance`: "js" (Jensen-Shannon divergence, natural logarithm), "equal" (half the sum of
    absolute differences), "ordered" (earth mover's over the ranks of a numeric or ordinal
    attribute), "hierarchical" (earth mover's over the hierarchy of a nominal one).
    """

    of_table: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("t", float, "t-closeness."),
        Option("t_distance", Distance, "js (default), equal, ordered or hierarchical.", "distance"),
    )

    t: Real
    distance: Distance = "js"
    sensitive: str | None = None

    def __post_init__(self) -> None:
        if self.distance not in get_args(Distance):
            known = ", ".join(map(repr, get_args(Distance)))
            raise UsageError(
                Parameter(f"distance={self.distance!r}", f"--t-distance {self.distance}"),
                f": choose one of {known}",
            )
        set_parameter(self, "t", real("t", self.t, least=0))

    @property
    def family(self) -> str:
        return "t-closeness" if self.distance == "js" else f"{self.distance} t-closeness"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        if self.distance == "hierarchical" and privacy.t_hierarchical is None:
            return {"t": (self.t, "t_equal")}  # without a tree the two are one
        return {"t": (self.t, f"t_{self.distance}")}

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        if self.distance == "js":
            return "js", a, float(self.t)
        if self.distance == "equal":
            return "equal", a, exact(self.t)
        if self.distance == "ordered":
            if domain.kind == "nominal":
                raise UsageError(
                    f"{self}: {domain.name!r} has no order; declare it ordinal or numeric, or use ",
                    Parameter('distance="hierarchical"', "--t-distance hierarchical"),
                    ', "equal" or "js"',
                )
            refuse_missing(self, domain, counts)
            return "ordered", a, exact(self.t)
        if domain.kind != "nominal":
            raise UsageError(
                f"{self}: {domain.name!r} is {domain.kind}; use ",
                Parameter('distance="ordered"', "--t-distance ordered"),
            )
        refuse_missing(self, domain, counts)
        if domain.tree is None:  # one level: the distance is "equal"
            return "equal", a, exact(self.t)
        return "hierarchical", a, exact(self.t), domain.attribute

    def __str__(self) -> str:
        return self._describe(f"{written(self.t)}-closeness ({self.distance})")
