# SPDX-License-Identifier: Apache-2.0
"""A table and a schema become codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.encoding.columns import check_numbers, encode_factors, rows, text_labels
from anon.encoding.domain import Codes, Domain, Encoded, Missing, code_type
from anon.encoding.factors import Factors, each_column
from anon.encoding.units import check_shared, encode_units, encode_weights
from anon.errors import CATEGORY, DataError, UsageError
from anon.schema import TICKS_PER_SECOND, Schema, check_names, check_schema
from anon.threads import available_threads

if TYPE_CHECKING:
    from anon.tables import Scan


def encode(
    table: pa.Table | Scan,
    schema: Schema,
    *,
    missing: Missing = "category",
    n_threads: int | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Encoded:
    """Codes and domains of the quasi-identifiers and sensitive attributes of a table.

    A Scan is read once, for these columns alone; only their codes and values are kept.

    Null and NaN are missing: with `missing="category"` one more value, with `"suppress"` their rows
    are left out of every class, with `"error"` a DataError. A column without values is nominal.
    Columns are encoded by `n_threads`
    threads (None: one per processor); the answer does not depend on their number. `tell`
    is told how much is done, of how much.
    """
    if missing not in get_args(Missing):
        raise UsageError(f"missing must be one of {', '.join(get_args(Missing))}")
    check_schema(schema)
    n_threads = available_threads(n_threads)
    check_numbers(table, schema)
    bound = schema.bind(table.schema)
    if table.num_rows == 0:
        raise DataError("the table has no rows")
    if table.num_rows >= 2**32:
        raise DataError(f"the table has {table.num_rows} rows; at most 2**32 - 1 can be anonymized at once")
    attributes = (*bound.quasi, *bound.sensitive)
    encoded = each_column(table, attributes, encode_factors, n_threads, tell)
    dropped = np.zeros(table.num_rows if missing == "suppress" else 0, dtype=np.bool_)
    for domain, codes in encoded:
        if not domain.has_null or missing == "category":
            continue
        null = codes == domain.n_values
        if missing == "error":
            count = int(np.count_nonzero(null))
            row = int(np.argmax(null))
            raise DataError(
                f"column {domain.name!r} is missing {rows(row, count)}; fill it, or choose ",
                CATEGORY,
                " or 'suppress'",
                column=domain.name,
                row=row,
                count=count,
            )
        dropped |= null
    units = weights = None
    if bound.unit is not None:
        units = encode_units(table, bound.unit)
        for name in bound.household:
            place = [domain.name for domain, _ in encoded].index(name)
            check_shared(name, encoded[place][1], units)
    if bound.sampling_weight is not None:
        weights = encode_weights(table, bound.sampling_weight)
    quasi = tuple(codes for _, codes in encoded[: len(bound.quasi)])
    room = np.empty if isinstance(table, pa.Table) else table.empty
    coded = tuple(
        codes if domain.coding is None else domain.coding.coded(codes, room)
        for domain, codes in encoded[: len(bound.quasi)]
    )
    kept = bound.published(table.column_names)
    m = len(bound.quasi)
    suppressed = np.flatnonzero(dropped).astype(np.uint32)
    suppressed.flags.writeable = False
    return Encoded(
        table=table if kept == table.column_names else table.select(kept),
        schema=bound,
        quasi=tuple(domain for domain, _ in encoded[:m]),
        quasi_codes=coded,
        sensitive=tuple(domain for domain, _ in encoded[m:]),
        sensitive_codes=tuple(codes for _, codes in encoded[m:]),
        suppressed=suppressed,
        units=units,
        weights=weights,
        fine_codes=quasi if bound.coded else (),
        unpublished=tuple(bound.unpublished(table.column_names)),
    )


def encode_like(table: pa.Table | Scan, domains: Sequence[Domain], n_threads: int = 1) -> tuple[Codes, ...]:
    """The codes of another table's columns in known domains (of the original, of a sample).

    A value that is not in the domain, and null where the domain has none, gets the code `n_codes`.
    """
    check_names([domain.name for domain in domains], table.column_names)
    return tuple(each_column(table, domains, _encode_like, n_threads))


def _encode_like(factors: Factors, domain: Domain) -> Codes:
    values, known = factors.values, domain.values
    if domain.kind == "numeric":
        values, known = _alike(values, known, domain.name)
    else:
        values, known = text_labels(values), text_labels(known)
    codes = np.full(len(values) + 1, domain.n_codes, dtype=code_type(domain.n_codes + 1))
    places_in = pc.index_in(values, value_set=known)
    is_known = np.asarray(places_in.is_valid())
    codes[:-1][is_known] = places_in.drop_null().to_numpy()
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
