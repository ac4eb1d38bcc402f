# SPDX-License-Identifier: Apache-2.0
"""The figures: what they draw, by hand and by counting, and the files they become."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon import figures
from anon.errors import DataError, UsageError
from anon.figures import nodes
from anon.html import Axis, Plot, chart, lines, png, rows, svg
from anon.html.chart import SHAPES
from anon.html.figure import Figure
from anon.methods import Lattice
from anon.methods.lattice import Judged


def point(
    name: str, privacy: float | None, utility: float, efficient: bool = False, method: str = "m"
) -> Any:
    measures = {"privacy": privacy, "utility": utility}
    return {"name": name, "method": method, "requirement": "k", **measures, "efficient": efficient}


POINTS = [
    point("a", 0.1, 0.3, True),
    point("b", 0.2, 0.4),
    point("c", 0.3, 0.1, True, "<b>t&u</b>"),
    point("d", float("inf"), 0.1),
    point("e", 0.1, float("nan")),
    point("f", None, 0.1),
]
FAILS = Judged(9, np.inf, False, True)
LATTICE = Lattice(
    ("a&b", "<i>"),
    (2, 1),
    (1, 0),
    True,
    {(0, 0): FAILS, (1, 0): Judged(1, 0.25, True, False), (2, 0): Judged(0, 0.5, True, False)},
    "loss",
    (0, 0),
)
NUMBERS = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, 1.0]])
ERRORS = [{"sel": 0.1, "low": 1.0, "median": 4.0, "high": 9.0, "average": 6.0, "trivial": 20.0}]
EVERY: list[Callable[[], Figure]] = [
    lambda: figures.tradeoff(POINTS, "p_loss", "u_loss", knee="a", chosen="c"),
    lambda: figures.class_sizes(np.array([10, 10, 11, 40]), 10),
    lambda: figures.class_losses({"a&b": np.array([0.1, 0.2])}),
    lambda: figures.class_losses({"a&b": np.array([0.1, 0.2]), "c.d[0]": np.array([0.0, 0.3])}),
    lambda: figures.attribute_losses({"a&b": 0.5, "<i>": 0.1}),
    lambda: figures.query_errors(ERRORS, "sel"),
    lambda: figures.marginals(("a&b", "<i>"), NUMBERS, 2 * NUMBERS),
    lambda: figures.correlations(("a&b", "<i>"), NUMBERS, 2 * NUMBERS),
    lambda: figures.risk_curve({"before": np.array([1, 1, 2]), "after": np.array([4])}),
    lambda: figures.worst_class("a&b", [{"value": "<i>", "class": 0.9, "table": 0.1}]),
    lambda: figures.published_widths([{"attribute": "a&b", "published": "one value", "share": 1.0}]),
    lambda: figures.distributions([{"attribute": "a&b", "value": "<i>", "original": 1.0, "released": 0.9}]),
    lambda: figures.associations(("a&b", "<i>"), np.full((2, 2), 0.5), np.full((2, 2), np.nan)),
    lambda: figures.by_miner(
        "Title", [{"sanitization": "a&b", "miner": "<i>", "decline": 0.5}], "decline", "axis", "Caption."
    ),
    lambda: figures.individual_risks({"a&b": np.array([0.1, np.nan, 0.5])}),
    lambda: figures.population_risks({"before": [1, 0, 3], "after": [0, 0, 4]}),
    lambda: figures.uniques_by_fraction([{"fraction": 0.1, "model": "<i>", "uniques": 0}], 0.1),
    lambda: figures.contributions({"a&b": 60.0, "<i>": 40.0}),
]


def luminance(color: str) -> float:
    """WCAG 2: relative luminance of `#rrggbb`."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2: contrast ratio of two colors."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize(
    ("colors", "ground", "ink"),
    [
        (chart.COLORS, chart.GROUND, chart.INK),
        (chart.COLORS_ON_DARK, chart.GROUND_ON_DARK, chart.INK_ON_DARK),
    ],
    ids=["light", "dark"],
)
def test_marks_can_be_told_from_the_ground_and_from_each_other(
    colors: tuple[str, ...], ground: str, ink: str
) -> None:
    assert len(set(colors)) == len(colors) == len(set(SHAPES)) == len(SHAPES)
    assert min(contrast(color, ground) for color in colors) >= 3
    assert contrast(ink, ground) >= 4.5
    for share in np.linspace(0, 0.5, 6):  # the cells of a heat map, and the words on them
        parts = [
            (1 - share) * int(ground[i : i + 2], 16) + share * int(colors[0][i : i + 2], 16)
            for i in (1, 3, 5)
        ]
        assert contrast(ink, "#" + "".join(f"{round(part):02x}" for part in parts)) >= 4.5


def test_points_that_lack_a_finite_measure_are_left_out() -> None:
    assert [row["name"] for row in rows(figures.tradeoff(POINTS, "x", "y"))] == ["a", "b", "c"]


def test_a_frontier_draws_its_satisfied_points() -> None:
    points = [
        SimpleNamespace(**point, satisfied=point["name"] != "b", parameters={"method": point["method"]})
        for point in POINTS
    ]
    swept = SimpleNamespace(points=points, privacy="p_loss", utility="gcp", knee=points[0])
    drawn = figures.frontier(swept, points[2])
    assert [row["name"] for row in rows(drawn)] == ["a", "c"]
    image = svg(drawn)
    assert "privacy: p_loss" in image
    assert "knee: a" in image
    assert "chosen: c" in image
    assert image.count('<circle class="link"') == 2


def test_methods_of_a_frontier_are_told_by_color_shape_and_name() -> None:
    image = svg(figures.tradeoff(POINTS, "x", "y"))
    words = {each.text for each in ElementTree.fromstring(image).iter() if each.tag.endswith("text")}
    assert {"m", "<b>t&u</b>"} <= words
    assert 'class="f0"' in image
    assert 'class="f1"' in image


def test_the_trivial_release_squeezes_no_axis() -> None:
    inner = [dict(point, privacy=point["privacy"]) for point in POINTS[:3]]
    trivial = POINTS[0] | {"name": "trivial", "method": "trivial", "privacy": 1e-6, "utility": 1.0}
    alone, beside = (figures.tradeoff(points, "x", "y").panels[1] for points in (inner, [*inner, trivial]))
    place = re.compile(r'class="f0" transform="(translate\([^)]+\))')
    assert place.findall(alone.marks) == place.findall(beside.marks)
    assert "trivial: 1e-06, 1 ↗" in beside.marks
    assert 'class="h2"' in beside.marks


def test_axes_that_grow_by_factors_hold_zero_too() -> None:
    points = [POINTS[0] | {"privacy": 0.0}, POINTS[1]]
    image = svg(figures.tradeoff(points, "x", "y"))
    assert "nan" not in image
    assert ">0</text>" in image


def test_labels_do_not_cover_each_other() -> None:
    same = [POINTS[0] | {"name": f"point {i}", "privacy": 0.1 + i / 1e6} for i in range(5)]
    image = svg(figures.tradeoff([*same, POINTS[2]], "x", "y"))
    assert sum(f">point {i}</text>" in image for i in range(5)) == 1


def test_more_than_seven_series_are_small_multiples() -> None:
    points = [{"x": x, "y": x, "name": f"series {i}"} for i in range(8) for x in (0.0, 1.0)]
    axis = Axis("", 0, 1)
    assert [panel.title for panel in lines(points, "x", "y", "name", axis, axis)] == [
        f"series {i}" for i in range(8)
    ]
    few = lines(points[:14], "x", "y", "name", axis, axis)
    assert [panel.is_legend for panel in few] == [True, False]
    many = [POINTS[0] | {"name": str(i), "method": f"method {i}"} for i in range(8)]
    assert len(figures.tradeoff(many, "x", "y").panels) == 8


def test_class_sizes_by_hand() -> None:
    # sizes up to 10 are bins of their own, then 11-12, 13-15, 16-19, …; k begins one
    drawn = rows(figures.class_sizes(np.array([5, 6, 6, 10, 11, 12, 14, 300])))
    assert drawn[:5] == [
        {"from": 5, "to": 5, "people": 5, "classes": 1},
        {"from": 6, "to": 6, "people": 12, "classes": 2},
        {"from": 10, "to": 12, "people": 33, "classes": 3},
        {"from": 13, "to": 15, "people": 14, "classes": 1},
        {"from": 251, "to": 315, "people": 300, "classes": 1},
    ]
    marked = figures.class_sizes(np.array([11, 12, 14]), 11)
    assert rows(marked)[0]["from"] == 11
    assert "k = 11" in svg(marked)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50))
def test_everybody_is_in_the_bar_of_their_class(sizes: list[int]) -> None:
    drawn = rows(figures.class_sizes(np.array(sizes), min(sizes)))
    assert len(drawn) <= 75
    for row in drawn:
        inside = [size for size in sizes if row["from"] <= size <= row["to"]]
        assert (row["classes"], row["people"]) == (len(inside), sum(inside))
        assert row["to"] <= max(row["from"] * 1.34, row["from"] + 2)
    assert sum(row["people"] for row in drawn) == sum(sizes)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=50))
def test_shares_at_risk_are_counted(sizes: list[int]) -> None:
    for row in rows(figures.risk_curve({"now": np.array(sizes)})):
        at_risk = sum(size for size in sizes if 1 / size >= row["risk at least"])
        assert row["share"] == pytest.approx(at_risk / sum(sizes))


@settings(max_examples=25)
@given(st.lists(st.floats(0, 0.6931), min_size=1, max_size=50))
def test_every_class_is_in_the_bar_of_its_loss(losses: list[float]) -> None:
    drawn = rows(figures.class_losses({"s": np.array(losses)}))
    assert sum(row["classes"] for row in drawn) == len(losses)
    assert drawn[0]["from"] == 0
    assert drawn[-1]["to"] == pytest.approx(max(losses) or 1)
    for row in drawn[:-1]:
        assert row["classes"] == sum(row["from"] <= loss < row["to"] for loss in losses)


def test_errors_of_queries_stand_beside_those_of_totals() -> None:
    drawn = figures.query_errors(ERRORS, "sel")
    assert rows(drawn) == ERRORS
    assert "nothing but totals" in svg(drawn)
    assert "stroke-dasharray" in svg(drawn)


@settings(max_examples=50)
@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.sampled_from(["linear", "log", "symlog"]),
    st.booleans(),
)
def test_ticks_lie_on_their_axis(low: float, span: float, kind: str, whole: bool) -> None:
    low = abs(low) + 1e-3 if kind == "log" else 0.0 if kind == "symlog" else low
    axis = Axis("", low, low + span, kind, whole=whole and kind == "linear", near=span / 100)
    ticks = axis.ticks()
    assert len(ticks) <= 8
    assert all(-1e-6 <= axis.place(value) <= 1 + 1e-6 for value, _ in ticks)
    if not axis.whole:
        assert len(ticks) >= 2


def test_a_short_axis_of_factors_has_ticks_too() -> None:
    assert [label for _, label in Axis("", 0.21, 0.43, "log").ticks()] == ["0.25", "0.3", "0.35", "0.4"]


def test_a_lattice_has_every_node_at_its_sum_of_levels_with_what_is_known_of_it() -> None:
    drawn = nodes.lattice(LATTICE)
    assert [
        (row["levels"], row["sum"], row["state"], row["score"], row["suppressed"]) for row in rows(drawn)
    ] == [
        ("0 0", 0, "infeasible", None, None),
        ("0 1", 1, "not visited", None, None),
        ("1 0", 1, "best", 0.25, 1),
        ("1 1", 2, "not visited", None, None),
        ("2 0", 2, "feasible", 0.5, 0),
        ("2 1", 3, "not visited", None, None),
    ]
    assert [row["place"] for row in rows(drawn)] == [0, -0.5, 0.5, -0.5, 0.5, 0]
    assert svg(drawn).count('class="lfaint"') == 7  # 00-01, 00-10, 01-11, 10-11, 10-20, 11-21, 20-21
    assert svg(drawn).count('<circle class="link"') == 1


def test_of_a_large_lattice_the_best_of_the_judged_nodes_are_drawn() -> None:
    judged = {(g, h): Judged(0, g + h + 1, (g + h) % 2 == 0, False) for g in range(40) for h in range(40)}
    seen = Lattice(("a", "b"), (99, 99), (39, 39), True, judged, "dm", (0, 0))
    figure = nodes.lattice(seen)
    drawn = rows(figure)
    assert len(drawn) == nodes.MOST_DRAWN < len(judged)
    assert [row["levels"] for row in drawn if row["state"] == "best"] == ["39 39"]
    left_out = len(judged) - len(drawn)
    worst = sorted(one.score for one in judged.values())[-left_out:]
    assert max(row["sum"] for row in drawn if row["state"] != "best") + 1 <= min(worst)
    assert figure.caption.endswith("only nodes that were judged are drawn.")
    assert "only nodes" not in nodes.lattice(LATTICE).caption


@pytest.mark.parametrize("make", [*EVERY, lambda: nodes.lattice(LATTICE)])
def test_every_figure_becomes_an_image_and_says_how_to_read_it(make: Callable[[], Figure]) -> None:
    figure = make()
    image = ElementTree.fromstring(svg(figure))
    assert image.tag.endswith("svg")
    assert image.attrib["aria-label"] == f"{figure.title}. {figure.caption}"
    assert figure.caption.endswith(".")
    assert not {"nan", "inf"} & set(re.findall(r"[a-z]+", " ".join(re.findall(r' d="([^"]*)"', svg(figure)))))
    assert rows(figure)
    json.dumps(rows(figure), allow_nan=False)
    for panel in figure.panels:
        assert 100 < panel.width <= 700


@pytest.mark.png
@pytest.mark.parametrize("make", [EVERY[0], EVERY[1]])
def test_every_figure_can_be_a_png(make: Callable[[], Figure]) -> None:
    figure = make()
    image = png(figure)
    assert image.startswith(b"\x89PNG")
    width, _ = struct.unpack(">II", image[16:24])
    assert width == 2 * max(round(panel.width) for panel in figure.panels)


def test_names_are_drawn_as_text() -> None:
    for make in EVERY:
        texts = {each.text for each in ElementTree.fromstring(svg(make())).iter() if each.text}
        assert not [text for text in texts if "&amp;" in text or "&lt;" in text]
    texts = {
        each.text for each in ElementTree.fromstring(svg(EVERY[4]())).iter() if each.tag.endswith("text")
    }
    assert {"a&b", "<i>"} <= texts


def test_marks_tell_their_numbers() -> None:
    image = ElementTree.fromstring(svg(EVERY[4]()))
    assert "attribute: a&b, ncp: 0.5" in {each.text for each in image.iter() if each.tag.endswith("title")}


def test_numbers_that_do_not_exist_are_left_out() -> None:
    points = [{"fraction": 0.1, "model": "m", "uniques": value} for value in (float("nan"), 4.0)]
    drawn = figures.uniques_by_fraction(points, 0.1)
    assert [row["uniques"] for row in rows(drawn)] == [None, 4.0]
    assert "nan" not in svg(drawn)


def test_files_are_chosen_by_their_suffix(tmp_path: Path) -> None:
    figure = EVERY[1]()
    for suffix, start in ((".svg", b"<svg"), (".html", b"<!doctype html>")):
        figures.save(figure, tmp_path / f"figure{suffix}")
        assert (tmp_path / f"figure{suffix}").read_bytes().startswith(start)
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.html"):
        figures.save(figure, tmp_path / "figure.jpg")
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.png
def test_a_file_can_be_a_png(tmp_path: Path) -> None:
    figures.save(EVERY[1](), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert len(os.listdir(tmp_path)) == 1


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "figure.svg"
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device; nothing was written"):
        figures.save(EVERY[1](), target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["figure.svg"]
    with pytest.raises(DataError, match="nothing was written"):
        figures.save(EVERY[1](), tmp_path / "absent" / "figure.svg")


def test_png_alone_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert svg(EVERY[1]())
    with pytest.raises(UsageError, match=r"vl-convert: pip install 'anon\[eval\]'"):
        png(EVERY[1]())


def test_quantiles_and_correlations_are_those_of_the_columns() -> None:
    rng = np.random.default_rng(0)
    before = np.column_stack([rng.normal(size=200), np.ones(200), rng.normal(size=200)])
    after = before[:, [2, 1, 0]] * [3.0, 1.0, 1.0] + [1.0, 0.0, 0.0]
    points = rows(figures.marginals(("a", "c", "b"), before, after))
    assert {point["column"] for point in points} == {"a", "b"}
    [median] = [point for point in points if (point["column"], point["quantile"]) == ("a", 0.5)]
    a = before[:, 0]
    assert median["before"] == pytest.approx((np.median(a) - a.mean()) / a.std())
    assert median["after"] == pytest.approx((np.median(after[:, 0]) - a.mean()) / a.std())
    [pair] = rows(figures.correlations(("a", "c", "b"), before, after))
    assert pair["pair"] == "a, b"
    assert pair["before"] == pytest.approx(np.corrcoef(before[:, 0], before[:, 2])[0, 1])


def test_words_stay_between_the_axis_and_the_edge() -> None:
    plot = Plot(Axis("", 0, 1), Axis("y", 0, 1), 400, 200)
    for x, y in ((0.1, 0.1), (0.5, 0.5), (0.9, 0.9)):
        plot.words(x, y, "a name that is half as wide as all", right=7)
    assert len(plot.taken) == 3
    assert all(plot.left <= start and end <= plot.width for start, end, _ in plot.taken)
