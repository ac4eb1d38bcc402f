# SPDX-License-Identifier: Apache-2.0
"""Any table -> codes and domains. Missing values end here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.encoding.coding import coding_of, within
from anon.encoding.domain import Codes, Domain, Encoded, code_type
from anon.encoding.factors import BLOCK, Factors, each_column, factors_of
from anon.errors import DataError
from anon.schema import (
    TICKS_PER_SECOND,
    Attribute,
    Listed,
    MissingValues,
    Schema,
    is_text,
    kind_of,
    label_of,
    levels_of,
    not_finer,
    places,
    tree_of,
    value_type,
)
from anon.threads import in_threads

if TYPE_CHECKING:
    from anon.tables import Scan


def label_codes(
    table: pa.Table | Scan, names: Sequence[str], n_threads: int = 1
) -> list[tuple[Codes, list[str | None]]]:
    """Every named column as codes of texts in code-point order, the last of which is None: missing."""
    return each_column(table, [Attribute(name, "nominal") for name in names], _label_codes, n_threads)


def _label_codes(factors: Factors, attribute: Attribute) -> tuple[Codes, list[str | None]]:
    present = _present(factors, factors.used(), attribute.name)
    labels, ranks = _ranked(text_labels(factors.values.take(pa.array(present))))
    code_of = np.full(len(factors.values) + 1, len(labels), dtype=code_type(len(labels) + 1))
    code_of[present] = ranks
    return factors.recode(code_of), [*labels.to_pylist(), None]


def encode_factors(factors: Factors, attribute: Attribute) -> tuple[Domain, Codes]:
    """The domain of an attribute and the code of every row."""
    name = attribute.name
    used = factors.used()
    present = _present(factors, used, name)
    if len(present) == 0:
        nulls = factors.recode(np.zeros(len(factors.values) + 1, np.uint8))
        return Domain(name, "nominal", pa.array([], pa.string()), True), nulls
    kept = factors.values.take(pa.array(present))
    absent = used.copy()
    absent[present] = False
    describe = {"numeric": _numeric, "ordinal": _ordinal, "nominal": _nominal}[attribute.kind or "nominal"]
    try:
        domain, ranks = describe(kept, attribute, bool(absent.any()))
    except _Unlisted as error:
        marked = np.zeros(len(factors.values), dtype=np.bool_)
        marked[present] = error.missing
        raise _error_in_rows(factors, marked, name, error.what, error.way_out) from None
    # without nulls the entry for null is never read
    code_of = np.full(len(factors.values) + 1, domain.n_codes - 1, dtype=code_type(domain.n_codes))
    code_of[present] = ranks
    return domain, factors.recode(code_of)


def encode_column(column: pa.ChunkedArray, attribute: Attribute) -> tuple[Domain, Codes]:
    """The domain of one column in memory and the code of every row."""
    return encode_factors(factors_of(column, attribute.name), attribute)


def equal_codes(column: pa.ChunkedArray, name: str, most_codes: int) -> Codes | None:
    """A code for every row, equal where the values are; null has one. None where they cannot be compared.

    Whole numbers that lie close together, `most_codes` or fewer with all between, are coded by their distance
    from the least.
    """
    codes = _distances(column, most_codes) if pa.types.is_integer(column.type) else None
    if codes is not None:
        return codes
    try:
        kind_of(name, column.type)
        factors = factors_of(column, name)
    except DataError:
        return None
    once = factors.values.dictionary_encode()
    code_of = once.indices.fill_null(len(once.dictionary)).to_numpy()
    code_of = np.append(code_of, len(once.dictionary))
    return factors.recode(code_of.astype(code_type(len(once.dictionary) + 1)))


def _distances(column: pa.ChunkedArray, most_codes: int) -> Codes | None:
    """Of whole numbers how far each is from the least; null is one further than the greatest."""
    low, high = (end.as_py() for end in pc.min_max(column).values())
    if low is None or high - low >= most_codes:
        return None
    codes = np.empty(len(column), code_type(high - low + 2))
    wide = np.uint64 if pa.types.is_uint64(column.type) else np.int64
    row = 0
    for chunk in column.chunks:
        for start in range(0, len(chunk), BLOCK):
            block = chunk.slice(start, BLOCK)
            part = codes[row : row + len(block)]
            numbers = block.fill_null(low).to_numpy() if block.null_count else block.to_numpy()
            np.subtract(numbers, low, out=part, dtype=wide, casting="unsafe")
            if block.null_count:
                part[np.asarray(block.is_null())] = high - low + 1
            row += len(block)
    return codes


def coded_columns(
    encoded: Encoded, n_threads: int = 1
) -> tuple[dict[str, tuple[Domain, Codes]], tuple[str, ...]]:
    """The domain and codes of every published column, in schema order and then that of the table; and the
    neutral columns whose type has none.
    """
    known = {
        domain.name: (domain, codes)
        for domain, codes in zip(
            (*encoded.quasi, *encoded.sensitive),
            (*encoded.quasi_codes, *encoded.sensitive_codes),
            strict=True,
        )
    }
    neutral = [name for name in encoded.table.column_names if name not in known]

    def coded(name: str) -> tuple[Domain, Codes] | None:
        column = encoded.column(name)
        try:
            return encode_column(column, Attribute(name, kind_of(name, column.type)))
        except DataError:
            return None

    pairs = dict(zip(neutral, in_threads(n_threads, coded, neutral), strict=True))
    known |= {name: pair for name, pair in pairs.items() if pair is not None}
    return known, tuple(name for name, pair in pairs.items() if pair is None)


class _Unlisted(Exception):
    """Some of a column's values (`missing`, bool) are not where the user should have listed them."""

    def __init__(self, missing: npt.NDArray[np.bool_], where: str, way_out: str | None = None) -> None:
        super().__init__(where)
        self.missing = missing
        self.what = f"holds values that its {where} does not list,"
        self.way_out = way_out or f"add them to the {where}"


def _numeric(values: pa.Array, attribute: Attribute, has_null: bool) -> tuple[Domain, npt.NDArray[np.int64]]:
    """The domain of a numeric attribute, and the code of each of `values` (which may repeat)."""
    distinct, ranks = _ranked(values)
    positions, unit_lattice = _positions(distinct)
    positions.flags.writeable = False
    levels = None
    if attribute.hierarchy is not None:
        hierarchy = attribute.hierarchy
        hierarchy = hierarchy if attribute.least is None else not_finer(hierarchy, attribute.least)
        try:
            levels = levels_of(hierarchy, distinct, positions, unit_lattice, attribute.name)
        except MissingValues as error:
            raise _Unlisted(error.missing[ranks], "hierarchy") from None
    coding = coding_of(attribute, distinct, unit_lattice, None)
    if coding is not None:
        # between the first and the last value, so that all are measured alike
        ends = [pa.concat_arrays([distinct[:1], one, distinct[-1:]]) for one in within(coding, distinct)]
        lower, upper = (_positions(one)[0][1:-1] for one in ends)
        coding = replace(coding, reach=(lower, upper))
    domain = Domain(
        attribute.name,
        "numeric",
        distinct,
        has_null,
        positions,
        unit_lattice,
        None,
        levels,
        float(attribute.weight),
        coding,
    )
    return domain, ranks


def _ordinal(values: pa.Array, attribute: Attribute, has_null: bool) -> tuple[Domain, npt.NDArray[np.int64]]:
    """Likewise, of an ordinal one: the values of its order that occur."""
    order = pa.array(
        [label_of(value, attribute.name) for value in attribute.order or ()], type=pa.large_string()
    )
    at = pc.index_in(text_labels(values), value_set=order)
    if at.null_count:
        raise _Unlisted(np.asarray(at.is_null()), "order")
    occurring, ranks = np.unique(at.to_numpy(), return_inverse=True)
    positions = np.arange(len(occurring), dtype=np.float64)
    positions.flags.writeable = False
    labels = _plain(order.take(pa.array(occurring)))
    return Domain(
        attribute.name, "ordinal", labels, has_null, positions, True, weight=float(attribute.weight)
    ), ranks


def _nominal(values: pa.Array, attribute: Attribute, has_null: bool) -> tuple[Domain, npt.NDArray[np.int64]]:
    """Likewise, of a nominal one: labels in code-point order, or the leaves of its tree depth first."""
    labels, ranks = _ranked(text_labels(values))
    tree = None
    if attribute.hierarchy is not None:
        try:
            tree, leaves = tree_of(attribute.hierarchy, labels.to_pylist(), attribute.name)
        except MissingValues as error:
            if isinstance(attribute.hierarchy, Listed):
                where = "hierarchy in the file's metadata"
                raise _Unlisted(error.missing[ranks], where, "name its role and hierarchy yourself") from None
            raise _Unlisted(error.missing[ranks], "hierarchy") from None
        labels = labels.take(pa.array(leaves))
        code_of_rank = np.empty_like(leaves)
        code_of_rank[leaves] = np.arange(len(leaves))
        ranks = code_of_rank[ranks]
    return Domain(
        attribute.name,
        "nominal",
        _plain(labels),
        has_null,
        tree=tree,
        weight=float(attribute.weight),
        coding=coding_of(attribute, labels, False, tree),
    ), ranks


def _present(factors: Factors, used: npt.NDArray[np.bool_], name: str) -> npt.NDArray[np.intp]:
    """Where the values stand that occur and are not missing; infinite ones are refused, and dates and
    times that cannot be written.
    """
    valid = used[:-1] & np.asarray(factors.values.is_valid())
    if pa.types.is_floating(factors.values.type):
        infinite = valid & np.isinf(factors.values.to_numpy(zero_copy_only=False))
        if infinite.any():
            way_out = "replace infinities by numbers or by null"
            raise _error_in_rows(factors, infinite, name, "is infinite", way_out)
    limits = _limits(factors.values.type)
    if limits is not None:
        least, most, what = limits
        ticks = factors.values.view(pa.int32() if factors.values.type.bit_width == 32 else pa.int64())
        numbers = ticks.fill_null(0).to_numpy()
        outside = valid & ((numbers < least) | (numbers > most))
        if outside.any():
            raise _error_in_rows(factors, outside, name, what, "replace them by null")
    return np.flatnonzero(valid)


def _limits(arrow_type: pa.DataType) -> tuple[int, int, str] | None:
    """The first and last date or time (in ticks) that can be written, and what a column beyond holds."""
    types = pa.types
    first, last = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31 in days
    if types.is_date32(arrow_type):
        return first, last, "holds dates outside of the years 1 to 9999"
    if not (types.is_timestamp(arrow_type) or types.is_time(arrow_type) or types.is_duration(arrow_type)):
        return None
    day = 86_400 * TICKS_PER_SECOND[arrow_type.unit]
    if types.is_time(arrow_type):
        return 0, day - 1, "holds times outside of a day"
    if types.is_duration(arrow_type):
        return -999_999_999 * day, 999_999_999 * day, "holds durations of a billion days"
    margin = 0 if arrow_type.tz in (None, "UTC") else 1  # the local day may be the one before or after
    what = "holds timestamps outside of the years 1 to 9999"
    return (first + margin) * day, (last + 1 - margin) * day - 1, what


def check_numbers(table: pa.Table | Scan, schema: Schema) -> None:
    """Refuse text where numbers are declared, saying which rows hold none."""
    n_of = Counter(table.column_names)
    for attribute in (*schema.quasi, *schema.sensitive):
        name = attribute.name
        if attribute.kind != "numeric" or n_of[name] != 1:
            continue
        if is_text(value_type(table.schema.field(name).type)):
            each_column(table, [attribute], _refuse_other_text, 1)


def _refuse_other_text(factors: Factors, attribute: Attribute) -> None:
    wrong = [text is not None and not _is_number(text) for text in factors.values.to_pylist()]
    marked = factors.used()[:-1] & np.array(wrong, dtype=np.bool_)
    if marked.any():
        way_out = "correct them, list them as missing (--null), or declare the column nominal"
        what = "is declared numeric and holds other text"
        raise _error_in_rows(factors, marked, attribute.name, what, way_out)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _error_in_rows(
    factors: Factors, marked: npt.NDArray[np.bool_], name: str, what: str, way_out: str
) -> DataError:
    """The error for a column some of whose values (marked) are refused."""
    row, count, value = factors.rows_of(marked)
    return DataError(
        f"column {name!r} {what} {rows(row, count)}; {way_out}",
        column=name,
        row=row,
        count=count,
        value=value,
    )


def rows(row: int, count: int) -> str:
    return f"in row {row + 1}" if count == 1 else f"in {count} rows, the first of them row {row + 1}"


def _ranked(values: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Sorted distinct values, and the rank of every value among them."""
    if pa.types.is_large_string(values.type):  # which take long to sort: each once
        once = values.dictionary_encode()
        if len(once.dictionary) < len(values):
            labels, ranks = _ranked(once.dictionary)
            return labels, ranks[once.indices.to_numpy()]
    if pa.types.is_floating(values.type) or pa.types.is_integer(values.type):
        order = np.argsort(values.to_numpy())
    else:
        order = pc.array_sort_indices(values).to_numpy()
    ordered = values.take(pa.array(order))
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.cumsum(is_new) - 1
    return ordered.filter(pa.array(is_new)), ranks


def text_labels(values: pa.Array) -> pa.Array:
    if pa.types.is_duration(values.type):  # which Arrow does not cast to text
        ticks = values.cast(pa.int64()).cast(pa.string())
        return pc.binary_join_element_wise(ticks, values.type.unit, "").cast(pa.large_string())
    return values if pa.types.is_large_string(values.type) else values.cast(pa.large_string())


def _plain(labels: pa.Array) -> pa.Array:
    """Labels as `string`, where 2 GiB of them suffice."""
    return labels.cast(pa.string()) if labels.nbytes < 1 << 31 else labels


def _positions(values: pa.Array) -> tuple[npt.NDArray[np.float64], bool]:
    """Distances from the first of the sorted values, taken exactly; do they lie on a unit lattice?"""
    types = pa.types
    if types.is_floating(values.type):
        numbers = values.to_numpy().astype(np.float64)
        with np.errstate(over="ignore"):
            positions = numbers - numbers[0]
        return positions if np.isfinite(positions[-1]) else numbers / 2 - numbers[0] / 2, False
    ticks, _ = places(values)
    if ticks.dtype == object:
        positions = (ticks - ticks[0]).astype(np.float64)
    else:
        # modulo 2**64, in which the difference of any two 64-bit integers is exact
        ticks = np.ascontiguousarray(ticks).view(np.uint64)
        positions = (ticks - ticks[0]).astype(np.float64)
    return positions, not (
        types.is_timestamp(values.type) or types.is_time(values.type) or types.is_duration(values.type)
    )
