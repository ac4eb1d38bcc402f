# SPDX-License-Identifier: Apache-2.0
"""The measures of a data frame, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from anon.classes import MISSING
from anon.encoding import Domain
from anon.engines.spark.buckets import bucket_counts, sensitive_rows, values_of
from anon.engines.spark.classes import (
    OTHER_ROWS,
    arrow_schema,
    cell,
    class_counts,
    combinations,
    measured,
    named,
    null_matching,
    whole_of,
)
from anon.engines.spark.frames import Ints
from anon.engines.spark.read import MOST_VALUES, NO_ROWS, batches_of_bytes, domains_of, own_errors
from anon.errors import DataError, Parameter, RecheckError, UsageError
from anon.measures import Privacy, risk_of_sizes
from anon.release import CLASS_ID
from anon.requirements import Requirement, check_list
from anon.schema import Attribute, Schema, is_text, value_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_spark(
    df: DataFrame,
    schema: Schema,
    *,
    sensitive_table: DataFrame | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> Privacy:
    """Measure the privacy of a released Spark DataFrame, whoever made it.

    As `anon.check` of a table in memory, but for what numbers the classes: `per_class`, `worst` and
    `worst_cells`. Of a bucketization give the pair of tables; in the second, values are text: those of
    an attribute of no declared kind are numbers where each can be read as one of its own.

    Raises
    ------
    UsageError, DataError
        As `anon.check`, a row being named by no number; a domain of more than 10 million values is refused.
    RecheckError
        The DataFrame gave other rows when it was read again.
    """
    for each in (df,) if sensitive_table is None else (df, sensitive_table):
        refuse_others(each)
    check_list(require)
    refuse_custom(require)
    names = [attribute.name for attribute in schema.quasi]
    with own_errors(), batches_of_bytes(df):
        if sensitive_table is not None:
            if df.isEmpty():
                raise DataError(NO_ROWS)
            measured = _of_buckets(df, sensitive_table, names, schema.sensitive, at_risk, require)
        else:
            measured = _of_cells(df, names, schema.sensitive, at_risk, require)
        if not measured.n_rows and not measured.n_starred:
            raise DataError(NO_ROWS)
        roles = schema.by_role(name for name in df.columns if name != CLASS_ID)
        return replace(measured, roles_from="given", roles=roles)


def measure_release(
    files: Sequence[DataFrame],
    names: Sequence[str],
    sensitive: Sequence[Attribute],
    totals: Sequence[tuple[Domain, Ints]],
    require: Sequence[Requirement],
    n_rows: int,
) -> Privacy:
    """Measure what `release_spark` made of `n_rows` rows, as it was written and is read again.

    Its quasi-identifiers are the columns `names`, `totals` the rows with each of the sensitive values; cells
    that read `missing` are missing, and rows of `*` only are rows like others. Raises RecheckError where
    there are other rows, or classes that fail `require`.
    """
    from pyspark.sql.functions import lit, nullif

    df, *second = files
    with own_errors(), batches_of_bytes(df):
        try:
            if not n_rows and df.isEmpty():
                measured = whole_of([], {domain.name: rows for domain, rows in totals}, None, (), ())
                measured = replace(measured, combined=None if second else measured.combined)
            elif second:
                measured = _of_buckets(df, second[0], names, sensitive, require=require)
            else:
                for field in arrow_schema(df):
                    if field.name in names and is_text(field.type):
                        df = df.withColumn(field.name, nullif(named(field.name), lit(MISSING)))
                measured = _in_classes(df, names, totals, require=require)
        except RecheckError:
            measured = None
    if measured is None or measured.unmet or measured.n_rows != n_rows:
        raise RecheckError(
            "the files do not hold what was asked for; this is a fault of the tool, nothing was written"
        )
    return replace(measured, unmet=None)  # as of a release: it was not asked about, it holds


def _of_cells(
    df: DataFrame,
    names: Sequence[str],
    sensitive: Sequence[Attribute],
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> Privacy:
    """The measures of rows in classes of equal cells, rows of `*` only being set apart."""
    from pyspark.sql.functions import lit

    arrow = arrow_schema(df)
    bound = Schema(names, sensitive).bind(arrow)
    kept, texts = lit(True), all(is_text(value_type(arrow.field(name).type)) for name in names)
    if texts:
        kept = ~reduce(and_, (named(name).eqNullSafe("*") for name in names))
    domains = domains_of(df, bound.sensitive, kept, arrow) if sensitive else []
    totals = [(domain, rows) for domain, _, rows in domains]
    if domains:
        n_starred = int(domains[0][1].sum() - domains[0][2].sum())
    else:
        n_starred = df.where(~kept).count() if texts else 0
    whole = _in_classes(df.where(kept), names, totals, at_risk, require)
    return replace(
        whole,
        n_suppressed=n_starred,
        n_starred=n_starred,
        k_with_starred=min(whole.k or n_starred, n_starred) if n_starred else None,
    )


def _in_classes(
    df: DataFrame,
    names: Sequence[str],
    totals: Sequence[tuple[Domain, Ints]],
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> Privacy:
    """The measures of rows in classes of equal cells; `totals` are the rows with each sensitive value."""
    _compile(require, totals)
    domains = [domain for domain, _ in totals]
    joint = combinations(df, domains)
    counted = class_counts(df, names, domains, joint=joint is not None)
    parts = measured(counted, len(names), totals, joint, require)
    matching = None
    if any(part["missing"] for part in parts):
        counted.persist()
        try:
            matching = null_matching(counted, len(names), [domain.name for domain in domains])
        finally:
            counted.unpersist()
    whole = whole_of(parts, {domain.name: rows for domain, rows in totals}, joint, require, at_risk)
    return replace(whole, null_matching=matching)


def _of_buckets(
    df: DataFrame,
    second: DataFrame,
    names: Sequence[str],
    sensitive: Sequence[Attribute],
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> Privacy:
    """The measures of a bucketization: of its buckets, and the risk of its intact quasi-identifiers."""
    from pyspark.sql.functions import count

    Schema(names).bind(arrow_schema(df))
    rows = sensitive_rows(df, second)
    values = values_of(rows, sensitive, MOST_VALUES) if sensitive else []
    totals = [(each.domain, each.rows) for each in values]
    _compile(require, totals)
    parts = measured(bucket_counts(df, rows, values), 1, totals, None, require)
    whole = whole_of(parts, {domain.name: total for domain, total in totals}, None, require, at_risk)
    cells = [cell(named(name), df.schema[name].dataType).alias(f"q{i}") for i, name in enumerate(names)]
    alike = df.select(*cells).groupBy(*(f"q{i}" for i in range(len(names)))).count()
    sizes = alike.groupBy("count").agg(count("count").alias("classes")).toArrow()
    size, n_of_size = (sizes[name].to_numpy() for name in ("count", "classes"))
    if np.sum(size * n_of_size) != whole.n_rows:
        raise RecheckError(f"the table has other rows than when it was first read; {OTHER_ROWS}")
    return replace(whole, combined=None, intact=True, **risk_of_sizes(size, n_of_size, at_risk))


def _compile(require: Sequence[Requirement], totals: Sequence[tuple[Domain, Ints]]) -> None:
    """Raise what a requirement has against these sensitive attributes."""
    for requirement in require:
        requirement.rules([domain for domain, _ in totals], [rows for _, rows in totals])


def refuse_custom(require: Sequence[Requirement]) -> None:
    if not all(one.on_spark for one in require):
        raise UsageError("a requirement of your own does not run on Spark: use one of anon's")
    for one in require:
        if one.by_matching:
            raise UsageError(
                f"{one}: Spark compares rows by equal cells: check it on one machine, or ask for ",
                Parameter('nulls="own"', "--k-nulls own"),
            )


def refuse_others(df: Any) -> None:
    if not hasattr(df, "mapInArrow"):
        raise UsageError(
            f"give a Spark DataFrame, not {type(df).__name__}: spark.read.parquet(...) makes one"
        )
