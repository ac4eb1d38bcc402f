# SPDX-License-Identifier: Apache-2.0
"""What a release costs and hides: functions of classes, cells and counts; nothing is enforced here."""

from anon.measures.answers import answer, matching_rows, normalized_errors, true_counts
from anon.measures.declared import COSTS, OF_PRIVACY, RISKS, Measure, away, handed_out
from anon.measures.disclosure import (
    GREATEST_IS_WORST,
    ROLES_FROM_FILE,
    Disclosure,
    disclosure_of,
    part_of,
    zero,
)
from anon.measures.populations import Populations, js_divergence, large_populations, u_loss
from anon.measures.privacy import Privacy, measure_columns, of_intact, put_together, risk_of_sizes
from anon.measures.privacy import measure as measure_privacy
from anon.measures.queries import Workload
from anon.measures.query_text import parse_queries
from anon.measures.risk import NullMatching, matching_of, null_matching, population_risk
from anon.measures.tables import RISK, privacy_tables, utility_tables
from anon.measures.utility import Aligned, Utility
from anon.measures.utility import measure as measure_utility
from anon.measures.workload import preset, random_queries

__all__ = [
    "COSTS",
    "GREATEST_IS_WORST",
    "OF_PRIVACY",
    "RISK",
    "RISKS",
    "ROLES_FROM_FILE",
    "Aligned",
    "Disclosure",
    "Measure",
    "NullMatching",
    "Populations",
    "Privacy",
    "Utility",
    "Workload",
    "answer",
    "away",
    "disclosure_of",
    "handed_out",
    "js_divergence",
    "large_populations",
    "matching_of",
    "matching_rows",
    "measure_columns",
    "measure_privacy",
    "measure_utility",
    "normalized_errors",
    "null_matching",
    "of_intact",
    "parse_queries",
    "part_of",
    "population_risk",
    "preset",
    "privacy_tables",
    "put_together",
    "random_queries",
    "risk_of_sizes",
    "true_counts",
    "u_loss",
    "utility_tables",
    "zero",
]
