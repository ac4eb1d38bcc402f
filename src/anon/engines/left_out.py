# SPDX-License-Identifier: Apache-2.0
"""Rows left out of a release so that the others lose less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from anon.classes import Classes, cells, merge, to_levels
from anon.encoding import Encoded
from anon.measures import ncp_of_cells
from anon.methods import Method, Task, leave_out, pass_rules

PASSES = 4  # of a method, each without the rows that the classes of the last were better off without


@dataclass(frozen=True, repr=False)
class Attempt:
    """Classes of the rows of `encoded` that are not suppressed; `cut` is the table as the method saw it."""

    encoded: Encoded
    cut: Encoded
    task: Task
    classes: Classes


def with_less_loss(
    first: Attempt,
    method: Method,
    share: Fraction,
    numeric: str,
    again: Callable[[Encoded, Classes], Attempt | None],
) -> Attempt:
    """The attempt that loses least: `first`, or one without at most this share of its rows.

    Rows are left out of classes that lose more by them than they do (`leave_out`); the method then runs
    `again` without them, with T as it is then (None: nothing passes), and may begin with what is left of its
    classes; where that alone loses less, it stays.
    """
    best, least = first, _loss(first, numeric)
    n_before = len(first.encoded.suppressed)
    most = int(share * (first.encoded.n_rows - n_before))
    for _ in range(PASSES):
        left = most - (len(best.encoded.suppressed) - n_before)
        if left < 1 or best.task.is_late:
            break
        rules = best.task.rules
        rest = leave_out(best.classes, best.cut, rules, left, ties=method.ties, cut=method.repaired)
        if len(rest.suppressed) == len(best.classes.suppressed):
            break
        made = again(replace(best.encoded, suppressed=rest.suppressed), rest)
        loss = least if made is None else _loss(made, numeric)
        if made is None or loss >= least:
            break
        best, least = made, loss
    return best


def passing(classes: Classes, encoded: Encoded, task: Task) -> Classes | None:
    """The classes, those that look alike as one, if all of them pass; else None."""
    merged, _ = merge(classes, cells(encoded, classes, task.n_threads), task.n_threads)
    return merged if pass_rules(encoded, task.rules, merged.rows, merged.offsets).all() else None


def better(one: Attempt, classes: Classes | None, numeric: str) -> Attempt:
    """The attempt, with these classes in place of its own where they lose less."""
    if classes is None:
        return one
    return min(one, replace(one, classes=classes), key=lambda each: _loss(each, numeric))


def _loss(attempt: Attempt, numeric: str) -> float:
    """The sum of the NCP of all cells, times the weights of the attributes; 1 where a row is left out."""
    encoded, classes, total = attempt.encoded, attempt.classes, 0.0
    for one in cells(encoded, classes, attempt.task.n_threads):
        by_level = numeric == "level" and one.domain.kind == "numeric"
        shown = to_levels(one) if by_level else one
        lost = ncp_of_cells(shown, by_level)[shown.of_class] @ classes.sizes + len(classes.suppressed)
        total += one.domain.weight * float(lost)
    return total
