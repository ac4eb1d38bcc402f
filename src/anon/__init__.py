# SPDX-License-Identifier: Apache-2.0
"""Anonymize tabular microdata, and choose the release to publish by measurement."""

from anon import datasets, miners, workload
from anon.choice import Configuration, Frontier, Point, frontier
from anon.errors import AnonError, DataError, InfeasibleError, PrivacyWarning, RecheckError, UsageError
from anon.measures import Privacy, Utility, large_populations, u_loss
from anon.methods import TGC, Anatomy, Budget, Curve, Identity, KMembers, Laplace, Mondrian, Suppress
from anon.release import Release
from anon.requirements import (
    AlphaK,
    BetaLikeness,
    Custom,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Requirement,
    SDiversityBound,
    TCloseness,
)
from anon.scenarios import BadUtility, GoodUtility, Sanitization, Scenario
from anon.schema import Attribute, Schema, dates, intervals, nominal, numeric, ordinal, prefix
from anon.tables import read_source, read_table
from anon.verbs import (
    MiningUtility,
    RowRisk,
    Suda,
    anonymize,
    check,
    compare,
    inspect,
    mining_utility,
    risk,
    suda,
)
from anon.version import __version__ as __version__

__all__ = [
    "TGC",
    "AlphaK",
    "Anatomy",
    "AnonError",
    "Attribute",
    "BadUtility",
    "BetaLikeness",
    "Budget",
    "Configuration",
    "Curve",
    "Custom",
    "DataError",
    "DeltaDisclosure",
    "Frontier",
    "GoodUtility",
    "Identity",
    "InfeasibleError",
    "KAnonymity",
    "KMembers",
    "LDiversity",
    "Laplace",
    "MiningUtility",
    "Mondrian",
    "Point",
    "Privacy",
    "PrivacyWarning",
    "RecheckError",
    "Release",
    "Requirement",
    "RowRisk",
    "SDiversityBound",
    "Sanitization",
    "Scenario",
    "Schema",
    "Suda",
    "Suppress",
    "TCloseness",
    "UsageError",
    "Utility",
    "anonymize",
    "check",
    "compare",
    "datasets",
    "dates",
    "frontier",
    "inspect",
    "intervals",
    "large_populations",
    "miners",
    "mining_utility",
    "nominal",
    "numeric",
    "ordinal",
    "prefix",
    "read_source",
    "read_table",
    "risk",
    "suda",
    "u_loss",
    "workload",
]
