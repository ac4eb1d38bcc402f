# SPDX-License-Identifier: Apache-2.0
"""A figure: a Vega-Lite chart, drawn offline."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anon.errors import UsageError

if TYPE_CHECKING:
    import altair

# Told apart by people who see few colors, and each against white at a contrast of 3 or more.
COLORS = ("#0072b2", "#c44e00", "#00805c", "#aa3377", "#332288", "#7a5c00", "#5c5c5c", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
INK, LINES = "#1b1f24", "#d0d7de"
WIDTH, HEIGHT = 440, 280


@dataclass(frozen=True, repr=False)
class Figure:
    """A chart with a title, and a caption: one sentence that says how to read it."""

    title: str
    chart: altair.TopLevelMixin
    caption: str

    def _repr_html_(self) -> str:
        """The chart, in the colors of the notebook; without the library that draws it the words alone."""
        try:
            drawn = in_page_colors(svg(self))
        except UsageError as error:
            drawn = f"<p>{escape(str(error))}</p>"
        return (
            f'<figure style="margin: .6rem 0; max-width: 44rem"><strong>{escape(self.title)}</strong><br>'
            f"{drawn}<figcaption>{escape(self.caption)}</figcaption></figure>"
        )

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"


def spec(figure: Figure) -> dict[str, Any]:
    """The figure as a Vega-Lite specification, ready for JSON, in the colors and sizes of this package."""
    chart: dict[str, Any] = _finite(figure.chart.to_dict())
    config = {
        "background": "white",
        "font": "sans-serif",
        "axis": {
            "labelFontSize": 13,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "gridColor": LINES,
            "titlePadding": 10,
            "labelFlush": False,  # the outermost labels moved inwards would run into their neighbors
            "labelLimit": 200,
        },
        "legend": {
            "labelFontSize": 13,
            "titleFontSize": 13,
            "labelColor": INK,
            "titleColor": INK,
            "orient": "bottom",
            "columns": 2,
            "labelLimit": 200,
            "symbolLimit": 40,
        },
        "view": {"stroke": None},
        "range": {"category": list(COLORS), "symbol": list(SHAPES)},
    }
    own = chart.get("config", {})
    merged = {name: value if name not in own else _over(value, own[name]) for name, value in config.items()}
    return chart | {"config": own | merged, "description": f"{figure.title}. {figure.caption}"}


def _finite(part: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(part, dict):
        return {name: _finite(inside) for name, inside in part.items()}
    if isinstance(part, list):
        return [_finite(inside) for inside in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def _over(ours: Any, theirs: Any) -> Any:
    return ours | theirs if isinstance(ours, dict) and isinstance(theirs, dict) else theirs


def rows(figure: Figure) -> list[dict[str, Any]]:
    """The numbers that the figure draws, in the order of its layers."""
    return list(_rows_in(figure.chart.to_dict()))


def _rows_in(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        for name, inside in part.items():
            if name == "data" and "values" in inside:
                yield from inside["values"]
            elif name == "datasets":
                for values in inside.values():
                    yield from values
            else:
                yield from _rows_in(inside)
    elif isinstance(part, list):
        for inside in part:
            yield from _rows_in(inside)


def png(figure: Figure, scale: float = 2.0) -> bytes:
    """The figure as a PNG image, `scale` pixels for each pixel of the chart."""
    return bytes(converter().vegalite_to_png(spec(figure), vl_version=vega_lite_version(), scale=scale))


def svg(figure: Figure) -> str:
    """The figure as an SVG image."""
    return str(converter().vegalite_to_svg(spec(figure), vl_version=vega_lite_version()))


def in_page_colors(drawn: str) -> str:
    """An SVG image of ours to stand in a page, light or dark: its text and lines take the page's color."""
    ground = re.sub(r'<rect width="[\d.]+" height="[\d.]+" fill="white"/>', "", drawn, count=1)
    return ground.replace(INK, "currentColor").replace(LINES, "rgba(128,128,128,0.35)")


def write(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file, whole or not at all."""
    from anon.tables import not_written, opened, replacing

    try:
        with replacing([Path(os.path.realpath(path))]) as [temporary], opened(temporary) as file:
            file.write(content)
    except OSError as error:
        raise not_written(repr(os.fspath(path)), error) from error


# The libraries


def vega_lite_version() -> str:
    """The version of Vega-Lite that the charts are written in, as the converter names it."""
    return ".".join(altair_library().SCHEMA_VERSION.lstrip("v").split(".")[:2])


def altair_library() -> Any:
    try:
        import altair
    except ImportError:
        raise UsageError("figures need altair: pip install 'anon[eval]'") from None
    return altair


def converter() -> Any:
    """The library that draws charts and bundles their scripts."""
    try:
        import vl_convert
    except ImportError:
        raise UsageError("figures need vl-convert: pip install 'anon[eval]'") from None
    return vl_convert
