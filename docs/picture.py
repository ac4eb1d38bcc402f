# SPDX-License-Identifier: Apache-2.0
"""Draws `boxes.svg`: people of a synthetic census as points, equivalence classes as boxes.

python docs/picture.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import anon

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 380, 56, 44
AGES, HOURS = (16, 91), (0, 100)
K = 25


def x(age: float) -> float:
    """Where an age lies, in pixels from the left."""
    return LEFT + (age - AGES[0]) / (AGES[1] - AGES[0]) * (WIDTH - LEFT - 12)


def y(hours: float) -> float:
    """Where hours per week lie, in pixels from the top."""
    return HEIGHT - BOTTOM - (hours - HOURS[0]) / (HOURS[1] - HOURS[0]) * (HEIGHT - BOTTOM - 40)


def text(left: float, top: float, words: str, anchor: str = "middle", size: int = 12) -> str:
    """One line of words."""
    return f'<text x="{left:.0f}" y="{top:.0f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def main() -> None:
    """Anonymize 3,000 people by two quasi-identifiers and draw what the release says of them."""
    table = anon.datasets.census(3000, seed=1).select(["age", "hours_per_week"]).drop_null()
    schema = anon.Schema(quasi=["age", "hours_per_week"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(K)], numeric="bounds")
    shown = release.table
    boxes = sorted(set(zip(*(shown[name].to_pylist() for name in shown.column_names), strict=True)))
    jitter = np.random.default_rng(0).uniform(-0.4, 0.4, (2, table.num_rows))
    ages, hours = (
        table[name].to_numpy() + shift for name, shift in zip(table.column_names, jitter, strict=True)
    )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="system-ui, sans-serif" fill="#334">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(
            WIDTH / 2,
            22,
            f"{table.num_rows:,} people, {len(boxes)} equivalence classes of at least {K}",
            size=14,
        ),
    ]
    for low_age, high_age, low_hours, high_hours in boxes:
        left, right, top, bottom = (
            x(low_age - 0.5),
            x(high_age + 0.5),
            y(high_hours + 0.5),
            y(low_hours - 0.5),
        )
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
            'rx="2" fill="#3b6fb6" fill-opacity="0.10" stroke="#3b6fb6" stroke-width="1"/>'
        )
    points = "".join(f"M{x(age):.1f} {y(hour):.1f}h0" for age, hour in zip(ages, hours, strict=True))
    parts.append(
        f'<path d="{points}" stroke="#c2410c" stroke-width="2" stroke-linecap="round" opacity="0.6"/>'
    )
    parts += [text(x(age), HEIGHT - BOTTOM + 18, str(age)) for age in range(20, 91, 10)]
    parts += [text(LEFT - 8, y(hour) + 4, str(hour), "end") for hour in range(0, 101, 20)]
    parts += [
        text(WIDTH / 2, HEIGHT - 8, "age"),
        f'<g transform="translate(14 {HEIGHT / 2:.0f}) rotate(-90)">{text(0, 0, "hours per week")}</g>',
        "</svg>",
    ]
    (Path(__file__).parent / "boxes.svg").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
