# SPDX-License-Identifier: Apache-2.0
"""Figures that people expect, as Vega-Lite charts: drawn offline to PNG and SVG, interactive in a report."""

from anon.figures.attacks import SIDES, attack_rates
from anon.figures.nodes import lattice
from anon.figures.numbers import correlations, marginals
from anon.figures.plots import (
    attribute_losses,
    class_losses,
    class_sizes,
    frontier,
    query_errors,
    save,
    tradeoff,
)
from anon.figures.risks import contributions, individual_risks, population_risks, uniques_by_fraction

__all__ = [
    "SIDES",
    "attack_rates",
    "attribute_losses",
    "class_losses",
    "class_sizes",
    "contributions",
    "correlations",
    "frontier",
    "individual_risks",
    "lattice",
    "marginals",
    "population_risks",
    "query_errors",
    "save",
    "tradeoff",
    "uniques_by_fraction",
]
