# SPDX-License-Identifier: Apache-2.0
"""What a column's codes stand for, and a table of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.encoding.coding import Coding, coding_of
from anon.errors import UsageError
from anon.schema import Attribute as SchemaAttribute
from anon.schema import Kind, Levels, Schema, Tree, check_names, nested, prune
from anoncore.attribute import Attribute

if TYPE_CHECKING:
    from anon.tables import Scan

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
Missing = Literal["category", "suppress", "error"]

MILLISECONDS_PER_DAY = 86_400_000
MOST_VALUES = 1 << 22  # of the parts of one column, before those that they share become one


@dataclass(frozen=True, repr=False)
class Domain:
    """The values of one attribute, in the order of their codes.

    Code c < len(values) stands for `values[c]` (an Arrow array without nulls): sorted values for a
    numeric attribute, the given order for an ordinal one, depth-first leaves for a nominal one with
    a tree, otherwise labels in code-point order. Numeric values keep their Arrow type (date64 is
    date32, float16 is float32); those of the other kinds are strings, whatever the column's type.
    If `has_null`, code len(values) is null.
    `positions` (float64) places each code on the attribute's line, starting at 0: differences of
    values for a numeric attribute (integers and dates in units, decimals in units of their scale),
    ranks for an ordinal one; None for a nominal one.
    `unit_lattice` is True where every multiple of one unit between the ends is a possible value
    (integers, dates, decimals), False for floats and timestamps, which have length instead.
    With a `coding` some codes are published as one. `node_widths` (float64) say how wide the nodes of the
    tree are, where that is not by their leaves.
    """

    name: str
    kind: Kind
    values: pa.Array
    has_null: bool
    positions: npt.NDArray[np.float64] | None = None
    unit_lattice: bool = False
    tree: Tree | None = None
    levels: Levels | None = None
    weight: float = 1.0
    coding: Coding | None = None
    node_widths: npt.NDArray[np.float64] | None = None

    @property
    def n_values(self) -> int:
        """|D_a|: number of distinct values, null not counted."""
        return len(self.values)

    @property
    def n_codes(self) -> int:
        """Number of codes, null's included."""
        return len(self.values) + self.has_null

    @property
    def ends(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Where on the line what each code is published as begins and ends: all that is coded as one."""
        assert self.positions is not None
        if self.coding is None or self.coding.reach is None:
            return self.positions, self.positions
        return self.coding.reach

    @cached_property
    def attribute(self) -> Attribute:
        """The domain as the kernels read it, widths in NCP; checked and built once."""
        return self.measured("ncp")

    def measured(self, loss: str) -> Attribute:
        """The domain as the kernels read it, widths as `loss` has them."""
        tree = self.tree
        nodes = None if tree is None else (tree.parent, tree.first, tree.last, tree.leaf)
        widths = None if tree is None else self.node_widths
        return Attribute(self.n_values, self.positions, nodes, loss=loss, weight=self.weight, widths=widths)

    def __repr__(self) -> str:
        return f"Domain({self.name!r}, {self.kind}, n_values={self.n_values}, has_null={self.has_null})"


@dataclass(frozen=True, repr=False)
class Uncoded:
    """A sensitive attribute before its values were recoded: as the user gave it, and one code per row."""

    attribute: SchemaAttribute
    domain: Domain
    codes: Codes


@dataclass(frozen=True, repr=False)
class Units:
    """Whose each row is: `codes` (one per row) below `n`, in no order that means anything."""

    name: str
    codes: Codes
    n: int

    def __repr__(self) -> str:
        return f"Units({self.name!r}, n={self.n})"


@dataclass(frozen=True, repr=False)
class Rounds:
    """Rows that are published at different levels.

    Row i is published as round `of_row[i]` codes its values: `columns[r]` has the quasi-identifiers with the
    least levels of round r, None where all values are one.
    """

    of_row: Codes
    columns: tuple[tuple[SchemaAttribute | None, ...], ...]

    def domains(self, quasi: Sequence[Domain]) -> list[list[Domain]]:
        """Per quasi-identifier its domain in each round, one object for each of its levels."""
        made: list[list[Domain]] = []
        for domain, columns in zip(quasi, zip(*self.columns, strict=True), strict=True):
            levels = [(column is None, getattr(column, "least", None)) for column in columns]
            one = dict(zip(levels, columns, strict=True))
            at = {level: at_level(domain, column) for level, column in one.items()}
            made.append([at[level] for level in levels])
        return made

    def ends(self, by_round: Sequence[Domain], codes: Codes) -> tuple[Codes, Codes]:
        """Of every row the first and the last code of what its code is published as; null is one of its own
        until all values are one.
        """
        domain = by_round[0]
        ends = np.tile(np.arange(domain.n_codes, dtype=codes.dtype), (2, len(by_round), 1))
        for r, each in enumerate(by_round):
            if each.coding is not None and each.coding.is_star:
                ends[0, r], ends[1, r] = 0, max(domain.n_values - 1, 0)
            elif each.coding is not None:
                ends[:, r, : domain.n_values] = each.coding.first, each.coding.last
        at = self.of_row.astype(np.int64) * domain.n_codes + codes
        return ends[0].ravel()[at], ends[1].ravel()[at]


@dataclass(frozen=True, repr=False)
class Encoded:
    """A table whose quasi-identifiers and sensitive attributes are codes.

    `table` holds the original rows without the identifying columns and those without a role, which
    `unpublished` names, as a Scan where they stay in their files. `quasi[i]` describes
    `quasi_codes[i]` (uint8, uint16 or uint32, narrowest that fits, one per row of `table`);
    likewise `sensitive`. `suppressed` (uint32, ascending) are rows left out by
    `missing="suppress"`; they keep their codes but belong to no class. `draw`, if any, numbers the rows
    (uint32) in a secret order. `units` tells whose each row is, `weights` (float64, > 0) how many people
    it stands for, where the schema names the columns. `fine_codes` are the quasi-identifiers' codes before
    least levels, top and bottom codes, one array for each (none where no attribute has any of these): what
    was lost is measured against them. `uncoded` are the sensitive attributes that have any of these, as they
    were: their requirements and measures are about the coded values.
    With `rounds` rows are published at different levels, and all codes are those of the values. With
    `reference` requirements compare a class with the table without these rows (uint32) alone, whatever else
    is suppressed. With `by_regions` cells are those of regions, which may hold more than their rows have.
    """

    table: pa.Table | Scan
    schema: Schema
    quasi: tuple[Domain, ...]
    quasi_codes: tuple[Codes, ...]
    sensitive: tuple[Domain, ...]
    sensitive_codes: tuple[Codes, ...]
    suppressed: npt.NDArray[np.uint32]
    draw: npt.NDArray[np.uint32] | None = None
    units: Units | None = None
    weights: npt.NDArray[np.float64] | None = None
    fine_codes: tuple[Codes, ...] = ()
    unpublished: tuple[str, ...] = ()
    followers: tuple[Codes, ...] = ()
    uncoded: tuple[Uncoded, ...] = ()
    rounds: Rounds | None = None
    reference: npt.NDArray[np.uint32] | None = None
    by_regions: bool = False

    @property
    def original(self) -> Encoded:
        """The table as it was before least levels, top and bottom codes."""
        return replace(self, quasi_codes=self.fine_codes) if self.fine_codes else self

    @property
    def compared(self) -> Encoded:
        """The table that requirements compare a class with: the published rows, or those of `reference`."""
        return of_published_rows(self if self.reference is None else replace(self, suppressed=self.reference))

    @property
    def ties(self) -> tuple[Codes, ...]:
        """The codes that order rows with equal quasi-identifiers: sensitive ones and those of columns linked
        to quasi-identifiers, or the secret draw.

        Where quasi-identifiers are published intact, an order by sensitive values would tell which of two
        equal rows in different buckets has the lesser one.
        """
        return (*self.sensitive_codes, *self.followers) if self.draw is None else (self.draw,)

    @property
    def n_rows(self) -> int:
        """Rows of the table, suppressed ones included."""
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """One original column, read into memory where the table stays in its files."""
        if isinstance(self.table, pa.Table):
            return self.table.column(name)
        return self.table.select([name]).whole().column(name)

    def cut(self) -> Encoded:
        """The table as methods see it: without the linked quasi-identifiers, which follow others."""
        follows = self.schema.follows
        if not follows:
            return self
        pairs = list(zip(self.quasi, self.quasi_codes, strict=True))
        kept = [(domain, codes) for domain, codes in pairs if domain.name not in follows]
        rounds = self.rounds
        if rounds is not None:
            is_kept = [domain.name not in follows for domain in self.quasi]
            rounds = replace(rounds, columns=tuple(tuple(compress(each, is_kept)) for each in rounds.columns))
        return replace(
            self,
            rounds=rounds,
            quasi=tuple(domain for domain, _ in kept),
            quasi_codes=tuple(codes for _, codes in kept),
            followers=tuple(codes for domain, codes in pairs if domain.name in follows),
            fine_codes=(),
        )

    def by_levels(self) -> Encoded:
        """The table as methods see it where numbers are published by levels: those that nest are trees, and
        codes their leaves. Columns without levels, or whose levels do not nest, stay numbers.
        """
        hierarchies = {attribute.name: attribute.hierarchy for attribute in self.schema.quasi}
        quasi, columns = [], []
        for domain, codes in zip(self.quasi, self.quasi_codes, strict=True):
            of_levels = None
            if domain.kind == "numeric":
                of_levels = nested(hierarchies[domain.name], domain.levels, domain.positions)
            if of_levels is not None:
                tree = of_levels.tree
                values = pa.array([tree.labels[node] for node in tree.leaf.tolist()], pa.string())
                n_leaves = len(values)
                domain = Domain(
                    *(domain.name, "nominal", values, domain.has_null),
                    tree=tree,
                    weight=domain.weight,
                    node_widths=of_levels.widths,
                )
                leaf = np.append(of_levels.leaf_of_code, n_leaves).astype(code_type(n_leaves + 1))
                codes = leaf[codes]
            quasi.append(domain)
            columns.append(codes)
        return replace(self, quasi=tuple(quasi), quasi_codes=tuple(columns), fine_codes=())

    def check_published(self, name: str) -> None:
        """Raise DataError where the table has no such column, UsageError where it is not published."""
        if name in self.unpublished:
            raise UsageError(f"column {name!r} has no role, and so is not published: name it neutral")
        check_names([name], self.table.column_names)

    @property
    def kept(self) -> npt.NDArray[np.uint32]:
        """The rows to be published (uint32, ascending): all but the suppressed ones."""
        kept = np.ones(self.n_rows, np.bool_)
        kept[self.suppressed] = False
        return np.flatnonzero(kept).astype(np.uint32)

    def __repr__(self) -> str:
        return (
            f"Encoded(n_rows={self.n_rows}, quasi={len(self.quasi)}, sensitive={len(self.sensitive)}, "
            f"suppressed={len(self.suppressed)})"
        )


def at_level(domain: Domain, column: SchemaAttribute | None) -> Domain:
    """The domain as a quasi-identifier's least level, top and bottom code it; None: all values are one."""
    if column is None:
        return replace(domain, coding=Coding.star(domain.n_values))
    return replace(domain, coding=coding_of(column, domain.values, domain.unit_lattice, domain.tree))


def code_type(n_codes: int) -> np.dtype[Any]:
    """The narrowest of uint8, uint16 and uint32 that holds the codes 0..n_codes-1."""
    return np.dtype(np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32)


def of_published_rows(encoded: Encoded) -> Encoded:
    """The table as requirements and privacy measures see it: sensitive attributes have just the values
    of the published rows (spec 0). The sensitive codes of suppressed rows mean nothing in it.
    """
    if not len(encoded.suppressed):
        return encoded
    published = encoded.kept
    sensitive, sensitive_codes = [], []
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        kept = np.bincount(codes[published], minlength=domain.n_codes) > 0
        shown_domain = narrowed(domain, kept)
        code_of = np.zeros(domain.n_codes, code_type(shown_domain.n_codes))
        code_of[kept] = np.arange(shown_domain.n_codes)
        sensitive.append(shown_domain)
        sensitive_codes.append(code_of[codes])
    return replace(encoded, sensitive=tuple(sensitive), sensitive_codes=tuple(sensitive_codes))


def narrowed(domain: Domain, kept: npt.NDArray[np.bool_]) -> Domain:
    """The domain without the codes that are not `kept`; its levels go, they are for generalization."""
    values = kept[: domain.n_values]
    positions = None if domain.positions is None else domain.positions[values]
    if positions is not None and len(positions):
        positions = np.arange(len(positions), dtype=np.float64) if domain.kind == "ordinal" else positions
        positions = positions - positions[0]
    return replace(
        domain,
        values=domain.values.filter(pa.array(values)),
        has_null=bool(kept[domain.n_values :].any()),
        positions=positions,
        tree=None if domain.tree is None or not values.any() else prune(domain.tree, values),
        levels=None,
        coding=None,
    )
