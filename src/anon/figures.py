# SPDX-License-Identifier: Apache-2.0
"""Figures that people expect, as Vega-Lite charts: drawn offline to PNG and SVG, interactive in a report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anon.errors import DataError, UsageError

if TYPE_CHECKING:
    import altair

# Told apart by people who see few colors, and each against white at a contrast of 3 or more.
COLORS = ("#0072b2", "#c44e00", "#00805c", "#aa3377", "#332288", "#7a5c00", "#5c5c5c", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
INK, LINES = "#1b1f24", "#d0d7de"
WIDTH, HEIGHT = 440, 280
MOST_BINS = 30


@dataclass(frozen=True)
class Figure:
    """A chart with a title, and a caption: one sentence that says how to read it."""

    title: str
    chart: altair.TopLevelMixin
    caption: str


def spec(figure: Figure) -> dict[str, Any]:
    """The figure as a Vega-Lite specification in the colors and sizes of this package."""
    chart = figure.chart.to_dict()
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


def _over(ours: Any, theirs: Any) -> Any:
    return ours | theirs if isinstance(ours, dict) and isinstance(theirs, dict) else theirs


def rows(figure: Figure) -> list[dict[str, Any]]:
    """The numbers that the figure draws."""
    return [row for data in figure.chart.to_dict().get("datasets", {}).values() for row in data]


def png(figure: Figure, scale: float = 2.0) -> bytes:
    """The figure as a PNG image, `scale` pixels for each pixel of the chart."""
    return bytes(_converter().vegalite_to_png(spec(figure), vl_version=vega_lite_version(), scale=scale))


def svg(figure: Figure) -> str:
    """The figure as an SVG image."""
    return str(_converter().vegalite_to_svg(spec(figure), vl_version=vega_lite_version()))


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure to a .png or .svg file, whole or not at all."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError(f"{os.fspath(path)!r} does not tell its format; end it in .png or .svg")
    write(png(figure) if suffix == ".png" else svg(figure).encode(), path)


def write(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file, whole or not at all."""
    from anon.release import replacing

    try:
        with replacing([Path(os.path.realpath(path))]) as [temporary]:
            temporary.write_bytes(content)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "output failed"
        raise DataError(f"cannot write {os.fspath(path)!r}: {reason}; nothing was written") from error


def vega_lite_version() -> str:
    """The version of Vega-Lite that the charts are written in, as the converter names it."""
    return ".".join(_altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise UsageError("figures need altair: pip install 'anon[eval]'") from None
    return altair


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise UsageError("figures need vl-convert: pip install 'anon[eval]'") from None
    return vl_convert
