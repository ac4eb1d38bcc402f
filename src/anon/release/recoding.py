# SPDX-License-Identifier: Apache-2.0
"""Classes become a release, which is checked once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import (
    BY_NUMBER,
    Cells,
    Classes,
    Column,
    Rendering,
    blank,
    is_full,
    looks,
    merge,
    middles,
    render,
    to_levels,
)
from anon.classes import cells as cells_of
from anon.encoding import Codes, Encoded, of_published_rows
from anon.entropy import Entropy, permutation, system
from anon.errors import NAME_SENSITIVE, UsageError
from anon.release.columns import ROWS_AT_ONCE
from anon.release.metadata import CLASS_ID
from anon.release.recheck import recheck
from anon.release.recoded import Order, Publish, shows_middles
from anon.release.release import Release, contents
from anon.release.weights import Weights, recheck_weights
from anon.release.words import warnings_on_neutral
from anon.tables import check_publishable
from anon.threads import available_threads
from anoncore.classes import shuffle


def recode(
    encoded: Encoded,
    classes: Classes,
    cells: Sequence[Cells],
    requirements: Sequence[Any] = (),
    *,
    method: Any = None,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    order: Order = "class",
    missing: str = "category",
    seed: int | None = None,
    warnings: Sequence[str] = (),
    meets_requirements: bool = True,
    sources: Sequence[str] = (),
    file_schema: pa.Schema | None = None,
    dropped: Sequence[str] = (),
    noise: Mapping[str, Any] | None = None,
    weights: Weights = "class-mean",
    lattice: Any = None,
    left_out: Mapping[str, int] = MappingProxyType({}),
    perturbed: Sequence[Mapping[str, Any]] = (),
    n_threads: int | None = None,
    entropy: Entropy = system,
    judge: bool = False,
) -> Release:
    """The release that shows `cells` (one per quasi-identifier) for the classes, verified.

    Generalized classes that look alike become one and are ordered by their cells, buckets at
    random; rows inside a class are in an order drawn from `entropy`, by default the operating system's,
    whatever the seed. With `numeric="level"` numeric cells are widened to the attribute's levels.
    `judge` adds warnings of neutral columns that tell of others; rows in files are not read for it.
    Raises UsageError where a derived column has the name of another, RecheckError where the release
    fails its own check; `meets_requirements=False` checks all but the requirements.
    """
    if numeric not in get_args(Rendering):
        raise UsageError(f"numeric must be one of {', '.join(get_args(Rendering))}")
    n_threads = available_threads(n_threads)
    check_publishable(encoded.table.schema)
    rendered: Sequence[tuple[Column, ...]] = ()
    if publish == "bucketization":
        if not encoded.sensitive:
            raise UsageError("a bucketization needs a sensitive attribute: ", NAME_SENSITIVE)
        position = permutation(classes.n_classes, entropy).astype(np.int64)
        numeric = "interval"
    elif publish == "perturbation":
        position = _rank_by_cells(cells, classes.n_classes)
    else:
        by_middles = shows_middles(method, numeric)
        if numeric == "level":
            cells = [to_levels(one) if one.domain.kind == "numeric" else one for one in cells]
        cells = cells if by_middles else _blank_with_first(encoded, cells)
        if len(classes.suppressed):
            cells = [
                _without_hidden_null(one, codes, classes.rows)
                for one, codes in zip(cells, encoded.original.quasi_codes, strict=True)
            ]
        if not by_middles:
            classes, cells = merge(classes, cells, n_threads)
        classes, cells, rendered = _merge_alike(encoded, classes, cells, numeric, by_middles, n_threads)
        position = _rank_by_cells(cells, classes.n_classes)
    order_of_classes = np.argsort(position, kind="stable")
    classes = _arranged(classes, order_of_classes, entropy, n_threads)
    cells = tuple(replace(one, of_class=_frozen(one.of_class[order_of_classes])) for one in cells)
    published = [
        tuple(_without_unused(replace(column, index=column.index[order_of_classes])) for column in columns)
        for columns in rendered or [()] * len(cells)
    ]
    derived = [
        (column.name, domain.name)
        for domain, columns in zip(encoded.quasi, published, strict=True)
        for column in columns
    ]
    refuse_clashes(encoded.table.column_names, derived, publish)
    if file_schema is not None:
        file_schema = file_schema.remove_metadata()
    release = Release(
        encoded,
        classes,
        cells,
        tuple(published),
        tuple(requirements),
        method,
        publish,
        numeric,
        order,
        missing,
        seed,
        tuple(warnings),
        meets_requirements,
        tuple(sources),
        file_schema,
        tuple(dropped),
        noise,
        weights,
        lattice,
        left_out,
        tuple(perturbed),
    )
    if release.mean_weights is not None:
        recheck_weights(encoded, classes, release.mean_weights)
    tested = requirements if meets_requirements else ()
    compared = None if encoded.reference is None else encoded.compared
    recheck(
        of_published_rows(encoded),
        classes,
        published,
        tested,
        numeric=numeric,
        coded=release.coded,
        n_threads=n_threads,
        compared=compared,
        nulled=release.nulled,
        middles=release.shows_middles,
    )
    is_judged = judge and isinstance(encoded.table, pa.Table) and publish != "perturbation"
    if is_judged and not all(map(release.is_mean, release.neutral)):
        object.__setattr__(release, "_known", release.known(n_threads=n_threads))
        told = warnings_on_neutral(release, release.known())
        object.__setattr__(release, "warnings", (*release.warnings, *told))
    object.__setattr__(release, "_seal", contents(release))
    return release


def _blank_with_first(encoded: Encoded, cells: Sequence[Cells]) -> list[Cells]:
    """The cells, those of linked columns the whole domain where the first one of the group is that."""
    by_name = {one.domain.name: one for one in cells}
    for name, first in encoded.schema.follows.items():
        ahead, behind = by_name[first], by_name[name]
        if ahead.domain.n_values > 1:
            by_name[name] = blank(behind, is_full(ahead)[ahead.of_class])
    return [by_name[one.domain.name] for one in cells]


def _without_hidden_null(cells: Cells, codes: Codes, published: npt.NDArray[np.uint32]) -> Cells:
    """The cells without null, where only suppressed rows have it; other cells are as they were."""
    domain = cells.domain
    if not domain.has_null or (codes[published] == domain.n_values).any():
        return cells
    return replace(cells, null=np.zeros_like(cells.null))


def _merge_alike(
    encoded: Encoded,
    classes: Classes,
    cells: Sequence[Cells],
    numeric: Rendering,
    by_middles: bool,
    n_threads: int,
) -> tuple[Classes, tuple[Cells, ...], list[tuple[Column, ...]]]:
    """Classes with equal published columns become one; also returns these columns.

    Different cells can have one midpoint, mean or median, which the union of their rows has too.
    """
    while True:
        published = [
            (middles(one, codes, classes),)
            if by_middles and one.domain.kind != "numeric"
            else render(
                one, numeric, codes, classes, not by_middles and one.domain.name in encoded.schema.follows
            )
            for one, codes in zip(cells, encoded.quasi_codes, strict=True)
        ]
        if numeric not in BY_NUMBER:
            return classes, tuple(cells), published
        shown = [
            replace(one, of_class=looks(column))
            for one, columns in zip(cells, published, strict=True)
            for column in columns
        ]
        merged, _ = merge(classes, shown, n_threads)
        if merged.n_classes == classes.n_classes:
            return classes, tuple(cells), published
        classes = merged
        cells = cells_of(encoded, merged, n_threads)
        cells = cells if by_middles else tuple(_blank_with_first(encoded, cells))


# Order


def _rank_by_cells(cells: Sequence[Cells], n_classes: int) -> npt.NDArray[np.int64]:
    """For each class the rank of its cells, quasi-identifiers in schema order; equal cells share a rank."""
    rank = np.zeros(n_classes, dtype=np.int64)
    n_ranks = 1
    for one in cells:
        if n_ranks * len(one.low) >= 2**62:
            values, rank = np.unique(rank, return_inverse=True)
            n_ranks = len(values)
        rank = rank * len(one.low) + one.of_class
        n_ranks *= max(len(one.low), 1)
    return rank


def _arranged(classes: Classes, order: npt.NDArray[np.int64], entropy: Entropy, n_threads: int) -> Classes:
    """The classes in this order, the rows of each in random order."""
    sizes = classes.sizes[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    source = np.empty(len(classes.rows), dtype=classes.rows.dtype)
    shift = np.repeat(classes.offsets[:-1][order] - offsets[:-1], sizes)
    for start in range(0, len(source), ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, len(source))
        source[start:stop] = classes.rows[np.arange(start, stop) + shift[start:stop]]
    del shift
    source = shuffle(source, offsets, entropy(len(source)), n_threads)
    return Classes(_frozen(source), _frozen(offsets), classes.suppressed)


def _without_unused(column: Column) -> Column:
    """The column without values that no class shows."""
    used = np.flatnonzero(np.bincount(column.index, minlength=len(column.values)))
    new_index = np.zeros(len(column.values), dtype=np.uint32)
    new_index[used] = np.arange(len(used))
    return Column(column.name, column.values.take(pa.array(used)), _frozen(new_index[column.index]))


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def refuse_clashes(taken: Iterable[str], derived: Sequence[tuple[str, str]], publish: Publish) -> None:
    """Raise UsageError where a derived column, named with what it is made from, has another's name."""
    taken = set(taken)
    if publish == "bucketization":
        if CLASS_ID in taken:
            raise UsageError(f"the table has a column {CLASS_ID!r}, which a bucketization adds; rename it")
        return
    derived = [(name, source) for name, source in derived if name != source]
    n_of = Counter(name for name, _ in derived)
    for name, source in derived:
        if name in taken or n_of[name] > 1:
            raise UsageError(
                f"the table has a column {name!r}, which would also be made from {source!r}; "
                "rename it, or choose another rendering of numbers"
            )
