# SPDX-License-Identifier: Apache-2.0
"""What may be demanded of every class, one file per family.

`compile` makes of a list the kernels' conjunction; `infeasible` says before the work that none can meet it.
"""

from anon.requirements.anonymity import KAnonymity
from anon.requirements.closeness import TCloseness
from anon.requirements.conjunction import check_list, compile, infeasible
from anon.requirements.custom import SIGNATURE, Custom
from anon.requirements.disclosure import BetaLikeness, DeltaDisclosure
from anon.requirements.diversity import AlphaK, LDiversity
from anon.requirements.requirement import Requirement, exact
from anon.requirements.similarity import SDiversityBound

__all__ = [
    "SIGNATURE",
    "AlphaK",
    "BetaLikeness",
    "Custom",
    "DeltaDisclosure",
    "KAnonymity",
    "LDiversity",
    "Requirement",
    "SDiversityBound",
    "TCloseness",
    "check_list",
    "compile",
    "exact",
    "infeasible",
]
