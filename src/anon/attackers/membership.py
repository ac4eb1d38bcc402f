# SPDX-License-Identifier: Apache-2.0
"""Membership: can it be told who is in the table?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anon.attackers.nearest import People, expected_rows
from anon.attackers.rates import advantage_of
from anon.attackers.result import Attack, tried
from anon.attackers.seen import Floats, Seen


@dataclass(frozen=True)
class Membership:
    """One who knows all quasi-identifiers of a person, and takes for members those of the highest score.

    The score is the number of rows that the release lets one expect at exactly these values: the sum over
    classes of their rows times the share of each cell that the value is. On one half of the people the
    threshold is found that tells members from others best, on the other half the rates are counted: the risk
    is the true positive rate less the false positive rate. The fact `advantage` is the greatest such
    difference over all people and thresholds.
    """

    name = "membership"

    def run(self, seen: Seen, people: People, asked: int, seed: int, confidence: float) -> Attack | str:
        """The attack, or why it cannot be tried."""
        if min(len(people.targets), len(people.control)) < 2:
            return (
                "membership needs a control group: people of whom it is known that they are not in the table"
            )
        score = expected_rows(seen, seen.boxes(seen.quasi), people)
        members, others = np.split(score, [len(people.targets)])
        rng = np.random.default_rng([seed, 2])
        halves = [np.array_split(rng.permutation(len(each)), 2) for each in (members, others)]
        threshold = advantage(members[halves[0][0]], others[halves[1][0]])[1]
        hit, alarmed = members[halves[0][1]] >= threshold, others[halves[1][1]] >= threshold
        # naive is who takes as many people for members at random
        found = tried(self.name, hit, alarmed, alarmed, confidence, advantage=advantage(members, others)[0])
        assert found.control is not None
        return replace(found, risk=advantage_of(found.target, found.control))


def advantage(members: Floats, others: Floats) -> tuple[float, float]:
    """The greatest true positive rate less false positive rate over all thresholds, and that threshold.

    Whose score is at least the threshold is taken for a member; of several the highest; infinite, which takes
    nobody, where no threshold does better.
    """
    thresholds = np.unique(np.concatenate([members, others]))
    hit, alarmed = (
        1 - np.searchsorted(np.sort(each), thresholds, "left") / len(each) for each in (members, others)
    )
    best = len(thresholds) - 1 - int(np.argmax((hit - alarmed)[::-1]))
    gain = float(hit[best] - alarmed[best])
    return (gain, float(thresholds[best])) if gain > 0 else (0.0, np.inf)
