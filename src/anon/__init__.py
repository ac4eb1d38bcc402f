# SPDX-License-Identifier: Apache-2.0
"""Anonymize tabular microdata, and choose the release to publish by measurement."""

__version__ = "0.1.0"

from anon import datasets, miners, workload
from anon.anonymize import PrivacyWarning, anonymize
from anon.check import check
from anon.compare import compare
from anon.errors import AnonError, DataError, InfeasibleError, RecheckError, UsageError
from anon.frontier import Configuration, Frontier, Point, frontier
from anon.hierarchy import dates, intervals, prefix
from anon.inspection import inspect
from anon.methods import TGC, Anatomy, Budget, Curve, Identity, KMembers, Laplace, Mondrian, Suppress
from anon.mining import MiningUtility, mining_utility
from anon.populations import large_populations, u_loss
from anon.privacy import Privacy
from anon.read import read_source, read_table
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
from anon.scenario import BadUtility, GoodUtility, Sanitization, Scenario
from anon.schema import Attribute, Schema, nominal, numeric, ordinal
from anon.utility import Utility

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
    "SDiversityBound",
    "Sanitization",
    "Scenario",
    "Schema",
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
    "u_loss",
    "workload",
]
