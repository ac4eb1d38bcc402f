# SPDX-License-Identifier: Apache-2.0
"""Small figures of plain numbers as SVG, for notebooks: no library, no script, readable on light and dark.

Text and lines take the color of the page (`currentColor`), marks two colors with a contrast of three or more
against white and against the grounds of dark notebooks. What lies under the pointer is told in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from anon.html.document import number

FIRST, SECOND = "#2a86c8", "#cf6a1c"
MOST_BARS = 20  # of a figure; the others are counted below it
MOST_RANGES = 16  # of sizes
_WIDTH, _ROW, _LETTER, _MOST_LETTERS = 460, 22, 6.6, 30
_QUIET = 'stroke="currentColor" stroke-opacity="0.35"'


@dataclass(frozen=True)
class Dot:
    """A mark at x and y, with words that explain it; `label` stands beside it, `joined` ones on a line."""

    x: float
    y: float
    words: str
    label: str = ""
    joined: bool = False


def bars(
    title: str,
    values: Mapping[str, float | None],
    most: float | None = None,
    *,
    second: Sequence[str] = (),
) -> str:
    """A bar for each name, from 0 to its value on a scale up to `most` (default: the greatest value).

    Those named in `second` have the second color. Values that are None or not finite are left out. Of more
    than `MOST_BARS` the first are drawn.
    """
    known = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    if not known:
        return ""
    drawn = dict(list(known.items())[:MOST_BARS])
    greatest = most if most is not None else max(*drawn.values(), 0)
    longest = min(max(map(len, drawn)), _MOST_LETTERS)
    left, right = 8 + longest * _LETTER, _WIDTH - 60
    scale = (right - left) / greatest if greatest > 0 else 0.0
    parts = []
    for i, (name, value) in enumerate(drawn.items()):
        top = i * _ROW
        length = min(max(value * scale, 0.0), right - left)
        parts.append(
            f"<g><title>{escape(name)}: {number(value)}</title>"
            + _text(left - 6, top + 15, _shortened(name), "end")
            + f'<rect x="{left:.1f}" y="{top + 4}" width="{max(length, 1):.1f}" height="{_ROW - 8}" '
            f'fill="{SECOND if name in second else FIRST}"/>'
            + _text(left + length + 6, top + 15, number(value))
            + "</g>"
        )
    height = len(drawn) * _ROW
    parts.append(f'<line x1="{left:.1f}" x2="{left:.1f}" y1="0" y2="{height}" {_QUIET}/>')
    if len(known) > len(drawn):
        height += _ROW
        parts.append(_text(left, height - 7, f"… and {len(known) - len(drawn)} more"))
    return _figure(title, _WIDTH, height, parts)


def histogram(title: str, counts: Mapping[str, float], axis: str, marked: Sequence[str] = ()) -> str:
    """A column for each range, by the words for it; the `marked` ones have the second color.

    Below a column stand the words up to the first space.
    """
    if not counts:
        return ""
    greatest, width, high = max(counts.values()) or 1, 34, 110
    left, base = 8, high + 20
    parts = []
    for i, (name, count) in enumerate(counts.items()):
        length = high * count / greatest
        x = left + i * width
        parts.append(
            f"<g><title>{escape(name)}: {number(count)}</title>"
            f'<rect x="{x + 2}" y="{base - length:.1f}" width="{width - 4}" height="{length:.1f}" '
            f'fill="{SECOND if name in marked else FIRST}"/>'
            + _text(x + width / 2, base - length - 4, short(count) if count else "", "middle", 10)
            + _text(x + width / 2, base + 14, name.partition(" ")[0], "middle", 10)
            + "</g>"
        )
    right = left + len(counts) * width
    parts.append(f'<line x1="{left}" x2="{right}" y1="{base}" y2="{base}" {_QUIET}/>')
    parts.append(_text(left, base + 32, axis))
    return _figure(title, max(right + 8, int(len(axis) * _LETTER) + 16), base + 40, parts)


def dots(title: str, marks: Sequence[Dot], x_axis: str, y_axis: str) -> str:
    """Marks on two axes that begin at their least values; the joined ones are filled, and lie on a line.

    Without words for the horizontal axis it has no meaning: then there is neither a scale nor a line.
    """
    known = [dot for dot in marks if math.isfinite(dot.x) and math.isfinite(dot.y)]
    if not known:
        return ""
    left, top, wide, high = 60, 26, 350, 190
    xs, ys = _span([dot.x for dot in known]), _span([dot.y for dot in known])

    def at(place: tuple[float, float]) -> tuple[float, float]:
        return (
            left + 14 + (wide - 28) * (place[0] - xs[0]) / (xs[1] - xs[0]),
            top + high - 14 - (high - 28) * (place[1] - ys[0]) / (ys[1] - ys[0]),
        )

    parts = [f'<path d="M{left} {top}V{top + high}H{left + wide}" fill="none" {_QUIET}/>']
    if x_axis:
        joined = sorted((dot.x, dot.y) for dot in known if dot.joined)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, joined))
        parts.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-opacity="0.6"/>')
    for dot in known:
        x, y = at((dot.x, dot.y))
        fill = f'fill="{FIRST}" stroke="{FIRST}"' if dot.joined else f'fill="none" stroke="{SECOND}"'
        drawn = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {fill} stroke-width="1.5"/>'
        if dot.label:
            drawn += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8.5" fill="none" stroke="currentColor"/>'
            drawn += _text(x, y - 13, dot.label, "middle")
        parts.append(f"<g><title>{escape(dot.words)}</title>{drawn}</g>")
    if x_axis:
        ends = ((xs[0], left + 14), (xs[1], left + wide - 14))
        parts += [_text(x, top + high + 16, number(value), "middle", 10) for value, x in ends]
        parts.append(_text(left + wide / 2, top + high + 32, f"{x_axis} →", "middle"))
    ends = ((ys[0], top + high - 14), (ys[1], top + 14))
    parts += [_text(left - 6, y + 4, number(value), "end", 10) for value, y in ends]
    parts.append(_text(4, 14, f"↑ {y_axis}"))
    return _figure(title, _WIDTH, top + high + (40 if x_axis else 8), parts)


def by_size(counts: Mapping[int, int]) -> dict[str, float]:
    """The counts of sizes (above 0) in ranges from the least: a size each where there are few, else the wider
    the greater the sizes are.
    """
    if not counts:
        return {}
    for growth in (1.0, 1.25, 1.5, 2.0, 4.0, 16.0, 256.0):
        starts = [min(counts)]
        while starts[-1] <= max(counts) and len(starts) <= MOST_RANGES:
            starts.append(max(int(starts[-1] * growth), starts[-1] + 1))
        if starts[-1] > max(counts):
            break
    ranges = {}
    for start, stop in pairwise(starts):
        name = f"{start:,}" if stop == start + 1 else f"{short(start)} ({start:,} to {stop - 1:,})"
        ranges[name] = float(sum(count for size, count in counts.items() if start <= size < stop))
    return ranges


def _figure(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<div class="drawn"><strong>{escape(title)}</strong><br><svg xmlns="http://www.w3.org/2000/svg" '
        f'role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" style="max-width: 100%; height: auto" font-size="12" fill="currentColor">'
        f"{''.join(parts)}</svg></div>"
    )


def _text(x: float, y: float, words: str, anchor: str = "start", size: int = 12) -> str:
    style = "" if anchor == "start" else f' text-anchor="{anchor}"'
    small = "" if size == 12 else f' font-size="{size}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}{small}>{escape(words)}</text>'


def _shortened(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else name[: _MOST_LETTERS - 1] + "…"


def short(value: float) -> str:
    """A whole number in few letters: 950, 1.2k, 36k, 2M."""
    for least, unit in ((1_000_000, "M"), (1000, "k")):
        if value >= least:
            return f"{float(f'{value / least:.2g}'):g}{unit}"
    return f"{value:.3g}"


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))
