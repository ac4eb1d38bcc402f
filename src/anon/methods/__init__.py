# SPDX-License-Identifier: Apache-2.0
"""One file per method: encoded table -> classes; a perturbation is table -> table.

A method is a frozen dataclass of its parameters that says by which name and options it is asked for, and
what it needs. Adding one is its file and its name in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from anon.errors import Parameter, UsageError
from anon.methods.anatomy import Anatomy
from anon.methods.beside import check_beside, notes_beside
from anon.methods.common import Common, Shared
from anon.methods.curve import Curve
from anon.methods.estimate import Estimate, estimate_balanced
from anon.methods.full_domain import FullDomain, Lattice, at_levels
from anon.methods.kmembers import KMembers
from anon.methods.laplace import Budget, Laplace
from anon.methods.local_suppression import LocalSuppression
from anon.methods.microaggregation import Microaggregation
from anon.methods.mondrian import Mondrian
from anon.methods.noise import Noise
from anon.methods.outliers import leave_out
from anon.methods.people import Crowd
from anon.methods.perturbation import ColumnPerturbation
from anon.methods.pram import Pram, pram_estimate
from anon.methods.rank_swap import RankSwap
from anon.methods.record_swap import RecordSwap
from anon.methods.repair import pass_rules, repair
from anon.methods.shuffle import Shuffle
from anon.methods.task import LIMITS, NO_LIMITS, Deadline, Limits, Method, Progress, Task, counts_units
from anon.methods.tgc import TGC
from anon.methods.trivial import Identity, Suppress
from anon.requirements import Option, flag, merged

__all__ = [
    "BY_NAME",
    "LIMITS",
    "METHOD",
    "METHODS",
    "METHOD_OPTIONS",
    "NO_LIMITS",
    "PERTURBATIONS",
    "TGC",
    "Anatomy",
    "Budget",
    "ColumnPerturbation",
    "Common",
    "Crowd",
    "Curve",
    "Deadline",
    "Effort",
    "Estimate",
    "FullDomain",
    "Identity",
    "KMembers",
    "Laplace",
    "Lattice",
    "Limits",
    "LocalSuppression",
    "Method",
    "Microaggregation",
    "Mondrian",
    "Noise",
    "Pram",
    "Progress",
    "RankSwap",
    "RecordSwap",
    "Shared",
    "Shuffle",
    "Suppress",
    "Task",
    "at_levels",
    "check_beside",
    "chosen",
    "counts_units",
    "estimate_balanced",
    "leave_out",
    "notes_beside",
    "pass_rules",
    "pram_estimate",
    "read_method",
    "repair",
]

METHODS: tuple[type[Method], ...] = (
    Mondrian,
    KMembers,
    Curve,
    TGC,
    FullDomain,
    LocalSuppression,
    Microaggregation,
    Anatomy,
    Laplace,
    Noise,
    RankSwap,
    RecordSwap,
    Pram,
    Shuffle,
    Identity,
    Suppress,
)
PERTURBATIONS = tuple(each for each in METHODS if issubclass(each, ColumnPerturbation))
Effort = Literal["fast", "balanced", "best"]
BY_NAME = {name: each for each in METHODS for name in each.names()}
METHOD = Option("method", Literal[tuple(BY_NAME)], f"{', '.join(BY_NAME)}; without one, see --effort.")
METHOD_OPTIONS = merged(each.options for each in METHODS)


def chosen(
    method: Method | None = None, effort: Effort | None = None, only_fast: str | None = None
) -> Method:
    """The method that is given; without one that of an effort: Mondrian for "fast", otherwise Curve.

    The default is "balanced", or "fast" where `only_fast` says what keeps more from being made.
    Raises UsageError where both are given, or an effort that cannot be made.
    """
    asked = Parameter(f"effort={effort!r}", f"--effort {effort}")
    if effort not in (None, *get_args(Effort)):
        raise UsageError(asked, " is unknown: use 'fast', 'balanced' or 'best'")
    if method is not None:
        if effort is not None:
            raise UsageError(asked, " chooses a method, and one is given: leave out one of the two")
        return method
    if only_fast is not None and effort not in (None, "fast"):
        raise UsageError(
            *(asked, f" cannot be made {only_fast}: leave it out for "),
            *(Parameter("'fast'", "--effort fast"), ", which is Mondrian alone"),
        )
    effort = effort or ("balanced" if only_fast is None else "fast")
    return Mondrian() if effort == "fast" else Curve(effort)


def read_method(name: str, values: Mapping[str, Any]) -> Method:
    """The method of this name with the parameters that values by key give."""
    chosen = BY_NAME[name]
    for option in METHOD_OPTIONS:
        if values.get(option.key) is not None and option not in chosen.options:
            of = " or ".join(each.name for each in METHODS if option in each.options)
            raise UsageError(f"{flag(option.key)} is a setting of --method {of}")
    return chosen.asked(name, values)
