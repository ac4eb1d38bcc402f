# SPDX-License-Identifier: Apache-2.0
"""Good and bad uses of a release, tried by miners (Sramka et al. 2010).

A `Scenario` runs every `Sanitization` against what users want (`GoodUtility`) and adversaries gain
(`BadUtility`); error functions say what a prediction is worth.
"""

from anon.scenarios.asked import OPTIONS, PRESETS, BadUtility, GoodUtility, Sanitization
from anon.scenarios.interest import (
    ERRORS,
    AbsoluteError,
    Accuracy,
    CostMatrix,
    ErrorFunction,
    NoFalseNegatives,
)
from anon.scenarios.result import NAMES, Antiutility, Attack, Decline, Preservation, ScenarioResult, sections
from anon.scenarios.scenario import Scenario

__all__ = [
    "ERRORS",
    "NAMES",
    "OPTIONS",
    "PRESETS",
    "AbsoluteError",
    "Accuracy",
    "Antiutility",
    "Attack",
    "BadUtility",
    "CostMatrix",
    "Decline",
    "ErrorFunction",
    "GoodUtility",
    "NoFalseNegatives",
    "Preservation",
    "Sanitization",
    "Scenario",
    "ScenarioResult",
    "sections",
]
