# SPDX-License-Identifier: Apache-2.0
"""How likely a person is found: sizes of classes, of those of the population, rows without a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

import anoncore.classes as classes_kernel
from anon.classes import (
    Classes,
    Counts,
    PopulationUniques,
    group_numbers,
    histogram,
    individual_risk,
    population_uniques,
    refuse_fraction,
    sensitive_counts,
    take,
)
from anon.encoding import Codes, Domain
from anon.errors import UsageError
from anon.measures.disclosure import CLASSES_AT_ONCE

MAGNITUDES = 21  # down to a risk of one in a million

Pair = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]
"""Ids of two lists of classes, equal where they match."""


@dataclass(frozen=True)
class Sizes:
    """Rows per class."""

    min: int
    mean: float
    median: float
    max: int


@dataclass(frozen=True)
class Risk:
    """Chance that a row is re-identified: the greatest, the mean over rows, and who is at risk.

    `at_risk[x]` is the share of rows with a risk greater than x, or than 1/x where x >= 1.
    """

    max: float
    mean: float
    at_risk: Mapping[float, float]


@dataclass(frozen=True)
class PopulationRisk:
    """Risk against a population of whom F people look like a row.

    `journalist` is each row's risk and `marketer` its mean. `by` says what the population is known from: a
    "table" of it, where the risk is 1/F; the "sampling fraction" or "weights" of the sample, where it is the
    individual risk, the expectation of 1/F given the f rows of the class. `uniques` is then the estimated
    number of people alone with what they show. `n_below` counts the classes with more rows in the release
    than in the table of the population, of which there are none if the population holds the release.
    `spread[i]` is how many rows have a risk above 2**-(i + 1) and up to 2**-i, the last one all below too.
    """

    journalist: Risk
    marketer: float
    n_below: int
    by: Literal["table", "sampling fraction", "weights"] = "table"
    uniques: PopulationUniques | None = None
    spread: tuple[int, ...] = ()


@dataclass(frozen=True)
class NullMatching:
    """The reading in which null matches anything (sdcMicro's), from each row's set of matching rows.

    `k` is the size of the smallest set and `risk` 1/k; `l_distinct` the fewest distinct values in a
    set, `max_share` the greatest share of one value, the worst over sensitive attributes (None
    without one). `by_sensitive` gives (l_distinct, max_share) of each.
    """

    k: int
    risk: float
    l_distinct: int | None
    max_share: float | None
    by_sensitive: Mapping[str, tuple[int, float]]


def population_risk(
    classes: Classes,
    population: npt.NDArray[np.int64] | None = None,
    sampling_fraction: float | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
    *,
    weights: npt.NDArray[np.float64] | None = None,
) -> PopulationRisk:
    """Journalist and marketer risk: each row's risk in the population, and its mean over rows.

    Exactly one of the three says what F is: `population[c]`, the rows of a population inside the cells of
    class c (see `anon.classes.population_counts`), of which the risk is 1/F, and 0 where F is 0; the
    `sampling_fraction` that the table is of the population; or `weights`, how many people each row of the
    table stands for (float64, above 0). With the last two the risk is E(1/F | f), see `individual_risk`.
    """
    if sum(each is not None for each in (population, sampling_fraction, weights)) != 1:
        raise UsageError(
            "Give either the population's rows per class, or a sampling fraction, or a weight per row."
        )
    sizes = classes.sizes
    if population is not None:
        if len(population) != classes.n_classes:
            raise UsageError("The population needs one count per class.")
        risk = prosecutor_risk(sizes, population, at_risk)
        inverse = np.divide(1, population, out=np.zeros(len(population)), where=population > 0)
        return PopulationRisk(
            risk, risk.mean, int(np.count_nonzero(population < sizes)), spread=_spread(sizes, inverse)
        )
    n_rows = int(sizes.sum())
    if sampling_fraction is not None:
        refuse_fraction(sampling_fraction)
        of_size, where = np.unique(sizes, return_inverse=True)
        by_class = individual_risk(of_size, of_size / sampling_fraction)[where] if n_rows else sizes * 1.0
    else:
        assert weights is not None
        sums = np.add.reduceat(weights[classes.rows], classes.offsets[:-1]) if n_rows else sizes * 1.0
        sums = np.maximum(sums, sizes)
        by_class = individual_risk(sizes, sums) if n_rows else sizes * 1.0
        sampling_fraction = n_rows / float(sums.sum()) if n_rows else 1.0
    shares = {}
    for x in at_risk:
        refuse_threshold(x)
        high = by_class > (1 / x if x >= 1 else x)
        shares[x] = int(sizes[high].sum()) / n_rows if n_rows else 0.0
    mean = float(np.sum(sizes * by_class) / n_rows) if n_rows else 0.0
    risk = Risk(max=float(by_class.max(initial=0.0)), mean=mean, at_risk=shares)
    uniques = population_uniques(histogram(sizes), sampling_fraction) if n_rows else None
    by: Literal["sampling fraction", "weights"] = "sampling fraction" if weights is None else "weights"
    return PopulationRisk(risk, mean, 0, by, uniques, _spread(sizes, by_class))


def _spread(sizes: npt.NDArray[np.int64], risk: npt.NDArray[np.floating]) -> tuple[int, ...]:
    """The rows of classes by the binary order of magnitude of their risk."""
    _, exponent = np.frexp(np.nextafter(np.minimum(risk, 1.0), 0))
    order = np.where(risk > 0, np.clip(-exponent, 0, MAGNITUDES - 1), MAGNITUDES - 1)
    return tuple(np.bincount(order, sizes, MAGNITUDES).astype(np.int64).tolist())


def null_matching(
    columns: Sequence[Codes],
    missing: Sequence[npt.NDArray[np.bool_]],
    classes: Classes,
    sensitive: Sequence[Domain],
    sensitive_codes: Sequence[Codes | None],
    n_threads: int = 1,
) -> NullMatching | None:
    """The reading in which null matches anything; None where no quasi-identifier is missing.

    `columns[i][c]` is what class c shows of quasi-identifier i, `missing[i][c]` whether that is null.
    Two classes match when they agree in every quasi-identifier that neither lacks. They are compared by
    pairs of null patterns, on the columns that both patterns have.
    """
    if not any(column.any() for column in missing):
        return None
    members, bounds = classes_kernel.group([column.view(np.uint8) for column in missing])
    patterns = [members[start:stop] for start, stop in pairwise(bounds)]
    present = [{i for i, column in enumerate(missing) if not column[pattern[0]]} for pattern in patterns]
    counts = {
        domain.name: sensitive_counts(classes, codes, domain.n_codes, n_threads)
        for domain, codes in zip(sensitive, sensitive_codes, strict=True)
        if codes is not None
    }
    sizes = classes.sizes
    k = len(classes.rows)
    worst: dict[str, tuple[int, float]] = {}
    for pattern, has in zip(patterns, present, strict=True):
        pairs = [
            meet([columns[i] for i in sorted(has & other_has)], pattern, other)
            for other, other_has in zip(patterns, present, strict=True)
        ]
        matching = _summed(sizes, pairs, patterns)
        k = min(k, int(np.min(matching)))
        for name, count in counts.items():
            known = worst.get(name, (len(count.table), 0.0))
            worst[name] = _worst_matching(known, count, pairs, patterns, matching)
    return matching_of(k, worst)


def matching_of(k: int, by_sensitive: Mapping[str, tuple[int, float]]) -> NullMatching:
    """From the size of the smallest matching set, and what the worst tell of each sensitive attribute."""
    return NullMatching(
        k=k,
        risk=1 / k,
        l_distinct=min((l_distinct for l_distinct, _ in by_sensitive.values()), default=None),
        max_share=max((max_share for _, max_share in by_sensitive.values()), default=None),
        by_sensitive=by_sensitive,
    )


def meet(columns: Sequence[Codes], ours: npt.NDArray[np.uint32], theirs: npt.NDArray[np.uint32]) -> Pair:
    """Ids of the classes `ours` and `theirs`, equal where they agree in all `columns`."""
    both = np.concatenate([ours, theirs])
    ids = np.zeros(len(both), np.uint32)
    if columns:
        ids = group_numbers(*classes_kernel.group([column[both] for column in columns]))
    return ids[: len(ours)], ids[len(ours) :]


def _summed(
    amounts: npt.NDArray[np.int64], pairs: Sequence[Pair], patterns: Sequence[npt.NDArray[np.uint32]]
) -> npt.NDArray[np.float64]:
    """For each class of one pattern the sum of what the classes have that match it."""
    matching = np.zeros(len(pairs[0][0]))
    for (own, to), other in zip(pairs, patterns, strict=True):
        matching += np.bincount(to, amounts[other], int(own.max()) + 1)[own]
    return matching


def _worst_matching(
    worst: tuple[int, float],
    counts: Counts,
    pairs: Sequence[Pair],
    patterns: Sequence[npt.NDArray[np.uint32]],
    matching: npt.NDArray[np.float64],
) -> tuple[int, float]:
    """The worst of what is known, and of the `matching` rows of one pattern's classes.

    Classes together have no fewer values than each of them, and no greater share than the mean of theirs:
    only where that leaves room for worse are values counted, where there is most room first.
    """
    fewest = np.zeros(len(matching), np.int64)
    n_values, largest = np.diff(counts.offsets), np.maximum.reduceat(counts.counts, counts.offsets[:-1])
    for (own, to), other in zip(pairs, patterns, strict=True):
        of_id = np.zeros(int(max(own.max(), to.max())) + 1, np.int64)
        np.maximum.at(of_id, to, n_values[other])
        fewest = np.maximum(fewest, of_id[own])
    most = _summed(largest, pairs, patterns) / matching
    is_open = np.ones(len(matching), np.bool_)
    at_once = max(CLASSES_AT_ONCE >> 4, 1)
    while len(left := np.flatnonzero(is_open & ((fewest < worst[0]) | (most > worst[1])))):
        ranked = (left[np.argsort(by[left], kind="stable")[:at_once]] for by in (fewest, -most))
        chosen = np.union1d(*ranked)
        is_open[chosen] = False
        near_pairs, near = [], []
        for (own, to), other in zip(pairs, patterns, strict=True):
            is_met = np.zeros(int(max(own.max(), to.max())) + 1, np.bool_)
            is_met[own[chosen]] = True
            if len(met := np.flatnonzero(is_met[to])):
                near_pairs.append((own[chosen], to[met]))
                near.append(other[met])
        l_distinct, max_share = _matching_values(counts, near_pairs, near)
        worst = min(worst[0], l_distinct), max(worst[1], max_share)
        at_once *= 4
    return worst


def _matching_values(
    counts: Counts,
    pairs: Sequence[Pair],
    patterns: Sequence[npt.NDArray[np.uint32]],
) -> tuple[int, float]:
    """Fewest distinct values and greatest share in the matching sets of one pattern's classes."""
    tables = []
    for (own, to), other in zip(pairs, patterns, strict=True):
        n_ids = int(max(own.max(), to.max())) + 1
        offsets, at = take(counts.offsets, np.arange(len(counts.values), dtype=np.uint32), other)
        ids = np.repeat(to, np.diff(offsets))
        summed = _sum_by([ids, counts.values[at]], counts.counts[at])
        tables.append((own, np.searchsorted(summed[0], np.arange(n_ids + 1)), *summed[1:]))
    l_distinct, max_share = len(counts.table), 0.0
    n = len(pairs[0][0])
    for start in range(0, n, CLASSES_AT_ONCE):
        ids_of, values_of, counts_of = [], [], []
        for own, offsets, values, rows in tables:
            picked = own[start : start + CLASSES_AT_ONCE]
            lengths, at = take(offsets, np.arange(len(values), dtype=np.uint32), picked)
            ids_of.append(np.repeat(np.arange(len(picked), dtype=np.uint32), np.diff(lengths)))
            values_of.append(values[at])
            counts_of.append(rows[at])
        ids, _, rows = _sum_by([np.concatenate(ids_of), np.concatenate(values_of)], np.concatenate(counts_of))
        starts = np.flatnonzero(np.diff(ids, prepend=ids[:1] + 1))
        l_distinct = min(l_distinct, int(np.diff(starts, append=len(ids)).min()))
        max_share = max(
            max_share, float((np.maximum.reduceat(rows, starts) / np.add.reduceat(rows, starts)).max())
        )
    return l_distinct, max_share


def _sum_by(
    keys: Sequence[npt.NDArray[np.uint32]], amounts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Amounts summed over equal pairs of keys: the distinct pairs, ascending, and their sums."""
    members, bounds = classes_kernel.group(keys)
    first = members[bounds[:-1]]
    return keys[0][first], keys[1][first], np.add.reduceat(amounts[members], bounds[:-1])


def class_sizes(size: npt.NDArray[np.int64], n_of_size: npt.NDArray[np.int64]) -> Sizes:
    """Of `n_of_size[i]` classes of `size[i]` rows, ascending."""
    if not len(size):
        return Sizes(0, 0.0, 0.0, 0)
    n = int(n_of_size.sum())
    middle = np.searchsorted(np.cumsum(n_of_size), [(n + 1) // 2, n // 2 + 1])
    mean = int(np.sum(size * n_of_size)) / n
    return Sizes(int(size[0]), mean, float(size[middle].mean()), int(size[-1]))


def prosecutor_risk(
    sizes: npt.NDArray[np.int64], population: npt.NDArray[np.int64], at_risk: Sequence[float]
) -> Risk:
    """Risk of rows in classes of `sizes` rows, each looked for among `population` rows."""
    n_rows = int(sizes.sum())
    exists = population > 0
    risk = np.where(exists, 1 / np.maximum(population, 1), 0.0)
    shares: dict[float, float] = {}
    for x in at_risk:
        refuse_threshold(x)
        # risk > 1/bound exactly when population < bound
        bound = Fraction(str(x)) if x >= 1 else 1 / Fraction(str(x))
        risky = exists & (population < math.ceil(bound))
        shares[x] = int(sizes[risky].sum()) / n_rows if n_rows else 0.0
    return Risk(
        max=float(risk.max(initial=0.0)),
        mean=float(np.sum(sizes * risk) / n_rows) if n_rows else 0.0,
        at_risk=shares,
    )


def refuse_threshold(x: float) -> None:
    """Raise UsageError unless `x` is a threshold of risk."""
    if not x > 0:
        raise UsageError(f"A risk threshold is a share or a class size above 0, not {x}.")
