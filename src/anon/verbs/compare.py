# SPDX-License-Identifier: Apache-2.0
"""Utility of a release made by anyone, read back from its published cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import (
    Cell,
    Cells,
    Classes,
    Counts,
    Published,
    group,
    intact_cells,
    reader,
    with_coded_sensitive,
)
from anon.encoding import Codes, Domain, Encoded, code_type, encode, encode_like, encode_weights
from anon.errors import NAME_QUASI, DataError, Parameter, UsageError
from anon.measures import Utility, population_risk
from anon.measures import measure_utility as measure
from anon.release import (
    bucket_ids,
    buckets_of,
    is_bucketized,
    linked,
    metadata_of,
    perturbed_by,
    refuse_sensitive_half,
    second_table,
)
from anon.schema import Attribute, Schema, check_names, check_schema, is_measurable, value_type
from anon.tables import read_source, read_table
from anon.threads import available_threads
from anon.verbs.foreign import (
    as_coded_in_file,
    asked_k,
    cells_of_rows,
    coding_of_file,
    generalized,
    refuse_unknown,
)
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
    check_schema(schema, or_none=True)
    source = read_source(released)
    metadata = metadata_of(source)
    refuse_sensitive_half(source, schema)
    before, after = (
        read_source(each).table if id is None else read_table(each) for each in (original, source)
    )
    # nothing is published here: the column that matches rows needs no role
    roles = coded_as_released(roles_of_released(metadata, schema), metadata, before.schema)
    roles = replace(roles, neutral="rest")
    beside = perturbed_by(metadata)
    roles = roles.unjudged(beside)
    encoded = with_coded_sensitive(encode(before, roles, n_threads=threads)).original
    if after.num_rows > encoded.n_rows:
        raise DataError(
            f"the release has {after.num_rows} rows and the original {encoded.n_rows}; "
            "is the right table compared?"
        )
    cells: list[Cells] | None
    if is_bucketized(source, metadata, encoded.schema, sensitive_table):
        second = second_table(source, sensitive_table)
        published = bucketized(encoded, after, second, metadata, threads)
        assert published.intact is not None
        cells = [
            replace(intact_cells(domain), of_class=codes.astype(np.uint32))
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
    if isinstance(before, pa.Table) and isinstance(after, pa.Table):
        perturbed = {*((metadata or {}).get("noise") or {"attributes": ()})["attributes"], *beside}
        shown = encoded.quasi if published.intact is None else ()
        numeric = [each.name for each in shown if each.kind == "numeric"]
        names = [name for name in before.column_names if name in {*numeric, *perturbed}]
        measured = replace(measured, compared=numbers_compared(encoded, after, names, rows))
    if rows is None:
        return measured
    return replace(measured, aligned=aligned(published, cells, after, rows))


def roles_of_released(metadata: Mapping[str, Any] | None, given: Schema | None) -> Schema:
    """The roles that are given, or those that a release of this package says."""
    if given is not None:
        return given
    if metadata is None:
        raise UsageError("the table does not say its roles: ", NAME_QUASI)
    kinds, sensitive = metadata["kinds"], metadata["roles"]["sensitive"]
    in_nodes = [
        name
        for name, cell in metadata["cells"].items()
        if cell["meaning"].startswith("text: a value or a node")
    ] + [name for name in sensitive if kinds.get(name) == "nominal" and coding_of_file(metadata, name)]
    for name in (*metadata["cells"], *in_nodes):
        if name in in_nodes or kinds[name] == "ordinal":
            raise UsageError(
                f"column {name!r} cannot be read without its order or hierarchy: ",
                Parameter(
                    "give them in a schema",
                    "name --quasi and --sensitive, and give it with --hierarchy or --ordinal",
                ),
            )

    def attribute(name: str) -> Attribute:
        coding = coding_of_file(metadata, name)
        is_numeric = kinds[name] == "numeric" or (kinds[name] == "ordinal" and coding)
        return Attribute(name, "numeric", **coding) if is_numeric else Attribute(name, "nominal")

    return Schema([*map(attribute, metadata["roles"]["quasi"])], [*map(attribute, sensitive)])


def coded_as_released(schema: Schema, metadata: Mapping[str, Any] | None, columns: pa.Schema) -> Schema:
    """The roles, with what the release says of how its numbers and dates are coded where they say nothing."""

    def told(attribute: Attribute) -> Attribute:
        at = columns.get_field_index(attribute.name)
        if metadata is None or at < 0 or not is_measurable(value_type(columns.field(at).type)):
            return attribute
        return as_coded_in_file(attribute, metadata)

    sides = schema.quasi, schema.sensitive
    quasi, sensitive = (tuple(map(told, side)) for side in sides)
    return schema if (quasi, sensitive) == sides else replace(schema, quasi=quasi, sensitive=sensitive)


# --- bucketization: two tables linked by class id


def bucketized(
    encoded: Encoded,
    table: pa.Table | Scan,
    second: pa.Table,
    metadata: Mapping[str, Any] | None,
    n_threads: int,
) -> Published:
    """What a bucketization shows: the intact codes of its rows, and what each bucket holds."""
    classes, known, second = linked(bucket_ids(table, n_threads), second, n_threads)
    intact = intact_codes(encoded, table, metadata, n_threads)
    counts = []
    for domain in encoded.sensitive:
        part = second.filter(pc.equal(second["attribute"], domain.name))
        counts.append(bucket_counts(domain, part, known, classes))
    return Published(
        encoded, classes, tuple(counts), intact=intact, k_asked=asked_k(metadata), n_threads=n_threads
    )


def intact_codes(
    encoded: Encoded, table: pa.Table | Scan, metadata: Mapping[str, Any] | None, n_threads: int
) -> tuple[Codes, ...]:
    """The code in the original of each row of a bucketization, for every quasi-identifier.

    DataError where it shows a value that the original lacks.
    """
    check_names([domain.name for domain in encoded.quasi], table.column_names)
    whole = [domain for domain in encoded.quasi if domain.coding is None]
    codes_of = dict(zip((each.name for each in whole), encode_like(table, whole, n_threads), strict=True))
    for domain, attribute in zip(encoded.quasi, encoded.schema.quasi, strict=True):
        if domain.coding is not None:
            codes_of[domain.name] = _coded_codes(domain, attribute, table, metadata, n_threads)
        refuse_unknown(domain, codes_of[domain.name])
    return tuple(codes_of[domain.name] for domain in encoded.quasi)


def _coded_codes(
    domain: Domain,
    attribute: Attribute,
    table: pa.Table | Scan,
    metadata: Mapping[str, Any] | None,
    n_threads: int,
) -> Codes:
    """The code of each row of a bucketization that shows coded values: the first of its block.

    A cell that is no block of the coding, and null where the original has none, gets the code `n_codes`.
    """
    assert domain.coding is not None
    cells = cells_of_rows(domain, attribute, table, metadata, n_threads)
    empty = cells.low > cells.high
    low, high = np.where(empty, 0, cells.low), np.where(empty, 0, cells.high)
    is_block = (domain.coding.first[low] == low) & (domain.coding.last[low] == high) & ~cells.null
    code = np.where(is_block, low, domain.n_codes)
    code[empty & cells.null & domain.has_null] = domain.n_values
    return np.asarray(code[cells.of_class], code_type(domain.n_codes + 1))


def bucket_counts(domain: Domain, part: pa.Table, known: pa.Array, classes: Classes) -> Counts | None:
    """What each bucket holds of a sensitive attribute; None where the second table says nothing of it."""
    if part.num_rows == 0:
        return None
    bucket = buckets_of(part, domain.name, known, classes)
    words = part["value"].cast(pa.large_string()).to_pylist()
    read = reader(domain)
    code_of: dict[str | None, int] = {}
    if domain.kind != "numeric":
        code_of = {label: code for code, label in enumerate(domain.values.to_pylist())}
    for word in {word for word in words if word is not None} if domain.kind == "numeric" else ():
        try:
            cell = read(word)
        except DataError:
            cell = Cell(1, 0)
        code_of[word] = cell.low if cell.low == cell.high else domain.n_codes
    code_of[None] = domain.n_values if domain.has_null else domain.n_codes
    codes = np.array([code_of.get(word, domain.n_codes) for word in words], np.int64)
    refuse_unknown(domain, codes)
    keys_of, where = np.unique(bucket * domain.n_codes + codes, return_inverse=True)
    # whole numbers below 2**53, so the sums in float64 are exact
    counts = np.bincount(where, part["count"].to_numpy(), len(keys_of)).astype(np.int64)
    class_id, values = np.divmod(keys_of, domain.n_codes)
    offsets = np.searchsorted(class_id, np.arange(classes.n_classes + 1))
    table = np.bincount(values, counts, domain.n_codes).astype(np.int64)
    return Counts(offsets, values.astype(np.uint32), counts, table)
