# SPDX-License-Identifier: Apache-2.0
"""Tables to try things on: a synthetic census of any size, and the UCI Adult data."""

from anon.datasets.people import STATES, census, census_schema, write_census
from anon.datasets.uci import ADULT_OCCUPATIONS, ADULT_TREES, adult
from anon.datasets.write import check_output, write_table

__all__ = [
    "ADULT_OCCUPATIONS",
    "ADULT_TREES",
    "STATES",
    "adult",
    "census",
    "census_schema",
    "check_output",
    "write_census",
    "write_table",
]
