# SPDX-License-Identifier: Apache-2.0
"""What the users of a scenario see, and what miners predict for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells
from anon.encoding import Codes, Domain, narrowed
from anon.errors import ORDER_OF_INPUT, UsageError
from anon.methods import Method, Progress
from anon.miners import NUMBER_MINERS, Miner
from anon.release import Release
from anon.scenarios.asked import Sanitization
from anon.scenarios.interest import Floats, Ints, applied, single_values
from anon.schema import value_type

Bools = npt.NDArray[np.bool_]


def moved(original: pa.ChunkedArray, given: pa.ChunkedArray) -> Ints:
    """The rows in which two columns of the same values, each as often, differ; none of other columns."""
    kind = value_type(original.type)
    try:
        both = pa.chunked_array([*original.cast(kind).chunks, *given.cast(kind).chunks], kind)
        coded = both.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:  # values of another type are not the same
        return np.empty(0, np.int64)
    first, second = np.split(coded.indices.to_numpy(), 2)
    n_values = len(coded.dictionary)
    same = np.array_equal(np.bincount(first, minlength=n_values), np.bincount(second, minlength=n_values))
    return np.flatnonzero(first != second) if same else np.empty(0, np.int64)


def named_release(i: int, given: Any) -> Sanitization:
    if isinstance(given, Sanitization):
        return given
    if isinstance(given, Method):
        return Sanitization(repr(given), given)
    if isinstance(given, Release):
        raise UsageError(
            "give the release's table, published with ",
            ORDER_OF_INPUT,
            ", or a Sanitization that makes it",
        )
    return Sanitization(f"table {i + 1}", table=given)


@dataclass(frozen=True, repr=False)
class View:
    """A table as miners see it: row i is that of rank `at[i]` (ascending) of the original.

    `columns` has one cell per row for each published attribute. `comparable` is False where some of
    them show noise. `mined` keeps predictions, which several utilities may share, `gains` those of the table
    as it is.
    """

    name: str
    at: Ints
    columns: Mapping[str, Cells]
    comparable: bool = True
    mined: dict[Any, list[Predicted]] = field(default_factory=dict)
    gains: list[tuple[float | None, float | None]] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Predicted:
    """What a miner predicted of the rows `at` of a view."""

    miner: Miner
    at: Ints
    values: npt.NDArray[Any]
    finished: bool = True
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Filled:
    """Predictions that take the place of what a view shows in the rows `at`: numbers, or numbers of cells."""

    at: Ints
    values: npt.NDArray[Any]


def chosen_miners(
    given: Sequence[str | Miner] | None, reference: Sequence[Miner], default: Sequence[str] | None = None
) -> tuple[Miner, ...]:
    by_name = {miner.name: miner for miner in reference}
    if given is None:
        return tuple(reference if default is None else [by_name[name] for name in default])
    for miner in given:
        if not isinstance(miner, Miner) and miner not in by_name:
            what = "numbers" if reference is NUMBER_MINERS else "labels"
            raise UsageError(f"miner {miner!r} does not predict {what}; those are {', '.join(by_name)}")
    return tuple(miner if isinstance(miner, Miner) else by_name[miner] for miner in given)


def shows_values(cells: Cells) -> bool:
    """Whether every row shows a single value, or that it is missing."""
    used = np.bincount(cells.of_class, minlength=len(cells.low)) > 0
    return bool((single_values(cells) | (cells.low > cells.high))[used].all())


def values_shown(cells: Cells) -> tuple[Domain, Codes]:
    """What the rows of such a column show: a domain of just these values, and the code of every row."""
    domain = cells.domain
    codes = np.where(cells.low > cells.high, domain.n_values, cells.low)[cells.of_class]
    used = np.bincount(codes, minlength=domain.n_codes) > 0
    return narrowed(domain, used), (np.cumsum(used) - 1)[codes].astype(np.uint32)


def distance_between(distance: Any, published: Floats, true: Floats) -> Floats:
    return np.abs(published - true) if distance is None else applied(distance, published, published, true)


def refuse_other_times(domain: Domain, published: Domain, name: str) -> None:
    ours, theirs = domain.values.type, published.values.type
    if ours != theirs and (pa.types.is_temporal(ours) or pa.types.is_temporal(theirs)):
        raise UsageError(
            f"column {domain.name!r} holds {theirs} in {name} and {ours} in the original: convert one"
        )


def within(progress: Progress, name: str) -> Progress:
    return lambda stage, done, total: progress(f"{name}: {stage}", done, total)
