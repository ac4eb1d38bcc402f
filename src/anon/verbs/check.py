# SPDX-License-Identifier: Apache-2.0
"""Privacy of a table made by anyone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import MISSING, Classes, as_told, group, sensitive_counts, texts
from anon.encoding import Codes, Domain, Encoded, Units, encode, encode_units, encode_weights, label_codes
from anon.errors import NAME_QUASI, DataError, Parameter, UsageError
from anon.measures import (
    Privacy,
    least_matching,
    measure_columns,
    of_intact,
    once_per_unit,
    population_risk,
    units_of_classes,
)
from anon.measures import measure_privacy as measure
from anon.release import (
    CLASS_ID,
    bucket_ids,
    in_buckets,
    is_bucketized,
    metadata_of,
    note_on_perturbed,
    perturbed_by,
    read_numbers,
    refuse_sensitive_half,
    second_table,
    with_kinds,
)
from anon.requirements import KAnonymity, Requirement, TCloseness, check_list, compile, counting
from anon.schema import Attribute, Schema, as_word, check_names, check_schema, is_text, listed, value_type
from anon.tables import Source, as_written, read_source
from anon.threads import available_threads
from anon.verbs.foreign import as_coded_in_file
from anon.verbs.people import people_inside, unmet_by_people
from anoncore.requirement import passing_classes

if TYPE_CHECKING:
    from anon.tables import Scan

BELIEVED = Parameter("with roles_from_file=True", "with --roles-from-file")


def check(
    source: Any,
    schema: Schema | None = None,
    *,
    sensitive_table: Any = None,
    at_risk: Sequence[float] = (2, 5, 10),
    population: Any = None,
    sampling_fraction: float | None = None,
    per_class: bool = False,
    require: Sequence[Requirement] = (),
    roles_from_file: bool = False,
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
        Parquet or Feather release of this package, which says its roles itself; the answer's
        `roles_from` is then "file": anybody can write such words, and leave a quasi-identifier out.
    sensitive_table : as `source`, optional
        The second table of a bucketization. Needed for tables in memory; beside a file it is found.
    at_risk : sequence of float
        Report the share of rows whose risk is above x, or 1/x where x >= 1.
    population : as `source`, optional
        A table of the population: journalist and marketer risk are one over the people inside the cells.
    sampling_fraction : float in (0, 1], optional
        In its place the share of the population that the table holds, for the individual risk. Without
        either it is that of the schema's sampling weights, where the table has them.
    per_class : bool
        Also give every measure of every class, as an Arrow table.
    require : sequence of requirements
        Those that some class does not meet are named in the answer's `unmet`. Without a schema they
        need `roles_from_file`.
    roles_from_file : bool
        Believe the roles, hierarchies and orders that the file claims.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    UsageError
        Roles are missing, are given and to be taken from the file as well, or are the file's own though
        something is required; or a requirement cannot be decided without a hierarchy or an order.
    DataError
        The table cannot be measured, or what it says of itself contradicts itself.
    """
    check_list(require)
    n_threads = available_threads(n_threads)
    if roles_from_file and schema is not None:
        raise UsageError("roles are given, and to be taken from the file ", BELIEVED, ": choose one")
    table_source, metadata = read_with_roles(source, schema)
    table = table_source.table
    if schema is None and require and not roles_from_file:
        raise UsageError(
            "only the file itself says which columns are quasi-identifiers and sensitive, and may leave some "
            "out: ",
            NAME_QUASI,
            ", or believe it ",
            BELIEVED,
        )
    roles_from: Literal["given", "file"] = "file" if schema is None else "given"
    given, weight = schema, refuse_unknown_weight(schema, table)
    note = note_on_perturbed(perturbed_by(metadata)) if schema is None else None
    notes = table_source.notes if note is None else (*table_source.notes, note)
    if schema is not None:
        if metadata is not None:
            schema = replace(
                schema, sensitive=tuple(as_coded_in_file(each, metadata) for each in schema.sensitive)
            )
        schema = replace(schema, sensitive=_told(schema.sensitive, table, n_threads))
    if schema is not None and table_source.format == "csv":
        table_source = labels_as_written(table_source, schema)
        notes += _merged(table_source, schema, n_threads)
        as_text = _numbers_as_text(table_source, schema, n_threads)
        notes += tuple(
            f"column {name!r}: its numbers or times are read from CSV as text, so that they are measured as "
            "labels, which have no order"
            for name in as_text
        )
        sensitive = [Attribute(e.name, "nominal") if e.name in as_text else e for e in schema.sensitive]
        schema = Schema([each.name for each in schema.quasi], sensitive, unit=schema.unit)
        table = table_source.table
    matching = [each for each in require if each.by_matching]
    require = [each for each in require if not each.by_matching]
    of_people = [each for each in require if each.people is not None or each.by_levels]
    require = [each for each in require if each not in of_people]
    units, require, of_bags = _units_of(table, schema, require)
    if units is not None:
        for each in matching:
            each.of_units()  # which it does not count
    schema = measured_roles(metadata, schema).uncoded()  # the cells of a release are what they are
    if is_bucketized(table_source, metadata, schema, sensitive_table):
        if units is not None:
            raise UsageError(
                "a bucketization tells the sensitive values of buckets, not of rows: leave the unit out to "
                "measure it in rows"
            )
        if matching:
            raise UsageError(
                f"{matching[0]}: a bucketization publishes quasi-identifiers intact: ask for ",
                Parameter('nulls="own"', "--k-nulls own"),
            )
        second = second_table(table_source, sensitive_table)
        ids = bucket_ids(table, n_threads)
        sensitive = with_kinds(_told_by_buckets(schema.sensitive, second), second, metadata)
        classes, domains, codes = in_buckets(ids, second, sensitive, n_threads)
        privacy = measure(
            classes, domains, codes, at_risk=at_risk, joint=False, per_class=per_class, n_threads=n_threads
        )
        quasi_only = Schema([attribute.name for attribute in schema.quasi])
        intact = encode(table, quasi_only, n_threads=n_threads)
        groups = group(intact.quasi_codes, n_threads=n_threads)
        privacy = of_intact(privacy, groups, at_risk)
        published = ids
        if of_people:
            raise UsageError(f"{of_people[0]}: a bucketization has no cells that people could be inside")
    else:
        encoded = encode(table, schema, n_threads=n_threads)
        quasi = list(zip(encoded.quasi, encoded.quasi_codes, strict=True))
        if metadata is not None and "nulls" not in metadata:
            quasi = [_with_missing(*column) for column in quasi]
        domains, codes = encoded.sensitive, encoded.sensitive_codes
        privacy, classes = measure_columns(
            [domain for domain, _ in quasi],
            [column for _, column in quasi],
            domains,
            codes,
            starred=starred_rows(encoded) if metadata is None else None,
            at_risk=at_risk,
            per_class=per_class,
            units=units,
            n_threads=n_threads,
        )
        published, groups = encoded, classes
    if require or of_bags or matching:
        missed = unmet(require, classes, domains, codes, n_threads, units)
        if privacy.n_starred and missed:  # of a release of ours, rows of `*` are a class
            whole = group([column for _, column in quasi], n_threads=n_threads)
            missed = tuple(
                each for each in unmet(require, whole, domains, codes, n_threads, units) if each in missed
            )
        _refuse_undecided(missed, require, domains, metadata, roles_from)
        missed += tuple(str(each) for each in of_bags if (privacy.k_unit_bags or 0) < (each.least_rows or 0))
        if matching:
            missed += _incompatible(matching, classes, quasi, privacy)
        privacy = replace(privacy, unmet=missed)
    if of_people:
        missed = unmet_by_people(of_people, table, given or schema, metadata, classes, n_threads)
        privacy = replace(privacy, unmet=(*(privacy.unmet or ()), *missed))
    has_weights = weight is not None and population is None and sampling_fraction is None
    if has_weights or population is not None or sampling_fraction is not None:
        inside = None
        if population is not None:
            groups, inside, _ = people_inside(table, given or schema, metadata, population, n_threads)
        of_row = encode_weights(table, weight) if has_weights and weight is not None else None
        measured = population_risk(groups, inside, sampling_fraction, at_risk, weights=of_row)
        privacy = replace(privacy, population=measured)
    return replace(
        privacy,
        roles_from=roles_from,
        roles=schema.by_role(name for name in table.column_names if name != CLASS_ID),
        worst_cells=_worst_cells(published, classes, privacy.worst),
        notes=notes,
    )


def _units_of(
    table: Any, schema: Schema | None, require: Sequence[Requirement]
) -> tuple[Units | None, Sequence[Requirement], list[Requirement]]:
    """Whose the rows are, if the table tells; the requirements on classes, and those on bags of cells.

    Raises UsageError where a requirement counts units and the table does not tell them.
    """
    unit = None if schema is None else schema.unit
    of_bags = [each for each in require if getattr(each, "count", None) == "unit-bags"]
    if unit is not None and unit not in table.column_names:
        of_rows = [each for each in require if isinstance(each, KAnonymity) and each.count == "rows"]
        for each in require:
            if each not in of_rows:
                raise UsageError(
                    f"{each}: the table alone cannot decide it, since it has no column {unit!r}, which no "
                    "release shows; it was decided before the release was written. Leave the unit out to "
                    "count its rows"
                )
        return None, of_rows, []
    if of_bags and unit is None:
        raise UsageError(
            f"{of_bags[0]}: nobody knows whose a row is: name the column ",
            Parameter("in the schema (unit=...)", "with --unit"),
        )
    of_classes = counting([each for each in require if each not in of_bags], unit)
    return None if unit is None else encode_units(table, unit), of_classes, of_bags


def read_with_roles(source: Any, schema: Schema | None) -> tuple[Source, dict[str, Any] | None]:
    """A table to be measured, and what it says of itself; UsageError where nobody says its roles."""
    check_schema(schema, or_none=True)
    given = read_source(source)
    metadata = metadata_of(given)
    refuse_sensitive_half(given, schema)
    if schema is None and metadata is None:
        what = "a CSV file cannot" if given.format == "csv" else "the table does not"
        raise UsageError(f"{what} say its roles: ", NAME_QUASI)
    return given, metadata


def refuse_unknown_weight(schema: Schema | None, table: pa.Table | Scan) -> str | None:
    """The column of the sampling weights, if one is named; DataError where the table has no such column."""
    weight = None if schema is None else schema.sampling_weight
    if weight is not None:
        check_names([weight], table.column_names)
    return weight


def _told(sensitive: Sequence[Attribute], table: pa.Table | Scan, n_threads: int) -> tuple[Attribute, ...]:
    """The attributes, the coded ones of a table's own columns as their labels tell them."""
    there = [each.name for each in sensitive if each.is_coded and each.name in table.column_names]
    words = dict(zip(there, label_codes(table, there, n_threads) if there else (), strict=True))
    return tuple(
        as_told(each, [word for word in words[each.name][1] if word is not None])
        if each.name in words
        else each
        for each in sensitive
    )


def _told_by_buckets(sensitive: Sequence[Attribute], second: pa.Table) -> list[Attribute]:
    """Likewise of those that the sensitive table of a bucketization counts."""
    if not {"attribute", "value"} <= set(second.column_names):
        return list(sensitive)  # which is refused later

    def words(name: str) -> list[str]:
        values = second.filter(pc.equal(second["attribute"], name))["value"].drop_null()
        return [str(value) for value in values.unique().to_pylist()]

    return [as_told(each, words(each.name)) if each.is_coded else each for each in sensitive]


def labels_as_written(source: Source, schema: Schema) -> Source:
    """The source with the labels of the schema, columns declared nominal or ordinal, as its CSV has them."""
    labels = [each.name for each in (*schema.quasi, *schema.sensitive) if each.kind in ("nominal", "ordinal")]
    return as_written(source, [name for name in labels if name in source.table.column_names])


def _merged(source: Source, schema: Schema, n_threads: int) -> tuple[str, ...]:
    """Notes on columns of a CSV, of no declared kind, some of whose texts were read as one value."""
    table = source.table
    names = [
        each.name
        for each in (*schema.quasi, *schema.sensitive)
        if each.kind is None
        and each.name in table.column_names
        and not is_text(value_type(table.schema.field(each.name).type))
    ]
    written = as_written(source, names).table
    counts = [
        [len(words) for _, words in label_codes(each, names, n_threads)] if names else []
        for each in (written, table)
    ]
    return tuple(
        f"column {name!r}: {n_texts - n_values} of its {n_texts - 1} texts were read as values that others "
        f"stand for, such as 1 and 1.0; declare it nominal (--kind {as_word(name, 'nominal')}) to keep "
        "them apart"
        for name, n_texts, n_values in zip(names, *counts, strict=True)
        if n_texts > n_values
    )


def _numbers_as_text(source: Source, schema: Schema, n_threads: int) -> list[str]:
    """Sensitive columns declared numeric that a CSV can only show as text: times of a day, huge integers.

    One with any other text is none of these.
    """
    table = source.table
    names = [
        each.name
        for each in schema.sensitive
        if each.kind == "numeric"
        and table.column_names.count(each.name) == 1
        and is_text(value_type(table.schema.field(each.name).type))
    ]
    as_text = []
    for name, (_, words) in zip(names, label_codes(table, names, n_threads) if names else (), strict=True):
        with suppress(DataError):
            values = read_numbers(pa.chunked_array([pa.array(words[:-1], pa.string())]), name)
            if len(values.unique()) == len(words) - 1:
                as_text.append(name)
    return as_text


def unmet(
    require: Sequence[Requirement],
    classes: Classes,
    sensitive: Sequence[Domain],
    sensitive_codes: Sequence[Codes],
    n_threads: int = 1,
    units: Units | None = None,
) -> tuple[str, ...]:
    """The requirements, in words, that some class does not meet; arguments as for `measure_privacy`."""
    if classes.n_classes == 0:
        return ()
    counts = [
        sensitive_counts(
            classes if units is None else once_per_unit(classes, [codes], units, n_threads),
            codes,
            domain.n_codes,
            n_threads,
        )
        for domain, codes in zip(sensitive, sensitive_codes, strict=True)
    ]
    n_units = None if units is None else units_of_classes(classes, units, n_threads)
    tables = [each.table for each in counts]
    missed = []
    for requirement in require:
        by_units = units is not None
        conjunction = compile([requirement], sensitive, tables, len(classes.rows), by_units)
        used = counts[: conjunction.n_sensitive]
        passes = passing_classes(
            conjunction,
            classes.sizes,
            [each.offsets for each in used],
            [each.values.astype(np.int64) for each in used],
            [each.counts for each in used],
            n_units,
        )
        if not passes.all():
            missed.append(str(requirement))
    return tuple(missed)


def _incompatible(
    require: Sequence[Requirement],
    classes: Classes,
    quasi: Sequence[tuple[Domain, Codes]],
    privacy: Privacy,
) -> tuple[str, ...]:
    """The requirements, in words, for which some row has too few compatible ones, null matching anything."""
    if classes.n_classes == 0:
        return ()
    first = classes.rows[classes.offsets[:-1]]
    columns = [codes[first] for _, codes in quasi]
    missing = [codes == domain.n_values for (domain, _), codes in zip(quasi, columns, strict=True)]
    # rows of nulls alone, which help nobody, are the only ones that the measure takes otherwise
    is_measured = not np.logical_and.reduce(missing).any()
    sizes = [getattr(each, "size", None) for each in require]
    fewest = [
        privacy.k_matching
        if is_measured and size is None
        else least_matching(classes, columns, missing, size)
        for size in sizes
    ]
    pairs = zip(require, fewest, strict=True)
    return tuple(str(one) for one, rows in pairs if rows is not None and rows < (one.least_rows or 0))


def _refuse_undecided(
    missed: Sequence[str],
    require: Sequence[Requirement],
    domains: Sequence[Domain],
    metadata: Mapping[str, Any] | None,
    roles_from: Literal["given", "file"],
) -> None:
    """Raise UsageError where a requirement fails in a flat hierarchy, and the true one is not known.

    No hierarchy makes the distance greater than the flat one, so that what holds there holds in any.
    """
    claimed = (metadata or {}).get("claimed")
    for each in require:
        if str(each) in missed and isinstance(claimed, list) and repr(each) in claimed:
            raise UsageError(
                f"{each}: the table alone cannot decide it: it does not hold of the rows, but was demanded "
                "of units (persons), or against a whole table, which no release shows, and decided before "
                "it was written"
            )
    in_file: Mapping[str, Any] | None = (metadata or {}).get("hierarchies")
    for each in require:
        if not isinstance(each, TCloseness) or each.distance != "hierarchical" or str(each) not in missed:
            continue
        for domain in domains:
            name = domain.name
            if domain.kind != "nominal" or domain.tree is not None or each.sensitive not in (None, name):
                continue
            kept = in_file is not None and in_file.get(name, {}) is not None
            if kept and roles_from == "file":  # it has none: its values are one level
                continue
            way_out: list[str | Parameter] = [
                Parameter(
                    f"give it in the schema (nominal({name!r}, hierarchy=...))",
                    f"give it with --hierarchy {as_word(name, 'FILE')}",
                )
            ]
            if in_file is not None and in_file.get(name) is not None:
                way_out += [", or believe the file's own ", BELIEVED]
            raise UsageError(
                f"{each}: the table alone cannot decide it, since it depends on the hierarchy of column "
                f"{name!r}, which is not known here: ",
                *way_out,
            )


def measured_roles(metadata: Mapping[str, Any] | None, given: Schema | None) -> Schema:
    """Roles for measuring: published cells are opaque, sensitive attributes keep their kind."""
    if given is not None:
        return Schema([attribute.name for attribute in given.quasi], given.sensitive)
    assert metadata is not None
    quasi = [column for cells in metadata["cells"].values() for column in cells["columns"]]
    return Schema(quasi, [_attribute(name, metadata) for name in metadata["roles"]["sensitive"]])


def _attribute(name: str, metadata: Mapping[str, Any]) -> Attribute:
    """A sensitive attribute as a release describes it; DataError where its hierarchy or order is none."""
    kind = metadata["kinds"].get(name)
    tree, order = (metadata.get(key, {}).get(name) for key in ("hierarchies", "orders"))
    try:
        if kind == "nominal" and tree is not None:
            return Attribute(name, "nominal", listed(tree, name))
        if kind == "ordinal" and order is not None:
            return Attribute(name, "ordinal", order=tuple(order if isinstance(order, list) else ()))
    except (DataError, UsageError):
        what = "hierarchy" if kind == "nominal" else "order"
        raise DataError(
            f"column {name!r}: its {what} in the file's metadata is broken, "
            f"so that the file was changed after it was written; name the roles, and the {what}, yourself",
            column=name,
        ) from None
    if kind in ("numeric", "nominal"):
        return Attribute(name, kind)
    return Attribute(name)


def _with_missing(domain: Domain, codes: Codes) -> tuple[Domain, Codes]:
    """A quasi-identifier of a release of ours: cells that read `missing` are missing cells."""
    at = pc.index(domain.values, pa.scalar(MISSING, domain.values.type)).as_py() if _text(domain) else -1
    if at < 0:
        return domain, codes
    code_of = np.arange(domain.n_codes)
    code_of[at + 1 :] -= 1
    code_of[at] = domain.n_values - 1
    values = pa.concat_arrays([domain.values[:at], domain.values[at + 1 :]])
    return replace(domain, values=values, has_null=True), code_of.astype(codes.dtype)[codes]


def starred_rows(encoded: Encoded) -> npt.NDArray[np.bool_] | None:
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


def _worst_cells(published: Encoded, classes: Classes, worst: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """For every measure set by one class, the published cells of that class."""

    def cell(domain: Domain, codes: Codes, number: int) -> str | None:
        code = int(codes[classes.rows[classes.offsets[number]]])
        return None if code == domain.n_values else texts(domain.values.slice(code, 1))[0]

    cells = {
        number: {
            domain.name: cell(domain, codes, number)
            for domain, codes in zip(published.quasi, published.quasi_codes, strict=True)
        }
        for number in set(worst.values())
    }
    return {name: cells[number] for name, number in worst.items()}
