# SPDX-License-Identifier: Apache-2.0
"""Figures and parts of pages, made of plain values, so that any room may show itself as HTML."""

from anon.html.document import Audience, Section, Table, check_libraries, html_of, number, page
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

__all__ = [
    "COLORS",
    "HEIGHT",
    "INK",
    "SHAPES",
    "WIDTH",
    "Audience",
    "Figure",
    "Section",
    "Table",
    "altair_library",
    "check_libraries",
    "converter",
    "html_of",
    "number",
    "page",
    "png",
    "rows",
    "spec",
    "svg",
    "vega_lite_version",
    "write",
]
