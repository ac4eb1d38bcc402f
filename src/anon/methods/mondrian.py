# SPDX-License-Identifier: Apache-2.0
"""Mondrian (LeFevre et al. 2006): recursive median cuts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

import anoncore.partition
from anon.classes import Classes, ranked_rows
from anon.encoding import Codes, Domain, Encoded, Units, encode
from anon.errors import Parameter, UsageError
from anon.methods.common import Shared
from anon.methods.households import sizes_of
from anon.methods.task import Method, Task, counts_units
from anon.requirements import Option
from anon.schema import Attribute, Schema

CHOOSERS = ("widest", "most-repeated", "least-repeated", "information-gain")


def _chooser_or_names(split: Sequence[str]) -> str | Sequence[str]:
    """A chooser is written like a list of one name."""
    return split[0] if len(split) == 1 and split[0] in CHOOSERS else split


@dataclass(frozen=True)
class Mondrian(Method):
    """Split the rows at medians for as long as every part meets the requirement.

    `split` says which quasi-identifier is tried first in a node: the "widest" (normalized width
    times weight), the "most-repeated" or "least-repeated" (fewest or most distinct values), the one
    whose cut tells most about `target` ("information-gain"), or a list of names in that order (the
    others follow, widest first). `cuts`: the allowed cut "nearest" to the middle, the "median" only
    (behind it, or else before it), or of these two "medians" the one that tells more about `target`
    ("information-gain"). `relaxed` shares rows equal to the median out to both parts.
    """

    name: ClassVar[str] = "mondrian"
    effort: ClassVar[str] = "fast"
    counts_units: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    on_spark: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "split",
            list[str],
            "widest (default), most-repeated, least-repeated, information-gain, or columns by priority.",
            read=_chooser_or_names,
        ),
        Option(
            "cuts",
            Literal["nearest", "median", "medians"],
            "nearest (default), median, or medians (both, by information-gain).",
        ),
        Option("relaxed", bool, "Share out the rows equal to the median (default: strict).", off="strict"),
        Option("target", str, "Target of --split information-gain."),
    )

    split: str | Sequence[str] = "widest"
    cuts: str = "nearest"
    relaxed: bool = False
    target: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.split, str):
            if self.split not in CHOOSERS:
                raise UsageError(
                    Parameter(f"split={self.split!r}", f"--split {self.split}"),
                    f" is unknown: use one of {', '.join(CHOOSERS)}, or a list of names",
                )
        else:
            names = tuple(self.split) if isinstance(self.split, Iterable) else ()
            if not names or not all(isinstance(name, str) for name in names):
                raise UsageError("split must name at least one quasi-identifier")
            for name in names:
                if names.count(name) > 1:
                    raise UsageError(f"split names {name!r} twice: list every quasi-identifier once")
            object.__setattr__(self, "split", names)
        if self.target is not None and not isinstance(self.target, str):
            raise UsageError("target must be the name of an attribute")
        if self.cuts not in ("nearest", "median", "medians"):
            raise UsageError(
                Parameter(f"cuts={self.cuts!r}", f"--cuts {self.cuts}"),
                " is unknown: use 'nearest', 'median' or 'medians'",
            )
        if (self.split == "information-gain") != (self.target is not None):
            raise UsageError(
                Parameter("split='information-gain' and target=", "--split information-gain and --target"),
                " belong together: give both or neither",
            )
        if self.cuts == "medians" and (self.target is None or self.relaxed):
            raise UsageError(
                "both cuts about a median are weighed by what they tell of a target, and are strict: use ",
                Parameter("split='information-gain', target=", "--split information-gain, --target"),
                " and strict cuts, or ",
                Parameter("cuts='median'", "--cuts median"),
            )

    @property
    def chooser(self) -> str:
        """By what the kernel orders the attributes that have no priority."""
        return self.split if isinstance(self.split, str) else "widest"

    @property
    def chooses(self) -> bool:
        return self.relaxed

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return start(encoded, task) if self == Mondrian() else partition(encoded, self, task)

    def shares(self, shared: Shared) -> list[Hashable]:
        return [shared.start] if self == Mondrian() else []


def start(encoded: Encoded, task: Task) -> Classes:
    """The classes of `Mondrian()`, which other methods start from."""
    return task.start_of(lambda: partition(encoded, Mondrian(), task))


def partition(encoded: Encoded, method: Mondrian, task: Task) -> Classes:
    """Classes of the rows of `encoded` that are not suppressed, every one passing `task.rules`.

    Households are parted first, by their columns and their size, and then the rows of each part by the other
    quasi-identifiers.
    """
    if encoded.units is not None and encoded.schema.household:
        return _of_households(encoded, encoded.units, method, task)
    rows = None
    if method.relaxed:
        rows = ranked_rows(encoded, task.n_threads)
    elif len(encoded.suppressed):
        rows = encoded.kept
    columns = list(zip(encoded.quasi, encoded.quasi_codes, strict=True))
    class_rows, offsets = _cut(encoded, method, task, columns, rows)
    return Classes(class_rows, offsets, encoded.suppressed)


def _cut(
    encoded: Encoded,
    method: Mondrian,
    task: Task,
    columns: Sequence[tuple[Domain, Codes]],
    rows: npt.NDArray[np.uint32] | None,
    parts: npt.NDArray[np.int64] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """The kernel's classes of rows, by these quasi-identifiers alone."""
    tell = task.progress
    quasi = [domain for domain, _ in columns]
    return anoncore.partition.partition(
        [codes for _, codes in columns],
        [domain.attribute for domain in quasi],
        task.rules,
        sensitive=encoded.sensitive_codes,
        target=_target_codes(encoded, method.target, task.n_threads),
        units=encoded.units.codes if encoded.units and counts_units(task.rules) else None,
        rows=rows,
        parts=parts,
        chooser=method.chooser,
        priority=priority(encoded.quasi, quasi, method.split),
        nearest=method.cuts == "nearest",
        rival=method.cuts == "medians",
        relaxed=method.relaxed,
        n_threads=task.n_threads,
        progress=None if tell is None else lambda done, total: tell("partition", done, total),
    )


def _of_households(encoded: Encoded, units: Units, method: Mondrian, task: Task) -> Classes:
    """Households of each part show the same in their columns, so that two classes tell no more of one."""
    if method.relaxed:
        raise UsageError("relaxed cuts part a household: use Mondrian(relaxed=False) with household=")
    shared = set(encoded.schema.household)
    pairs = list(zip(encoded.quasi, encoded.quasi_codes, strict=True))
    first = [*(pair for pair in pairs if pair[0].name in shared), sizes_of(units)]
    others = [pair for pair in pairs if pair[0].name not in shared]
    rows, together = _cut(encoded, method, task, first, encoded.kept)
    offsets = together
    if others:
        rows, offsets = _cut(encoded, method, task, others, rows, together)
    return Classes(rows, offsets, encoded.suppressed, together)


def priority(every: Sequence[Domain], quasi: Sequence[Domain], split: str | Sequence[str]) -> list[int]:
    """The numbers among `quasi` of the attributes that `split` names, in its order; `every` may be named."""
    if isinstance(split, str):
        return []
    names = [domain.name for domain in every]
    for name in split:
        if name not in names:
            raise UsageError(f"split names {name!r}, which is not a quasi-identifier: use {', '.join(names)}")
    here = [domain.name for domain in quasi]
    return [here.index(name) for name in split if name in here]


def _target_codes(encoded: Encoded, target: str | None, n_threads: int) -> Codes | None:
    if target is None:
        return None
    if target in [domain.name for domain in encoded.quasi]:
        raise UsageError(f"target={target!r} is a quasi-identifier: use a neutral or sensitive attribute")
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        if domain.name == target:
            return codes
    encoded.check_published(target)
    column = encoded.table.select([target])
    return encode(column, Schema([Attribute(target, "nominal")]), n_threads=n_threads).quasi_codes[0]
