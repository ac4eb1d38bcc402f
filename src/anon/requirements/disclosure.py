# SPDX-License-Identifier: Apache-2.0
"""delta-disclosure and beta-likeness: no sensitive value much likelier in a class than in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from anon.encoding import Domain
from anon.errors import Parameter, UsageError
from anon.requirements.option import Option
from anon.requirements.requirement import Counts, Real, Requirement, exact, real, set_parameter, written

Absent = Literal["fail", "ignore"]


@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """|ln(p/q)| < delta for every sensitive value of the table: p its share in the class, q in the table.

    A value that a class lacks has ln 0, and the class fails (Brickell & Shmatikov 2008, def. 1). With
    `absent="ignore"` only the values that a class has are tested, as several tools do and Li & Li 2009 seem
    to have done: it says nothing about what somebody surely does not have, and two passing classes may fail
    when they are merged.
    """

    of_table: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option("delta", float, "δ-disclosure privacy."),
        Option("delta_absent", Absent, "Values that a class lacks: fail (default) or ignore.", "absent"),
    )

    delta: Real
    absent: Absent = "fail"
    sensitive: str | None = None

    def __post_init__(self) -> None:
        if self.absent not in get_args(Absent):
            raise UsageError(
                Parameter(f"absent={self.absent!r}", f"--delta-absent {self.absent}"),
                ': choose "fail" or "ignore"',
            )
        set_parameter(self, "delta", real("delta", self.delta, above=0))

    @property
    def monotone(self) -> bool:
        return self.absent == "fail"

    @property
    def family(self) -> str:
        return "δ-disclosure" if self.absent == "fail" else "δ-disclosure of the values present"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"delta, exclusive": (self.delta, "delta" if self.absent == "fail" else "delta_present")}

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "delta" if self.absent == "fail" else "delta_present", a, float(self.delta)

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        return 0, "delta must be greater than 1e-12", 1e-12

    def __str__(self) -> str:
        of = "" if self.absent == "fail" else " of the values present"
        return self._describe(f"{written(self.delta)}-disclosure privacy{of}")


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
