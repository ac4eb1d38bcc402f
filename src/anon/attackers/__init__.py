# SPDX-License-Identifier: Apache-2.0
"""Attackers, tried on people in a table and on others who were never in it: evidence, not definitions.

`attack` runs `SinglingOut`, `Linkability`, `Inference`, `Membership` and `Learning` on a release of any tool,
and `Minimality` on a `Release`; `Rate` and `Risk` say how often they succeed. `composition` lays two releases
beside each other.
"""

from anon.attackers.attack import ATTACKERS, NOT_SAFE, Attacked, Attacker, attack
from anon.attackers.composition import Composition, composition
from anon.attackers.inference import Inference
from anon.attackers.learning import Learning
from anon.attackers.linkability import Linkability
from anon.attackers.membership import Membership
from anon.attackers.minimality import Minimality, Posterior, posterior
from anon.attackers.rates import Rate, Risk, Verdict, residual, verdict, wilson
from anon.attackers.result import Attack
from anon.attackers.singling_out import SinglingOut
from anon.attackers.tables import attack_tables

__all__ = [
    "ATTACKERS",
    "NOT_SAFE",
    "Attack",
    "Attacked",
    "Attacker",
    "Composition",
    "Inference",
    "Learning",
    "Linkability",
    "Membership",
    "Minimality",
    "Posterior",
    "Rate",
    "Risk",
    "SinglingOut",
    "Verdict",
    "attack",
    "attack_tables",
    "composition",
    "posterior",
    "residual",
    "verdict",
    "wilson",
]
