# SPDX-License-Identifier: Apache-2.0
"""What each class shows of a quasi-identifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import anoncore.classes as kernel
from anon.classes.classes import Classes, group_numbers, ranges
from anon.encoding import Codes, Coding, Domain, Encoded, Rounds
from anon.schema import Tree, lca


@dataclass(frozen=True, repr=False)
class Cells:
    """The distinct cells of one quasi-identifier in a release, and which class shows which.

    Class c shows cell `of_class[c]` (uint32). Cell i covers the codes `low[i]..high[i]`
    (uint32, inclusive; for a flat nominal attribute the codes
    `set_codes[set_offsets[i]:set_offsets[i + 1]]`, ascending, and low and high are the first and
    last of them) and null if `null[i]`. A cell of nulls only has low > high. Cells are distinct,
    ordered by (low, high, set, null). Where single cells were suppressed `blank[i]` says of which cell i
    is: it covers the whole domain and is published as null, the others as the one value that they are.
    """

    domain: Domain
    of_class: npt.NDArray[np.uint32]
    low: npt.NDArray[np.uint32]
    high: npt.NDArray[np.uint32]
    null: npt.NDArray[np.bool_]
    set_offsets: npt.NDArray[np.int64] | None = None
    set_codes: npt.NDArray[np.uint32] | None = None
    shown_as: tuple[Domain, ...] = ()
    level: npt.NDArray[np.int64] | None = None
    blank: npt.NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"Cells({self.domain.name!r}, n_cells={len(self.low)}, n_classes={len(self.of_class)})"


def at_rows(cells: Cells, rows: npt.NDArray[Any]) -> Cells:
    """What cells with one entry of `of_class` per row show in these rows."""
    return replace(cells, of_class=cells.of_class[rows])


def and_ranges(
    cells: Cells, low: npt.NDArray[Any], high: npt.NDArray[Any], null: npt.NDArray[np.bool_]
) -> Cells:
    """The cells, and after them one for each range of codes; as sets these hold what the domain has of it."""
    offsets, sets = cells.set_offsets, cells.set_codes
    if offsets is not None and sets is not None:
        first = np.asarray(low, np.int64)
        end = np.maximum(np.minimum(np.asarray(high, np.int64) + 1, cells.domain.n_values), first)
        offsets = np.append(offsets, offsets[-1] + np.cumsum(end - first))
        sets = np.append(sets, ranges(first, end).astype(np.uint32))
    return replace(
        cells,
        low=np.append(cells.low, low.astype(np.uint32)),
        high=np.append(cells.high, high.astype(np.uint32)),
        null=np.append(cells.null, null),
        set_offsets=offsets,
        set_codes=sets,
    )


def cells(encoded: Encoded, classes: Classes, n_threads: int = 1) -> tuple[Cells, ...]:
    """The cells of the classes, per quasi-identifier (spec 0).

    Ordered attributes: from the lowest to the highest code present. Nominal with a tree: from the
    first to the last leaf of the present values' lowest common ancestor. With a coding all codes of a
    block go with one. Flat nominal: their set;
    of sets with the same ends the smaller comes first, then the one with the lower codes. The columns of
    households show the cell of all rows `together`. With `rounds` a cell holds all that the rows of its class
    are published as, and is written as their level has it where that is one (of several, the last round's).
    """
    if encoded.rounds is not None:
        by_round = encoded.rounds.domains(encoded.quasi)
        return tuple(
            _cells_of_rounds(domain, codes, domains, encoded.rounds, classes, n_threads)
            for domain, codes, domains in zip(encoded.quasi, encoded.quasi_codes, by_round, strict=True)
        )
    shared, whose, group_of = encoded.schema.household if classes.together is not None else (), classes, None
    if classes.together is not None:
        whose = Classes(classes.rows, classes.together, classes.suppressed)
        group_of = np.searchsorted(classes.together, classes.offsets[:-1], side="right") - 1
    made = []
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        one = _cells(domain, codes, whose if domain.name in shared else classes, n_threads)
        made.append(replace(one, of_class=one.of_class[group_of]) if domain.name in shared else one)
    return tuple(made)


def full_cells(encoded: Encoded, classes: Classes) -> tuple[Cells, ...]:
    """Cells that all cover their whole domain, null too where the table has it."""
    return tuple(_full_cell(domain, classes.n_classes) for domain in encoded.quasi)


def blank(cells: Cells, where: npt.NDArray[np.bool_]) -> Cells:
    """The cells, the whole domain (and null where it has it) in the classes `where`."""
    if not where.any():
        return cells
    whole = _full_cell(cells.domain, 1)
    low, high = np.append(cells.low, whole.low), np.append(cells.high, whole.high)
    null = np.append(cells.null, whole.null)
    lengths, offsets, values = np.zeros(len(low), np.int64), None, None
    if cells.set_offsets is not None and whole.set_codes is not None and cells.set_codes is not None:
        lengths = np.append(np.diff(cells.set_offsets), len(whole.set_codes))
        offsets = np.append(cells.set_offsets, cells.set_offsets[-1] + len(whole.set_codes))
        values = np.append(cells.set_codes, whole.set_codes)
    last = len(low) - 1
    is_whole = (low == low[last]) & (high == high[last]) & (lengths == lengths[last])
    of_class = np.where(where, np.flatnonzero(is_whole & (null == null[last]))[0], cells.of_class)
    order = np.lexsort((np.where(is_whole, null, np.arange(last + 1)), lengths, high, low))
    used = np.bincount(of_class, minlength=len(low)) > 0
    order = order[used[order]]
    new = np.zeros(len(low), np.uint32)
    new[order] = np.arange(len(order))
    blanked = replace(cells, of_class=new[of_class], low=low[order], high=high[order], null=null[order])
    if cells.level is not None:
        blanked = replace(blanked, level=np.append(cells.level, -1)[order])
    if offsets is not None and values is not None:
        offsets, values = take(offsets, values, order)
        blanked = replace(blanked, set_offsets=offsets, set_codes=values)
    return blanked


def value_cells(domain: Domain, codes: Codes) -> Cells:
    """Of each class the one value whose code is given; n_values: the whole domain, published as null."""
    n = domain.n_values
    low = np.append(np.arange(n), 0 if n else 1).astype(np.uint32)
    high = np.append(np.arange(n), max(n - 1, 0)).astype(np.uint32)
    is_blank = np.arange(n + 1) == n
    order = np.lexsort((high, low))
    order = order[np.bincount(codes, minlength=n + 1)[order] > 0]
    new = np.zeros(n + 1, np.uint32)
    new[order] = np.arange(len(order))
    made = Cells(
        domain,
        new[codes],
        low[order],
        high[order],
        (is_blank & domain.has_null)[order],
        blank=is_blank[order],
    )
    if domain.kind == "nominal" and domain.tree is None:
        sizes = np.where(is_blank[order], n, 1)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        made = replace(
            made, set_offsets=offsets, set_codes=(np.repeat(made.low, sizes) + within).astype(np.uint32)
        )
    return made


def merge(classes: Classes, cells: Sequence[Cells], n_threads: int = 1) -> tuple[Classes, tuple[Cells, ...]]:
    """Merge classes with equal cells in every quasi-identifier.

    A union takes the place of its first class and lists its rows class by class. Where nothing
    merges, the arguments are given back.
    """
    if not cells or classes.n_classes < 2:
        return classes, tuple(cells)
    members, bounds = kernel.group([cell.of_class for cell in cells], None, n_threads)
    if len(bounds) - 1 == classes.n_classes:
        return classes, tuple(cells)
    first = members[bounds[:-1]]
    order = np.argsort(first)
    bounds, members = take(bounds, members, order)
    positions, rows = take(classes.offsets, classes.rows, members)
    merged = tuple(replace(cell, of_class=cell.of_class[first[order]]) for cell in cells)
    return Classes(rows, positions[bounds], classes.suppressed), merged


def population_counts(
    cells: Sequence[Cells], population: Sequence[Codes], n_threads: int = 1
) -> npt.NDArray[np.int64]:
    """Rows of a population inside the cells of each class.

    `population` holds one code column per quasi-identifier, over the domains of `cells`; encode the
    original table and the population as one table, so that a value that only one of them has gets
    its place in the other's cells.
    """
    return kernel.count_inside(population, _sides(cells), n_threads)


def rows_inside(
    cells: Sequence[Cells], population: Sequence[Codes], most: int, n_threads: int = 1
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]] | None:
    """The rows that `population_counts` counts, of class c rows[offsets[c]:offsets[c + 1]]; None for more
    than `most` of them.
    """
    return kernel.find_inside(population, _sides(cells), most, n_threads)


def _sides(cells: Sequence[Cells]) -> list[tuple[Any, ...]]:
    """Cells as kernels take them."""
    return [
        (
            cell.of_class,
            cell.low,
            cell.high,
            cell.null,
            cell.domain.n_values if cell.domain.has_null else -1,
            cell.set_offsets,
            cell.set_codes,
        )
        for cell in cells
    ]


def take(
    offsets: npt.NDArray[np.int64], values: npt.NDArray[np.uint32], picks: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """The lists `picks` of a CSR structure, in that order."""
    lengths = np.diff(offsets)[picks]
    taken = np.concatenate([[0], np.cumsum(lengths)])
    shift = np.repeat(offsets[:-1][picks] - taken[:-1], lengths)
    return taken, values[np.arange(taken[-1]) + shift]


def _cells(domain: Domain, codes: Codes, classes: Classes, n_threads: int) -> Cells:
    if domain.coding is not None and domain.coding.is_star:
        return _full_cell(domain, classes.n_classes)
    null_code = domain.n_values if domain.has_null else -1
    low, high, null = kernel.boxes(codes, classes.rows, classes.offsets, null_code, n_threads)
    keys = [low, high]
    if domain.tree is not None and domain.n_values:
        keys = [*_below_ancestor(domain.tree, low, high)]
    if domain.coding is not None:
        keys = [*_whole_blocks(domain.coding, *keys)]
    is_flat = domain.kind == "nominal" and domain.tree is None
    if is_flat:
        offsets, values, _ = kernel.value_counts(
            codes, classes.rows, classes.offsets, domain.n_codes, n_threads
        )
        present = values != null_code
        offsets = np.concatenate([[0], np.cumsum(present)])[offsets]
        values = values[present]
        keys += [np.diff(offsets).astype(np.uint32), _ranks(offsets, values)]
    members, bounds = kernel.group([*keys, null.view(np.uint8)], None, n_threads)
    of_class = group_numbers(members, bounds)
    first = members[bounds[:-1]]
    distinct = Cells(domain, of_class, keys[0][first], keys[1][first], null[first])
    if is_flat:
        offsets, values = take(offsets, values, first)
        distinct = replace(distinct, set_offsets=offsets, set_codes=values)
    return distinct


def _cells_of_rounds(
    domain: Domain,
    codes: Codes,
    by_round: Sequence[Domain],
    rounds: Rounds,
    classes: Classes,
    n_threads: int,
) -> Cells:
    of_row = rounds.of_row[classes.rows]

    def ends(of_round: list[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The least and the greatest of something that rounds have, in each class."""
        values, starts = np.array(of_round)[of_row], classes.offsets[:-1]
        if not len(starts):
            return values, values
        return np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)

    _, star = ends([each.coding is not None and each.coding.is_star for each in by_round])
    if domain.kind == "nominal" and domain.tree is None:
        return blank(_cells(domain, codes, classes, n_threads), star)
    shown_as = list({id(each): each for each in by_round if each.coding is not None}.values())
    number = {id(each): level for level, each in enumerate(shown_as)}
    first_codes, last_codes = rounds.ends(by_round, codes)
    null_code = domain.n_values if domain.has_null else -1
    low, last_low, null = kernel.boxes(first_codes, classes.rows, classes.offsets, null_code, n_threads)
    _, high, _ = kernel.boxes(last_codes, classes.rows, classes.offsets, null_code, n_threads)
    null = null | (star & domain.has_null)
    least, most = ends([number.get(id(each), -1) for each in by_round])
    of_class = np.where((least == most) & (low == last_low), least, -1)
    if domain.tree is not None and domain.n_values:
        low, high = _below_ancestor(domain.tree, low, high)
    members, bounds = kernel.group([low, high, null.view(np.uint8)], None, n_threads)
    first = members[bounds[:-1]]
    level = np.maximum.reduceat(of_class[members], bounds[:-1]) if len(first) else of_class
    return Cells(
        domain,
        group_numbers(members, bounds),
        low[first],
        high[first],
        null[first],
        shown_as=tuple(shown_as),
        level=level,
    )


def _below_ancestor(
    tree: Tree, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """First and last leaf of the lowest node above the leaves low and high; low > high stays."""
    null_only = low > high
    node = lca(tree, np.minimum(low, high), high)
    first = np.where(null_only, low, tree.first[node]).astype(np.uint32)
    return first, np.where(null_only, high, tree.last[node]).astype(np.uint32)


def _whole_blocks(
    coding: Coding, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """From the first code that is shown as low to the last that is shown as high; low > high stays."""
    null_only = low > high
    first_of, last_of = coding.cell_ends
    first, last = first_of[np.minimum(low, high)], last_of[np.where(null_only, 0, high)]
    return np.where(null_only, low, first), np.where(null_only, high, last)


def _ranks(offsets: npt.NDArray[np.int64], values: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Rank of each list of a CSR structure among the distinct lists of its length."""
    lengths = np.diff(offsets)
    ranks = np.zeros(len(lengths), np.uint32)
    for length in np.unique(lengths):
        lists = np.flatnonzero(lengths == length)
        if length == 0 or len(lists) == 1:
            continue
        if length <= 16:
            columns = [values[offsets[lists] + i] for i in range(length)]
            members, bounds = kernel.group(columns)
            ranks[lists] = group_numbers(members, bounds)
        else:
            keys = [values[start : start + length].astype(">u4").tobytes() for start in offsets[lists]]
            rank = {key: i for i, key in enumerate(sorted(set(keys)))}
            ranks[lists] = [rank[key] for key in keys]
    return ranks


def _full_cell(domain: Domain, n_classes: int) -> Cells:
    last = domain.n_values - 1
    low, high = (0, last) if last >= 0 else (1, 0)
    cell = Cells(
        domain,
        np.zeros(n_classes, np.uint32),
        np.array([low], np.uint32),
        np.array([high], np.uint32),
        np.array([domain.has_null]),
    )
    if domain.kind == "nominal" and domain.tree is None:
        codes = np.arange(domain.n_values, dtype=np.uint32)
        cell = replace(cell, set_offsets=np.array([0, len(codes)]), set_codes=codes)
    return cell
