# SPDX-License-Identifier: Apache-2.0
"""The report of each verb: one page that stands alone, and the same as JSON."""

from anon.pages.attack import of_attacks
from anon.pages.check import of_check
from anon.pages.decision import Cover
from anon.pages.drawn import before_and_after, class_figures, lattice_figures, loss_figures
from anon.pages.origin import Origin, Report
from anon.pages.release import decision_of, of_release
from anon.pages.risks import of_risk, of_suda
from anon.pages.trials import of_comparison, of_frontier, of_scenario

__all__ = [
    "Cover",
    "Origin",
    "Report",
    "before_and_after",
    "class_figures",
    "decision_of",
    "lattice_figures",
    "loss_figures",
    "of_attacks",
    "of_check",
    "of_comparison",
    "of_frontier",
    "of_release",
    "of_risk",
    "of_scenario",
    "of_suda",
]
