# SPDX-License-Identifier: Apache-2.0
"""The report of each verb: one page that stands alone, and the same as JSON."""

from anon.pages.attack import of_attacks
from anon.pages.origin import Origin, Report
from anon.pages.report import of_check, of_comparison, of_frontier, of_release, of_scenario
from anon.pages.risks import of_risk, of_suda

__all__ = [
    "Origin",
    "Report",
    "of_attacks",
    "of_check",
    "of_comparison",
    "of_frontier",
    "of_release",
    "of_risk",
    "of_scenario",
    "of_suda",
]
