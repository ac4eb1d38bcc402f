# SPDX-License-Identifier: Apache-2.0
"""A bucketization read back: its sensitive table and the buckets of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Classes, group
from anon.encoding import Codes, Domain, Encoded, encode
from anon.errors import DataError, Parameter
from anon.release.metadata import CLASS_ID, PAIR, metadata_of, sensitive_path
from anon.schema import Attribute, Schema, check_names, is_text, value_type
from anon.tables import Source, as_written, read_source, read_table, ticks_of_duration

if TYPE_CHECKING:
    from anon.tables import Scan

SECOND = ("attribute", CLASS_ID, "value", "count")


def second_table(source: Source, given: Any) -> pa.Table:
    """The sensitive table of a bucketization: the one that is given, or the file beside the first."""
    if given is not None:
        second = values_as_written(read_source(given))
    elif len(source.paths) == 1 and sensitive_path(source.paths[0]).exists():
        second = values_as_written(read_source(sensitive_path(source.paths[0])))
    else:
        raise DataError(
            "this is one half of a bucketization and its sensitive table is not beside it; give it ",
            Parameter("as sensitive_table", "with --sensitive-table"),
        )
    ours, theirs = ((metadata_of(half) or {}).get(PAIR) for half in (source, second))
    if ours != theirs and None not in (ours, theirs):
        raise DataError(
            "the two tables of the bucketization do not belong together: they were written by different "
            "runs; keep the files of one run together"
        )
    return read_table(second)


def values_as_written(second: Source) -> Source:
    """The sensitive table of a bucketization with its values as text, which they are in any format."""
    return as_written(second, [name for name in ("value",) if name in second.table.column_names])


def is_bucketized(
    source: Source, metadata: Mapping[str, Any] | None, schema: Schema, sensitive_table: Any = None
) -> bool:
    """Where a sensitive table is given; by its own word; or there are class ids, a table beside it, and no
    sensitive attribute in it.
    """
    if sensitive_table is not None:
        return True
    names = source.table.column_names
    if metadata is not None:
        bucketized = bool(metadata["publish"] == "bucketization")
        both = [attribute.name for attribute in schema.sensitive if attribute.name in names]
        if bucketized and both and both[0] not in metadata["roles"]["sensitive"]:
            raise DataError(
                f"column {both[0]!r} stands in the first half of a bucketization, row by row: buckets hide "
                "nothing of it; name as sensitive what the sensitive table counts, or, to measure the first "
                "half as it is, save it without its metadata, such as in CSV",
                column=both[0],
            )
        if bucketized and both:
            raise DataError(
                f"column {both[0]!r} is sensitive and stands in what calls itself the first half of a "
                "bucketization: the file was changed after it was written; to measure it as it is, save it "
                "without its metadata, such as in CSV",
                column=both[0],
            )
        return bucketized
    return (
        CLASS_ID in names
        and len(source.paths) == 1
        and sensitive_path(source.paths[0]).exists()
        and bool(schema.sensitive)
        and not any(attribute.name in names for attribute in schema.sensitive)
    )


def refuse_sensitive_half(source: Source, schema: Schema | None) -> None:
    """Raise DataError where the sensitive table of a bucketization stands in place of the other."""
    names = source.table.column_names
    wanted = [] if schema is None else [attribute.name for attribute in schema.quasi]
    if sorted(names) != sorted(SECOND) or (wanted and set(wanted) <= set(names)):
        return
    other = "the table with the quasi-identifiers"
    if len(source.paths) == 1:
        path = source.paths[0]
        whole = path.with_name(path.stem.removesuffix(".sensitive") + path.suffix)
        other = str(whole) if whole != path and whole.exists() else other
    raise DataError(f"this is the sensitive half of a bucketization; name its other half, {other}")


def bucket_ids(table: pa.Table | Scan, n_threads: int) -> Encoded:
    """The class ids of the first table of a bucketization, as its only quasi-identifier."""
    check_names([CLASS_ID], table.column_names)
    return encode(table.select([CLASS_ID]), Schema([CLASS_ID]), n_threads=n_threads)


def linked(ids: Encoded, second: pa.Table, n_threads: int) -> tuple[Classes, pa.Array, pa.Table]:
    """The buckets as classes, their ids in the same order, and the second table in the types of the first.

    Raises DataError where that table lacks a column, or its ids or counts cannot be what they are called.
    """
    check_names(SECOND, second.column_names)
    classes = group(ids.quasi_codes, n_threads=n_threads)
    known = ids.quasi[0].values
    second = pa.table(
        {
            "attribute": _cast(second, "attribute", pa.large_string()),
            CLASS_ID: _cast(second, CLASS_ID, known.type),
            "value": second["value"],
            "count": _cast(second, "count", pa.int64()),
        }
    )
    low = pc.fill_null(pc.less(second["count"], 1), True)
    if pc.any(low).as_py():
        raise DataError(
            "column 'count': rows of a bucket are counted in whole numbers above 0",
            column="count",
            row=pc.index(low, True).as_py(),
            count=pc.sum(low).as_py(),
        )
    return classes, known, second


def buckets_of(part: pa.Table, name: str, known: pa.Array, classes: Classes) -> npt.NDArray[np.int64]:
    """The bucket of each row of the second table that counts values of one sensitive attribute.

    Raises DataError where the counts do not add up to the sizes of the buckets.
    """
    if not part.num_rows and classes.n_classes:
        raise uncounted(name)
    bucket = pc.index_in(part[CLASS_ID], value_set=known)
    # whole numbers below 2**53, so that the sums in float64 are exact
    totals = np.bincount(bucket.fill_null(0).to_numpy(), part["count"].to_numpy(), classes.n_classes)
    if bucket.null_count or not np.array_equal(totals, classes.sizes):
        raise unpaired(name)
    return np.asarray(bucket.to_numpy(), np.int64)


def unpaired(name: str) -> DataError:
    """The error for two tables whose buckets differ in the rows that they count of a sensitive attribute."""
    return DataError(
        f"column {name!r}: the two tables of the bucketization do not belong together: "
        "their buckets differ in size; give the two that one run wrote",
        column=name,
    )


def uncounted(name: str) -> DataError:
    """The error for a sensitive table that says nothing of an attribute."""
    return DataError(
        f"the sensitive table of the bucketization counts no values of a column {name!r}; "
        "name those that stand in its column 'attribute'",
        column=name,
    )


def with_kinds(
    sensitive: Sequence[Attribute], second: pa.Table, metadata: Mapping[str, Any] | None
) -> list[Attribute]:
    """The attributes, numeric those of no declared kind whose values were numbers, dates or times.

    The sensitive table has them as text. Whether they were is what the file says, `metadata`; where it says
    nothing, as in CSV, they were if each can be read as one of its own.
    """
    return [
        replace(each, kind="numeric")
        if (each.kind, each.hierarchy) == (None, None) and _is_numeric(each.name, second, metadata)
        else each
        for each in sensitive
    ]


def _is_numeric(name: str, second: pa.Table, metadata: Mapping[str, Any] | None) -> bool:
    if metadata is not None:
        return bool(metadata["kinds"].get(name) == "numeric")
    if not set(SECOND) <= set(second.column_names) or not is_text(value_type(second["value"].type)):
        return False
    return are_numbers(second.filter(pc.equal(second["attribute"], name))["value"], name)


def are_numbers(texts: pa.ChunkedArray, name: str) -> bool:
    """Whether each text of a sensitive table can be read as a number, date or time of its own."""
    texts = texts.cast(value_type(texts.type)).unique().drop_null()
    if not len(texts) or pc.any(pc.match_substring_regex(texts, r"^[+-]?0\d")).as_py():  # codes
        return False
    with suppress(DataError):
        return len(read_numbers(pa.chunked_array([texts]), name).unique()) == len(texts)
    return False


def in_buckets(
    ids: Encoded, second: pa.Table, sensitive: Sequence[Attribute], n_threads: int
) -> tuple[Classes, tuple[Domain, ...], tuple[Codes, ...]]:
    """The buckets as classes, and the sensitive attributes with one code per row of the table."""
    classes, known, second = linked(ids, second, n_threads)
    domains, codes = [], []
    for attribute in sensitive:
        part = second.filter(pc.equal(second["attribute"], attribute.name))
        domain, column = _bucket_codes(part, attribute, known, classes)
        domains.append(domain)
        codes.append(column)
    return classes, tuple(domains), tuple(codes)


def _cast(second: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return second[name].cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"column {name!r} of the sensitive table cannot be read as {kind}; "
            "is it the second table of a bucketization?",
            column=name,
        ) from None


def _bucket_codes(
    part: pa.Table, attribute: Attribute, known: pa.Array, classes: Classes
) -> tuple[Domain, Codes]:
    """Codes of one sensitive attribute, dealt to the rows of each bucket: inside it any order will do."""
    name = attribute.name
    bucket, counts = buckets_of(part, name, known, classes), part["count"].to_numpy()
    values = part["value"]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if attribute.kind == "numeric" and is_text(values.type):
        values = read_numbers(values, name)
    encoded = encode(pa.table({name: values}), Schema([attribute]))
    order = np.argsort(bucket, kind="stable")
    codes = np.empty(len(classes.rows), encoded.quasi_codes[0].dtype)
    codes[classes.rows] = np.repeat(encoded.quasi_codes[0][order], counts[order])
    return encoded.quasi[0], codes


def read_numbers(texts: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """What `texts` wrote of numbers, dates, times or durations, of a type that keeps them distinct."""
    with suppress(ValueError):
        spans = [None if text is None else ticks_of_duration(text, "ns") for text in texts.to_pylist()]
        return pa.chunked_array([pa.array(spans, pa.decimal128(38))])
    words = texts
    words = pc.replace_substring_regex(words, r"^(\d\d:.*)$", r"1970-01-01T\1")
    n_decimals = pc.max(pc.utf8_length(pc.replace_substring_regex(words, r"^[^.]*\.?", ""))).as_py()
    kinds = (
        *(pa.int64(), pa.uint64(), pa.date32(), pa.timestamp("us"), pa.timestamp("ns")),
        *(pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"), pa.float64()),
        pa.decimal256(76, min(n_decimals or 0, 76)),
    )
    read = []
    for kind in kinds:
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            read.append(words.cast(kind))
    if not read:
        raise DataError(
            f"column {name!r}: its values in the sensitive table are not all numbers, dates or times; "
            "make it nominal",
            column=name,
        )
    return max(read, key=lambda values: int(pc.count_distinct(values).as_py()))
