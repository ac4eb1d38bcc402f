# SPDX-License-Identifier: Apache-2.0
"""What users call: anonymize, append, check, compare, discover, inspect, mining_utility, risk, suda."""

from anon.verbs.anonymize import anonymize
from anon.verbs.append import Appended, append
from anon.verbs.check import check, labels_as_written, starred_rows
from anon.verbs.compare import bucketized, coded_as_released, compare, intact_codes
from anon.verbs.discover import ColumnSet, Discovery, as_table, discover
from anon.verbs.foreign import cells_of_rows, generalized
from anon.verbs.inspect import Inspection, inspect
from anon.verbs.mining import BRICKELL_SHMATIKOV, MiningUtility, mining_utilities, mining_utility
from anon.verbs.risk import HouseholdRisk, RowRisk, risk
from anon.verbs.suda import Suda, suda

__all__ = [
    "BRICKELL_SHMATIKOV",
    "Appended",
    "ColumnSet",
    "Discovery",
    "HouseholdRisk",
    "Inspection",
    "MiningUtility",
    "RowRisk",
    "Suda",
    "anonymize",
    "append",
    "as_table",
    "bucketized",
    "cells_of_rows",
    "check",
    "coded_as_released",
    "compare",
    "discover",
    "generalized",
    "inspect",
    "intact_codes",
    "labels_as_written",
    "mining_utilities",
    "mining_utility",
    "risk",
    "starred_rows",
    "suda",
]
