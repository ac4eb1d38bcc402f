# SPDX-License-Identifier: Apache-2.0
"""Figures of the classes of a release, and of what it lost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError
from anon.html import (
    MOST_SERIES,
    WIDTH,
    Axis,
    Figure,
    Panel,
    Plot,
    Section,
    bars,
    legend,
    lines,
    number,
    page,
    png,
    svg,
    words_of,
)
from anon.tables import write_file

PER_DECADE = 10  # bins of class sizes
N_LOSSES = 20  # bins of privacy loss


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure to a .png, .svg or .html file, whole or not at all."""
    suffix = Path(path).suffix.lower()
    if suffix == ".png":
        content = png(figure)
    elif suffix == ".svg":
        content = svg(figure).encode()
    elif suffix == ".html":
        content = page(figure.title, [Section("Figure", figures=(figure,))]).encode()
    else:
        raise UsageError(f"{os.fspath(path)!r} does not tell its format; end it in .png, .svg or .html")
    write_file(path, content)


# --- classes


def class_sizes(sizes: npt.NDArray[np.int64], k: int | None = None) -> Figure:
    """How many people are in classes of how many rows; `sizes` is one number per class.

    The bins are single sizes up to 10 and grow by a quarter after that; with `k` one begins there, and it is
    marked.
    """
    edges = _size_edges(int(sizes.max(initial=1)), k)
    which = np.searchsorted(edges, sizes, side="right") - 1
    classes = np.bincount(which, minlength=len(edges) - 1)
    people = np.bincount(which, sizes, minlength=len(edges) - 1).astype(np.int64)
    rows = [
        {"from": low, "to": high - 1, "people": n_people, "classes": n_classes}
        for low, high, n_people, n_classes in zip(
            edges.tolist(), edges[1:].tolist(), people.tolist(), classes.tolist(), strict=False
        )
        if n_classes
    ]
    low = min([int(sizes.min(initial=edges[-1])), *([] if k is None else [k])])
    most = max((row["people"] for row in rows), default=1)
    plot = Plot(
        Axis("rows of the class", low, int(edges[-1]), "log"), Axis("people", 0, most * 1.15, whole=True)
    )
    for row in rows:
        plot.box(row["from"], row["to"] + 1, 0, row["people"], 0, words_of(row))
    if k is not None:
        plot.rule(k, f"k = {number(k)}")
    return Figure(
        "People by class size",
        (plot.panel(),),
        "The height of a bar is the number of people in classes of that many rows (the axis grows by "
        "factors): the further right, the larger the crowd that hides them."
        + ("" if k is None else " The line is k, the smallest class."),
        tuple(rows),
    )


def _size_edges(most: int, k: int | None) -> npt.NDArray[np.int64]:
    """Where bins of sizes begin, and one beyond the last."""
    n_steps = int(np.ceil(np.log10(max(most, 1)) * PER_DECADE)) + 2
    grown = np.round(10 ** (np.arange(n_steps) / PER_DECADE)).astype(np.int64)
    edges = np.unique(np.concatenate([np.arange(1, 11), grown, [1 if k is None else max(k, 1)]]))
    return edges[: np.searchsorted(edges, most, side="right") + 1]


def risk_curve(sides: Mapping[str, npt.NDArray[np.int64]]) -> Figure:
    """The share of people whose risk of re-identification is above each of some risks, one over the rows
    that look like them; of each table, such as "before" and "after", one number per class.
    """
    most = max((int(sizes.max(initial=1)) for sizes in sides.values()), default=1)
    crowds = [n * 10**d for d in range(len(str(most))) for n in (1, 2, 5) if n * 10**d <= max(most, 10)]
    rows = []
    for name, sizes in sides.items():
        total = max(int(sizes.sum()), 1)
        rows += [
            {"table": name, "risk at least": 1 / crowd, "share": float(sizes[sizes <= crowd].sum() / total)}
            for crowd in crowds
        ]
    panels = lines(
        rows,
        "risk at least",
        "share",
        "table",
        Axis("risk of re-identification", 1 / crowds[-1] / 1.15, 1.15, "log"),
        Axis("share of people", 0, 1.05),
    )
    return Figure(
        "Risk of re-identification" + (", before and after" if len(sides) > 1 else ""),
        panels,
        "For each risk on the axis the share of people who are found with at least that chance by somebody "
        "who knows their quasi-identifiers: the lower and further left a line, the better they are hidden.",
        tuple(rows),
    )


def class_losses(loss: Mapping[str, npt.NDArray[np.float64]]) -> Figure:
    """How many classes have which privacy loss; for each sensitive attribute one number per class."""
    highest = max((float(values.max(initial=0.0)) for values in loss.values()), default=0.0) or 1.0
    edges = np.linspace(0.0, highest, N_LOSSES + 1)
    rows = [
        {"attribute": name, "from": low, "to": high, "classes": count}
        for name, values in loss.items()
        for low, high, count in zip(
            edges.tolist(), edges[1:].tolist(), np.histogram(values, edges)[0].tolist(), strict=False
        )
    ]
    most = max(row["classes"] for row in rows)
    x, y = Axis("privacy loss of a class", 0, highest), Axis("classes", 0, most * 1.08 or 1, whole=True)
    panels: tuple[Panel, ...]
    if len(loss) == 1:
        plot = Plot(x, y)
        for row in rows:
            plot.box(row["from"], row["to"], 0, row["classes"], 0, words_of(row))
        panels = (plot.panel(),)
    else:
        panels = lines(rows, "from", "classes", "attribute", x, y)
    return Figure(
        "Privacy loss of the classes",
        panels,
        "Privacy loss is how far a class's sensitive values lie from those of the whole table "
        "(Jensen-Shannon divergence): the further right a class, the more belonging to it gives away.",
        tuple(rows),
    )


def worst_class(attribute: str, shares: Sequence[Mapping[str, Any]]) -> Figure:
    """The most frequent sensitive values of one class, each with its share there and in the table.

    Each has `value`, `class` and `table`, shares from 0 to 1.
    """
    labels = tuple(str(row["value"]) for row in shares)[::-1]
    plot = Plot(
        Axis("share of people", 0, 1),
        Axis("", -0.5, len(shares) - 0.5, labels=labels),
        WIDTH,
        34 * len(shares) + 56,
    )
    for i, row in enumerate(shares):
        at = len(shares) - 1 - i
        plot.box(0, row["class"], at, at + 0.36, 0, f"{row['value']}, in the class: {number(row['class'])}")
        plot.box(
            0, row["table"], at - 0.36, at, 1, f"{row['value']}, in the whole table: {number(row['table'])}"
        )
    return Figure(
        f"{attribute} in the worst class",
        (legend(["in this class", "in the whole table"]), plot.panel()),
        "The longer the upper bar of a pair, the surer an attacker is of that value for whoever is in the "
        "class; the lower one is what everybody knows anyway.",
        tuple(shares),
    )


# --- what was lost


def attribute_losses(loss: Mapping[str, float]) -> Figure:
    """What each quasi-identifier lost (NCP: 0 intact, 1 nothing left)."""
    rows = attribute_rows(loss, "ncp")
    return Figure(
        "Loss of each quasi-identifier",
        (bars(rows, "attribute", "ncp", "information loss (NCP)"),),
        "The longer a bar, the wider that attribute's published cells are: zero is the original, "
        "one shows nothing but the whole domain.",
        rows,
    )


def attribute_rows(values: Mapping[str, float], what: str) -> tuple[Mapping[str, Any], ...]:
    """A row for each quasi-identifier, the greatest number first."""
    ordered = sorted(values.items(), key=lambda item: -(item[1] or 0))
    return tuple({"attribute": name, what: value} for name, value in ordered)


def published_widths(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Of each quasi-identifier the share of people whose cell has which width or level.

    Each row has `attribute`, `published` in words, and `share`, in the order in which they are drawn.
    """
    panels = [
        bars(
            [row for row in rows if row["attribute"] == name],
            "published",
            "share",
            width=WIDTH * 0.68,
            heading=str(name),
            high=1.0,
        )
        for name in dict.fromkeys(row["attribute"] for row in rows)
    ]
    return Figure(
        "What was published of each quasi-identifier",
        tuple(panels),
        "The share of people whose cell is that wide, or stands at that level: the finest first.",
        tuple(rows),
    )


def distributions(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """The distribution of each quasi-identifier in the original, and as the release tells it.

    Each row has `attribute`, `value` in words, and the shares `original` and `released`.
    """
    panels = [legend(["original (bars)", "released (marks)"])]
    for name in dict.fromkeys(row["attribute"] for row in rows):
        of_one = [row for row in rows if row["attribute"] == name]
        most = max(max(row["original"], row["released"]) for row in of_one) or 1.0
        labels = tuple(str(row["value"]) for row in of_one)
        plot = Plot(
            Axis("", -0.5, len(of_one) - 0.5, labels=labels),
            Axis("", 0, most * 1.05),
            WIDTH * 0.68,
            230,
            str(name),
        )
        for i, row in enumerate(of_one):
            plot.box(i - 0.4, i + 0.4, 0, row["original"], 0, words_of(row))
        for i, row in enumerate(of_one):
            plot.mark(i, row["released"], 1, words_of(row), size=0.9)
        panels.append(plot.panel())
    return Figure(
        "Distribution of each quasi-identifier, original and released",
        tuple(panels),
        "Where a mark stands on the top of its bar, the release tells the share of that value as it is; "
        "of a cell every value is taken to be equally likely.",
        tuple(rows),
    )


def associations(names: Sequence[str], before: Any, after: Any) -> Figure:
    """How strongly each two attributes go together (Cramér's V, 0 to 1), in the original and released.

    Both are square, NaN where an attribute has one value.
    """
    panels, rows = [], []
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            rows.append(
                {
                    "pair": f"{other}, {one}",
                    "original": float(before[i][j]),
                    "released": float(after[i][j]),
                }
            )
    side = max(WIDTH * 0.75, 34.0 * len(names) + 120)
    for title, matrix in (("original", before), ("released", after)):
        labels = tuple(names)
        plot = Plot(
            Axis("", -0.5, len(names) - 0.5, labels=labels),
            Axis("", -0.5, len(names) - 0.5, labels=labels[::-1]),
            side,
            34.0 * len(names) + 130,
            title,
            grid=False,
        )
        for i, one in enumerate(names):
            for j, other in enumerate(names[:i]):
                value = float(matrix[i][j])
                if np.isnan(value):
                    continue
                row = len(names) - 1 - i
                tip = f"{other}, {one}, {title}: {number(value)}"
                plot.box(j - 0.5, j + 0.5, row - 0.5, row + 0.5, 0, tip, max(0.03, 0.5 * value))
                x, y = plot.at(j, row)
                plot.text(x, y + 4.5, f"{value:.2f}")
        panels.append(plot.panel())
    return Figure(
        "What goes together, original and released",
        tuple(panels),
        "Cramér's V of each two attributes, quasi-identifiers and sensitive ones (0: independent, 1: one "
        "tells the other): where the second picture is paler, the release has lost that relation.",
        tuple(rows),
    )


def query_errors(points: Sequence[Mapping[str, Any]], by: str) -> Figure:
    """Errors of COUNT queries in percent; each point has `by` (a number), `median`, the quartiles `low` and
    `high`, and `trivial`, the median error of a release that shows no quasi-identifier.
    """
    values = [float(point[name]) for point in points for name in ("low", "median", "high", "trivial")]
    places = [float(point[by]) for point in points]
    whole = all(isinstance(point[by], int) for point in points)
    spread = (max(places) - min(places)) * 0.04 or 0.5
    plot = Plot(
        Axis(by, min(places) - spread, max(places) + spread, whole=whole),
        Axis("relative error in percent", 0, max(values, default=1.0) * 1.05 or 1.0),
    )
    plot.band([(point[by], point["low"], point["high"]) for point in points], 0)
    for series, name in enumerate(("median", "trivial")):
        plot.line([(point[by], point[name]) for point in points], series, dashed=bool(series))
        for point in points:
            plot.mark(point[by], point[name], series, words_of(point))
    names = ["this release: median, and the half of the queries around it", "nothing but totals: median"]
    return Figure(
        f"Error of counting queries by {by}",
        (legend(names), plot.panel()),
        "The relative error of random COUNT queries answered from the release alone, and from one that shows "
        "no quasi-identifier at all: the gap between the two is what the release is worth.",
        tuple(points),
    )


# --- scenarios


def by_miner(title: str, rows: Sequence[Mapping[str, Any]], value: str, axis: str, caption: str) -> Figure:
    """A number of each miner for each sanitization, as marks on the line of the sanitization.

    Each row has `sanitization`, `miner` and `value`. More than seven miners are small multiples.
    """
    sanitizations = list(dict.fromkeys(str(row["sanitization"]) for row in rows))
    miners = list(dict.fromkeys(str(row["miner"]) for row in rows))
    numbers = [float(row[value]) for row in rows]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    margin = (high - low) * 0.04 or 0.5
    y = Axis("", -0.5, len(sanitizations) - 0.5, labels=tuple(sanitizations[::-1]))
    x = Axis(axis, low - margin, high + margin)

    def drawn(of: Sequence[str], width: float, heading: str) -> Panel:
        plot = Plot(x, y, width, 26 * len(sanitizations) + (76 if heading else 56), heading)
        for i in range(len(sanitizations)):
            plot.line([(x.low, i), (x.high, i)], "faint")
        for row in rows:
            if str(row["miner"]) in of:
                series = miners.index(str(row["miner"])) if len(of) > 1 else 0
                at = len(sanitizations) - 1 - sanitizations.index(str(row["sanitization"]))
                plot.mark(float(row[value]), at, series, words_of(row), size=1.2)
        return plot.panel()

    panels: tuple[Panel, ...]
    if len(miners) > MOST_SERIES:
        panels = tuple(drawn([miner], WIDTH * 0.7, miner) for miner in miners)
    else:
        panels = (legend(miners), drawn(miners, WIDTH, ""))
    return Figure(title, panels, caption, tuple(rows))
