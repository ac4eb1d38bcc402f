# SPDX-License-Identifier: Apache-2.0
"""Figures that people expect, as Vega-Lite charts: drawn offline to PNG and SVG, interactive in a report."""

from anon.figures.plots import (
    attribute_losses,
    class_losses,
    class_sizes,
    frontier,
    query_errors,
    save,
    tradeoff,
)

__all__ = [
    "attribute_losses",
    "class_losses",
    "class_sizes",
    "frontier",
    "query_errors",
    "save",
    "tradeoff",
]
