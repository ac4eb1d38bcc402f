# SPDX-License-Identifier: Apache-2.0
"""What users call: anonymize, append, check, compare, discover, draft_hierarchy, inspect and others."""

from anon.verbs.anonymize import anonymize
from anon.verbs.append import Appended, append
from anon.verbs.check import check, labels_as_written, starred_rows
from anon.verbs.compare import (
    bucket_counts,
    bucketized,
    coded_as_released,
    compare,
    intact_codes,
    roles_of_released,
)
from anon.verbs.discover import as_table, discover
from anon.verbs.draft import By, Draft, draft_hierarchy
from anon.verbs.foreign import cells_of_rows, generalized, shows_numbers
from anon.verbs.held import split
from anon.verbs.inspect import Inspection, inspect
from anon.verbs.mining import BRICKELL_SHMATIKOV, MiningUtility, mining_utilities, mining_utility
from anon.verbs.risk import RowRisk, risk
from anon.verbs.suda import Suda, suda

__all__ = [
    "BRICKELL_SHMATIKOV",
    "Appended",
    "By",
    "Draft",
    "Inspection",
    "MiningUtility",
    "RowRisk",
    "Suda",
    "anonymize",
    "append",
    "as_table",
    "bucket_counts",
    "bucketized",
    "cells_of_rows",
    "check",
    "coded_as_released",
    "compare",
    "discover",
    "draft_hierarchy",
    "generalized",
    "inspect",
    "intact_codes",
    "labels_as_written",
    "mining_utilities",
    "mining_utility",
    "risk",
    "roles_of_released",
    "shows_numbers",
    "split",
    "starred_rows",
    "suda",
]
