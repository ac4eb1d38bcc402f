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
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.errors import DataError, UsageError
from anon.figures import correlations, marginals, nodes, plots
from anon.html import figure as figure_module
from anon.html.figure import COLORS, INK, SHAPES, Figure
from anon.methods import Lattice
from anon.methods.lattice import Judged

POINTS = [
    {"name": "a", "requirement": "k", "privacy": 0.1, "utility": 0.3, "efficient": True},
    {"name": "b", "requirement": "k", "privacy": 0.2, "utility": 0.4, "efficient": False},
    {"name": "c", "requirement": "<b>t&u</b>", "privacy": 0.3, "utility": 0.1, "efficient": True},
    {"name": "d", "requirement": "k", "privacy": float("inf"), "utility": 0.1, "efficient": False},
    {"name": "e", "requirement": "k", "privacy": 0.1, "utility": float("nan"), "efficient": False},
    {"name": "f", "requirement": "k", "privacy": None, "utility": 0.1, "efficient": False},
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
EVERY: list[Callable[[], Figure]] = [
    lambda: plots.tradeoff(POINTS, "p_loss", "u_loss"),
    lambda: plots.class_sizes(np.array([10, 10, 11, 40])),
    lambda: plots.class_losses({"a&b": np.array([0.1, 0.2])}),
    lambda: plots.class_losses({"a&b": np.array([0.1, 0.2]), "c.d[0]": np.array([0.0, 0.3])}),
    lambda: plots.attribute_losses({"a&b": 0.5, "<i>": 0.1}),
    lambda: plots.query_errors([{"sel": 0.1, "average": 9.0, "median": 4.0}], "sel"),
    lambda: marginals(("a&b", "<i>"), NUMBERS, 2 * NUMBERS),
    lambda: correlations(("a&b", "<i>"), NUMBERS, 2 * NUMBERS),
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


def test_marks_can_be_told_from_white_and_from_each_other() -> None:
    assert len(set(COLORS)) == len(COLORS) == len(set(SHAPES)) == len(SHAPES)
    assert min(contrast(color, "#ffffff") for color in COLORS) >= 3
    assert contrast(INK, "#ffffff") >= 4.5


def test_points_that_lack_a_finite_measure_are_left_out() -> None:
    assert [row["name"] for row in figure_module.rows(plots.tradeoff(POINTS, "x", "y"))] == ["a", "b", "c"]


def test_a_frontier_draws_its_satisfied_points() -> None:
    points = [SimpleNamespace(**point, satisfied=point["name"] != "b") for point in POINTS]
    swept = SimpleNamespace(points=points, privacy="p_loss", utility="gcp")
    drawn = plots.frontier(swept)
    assert [row["name"] for row in figure_module.rows(drawn)] == ["a", "c"]
    assert "privacy: p_loss" in str(figure_module.spec(drawn))


def test_class_sizes_by_hand() -> None:
    # 10..69 are 60 sizes, so each of 30 bars holds two: 10-11, 12-13, ..., 68-69
    rows = figure_module.rows(plots.class_sizes(np.array([10, 11, 11, 12, 69])))
    assert rows[0] == {"from": 10, "to": 11, "classes": 3}
    assert rows[1] == {"from": 12, "to": 13, "classes": 1}
    assert rows[-1] == {"from": 68, "to": 69, "classes": 1}


@settings(max_examples=25)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=50))
def test_every_class_is_in_the_bar_of_its_size(sizes: list[int]) -> None:
    rows = figure_module.rows(plots.class_sizes(np.array(sizes)))
    assert len(rows) <= plots.MOST_BINS
    for row in rows:
        assert row["classes"] == sum(row["from"] <= size <= row["to"] for size in sizes)
    assert sum(row["classes"] for row in rows) == len(sizes)


@settings(max_examples=25)
@given(st.lists(st.floats(0, 0.6931), min_size=1, max_size=50))
def test_every_class_is_in_the_bar_of_its_loss(losses: list[float]) -> None:
    rows = figure_module.rows(plots.class_losses({"s": np.array(losses)}))
    assert sum(row["classes"] for row in rows) == len(losses)
    assert rows[0]["from"] == 0
    assert rows[-1]["to"] == pytest.approx(max(losses) or 1)
    for row in rows[:-1]:
        assert row["classes"] == sum(row["from"] <= loss < row["to"] for loss in losses)


def test_errors_of_queries_are_two_lines() -> None:
    points = [{"qd": qd, "average": 10.0 * qd, "median": 1.0 * qd} for qd in (1, 2)]
    rows = figure_module.rows(plots.query_errors(points, "qd"))
    assert {(row["qd"], row["error"], row["percent"]) for row in rows} == {
        (1, "average", 10.0),
        (1, "median", 1.0),
        (2, "average", 20.0),
        (2, "median", 2.0),
    }


def test_a_lattice_has_every_node_at_its_sum_of_levels_with_what_is_known_of_it() -> None:
    links, rows = [], []
    for row in figure_module.rows(nodes.lattice(LATTICE)):
        (links if "next" in row else rows).append(row)
    assert [(row["levels"], row["sum"], row["state"], row["score"], row["suppressed"]) for row in rows] == [
        ("0 0", 0, "infeasible", None, None),
        ("0 1", 1, "not visited", None, None),
        ("1 0", 1, "best", 0.25, 1),
        ("1 1", 2, "not visited", None, None),
        ("2 0", 2, "feasible", 0.5, 0),
        ("2 1", 3, "not visited", None, None),
    ]
    assert [row["place"] for row in rows] == [0, -0.5, 0.5, -0.5, 0.5, 0]
    places = {(row["place"], row["sum"]): row["levels"] for row in rows}
    assert {
        (places[link["place"], link["sum"]], places[link["to"], link["next"]]) for link in links
    } == {
        ("0 0", "0 1"), ("0 0", "1 0"), ("0 1", "1 1"), ("1 0", "1 1"), ("1 0", "2 0"), ("1 1", "2 1"),
        ("2 0", "2 1"),
    }  # fmt: skip


def test_of_a_large_lattice_the_best_of_the_judged_nodes_are_drawn() -> None:
    judged = {(g, h): Judged(0, g + h + 1, (g + h) % 2 == 0, False) for g in range(40) for h in range(40)}
    seen = Lattice(("a", "b"), (99, 99), (39, 39), True, judged, "dm", (0, 0))
    figure = nodes.lattice(seen)
    rows = figure_module.rows(figure)
    assert len(rows) == nodes.MOST_DRAWN < len(judged)
    assert [row["levels"] for row in rows if row["state"] == "best"] == ["39 39"]
    left_out = len(judged) - len(rows)
    worst = sorted(one.score for one in judged.values())[-left_out:]
    assert max(row["sum"] for row in rows if row["state"] != "best") + 1 <= min(worst)
    assert figure.caption.endswith("only nodes that were judged are drawn.")
    assert "only nodes" not in nodes.lattice(LATTICE).caption


@pytest.mark.parametrize("make", [*EVERY, lambda: nodes.lattice(LATTICE)])
def test_every_figure_becomes_an_image_and_says_how_to_read_it(make: Callable[[], Figure]) -> None:
    figure = make()
    image = figure_module.png(figure)
    assert image.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", image[16:24])
    assert width >= 2 * figure_module.WIDTH
    assert height > 100
    assert ElementTree.fromstring(figure_module.svg(figure)).tag.endswith("svg")
    assert figure.caption.endswith(".")
    assert figure_module.spec(figure)["description"] == f"{figure.title}. {figure.caption}"


@pytest.mark.parametrize("make", EVERY)
def test_every_label_of_the_x_axis_stands_below_its_tick(make: Callable[[], Figure]) -> None:
    """The outermost ones moved inwards would overlap their neighbors."""
    _, separator, below = figure_module.svg(make()).partition('aria-label="X-axis')
    assert separator
    labels = re.findall(r"role-axis-label.*?</g>", below)[0]
    assert "<text" in labels
    assert labels.count("<text") == labels.count('text-anchor="middle"')


def test_names_are_drawn_as_text() -> None:
    drawn = figure_module.svg(EVERY[4]())
    texts = {each.text for each in ElementTree.fromstring(drawn).iter() if each.tag.endswith("text")}
    assert {"a&b", "<i>"} <= texts


def test_a_chart_keeps_its_own_configuration() -> None:
    import altair

    chart = altair.Chart(altair.Data(values=[{"a": 1}])).mark_bar().encode(x="a:Q")
    own = chart.configure_axis(labelFontSize=20).configure_view(stroke="red")
    config = figure_module.spec(Figure("Title", own, "Caption."))["config"]
    assert config["axis"]["labelFontSize"] == 20
    assert config["axis"]["titleFontSize"] == 13
    assert config["view"]["stroke"] == "red"


def test_numbers_that_json_lacks_are_left_out() -> None:
    points = [{"sel": 0.1, "average": float("nan"), "median": 4.0}]
    drawn = plots.query_errors(points, "sel")
    json.dumps(figure_module.spec(drawn), allow_nan=False)
    assert figure_module.png(drawn).startswith(b"\x89PNG")


def test_files_are_chosen_by_their_suffix(tmp_path: Path) -> None:
    figure = EVERY[1]()
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".html", b"<!doctype html>")):
        plots.save(figure, tmp_path / f"figure{suffix}")
        assert (tmp_path / f"figure{suffix}").read_bytes().startswith(start)
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.html"):
        plots.save(figure, tmp_path / "figure.jpg")
    assert len(os.listdir(tmp_path)) == 3


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "figure.svg"
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device; nothing was written"):
        plots.save(EVERY[1](), target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["figure.svg"]
    with pytest.raises(DataError, match="nothing was written"):
        plots.save(EVERY[1](), tmp_path / "absent" / "figure.svg")


@pytest.mark.parametrize(("module", "name"), [("altair", "altair"), ("vl_convert", "vl-convert")])
def test_a_missing_library_names_the_extra(module: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = EVERY[1]()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf"{name}: pip install 'anon\[eval\]'"):
        EVERY[1]() if module == "altair" else figure_module.svg(ready)


def test_quantiles_and_correlations_are_those_of_the_columns() -> None:
    rng = np.random.default_rng(0)
    before = np.column_stack([rng.normal(size=200), np.ones(200), rng.normal(size=200)])
    after = before[:, [2, 1, 0]] * [3.0, 1.0, 1.0] + [1.0, 0.0, 0.0]
    data = json.loads(json.dumps(marginals(("a", "c", "b"), before, after).chart.to_dict()))
    points = data["data"]["values"]
    assert {point["column"] for point in points} == {"a", "b"}
    [median] = [point for point in points if (point["column"], point["quantile"]) == ("a", 0.5)]
    a = before[:, 0]
    assert median["before"] == pytest.approx((np.median(a) - a.mean()) / a.std())
    assert median["after"] == pytest.approx((np.median(after[:, 0]) - a.mean()) / a.std())
    drawn = json.dumps(correlations(("a", "c", "b"), before, after).chart.to_dict())
    assert '"a, b"' in drawn
    assert '"a, c"' not in drawn
