# SPDX-License-Identifier: Apache-2.0
"""Figures and parts of pages, made of plain values, so that any room may show itself as HTML."""

from anon.html.document import Audience, Section, Table, check_libraries, number, page, table_html
from anon.html.figure import (
    COLORS,
    HEIGHT,
    INK,
    SHAPES,
    WIDTH,
    Figure,
    altair_library,
    converter,
    png,
    rows,
    spec,
    svg,
    vega_lite_version,
    write,
)
from anon.html.notebook import folded, result_html
from anon.html.small import Dot, bars, by_size, dots, histogram, short

__all__ = [
    "COLORS",
    "HEIGHT",
    "INK",
    "SHAPES",
    "WIDTH",
    "Audience",
    "Dot",
    "Figure",
    "Section",
    "Table",
    "altair_library",
    "bars",
    "by_size",
    "check_libraries",
    "converter",
    "dots",
    "folded",
    "histogram",
    "number",
    "page",
    "png",
    "result_html",
    "rows",
    "short",
    "spec",
    "svg",
    "table_html",
    "vega_lite_version",
    "write",
]
