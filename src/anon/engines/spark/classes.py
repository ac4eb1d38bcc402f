# SPDX-License-Identifier: Apache-2.0
"""The classes of a published Spark DataFrame, counted where they lie: for the last check and for measures.

A class is the rows with equal published cells. Every task counts its own, those of one look meet in
one task, and the driver gets sums and extremes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Counts
from anon.encoding import Codes, Domain, encode_column, encode_like
from anon.engines.spark.frames import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    Batches,
    Ints,
    gathered,
    in_utc,
    rows_of,
    summed,
)
from anon.errors import DataError, RecheckError, UsageError
from anon.measures import (
    Disclosure,
    NullMatching,
    Privacy,
    disclosure_of,
    matching_of,
    part_of,
    put_together,
    zero,
)
from anon.release import alike, failing_groups, unpaired
from anon.requirements import Requirement
from anon.schema import Attribute

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


OTHER_ROWS = "if the DataFrame gives other rows each time it is read, persist or checkpoint it first"


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The Arrow types of the rows as `gathered` gives them; no job is run."""
    from pyspark.sql.pandas.types import to_arrow_schema

    large = df.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    moments: Any = {"timezone": "UTC"}
    if "timezone" not in signature(to_arrow_schema).parameters:  # PySpark 4.0
        moments = {"timestamp_utc": True}
    made = to_arrow_schema(
        df.schema, error_on_duplicated_field_names_in_struct=True, prefers_large_types=large, **moments
    )
    return in_utc(made)


def named(name: str) -> Column:
    """The column of this name, whatever the name holds."""
    from pyspark.sql.functions import col

    return col("`" + name.replace("`", "``") + "`")


def cell(column: Column, kind: DataType) -> Column:
    """A column of this type as cells that are equal where the values are: NaN is null, and -0.0 is 0.0."""
    from pyspark.sql.functions import isnan, lit, when
    from pyspark.sql.types import DoubleType, FloatType

    if isinstance(kind, DoubleType | FloatType):
        return when(~isnan(column), (column + lit(0.0)).cast(kind))
    return column


def domain_of(values: pa.ChunkedArray, attribute: Attribute) -> tuple[Domain, Codes]:
    """As `encode_column`; on Spark rows have no numbers that an error could name."""
    try:
        return encode_column(values, attribute)
    except DataError as error:
        if error.row is None:
            raise
        where = re.compile(r"in row \d+|in \d+ rows, the first of them row \d+")
        raise DataError(
            where.sub(f"in {error.count} of its distinct values", str(error)),
            column=attribute.name,
            count=error.count,
            value=error.value,
        ) from None


def too_many(name: str, most: int) -> DataError:
    """The error for a column whose distinct values are no domain on Spark."""
    return DataError(
        f"column {name!r} has more than {most} values, too many for a domain on Spark; "
        "round it: dates to days, times to minutes, numbers to fewer digits, codes to a prefix",
        column=name,
    )


def record(kinds: Sequence[DataType], n_lists: int) -> StructType:
    """What `class_counts` tells of a class whose cells have these types."""
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    cells = [StructField(f"q{i}", kind) for i, kind in enumerate(kinds)]
    lists = [
        StructField(f"{what}{j}", ArrayType(LongType())) for j in range(n_lists) for what in ("code", "count")
    ]
    return StructType([*cells, StructField("rows", LongType()), *lists])


def class_counts(
    df: DataFrame, cell_names: Sequence[str], sensitive: Sequence[Domain], *, joint: bool = False
) -> DataFrame:
    """Per class and task its cells `q0`, `q1`, .., its rows, and codes and counts of sensitive values.

    With `joint` also of the combinations of sensitive values, after the last attribute.
    """
    kinds = [df.schema[name].dataType for name in cell_names]
    fields = record(kinds, len(sensitive) + joint)
    labels, n, domains = fields.names, len(cell_names), _numbered(sensitive)

    def count(batches: Batches) -> Batches:
        return _counted(batches, n, domains, labels, joint)

    cells_of = [cell(named(name), kind) for name, kind in zip(cell_names, kinds, strict=True)]
    columns = [column.alias(f"q{i}") for i, column in enumerate(cells_of)]
    columns += [named(domain.name).alias(f"s{j}") for j, domain in enumerate(sensitive)]
    return df.select(*columns).mapInArrow(count, fields)


def counts_of_slices(
    held: DataFrame, release_schema: StructType, cell_names: Sequence[str], sensitive: Sequence[Domain]
) -> DataFrame:
    """As `class_counts`, of rows of these types in `frames.slices`."""
    fields = record([release_schema[name].dataType for name in cell_names], len(sensitive))
    labels, n, domains = fields.names, len(cell_names), _numbered(sensitive)
    shown = [*cell_names, *(domain.name for domain in sensitive)]

    def look(batches: Batches) -> Batches:
        for batch in rows_of(batches):
            columns = [batch[name] for name in shown]
            columns[:n] = map(_equal_cells, columns[:n])
            yield pa.RecordBatch.from_arrays(
                columns, names=[*(f"q{i}" for i in range(n)), *(domain.name for domain in domains)]
            )

    def count(batches: Batches) -> Batches:
        return _counted(look(batches), n, domains, labels, False)

    return held.mapInArrow(count, fields)


def _equal_cells(column: pa.Array) -> pa.Array:
    """As `cell`, of an array."""
    if not pa.types.is_floating(column.type):
        return column
    known = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return pc.add(known, pa.scalar(0.0, column.type))


def _numbered(sensitive: Sequence[Domain]) -> list[Domain]:
    return [replace(domain, name=f"s{j}") for j, domain in enumerate(sensitive)]


def _counted(
    batches: Batches, n_cells: int, domains: Sequence[Domain], labels: Sequence[str], joint: bool
) -> Batches:
    """What `class_counts` tells, of rows with cells `q0`, `q1`, .. and the columns of the domains."""
    names = [f"q{i}" for i in range(n_cells)]
    for table in gathered(batches, 4 * CHUNK_ROWS, CHUNK_BYTES):
        group, n_groups = alike([table[name] for name in names])
        first = np.empty(n_groups, np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        arrays = table.select(names).take(pa.array(first)).combine_chunks().columns
        arrays = [
            column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in arrays
        ]
        arrays.append(pa.array(np.bincount(group, minlength=n_groups)))
        columns = list(encode_like(table, domains))
        for codes in [*columns, _combined(columns, domains)] if joint else columns:
            values, at = np.unique(codes, return_inverse=True)
            key, rows = np.unique(group * len(values) + at, return_counts=True)
            groups, at = np.divmod(key, len(values))
            offsets = pa.array(np.searchsorted(groups, np.arange(n_groups + 1)), pa.int32())
            arrays += [
                pa.ListArray.from_arrays(offsets, pa.array(part.astype(np.int64)))
                for part in (values[at], rows)
            ]
        yield pa.RecordBatch.from_arrays(arrays, names=labels)


def counts_of_units(
    df: DataFrame, cell_names: Sequence[str], sensitive: Sequence[Domain], unit: str
) -> DataFrame:
    """As `class_counts`, three times, told apart by `what`: of the rows (0), of the units (1), and of each
    sensitive attribute alone with every unit once for each value (2 and on).
    """
    from pyspark.sql.functions import array, col, lit

    n = len(cell_names)

    def once(*names: str) -> DataFrame:
        cells = [cell(named(name), df.schema[name].dataType).alias(name) for name in (*cell_names, *names)]
        return df.select(*cells).distinct()

    def told(counted: DataFrame, what: int) -> DataFrame:
        lists = [col("code0"), col("count0")] if what > 1 else [array().cast("array<long>")] * 2
        lists = [one.alias(name) for one, name in zip(lists, ("code0", "count0"), strict=True)]
        return counted.select(*counted.columns[: n + 1], lit(what).cast("long").alias("what"), *lists)

    whole = told(class_counts(df, cell_names, []), 0).union(told(class_counts(once(unit), cell_names, []), 1))
    for j, domain in enumerate(sensitive):
        whole = whole.union(told(class_counts(once(unit, domain.name), cell_names, [domain]), 2 + j))
    return whole


def merged_units(
    table: pa.Table, n_shown: int, n_sensitive: int
) -> tuple[Ints, Ints, list[tuple[Ints, Ints, Ints]]]:
    """As `merged`, of `counts_of_units`: rows of each class, its units, and (class, code, units)."""
    group, n_groups = alike([table[f"q{i}"] for i in range(n_shown)])
    what, rows = table["what"].to_numpy(), table["rows"].to_numpy()
    sizes, n_units = np.zeros((2, n_groups), np.int64)
    for number, counts in enumerate((sizes, n_units)):
        np.add.at(counts, group[what == number], rows[what == number])
    entries = []
    for j in range(n_sensitive):
        some = what == 2 + j
        entries.append(_entries(group[some], table.filter(pa.array(some)), 0))
    return sizes, n_units, entries


def merged(table: pa.Table, n_shown: int, n_sensitive: int) -> tuple[Ints, list[tuple[Ints, Ints, Ints]]]:
    """Classes of several tasks made one where their cells are equal: sizes, and (class, code, rows)."""
    group, n_groups = alike([table[f"q{i}"] for i in range(n_shown)])
    sizes = np.zeros(n_groups, np.int64)
    np.add.at(sizes, group, table["rows"].to_numpy())
    return sizes, [_entries(group, table, j) for j in range(n_sensitive)]


def _entries(group: Ints, table: pa.Table, j: int) -> tuple[Ints, Ints, Ints]:
    """Group, code and count of what lists of codes and counts hold, added up."""
    codes, counts = (table[f"{what}{j}"].combine_chunks() for what in ("code", "count"))
    lengths = codes.value_lengths().to_numpy()
    groups, code = np.repeat(group, lengths), codes.flatten().to_numpy()
    values, at = np.unique(code, return_inverse=True)
    key, rows = summed([(groups * len(values) + at, counts.flatten().to_numpy())])
    groups, at = np.divmod(key, max(len(values), 1))
    return groups, values[at], rows


def holds_others(
    sensitive: Sequence[Domain], totals: Sequence[Ints], entries: Sequence[tuple[Ints, Ints, Ints]]
) -> bool:
    """Do `merged` classes hold values that a domain lacks, or one more often than the whole table?"""
    return any(
        (code >= domain.n_codes).any() or (np.bincount(code, rows, domain.n_codes) > total).any()
        for domain, total, (_, code, rows) in zip(sensitive, totals, entries, strict=False)
    )


def _combined(codes: Sequence[Codes], domains: Sequence[Domain]) -> Ints:
    """One number for each combination of codes."""
    if math.prod(domain.n_codes for domain in domains) >= 2**63:
        raise UsageError("the sensitive attributes have too many combinations: check fewer of them at once")
    number = np.zeros(len(codes[0]), np.int64)
    for column, domain in zip(codes, domains, strict=True):
        number = number * domain.n_codes + column
    return number


def measured(
    counted: DataFrame,
    n_shown: int,
    sensitive: Sequence[tuple[Domain, Ints]],
    joint: tuple[Ints, Ints] | None,
    require: Sequence[Requirement],
) -> list[dict[str, Any]]:
    """What every task makes of its `class_counts`: sums and extremes, which `whole_of` puts together.

    `sensitive` are the domains and the rows with each of their codes, `joint` those of the combinations.
    """
    names = [f"q{i}" for i in range(n_shown)]
    domains, expected = [domain for domain, _ in sensitive], [int(counts.sum()) for _, counts in sensitive]
    s = len(sensitive)

    def measure(batches: Batches) -> Batches:
        pieces = list(batches)
        if not pieces:
            return
        table = pa.Table.from_batches(pieces)
        sizes, entries = merged(table, n_shown, s + (joint is not None))
        part: dict[str, Any] = {
            "rows": int(sizes.sum()),
            "others": holds_others(domains, [counts for _, counts in sensitive], entries),
            "unpaired": [
                bool((np.bincount(group, rows, len(sizes)) != sizes).any()) for group, _, rows in entries[:s]
            ],
            "missing": any(table[name].null_count for name in names),
        }
        if len(sizes) and not part["others"] and not any(part["unpaired"]):
            part |= measures(sizes, entries)
        yield pa.RecordBatch.from_pydict({"part": [json.dumps(part)]})

    def measures(sizes: Ints, entries: Sequence[tuple[Ints, Ints, Ints]]) -> dict[str, Any]:
        totals = {domain.name: rows for domain, rows in sensitive}
        by_name = {d.name: (d, *entry) for d, entry in zip(domains, entries, strict=False)}
        failing = failing_groups(require, sizes, by_name, totals)
        tables = list(totals.values())
        if joint is not None:
            group, code, rows = entries[s]
            entries = [*entries[:s], (group, np.searchsorted(joint[0], code), rows)]
            tables.append(joint[1])
        counts = [
            Counts(np.searchsorted(group, np.arange(len(sizes) + 1)), code.astype(np.uint32), rows, table)
            for (group, code, rows), table in zip(entries, tables, strict=True)
        ]
        return {
            "sizes": [each.tolist() for each in np.unique(sizes, return_counts=True)],
            "failing": failing,
            "attributes": list(map(part_of, counts, [*domains, None])),
        }

    texts = counted.repartition(*names).mapInArrow(measure, "part string").toArrow()["part"]
    parts = [json.loads(part) for part in texts.to_pylist()]
    n_rows = sum(part["rows"] for part in parts)
    others = any(part["others"] for part in parts)
    for j, domain in enumerate(domains):
        if not others and any(part["unpaired"][j] for part in parts):
            raise unpaired(domain.name)
    if others or any(n != n_rows for n in expected):
        raise RecheckError(
            f"{expected[0]} rows were to be measured and {n_rows} are, or other values; {OTHER_ROWS}"
        )
    return [part for part in parts if part["rows"]]


def whole_of(
    of_tasks: Sequence[Mapping[str, Any]],
    totals: Mapping[str, Ints],
    joint: tuple[Ints, Ints] | None,
    require: Sequence[Requirement],
    at_risk: Sequence[float],
) -> Privacy:
    """The measures of a whole release, of which every sensitive attribute has `totals` rows per code."""
    sizes = [np.array(part["sizes"], np.int64) for part in of_tasks] or [np.zeros((2, 0), np.int64)]
    size, n_of_size = summed([(size, n_of_size) for size, n_of_size in sizes])
    measured: list[Disclosure | None] = []
    for j, counts in enumerate([*totals.values(), *([] if joint is None else [joint[1]])]):
        parts = [part["attributes"][j] for part in of_tasks]
        of_all = disclosure_of(parts, counts, int(n_of_size.sum())) if parts else None
        measured.append(of_all and replace(of_all, worst={}))  # classes have no numbers here
    by_sensitive = dict(zip(totals, measured, strict=False))
    combined = measured[-1] or zero() if measured else None
    failing = [sum(part["failing"][i] for part in of_tasks) for i in range(len(require))]
    return replace(
        put_together(by_sensitive, combined, size, n_of_size, at_risk),
        unmet=tuple(str(one) for one, n in zip(require, failing, strict=True) if n) if require else None,
    )


def null_matching(counted: DataFrame, n_shown: int, names: Sequence[str]) -> NullMatching:
    """As `privacy.null_matching`, of `class_counts` some of whose cells are null.

    By pairs of null patterns: a class meets, of each pattern, the classes that have its cells in the
    columns that neither lacks, summed up beforehand. `names` are the sensitive attributes.
    """
    from pyspark.sql import functions as f

    def entry(attribute: int, code: Column, rows: Column) -> Column:
        number = f.lit(attribute)
        return f.struct(number.alias("attribute"), code.alias("code"), rows.alias("rows"))

    cells, keys = [f"q{i}" for i in range(n_shown)], [f"k{i}" for i in range(n_shown)]
    own = f.concat(*(f.when(f.col(name).isNull(), "1").otherwise("0") for name in cells))
    lists = [f.array(entry(-1, f.lit(0).cast("long"), f.col("rows")))]
    for j in range(len(names)):
        lists.append(f.zip_with(f"code{j}", f"count{j}", partial(entry, j)))
    classes = counted.select(*cells, own.alias("own"), f.concat(*lists).alias("held"))
    patterns = classes.select(f.col("own").alias("other")).distinct()
    masked = [
        f.when(f.substring("other", i + 1, 1) == "0", f.col(name)).alias(key)
        for i, (name, key) in enumerate(zip(cells, keys, strict=True))
    ]
    met = classes.crossJoin(f.broadcast(patterns)).select("*", *masked)
    seekers = met.select(*cells, "own", "other", *keys).distinct()
    sought = met.select("own", "other", *keys, f.inline("held"))
    sought = sought.groupBy("own", "other", *keys, "attribute", "code").agg(f.sum("rows").alias("rows"))
    sought = sought.withColumnsRenamed({name: f"its_{name}" for name in ("own", "other", *keys)})
    meets = (f.col("own") == f.col("its_other")) & (f.col("other") == f.col("its_own"))
    for key in keys:
        meets &= f.col(key).eqNullSafe(f.col(f"its_{key}"))
    sets = seekers.join(sought, meets).groupBy(*cells, "attribute", "code").agg(f.sum("rows").alias("rows"))
    worst = (
        sets.groupBy(*cells, "attribute")
        .agg(f.sum("rows").alias("size"), f.count("rows").alias("n"), f.max("rows").alias("largest"))
        .groupBy("attribute")
        .agg(f.min("size"), f.min("n"), f.max(f.col("largest") / f.col("size")))
    )
    extremes = {row[0]: row[1:] for row in worst.collect()}
    return matching_of(extremes[-1][0], {name: extremes[j][1:] for j, name in enumerate(names)})


def combinations(df: DataFrame, domains: Sequence[Domain]) -> tuple[Ints, Ints] | None:
    """The combinations of sensitive values that occur, each as one number, and their rows."""
    if len(domains) < 2:
        return None
    columns = [named(domain.name).alias(str(j)) for j, domain in enumerate(domains)]
    counted = df.select(*columns).groupBy(*map(str, range(len(domains)))).count()
    table = counted.toArrow()
    table = table.cast(in_utc(table.schema))
    codes = encode_like(table, [replace(domain, name=str(j)) for j, domain in enumerate(domains)])
    return summed([(_combined(codes, domains), table["count"].to_numpy())])
