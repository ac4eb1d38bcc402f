# SPDX-License-Identifier: Apache-2.0
"""Curve: classes cut from a Hilbert order or by Mondrian, whichever lose less, then cut and dealt anew."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranges, starts_of_sizes
from anon.encoding import Encoded
from anon.errors import Parameter, UsageError
from anon.methods import mondrian, squares
from anon.methods.common import Shared
from anon.methods.hilbert import Axes, curve_order
from anon.methods.repair import pack, sensitive_of, widths_of
from anon.methods.task import LOSS, TIES, Method, Task, refuse_few
from anon.requirements import Option
from anon.threads import in_threads
from anoncore import curve, merge, recut
from anoncore.requirement import Conjunction

BLOCK_ROWS = 1 << 16  # rows cut for a start by one call, whatever the number of threads
BLOCK_CLASSES = 512  # classes worked on by one call; fewer where more than so many attributes make them large
WIDE = 64
BLOCK_WORKED = 1 << 14  # or these are more rows, but so many classes at least
LEAST_CLASSES = 128
# On so many rows of a block, from so many places, the curve must not lose so much more than Mondrian.
PROBE_ROWS, PROBES, PROMISING = 1 << 12, 8, 1.05
MOST = 6  # with requirements beside k, classes of up to 6k rows are cut from the curve and refined
MOST_CUT = 512  # but not beyond so many rows, if that is more than 2k - 1
REFINED_K = 100  # larger classes are not refined: that takes a time that grows with k
RECUTS = 3  # of `balanced`, and of `best` between two refinements
LEAST_GAIN = 1e-3  # a pass that lowers the loss by less is one too many
MOST_ROUNDS = 20  # of `best`
# Balanced refines small tables, where it is cheap: so many rows times k in all passes, and at most so often.
REFINED_ROWS, MOST_REFINED = 7_000_000, 6
# Classes are worked on together if their cells together are at most so many percent as wide as the two.
REACH = 95
# Up to so many rows the loss may stay a few passes and then fall, and all may lie near each other.
SMALL, PATIENCE, FAR_REACH = 2_000, 5, 150

EFFORT = Option(
    "effort",
    Literal["fast", "balanced", "best"],
    "How long to seek: fast (Mondrian alone), balanced (default) or best.",
)

RowNumbers = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Curve(Method):
    """Classes of k rows or more with little loss: two starts, block by block the better, then recuts.

    The starts are cuts of a Hilbert order of the rows, and Mondrian's classes; without a k the latter alone.
    `effort="balanced"` recuts three times and refines small tables by moves and swaps of rows (for k up to
    20), `"best"` goes on until a pass gains less than 0.1 %. `loss="ncp"` minimizes NCP (spans of
    values, trees, sets), `"ordered"` the same with every attribute taken as ordered codes. `loss="sse"`
    minimizes the squared error of numbers over their deviation, and of a table with nominal or ordinal
    quasi-identifiers the distances within classes by Gower, for `numeric="mean"` or `"median"` (what is shown
    then is as of `Microaggregation`): classes of k to 2k - 1 rows, pooled with their nearest and dealt anew;
    what fails a requirement is merged afterwards. Ties follow the ranks of the rows, or their order in the
    input.
    """

    name: ClassVar[str] = "curve"
    grows: ClassVar[bool] = True
    needs_k: ClassVar[bool] = False
    repaired: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    on_spark: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (EFFORT, LOSS, TIES)

    effort: Literal["balanced", "best"] = "balanced"
    loss: Literal["ncp", "ordered", "sse"] = "ncp"
    ties: Literal["rank", "input"] = "rank"

    def __post_init__(self) -> None:
        if self.effort not in ("balanced", "best"):
            raise UsageError(
                Parameter(f"effort={self.effort!r}", f"--effort {self.effort}"),
                " is unknown: use 'balanced' or 'best'",
            )
        if self.loss not in ("ncp", "ordered", "sse"):
            raise UsageError(
                Parameter(f"loss={self.loss!r}", f"--loss {self.loss}"),
                " is unknown: use 'ncp', 'ordered' or 'sse'",
            )
        if self.ties not in ("rank", "input"):
            raise UsageError(
                Parameter(f"ties={self.ties!r}", f"--ties {self.ties}"), " is unknown: use 'rank' or 'input'"
            )

    @property
    def keeps_groups(self) -> bool:
        return self.loss == "sse"

    @property
    def plain(self) -> Curve:
        """The same by NCP."""
        return replace(self, loss="ncp")

    @property
    def order(self) -> Hashable:
        """What the order of the rows along the curve depends on, beside the table."""
        return self.loss, self.ties

    def shares(self, shared: Shared) -> list[Hashable]:
        return [] if self.loss == "sse" else [shared.start, shared.order(self.order)]

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        if self.loss == "sse":
            quiet = replace(task, progress=None)
            return squares.partition(
                encoded, self.effort, self.ties, task, k, lambda: partition(encoded, self.plain, quiet, k)
            )
        return partition(encoded, self, task, k)


@dataclass(frozen=True)
class Laid:
    """The rows along the curve, their codes in this order, and where each row of the table stands in it."""

    axes: Axes
    rows: RowNumbers
    codes: npt.NDArray[Any]
    sensitive: npt.NDArray[np.int32]
    place_of_row: RowNumbers

    @classmethod
    def out(cls, encoded: Encoded, method: Curve, n_threads: int) -> Laid:
        axes = Axes.of(encoded, method.loss)
        rows = curve_order(encoded, axes, method.ties, n_threads)
        place_of_row = np.empty(encoded.n_rows, np.uint32)
        place_of_row[rows] = np.arange(len(rows), dtype=np.uint32)
        codes = pack([column[rows] for column in encoded.quasi_codes])
        return cls(axes, rows, codes, sensitive_of(encoded, rows), place_of_row)


def partition(encoded: Encoded, method: Curve, task: Task, k: int) -> Classes:
    """Classes of at least k rows that satisfy `task.rules`."""
    n_threads = task.n_threads
    if len(encoded.suppressed) == encoded.n_rows:
        return Classes(encoded.kept, np.zeros(1, np.int64), encoded.suppressed)
    refuse_few(encoded.n_rows - len(encoded.suppressed), k)
    laid = task.order_of(method.order, lambda: Laid.out(encoded, method, n_threads))
    table = Table(
        laid.codes,
        laid.sensitive,
        widths_of(encoded.quasi, method.loss),
        max(k, task.rules.min_size),
        task.rules if task.rules.n_sensitive else None,
    )
    simple = task.start or mondrian.start(encoded, task)
    groups = start(table, laid.place_of_row[simple.rows], simple.offsets, k > 1, n_threads)
    groups = improve(table, laid.axes, groups, method.effort, task)
    return Classes(laid.rows[groups.rows], groups.offsets, encoded.suppressed)


@dataclass(frozen=True)
class Groups:
    """Classes in the making: class c holds `rows[offsets[c]:offsets[c + 1]]`, places along the curve.

    `loss` is the sum over classes of their rows times the widths of their cells, in units of `Widths`.
    """

    rows: RowNumbers
    offsets: Offsets
    loss: int

    @classmethod
    def joined(cls, parts: Iterable[Groups]) -> Groups:
        listed = list(parts)
        return cls(
            np.concatenate([part.rows for part in listed]),
            starts_of_sizes(np.concatenate([part.sizes for part in listed])),
            sum(part.loss for part in listed),
        )

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    def these(self, classes: npt.NDArray[np.int64]) -> tuple[RowNumbers, Offsets]:
        """Rows and offsets of some classes, in their order."""
        first, end = self.offsets[classes], self.offsets[classes + 1]
        return self.rows[ranges(first, end)], starts_of_sizes(end - first)


@dataclass(frozen=True)
class Table:
    """The rows in curve order, and what their classes must satisfy.

    `codes` (n x m) and `sensitive` (int32, n x s) by row; `rules` is None where only k matters.
    """

    codes: npt.NDArray[Any]
    sensitive: npt.NDArray[np.int32]
    widths: curve.Widths
    k: int
    rules: Conjunction | None

    @property
    def most(self) -> int:
        """Rows of a class that is cut or refined, at most."""
        least = 2 * self.k - 1
        return least if self.rules is None else max(min(MOST * self.k, MOST_CUT), least)

    @property
    def step(self) -> int:
        """Large classes are cut before every so many rows only, as the time grows with k / step."""
        return max(self.k // 32, 1)

    def records(self, rows: RowNumbers) -> npt.NDArray[np.int32]:
        """Records of these rows."""
        return curve.place(self.widths, self.codes, rows)

    def sensitive_codes(self, rows: RowNumbers) -> npt.NDArray[np.int32] | None:
        """What the rules read of these rows."""
        return None if self.rules is None else self.sensitive[rows]


def start(table: Table, rows: RowNumbers, offsets: Offsets, along: bool, n_threads: int) -> Groups:
    """Mondrian's classes (which pass), cut further; with `along` the rows of a block of them are cut from
    the curve instead where that loses less.
    """
    class_of = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    rows = np.sort(class_of << np.uint64(32) | rows).astype(np.uint32)

    def start_block(first: int, end: int) -> Groups:
        bounds = offsets[first : end + 1]
        best = divided(table, rows[bounds[0] : bounds[-1]], bounds - bounds[0])
        if along and _promising(table, rows, bounds):
            other = from_curve(table, np.sort(best.rows))
            best = other if other.loss < best.loss else best
        return best

    firsts = np.flatnonzero(np.diff(offsets[:-1] // BLOCK_ROWS, prepend=-1)).tolist()
    return Groups.joined(in_threads(n_threads, start_block, firsts, [*firsts[1:], len(offsets) - 1]))


def _promising(table: Table, rows: RowNumbers, bounds: Offsets) -> bool:
    """Whether a curve may lose less than these classes of Mondrian's: some from all over tell."""
    n_rows = bounds[-1] - bounds[0]
    if n_rows <= PROBE_ROWS:
        return True
    starts = bounds[0] + (2 * np.arange(PROBES) + 1) * n_rows // (2 * PROBES) - PROBE_ROWS // PROBES // 2
    first, end = np.searchsorted(bounds, [starts, starts + PROBE_ROWS // PROBES])
    classes = ranges(first, end)
    if len(classes) == 0:
        return True
    probe = rows[ranges(bounds[classes], bounds[classes + 1])]
    simple = divided(table, probe, starts_of_sizes(bounds[classes + 1] - bounds[classes]))
    return from_curve(table, np.sort(probe)).loss <= PROMISING * simple.loss


def divided(table: Table, rows: RowNumbers, offsets: Offsets) -> Groups:
    """Every class cut by itself as far as it can be."""
    places, ends, _, loss = recut.divide(
        table.widths, table.records(rows), offsets, table.k, table.rules, table.sensitive_codes(rows)
    )
    return Groups(rows[places], ends, loss)


def from_curve(table: Table, rows: RowNumbers) -> Groups:
    """The cuts of these rows, ascending along the curve, with the least loss; what fails the rules is merged
    with neighbors, and cut again.
    """
    records, sensitive = table.records(rows), table.sensitive_codes(rows)
    ends = curve.cut(table.widths, records, table.k, table.most, table.step, table.rules, sensitive)
    if table.rules is not None and sensitive is not None:
        home = merge.repair(table.widths, records, sensitive, ends, table.rules)
        rows = rows[np.argsort(np.repeat(home, np.diff(ends)), kind="stable")]
        sizes = np.bincount(home, np.diff(ends)).astype(np.int64)
        ends = starts_of_sizes(sizes[sizes > 0])
    return divided(table, rows, ends)


def improve(
    table: Table,
    axes: Axes,
    groups: Groups,
    effort: str,
    task: Task,
    n_rows: int | None = None,
) -> Groups:
    """Passes over the classes, each along another curve through their centers; the loss never rises.

    Recuts, and where classes are small enough refinements between them; neither is made again once it has
    gained less than 0.1 %, nor any after the task's deadline. `n_rows` are those of the whole table, where
    only some of it is in `table`.
    """
    n_threads, progress, n_rows = task.n_threads, task.progress, n_rows or len(table.codes)
    refined = 1 < table.k <= REFINED_K
    if effort == "balanced":
        n_refined = min(REFINED_ROWS // (n_rows * table.k), MOST_REFINED) if refined else 0
        pairs = zip_longest(["recut"] * RECUTS, ["refine"] * n_refined)
        steps = [step for pair in pairs for step in pair if step]
    else:
        steps = (["recut"] * RECUTS + ["refine"] * refined) * MOST_ROUNDS
    small = n_rows <= SMALL
    patience = dict.fromkeys(steps, PATIENCE if small else 1)
    for number, step in enumerate(steps):
        if not patience[step]:
            continue
        if task.is_late:
            break
        before = groups.loss
        order = axes.class_order(table.codes, groups.rows, groups.offsets, number + 1, n_threads)
        groups = _pass(table, groups, step, order, FAR_REACH if small else REACH, n_threads)
        if progress is not None:
            progress(step, number + 1, len(steps))
        if before - groups.loss <= LEAST_GAIN * before:
            patience[step] -= 1
    return groups


def _pass(
    table: Table,
    groups: Groups,
    step: str,
    order: npt.NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> Groups:
    """One recut or refinement of the classes in this order, block by block."""
    size = max(BLOCK_CLASSES * WIDE // max(table.codes.shape[1], WIDE), 1)
    size = min(size, max(BLOCK_WORKED * len(order) // len(groups.rows), LEAST_CLASSES))
    aside = np.empty(0, np.int64)
    if step == "refine":  # classes of more rows than are refined stay as they are
        large = groups.sizes[order] > table.most
        order, aside = order[~large], order[large]

    def work(first: int) -> Groups:
        rows, ends = groups.these(order[first : first + size])
        records, sensitive = table.records(rows), table.sensitive_codes(rows)
        if step == "recut":
            places, ends, _, loss = recut.recut(
                table.widths, records, ends, table.k, reach, table.rules, sensitive
            )
        else:
            places, ends, _, loss = curve.refine(
                table.widths, records, ends, table.k, table.most, reach, table.rules, sensitive
            )
        return Groups(rows[places], ends, loss)

    parts = in_threads(n_threads, work, range(0, len(order), size))
    if len(aside):
        rows, ends = groups.these(aside)
        loss = recut.divide(table.widths, table.records(rows), ends, len(rows))[2]
        parts.append(Groups(rows, ends, loss))
    return Groups.joined(parts)
