# SPDX-License-Identifier: Apache-2.0
"""Attackers, tried on people in a table and on others who were never in it: evidence, not definitions."""

from anon.attackers.composition import Composition, composition
from anon.attackers.rates import Rate, Risk, Verdict, residual, verdict, wilson

__all__ = ["Composition", "Rate", "Risk", "Verdict", "composition", "residual", "verdict", "wilson"]
