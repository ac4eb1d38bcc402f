# SPDX-License-Identifier: Apache-2.0
"""What may be demanded of every class, one file per family.

`compile` makes of a list the kernels' conjunction; `infeasible` says before the work that none can meet it.
`REQUIREMENTS` lists those that a job, a grid and flags know, in their order: adding one is its file and its
name there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anon.requirements.anonymity import KAnonymity, SubsetAnonymity
from anon.requirements.closeness import TCloseness
from anon.requirements.conjunction import check_list, compile, counting, infeasible
from anon.requirements.custom import SIGNATURE, Custom
from anon.requirements.disclosure import BetaLikeness, DeltaDisclosure
from anon.requirements.diversity import AlphaK, LDiversity
from anon.requirements.option import Declared, Option, flag, in_toml, merged, number_of
from anon.requirements.population import DeltaPresence, KMap, MaxRisk, PopulationUniqueness
from anon.requirements.requirement import Requirement, exact, real
from anon.requirements.similarity import SDiversityBound

__all__ = [
    "REQUIREMENTS",
    "REQUIREMENT_OPTIONS",
    "SIGNATURE",
    "AlphaK",
    "BetaLikeness",
    "Custom",
    "Declared",
    "DeltaDisclosure",
    "DeltaPresence",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "MaxRisk",
    "Option",
    "PopulationUniqueness",
    "Requirement",
    "SDiversityBound",
    "SubsetAnonymity",
    "TCloseness",
    "check_list",
    "compile",
    "counting",
    "exact",
    "flag",
    "in_toml",
    "infeasible",
    "merged",
    "number_of",
    "read_requirements",
    "real",
]

REQUIREMENTS: tuple[type[Requirement], ...] = (
    KAnonymity,
    LDiversity,
    TCloseness,
    DeltaDisclosure,
    AlphaK,
    BetaLikeness,
    SDiversityBound,
    KMap,
    MaxRisk,
    DeltaPresence,
    PopulationUniqueness,
)
REQUIREMENT_OPTIONS = merged(each.options for each in REQUIREMENTS)


def read_requirements(values: Mapping[str, Any]) -> list[Requirement]:
    """The requirements that values by key ask for, in the order of `REQUIREMENTS`."""
    for each in REQUIREMENTS:
        each.refuse_alone(values)
    return [each.of(values) for each in REQUIREMENTS if values.get(each.options[0].key) is not None]
