# SPDX-License-Identifier: Apache-2.0
"""Attackers, tried on people in a table and on others who were never in it: evidence, not definitions."""

from anon.attackers.composition import Composition, composition
from anon.attackers.learning import Learning, learning
from anon.attackers.minimality import Minimality, Posterior, minimality, posterior
from anon.attackers.rates import Rate, Risk, Verdict, residual, verdict, wilson

__all__ = [
    "Composition",
    "Learning",
    "Minimality",
    "Posterior",
    "Rate",
    "Risk",
    "Verdict",
    "composition",
    "learning",
    "minimality",
    "posterior",
    "residual",
    "verdict",
    "wilson",
]
