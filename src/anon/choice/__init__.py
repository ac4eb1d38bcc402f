# SPDX-License-Identifier: Apache-2.0
"""Many releases, and which to publish: a sweep, the efficient ones, what each step costs."""

from anon.choice.configuration import GRID_OPTIONS, Configuration, grid
from anon.choice.dominance import PRIVACY_AXIS, UTILITY_AXIS, Point, bounds, check_measures
from anon.choice.points import Frontier
from anon.choice.sweep import frontier, let_memory_go
from anon.choice.tables import PRICE, frontier_tables

__all__ = [
    "GRID_OPTIONS",
    "PRICE",
    "PRIVACY_AXIS",
    "UTILITY_AXIS",
    "Configuration",
    "Frontier",
    "Point",
    "bounds",
    "check_measures",
    "frontier",
    "frontier_tables",
    "grid",
    "let_memory_go",
]
