# SPDX-License-Identifier: Apache-2.0
"""A release as attackers see it: what its rows show, and what the people have whom they are after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import (
    ROOT,
    Cells,
    Classes,
    Counts,
    Reach,
    group,
    reach,
    sensitive_counts,
    single_cells,
    with_coded_sensitive,
)
from anon.encoding import Codes, Domain, encode, encode_column, encode_like
from anon.errors import DataError
from anon.measures import Predicates, overlaps
from anon.release import (
    CLASS_ID,
    Release,
    bucket_ids,
    is_bucketized,
    linked,
    metadata_of,
    refuse_sensitive_half,
    second_table,
)
from anon.schema import Attribute, Schema, check_names, is_measurable, is_text, kind_of, value_type
from anon.tables import Source, read_table
from anon.verbs import bucket_counts, cells_of_rows, coded_as_released, roles_of_released, shows_numbers

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NO_CELLS = ("number:", "label:", "perturbed:")  # what a release says of columns that show no cells


@dataclass(frozen=True, repr=False)
class Column:
    """An attribute: `cells` shown by the released rows (one entry of `of_class` each), codes of people."""

    cells: Cells
    reach: Reach | None
    original: Codes
    control: Codes

    def codes(self, targets: Ints, control: Ints) -> Codes:
        """The codes of these rows of the original, then of these of the control table."""
        return np.concatenate([self.original[targets], self.control[control]]).astype(np.uint32)

    def distances(self, codes: Codes) -> Floats:
        """How far each of some values lies from each cell (values x cells), as Gower has it.

        On a line 0 inside and else what is missing to the nearer edge, over the range of the domain; in sets
        and trees 0 inside and else 1. Null lies inside cells that may be null, 1 from others.
        """
        cells, domain = self.cells, self.cells.domain
        positions = domain.positions
        if self.reach is None or positions is None or not domain.n_values:
            apart = 1.0 - self._inside(codes)
        else:
            lower, upper = self.reach
            at = np.append(positions, 0.0)[np.minimum(codes, domain.n_values)][:, None]
            span = float(positions[-1] - positions[0]) or 1.0
            apart = np.maximum(np.maximum(lower - at, at - upper), 0.0) / span
            apart[:, cells.low > cells.high] = 1.0
        apart[codes == domain.n_values] = ~cells.null
        within: Floats = np.minimum(apart, 1.0)
        return within

    def shares(self, codes: Codes) -> Floats:
        """The share of each cell that each of some values is (values x cells), as estimates have it.

        Null is one more equally likely value of a cell that may be null.
        """
        cells, domain = self.cells, self.cells.domain
        is_null = codes == domain.n_values
        known = np.where(is_null, 0, codes).astype(np.uint32)
        share = np.zeros((len(codes), len(cells.low)))
        if domain.n_values:
            at = None if domain.positions is None else domain.positions[known]
            each = np.arange(len(codes) + 1, dtype=np.int64)
            share = overlaps(
                cells, self.reach, Predicates(domain, ("",) * len(codes), each, known, known, at, at)
            )[0]
        share[is_null] = np.where(cells.null, 1 / (1 + self._n_values()), 0.0)
        return share

    def _n_values(self) -> Floats:
        """How many values besides null each cell may be; 1 of a length."""
        cells, domain = self.cells, self.cells.domain
        if cells.set_offsets is not None:
            return np.diff(cells.set_offsets).astype(np.float64)
        empty = cells.low > cells.high
        if domain.positions is None or self.reach is None:
            size = cells.high.astype(np.float64) - cells.low + 1
        elif domain.unit_lattice:
            size = self.reach[1] - self.reach[0] + 1
        else:
            size = np.ones(len(empty))
        return np.where(empty, 0.0, size)

    def _inside(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Whether each cell holds each of some values (values x cells)."""
        cells = self.cells
        if cells.set_offsets is None or cells.set_codes is None:
            inside: npt.NDArray[np.bool_] = (cells.low <= codes[:, None]) & (codes[:, None] <= cells.high)
            return inside
        inside = np.zeros((len(codes), len(cells.low)), np.bool_)
        of_cell = np.repeat(np.arange(len(cells.low)), np.diff(cells.set_offsets))
        order = np.argsort(cells.set_codes, kind="stable")
        starts = np.searchsorted(cells.set_codes[order], np.arange(cells.domain.n_codes + 1))
        for i, code in enumerate(codes.tolist()):
            inside[i, of_cell[order[starts[code] : starts[code + 1]]]] = True
        return inside


@dataclass(frozen=True, repr=False)
class Secret:
    """A sensitive attribute: the codes of people, and what the release shows of it.

    `of_row` are the codes of the released rows; of a bucketization `of_bucket` counts those of each bucket.
    A released value that nobody has is `domain.n_codes`.
    """

    domain: Domain
    original: Codes
    control: Codes
    of_row: Codes | None
    of_bucket: Counts | None

    @property
    def margin(self) -> Ints:
        """How often the release shows each code."""
        if self.of_bucket is not None:
            return self.of_bucket.table
        assert self.of_row is not None
        return np.bincount(self.of_row, minlength=self.domain.n_codes)[: self.domain.n_codes]


@dataclass(frozen=True, repr=False)
class Boxes:
    """Released rows that show the same, as kernels take them: `cells[a, b]` of column a in box b."""

    columns: tuple[Column, ...]
    cells: npt.NDArray[np.uint32]
    classes: Classes


@dataclass(frozen=True, repr=False)
class Seen:
    """A release, the table it was made from, and a control table: all in codes of one domain each.

    `left_out` are sensitive attributes that the release does not show, `not_compared` columns published as
    they are whose type has no values. `bucket` numbers the bucket of each row of a bucketization. `release`
    is the release itself, where more of it is at hand than its files.
    """

    quasi: tuple[Column, ...]
    neutral: tuple[Column, ...]
    secrets: tuple[Secret, ...]
    bucket: npt.NDArray[np.uint32] | None
    n_released: int
    n_original: int
    n_control: int
    left_out: tuple[str, ...]
    not_compared: tuple[str, ...]
    n_threads: int
    release: Release | None = None

    def boxes(self, columns: Sequence[Column], by_bucket: bool = False) -> Boxes:
        """The distinct rows of the release on some columns; with `by_bucket` those of buckets apart.

        Columns of few cells come first, so that boxes that follow each other share most of them.
        """
        columns = sorted(columns, key=lambda column: len(column.cells.low))
        keys: list[Any] = [column.cells.of_class for column in columns]
        keys += [self.bucket] if by_bucket and self.bucket is not None else []
        classes = group(keys, n_threads=self.n_threads)
        first = classes.rows[classes.offsets[:-1]]
        cells = np.stack([column.cells.of_class[first] for column in columns]).astype(np.uint32)
        return Boxes(tuple(columns), cells, classes)

    def counts(self, secret: Secret, classes: Classes) -> Counts:
        """What boxes hold of a secret, where rows show it: values that nobody has are counted too."""
        assert secret.of_row is not None
        return sensitive_counts(classes, secret.of_row, secret.domain.n_codes + 1, self.n_threads)


def see(
    original: pa.Table,
    control: pa.Table | None,
    released: Source,
    schema: Schema | None,
    sensitive_table: Any = None,
    n_threads: int = 1,
) -> Seen:
    """Read a release as `compare` does, beside the original and rows that were never in it.

    Columns that show no cells (means, midpoints, noise, swaps) are taken at their word, value by value.
    DataError where columns are missing, cells cannot be read, or control rows have other types.
    """
    metadata = metadata_of(released)
    refuse_sensitive_half(released, schema)
    table = read_table(released)
    roles = coded_as_released(roles_of_released(metadata, schema), metadata, original.schema)
    roles = Schema(roles.quasi, roles.sensitive)
    names = [attribute.name for attribute in (*roles.quasi, *roles.sensitive)]
    check_names(names, original.column_names)
    both = _both(original, control, names)
    n_original = original.num_rows
    encoded = with_coded_sensitive(encode(both, roles, n_threads=n_threads)).original
    bucketized = is_bucketized(released, metadata, encoded.schema, sensitive_table)
    by_level = metadata is not None and metadata["numeric"] == "level"
    quasi = []
    for domain, attribute, codes in zip(
        encoded.quasi, encoded.schema.quasi, encoded.quasi_codes, strict=True
    ):
        said = ((metadata or {}).get("cells", {}).get(domain.name) or {}).get("meaning", "")
        cells = None
        if not said.startswith(NO_CELLS):
            try:
                cells = cells_of_rows(domain, attribute, table, metadata, n_threads)
            except DataError:
                shown = metadata is None and domain.kind == "numeric" and shows_numbers(table, [domain.name])
                if not shown:
                    raise
        if cells is None:
            quasi.append(_values(domain.name, domain.kind, both, table, n_original))
        else:
            quasi.append(Column(cells, reach(cells, by_level), codes[:n_original], codes[n_original:]))
    bucket, classes, known, second = None, None, None, None
    if bucketized:
        second = second_table(released, sensitive_table)
        classes, known, second = linked(bucket_ids(table, n_threads), second, n_threads)
        bucket = np.empty(table.num_rows, np.uint32)
        bucket[classes.rows] = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
    secrets, left_out = [], []
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        ours = codes[:n_original], codes[n_original:]
        if second is not None and classes is not None:
            counts = bucket_counts(
                domain, second.filter(pc.equal(second["attribute"], domain.name)), known, classes
            )
            if counts is not None:
                secrets.append(Secret(domain, *ours, None, counts))
                continue
        if domain.name not in table.column_names:
            left_out.append(domain.name)
        else:
            secrets.append(_secret(domain, ours, both, table, n_original, n_threads))
    stars = _starred(table, encoded.quasi) if metadata is None and not bucketized else None
    keep = None if stars is None or stars.all() or not stars.any() else np.flatnonzero(~stars)
    neutral, not_compared = _neutral(original, control, table, {*names, CLASS_ID})
    seen = Seen(
        quasi=tuple(quasi),
        neutral=neutral,
        secrets=tuple(secrets),
        bucket=bucket,
        n_released=table.num_rows,
        n_original=n_original,
        n_control=0 if control is None else control.num_rows,
        left_out=tuple(left_out),
        not_compared=not_compared,
        n_threads=n_threads,
    )
    return seen if keep is None else _rows_of(seen, keep)


def _starred(table: pa.Table, quasi: Sequence[Domain]) -> npt.NDArray[np.bool_]:
    """The rows of * only, as other tools write suppressed ones; null is * where the original has no null."""
    stars = np.ones(table.num_rows, np.bool_)
    for domain in quasi:
        if domain.name not in table.column_names:
            return np.zeros(table.num_rows, np.bool_)
        column = table[domain.name]
        is_star = np.zeros(table.num_rows, np.bool_)
        if is_text(value_type(column.type)):
            is_star |= pc.equal(column.cast(pa.string()), ROOT).fill_null(False).to_numpy()
        if not domain.has_null:
            is_star |= column.is_null().to_numpy()
        stars &= is_star
    return stars


def _rows_of(seen: Seen, rows: Ints) -> Seen:
    """The release without some rows: those of * only, which other tools write for suppressed ones."""

    def kept(columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(
            replace(one, cells=replace(one.cells, of_class=one.cells.of_class[rows])) for one in columns
        )

    return replace(
        seen,
        quasi=kept(seen.quasi),
        neutral=kept(seen.neutral),
        secrets=tuple(
            replace(one, of_row=None if one.of_row is None else one.of_row[rows]) for one in seen.secrets
        ),
        bucket=None if seen.bucket is None else seen.bucket[rows],
        n_released=len(rows),
    )


def _both(original: pa.Table, control: pa.Table | None, names: Sequence[str]) -> pa.Table:
    """Original and control rows in one table of these columns."""
    ours = original.select(names)
    if control is None:
        return ours
    check_names(names, control.column_names)
    try:
        return pa.concat_tables([ours, control.select(names).cast(ours.schema)])
    except (pa.ArrowException, ValueError):
        raise DataError(
            "the control table's columns have other types than the original's; convert them first"
        ) from None


def _joined(name: str, parts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns of one attribute, in a type that holds the values of all."""
    kinds = list(dict.fromkeys(value_type(part.type) for part in parts))
    kind = kinds[-1]
    if len(kinds) > 1 and all(is_measurable(each) and not pa.types.is_temporal(each) for each in kinds):
        kind = pa.float64()
    safe = kind != pa.float64()  # as a float a whole number may lose its last digits
    try:
        return pa.chunked_array(
            [chunk for part in parts for chunk in part.cast(kind, safe=safe).chunks], kind
        )
    except pa.ArrowException:
        raise DataError(
            f"column {name!r} is {kinds[0]} in the original and {kinds[-1]} in the release; convert one",
            column=name,
        ) from None


def _values(name: str, kind: Any, both: pa.Table, table: pa.Table, n_original: int) -> Column:
    """A column whose released rows show values of their own, whatever the original's are."""
    check_names([name], table.column_names)
    domain, codes = encode_column(_joined(name, [both[name], table[name]]), Attribute(name, _kind(kind)))
    cells = replace(single_cells(domain), of_class=codes[both.num_rows :].astype(np.uint32))
    return Column(cells, reach(cells), codes[:n_original], codes[n_original : both.num_rows])


def _kind(kind: Any) -> Any:
    return "numeric" if kind == "numeric" else "nominal"


def _secret(
    domain: Domain,
    ours: tuple[Codes, Codes],
    both: pa.Table,
    table: pa.Table,
    n_original: int,
    n_threads: int,
) -> Secret:
    """A sensitive column that stands in the release row by row; numbers that the original lacks count too."""
    [of_row] = encode_like(table, [domain], n_threads)
    name = domain.name
    if domain.kind == "numeric" and (of_row == domain.n_codes).any() and shows_numbers(table, [name]):
        domain, codes = encode_column(_joined(name, [both[name], table[name]]), Attribute(name, "numeric"))
        ours = codes[:n_original], codes[n_original : both.num_rows]
        of_row = codes[both.num_rows :]
    return Secret(domain, *ours, of_row, None)


def _neutral(
    original: pa.Table, control: pa.Table | None, table: pa.Table, known: set[str]
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns that the release publishes as they are, and those whose type has no values to compare."""
    columns, not_compared = [], []
    for name in original.column_names:
        if name in known or name not in table.column_names or (control and name not in control.column_names):
            continue
        parts = [original[name], *([] if control is None else [control[name]]), table[name]]
        try:
            whole = _joined(name, parts)
            domain, codes = encode_column(whole, Attribute(name, kind_of(name, whole.type)))
        except DataError:
            not_compared.append(name)
            continue
        n_people = len(codes) - table.num_rows
        cells = replace(single_cells(domain), of_class=codes[n_people:].astype(np.uint32))
        columns.append(
            Column(cells, reach(cells), codes[: original.num_rows], codes[original.num_rows : n_people])
        )
    return tuple(columns), tuple(not_compared)
