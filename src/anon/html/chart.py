# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG: axes and marks in classes that a style sheet colors, so that they follow the page's mode.

What stands on a mark is a `title`, which browsers show when the mouse rests on it; names are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from typing import Any, Literal

from anon.html.text import number

# Told apart by people who see few colors, and each against its ground at a contrast of 3 or more.
COLORS = ("#0072b2", "#c44e00", "#00805c", "#aa3377", "#332288", "#7a5c00", "#5c5c5c", "#000000")
COLORS_ON_DARK = ("#56b4e9", "#ff9f5a", "#3fc79a", "#e78ac3", "#a99bff", "#e0c050", "#b0b0b0", "#ffffff")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke", "wedge")
INK, QUIET, LINES, GROUND = "#1b1f24", "#57606a", "#d0d7de", "#ffffff"
INK_ON_DARK, QUIET_ON_DARK, LINES_ON_DARK, GROUND_ON_DARK = "#e6e9ec", "#a3adb8", "#3b424a", "#14171a"
WIDTH, HEIGHT = 440, 290
MOST_SERIES = 7  # in one panel; more are small multiples
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[] "), frozenset("mwMWQO@%<>=+…_&")
_MOST_SLANTED = 16  # characters of a name that is written aslant

_PATHS = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    "square": "M-3.6 -3.6h7.2v7.2h-7.2z",
    "triangle-up": "M0 -4.8L4.6 3.4H-4.6z",
    "diamond": "M0 -5.2L4.4 0L0 5.2L-4.4 0z",
    "cross": "M-1.6 -4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "triangle-down": "M0 4.8L4.6 -3.4H-4.6z",
    "stroke": "M-5 -1.6h10v3.2h-10z",
    "wedge": "M0 -5L3 4.4H-3z",
}

Kind = Literal["linear", "log", "symlog"]


@dataclass(frozen=True)
class Axis:
    """What an axis shows, from `low` to `high`.

    "log" takes numbers above 0, "symlog" 0 too: below `near` it is linear. With `labels` the places 0, 1, …
    bear these names in place of numbers; `whole` allows ticks at whole numbers alone.
    """

    title: str = ""
    low: float = 0.0
    high: float = 1.0
    kind: Kind = "linear"
    labels: tuple[str, ...] = ()
    whole: bool = False
    near: float = 1.0

    def place(self, value: float) -> float:
        """Where a value lies between the ends: 0 to 1 inside."""
        low, high, at = (self._turned(each) for each in (self.low, self.high, value))
        return (at - low) / (high - low) if high > low else 0.5

    def _turned(self, value: float) -> float:
        if self.kind == "log":
            return math.log10(max(value, 1e-300))
        return math.asinh(value / self.near) if self.kind == "symlog" else value

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Places with their names."""
        if self.labels:
            return [(float(i), label) for i, label in enumerate(self.labels)]
        if self.kind != "linear":
            values = [each for each in self._decades() if self.low <= each <= self.high]
            if len(values) > 1:  # else the axis is so short that even steps tell more
                return [(each, number(each)) for each in values[:: -(-len(values) // most) or 1]]
        span = self.high - self.low
        if not span > 0:
            return [(self.low, number(self.low))]
        step = 10.0 ** math.floor(math.log10(span / most))
        step *= next(each for each in (1, 2, 5, 10) if span / (step * each) <= most)
        step = max(step, 1.0) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        n_ticks = math.floor(self.high / step + 1e-9) - first + 1
        values = [round((first + i) * step, 12) for i in range(n_ticks)]
        return [(each, number(int(each) if each == int(each) else each)) for each in values]

    def _decades(self) -> Iterable[float]:
        if self.kind == "symlog":
            yield 0.0
        low = self.low if self.kind == "log" else self.near
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(max(self.high, low)))
        for decade in range(first, last + 1):
            for digit in (1,) if last - first > 3 else (1, 2, 5):
                value = digit * 10.0**decade
                yield int(value) if value >= 1 else float(f"{value:.1g}")


@dataclass(frozen=True)
class Panel:
    """One picture, as SVG without its frame."""

    width: float
    height: float
    marks: str
    title: str = ""
    is_legend: bool = False


def log_axis(title: str, values: Iterable[float], *, zero: bool = False) -> Axis:
    """A logarithmic axis around values, of which those that are 0 are shown with `zero` alone."""
    known = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
    low, high = min(known), max(known)
    if zero:
        return Axis(title, 0.0, high * 1.1, "symlog")
    return Axis(title, low / 1.15, high * 1.15, "log")


def words_of(row: Mapping[str, Any]) -> str:
    """A row of numbers as it is told of a mark."""
    return ", ".join(f"{name}: {told(value)}" for name, value in row.items() if value is not None)


def told(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else str(value)


def shortened_label(label: str, most: int = 26) -> str:
    """The beginning of a long name."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


@dataclass
class Plot:
    """A panel while it is drawn: places are told in the numbers of its two axes."""

    x: Axis
    y: Axis
    width: float = WIDTH
    height: float = HEIGHT
    title: str = ""
    grid: bool = True
    is_bare: bool = False  # of x no names are written
    marks: list[str] = field(default_factory=list)
    taken: list[tuple[float, float, float]] = field(default_factory=list)  # by words: left, right, base

    def __post_init__(self) -> None:
        widest = max((_width(shortened_label(label)) for _, label in self.y.ticks()), default=0)
        self.left = 10 + widest + (18 if self.y.title else 0)
        self.right = self.width - 14
        self.top = 26.0 if self.title else 10.0
        self.bottom = self.height - (42 if self.x.title else 24)
        room = (self.right - self.left) / max(len(self.x.labels), 1)
        self.slanted = bool(self.x.labels) and max(map(_width, self.x.labels)) > room
        if self.slanted:
            wide = [_width(shortened_label(label, _MOST_SLANTED)) for label in self.x.labels]
            self.bottom -= max(wide) * 0.62
            step = (self.right - self.left) / len(wide)
            reach = (each * 0.8 + 12 - (i + 0.5) * step * 0.9 for i, each in enumerate(wide))
            self.left = max(self.left, *reach)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The pixels of a place."""
        return (
            self.left + self.x.place(x) * (self.right - self.left),
            self.bottom - self.y.place(y) * (self.bottom - self.top),
        )

    def box(
        self, low: float, high: float, start: float, end: float, series: int, tip: str, opacity: float = 1
    ) -> None:
        """A rectangle between two places of each axis."""
        (a, b), (c, d) = self.at(low, start), self.at(high, end)
        x, y, width, height = min(a, c), min(b, d), abs(c - a), abs(d - b)
        faint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        self.marks.append(
            f'<rect class="f{series}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" '
            f'height="{height:.1f}"{faint}>{_tip(tip)}</rect>'
        )

    def line(self, points: Sequence[tuple[float, float]], series: int | str, *, dashed: bool = False) -> None:
        """A line through places; `series` is a number, or "ink" or "quiet"."""
        path = "".join(
            f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(self.at(*p) for p in points)
        )
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.marks.append(f'<path class="l{series}" d="{path}"{dash}/>')

    def band(self, points: Sequence[tuple[float, float, float]], series: int) -> None:
        """What lies between two lines: places of x with the least and the most."""
        around = [self.at(x, high) for x, _, high in points]
        around += [self.at(x, low) for x, low, _ in reversed(points)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in around)
        self.marks.append(f'<path class="f{series}" fill-opacity="0.18" d="M{path}Z"/>')

    def mark(
        self,
        x: float,
        y: float,
        series: int,
        tip: str,
        *,
        size: float = 1,
        hollow: bool = False,
        opacity: float = 1,
    ) -> None:
        """A mark in the color and shape of a series."""
        a, b = self.at(x, y)
        path = _PATHS[SHAPES[series % len(SHAPES)]]
        kind, scaled = "h" if hollow else "f", "" if size == 1 else f" scale({size:g})"
        faint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
        self.marks.append(
            f'<path class="{kind}{series % len(COLORS)}" transform="translate({a:.1f} {b:.1f}){scaled}" '
            f'd="{path}"{faint}>{_tip(tip)}</path>'
        )

    def ring(self, x: float, y: float, tip: str) -> None:
        """A circle around a mark."""
        a, b = self.at(x, y)
        self.marks.append(f'<circle class="link" cx="{a:.1f}" cy="{b:.1f}" r="9">{_tip(tip)}</circle>')

    def rule(self, x: float, words: str) -> None:
        """A vertical line with words."""
        a, _ = self.at(x, self.y.low)
        self.marks.append(f'<path class="link" d="M{a:.1f} {self.top:.1f}V{self.bottom:.1f}"/>')
        near_end = a > (self.left + self.right) / 2
        self.text(a - 5 if near_end else a + 5, self.top + 11, words, "end" if near_end else "start")

    def words(self, x: float, y: float, words: str, *, up: float = 0, right: float = 0) -> None:
        """Words at a place, which stay inside the panel; not written where they would cover others."""
        a, b = self.at(x, y)
        wide, base, anchor, at = _width(words), b - up, "start", a + right
        if at + wide > self.width:  # before the place, or where there is no room either, over it
            at, anchor = a - right if a - right - wide >= self.left else self.width, "end"
        left = at if anchor == "start" else at - wide
        if any(left < end and left + wide > start and abs(base - y) < 14 for start, end, y in self.taken):
            return
        self.taken.append((left, left + wide, base))
        self.text(at, base, words, anchor)

    def text(self, x: float, y: float, words: str, anchor: str = "middle", *, quiet: bool = False) -> None:
        """Words at pixels."""
        kind = ' class="quiet"' if quiet else ""
        self.marks.append(
            f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def panel(self) -> Panel:
        """What was drawn, with its axes."""
        parts = []
        if self.title:
            short = shortened_label(self.title, int(self.width / 7.6))
            parts.append(f'<text class="head" x="4" y="15">{escape(short)}{_tip(self.title)}</text>')
        bottom, left, right, top = self.bottom, self.left, self.right, self.top
        for value, label in self.y.ticks(4 if self.height < 200 else 6):
            _, y = self.at(self.x.low, value)
            if self.grid and not self.y.labels:
                parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
            parts.append(_label(left - 6, y + 4.5, label, "end", 26))
        x_ticks = [] if self.is_bare else self.x.ticks(max(2, min(6, int((right - left) / 55))))
        for value, label in x_ticks:
            x, _ = self.at(value, self.y.low)
            if self.slanted:
                parts.append(
                    _label(
                        x, bottom + 12, label, "end", _MOST_SLANTED, f"rotate(-38 {x:.1f} {bottom + 12:.1f})"
                    )
                )
            else:
                parts.append(f'<path class="tick" d="M{x:.1f} {bottom:.1f}v4"/>')
                parts.append(_label(x, bottom + 17, label, "middle", 26))
        if not self.is_bare:
            parts.append(f'<path class="axis" d="M{left:.1f} {bottom:.1f}H{right:.1f}"/>')
        if self.x.title:
            center = _kept_inside((left + right) / 2, self.x.title, self.width)
            parts.append(_label(center, self.height - 6, self.x.title, "middle", int(self.width / 7.5)))
        if self.y.title:
            middle, most = _kept_inside((top + bottom) / 2, self.y.title, self.height), int(self.height / 7.5)
            parts.append(_label(13, middle, self.y.title, "middle", most, f"rotate(-90 13 {middle:.1f})"))
        axes = f'<g aria-hidden="true">{"".join(parts)}</g>'
        return Panel(self.width, self.height, axes + "".join(self.marks), self.title)


def legend(names: Sequence[str], width: float = WIDTH) -> Panel:
    """The names of the series beside their marks, in as many lines as they take."""
    x, y, marks = 8.0, 12.0, []
    for series, name in enumerate(names):
        short = shortened_label(name, 60)
        wide = 26 + _width(short)
        if x > 8 and x + wide > width:
            x, y = 8.0, y + 20
        path = _PATHS[SHAPES[series % len(SHAPES)]]
        marks.append(
            f'<path class="f{series}" transform="translate({x + 5:.1f} {y:.1f})" d="{path}"/>'
            f'<text x="{x + 15:.1f}" y="{y + 4.5:.1f}">{escape(short)}</text>'
        )
        x += wide
    return Panel(width, y + 12, "".join(marks), is_legend=True)


def lines(
    rows: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    by: str,
    x_axis: Axis,
    y_axis: Axis,
    *,
    names: Sequence[str] | None = None,
) -> tuple[Panel, ...]:
    """A line with marks for each value of `by`, told apart by color and shape; many as small multiples."""
    order = list(dict.fromkeys(row[by] for row in rows)) if names is None else list(names)
    series = {
        name: [row for row in rows if row[by] == name and row[y] is not None and row[x] is not None]
        for name in order
    }
    if len(order) > MOST_SERIES:
        panels = []
        for name, of_name in series.items():
            plot = Plot(x_axis, y_axis, WIDTH / 2, 170, str(name))
            _series(plot, of_name, x, y, 0)
            panels.append(plot.panel())
        return tuple(panels)
    plot = Plot(x_axis, y_axis)
    for i, of_name in enumerate(series.values()):
        _series(plot, of_name, x, y, i)
    return (legend([str(name) for name in order]), plot.panel())


def _series(plot: Plot, rows: Sequence[Mapping[str, Any]], x: str, y: str, series: int) -> None:
    for is_known, run in groupby(rows, lambda row: math.isfinite(row[x]) and math.isfinite(row[y])):
        known = list(run)
        if is_known:
            plot.line([(row[x], row[y]) for row in known], series)
            for row in known:
                plot.mark(row[x], row[y], series, words_of(row))


def bars(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    value: str,
    title: str = "",
    *,
    width: float = WIDTH,
    heading: str = "",
    high: float | None = None,
) -> Panel:
    """A bar for each row, from the left, in their order."""
    known = [float(row[value]) for row in rows if row[value] is not None]
    most = high or max(known, default=1.0) or 1.0
    labels = tuple(str(row[name]) for row in rows)[::-1]
    height = 24 * max(len(rows), 1) + (52 if title else 34) + (20 if heading else 0)
    plot = Plot(Axis(title, 0, most), Axis("", -0.5, len(rows) - 0.5, labels=labels), width, height, heading)
    for i, row in enumerate(rows):
        place = len(rows) - 1 - i
        plot.box(0, float(row[value] or 0), place - 0.36, place + 0.36, 0, words_of(row))
    return plot.panel()


def _width(words: str) -> float:
    """About how many pixels words take, in a wide font."""
    return sum(4.7 if each in _NARROW else 11.2 if each in _WIDE else 8.0 for each in words)


def _kept_inside(center: float, words: str, size: float) -> float:
    """Where words are centered that would else begin before 0 or end after `size`."""
    half = min(_width(words), size) / 2
    return min(max(center, half), size - half)


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def _label(x: float, y: float, label: str, anchor: str, most: int, transform: str = "") -> str:
    short = shortened_label(label, most)
    turned = f' transform="{transform}"' if transform else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}>{escape(short)}'
        f"{_tip(label) if short != label else ''}</text>"
    )


def style(ground: str, ink: str, quiet: str, line: str, colors: Sequence[str]) -> str:
    """The rules that color a chart, with these colors (or variables that hold them)."""
    rules = [
        f".chart text{{font:13px system-ui,'Liberation Sans',Arial,sans-serif;fill:{ink}}}",
        ".chart .head{font-weight:600}",
        f".chart .quiet{{fill:{quiet}}}",
        f".chart .grid,.chart .tick,.chart .lfaint{{stroke:{line};fill:none}}",
        f".chart .axis,.chart .lquiet{{stroke:{quiet};fill:none}}",
        f".chart .link{{stroke:{ink};fill:none;stroke-width:1.5}}",
        f".chart .ground{{fill:{ground}}}",
    ]
    for i, color in enumerate(colors):
        rules.append(f".chart .f{i}{{fill:{color}}}")
        rules.append(f".chart .l{i}{{stroke:{color};fill:none;stroke-width:2}}")
        rules.append(f".chart .h{i}{{stroke:{color};fill:{ground};stroke-width:1.5}}")
    return "\n".join(rules)
