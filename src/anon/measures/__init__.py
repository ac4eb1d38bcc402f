# SPDX-License-Identifier: Apache-2.0
"""What a release costs and hides: functions of classes, cells and counts; nothing is enforced here."""

from anon.classes import (
    PopulationUniques,
    histogram,
    model_estimates,
    population_uniques,
    refuse_fraction,
)
from anon.classes import UniquesModel as Model
from anon.measures.answers import answer, matching_rows, normalized_errors, true_counts
from anon.measures.declared import (
    ATTACKS,
    BY_ALL,
    BY_CLASS,
    COSTS,
    OF_PRIVACY,
    RISKS,
    Measure,
    away,
    handed_out,
    title_of,
)
from anon.measures.disclosure import (
    GREATEST_IS_WORST,
    ROLES_FROM_FILE,
    Disclosure,
    disclosure_of,
    part_of,
    zero,
)
from anon.measures.estimates import Predicates, overlaps
from anon.measures.frequencies import Frequencies, frequencies, least_matching
from anon.measures.known import Known, known
from anon.measures.loss import cell_loss, ncp_of_cells
from anon.measures.notebook import risk_html, suda_html
from anon.measures.numbers import Numbers, as_floats, linked, numbers_from, pmse_of
from anon.measures.populations import Populations, js_divergence, large_populations, u_loss
from anon.measures.privacy import Privacy, measure_columns, of_intact, put_together, risk_of_sizes
from anon.measures.privacy import measure as measure_privacy
from anon.measures.queries import Workload
from anon.measures.query_text import parse_queries
from anon.measures.risk import (
    NullMatching,
    matching_of,
    null_matching,
    population_risk,
)
from anon.measures.shown import (
    associations,
    distributions,
    most_frequent,
    sizes_after,
    sizes_before,
    totals_only,
    widths,
)
from anon.measures.suda import (
    MinimalUniques,
    contributions,
    dis_fraction,
    dis_scores,
    find_minimal_uniques,
    value_contributions,
    weights,
)
from anon.measures.tables import (
    RISK,
    privacy_tables,
    risk_table,
    suda_tables,
    utility_tables,
)
from anon.measures.units import once_per_unit, units_of_classes
from anon.measures.utility import Aligned, Utility
from anon.measures.utility import measure as measure_utility
from anon.measures.weighted import weighted_disclosure
from anon.measures.workload import preset, random_queries, with_values

__all__ = [
    "ATTACKS",
    "BY_ALL",
    "BY_CLASS",
    "COSTS",
    "GREATEST_IS_WORST",
    "OF_PRIVACY",
    "RISK",
    "RISKS",
    "ROLES_FROM_FILE",
    "Aligned",
    "Disclosure",
    "Frequencies",
    "Known",
    "Measure",
    "MinimalUniques",
    "Model",
    "NullMatching",
    "Numbers",
    "PopulationUniques",
    "Populations",
    "Predicates",
    "Privacy",
    "Utility",
    "Workload",
    "answer",
    "as_floats",
    "associations",
    "away",
    "cell_loss",
    "contributions",
    "dis_fraction",
    "dis_scores",
    "disclosure_of",
    "distributions",
    "find_minimal_uniques",
    "frequencies",
    "handed_out",
    "histogram",
    "js_divergence",
    "known",
    "large_populations",
    "least_matching",
    "linked",
    "matching_of",
    "matching_rows",
    "measure_columns",
    "measure_privacy",
    "measure_utility",
    "model_estimates",
    "most_frequent",
    "ncp_of_cells",
    "normalized_errors",
    "null_matching",
    "numbers_from",
    "of_intact",
    "once_per_unit",
    "overlaps",
    "parse_queries",
    "part_of",
    "pmse_of",
    "population_risk",
    "population_uniques",
    "preset",
    "privacy_tables",
    "put_together",
    "random_queries",
    "refuse_fraction",
    "risk_html",
    "risk_of_sizes",
    "risk_table",
    "sizes_after",
    "sizes_before",
    "suda_html",
    "suda_tables",
    "title_of",
    "totals_only",
    "true_counts",
    "u_loss",
    "units_of_classes",
    "utility_tables",
    "value_contributions",
    "weighted_disclosure",
    "weights",
    "widths",
    "with_values",
    "zero",
]
