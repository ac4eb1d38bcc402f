# SPDX-License-Identifier: Apache-2.0
"""Good and bad uses of a release, tried by miners (Sramka et al. 2010)."""

from anon.scenarios.asked import OPTIONS, PRESETS, BadUtility, GoodUtility, Sanitization
from anon.scenarios.interest import ERRORS, ErrorFunction
from anon.scenarios.result import NAMES, Antiutility, Attack, Decline, Preservation, ScenarioResult, sections
from anon.scenarios.scenario import Scenario

__all__ = [
    "ERRORS",
    "NAMES",
    "OPTIONS",
    "PRESETS",
    "Antiutility",
    "Attack",
    "BadUtility",
    "Decline",
    "ErrorFunction",
    "GoodUtility",
    "Preservation",
    "Sanitization",
    "Scenario",
    "ScenarioResult",
    "sections",
]
