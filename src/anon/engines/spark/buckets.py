# SPDX-License-Identifier: Apache-2.0
"""The two tables of a bucketization on Spark: what each task counts of its buckets in either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.encoding import Domain, encode_like
from anon.engines.spark.classes import cell, class_counts, domain_of, named, record, too_many
from anon.engines.spark.frames import CHUNK_BYTES, CHUNK_ROWS, Batches, Ints, gathered
from anon.errors import DataError
from anon.release import CLASS_ID, SECOND, are_numbers, read_numbers, uncounted, unpaired
from anon.schema import Attribute, Schema, check_names, is_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Values:
    """The values of one attribute in a sensitive table, and the rows that it counts of each code.

    `code_of` leads from their codes in `written`, the domain of what stands there, to those in `domain`.
    """

    domain: Domain
    rows: Ints
    written: Domain
    code_of: npt.NDArray[np.int64]


def sensitive_rows(first: DataFrame, second: DataFrame) -> DataFrame:
    """A sensitive table with its columns in the types that the first table asks for, null where they fail."""
    check_names([CLASS_ID], first.columns)
    check_names(SECOND, second.columns)
    kind = first.schema[CLASS_ID].dataType
    return second.select(
        named("attribute").cast("string").alias("attribute"),
        cell(named(CLASS_ID).try_cast(kind), kind).alias(CLASS_ID),
        "value",
        named("count").try_cast("long").alias("count"),
    )


def values_of(rows: DataFrame, attributes: Sequence[Attribute], most: int) -> list[Values]:
    """What `sensitive_rows` hold of each attribute, at most so many values.

    Raises DataError where the counts cannot be those of a bucketization, or there are more values.
    """
    from pyspark.sql.functions import col, count_if, sum

    names = [attribute.name for attribute in attributes]
    summed = rows.where(col("attribute").isin(names)).groupBy("attribute", "value")
    low, lost = col("count").isNull() | (col("count") < 1), col(CLASS_ID).isNull()
    counted = summed.agg(
        sum(col("count").cast("double")).alias("rows"),  # exact below 2**53
        count_if(low).alias("low"),
        count_if(lost).alias("lost"),
    )
    table = counted.limit(len(names) * most + 1).toArrow()
    n_low = pc.sum(table["low"]).as_py()
    if n_low:
        raise DataError(
            "column 'count': rows of a bucket are counted in whole numbers above 0",
            column="count",
            count=n_low,
        )
    values = []
    for attribute in attributes:
        part = table.filter(pc.equal(table["attribute"], attribute.name))
        if part.num_rows > most:
            raise too_many(attribute.name, most)
        n_rows, n_lost = (pc.sum(part[name]).as_py() for name in ("rows", "lost"))
        if not part.num_rows:
            raise uncounted(attribute.name)
        if n_lost or not n_rows or n_rows >= 2**53:
            raise unpaired(attribute.name)
        values.append(_values(part["value"], part["rows"].to_numpy(), attribute))
    return values


def _values(written: pa.ChunkedArray, rows: npt.NDArray[np.float64], attribute: Attribute) -> Values:
    name, read = attribute.name, written
    undeclared = (attribute.kind, attribute.hierarchy) == (None, None)
    if undeclared and is_text(written.type) and are_numbers(written, name):
        attribute = replace(attribute, kind="numeric")
    if attribute.kind == "numeric" and is_text(written.type):
        read = read_numbers(written, name)
    (domain, codes), (plain, plain_codes) = (
        domain_of(column, Schema([one]).bind(pa.schema([(name, column.type)])).quasi[0])
        for column, one in ((read, attribute), (written, Attribute(name)))
    )
    code_of = np.full(plain.n_codes + 1, domain.n_codes)
    code_of[plain_codes] = codes
    counts = np.bincount(codes, rows, domain.n_codes).astype(np.int64)
    return Values(domain, counts, replace(plain, name="value"), code_of)


def bucket_counts(first: DataFrame, rows: DataFrame, values: Sequence[Values]) -> DataFrame:
    """As `class_counts` of the buckets: their rows from the first table, the rest from `sensitive_rows`."""
    from pyspark.sql.functions import array

    shape = record([first.schema[CLASS_ID].dataType], len(values))
    names = [each.domain.name for each in values]
    n_rows, n_bytes = 4 * CHUNK_ROWS, CHUNK_BYTES

    def count(batches: Batches) -> Batches:
        for table in gathered(batches, n_rows, n_bytes):
            for j, each in enumerate(values):
                part = table.filter(pc.equal(table["attribute"], names[j])).combine_chunks()
                n = part.num_rows
                [codes] = encode_like(part, [each.written])
                one, none = (pa.array(np.arange(n + 1) * length, pa.int32()) for length in (1, 0))
                empty = pa.ListArray.from_arrays(none, pa.array([], pa.int64()))
                lists = [empty] * (2 * len(values))
                lists[2 * j] = pa.ListArray.from_arrays(one, pa.array(each.code_of[codes]))
                lists[2 * j + 1] = pa.ListArray.from_arrays(one, part["count"].combine_chunks())
                arrays = [part[CLASS_ID].combine_chunks(), pa.array(np.zeros(n, np.int64)), *lists]
                yield pa.RecordBatch.from_arrays(arrays, names=shape.names)

    own = class_counts(first, [CLASS_ID], [])
    own = own.select(*own.columns, *(array().cast("array<long>").alias(name) for name in shape.names[2:]))
    return own.union(rows.mapInArrow(count, shape))
