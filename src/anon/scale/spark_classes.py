# SPDX-License-Identifier: Apache-2.0
"""The classes of a published Spark DataFrame, counted where they lie: for the last check and for measures.

A class is the rows with equal published cells. Every task counts its own, those of one look meet in
one task, and the driver gets sums and extremes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import anon.recheck
from anon import privacy
from anon.classes import Counts
from anon.encode import Codes, Domain, encode_like
from anon.errors import RecheckError, UsageError
from anon.requirements import Requirement
from anon.scale.spark_tree import CHUNK_BYTES, CHUNK_ROWS, Batches, Ints, gathered, summed
from anon.schema import is_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


OTHER_ROWS = "if the DataFrame gives other rows each time it is read, persist or checkpoint it first"


def named(name: str) -> Column:
    """The column of this name, whatever the name holds."""
    from pyspark.sql.functions import col

    return col("`" + name.replace("`", "``") + "`")


def class_counts(
    df: DataFrame, shown: Sequence[str], sensitive: Sequence[Domain], *, joint: bool = False
) -> DataFrame:
    """Per class and task its cells `q0`, `q1`, .., its rows, and codes and counts of sensitive values.

    With `joint` also of the combinations of sensitive values, after the last attribute.
    """
    from pyspark.sql.functions import isnan, lit, when
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, LongType, StructField, StructType

    cells_of = [StructField(f"q{i}", df.schema[name].dataType) for i, name in enumerate(shown)]
    lists = [
        StructField(f"{what}{j}", ArrayType(LongType()))
        for j in range(len(sensitive) + joint)
        for what in ("code", "count")
    ]
    domains = [replace(domain, name=f"s{j}") for j, domain in enumerate(sensitive)]
    names = [f"q{i}" for i in range(len(shown))]
    n_rows, n_bytes = 4 * CHUNK_ROWS, CHUNK_BYTES

    def count(batches: Batches) -> Batches:
        for table in gathered(batches, n_rows, n_bytes):
            group, n_groups = anon.recheck.alike([table[name] for name in names])
            first = np.empty(n_groups, np.int64)
            first[group[::-1]] = np.arange(len(group))[::-1]
            arrays = table.select(names).take(pa.array(first)).combine_chunks().columns
            arrays = [
                column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
                for column in arrays
            ]
            arrays.append(pa.array(np.bincount(group, minlength=n_groups)))
            columns = list(encode_like(table, domains))
            for codes in [*columns, _combined(columns, domains)] if joint else columns:
                values, at = np.unique(codes, return_inverse=True)
                key, rows = np.unique(group * len(values) + at, return_counts=True)
                held, at = np.divmod(key, len(values))
                offsets = pa.array(np.searchsorted(held, np.arange(n_groups + 1)), pa.int32())
                arrays += [
                    pa.ListArray.from_arrays(offsets, pa.array(part.astype(np.int64)))
                    for part in (values[at], rows)
                ]
            labels = [*names, "rows", *(field.name for field in lists)]
            yield pa.RecordBatch.from_arrays(arrays, names=labels)

    columns = []
    for i, name in enumerate(shown):
        column, kind = named(name), df.schema[name].dataType
        if isinstance(kind, DoubleType | FloatType):  # NaN is null, and -0.0 is 0.0
            column = when(~isnan(column), (column + lit(0.0)).cast(kind))
        columns.append(column.alias(f"q{i}"))
    columns += [named(domain.name).alias(f"s{j}") for j, domain in enumerate(sensitive)]
    fields = [*cells_of, StructField("rows", LongType()), *lists]
    return df.select(*columns).mapInArrow(count, StructType(fields))


def merged(table: pa.Table, n_shown: int, n_sensitive: int) -> tuple[Ints, list[tuple[Ints, Ints, Ints]]]:
    """Classes of several tasks made one where their cells are equal: sizes, and (class, code, rows)."""
    group, n_groups = anon.recheck.alike([table[f"q{i}"] for i in range(n_shown)])
    sizes = np.zeros(n_groups, np.int64)
    np.add.at(sizes, group, table["rows"].to_numpy())
    entries = []
    for j in range(n_sensitive):
        codes, counts = (table[f"{what}{j}"].combine_chunks() for what in ("code", "count"))
        lengths = codes.value_lengths().to_numpy()
        held, code = np.repeat(group, lengths), codes.flatten().to_numpy()
        values, at = np.unique(code, return_inverse=True)
        key, rows = summed([(held * len(values) + at, counts.flatten().to_numpy())])
        held, at = np.divmod(key, len(values))
        entries.append((held, values[at], rows))
    return sizes, entries


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


def _extremes(
    sizes: Ints, domain: Domain | None, totals: Ints, group: Ints, code: Ints, count: Ints
) -> dict[str, float]:
    """Of some classes the worst of each measure of one attribute, and the sums that make the others."""
    offsets = np.searchsorted(group, np.arange(len(sizes) + 1)).astype(np.int64)
    counts = Counts(offsets, code.astype(np.uint32), count, totals)
    columns = privacy._columns(counts, domain, 1)
    rest = columns["recursive_c2"]
    told = {
        name: (columns[name].max() if greatest else columns[name].min()).item()
        for name, greatest in privacy._BY_CLASS.items()
        if name in columns
    }
    return told | {
        "know": float(np.sum(sizes * columns["t_equal"])),
        "largest": int(columns["largest"].sum()),
        "entropy": float(np.sum(sizes * columns["entropy"])),
        "ls_c": float(np.where(np.isinf(rest), 0.0, rest).sum()),
        "ls_l": float(columns["l_distinct"].sum()),
    }


def _disclosure(parts: Sequence[Mapping[str, Any]], totals: Ints, n_classes: int) -> privacy.Disclosure:
    """The measures of one attribute from what every task told of it."""
    n_rows = int(totals.sum())
    share = totals[totals > 0] / n_rows
    worst = {
        name: (max if greatest else min)(part[name] for part in parts)
        for name, greatest in privacy._BY_CLASS.items()
        if name in parts[0]
    }
    know, largest, entropy, ls_c, ls_l = (
        math.fsum(part[name] for part in parts) for name in ("know", "largest", "entropy", "ls_c", "ls_l")
    )
    return privacy.Disclosure(
        **worst,
        p_loss=worst["t_js"],
        a_know=know / n_rows,
        a_acc=int(largest - totals.max()) / n_rows,
        gain=max(-float(share @ np.log(share)) - entropy / n_rows, 0.0),
        ls_c=ls_c / n_classes,
        ls_l=ls_l / n_classes,
        worst={},
    )


def put_together(
    told: Sequence[Mapping[str, Any]],
    found: Sequence[tuple[Domain, Ints, Ints]],
    joint: tuple[Ints, Ints] | None,
    require: Sequence[Requirement],
    at_risk: Sequence[float],
) -> privacy.Privacy:
    """The measures of a whole release."""
    size, n_of_size = (
        np.array([value for part in told for value in part["sizes"][i]], np.int64) for i in (0, 1)
    )
    size, n_of_size = summed([(size, n_of_size)])
    rows, n_classes, n_starred = size * n_of_size, int(n_of_size.sum()), sum(part["starred"] for part in told)
    parts = [part for part in told if part["sizes"][0]]
    totals = [counts for _, _, counts in found] + ([] if joint is None else [joint[1]])
    measured = [
        _disclosure([part["attributes"][j] for part in parts], counts, n_classes)
        if n_classes
        else privacy._zero()
        for j, counts in enumerate(totals)
    ]
    by_sensitive = {domain.name: one for (domain, _, _), one in zip(found, measured, strict=False)}
    worst, worst_sensitive = privacy._worst(by_sensitive)
    middle = np.searchsorted(np.cumsum(n_of_size), [(n_classes + 1) // 2, n_classes // 2 + 1])
    k = int(size[0]) if n_classes else 0
    failing = [sum(part["failing"][i] for part in parts) for i in range(len(require))]
    return privacy.Privacy(
        **worst,
        n_rows=int(rows.sum()),
        n_suppressed=n_starred,
        n_classes=n_classes,
        k=k,
        sizes=privacy.Sizes(k, float(rows.sum() / n_classes), float(size[middle].mean()), int(size[-1]))
        if n_classes
        else privacy.Sizes(0, 0.0, 0.0, 0),
        prosecutor=privacy._risk(rows, size, Fraction(1), at_risk),
        sample_uniques=int(n_of_size[size == 1].sum()),
        by_sensitive=by_sensitive,
        worst_sensitive=worst_sensitive,
        combined=measured[-1] if measured else None,
        n_starred=n_starred,
        k_with_starred=min(k or n_starred, n_starred) if n_starred else None,
        unmet=tuple(str(one) for one, n in zip(require, failing, strict=True) if n) if require else None,
    )


def measured(
    df: DataFrame,
    names: Sequence[str],
    found: Sequence[tuple[Domain, Ints, Ints]],
    joint: tuple[Ints, Ints] | None,
    require: Sequence[Requirement],
) -> list[dict[str, Any]]:
    """What every task makes of its classes: sums and extremes, which `put_together` puts together."""
    sensitive = [(domain, counts) for domain, _, counts in found]
    domains = [domain for domain, _ in sensitive]
    m, s = len(names), len(sensitive)

    def measure(batches: Batches) -> Batches:
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        is_star = np.full(table.num_rows, all(is_text(table[f"q{i}"].type) for i in range(m)))
        for i in range(m) if is_star.any() else ():
            is_star &= np.asarray(pc.fill_null(pc.equal(table[f"q{i}"], "*"), False))
        part: dict[str, Any] = {"starred": int(table["rows"].to_numpy()[is_star].sum())}
        table = table.filter(pa.array(~is_star))
        sizes, entries = merged(table, m, s + (joint is not None))
        part["others"] = holds_others(domains, [counts for _, counts in sensitive], entries)
        part["rows"] = int(sizes.sum())
        if part["others"]:
            yield pa.RecordBatch.from_pydict({"part": [json.dumps(part)]})
            return
        part["sizes"] = [each.tolist() for each in np.unique(sizes, return_counts=True)]
        named = {d.name: (d, *entry) for (d, _), entry in zip(sensitive, entries, strict=False)}
        totals = {domain.name: counts for domain, counts in sensitive}
        part["failing"] = anon.recheck.failing_groups(require, sizes, named, totals) if len(sizes) else []
        parts: list[Any] = [
            (domain, counts, *entry) for (domain, counts), entry in zip(sensitive, entries, strict=False)
        ]
        if joint is not None:
            group, code, count = entries[s]
            parts.append((None, joint[1], group, np.searchsorted(joint[0], code), count))
        part["attributes"] = [_extremes(sizes, *one) for one in parts] if len(sizes) else []
        yield pa.RecordBatch.from_pydict({"part": [json.dumps(part)]})

    counted = class_counts(df, names, domains, joint=joint is not None)
    counted = counted.repartition(*(f"q{i}" for i in range(m)))
    told = counted.mapInArrow(measure, "part string").toArrow()["part"].to_pylist()
    parts = [json.loads(part) for part in told]
    n_rows = sum(part["rows"] for part in parts)
    expected = [int(counts.sum()) for _, counts in sensitive]
    if any(part["others"] for part in parts) or any(n != n_rows for n in expected):
        raise RecheckError(
            f"{expected[0]} rows were to be measured and {n_rows} are, or other values; {OTHER_ROWS}"
        )
    return parts


def combinations(df: DataFrame, domains: Sequence[Domain]) -> tuple[Ints, Ints] | None:
    """The combinations of sensitive values that occur, each as one number, and their rows."""
    if len(domains) < 2:
        return None
    columns = [named(domain.name).alias(str(j)) for j, domain in enumerate(domains)]
    table = df.select(*columns).groupBy(*map(str, range(len(domains)))).count().toArrow()
    codes = encode_like(table, [replace(domain, name=str(j)) for j, domain in enumerate(domains)])
    return summed([(_combined(codes, domains), table["count"].to_numpy())])
