# SPDX-License-Identifier: Apache-2.0
"""Codes equal the twin's whatever layout, order or threads a table comes with; bad columns are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as pa_feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.encoding.columns import equal_codes
from anon.encoding.domain import Encoded, code_type
from anon.encoding.table import encode, encode_like
from anon.errors import DataError, UsageError
from anon.schema.attribute import Attribute, nominal, numeric, ordinal
from anon.schema.hierarchy.declared import intervals, prefix
from anon.schema.schema import Schema
from anon.tables.read import read_table
from anon.threads import available_threads
from reference.encode import encode as reference_encode


def of_one(values: Any, attribute: str | Attribute = "a", **options: Any) -> Encoded:
    """A table of one column, encoded."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return encode(pa.table({"a": column}), Schema([attribute]), **options)


def codes_of(values: Any, attribute: str | Attribute = "a") -> list[int]:
    return list(map(int, of_one(values, attribute).quasi_codes[0]))


def domain_of(values: Any, attribute: str | Attribute = "a") -> list[Any]:
    return list(of_one(values, attribute).quasi[0].values.to_pylist())


def chunked(draw: Any, column: pa.Array) -> pa.ChunkedArray:
    """The same column cut into chunks, each perhaps a dictionary with a category that does not occur."""
    n = len(column)
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    chunks = [column.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    if draw(st.booleans()):
        chunks = [chunk.dictionary_encode() for chunk in chunks]
        if draw(st.booleans()):
            chunks = [with_strangers(chunk) for chunk in chunks]
    return pa.chunked_array(chunks, type=chunks[0].type)


def with_strangers(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values through a dictionary that also lists others, repeats itself and holds a null."""
    stranger = pa.array(
        [None, "~never" if pa.types.is_string(chunk.dictionary.type) else 77], chunk.dictionary.type
    )
    values = pa.concat_arrays([stranger, chunk.dictionary, chunk.dictionary])
    shift = 2 + (len(chunk.dictionary) if len(chunk) % 2 else 0)
    indices = [None if i is None else i + shift for i in chunk.indices.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), values)


TEXTS = st.text(st.sampled_from("aZé漢\U0001f600 ,*\x00"), max_size=3)
INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 0.5, float("nan")]), st.floats(allow_infinity=False))


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize(
    ("arrow", "values"), [(pa.string(), TEXTS), (pa.int64(), INTEGERS), (pa.float64(), FLOATS)]
)
def test_codes_are_ranks_of_the_sorted_domain(arrow: pa.DataType, values: Any, data: Any) -> None:
    column = data.draw(st.lists(st.one_of(values, st.none()), min_size=1, max_size=30).filter(any_present))
    encoded = of_one(chunked(data.draw, pa.array(column, arrow)), n_threads=1)
    expected_domain, expected_codes = reference_encode(column)
    assert encoded.quasi[0].values.to_pylist() == expected_domain
    assert encoded.quasi_codes[0].tolist() == expected_codes
    assert encoded.quasi[0].has_null == (len(expected_domain) in expected_codes)


def any_present(column: list[Any]) -> bool:
    return any(value is not None and value == value for value in column)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["low", "mid", "high", None]), min_size=1).filter(any_present),
    st.permutations(["low", "mid", "high", "none"]),
)
def test_ordinal_codes_are_ranks_in_the_given_order(column: list[Any], order: list[str]) -> None:
    encoded = of_one(pa.array(column, pa.string()), ordinal("a", order))
    domain, codes = reference_encode(column, order)
    assert encoded.quasi[0].values.to_pylist() == domain
    assert encoded.quasi_codes[0].tolist() == codes
    assert encoded.quasi[0].positions is not None
    assert encoded.quasi[0].positions.tolist() == list(range(len(domain)))
    assert encoded.quasi[0].unit_lattice


@pytest.mark.parametrize(
    ("n_values", "has_null", "width"),
    [
        (255, True, "uint8"),
        (256, False, "uint8"),
        (256, True, "uint16"),
        (65536, False, "uint16"),
        (65536, True, "uint32"),
    ],
)
def test_width_is_the_narrowest_that_holds_the_codes(n_values: int, has_null: bool, width: str) -> None:
    column = np.random.default_rng(0).permutation(n_values)
    encoded = of_one(pa.array([*column.tolist(), *([None] if has_null else [])]))
    assert encoded.quasi_codes[0].dtype == width == code_type(n_values + has_null)
    assert encoded.quasi_codes[0].tolist() == [*column.tolist(), *([n_values] if has_null else [])]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_threads_and_blocks_do_not_change_the_codes(n_threads: int) -> None:
    rng = np.random.default_rng(1)
    n = 200_000  # more than one block of rows
    table = pa.table(
        {
            "a": rng.integers(0, 1000, n),
            "b": rng.normal(size=n).round(2),
            "c": rng.integers(0, 50, n).astype(str),
        }
    )
    encoded = encode(table, Schema(["a", "b", "c"]), n_threads=n_threads)
    for name, codes in zip("abc", encoded.quasi_codes, strict=True):
        _, ranks = np.unique(table[name].to_numpy(), return_inverse=True)
        np.testing.assert_array_equal(codes, ranks)
        assert not codes.flags.writeable


@given(st.permutations(range(8)))
def test_row_order_does_not_matter(order: list[int]) -> None:
    table = pa.table({"a": ["x", None, "b", "x", "a", "é", "b", "b"], "b": [3, 1, None, 2, 3, 3, 1, 1]})
    schema = Schema([nominal("a", {"*": {"n": ["b", "x"], "m": ["a", "é"]}}), "b"])
    straight, shuffled = encode(table, schema), encode(table.take(order), schema)
    for one, other in zip(straight.quasi_codes, shuffled.quasi_codes, strict=True):
        assert one[order].tolist() == other.tolist()
    assert straight.quasi[0].values == shuffled.quasi[0].values


# --- Types ---------------------------------------------------------------------------------------

D = Decimal
NUMBERS = [
    (pa.int8(), [-128, 127, 0], [0, 128, 255], True),
    (pa.uint8(), [255, 0, 7], [0, 7, 255], True),
    (pa.int16(), [-300, 20], [0, 320], True),
    (pa.uint32(), [2**32 - 1, 1], [0, 2**32 - 2], True),
    (pa.int64(), [-(2**63), 2**63 - 1, 0], [0, 2**63, 2**64 - 1], True),
    (pa.uint64(), [2**64 - 1, 2**53, 2**53 + 1], [0, 1, 2**64 - 1 - 2**53], True),
    (pa.float16(), [np.float16(0.5), np.float16(-1)], [0, 1.5], False),
    (pa.float32(), [0.5, -1], [0, 1.5], False),
    (pa.float64(), [1e308, -1e308], [0, 1e308], False),  # halved where the difference overflows
    (getattr(pa, "decimal32", pa.decimal128)(5, 2), [D("1.25"), D("-3")], [0, 425], True),
    (pa.decimal128(6, 2), [D("1.25"), D("-3"), D("1.5")], [0, 425, 450], True),
    (pa.decimal128(38, 0), [D(10**30), D(10**30 + 7)], [0, 7], True),
    (pa.decimal256(60, 1), [D("0.1"), D("-1e40")], [0, 1e41 + 1], True),
    (pa.date32(), [dt.date(2020, 3, 1), dt.date(2020, 2, 28)], [0, 2], True),
    (pa.date64(), [dt.date(2020, 3, 1), dt.date(2020, 2, 28)], [0, 2], True),
    (pa.timestamp("ms"), [dt.datetime(2020, 1, 1, 0, 0, 1), dt.datetime(2020, 1, 1)], [0, 1000], False),
    (pa.timestamp("us", "Europe/Rome"), [5, 2], [0, 3], False),
    (pa.time32("s"), [dt.time(8), dt.time(0)], [0, 28800], False),
    (pa.duration("s"), [3, -2], [0, 5], False),
]


@pytest.mark.parametrize(
    ("arrow", "column", "positions", "unit_lattice"), NUMBERS, ids=[str(n[0]) for n in NUMBERS]
)
def test_numbers_dates_and_times(
    arrow: pa.DataType, column: list[Any], positions: list[float], unit_lattice: bool
) -> None:
    """Order and distances are exact whatever the type; the bare name is enough to be numeric."""
    values = pa.array(column, arrow)
    encoded = of_one(pa.concat_arrays([values, pa.nulls(1, arrow)]))
    domain = encoded.quasi[0]
    assert domain.kind == "numeric"
    assert domain.positions is not None
    assert domain.positions.tolist() == [float(position) for position in positions]
    assert domain.unit_lattice == unit_lattice
    assert encoded.quasi_codes[0].tolist() == [*np.argsort(np.argsort(np.array(column))), len(column)]


@pytest.mark.parametrize("arrow", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_string_layout(arrow: pa.DataType) -> None:
    column = pa.array(["b", None, "é", "a", "Z", "b", ""], arrow)
    for each in (column, column.dictionary_encode()):
        assert domain_of(each) == ["", "Z", "a", "b", "é"]
        assert codes_of(each) == [3, 5, 4, 2, 1, 3, 0]


def test_booleans_are_labels() -> None:
    assert domain_of([True, False, None]) == ["false", "true"]
    assert codes_of([True, False, None]) == [1, 0, 2]
    assert codes_of([True, False], ordinal("a", [True, False])) == [0, 1]


def test_numbers_declared_nominal_are_labels_in_code_point_order() -> None:
    assert domain_of([10, 9, 100], nominal("a")) == ["10", "100", "9"]
    assert domain_of([0.0, -0.0, 1.5], nominal("a")) == ["0", "1.5"]


def test_numbers_declared_ordinal_are_met_by_their_label() -> None:
    assert codes_of([1, 16, 3], ordinal("a", [16, 3, 1])) == [2, 0, 1]
    assert codes_of([1.0, 0.5], ordinal("a", [1.0, 0.5])) == [0, 1]
    assert codes_of(["1", "2"], ordinal("a", [2, 1])) == [1, 0]


def test_nan_is_missing_and_negative_zero_is_zero() -> None:
    assert codes_of([0.0, -0.0, float("nan"), None, 2.0]) == [0, 0, 2, 2, 1]
    quiet = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    assert codes_of([quiet, 1.0]) == [1, 0]


def test_unused_repeated_and_null_categories_are_never_counted() -> None:
    """Trap 24, for every way in which a dictionary can say more or less than its rows."""
    dictionary = pa.array(["never", "b", None, "a", "b"])
    column = pa.DictionaryArray.from_arrays(pa.array([1, 2, 3, 4, None], pa.int8()), dictionary)
    assert domain_of(column) == ["a", "b"]
    assert codes_of(column) == [1, 2, 0, 1, 2]


@pytest.mark.polars
def test_unused_categories_of_polars_are_never_counted() -> None:
    import polars as pl

    frame = pl.DataFrame({"a": pl.Series(["x", "y", "x"], dtype=pl.Enum(["z", "y", "x"]))})
    assert domain_of(read_table(frame)["a"]) == ["x", "y"]


def test_garbage_under_null_slots_is_not_read() -> None:
    valid = pa.py_buffer(b"\x01")  # only the first of three is valid
    indices = pa.Array.from_buffers(pa.int32(), 3, [valid, pa.py_buffer(np.array([0, 999, -5], np.int32))])
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    assert codes_of(column) == [0, 1, 1]
    assert domain_of(column) == ["a"]


def test_chunks_with_other_dictionaries() -> None:
    chunks = [
        pa.array(["b", "a"]).dictionary_encode(),
        pa.array(["c", "b"]).dictionary_encode(),
        pa.array(["b", "a"]).dictionary_encode(),
    ]
    assert codes_of(pa.chunked_array(chunks)) == [1, 0, 2, 1, 1, 0]


def test_sliced_columns() -> None:
    table = pa.table({"a": pa.array([5, None, 7, 6]), "b": pa.array([D("1"), D("2"), None, D("3")])}).slice(
        1, 3
    )
    encoded = encode(table, Schema(["a", "b"]))
    assert [codes.tolist() for codes in encoded.quasi_codes] == [[2, 1, 0], [0, 2, 1]]
    assert encoded.quasi[1].positions is not None
    assert encoded.quasi[1].positions.tolist() == [0, 1]


def test_leaves_are_numbered_depth_first_in_the_hierarchys_own_order() -> None:
    tree = {"*": {"gov": ["state", "federal"], "none": None, "private": ["self", "other"]}}
    column = ["other", "state", "none", "federal", None, "self"]
    assert domain_of(column, nominal("a", tree)) == ["state", "federal", "none", "self", "other"]
    assert codes_of(column, nominal("a", tree)) == [4, 0, 2, 1, 5, 3]


# --- Roles and missing values --------------------------------------------------------------------


def test_identifying_columns_are_dropped_and_neutral_ones_kept() -> None:
    table = pa.table({"name": ["A", "B"], "a": [1, 2], "s": ["x", "y"], "note": [[1], [2]]})
    encoded = encode(table, Schema([numeric("a", weight=2)], ["s"], ["name"], neutral="rest"))
    assert encoded.table.column_names == ["a", "s", "note"]
    assert encoded.quasi[0].weight == 2.0
    assert encoded.sensitive[0].name == "s"
    assert encoded.schema.quasi[0].kind == "numeric"
    assert encoded.schema.sensitive[0].kind == "nominal"
    assert encoded.n_rows == 2
    assert "A" not in repr(encoded)
    assert "x" not in repr(encoded.sensitive[0])


@pytest.mark.parametrize(
    ("column", "codes"),
    [([30, 30, 30, 30, None], [0, 0, 0, 0, 1]), (["x", "x", None, "y", "y"], [0, 0, 2, 1, 1])],
)
def test_rows_with_a_null_stay(column: list[Any], codes: list[int]) -> None:
    """Traps 1, 2 and 3."""
    assert codes_of(column) == codes
    assert len(of_one(column).suppressed) == 0


def test_missing_suppress_leaves_rows_out_but_not_their_values() -> None:
    """D_a is that of the table before suppression (spec 0)."""
    table = pa.table({"a": [1, 2, None, 4], "s": ["u", "v", "v", None]})
    encoded = encode(table, Schema(["a"], ["s"]), missing="suppress")
    assert encoded.suppressed.tolist() == [2, 3]
    assert encoded.suppressed.dtype == np.uint32
    assert encoded.quasi[0].values.to_pylist() == [1, 2, 4]
    assert encoded.n_rows == 4


def test_missing_error_names_column_row_and_count() -> None:
    table = pa.table({"a": [1, 2, 3, 4], "b": [1.0, None, 2.0, float("nan")]})
    with pytest.raises(
        DataError, match="'b' is missing in 2 rows, the first of them row 2; fill it"
    ) as caught:
        encode(table, Schema(["a", "b"]), missing="error")
    assert (caught.value.column, caught.value.row, caught.value.count) == ("b", 1, 2)
    assert encode(table, Schema(["a"]), missing="error").quasi[0].n_codes == 4


def test_parameters_are_checked() -> None:
    with pytest.raises(UsageError, match="category, suppress, error"):
        of_one([1], missing="drop")
    for schema in ("a", None, {"quasi": ["a"]}):
        with pytest.raises(UsageError, match="schema must be an anon"):
            encode(pa.table({"a": [1]}), schema)


@pytest.mark.parametrize(
    "asked", [0, -1, 1.5, "2", True, float("nan"), 10**30, np.bool_(True), [1]], ids=repr
)
def test_threads_are_counted_in_whole_numbers(asked: Any) -> None:
    with pytest.raises(UsageError, match="n_threads must be None or a whole number from 1 to 1024"):
        available_threads(asked)
    with pytest.raises(UsageError, match="n_threads"):
        of_one([1], n_threads=asked)


def test_threads_asked_for_are_given() -> None:
    assert available_threads(3) == available_threads(np.int64(3)) == 3
    assert available_threads() >= 1


# --- Refused -------------------------------------------------------------------------------------


def refused(values: Any, attribute: str | Attribute = "a") -> DataError:
    """The error, after checking that it names the column and does not tell the value."""
    with pytest.raises(DataError) as caught:
        of_one(values, attribute)
    assert "'a'" in str(caught.value)
    assert caught.value.column == "a"
    if isinstance(caught.value.value, str):
        assert caught.value.value not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "arrow", [pa.string(), pa.int64(), pa.float64(), pa.null(), pa.dictionary(pa.int32(), pa.string())]
)
def test_a_column_of_nulls_only_is_missing_in_every_row(arrow: pa.DataType) -> None:
    encoded = encode(pa.table({"a": pa.nulls(3, arrow)}), Schema(["a"]))
    [domain], [codes] = encoded.quasi, encoded.quasi_codes
    assert (domain.n_values, domain.has_null, codes.tolist()) == (0, True, [0, 0, 0])


def test_a_column_of_nan_only_is_missing_in_every_row() -> None:
    encoded = encode(pa.table({"a": [float("nan")] * 2}), Schema(["a"]))
    assert (encoded.quasi[0].n_values, encoded.quasi_codes[0].tolist()) == (0, [0, 0])


@pytest.mark.parametrize("infinity", [float("inf"), float("-inf")])
@pytest.mark.parametrize("arrow", [pa.float16(), pa.float32(), pa.float64()])
def test_infinities_are_refused(infinity: float, arrow: pa.DataType) -> None:
    error = refused(
        pa.array(np.array([1, infinity, float("nan"), infinity], arrow.to_pandas_dtype()), from_pandas=True)
    )
    assert (error.row, error.count, error.value) == (1, 2, infinity)
    assert "infinite in 2 rows, the first of them row 2; replace" in str(error)


def test_a_value_that_the_order_lacks_is_refused() -> None:
    error = refused(["b", "mid", None, "mid2", "mid2"], ordinal("a", ["mid", "b"]))
    assert (error.row, error.count, error.value) == (3, 2, "mid2")
    assert "add them to the order" in str(error)


def test_a_value_that_the_hierarchy_lacks_is_refused() -> None:
    """Trap 7, for trees and for levels."""
    error = refused(["81667", "81675", "81675"], nominal("a", {"*": ["81667"]}))
    assert (error.row, error.count, error.value) == (1, 2, "81675")
    assert "hierarchy does not list, in 2 rows, the first of them row 2; add" in str(error)
    error = refused([1, 2, 77], numeric("a", {"*": [1, 2]}))
    assert (error.row, error.count, error.value) == (2, 1, 77)
    assert "in row 3" in str(error)


def test_a_category_that_never_occurs_needs_no_place_in_hierarchy_or_order() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "never"]))
    assert codes_of(column, nominal("a", {"*": ["a"]})) == [0, 0]
    assert codes_of(column, ordinal("a", ["a"])) == [0, 0]


def test_text_declared_numeric_is_refused_at_its_first_row() -> None:
    error = refused(["1", None, "2", "n/a", "n/a"], numeric("a"))
    assert (error.row, error.count, error.value) == (3, 2, "n/a")
    assert "--null" in str(error)
    assert "nominal" in str(refused(["1", "2"], numeric("a")))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"x": 1}]),
        pa.array([b"x"]),
        pa.array([b"x"]).dictionary_encode(),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    ],
    ids=["list", "struct", "binary", "dictionary of binary", "map"],
)
def test_a_type_without_order_or_label_is_refused(column: pa.Array) -> None:
    assert "cast it" in str(refused(column))


def test_no_rows() -> None:
    """Trap 28."""
    with pytest.raises(DataError, match="no rows"):
        encode(pa.table({"a": pa.array([], pa.int64())}), Schema(["a"]))


# --- A second table ------------------------------------------------------------------------------


def test_encode_like_uses_the_first_tables_domains() -> None:
    first = pa.table({"a": [1, 5, 3, None], "b": ["x", "y", "x", "y"], "c": ["lo", "hi", "lo", "lo"]})
    schema = Schema(["a", nominal("b", {"*": ["y", "x"]}), ordinal("c", ["lo", "hi"])])
    domains = encode(first, schema).quasi
    second = pa.table(
        {
            "c": ["hi", "other", None],
            "b": pa.array(["x", None, "z"]).dictionary_encode(),
            "a": pa.array([3, 2**40, None], pa.int64()),
        }
    )
    a, b, c = encode_like(second, domains)
    assert a.tolist() == [1, 4, 3]  # 4 = n_codes: not in the domain; 3: null
    assert b.tolist() == [1, 2, 2]  # no null in the domain
    assert c.tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("known", "values"),
    [
        (pa.array([1, 44], pa.int8()), pa.array([44, 300, 1])),
        (pa.array([2**64 - 1, 44, 1], pa.uint64()), pa.array([44, -1, 1])),
        (pa.array([44.0, 1.0]), pa.array([44, 2, 1])),
        (pa.array([44.0, 1.0, -0.0, None]), pa.array([44.0, float("inf"), 1.0], pa.float32())),
        (pa.array([D("44.0"), D("1.0")]), pa.array([D("44.00"), D("1.01"), D("1.00")])),
        (pa.array([44, 1], pa.timestamp("s")), pa.array([44000, 1, 1000], pa.timestamp("ms"))),
    ],
)
def test_encode_like_compares_values_across_types(known: pa.Array, values: pa.Array) -> None:
    domain = of_one(known).quasi[0]
    ((first, second, third),) = encode_like(pa.table({"a": values}), [domain])
    assert domain.values[int(first)] == values[0].cast(domain.values.type)
    assert second == domain.n_codes
    assert domain.values[int(third)] == values[2].cast(domain.values.type)


def test_encode_like_refuses_what_it_cannot_compare() -> None:
    domain = of_one([1, 2]).quasi[0]
    with pytest.raises(DataError, match="'a' is large_string here and int64 there"):
        encode_like(pa.table({"a": ["1"]}), [domain])
    floats = of_one([1.0, 2.5]).quasi[0]
    with pytest.raises(DataError, match="'a' is int64 here and double there; cast one"):
        encode_like(pa.table({"a": [2**53 + 1]}), [floats])
    with pytest.raises(DataError, match="no column 'a'"):
        encode_like(pa.table({"b": [1]}), [domain])


def test_hierarchies_reach_the_domain() -> None:
    assert of_one([1, 12], numeric("a", intervals(10))).quasi[0].levels is not None
    assert of_one(["021", "022"], nominal("a", prefix(2))).quasi[0].tree is not None


def test_a_date64_that_is_no_whole_day_is_its_day(tmp_path: Path) -> None:
    milliseconds = [-1, 0, 86_399_999, -86_400_000, -86_400_001, None]
    column = pa.array(milliseconds, pa.int64()).view(pa.date64())
    days = [dt.date(1969, 12, 30), dt.date(1969, 12, 31), dt.date(1970, 1, 1)]
    pa_feather.write_feather(pa.table({"a": column}), tmp_path / "t.feather")
    for each in (column, column.dictionary_encode(), read_table(tmp_path / "t.feather")["a"]):
        assert domain_of(each) == days
        assert codes_of(each) == [1, 2, 2, 1, 0, 3]


LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("numbers", "arrow_type", "what"),
    [
        ([LEAST, 0, MOST], pa.date64(), "dates outside of the years 1 to 9999"),
        ([-(2**31), 0, 2**31 - 1], pa.date32(), "dates outside of the years 1 to 9999"),
        ([-719163, 0, 2932897], pa.date32(), "dates outside of the years 1 to 9999"),
        ([LEAST, 0, MOST], pa.timestamp("s"), "timestamps outside of the years 1 to 9999"),
        ([LEAST, 0, MOST], pa.timestamp("us", "Europe/Berlin"), "timestamps outside of the years 1 to 9999"),
        ([-1, 0, 86400], pa.time32("s"), "times outside of a day"),
        ([LEAST, 0, 86400 * 10**9], pa.time64("ns"), "times outside of a day"),
        ([LEAST, 0, MOST], pa.duration("s"), "durations of a billion days"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["numeric", "nominal"])
def test_dates_that_cannot_be_written_are_refused(
    numbers: list[int], arrow_type: pa.DataType, what: str, kind: Any
) -> None:
    column = pa.array(numbers, pa.int32() if arrow_type.bit_width == 32 else pa.int64()).view(arrow_type)
    with pytest.raises(DataError, match=f"'a' holds {what} in 2 rows, the first of them row 1; replace"):
        of_one(column, Attribute("a", kind))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-719162, 2932896], pa.int32()).view(pa.date32()),
        pa.array([-719162 * 86400, 2932897 * 86400 - 1], pa.timestamp("s")),
        pa.array([-719162 * 86400, 2932897 * 86400 - 1], pa.timestamp("s", "UTC")),
        pa.array([-719161 * 86400, 2932896 * 86400 - 1], pa.timestamp("s", "Europe/Berlin")),
        pa.array([LEAST, MOST], pa.timestamp("ns")),
        pa.array([0, 86399], pa.time32("s")),
        pa.array([-999_999_999 * 86400, 999_999_999 * 86400], pa.duration("s")),
    ],
    ids=lambda column: str(column.type),
)
def test_the_first_and_last_date_that_can_be_written(column: pa.Array) -> None:
    assert len(domain_of(column)) == 2


def test_an_unknown_time_zone_is_refused() -> None:
    column = pa.array([1, 2], pa.timestamp("s", "No/Where"))
    for each in (column, column.dictionary_encode()):
        for attribute in (numeric("a"), nominal("a")):
            with pytest.raises(DataError, match="'a' has an unknown time zone, 'No/Where'; cast it to UTC"):
                of_one(each, attribute)


@given(
    st.sampled_from([pa.int8(), pa.uint8(), pa.int16(), pa.int64(), pa.uint64()]),
    st.booleans(),
    st.lists(st.none() | st.integers(0, 300), max_size=40),
    st.integers(0, 40),
    st.sampled_from([1, 10, 300, 2**30]),
)
def test_equal_codes_are_equal_where_the_values_are(
    kind: pa.DataType, at_the_end: bool, drawn: list[int | None], cut: int, most: int
) -> None:
    """Whole numbers near an end of their type, in chunks, as distances where they are close together."""
    width = kind.bit_width
    least = 0 if pa.types.is_unsigned_integer(kind) else -(2 ** (width - 1))
    greatest = least + 2**width - 1
    values = [
        None if each is None else greatest - each % (2**width) if at_the_end else least + each % (2**width)
        for each in drawn
    ]
    column = pa.chunked_array([pa.array(part, kind) for part in (values[:cut], values[cut:])], kind)
    codes = equal_codes(column, "x", most)
    assert codes is not None
    assert len(set(zip(values, codes.tolist(), strict=True))) == len(set(values)) == len(set(codes.tolist()))
