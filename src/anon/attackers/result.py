# SPDX-License-Identifier: Apache-2.0
"""What came of an attack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.attackers.rates import CONFIDENCE, Rate, Risk, Verdict, residual, verdict, wilson
from anon.html import sentence
from anon.plain import as_plain

Bools = npt.NDArray[np.bool_]
PEOPLE = {
    "singling out": (
        "its conditions on the table",
        "them on a control table of that size, whose people never were in it",
    ),
    "membership": ("the people in the table, taken for members,", "people who never were in it"),
    "": ("the people in the table", "people who never were in it"),
}
OVER_NAIVE = (
    "People who never were in it are in none of its classes and cannot be tried. Risk over the naive attacker"
)


@dataclass(frozen=True, repr=False)
class Attack:
    """How often an attack succeeds on people in the table, on others, and how often a naive attacker does.

    `target`, `control` (None without a control group) and `naive` are rates, `risk` is what is left of the
    target's rate once the control's is taken off (the naive attacker's of attacks that people outside of the
    table cannot be tried by), `verdict` what came of it. `parts` are the attackers that
    were tried, by what they do; the numbers here are those of the one named by `worst`, whose risk has the
    greatest lower end. `facts` are further numbers of this attack, `more` says what they mean.
    """

    name: str
    target: Rate
    control: Rate | None
    naive: Rate
    risk: Risk | None
    verdict: Verdict
    worst: str | None = None
    parts: Mapping[str, Attack] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    more: str = ""

    @property
    def words(self) -> str:
        """A sentence that may be quoted."""
        who = self.name if self.worst is None else f"{self.name} ({self.worst})"
        if self.target.tries == 0:
            return sentence(f"{who}: attack failed, there was nothing to try. {self.more}".rstrip())
        inside, outside = PEOPLE.get(self.name, PEOPLE[""])
        said = f"{who}: {self.verdict}. It succeeded with {self.target} of {inside}"
        if self.control is not None and self.control.tries:
            said += f" and with {self.control} of {outside}"
        said += f"; a naive attacker did with {self.naive}."
        if self.risk is not None and self.control is not None:
            what = "Advantage" if self.name == "membership" else "Risk that the release adds"
            said += f" {what}: {self.risk}."
        elif self.risk is not None:
            said += f" {OVER_NAIVE}: {self.risk}."
        return sentence(f"{said} {self.more}".rstrip())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain: dict[str, Any] = {
            name: as_plain(getattr(self, name)) for name in ("target", "control", "naive", "risk", "verdict")
        }
        plain |= {"worst": self.worst, **as_plain(dict(self.facts))}
        return plain | (
            {"parts": {name: one.to_dict() for name, one in self.parts.items()}} if self.parts else {}
        )

    def __repr__(self) -> str:
        rates = f"target={self.target.rate:.4f}, naive={self.naive.rate:.4f}"
        control = "" if self.control is None else f", control={self.control.rate:.4f}"
        risk = "" if self.risk is None else f", risk={self.risk.rate:.4f}"
        return f"Attack({self.name!r}, {self.verdict!r}, {rates}{control}{risk})"


def tried(
    name: str,
    target: Bools | Rate,
    control: Bools | Rate | None,
    naive: Bools | Rate,
    confidence: float = CONFIDENCE,
    *,
    over_naive: bool = False,
    **facts: Any,
) -> Attack:
    """An attack of these successes, or rates; with `over_naive` the naive attacker is the comparison."""
    hit, missed, guessed = (
        each if each is None or isinstance(each, Rate) else wilson(int(each.sum()), len(each), confidence)
        for each in (target, control, naive)
    )
    assert hit is not None
    assert guessed is not None
    compared = guessed if over_naive else missed
    risk = None if compared is None else residual(hit, compared)
    return Attack(name, hit, missed, guessed, risk, verdict(hit, guessed, compared), facts=facts)


def worst_of(name: str, parts: Mapping[str, Attack], **facts: Any) -> Attack:
    """The attack of several attackers: the numbers of the one whose risk has the greatest lower end.

    Without a control group it is the risk over the naive attacker that is compared.
    """

    def lower(one: Attack) -> tuple[bool, float]:
        risk = residual(one.target, one.naive) if one.control is None else one.risk
        return one.verdict != "attack failed", -1e9 if risk is None else risk.low

    worst = max(parts, key=lambda part: lower(parts[part]))
    inner = parts[worst].worst
    named = worst if inner is None else f"{worst}, {inner}"
    return replace(parts[worst], name=name, worst=named, parts=parts, facts=facts)
