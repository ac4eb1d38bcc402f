# SPDX-License-Identifier: Apache-2.0
"""What a report of a scenario says in short, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anon import figures
from anon.html import Figure

if TYPE_CHECKING:
    from anon.scenarios import Attack, Preservation, ScenarioResult


def in_short(result: ScenarioResult) -> list[str]:
    """Which sanitization keeps most for the users of each target, and which gives most away, in sentences."""
    said = []
    for target in dict.fromkeys(each.target for each in result.good):
        known = [
            (each.delta, each) for each in result.good if each.target == target and each.delta is not None
        ]
        if not known:
            said.append(f"What users lose in predicting {target} is undefined: no miner learns it at all.")
            continue
        (least, best), (most, worst) = min(known, key=_first), max(known, key=_first)
        said.append(
            f"Of those who predict {target}, users of {best.sanitization} lose least: at most {least:.2%} of "
            f"the utility of any miner."
            + (
                ""
                if best is worst
                else f" Users of {worst.sanitization} lose most: {_declined(worst, most)}."
            )
        )
    for target in dict.fromkeys(each.target for each in result.bad):
        attacks = [each for each in result.bad if each.target == target]
        worst_attack = max(attacks, key=lambda each: each.worst)
        if not worst_attack.worst:
            said.append(f"No adversary predicts {target} more nearly than without a release.")
            continue
        least_attack = min(attacks, key=lambda each: each.worst)
        said.append(
            f"Adversaries after {target} gain most from {worst_attack.sanitization} (scenario "
            f"{worst_attack.scenario}): {_gained(worst_attack)}."
            + (
                ""
                if least_attack is worst_attack
                else f" They gain least from {least_attack.sanitization} (scenario {least_attack.scenario}): "
                f"{_gained(least_attack)}."
            )
        )
    return said


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _declined(each: Preservation, delta: float) -> str:
    return f"{delta:.2%} with {each.worst_miner}"


def _gained(attack: Attack) -> str:
    with_miner = f"with {attack.worst_miner or 'no miner'}"
    return f"a bad utility of {attack.worst:g} {with_miner}, {attack.average:.1f} on average"


def kept_for_users(result: ScenarioResult) -> tuple[Figure, ...]:
    """Of each target the decline of each miner's utility, by sanitization."""
    drawn = []
    for target in dict.fromkeys(each.target for each in result.good):
        rows = [
            {"sanitization": each.sanitization, "miner": one.miner, "decline": one.decline}
            for each in result.good
            if each.target == target
            for one in each.by_miner
            if one.decline is not None
        ]
        if rows:
            drawn.append(
                figures.by_miner(
                    f"What users lose in predicting {target}",
                    rows,
                    "decline",
                    "decline of utility (0 nothing, 1 all)",
                    "Each mark is a miner, told apart by color and shape: the further left, the more of what "
                    "it learns from the original it learns from the release.",
                )
            )
    return tuple(drawn)


def gained_by_adversaries(result: ScenarioResult) -> tuple[Figure, ...]:
    """Of each target and scenario the bad utility of each miner, by sanitization."""
    drawn = []
    for target, scenario in dict.fromkeys((each.target, each.scenario) for each in result.bad):
        rows = [
            {"sanitization": each.sanitization, "miner": one.miner, "bad utility": one.u_bad}
            for each in result.bad
            if (each.target, each.scenario) == (target, scenario)
            for one in each.by_miner
        ]
        if rows:
            drawn.append(
                figures.by_miner(
                    f"What adversaries gain about {target}, scenario {scenario}",
                    rows,
                    "bad utility",
                    "bad utility (rows predicted more nearly)",
                    "Each mark is a miner in an adversary's hands, told apart by color and shape: the "
                    "further right, the more people it predicts more nearly than without the release.",
                )
            )
    return tuple(drawn)
