# SPDX-License-Identifier: Apache-2.0
"""Figures that people expect, as SVG of plain values: for a page, a notebook, or a file of its own."""

from anon.figures.attacks import SIDES, attack_rates
from anon.figures.frontier import frontier, tradeoff
from anon.figures.nodes import lattice
from anon.figures.numbers import correlations, marginals
from anon.figures.plots import (
    associations,
    attribute_losses,
    by_miner,
    class_losses,
    class_sizes,
    distributions,
    published_widths,
    query_errors,
    risk_curve,
    save,
    worst_class,
)
from anon.figures.risks import contributions, individual_risks, population_risks, uniques_by_fraction

__all__ = [
    "SIDES",
    "associations",
    "attack_rates",
    "attribute_losses",
    "by_miner",
    "class_losses",
    "class_sizes",
    "contributions",
    "correlations",
    "distributions",
    "frontier",
    "individual_risks",
    "lattice",
    "marginals",
    "population_risks",
    "published_widths",
    "query_errors",
    "risk_curve",
    "save",
    "tradeoff",
    "uniques_by_fraction",
    "worst_class",
]
