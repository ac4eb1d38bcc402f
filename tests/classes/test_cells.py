# SPDX-License-Identifier: Apache-2.0
"""The text of cells, both ways, and the typed renderings."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from math import ulp
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.classes.classes import Classes
from anon.classes.generalized import Cells, and_ranges
from anon.classes.label import labels, to_levels
from anon.classes.reaches import single_cells
from anon.classes.reading import Cell, parse, reader
from anon.classes.rendering import measures, render
from anon.classes.text import Rendering, keys, number, quote, texts, unquote
from anon.encoding.domain import Domain
from anon.encoding.table import encode
from anon.errors import DataError, UsageError
from anon.schema.attribute import numeric
from anon.schema.hierarchy.declared import dates, intervals
from anon.schema.hierarchy.levels import Levels
from anon.schema.hierarchy.tree import Tree
from anon.schema.schema import Schema
from reference.cells import quote as slow_quote
from reference.cells import text as slow_text

PIECES = [*' {}[],"*\\ab-1\n', "missing", " or missing", "é", ", ", "[1, 2]"]
NASTY = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


def domain(values: list[Any] | pa.Array, kind: Any = "nominal", **extra: Any) -> Domain:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return Domain("a", kind, array, extra.pop("has_null", False), **extra)


def cells(of: Domain, sets: list[tuple[set[int], bool]]) -> Cells:
    """Cells of classes that hold these codes, and null or not; sets for a nominal domain without a tree."""
    low = np.array([min(codes, default=1) for codes, _ in sets], dtype=np.uint32)
    high = np.array([max(codes, default=0) for codes, _ in sets], dtype=np.uint32)
    null = np.array([missing for _, missing in sets])
    flat = of.kind == "nominal" and of.tree is None
    listed = [sorted(codes) for codes, _ in sets]
    return Cells(
        of,
        np.arange(len(sets), dtype=np.uint32),
        low,
        high,
        null,
        np.cumsum([0] + [len(codes) for codes in listed]) if flat else None,
        np.array([code for codes in listed for code in codes], dtype=np.uint32) if flat else None,
    )


def shown(of: Domain, *sets: set[int], null: bool = False, numeric: Any = "interval") -> list[str]:
    return labels(cells(of, [(codes, null) for codes in sets]), numeric).to_pylist()


def test_words_of_the_spec() -> None:
    age = domain(list(range(17, 91)), "numeric", has_null=True)
    assert shown(age, {0, 8}, {3}, {0, 73}) == ["[17, 25]", "20", "*"]
    assert shown(age, {0, 8}, {3}, {0, 73}, set(), null=True) == [
        "[17, 25] or missing",
        "20 or missing",
        "* or missing",
        "missing",
    ]
    marital = domain(["Divorced", "Married", "Widowed"])
    assert shown(marital, {0, 2}, {1}, {0, 1, 2}) == ["{Divorced, Widowed}", "Married", "*"]
    grade = domain(["low", "middle, upper", "high"], "ordinal")
    assert shown(grade, {0, 1}, {1}) == ['[low, "middle, upper"]', '"middle, upper"']


def test_a_domain_of_one_value_is_shown_as_that_value() -> None:
    for kind in ("numeric", "ordinal", "nominal"):
        assert shown(domain(["5"] if kind != "numeric" else [5], kind), {0}) == ["5"]


@pytest.mark.parametrize(
    "label",
    ["", " a", "a ", "a, b", "{a}", "[1, 2]", "*", '"a"', "missing", "a or missing", "\ta", "a\n", "a*", "]"],
)
def test_labels_that_are_quoted(label: str) -> None:
    assert quote(label).startswith('"')
    assert unquote(quote(label)) == label


@pytest.mark.parametrize(
    "label", ["a", "NA", "null", "02139", "-5--3", "missing or not", "a or missing b", "Paris TX"]
)
def test_labels_that_stay(label: str) -> None:
    assert quote(label) == label == unquote(label)


@given(st.text())
def test_quote_is_the_twins(label: str) -> None:
    assert quote(label) == slow_quote(label)
    assert unquote(quote(label)) == label


@st.composite
def nasty_cells(draw: st.DrawFn) -> tuple[Domain, list[tuple[set[int], bool]]]:
    kind = draw(st.sampled_from(["ordinal", "nominal"]))
    words = draw(st.lists(NASTY, min_size=1, max_size=6, unique=True))
    has_null = draw(st.booleans())
    of = domain(pa.array(words, pa.string()), kind, has_null=has_null)
    codes = st.sets(st.integers(0, len(words) - 1), min_size=0 if has_null else 1)
    null = st.booleans() if has_null else st.just(False)
    sets = draw(st.lists(st.tuples(codes, null), min_size=1, max_size=5))
    return of, [(present, missing or not present) for present, missing in sets]


@given(nasty_cells())
@settings(max_examples=300)
def test_every_cell_reads_back(case: tuple[Domain, list[tuple[set[int], bool]]]) -> None:
    of, sets = case
    read = reader(of)
    for text, (present, null) in zip(labels(cells(of, sets)).to_pylist(), sets, strict=True):
        assert text == slow_text(of.kind, of.values.to_pylist(), present, null)
        cell = read(text)
        assert cell.null == null
        if not present:
            assert cell.low > cell.high
        else:
            assert (cell.low, cell.high) == (min(present), max(present))
            if of.kind == "nominal":
                codes = set(range(cell.low, cell.high + 1)) if cell.codes is None else set(cell.codes)
                assert codes == present


NUMBERS = [
    pa.array([-128, 0, 127], pa.int8()),
    pa.array([0, 2**64 - 1], pa.uint64()),
    pa.array([-(2**63), 2**63 - 1], pa.int64()),
    pa.array([-1e300, -0.1, 5e-324, 1 / 3, 1e16, 123456789012345680.0], pa.float64()),
    pa.array([-0.1, 0.1, 16777216.0], pa.float32()),
    pa.array(np.array([-0.1, 0.1, 2048], dtype=np.float16)),
    pa.array([Decimal("-1.50"), Decimal("0.00"), Decimal("1.05")], pa.decimal128(6, 2)),
    pa.array([Decimal("-1E+3"), Decimal("2E+3")], pa.decimal128(3, -3)),
    pa.array([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)], pa.date32()),
    pa.array([dt.date(1969, 12, 31), dt.date(2020, 3, 31)], pa.date64()),
    pa.array([-1, 0, 10**9 + 1], pa.timestamp("ns")),
    pa.array([-1, 0, 1577836800123456], pa.timestamp("us", tz="Europe/Paris")),
    pa.array([-1, 0, 253402300799], pa.timestamp("s")),
    pa.array([0, 1, 86399], pa.time32("s")),
    pa.array([0, 1001, 86399999999999], pa.time64("ns")),
    pa.array([-5, 0, 90], pa.duration("ms")),
]


@pytest.mark.parametrize("values", NUMBERS, ids=[str(values.type) for values in NUMBERS])
def test_numbers_and_dates_read_back(values: pa.Array) -> None:
    of = domain(values, "numeric")
    assert [number(text, values.type) for text in texts(values)] == keys(values)
    for code in range(len(values) - 1):
        [interval, single] = shown(of, {0, code}, {code})
        assert parse(interval, of)[:2] == (0, code)
        assert parse(single, of)[:2] == (code, code)
    assert parse("*", of)[:2] == (0, len(values) - 1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2020-01-01T02:00:00+02:00", 1577836800),
        ("2019-12-31 18:30:00-0530", 1577836800),
        ("2020-01-01T00:00:00Z", 1577836800),
        ("1969-12-31T23:59:59.5+00:00", -1),
    ],
)
def test_moments_of_another_zone(text: str, seconds: int) -> None:
    assert number(text, pa.timestamp("s", "UTC")) == seconds
    assert number(text, pa.timestamp("us")) // 10**6 == seconds


@pytest.mark.parametrize("kind", [pa.date32(), pa.time32("s")])
def test_a_day_and_a_clock_have_no_zone(kind: pa.DataType) -> None:
    text = "2020-01-01T00:00:00+02:00"
    with pytest.raises(ValueError, match="not a date or time"):
        number(text.partition("T")[2] if pa.types.is_time(kind) else text, kind)


def test_how_numbers_look() -> None:
    assert texts(pa.array([0.1, 1e22, -3.0])) == ["0.1", "1e+22", "-3.0"]
    assert texts(pa.array([0.1], pa.float32())) == ["0.1"]
    assert texts(pa.array([Decimal("2.50")])) == ["2.50"]
    assert texts(pa.array([dt.date(2020, 1, 5)])) == ["2020-01-05"]
    assert texts(pa.array([1577836800500], pa.timestamp("ms", tz="UTC"))) == ["2020-01-01T00:00:00.5Z"]
    assert texts(pa.array([5400], pa.time32("s"))) == ["01:30:00"]
    assert texts(pa.array([90], pa.duration("s"))) == ["90 seconds"]
    assert texts(pa.array([True, False])) == ["true", "false"]
    assert shown(domain([-5, -4, -3, 0], "numeric"), {0, 2}) == ["[-5, -3]"]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True))
def test_floats_round_trip(values: list[float]) -> None:
    of = domain(pa.array(sorted(values), pa.float64()), "numeric")
    assert parse(shown(of, {0})[0], of)[:2] == (0, 0)


def tree() -> Domain:
    """World: EU (FR, DE), Other (Other, "a, b"), Lone: Far (X, Y). "Other" names a leaf and a node."""
    return domain(
        ["FR", "DE", "Other", "a, b", "X", "Y"],
        tree=Tree(
            ("World", "EU", "FR", "DE", "Other", "Other", "a, b", "Lone", "Far", "X", "Y"),
            np.array([-1, 0, 1, 1, 0, 4, 4, 0, 7, 8, 8], dtype=np.int32),
            np.array([0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 5], dtype=np.int32),
            np.array([5, 1, 0, 1, 3, 2, 3, 5, 5, 4, 5], dtype=np.int32),
            np.array([0, 1, 2, 2, 1, 2, 2, 1, 2, 3, 3], dtype=np.int32),
            np.array([2, 3, 5, 6, 9, 10], dtype=np.int32),
        ),
    )


def test_nodes_of_a_tree() -> None:
    of = tree()
    spans = [(0, 0), (0, 1), (2, 2), (2, 3), (3, 3), (4, 5), (0, 5)]
    texts_of = shown(of, *[set(range(low, high + 1)) for low, high in spans])
    assert texts_of == ["FR", "EU", "Other", '{Other, "a, b"}', '"a, b"', "Far", "*"]
    assert [parse(text, of)[:2] for text in texts_of] == spans
    assert parse("Lone", of) == Cell(4, 5)


def leveled() -> Domain:
    """Values 1..12 but 7; levels [0, 5) [5, 10) [10, 15), and two sets called "5" and "high"."""
    values = [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    of_code = np.array(
        [[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2], [3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4]],
        dtype=np.int32,
    )
    levels = Levels(
        names=("five", "half"),
        labels=("[0, 5)", "[5, 10)", "[10, 15)", "5", "high"),
        level=np.array([0, 0, 0, 1, 1], dtype=np.int32),
        lower=np.array([0, 4, 9, 0, 7], dtype=np.float64),
        upper=np.array([3, 8, 11, 5, 11], dtype=np.float64),
        single=np.zeros(5, dtype=np.bool_),
        of_code=of_code,
        run=of_code.copy(),
    )
    return domain(values, "numeric", levels=levels)


def test_levels() -> None:
    of = leveled()
    wide = to_levels(
        cells(of, [({0, 1}, False), ({1, 2}, False), ({1, 4}, False), ({7, 9}, False), ({3, 9}, False)])
    )
    assert wide.of_class.tolist() == [0, 0, 1, 3, 2]
    assert labels(wide, "level").to_pylist() == ["[0, 5)", '"5"', "*", "high"]
    assert [parse(text, of)[:2] for text in labels(wide, "level").to_pylist()] == [
        (0, 3),
        (0, 5),
        (0, 10),
        (6, 10),
    ]
    assert labels(wide).to_pylist() == ["[1, 4]", "[1, 6]", "*", "[8, 12]"]


def test_intervals_of_times() -> None:
    hours = domain(pa.array([0, 3600, 86399], pa.time32("s")), "numeric")
    assert parse("[01:00:00, 24:00:00)", hours)[:2] == (1, 2)
    days = domain(pa.array([0, 86400, 86401], pa.timestamp("s", tz="UTC")), "numeric")
    assert parse("[1970-01-02 00:00:00Z, 1970-01-03 00:00:00Z)", days)[:2] == (1, 2)


def test_levels_are_needed() -> None:
    with pytest.raises(UsageError, match="'a' has no levels"):
        to_levels(cells(domain([1, 2], "numeric"), [({0}, False)]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[1, 2",
        "[1; 2]",
        "[1]",
        "{1, 2}",
        "now",
        '"5',
        "1 or missing or missing",
        "MISSING",
        "[, ]",
        "nan",
    ],
)
def test_what_is_no_cell(text: str) -> None:
    with pytest.raises(DataError, match="column 'a' has a cell that is no cell") as caught:
        parse(text, domain([1, 2, 3], "numeric"))
    assert caught.value.value == text
    for kind in ("ordinal", "nominal"):
        with pytest.raises(DataError):
            parse(text, domain(["a", "b"], kind))


def test_a_set_names_a_label_once() -> None:
    with pytest.raises(DataError):
        parse("{a, a}", domain(["a", "b"]))


def typed(of: Domain, numeric: Any, sets: list[tuple[set[int], bool]]) -> dict[str, list[Any]]:
    return {column.name: column.values.to_pylist() for column in render(cells(of, sets), numeric)}


def test_bounds_and_midpoints() -> None:
    sets = [({0, 2}, False), ({1}, True), (set(), True)]
    assert typed(domain([17, 20, 24], "numeric", has_null=True), "bounds", sets) == {
        "a_min": [17, 20, None],
        "a_max": [24, 20, None],
        "a_missing": [False, True, True],
    }
    assert typed(domain([17, 20, 24], "numeric", has_null=True), "midpoint", sets) == {
        "a": [20.5, 20.0, None],
        "a_missing": [False, True, True],
    }
    assert typed(domain([1, 4], "numeric"), "midpoint", [({0, 1}, False)]) == {"a": [2.5]}
    days = pa.array([dt.date(1969, 12, 30), dt.date(1970, 1, 2)])
    assert typed(domain(days, "numeric"), "midpoint", [({0, 1}, False)]) == {"a": [dt.date(1969, 12, 31)]}
    assert typed(domain(["lo", "hi"], "ordinal"), "bounds", [({1}, False)]) == {"a": ["hi"]}


@pytest.mark.parametrize("values", NUMBERS, ids=[str(values.type) for values in NUMBERS])
def test_midpoints_of_every_type(values: pa.Array) -> None:
    [column] = render(cells(domain(values, "numeric"), [({0, len(values) - 1}, False)]), "midpoint")
    assert column.values.type == (values.type if pa.types.is_temporal(values.type) else pa.float64())
    ticks, per_unit = measures(values)
    middle = measures(column.values)[0][0]
    assert ticks[0] <= middle * per_unit <= ticks[-1]


def test_means() -> None:
    of = domain([1.0, 2.0, 4.0], "numeric", has_null=True)
    codes = np.array([0, 2, 2, 3, 3, 1, 3], dtype=np.uint8)
    classes = Classes(
        np.array([0, 1, 2, 3, 4, 6, 5], dtype=np.uint32), np.array([0, 4, 6, 7]), np.array([], np.uint32)
    )
    shown_cells = cells(of, [({0, 2}, True), (set(), True), ({1}, False)])
    mean, missing = render(shown_cells, "mean", codes, classes)
    assert mean.values.to_pylist() == [3.0, None, 2.0]
    assert missing.values.to_pylist() == [True, True, False]
    assert (mean.name, missing.name) == ("a", "a_missing")


@given(st.permutations(list(range(12))), st.integers(0, 99))
@settings(max_examples=30)
def test_means_do_not_depend_on_row_order(order: list[int], seed: int) -> None:
    values = np.sort(np.random.default_rng(seed).random(12))
    of = domain(pa.array(values), "numeric")
    codes = np.arange(12, dtype=np.uint8)
    one = cells(of, [({0, 11}, False)])

    def mean(rows: list[int]) -> Any:
        classes = Classes(np.array(rows, dtype=np.uint32), np.array([0, 12]), np.array([], np.uint32))
        return render(one, "mean", codes, classes)[0].values[0].as_py()

    assert mean(order) == mean(list(range(12)))


def mean_and_midpoint(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Of one class that holds every value of this sorted domain once."""
    n = len(values)
    of = domain(values, "numeric")
    one = cells(of, [(set(range(n)), False)])
    classes = Classes(np.arange(n, dtype=np.uint32), np.array([0, n]), np.array([], np.uint32))
    [mean] = render(one, "mean", np.arange(n, dtype=np.uint8), classes)
    [midpoint] = render(one, "midpoint")
    return mean.values, midpoint.values


@given(st.sets(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
@settings(max_examples=100)
def test_means_and_midpoints_of_floats_lose_nothing(values: set[float]) -> None:
    ascending = sorted({value + 0.0 for value in values})
    mean, midpoint = mean_and_midpoint(pa.array(ascending))
    true = sum(map(Fraction, ascending)) / len(ascending)
    assert abs(Fraction(mean[0].as_py()) - true) <= Fraction(ulp(float(true)))
    assert midpoint[0].as_py() == float((Fraction(ascending[0]) + Fraction(ascending[-1])) / 2)


TICKS = [-(2**63) + 1, -(2**62), -1, 0, 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1]


@given(st.sets(st.sampled_from(TICKS), min_size=1))
@settings(max_examples=50)
def test_means_and_midpoints_of_whole_numbers_lose_nothing(values: set[int]) -> None:
    ticks = sorted(values)
    half = [sum(ticks), len(ticks)], [ticks[0] + ticks[-1], 2]
    for kind in (pa.timestamp("ns"), pa.duration("s"), pa.timestamp("us", "Nowhere/Land")):
        for mean, (total, parts) in zip(mean_and_midpoint(pa.array(ticks).view(kind)), half, strict=True):
            assert mean.cast(pa.int64()).to_pylist() == [total // parts]
    wide = pa.array([tick + 2**63 for tick in ticks], pa.uint64())
    scaled = pa.array([Decimal(tick).scaleb(-2) for tick in ticks], pa.decimal128(38, 2))
    for mean, more, (total, parts) in zip(
        mean_and_midpoint(wide), mean_and_midpoint(scaled), half, strict=True
    ):
        assert mean.to_pylist() == [(total + parts * 2**63) / parts]
        assert more.to_pylist() == [total / (parts * 100)]


def test_a_small_class_beside_a_huge_value() -> None:
    of = domain([-1e17, 0.5, 7.25], "numeric")
    codes = np.array([0, 1, 1, 2], dtype=np.uint8)
    classes = Classes(np.arange(4, dtype=np.uint32), np.array([0, 1, 3, 4]), np.array([], np.uint32))
    [mean] = render(cells(of, [({0}, False), ({1}, False), ({2}, False)]), "mean", codes, classes)
    assert mean.values.to_pylist() == [-1e17, 0.5, 7.25]


@pytest.mark.parametrize(
    ("values", "hierarchy"),
    [
        ([1, 3, 9], intervals(10)),
        ([4, 4, 9], intervals(10, 20)),
        ([dt.date(2020, 1, 2), dt.date(2020, 1, 5), dt.date(2020, 1, 31)], dates("month", "year")),
    ],
)
def test_a_level_that_holds_the_whole_domain(values: list[Any], hierarchy: Any) -> None:
    encoded = encode(pa.table({"a": values}), Schema([numeric("a", hierarchy)]))
    of = encoded.quasi[0]
    some = cells(of, [({0}, False), ({0, of.n_values - 1}, False)])
    widened = to_levels(some)
    assert labels(widened, "level").take(pa.array(widened.of_class)).to_pylist()[1] == "*"


@pytest.mark.parametrize(
    "values",
    [
        pa.array([-1, 5], pa.int32()).view(pa.time32("s")),
        pa.array([5, 86400], pa.int32()).view(pa.time32("s")),
        pa.array([0, 2**60]).view(pa.time64("ns")),
        pa.array([-(2**63), 5]).view(pa.timestamp("us")),
    ],
)
def test_times_that_are_none(values: pa.Array) -> None:
    for how in get_args(Rendering):
        with pytest.raises(DataError, match="column 'a' holds"):
            render(cells(domain(values, "numeric"), [({0, 1}, False)]), how)


def test_ranges_after_the_cells() -> None:
    """The codes of each added range, of sets those that the domain has."""
    of = single_cells(domain(["a", "b", "c"], "nominal"))
    more = and_ranges(of, np.array([0, 1, 3]), np.array([2, 1, 2]), np.array([False, True, True]))
    assert (more.low.tolist(), more.high.tolist()) == ([0, 1, 2, 0, 1, 3], [0, 1, 2, 2, 1, 2])
    assert more.null.tolist() == [False, False, False, False, True, True]
    assert more.set_offsets is not None
    assert more.set_codes is not None
    held = [part.tolist() for part in np.split(more.set_codes, more.set_offsets[1:-1])]
    assert held == [[0], [1], [2], [0, 1, 2], [1], []]
    assert all(one.dtype == other.dtype for one, other in ((more.low, of.low), (more.set_codes, of.low)))
