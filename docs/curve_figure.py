# SPDX-License-Identifier: Apache-2.0
"""Draws docs/curve.svg: the same 300 points under Mondrian, cut along the curve, and recut.

Run from the repository's root: `python docs/curve_figure.py`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anon.classes import Classes
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.methods import curve, mondrian
from anon.methods.curve import Curve
from anon.methods.hilbert import Axes, curve_order
from anon.methods.repair import pack, widths_of
from anon.methods.task import Task
from anon.schema.attribute import numeric
from anon.schema.schema import Schema
from anoncore.requirement import Conjunction

N, K, SIDE, GAP = 300, 5, 300, 24
COLORS = ("#1b6ca8", "#c8553d", "#4f7942", "#8e6c8a", "#b8860b", "#2f7f7f")


def points() -> Encoded:
    """Two numeric attributes, 0..63: three heaps of people on a thin plain."""
    rng = np.random.default_rng(5)
    heaps = [rng.normal(center, 5, (80, 2)) for center in ((14, 20), (40, 46), (50, 14))]
    plain = rng.uniform(0, 63, (N - 240, 2))
    places = np.clip(np.concatenate([*heaps, plain]), 0, 63).round().astype(np.int64)
    table = pa.table({"x": places[:, 0], "y": places[:, 1]})
    return encode(table, Schema(quasi=[numeric("x"), numeric("y")]))


def panel(data: Encoded, classes: Any, left: float, title: str, line: Any = None) -> list[str]:
    """Points, the boxes of the classes and, behind them, a line through `line` (row numbers)."""
    spans = [domain.positions[-1] for domain in data.quasi]
    x, y = (
        domain.positions[codes] / span * SIDE
        for domain, codes, span in zip(data.quasi, data.quasi_codes, spans, strict=True)
    )
    x, y = x + left, SIDE - y + GAP
    out, loss = [], 0.0
    if line is not None:
        path = " ".join(f"{x[row]:.1f},{y[row]:.1f}" for row in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="#bbb" stroke-width="1"/>')
    for number, (start, end) in enumerate(itertools.pairwise(classes.offsets)):
        rows = classes.rows[start:end]
        width, height = np.ptp(x[rows]), np.ptp(y[rows])
        loss += len(rows) * (width + height) / SIDE / 2 / N
        color = COLORS[number % len(COLORS)]
        out.append(
            f'<rect x="{x[rows].min() - 2:.1f}" y="{y[rows].min() - 2:.1f}" width="{width + 4:.1f}" '
            f'height="{height + 4:.1f}" fill="{color}" fill-opacity="0.12" stroke="{color}"/>'
        )
        out += [f'<circle cx="{x[row]:.1f}" cy="{y[row]:.1f}" r="2" fill="{color}"/>' for row in rows]
    out.append(f'<text x="{left}" y="{GAP - 9}">{title}: loss {loss:.4f}</text>')
    return out


def main() -> None:
    """Write the figure beside this file."""
    data = points()
    job = Task(Conjunction([], N, [("size", K)]), np.random.default_rng(0))
    order = curve_order(data, Axes.of(data, "ncp"), "rank", 1)
    codes = pack([column[order] for column in data.quasi_codes])
    table = curve.Table(codes, np.empty((N, 0), np.int32), widths_of(data.quasi), K, None)
    along = curve.from_curve(table, np.arange(N, dtype=np.uint32))
    cut = Classes(order[along.rows], along.offsets, np.empty(0, np.uint32))
    answers = (
        ("Mondrian", mondrian.partition(data, mondrian.Mondrian(), job), None),
        ("Hilbert order, best cuts", cut, order),
        ("recut and refined", curve.partition(data, Curve(), job, K), None),
    )
    parts = [
        part
        for number, (title, classes, line) in enumerate(answers)
        for part in panel(data, classes, GAP + number * (SIDE + GAP), title, line)
    ]
    size = (3 * SIDE + 4 * GAP, SIDE + 2 * GAP)
    Path(__file__).with_name("curve.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        f'font-family="sans-serif" font-size="14">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    main()
