# SPDX-License-Identifier: Apache-2.0
"""The rules of a release: what it does with any row, apart from the rows that it was made of.

Full-domain recoding: the level of every column. Mondrian: regions, the boxes between its cuts. Neither holds
a row, a count, or a sensitive value; but ends of regions are values of the table, so that rules are their
owner's, as the table is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import (
    ROOT,
    Cells,
    Classes,
    cells,
    group,
    group_numbers,
    keys,
    labels,
    merge,
    rows_inside,
    texts,
)
from anon.encoding import Codes, Domain, Encoded, at_level, encode
from anon.errors import DataError
from anon.methods import FullDomain, Mondrian
from anon.schema import (
    Attribute,
    CsvFile,
    MissingValues,
    Nested,
    Schema,
    check_names,
    lca,
    places,
    tree_of,
    values_at,
)
from anon.tables import read_source, read_table, write_file

Ints = npt.NDArray[np.int64]
VERSION = 1  # of the file


@dataclass(frozen=True, repr=False)
class Known:
    """What rules know of one attribute's domain: the labels in their order, or the least and the greatest
    number and the ends of cuts between (`values`), and whether null is in it. Where it does not `decide`, its
    hierarchy does, or nothing, and the values only say what all values are.
    """

    name: str
    values: pa.Array
    has_null: bool
    decides: bool


@dataclass(frozen=True, repr=False)
class Regions:
    """Boxes that share nothing: of the i-th one the attribute a holds `values[low[a, i]]` to
    `values[high[a, i]]` (none if low > high), and null if `null[a, i]`.
    """

    low: Ints
    high: Ints
    null: npt.NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of regions."""
        return int(self.low.shape[1])


@dataclass(frozen=True, repr=False)
class Fitted:
    """Rows to which rules were applied: those that they have cells for (`rows`, ascending), as classes.

    `outside` counts by column the values that the rules do not know.
    """

    encoded: Encoded
    classes: Classes
    cells: tuple[Cells, ...]
    rows: npt.NDArray[np.int64]
    outside: Mapping[str, int]


class NothingFits(DataError):
    """The rules have no cell for any row; `outside` counts by column what they do not know."""

    def __init__(self, message: str, outside: Mapping[str, int]) -> None:
        super().__init__(message)
        self.outside = outside


@dataclass(frozen=True, repr=False)
class Transformed:
    """Hold-out rows as cells: no release, and nothing is claimed of it.

    `table` has the quasi-identifiers as cells and the other columns as they were, in the order of the rows.
    `outside` counts by column the values that the rules do not know, which are `*`; `n_outside` the rows.
    """

    table: pa.Table
    outside: Mapping[str, int]
    n_outside: int

    def __repr__(self) -> str:
        return f"Transformed(rows={self.table.num_rows}, outside={self.n_outside})"


@dataclass(frozen=True, repr=False)
class Rules:
    """What a release does with any row; see `Release.rules`.

    `levels` are those of full-domain recoding, `heights` how many its attributes have; `regions` those of
    Mondrian. `asked` are the requirements of the release in words, which rules alone do not keep.
    """

    schema: Schema
    known: tuple[Known, ...]
    levels: tuple[int, ...] | None
    heights: tuple[int, ...] | None
    regions: Regions | None
    asked: tuple[str, ...]

    @property
    def method(self) -> str:
        """The method's name."""
        return FullDomain.name if self.regions is None else Mondrian.name

    def transform(self, rows: Any) -> Transformed:
        """Any rows as cells, for models that learned from the release: nothing is claimed of them.

        `rows` is as for `anonymize`, with the quasi-identifiers among its columns. A value outside of the
        domain, and a row in none of the regions, is `*`.
        """
        table = read_table(read_source(rows))
        names = [each.name for each in self.schema.quasi]
        check_names(names, table.column_names)
        outside = self._outside(table)
        marked = np.logical_or.reduce([*outside.values(), np.zeros(table.num_rows, np.bool_)])
        shown = {name: np.full(table.num_rows, ROOT, object) for name in names}
        counts = {name: int(np.count_nonzero(mask)) for name, mask in outside.items()}
        if self.regions is None:
            self._columns_by_level(table, outside, shown)
        elif not marked.all():
            fitted = self.fit(table)
            for name, one in zip(names, fitted.cells, strict=True):
                words = np.array(labels(one).to_pylist(), object)
                of_row = np.empty(fitted.encoded.n_rows, np.int64)
                of_row[fitted.classes.rows] = np.repeat(one.of_class, fitted.classes.sizes)
                shown[name][fitted.rows] = words[of_row]
            marked = np.ones(table.num_rows, np.bool_)
            marked[fitted.rows] = False
        for name in names:
            at = table.column_names.index(name)
            table = table.set_column(at, name, pa.array(shown[name].tolist(), pa.string()))
        return Transformed(
            table.replace_schema_metadata(None),
            {name: n for name, n in counts.items() if n},
            int(np.count_nonzero(marked)),
        )

    def _columns_by_level(
        self, table: pa.Table, outside: Mapping[str, npt.NDArray[np.bool_]], shown: dict[str, Any]
    ) -> None:
        """Each column by itself: what one row shows there depends on its value alone."""
        for i, attribute in enumerate(self.schema.quasi):
            rows = np.flatnonzero(~outside[attribute.name])
            if not len(rows):
                continue
            part = table.select([attribute.name]).take(pa.array(rows))
            domain, codes, fine = self._wide(i, part.column(0))
            nothing = np.empty(0, np.uint32)
            encoded = Encoded(
                part, Schema([attribute]), (domain,), (codes,), (), (), nothing, fine_codes=(fine,)
            )
            classes = group([codes])
            [one] = cells(encoded, classes)
            of_row = one.of_class[group_numbers(classes.rows, classes.offsets)]
            shown[attribute.name][rows] = np.array(labels(one).to_pylist(), object)[of_row]

    def _wide(self, i: int, column: pa.ChunkedArray) -> tuple[Domain, Codes, Codes]:
        """Values of the i-th attribute in the codes of these and of the rules' own, so that cells are what
        they are in the release: the domain, and the codes at its level and before.
        """
        attribute, one = self.schema.quasi[i], self.known[i]
        values = one.values if len(one.values) else pa.array([], column.type)  # of nulls: of any type
        kind = values.type
        try:
            both = pa.chunked_array([*column.cast(kind).chunks, values], kind)
        except pa.ArrowException:
            raise _unlike(attribute.name, column.type, kind) from None
        if one.has_null:
            both = pa.chunked_array([*both.chunks, pa.nulls(1, kind)], kind)
        wide = encode(pa.table({attribute.name: both}), Schema([attribute]))
        [domain], [codes], [fine] = wide.quasi, wide.quasi_codes, wide.original.quasi_codes
        if self.levels is not None and self.levels[i] == (self.heights or ())[i]:
            domain = at_level(domain, None)
            assert domain.coding is not None
            codes = domain.coding.coded(fine)
        n = len(column)
        return domain, np.ascontiguousarray(codes[:n]), np.ascontiguousarray(fine[:n])

    def fit(self, table: pa.Table) -> Fitted:
        """The rows that the rules have cells for, those with the same cells as one class."""
        names = [each.name for each in self.schema.quasi]
        check_names(names, table.column_names)
        outside = self._outside(table)
        rows = np.flatnonzero(~np.logical_or.reduce(list(outside.values())))
        counts = {name: int(np.count_nonzero(mask)) for name, mask in outside.items() if mask.any()}
        if not len(rows):
            raise NothingFits(
                f"the rules have no cell for any of the {table.num_rows:,} rows: are these the columns and "
                "kinds of the table that they were made of?",
                counts,
            )
        inside = table.take(pa.array(rows))
        plain = encode(inside, self.schema)
        made = [self._wide(i, inside.column(name)) for i, name in enumerate(names)]
        domains, columns, fine = zip(*made, strict=True)
        encoded = replace(
            plain,
            quasi=domains,
            quasi_codes=columns,
            fine_codes=fine if self.regions is None else (),
            by_regions=self.regions is not None,
        )
        if self.regions is None:
            classes = group(encoded.quasi_codes)
            return Fitted(encoded, classes, cells(encoded, classes), rows, counts)
        sides = [self._boxes(a, domain) for a, domain in enumerate(domains)]
        found = rows_inside(sides, encoded.quasi_codes, 2**62)
        assert found is not None
        offsets, members = found
        used = np.flatnonzero(np.diff(offsets))
        bounds = np.concatenate([[0], np.cumsum(np.diff(offsets)[used])]).astype(np.int64)
        if len(members) < len(rows):  # those in no region: null where the table had none with the others
            kept = np.sort(members).astype(np.int64)
            counts["rows in no region"] = len(rows) - len(kept)
            if not len(kept):
                raise NothingFits(
                    f"none of the {table.num_rows:,} rows lies in a region of the rules", counts
                )
            fitted = self.fit(inside.take(pa.array(kept)))
            return Fitted(fitted.encoded, fitted.classes, fitted.cells, rows[kept][fitted.rows], counts)
        classes = Classes(members, bounds, np.empty(0, np.uint32))
        classes, shown = merge(classes, [_shown(one, used) for one in sides])
        return Fitted(encoded, classes, shown, rows, counts)

    def _outside(self, table: pa.Table) -> dict[str, npt.NDArray[np.bool_]]:
        """For each quasi-identifier the rows whose value the rules do not know."""
        return {
            each.name: _unknown(table, attribute, each, self.regions is None or each.has_null)
            for attribute, each in zip(self.schema.quasi, self.known, strict=True)
        }

    def _boxes(self, a: int, domain: Domain) -> Cells:
        """The regions' sides on one attribute, over a domain that has all of their ends."""
        regions, one = self.regions, self.known[a]
        assert regions is not None
        numeric = domain.kind == "numeric"
        ours, theirs = ((keys if numeric else texts)(values) for values in (domain.values, one.values))
        at = {key: code for code, key in enumerate(ours)}
        code = np.array([at[key] for key in theirs] or [0], np.int64)  # without values all sides are empty
        empty = regions.low[a] > regions.high[a]
        low, high = (code[np.where(empty, 0, ends[a])] for ends in (regions.low, regions.high))
        return _made(domain, np.where(empty, 1, low), np.where(empty, 0, high), regions.null[a])

    def to_dict(self) -> dict[str, Any]:
        """What the file holds, ready for JSON."""
        regions = self.regions
        return {
            "anon_rules": VERSION,
            "method": self.method,
            "schema": self.schema.to_dict(),
            "domain": [_known_to_dict(each) for each in self.known],
            "levels": None if self.levels is None else list(self.levels),
            "heights": None if self.heights is None else list(self.heights),
            "regions": None
            if regions is None
            else {name: getattr(regions, name).tolist() for name in ("low", "high", "null")},
            "asked": list(self.asked),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Rules:
        """The inverse of `to_dict`; DataError where these are no rules."""
        try:
            if data["anon_rules"] != VERSION:
                raise ValueError
            regions = data["regions"]
            made = cls(
                Schema.from_dict(data["schema"]),
                tuple(_known_from_dict(each) for each in data["domain"]),
                None if data["levels"] is None else tuple(map(int, data["levels"])),
                None if data["heights"] is None else tuple(map(int, data["heights"])),
                None
                if regions is None
                else Regions(
                    np.array(regions["low"], np.int64),
                    np.array(regions["high"], np.int64),
                    np.array(regions["null"], np.bool_),
                ),
                tuple(map(str, data["asked"])),
            )
            made._check()
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, pa.ArrowException):
            raise DataError(
                "these are no rules of a release, or they were changed after they were written"
            ) from None
        return made

    def _check(self) -> None:
        """Raise ValueError where the parts do not fit together."""
        names = [each.name for each in self.schema.quasi]
        n = len(names)
        if [each.name for each in self.known] != names or (self.levels is None) is (self.regions is None):
            raise ValueError
        if self.levels is not None and not len(self.levels) == len(self.heights or ()) == n:
            raise ValueError
        if self.regions is None:
            return
        low, high, null = self.regions.low, self.regions.high, self.regions.null
        if not low.shape == high.shape == null.shape or low.ndim != 2 or len(low) != n:
            raise ValueError
        for a, each in enumerate(self.known):
            held = low[a] <= high[a]
            if (low[a] < 0).any() or (high[a][held] >= len(each.values)).any():
                raise ValueError

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rules to a JSON file that its owner alone can read."""
        write_file(path, json.dumps(self.to_dict(), ensure_ascii=False).encode(), 0o600)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Rules:
        """The rules of a file that `write` made."""
        try:
            data = json.loads(Path(path).read_bytes())
        except OSError as error:
            raise DataError(f"cannot read the rules {os.fspath(path)!r}: {error.strerror}") from error
        except (ValueError, RecursionError):
            data = None
        return cls.from_dict(data)

    def __repr__(self) -> str:
        what = f"levels={self.levels}" if self.regions is None else f"regions={self.regions.n}"
        return f"Rules({self.method!r}, {what})"


def _made(domain: Domain, low: Ints, high: Ints, null: npt.NDArray[np.bool_]) -> Cells:
    """Cells from the ends of each class; of a flat attribute, all labels between."""
    order = np.stack([low, high, null])
    if domain.kind == "nominal" and domain.tree is None:
        order = np.insert(order, 2, high - low, axis=0)
    distinct, of_class = np.unique(order, axis=1, return_inverse=True)
    made = Cells(
        domain,
        of_class.reshape(-1).astype(np.uint32),
        distinct[0].astype(np.uint32),
        distinct[1].astype(np.uint32),
        distinct[-1].astype(np.bool_),
    )
    if len(order) == 3:
        return made
    sizes = distinct[1] - distinct[0] + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    codes = np.arange(offsets[-1]) + np.repeat(distinct[0] - offsets[:-1], sizes)
    return replace(made, set_offsets=offsets, set_codes=codes.astype(np.uint32))


def _shown(boxes: Cells, used: npt.NDArray[np.intp]) -> Cells:
    """What some of the boxes show: in a tree, the node above all that they hold."""
    domain, cell = boxes.domain, boxes.of_class[used]
    low, high, null = (each[cell].astype(np.int64) for each in (boxes.low, boxes.high, boxes.null))
    if domain.tree is not None:
        empty = low > high
        node = lca(domain.tree, np.where(empty, 0, low), np.where(empty, 0, high))
        low = np.where(empty, low, domain.tree.first[node])
        high = np.where(empty, high, domain.tree.last[node])
    return _made(domain, low, high, null.astype(np.bool_))


# --- what rules know of a domain


def _unknown(table: pa.Table, attribute: Attribute, known: Known, places_null: bool) -> npt.NDArray[np.bool_]:
    """The rows whose value the rules do not know; null is one, where they have no place for it."""
    column = table.column(attribute.name)
    null = np.asarray(pc.is_null(column, nan_is_null=True))
    if not known.decides:
        unknown = np.zeros(len(column), np.bool_)
        if isinstance(attribute.hierarchy, CsvFile | Nested) and attribute.kind == "nominal":
            words = column.cast(pa.string()).dictionary_encode().combine_chunks()
            try:
                tree_of(attribute.hierarchy, words.dictionary.to_pylist(), attribute.name)
            except MissingValues as error:
                unknown = np.append(error.missing, False)[words.indices.fill_null(-1).to_numpy()]
    elif not len(known.values):  # of a column of nulls
        unknown = np.ones(len(column), np.bool_)
    elif attribute.kind == "numeric":
        least, most = known.values[0], known.values[-1]
        try:
            beyond = pc.or_(pc.less(column, least), pc.greater(column, most))
        except pa.ArrowException:
            raise _unlike(attribute.name, column.type, known.values.type) from None
        unknown = np.asarray(beyond.fill_null(False))
    else:
        there = pc.is_in(column.cast(pa.string()), value_set=known.values.cast(pa.string()))
        unknown = ~np.asarray(there)
    return np.asarray(unknown & ~null if places_null else unknown | null)


def _unlike(name: str, now: pa.DataType, then: pa.DataType) -> DataError:
    return DataError(
        f"column {name!r} is {now}, and was {then} when the rules were made; convert it", column=name
    )


def _known_to_dict(known: Known) -> dict[str, Any]:
    values = known.values
    plain = pa.types.is_string(values.type) or pa.types.is_floating(values.type)
    return {
        "name": known.name,
        "null": known.has_null,
        "decides": known.decides,
        "type": str(values.type),
        "values": values.to_pylist() if plain else [int(each) for each in places(values)[0]],
    }


def _known_from_dict(data: Mapping[str, Any]) -> Known:
    kind, listed = pa.type_for_alias(data["type"]), data["values"]
    values = pa.array(listed, kind) if pa.types.is_string(kind) else values_at(listed, kind)
    return Known(str(data["name"]), values, bool(data["null"]), bool(data["decides"]))
