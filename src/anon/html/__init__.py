# SPDX-License-Identifier: Apache-2.0
"""Figures and parts of pages, made of plain values, so that any room may show itself as HTML."""

from anon.html.chart import (
    HEIGHT,
    MOST_SERIES,
    WIDTH,
    Axis,
    Panel,
    Plot,
    bars,
    legend,
    lines,
    log_axis,
    shortened_label,
    words_of,
)
from anon.html.document import (
    Audience,
    First,
    Section,
    State,
    Table,
    Term,
    page,
    parts_html,
    style_sheet,
)
from anon.html.figure import Figure, png, rows, svg
from anon.html.notebook import bar_figure, folded, result_html
from anon.html.text import number, sentence

__all__ = [
    "HEIGHT",
    "MOST_SERIES",
    "WIDTH",
    "Audience",
    "Axis",
    "Figure",
    "First",
    "Panel",
    "Plot",
    "Section",
    "State",
    "Table",
    "Term",
    "bar_figure",
    "bars",
    "folded",
    "legend",
    "lines",
    "log_axis",
    "number",
    "page",
    "parts_html",
    "png",
    "result_html",
    "rows",
    "sentence",
    "shortened_label",
    "style_sheet",
    "svg",
    "words_of",
]
