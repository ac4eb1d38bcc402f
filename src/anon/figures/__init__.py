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
from anon.figures.risks import contributions, individual_risks, uniques_by_fraction
from anon.html import (
    COLORS,
    HEIGHT,
    INK,
    SHAPES,
    WIDTH,
    Figure,
    converter,
    png,
    rows,
    spec,
    svg,
    vega_lite_version,
    write,
)

__all__ = [
    "COLORS",
    "HEIGHT",
    "INK",
    "SHAPES",
    "WIDTH",
    "Figure",
    "attribute_losses",
    "class_losses",
    "class_sizes",
    "contributions",
    "converter",
    "frontier",
    "individual_risks",
    "png",
    "query_errors",
    "rows",
    "save",
    "spec",
    "svg",
    "tradeoff",
    "uniques_by_fraction",
    "vega_lite_version",
    "write",
]
