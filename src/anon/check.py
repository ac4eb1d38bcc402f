# SPDX-License-Identifier: Apache-2.0
"""Privacy of a table made by anyone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.cells import MISSING
from anon.classes import Classes, group
from anon.encode import Codes, Domain, Encoded, available_threads, encode
from anon.errors import DataError, UsageError
from anon.privacy import Privacy, measure, measure_columns, population_risk
from anon.read import Source, read_source
from anon.release import CLASS_ID, METADATA_KEY, read_metadata, sensitive_path
from anon.schema import Attribute, Schema, check_names, is_text


def check(
    source: Any,
    schema: Schema | None = None,
    *,
    sensitive_table: Any = None,
    at_risk: Sequence[float] = (2, 5, 10),
    sampling_fraction: float | None = None,
    per_class: bool = False,
    n_threads: int | None = None,
) -> Privacy:
    """Measure the privacy of a released table, whoever made it.

    Classes are the rows with equal cells in every quasi-identifier; a missing cell is a value of its
    own, and where there is one the reading "null matches anything" is given beside. Rows of `*` only
    are reported apart. Sensitive attributes are measured against the rows of the table itself.

    Parameters
    ----------
    source : as for `anonymize`
    schema : Schema, optional
        The roles; of the quasi-identifiers only the names are used. Without it the table must be a
        Parquet or Feather release of this package, which says its roles itself.
    sensitive_table : as `source`, optional
        The second table of a bucketization. Needed for tables in memory and for CSV; beside a Parquet
        or Feather file it is found.
    at_risk : sequence of float
        Report the share of rows whose risk is above x, or 1/x where x >= 1.
    sampling_fraction : float in (0, 1], optional
        Share of a population that the table holds, for journalist and marketer risk.
    per_class : bool
        Also give every measure of every class, as an Arrow table.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.
    """
    n_threads = available_threads() if n_threads is None else n_threads
    table_source = read_source(source)
    table = table_source.table
    told = metadata_of(table_source)
    if schema is None and told is None:
        raise UsageError("the table does not say its roles: name its quasi-identifiers in a schema")
    schema = _schema(told, schema)
    if sensitive_table is not None or (told is not None and told["publish"] == "bucketization"):
        second = second_table(table_source, sensitive_table)
        privacy, classes = _measure_buckets(table, second, schema, at_risk, per_class, n_threads)
        encoded = None
    else:
        if told is not None:
            table = _with_missing(table, schema)
        encoded = encode(table, schema, n_threads=n_threads)
        privacy, classes = measure_columns(
            encoded.quasi,
            encoded.quasi_codes,
            encoded.sensitive,
            encoded.sensitive_codes,
            starred=_starred(encoded) if told is None else None,
            at_risk=at_risk,
            per_class=per_class,
            n_threads=n_threads,
        )
    if sampling_fraction is not None:
        privacy = replace(
            privacy,
            population=population_risk(classes, sampling_fraction=sampling_fraction, at_risk=at_risk),
        )
    shown = [CLASS_ID] if encoded is None else [domain.name for domain in encoded.quasi]
    return replace(privacy, worst_cells=_worst_cells(table.select(shown), classes, privacy.worst))


def metadata_of(source: Source) -> dict[str, Any] | None:
    """What a release says about itself; None for a table that this package did not make."""
    if len(source.paths) == 1:
        return read_metadata(source.paths[0])
    text = (source.table.schema.metadata or {}).get(METADATA_KEY.encode())
    return None if text is None else dict(json.loads(text))


def _schema(told: Mapping[str, Any] | None, given: Schema | None) -> Schema:
    """Roles for measuring: published cells are opaque, sensitive attributes keep their kind."""
    if given is not None:
        return Schema([attribute.name for attribute in given.quasi], given.sensitive)
    assert told is not None
    quasi = [column for cells in told["cells"].values() for column in cells["columns"]]
    numeric = {name for name, kind in told["kinds"].items() if kind == "numeric"}
    return Schema(
        quasi,
        [Attribute(name, "numeric" if name in numeric else None) for name in told["roles"]["sensitive"]],
    )


def _with_missing(table: pa.Table, schema: Schema) -> pa.Table:
    """Cells that read `missing` are missing cells, in a release of ours."""
    for attribute in schema.quasi:
        column = table.column(attribute.name)
        texts = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        if is_text(texts.type):
            missing = pc.equal(texts, pa.scalar(MISSING, texts.type))
            if pc.any(missing).as_py():
                nothing = pa.scalar(None, texts.type)
                at = table.column_names.index(attribute.name)
                table = table.set_column(at, attribute.name, pc.if_else(missing, nothing, texts))
    return table


def _starred(encoded: Encoded) -> npt.NDArray[np.bool_] | None:
    """Rows whose every quasi-identifier is `*`, in a table that this package did not make."""
    starred = np.ones(encoded.n_rows, np.bool_)
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        star = pc.index(domain.values, pa.scalar("*", domain.values.type)).as_py() if _text(domain) else -1
        if star < 0:
            return None
        starred &= codes == star
    return starred if starred.any() else None


def _text(domain: Domain) -> bool:
    return bool(pa.types.is_string(domain.values.type) or pa.types.is_large_string(domain.values.type))


def _worst_cells(shown: pa.Table, classes: Classes, worst: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """For every measure set by one class, the published cells of that class."""
    cells: dict[int, dict[str, Any]] = {
        number: shown.slice(int(classes.rows[classes.offsets[number]]), 1).to_pylist()[0]
        for number in set(worst.values())
    }
    return {name: cells[number] for name, number in worst.items()}


# --- bucketization: two tables linked by class id


def second_table(source: Source, given: Any) -> pa.Table:
    if given is not None:
        return read_source(given).table
    if len(source.paths) == 1 and sensitive_path(source.paths[0]).exists():
        return read_source(sensitive_path(source.paths[0])).table
    raise DataError(
        "this is one half of a bucketization and its sensitive table is not beside it; "
        "give it as sensitive_table"
    )


def _measure_buckets(
    table: pa.Table,
    second: pa.Table,
    schema: Schema,
    at_risk: Sequence[float],
    per_class: bool,
    n_threads: int,
) -> tuple[Privacy, Classes]:
    check_names([CLASS_ID], table.column_names)
    check_names(["attribute", CLASS_ID, "value", "count"], second.column_names)
    ids = encode(table.select([CLASS_ID]), Schema([CLASS_ID]), n_threads=n_threads)
    classes = group(ids.quasi_codes, n_threads=n_threads)
    known = ids.quasi[0].values
    domains, codes = [], []
    for attribute in schema.sensitive:
        part = second.filter(pc.equal(second["attribute"], attribute.name))
        domain, column = _bucket_codes(part, attribute, known, classes)
        domains.append(domain)
        codes.append(column)
    privacy = measure(
        classes, domains, codes, at_risk=at_risk, joint=False, per_class=per_class, n_threads=n_threads
    )
    return privacy, classes


def _bucket_codes(
    part: pa.Table, attribute: Attribute, known: pa.Array, classes: Classes
) -> tuple[Domain, Codes]:
    """Codes of one sensitive attribute, dealt to the rows of each bucket: inside it any order will do."""
    name = attribute.name
    bucket = pc.index_in(part[CLASS_ID], value_set=known)
    counts = part["count"].to_numpy()
    held = np.bincount(bucket.fill_null(0).to_numpy(), counts, classes.n_classes)
    if bucket.null_count or not np.array_equal(held, classes.sizes):
        raise DataError(
            f"column {name!r}: the two tables of the bucketization do not belong together: "
            "their buckets differ in size",
            column=name,
        )
    values = part["value"]
    if attribute.kind == "numeric":
        values = values.cast(pa.float64())
    encoded = encode(pa.table({name: values}), Schema([attribute]))
    order = np.argsort(bucket.to_numpy(), kind="stable")
    codes = np.empty(len(classes.rows), encoded.quasi_codes[0].dtype)
    codes[classes.rows] = np.repeat(encoded.quasi_codes[0][order], counts[order])
    return encoded.quasi[0], codes
