# SPDX-License-Identifier: Apache-2.0
"""Utility of a release made by anyone, read back from its published cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Cell, Cells, Classes, Counts, Published, group, quote, reader, single_cells
from anon.encoding import Domain, Encoded, encode, encode_like, encode_weights
from anon.errors import NAME_QUASI, DataError, Parameter, UsageError
from anon.measures import Utility, population_risk
from anon.measures import measure_utility as measure
from anon.release import (
    bucket_ids,
    buckets_of,
    is_bucketized,
    linked,
    metadata_of,
    refuse_sensitive_half,
    second_table,
)
from anon.schema import CODING, Attribute, Schema, check_names
from anon.tables import read_source, read_table
from anon.threads import available_threads
from anon.verbs.foreign import asked_k, generalized, refuse_unknown
from anon.verbs.matching import aligned, matched, numbers_compared
from anon.verbs.people import people_inside

if TYPE_CHECKING:
    from anon.tables import Scan


def compare(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    *,
    sensitive_table: Any = None,
    id: str | None = None,
    r: float = 1.0,
    w_u: float = 0.5,
    w_p: float = 0.5,
    min_support: float = 0.05,
    population: Any = None,
    sampling_fraction: float | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
    n_threads: int | None = None,
) -> Utility:
    """Measure what a released table lost of the original, whoever made it.

    Rows are not aligned, unless a column `id` tells them apart. Classes are the rows with equal cells in
    every quasi-identifier; a cell covers the values of the original that lie in it. In a table of another
    tool a cell that equals a value or a label of the attribute's hierarchy is that; otherwise it is read
    as an interval (`[17, 25]`, `(17, 25]`, `[17, 25[`, `17-25`, `<25`, `>=65`), a set (`{a, b}`, `a|b`,
    `a,b`) or `*`; a missing cell is a missing value where the original has one in that column, otherwise
    `*`; an attribute may also stand in two columns, `<name>_min` and `<name>_max`. Rows of `*` only count
    as suppressed, and so do the rows that the release lacks. A column of numbers that the original does
    not have, or not so often, shows midpoints, means or noise: then measures that need cells are refused, and
    `numbers` tells what became of them; with an `id` also how far each lies from its own.
    `c_avg` takes the k that a release of this package was asked for.

    Parameters
    ----------
    original, released : as for `anonymize`
    schema : Schema, optional
        The roles, with hierarchies and orders. Without it the release must be a Parquet or Feather
        file of this package without nodes and ordinal attributes, and hierarchies of sensitive
        attributes are not known.
    sensitive_table : as `released`, optional
        The second table of a bucketization; found beside the first where that is a file.
    id : str, optional
        A neutral column without missing or repeated values in either table, by which rows are matched;
        the answer then has `aligned`: whose value lies outside its cell, and how far. Both tables are then
        held in memory.
    r, w_u, w_p, min_support
        As for `Release.utility`.
    population : as `original`, optional
        A table of the population that the original was drawn from: the answer then has `population` and
        `population_before`, the risk of the release's and of the original's rows there.
    sampling_fraction : float in (0, 1], optional
        In its place the share of the population that was drawn. Without either it is the risk of the
        schema's sampling weights, where both tables have them.
    at_risk : sequence of float
        Thresholds of that risk, as for `check`.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    DataError
        A cell cannot be read, or an id is missing, repeated or unknown; names its column and row.
    UsageError
        Roles are missing; and later, when a measure that needs cells is asked of a release that shows
        midpoints, means or noise.
    """
    threads = available_threads(n_threads)
    source = read_source(released)
    metadata = metadata_of(source)
    refuse_sensitive_half(source, schema)
    before, after = (
        read_source(each).table if id is None else read_table(each) for each in (original, source)
    )
    # nothing is published here: the column that matches rows needs no role
    encoded = encode(before, replace(_roles(metadata, schema), neutral="rest"), n_threads=threads).original
    if after.num_rows > encoded.n_rows:
        raise DataError(
            f"the release has {after.num_rows} rows and the original {encoded.n_rows}; "
            "is the right table compared?"
        )
    cells: list[Cells] | None
    if sensitive_table is not None or is_bucketized(source, metadata, encoded.schema):
        second = second_table(source, sensitive_table)
        published = _buckets(encoded, after, second, metadata, threads)
        assert published.intact is not None
        cells = [
            replace(single_cells(domain), of_class=codes.astype(np.uint32))
            for domain, codes in zip(encoded.quasi, published.intact, strict=True)
        ]
    else:
        published, cells = generalized(encoded, after, metadata, threads)
    measured = measure(published, r=r, w_u=w_u, w_p=w_p, min_support=min_support)
    weight = encoded.schema.sampling_weight
    has_weights = weight in after.column_names and population is None and sampling_fraction is None
    if has_weights or population is not None or sampling_fraction is not None:
        intact = published.intact
        now = published.classes if intact is None else group(intact, n_threads=threads)
        sides = (
            (after, now, metadata if intact is None else None),
            (before, group(encoded.quasi_codes, n_threads=threads), None),
        )
        risks = []
        for side, classes, of_file in sides:
            inside = None
            if population is not None:
                classes, inside, _ = people_inside(side, encoded.schema, of_file, population, threads)
            of_row = encode_weights(side, weight) if has_weights and weight is not None else None
            risks.append(population_risk(classes, inside, sampling_fraction, at_risk, weights=of_row))
        measured = replace(measured, population=risks[0], population_before=risks[1])
    rows = None if id is None else matched(encoded, after, id)
    if isinstance(before, pa.Table) and isinstance(after, pa.Table) and published.intact is None:
        perturbed = ((metadata or {}).get("noise") or {"attributes": ()})["attributes"]
        numeric = [each.name for each in encoded.quasi if each.kind == "numeric"]
        names = [name for name in before.column_names if name in {*numeric, *perturbed}]
        measured = replace(measured, compared=numbers_compared(encoded, after, names, rows))
    if rows is None:
        return measured
    return replace(measured, aligned=aligned(published, cells, after, rows))


def _roles(metadata: Mapping[str, Any] | None, given: Schema | None) -> Schema:
    if given is not None:
        return given
    if metadata is None:
        raise UsageError("the table does not say its roles: ", NAME_QUASI)
    for name, cell in metadata["cells"].items():
        if metadata["kinds"][name] == "ordinal" or cell["meaning"].startswith("text: a value or a node"):
            raise UsageError(
                f"column {name!r} cannot be read without its order or hierarchy: ",
                Parameter(
                    "give them in a schema",
                    "name --quasi and --sensitive, and give it with --hierarchy or --ordinal",
                ),
            )
    attributes = [
        [
            Attribute(name, "numeric", **_coding_of(metadata, name))
            if metadata["kinds"][name] == "numeric"
            else Attribute(name, "nominal")
            for name in names
        ]
        for names in (metadata["roles"]["quasi"], metadata["roles"]["sensitive"])
    ]
    quasi, sensitive = attributes
    return Schema(quasi, sensitive)


def _coding_of(metadata: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a release says of least levels, top and bottom of a column."""
    given = metadata.get("coding")
    one = given.get(name) if isinstance(given, dict) else None
    return {key: one[key] for key in CODING if key in one} if isinstance(one, dict) else {}


# --- bucketization: two tables linked by class id


def _buckets(
    encoded: Encoded,
    table: pa.Table | Scan,
    second: pa.Table,
    metadata: Mapping[str, Any] | None,
    n_threads: int,
) -> Published:
    check_names([domain.name for domain in encoded.quasi], table.column_names)
    classes, known, second = linked(bucket_ids(table, n_threads), second, n_threads)
    intact = encode_like(table, encoded.quasi, n_threads)
    for domain, codes in zip(encoded.quasi, intact, strict=True):
        refuse_unknown(domain, codes)
    counts = []
    for domain in encoded.sensitive:
        part = second.filter(pc.equal(second["attribute"], domain.name))
        counts.append(_bucket_counts(domain, part, known, classes))
    return Published(
        encoded, classes, tuple(counts), intact=intact, k_asked=asked_k(metadata), n_threads=n_threads
    )


def _bucket_counts(domain: Domain, part: pa.Table, known: pa.Array, classes: Classes) -> Counts | None:
    if part.num_rows == 0:
        return None
    bucket = buckets_of(part, domain.name, known, classes)
    words = part["value"].cast(pa.large_string()).to_pylist()
    read = reader(domain)
    code_of: dict[str | None, int] = {None: domain.n_values if domain.has_null else domain.n_codes}
    for word in {word for word in words if word is not None}:
        try:
            cell = read(word if domain.kind == "numeric" else quote(word))
        except DataError:
            cell = Cell(1, 0)
        code_of[word] = cell.low if cell.low == cell.high else domain.n_codes
    codes = np.array([code_of[word] for word in words], np.int64)
    refuse_unknown(domain, codes)
    keys_of, where = np.unique(bucket * domain.n_codes + codes, return_inverse=True)
    # whole numbers below 2**53, so the sums in float64 are exact
    counts = np.bincount(where, part["count"].to_numpy(), len(keys_of)).astype(np.int64)
    class_id, values = np.divmod(keys_of, domain.n_codes)
    offsets = np.searchsorted(class_id, np.arange(classes.n_classes + 1))
    table = np.bincount(values, counts, domain.n_codes).astype(np.int64)
    return Counts(offsets, values.astype(np.uint32), counts, table)
