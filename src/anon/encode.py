# SPDX-License-Identifier: Apache-2.0
"""Any table -> codes and domains. Missing values end here."""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError, UsageError
from anon.hierarchy import (
    TICKS_PER_SECOND,
    Levels,
    Listed,
    MissingValues,
    Tree,
    label_of,
    levels_of,
    places,
    prune,
    tree_of,
)
from anon.schema import Attribute, Kind, Schema, check_names, is_text, kind_of, value_type

if TYPE_CHECKING:
    from anon.scale.scan import Scan

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
Missing = Literal["category", "suppress", "error"]
T = TypeVar("T")

MILLISECONDS_PER_DAY = 86_400_000
MOST_THREADS = 1024
MOST_VALUES = 1 << 22  # of the parts of one column, before those that they share become one
BLOCK = 1 << 16  # rows recoded at a time: temporaries stay in the cache


@dataclass(frozen=True, repr=False)
class Domain:
    """The values of one attribute, in the order of their codes.

    Code c < len(values) stands for `values[c]` (an Arrow array without nulls): sorted values for a
    numeric attribute, the given order for an ordinal one, depth-first leaves for a nominal one with
    a tree, otherwise labels in code-point order. Numeric values keep their Arrow type (date64 is
    date32, float16 is float32); those of the other kinds are strings, whatever the column's type.
    If `has_null`, code len(values) is null.
    `positions` (float64) places each code on the attribute's line, starting at 0: differences of
    values for a numeric attribute (integers and dates in units, decimals in units of their scale),
    ranks for an ordinal one; None for a nominal one.
    `unit_lattice` is True where every multiple of one unit between the ends is a possible value
    (integers, dates, decimals), False for floats and timestamps, which have length instead.
    """

    name: str
    kind: Kind
    values: pa.Array
    has_null: bool
    positions: npt.NDArray[np.float64] | None = None
    unit_lattice: bool = False
    tree: Tree | None = None
    levels: Levels | None = None
    weight: float = 1.0

    @property
    def n_values(self) -> int:
        """|D_a|: number of distinct values, null not counted."""
        return len(self.values)

    @property
    def n_codes(self) -> int:
        """Number of codes, null's included."""
        return len(self.values) + self.has_null

    def __repr__(self) -> str:
        return f"Domain({self.name!r}, {self.kind}, n_values={self.n_values}, has_null={self.has_null})"


@dataclass(frozen=True, repr=False)
class Encoded:
    """A table whose quasi-identifiers and sensitive attributes are codes.

    `table` holds the original rows without the identifying columns, as a Scan where they stay in
    their files. `quasi[i]` describes
    `quasi_codes[i]` (uint8, uint16 or uint32, narrowest that fits, one per row of `table`);
    likewise `sensitive`. `suppressed` (uint32, ascending) are rows left out by
    `missing="suppress"`; they keep their codes but belong to no class. `draw`, if any, numbers the rows
    (uint32) in a secret order.
    """

    table: pa.Table | Scan
    schema: Schema
    quasi: tuple[Domain, ...]
    quasi_codes: tuple[Codes, ...]
    sensitive: tuple[Domain, ...]
    sensitive_codes: tuple[Codes, ...]
    suppressed: npt.NDArray[np.uint32]
    draw: npt.NDArray[np.uint32] | None = None

    @property
    def ties(self) -> tuple[Codes, ...]:
        """The codes that order rows with equal quasi-identifiers: sensitive ones, or the secret draw.

        Where quasi-identifiers are published intact, an order by sensitive values would tell which of two
        equal rows in different buckets has the lesser one.
        """
        return self.sensitive_codes if self.draw is None else (self.draw,)

    @property
    def n_rows(self) -> int:
        """Rows of the table, suppressed ones included."""
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """One original column, read into memory where the table stays in its files."""
        if isinstance(self.table, pa.Table):
            return self.table.column(name)
        return self.table.select([name]).whole().column(name)

    @property
    def kept(self) -> npt.NDArray[np.uint32]:
        """The rows to be published (uint32, ascending): all but the suppressed ones."""
        kept = np.ones(self.n_rows, np.bool_)
        kept[self.suppressed] = False
        return np.flatnonzero(kept).astype(np.uint32)

    def __repr__(self) -> str:
        return (
            f"Encoded(n_rows={self.n_rows}, quasi={len(self.quasi)}, sensitive={len(self.sensitive)}, "
            f"suppressed={len(self.suppressed)})"
        )


def available_threads(asked: int | None = None) -> int:
    """The number of threads asked for; if None, of processors this process may run on."""
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        n_threads = 0 if isinstance(asked, bool | np.bool_) else operator.index(asked)
    except TypeError:
        n_threads = 0
    if not 1 <= n_threads <= MOST_THREADS:
        raise UsageError(f"n_threads must be None or a whole number from 1 to {MOST_THREADS}")
    return n_threads


def in_threads(n_threads: int, work: Callable[..., T], *items: Sequence[Any]) -> list[T]:
    """`list(map(work, *items))` by as many threads; by the caller's own where one is enough."""
    n_threads = min(n_threads, *map(len, items))
    if n_threads < 2:
        return list(map(work, *items))
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, *items))


def encode(
    table: pa.Table | Scan,
    schema: Schema,
    *,
    missing: Missing = "category",
    empty: bool = False,
    n_threads: int | None = None,
) -> Encoded:
    """Codes and domains of the quasi-identifiers and sensitive attributes of a table.

    A Scan is read once, for these columns alone; only their codes and values are kept.

    Null and NaN are missing: with `missing="category"` one more value, with `"suppress"` their rows
    are left out of every class, with `"error"` a DataError. A column without values is one too, unless
    `empty`, for tables that are only measured: then it is nominal. Columns are encoded by `n_threads`
    threads (None: one per processor); the answer does not depend on their number.
    """
    if missing not in get_args(Missing):
        raise UsageError(f"missing must be one of {', '.join(get_args(Missing))}")
    if not isinstance(schema, Schema):
        raise UsageError(f"a schema is a Schema, not {type(schema).__name__}; write Schema(quasi=[...])")
    n_threads = available_threads(n_threads)
    _check_numbers(table, schema)
    bound = schema.bind(table.schema)
    if table.num_rows == 0:
        raise DataError("the table has no rows")
    if table.num_rows >= 2**32:
        raise DataError(f"the table has {table.num_rows} rows; at most 2**32 - 1 can be anonymized at once")
    attributes = (*bound.quasi, *bound.sensitive)
    encoded = _each_column(table, attributes, partial(encode_factors, empty=empty), n_threads)
    dropped = np.zeros(table.num_rows if missing == "suppress" else 0, dtype=np.bool_)
    for domain, codes in encoded:
        if not domain.has_null or missing == "category":
            continue
        null = codes == domain.n_values
        if missing == "error":
            count = int(np.count_nonzero(null))
            row = int(np.argmax(null))
            raise DataError(
                f"column {domain.name!r} is missing {_rows(row, count)}; "
                "fill it, or choose missing='category' or 'suppress'",
                column=domain.name,
                row=row,
                count=count,
            )
        dropped |= null
    identifying = set(bound.identifying)
    kept = [name for name in table.column_names if name not in identifying]
    m = len(bound.quasi)
    suppressed = np.flatnonzero(dropped).astype(np.uint32)
    suppressed.flags.writeable = False
    return Encoded(
        table=table.select(kept) if bound.identifying else table,
        schema=bound,
        quasi=tuple(domain for domain, _ in encoded[:m]),
        quasi_codes=tuple(codes for _, codes in encoded[:m]),
        sensitive=tuple(domain for domain, _ in encoded[m:]),
        sensitive_codes=tuple(codes for _, codes in encoded[m:]),
        suppressed=suppressed,
    )


def encode_like(table: pa.Table | Scan, domains: Sequence[Domain], n_threads: int = 1) -> tuple[Codes, ...]:
    """The codes of another table's columns in known domains (of the original, of a sample).

    A value that is not in the domain, and null where the domain has none, gets the code `n_codes`.
    """
    check_names([domain.name for domain in domains], table.column_names)
    return tuple(_each_column(table, domains, _encode_like, n_threads))


def label_codes(
    table: pa.Table | Scan, names: Sequence[str], n_threads: int = 1
) -> list[tuple[Codes, list[str | None]]]:
    """Every named column as codes of texts in code-point order, the last of which is None: missing."""
    return _each_column(table, [Attribute(name, "nominal") for name in names], _label_codes, n_threads)


def _label_codes(factors: Factors, attribute: Attribute) -> tuple[Codes, list[str | None]]:
    present = _present(factors, factors.used(), attribute.name)
    labels, ranks = _ranked(_labels(factors.values.take(pa.array(present))))
    code_of = np.full(len(factors.values) + 1, len(labels), dtype=code_type(len(labels) + 1))
    code_of[present] = ranks
    return factors.recode(code_of), [*labels.to_pylist(), None]


def code_type(n_codes: int) -> np.dtype[Any]:
    """The narrowest of uint8, uint16 and uint32 that holds the codes 0..n_codes-1."""
    return np.dtype(np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32)


@dataclass(frozen=True)
class Factors:
    """A column as positions in a list of values, which may repeat and may be null.

    Chunk i's indices (an Arrow array of integers, nulls for missing) count from `offsets[i]` in `values`.
    `room` makes the array for the codes.
    """

    values: pa.Array
    chunks: tuple[pa.Array, ...]
    offsets: tuple[int, ...]
    room: Callable[[int, np.dtype[Any]], Codes] = np.empty

    def blocks(self) -> Any:
        """Pieces of the column in row order: first row, positions in `values` (len(values): null)."""
        row = 0
        for chunk, offset in zip(self.chunks, self.offsets, strict=True):
            for start in range(0, len(chunk), BLOCK):
                block = chunk.slice(start, BLOCK)
                valid = None if block.null_count == 0 else np.asarray(block.is_valid())
                block = block.fill_null(0) if valid is not None else block
                positions = block.to_numpy(zero_copy_only=False).astype(np.intp)
                positions += offset
                if valid is not None:
                    positions[~valid] = len(self.values)
                yield row, positions
                row += len(positions)

    def used(self) -> npt.NDArray[np.bool_]:
        """Which values occur; one entry more than values, for null."""
        used = np.zeros(len(self.values) + 1, dtype=np.bool_)
        for _, positions in self.blocks():
            used[positions] = True
        return used

    def recode(self, code_of: npt.NDArray[Any]) -> Codes:
        """`code_of` (one entry per value, one for null) of every row."""
        codes = self.room(sum(map(len, self.chunks)), code_of.dtype)
        for row, positions in self.blocks():
            np.take(code_of, positions, out=codes[row : row + len(positions)], mode="clip")
        codes.flags.writeable = False
        return codes

    def rows_of(self, marked: npt.NDArray[np.bool_]) -> tuple[int, int, Any]:
        """First row, number of rows and first value among the marked values (one entry per value)."""
        first, count, value = -1, 0, None
        marked = np.append(marked, False)
        for row, positions in self.blocks():
            hits = marked[positions]
            if first < 0 and hits.any():
                first = row + int(np.argmax(hits))
                try:
                    value = self.values[int(positions[np.argmax(hits)])].as_py()
                except (OverflowError, ValueError):  # a date that Python has not
                    value = None
            count += int(np.count_nonzero(hits))
        return first, count, value


def _each_column(
    table: pa.Table | Scan, described: Sequence[Any], make: Callable[[Factors, Any], Any], n_threads: int
) -> list[Any]:
    """`make(factors, description)` of every described column (by its `name`), by as many threads."""
    if isinstance(table, pa.Table):

        def made(each: Any) -> Any:
            return make(_factors(table.column(each.name), each.name), each)

        return in_threads(n_threads, made, described)
    gathering = [_Gathering(each.name) for each in described]
    for part in table.select([each.name for each in described]).batches() if described else ():
        in_threads(n_threads, lambda each, part=part: each.add(part.column(each.name)), gathering)
    return in_threads(n_threads, lambda each, one: make(one.factors(table.empty), each), described, gathering)


class _Gathering:
    """Factors of a column that comes in parts: of each part only narrow indices and its values are kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[pa.Array] = []
        self.n_values = 0
        self.chunks: list[pa.Array] = []
        self.offsets: list[int] = []
        self.most_values = MOST_VALUES

    def add(self, column: pa.ChunkedArray) -> None:
        """Take the next rows of the column."""
        part = _factors(column, self.name)
        if not (self.values and part.values.equals(self.values[-1])):
            self.values.append(part.values)
            self.n_values += len(part.values)
        narrow = _index_type(len(part.values))
        start = self.n_values - len(part.values)
        self.chunks += [chunk.cast(narrow) for chunk in part.chunks]
        self.offsets += [start + offset for offset in part.offsets]
        if self.n_values > self.most_values:
            self._unite()

    def _unite(self) -> None:
        """Values that came in several parts become one."""
        united = pa.concat_arrays(self.values).dictionary_encode()
        narrow = _index_type(len(united.dictionary))
        self.chunks = [
            united.indices.slice(offset).take(chunk).cast(narrow)
            for chunk, offset in zip(self.chunks, self.offsets, strict=True)
        ]
        self.offsets = [0] * len(self.chunks)
        self.values, self.n_values = [united.dictionary], len(united.dictionary)
        self.most_values = max(MOST_VALUES, 2 * self.n_values)

    def factors(self, room: Callable[[int, np.dtype[Any]], Codes]) -> Factors:
        """The column; what was gathered goes over into it."""
        chunks, self.chunks = tuple(self.chunks), []
        return Factors(pa.concat_arrays(self.values), chunks, tuple(self.offsets), room)


def _index_type(n_values: int) -> pa.DataType:
    return pa.from_numpy_dtype(code_type(n_values))


def _factors(column: pa.ChunkedArray, name: str) -> Factors:
    plain = value_type(column.type)
    if pa.types.is_timestamp(plain) and plain.tz:
        try:
            pc.local_timestamp(pa.scalar(0, plain))
        except pa.ArrowException:
            raise DataError(
                f"column {name!r} has an unknown time zone, {plain.tz!r}; cast it to UTC", column=name
            ) from None
    try:
        factors = _split(column)
    except pa.ArrowInvalid:  # decimals with more digits than their type says
        raise DataError(
            f"column {name!r} holds values that its type, {column.type}, cannot have; make it again",
            column=name,
        ) from None
    if is_text(plain):
        try:
            factors.values.validate(full=True)
        except pa.ArrowException:
            raise DataError(f"column {name!r} holds text that is not UTF-8; decode it", column=name) from None
    return factors


def _split(column: pa.ChunkedArray) -> Factors:
    if pa.types.is_dictionary(column.type):
        chunks = column.chunks
        dictionaries: list[pa.Array] = []
        offsets: list[int] = []
        end = 0
        for chunk in chunks:
            if not dictionaries or not chunk.dictionary.equals(dictionaries[-1]):
                dictionaries.append(chunk.dictionary)
                end += len(chunk.dictionary)
            offsets.append(end - len(chunk.dictionary))
        values = pa.concat_arrays(_comparable(each) for each in dictionaries)
        return Factors(values, tuple(chunk.indices for chunk in chunks), tuple(offsets))
    if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    chunks = column.dictionary_encode().chunks
    values = _comparable(chunks[-1].dictionary)
    return Factors(values, tuple(chunk.indices for chunk in chunks), (0,) * len(chunks))


def _comparable(values: pa.Array) -> pa.Array:
    """The same values in a type that Arrow can sort; NaN is null, and -0.0 is 0.0."""
    types = pa.types
    if is_text(values.type):
        return values.cast(pa.large_string())
    if types.is_floating(values.type):
        numbers = values.cast(pa.float32()) if types.is_float16(values.type) else values
        numbers = pc.add(numbers, pa.scalar(0, numbers.type))
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)
    if types.is_date64(values.type):
        # the day of an instant that is none (Arrow asks for whole days, but does not enforce them)
        days = values.view(pa.int64()).fill_null(0).to_numpy() // MILLISECONDS_PER_DAY
        days = np.clip(days, -(2**31), 2**31 - 1).astype(np.int32)
        return pa.array(days, mask=np.asarray(values.is_null())).view(pa.date32())
    if types.is_decimal(values.type):
        precision, scale = values.type.precision, values.type.scale
        if scale < 0:
            return values.cast(pa.decimal256(76))
        if values.type.bit_width < 128:
            return values.cast(pa.decimal128(precision, scale))
    return values


def of_published_rows(encoded: Encoded) -> Encoded:
    """The table as requirements and privacy measures see it: sensitive attributes have just the values
    of the published rows (spec 0). The sensitive codes of suppressed rows mean nothing in it.
    """
    if not len(encoded.suppressed):
        return encoded
    shown = encoded.kept
    sensitive, sensitive_codes = [], []
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        kept = np.bincount(codes[shown], minlength=domain.n_codes) > 0
        shown_domain = narrowed(domain, kept)
        code_of = np.zeros(domain.n_codes, code_type(shown_domain.n_codes))
        code_of[kept] = np.arange(shown_domain.n_codes)
        sensitive.append(shown_domain)
        sensitive_codes.append(code_of[codes])
    return replace(encoded, sensitive=tuple(sensitive), sensitive_codes=tuple(sensitive_codes))


def narrowed(domain: Domain, kept: npt.NDArray[np.bool_]) -> Domain:
    """The domain without the codes that are not `kept`; its levels go, they are for generalization."""
    values = kept[: domain.n_values]
    positions = None if domain.positions is None else domain.positions[values]
    if positions is not None and len(positions):
        positions = np.arange(len(positions), dtype=np.float64) if domain.kind == "ordinal" else positions
        positions = positions - positions[0]
    return replace(
        domain,
        values=domain.values.filter(pa.array(values)),
        has_null=bool(kept[domain.n_values :].any()),
        positions=positions,
        tree=None if domain.tree is None or not values.any() else prune(domain.tree, values),
        levels=None,
    )


def encode_factors(factors: Factors, attribute: Attribute, empty: bool = False) -> tuple[Domain, Codes]:
    """The domain of an attribute and the code of every row; `empty` as for `encode`."""
    name = attribute.name
    used = factors.used()
    present = _present(factors, used, name)
    if len(present) == 0 and empty:
        nulls = factors.recode(np.zeros(len(factors.values) + 1, np.uint8))
        return Domain(name, "nominal", pa.array([], pa.string()), True), nulls
    if len(present) == 0:
        raise DataError(
            f"column {name!r} has no values; leave it out of the quasi-identifiers and sensitive attributes",
            column=name,
        )
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
    return encode_factors(_factors(column, attribute.name), attribute)


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
        try:
            levels = levels_of(attribute.hierarchy, distinct, positions, unit_lattice, attribute.name)
        except MissingValues as error:
            raise _Unlisted(error.missing[ranks], "hierarchy") from None
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
    )
    return domain, ranks


def _ordinal(values: pa.Array, attribute: Attribute, has_null: bool) -> tuple[Domain, npt.NDArray[np.int64]]:
    """Likewise, of an ordinal one: the values of its order that occur."""
    order = pa.array(
        [label_of(value, attribute.name) for value in attribute.order or ()], type=pa.large_string()
    )
    at = pc.index_in(_labels(values), value_set=order)
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
    labels, ranks = _ranked(_labels(values))
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
        attribute.name, "nominal", _plain(labels), has_null, tree=tree, weight=float(attribute.weight)
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


def _check_numbers(table: pa.Table | Scan, schema: Schema) -> None:
    """Refuse text where numbers are declared, saying which rows hold none."""
    n_of = Counter(table.column_names)
    for attribute in (*schema.quasi, *schema.sensitive):
        name = attribute.name
        if attribute.kind != "numeric" or n_of[name] != 1:
            continue
        if is_text(value_type(table.schema.field(name).type)):
            _each_column(table, [attribute], _refuse_other_text, 1)


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
        f"column {name!r} {what} {_rows(row, count)}; {way_out}",
        column=name,
        row=row,
        count=count,
        value=value,
    )


def _rows(row: int, count: int) -> str:
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


def _labels(values: pa.Array) -> pa.Array:
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


def _encode_like(factors: Factors, domain: Domain) -> Codes:
    values, known = factors.values, domain.values
    if domain.kind == "numeric":
        values, known = _alike(values, known, domain.name)
    else:
        values, known = _labels(values), _labels(known)
    codes = np.full(len(values) + 1, domain.n_codes, dtype=code_type(domain.n_codes + 1))
    places_in = pc.index_in(values, value_set=known)
    found = np.asarray(places_in.is_valid())
    codes[:-1][found] = places_in.drop_null().to_numpy()
    if domain.has_null:
        codes[:-1][np.asarray(values.is_null())] = domain.n_values
        codes[-1] = domain.n_values
    return factors.recode(codes)


def _alike(values: pa.Array, known: pa.Array, name: str) -> tuple[pa.Array, pa.Array]:
    """Both arrays in a type that holds the values of either."""
    if values.type == known.type:
        return values, known
    types = pa.types
    pair = (values.type, known.type)
    if all(types.is_integer(each) for each in pair):
        common = pa.decimal128(20) if pa.uint64() in pair else pa.int64()
    elif all(types.is_integer(each) or types.is_floating(each) for each in pair):
        common = pa.float64()
    elif all(types.is_decimal(each) for each in pair):
        common = pa.decimal256(76, max(each.scale for each in pair))
    elif all(types.is_timestamp(each) and each.tz == values.type.tz for each in pair):
        common = pa.timestamp(
            max((each.unit for each in pair), key=TICKS_PER_SECOND.__getitem__), values.type.tz
        )
    else:
        common = None
    try:
        if common is not None:
            return values.cast(common), known.cast(common)
    except pa.ArrowInvalid:
        pass
    raise DataError(f"column {name!r} is {values.type} here and {known.type} there; cast one", column=name)
