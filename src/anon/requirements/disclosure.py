# SPDX-License-Identifier: Apache-2.0
"""delta-disclosure and beta-likeness: no sensitive value much likelier in a class than in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from anon.encoding import Domain
from anon.requirements.option import Option
from anon.requirements.requirement import Counts, Real, Requirement, exact, real, set_parameter, written


@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """|ln(p/q)| < delta for every sensitive value of the table: p its share in the class, q in the table."""

    of_table: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (Option("delta", float, "δ-disclosure privacy."),)

    delta: Real
    sensitive: str | None = None

    def __post_init__(self) -> None:
        set_parameter(self, "delta", real("delta", self.delta, above=0))

    @property
    def family(self) -> str:
        return "δ-disclosure"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"delta, exclusive": (self.delta, "delta")}

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "delta", a, float(self.delta)

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        return 0, "delta must be greater than 1e-12", 1e-12

    def __str__(self) -> str:
        return self._describe(f"{written(self.delta)}-disclosure privacy")


@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """In every class, no sensitive value's share exceeds the table's by more than beta times the table's.

    `enhanced` also bounds the gain by -ln of the table's share (Cao & Karras 2012).
    """

    of_table: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("beta", float, "β-likeness."),
        Option("enhanced", bool, "Enhanced β-likeness (default: basic).", off="basic"),
    )

    beta: Real
    enhanced: bool = False
    sensitive: str | None = None

    def __post_init__(self) -> None:
        set_parameter(self, "beta", real("beta", self.beta, above=0))
        set_parameter(self, "enhanced", bool(self.enhanced))

    @property
    def family(self) -> str:
        return "enhanced β-likeness" if self.enhanced else "β-likeness"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"beta": (self.beta, "beta_enhanced" if self.enhanced else "beta")}

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "enhanced_beta" if self.enhanced else "beta", a, exact(self.beta)

    def __str__(self) -> str:
        kind = "enhanced" if self.enhanced else "basic"
        return self._describe(f"{kind} {written(self.beta)}-likeness")
