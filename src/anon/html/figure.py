# SPDX-License-Identifier: Apache-2.0
"""A figure: panels of SVG with a title, a caption and the numbers that they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from anon.errors import UsageError
from anon.html import chart
from anon.html.chart import Panel
from anon.html.inline import inline_svg
from anon.plain import as_plain

GAP = 8  # pixels between two panels of an image
LEGEND = 90  # pixels: a panel that is less high has a line of its own


@dataclass(frozen=True, repr=False)
class Figure:
    """Panels side by side, with a title, and a caption: one sentence that says how to read them.

    `rows` are the numbers that they draw, under their names.
    """

    title: str
    panels: tuple[Panel, ...]
    caption: str
    rows: tuple[Mapping[str, Any], ...] = ()

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"


def rows(figure: Figure) -> list[dict[str, Any]]:
    """The numbers that the figure draws, ready for JSON."""
    return [dict(as_plain(dict(row))) for row in figure.rows]


def notebook_html(figure: Figure) -> str:
    """The figure in the colors of the notebook around it, light or dark."""
    parts = [f"<strong>{escape(figure.title)}</strong><br>"]
    for panel in figure.panels:
        parts.append(inline_svg(panel, f"{figure.title}. {panel.title or figure.caption}"))
        parts.append("<br>" if panel.height < LEGEND else " ")
    if figure.caption:
        parts.append(
            '<figcaption style="margin: 0; max-width: 44rem; font-size: .9em; opacity: .8">'
            f"{escape(figure.caption)}</figcaption>"
        )
    return f'<figure style="margin: .6rem 0; text-align: left">{"".join(parts)}</figure>'


def svg(figure: Figure) -> str:
    """The figure as an SVG image that stands alone, and follows the mode of whoever shows it."""
    width = max((panel.width for panel in figure.panels), default=chart.WIDTH)
    width = max(width, chart.WIDTH)
    x = y = tallest = 0.0
    parts = []
    for panel in figure.panels:
        if x and x + panel.width > width + 1:
            x, y, tallest = 0.0, y + tallest + GAP, 0.0
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{panel.marks}</g>')
        x, tallest = x + panel.width, max(tallest, panel.height)
    height = y + tallest
    light = chart.style(chart.GROUND, chart.INK, chart.QUIET, chart.LINES, chart.COLORS)
    dark = chart.style(
        chart.GROUND_ON_DARK,
        chart.INK_ON_DARK,
        chart.QUIET_ON_DARK,
        chart.LINES_ON_DARK,
        chart.COLORS_ON_DARK,
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
        f'aria-label="{escape(figure.title)}. {escape(figure.caption)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<style>{light}\n@media (prefers-color-scheme: dark) {{{dark}}}</style>"
        f'<rect class="ground" width="100%" height="100%"/>{"".join(parts)}</svg>'
    )


def png(figure: Figure) -> bytes:
    """The figure as a PNG image on white, with two pixels a side for each of the chart."""
    try:
        import vl_convert
    except ImportError:
        raise UsageError("a PNG image needs vl-convert: pip install 'anon[eval]'; write .svg") from None
    drawn = svg(figure)
    start, end = drawn.index("@media"), drawn.index("</style>")
    return bytes(vl_convert.svg_to_png(drawn[:start] + drawn[end:], scale=2))
