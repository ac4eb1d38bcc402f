# SPDX-License-Identifier: Apache-2.0
"""Choosing the release: a sweep over configurations, its points, and the efficient frontier.

Every configuration is a release, made and checked as `anonymize` does, measured and dropped; privacy
and utility are never added up (Li & Li 2009, 4). One point is more efficient than another if it is as
good on both axes and better on one. The two special cases (4.3) are always points: the table without its
quasi-identifiers ("trivial") and the table as it is ("original").
"""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.attackers import Attacker, Inference, Linkability, SinglingOut, attack
from anon.choice.cache import Cache, Outcome, build_id, digest_of, open_cache
from anon.choice.configuration import Configuration, as_configurations, unique
from anon.choice.dominance import (
    OF_ATTACKS,
    OF_COUNTS,
    OF_INTACT,
    OF_PRIVACY,
    PRIVACY_AXIS,
    UTILITY_AXIS,
    Point,
    check_measures,
    cost_of,
    undominated,
)
from anon.choice.points import ORIGINAL, SPECIAL, Frontier
from anon.classes import Published, counts_of, group, with_coded_sensitive
from anon.encoding import Encoded, Missing, encode, encode_column
from anon.engines import Judged, Made, check_arguments, make, shared_keys
from anon.entropy import KEY_BYTES, keyed
from anon.errors import NAME_SENSITIVE, AnonError, Parameter, UsageError
from anon.measures import (
    GREATEST_IS_WORST,
    Populations,
    Workload,
    answer,
    large_populations,
    measure_privacy,
    measure_utility,
    of_intact,
    parse_queries,
    preset,
    true_counts,
    u_loss,
    with_values,
)
from anon.methods import Common, Mondrian, Progress
from anon.requirements import counting
from anon.schema import Attribute, Schema
from anon.tables import read_source
from anon.threads import available_threads
from anon.verbs import split

# --- the sweep

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
M_ARENA_MAX = -8


HELD_OUT = 0.2  # of the people, where attackers are tried
TARGETS = 1000
ATTACKERS: Mapping[str, Attacker] = {
    "risk_singling_out": SinglingOut(),
    "risk_linkability": Linkability(),
    "risk_inference": Inference(miners=("naive Bayes", "C4.5-like tree")),
}


@dataclass(frozen=True, repr=False)
class _Trial:
    """The table without the people held out, in codes and as it is, and these people."""

    encoded: Encoded
    judged: Judged
    original: pa.Table
    control: pa.Table
    schema: Schema


@dataclass(frozen=True, repr=False)
class _Sweep:
    """What all points share: the table in codes, and what is asked of every release.

    Mondrian's packed copy of the table is the most that a point needs: `splitting` lets one point have
    it at a time, with `all_threads`.
    """

    encoded: Encoded
    judged: Judged
    measures: tuple[str, ...]
    min_support: float
    populations: Populations | None
    workload: Workload | None
    answers: npt.NDArray[np.int64] | None
    seed: int
    n_threads: int
    all_threads: int
    splitting: Lock
    cache: Cache | None
    key: bytes
    common: Common | None = None
    trial: _Trial | None = None


def frontier(
    table: Any,
    schema: Schema,
    configurations: str | Iterable[str | Configuration],
    *,
    privacy: str = PRIVACY_AXIS,
    utility: str = UTILITY_AXIS,
    measures: Iterable[str] = (),
    min_support: float = 0.05,
    workload: Callable[[Encoded], Workload] | Sequence[str] | None = None,
    missing: Missing = "category",
    cache: str | os.PathLike[str] | None = None,
    n_threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Frontier:
    """Try every configuration on a table, and place each on a measure of privacy and one of utility.

    Parameters
    ----------
    table, schema, missing, seed, n_threads, progress
        As for `anonymize`. Points are made side by side, one thread each; the answer is the same for
        every number of threads, and that of `anonymize` with the same seed; of a bucketization,
        which is dealt anew each time, one of its answers.
    configurations : grid, or a list of grids and Configurations
        `k=10,50,100 t=0.05:0.4:8 method=mondrian,curve publish=generalization,bucketization`; see `grid`.
        `method=full-domain suppress=0,0.01,0.05 quality=loss,dm` tries limits of suppression and qualities.
    privacy, utility : names of measures
        The two axes; any two of `MEASURES`, by default `prosecutor.mean`, the mean risk that a person's row
        is found, and `gcp`. `count_error` is the average relative error of `workload`. `risk_singling_out`,
        `risk_linkability` and `risk_inference` are what `attack` comes to on a release of 80 % of the people,
        the others being held out.
    measures : names of measures
        Recorded beside those of the axes.
    min_support : float
        Support of the populations of `u_loss`.
    workload : function of the encoded table, or a list of queries
        The COUNT queries of `count_error`; default: Li & Li's preset, drawn with `seed`.
    cache : folder, optional
        Points are kept there as soon as they are measured, and taken from there when the same is asked of
        the same table by the same build: an interrupted sweep goes on. The folder must be its owner's alone.
        The files hold measures, no cell; their names are keyed with a secret of the folder. Points with a
        `Custom` requirement are not kept.

    Raises
    ------
    UsageError, DataError
        The parameters or the table cannot be used as asked. What no release can meet, or one method
        refuses or fails at, is not an error but a point that says so.
    """
    tried = as_configurations(configurations)
    names = tuple(dict.fromkeys((privacy, utility, *([measures] if isinstance(measures, str) else measures))))
    check_measures(names)
    if privacy == utility:
        raise UsageError(f"both axes are {privacy!r}: choose two measures")
    for one in tried:
        check_arguments(
            schema,
            one.method,
            one.require,
            one.publish,
            one.numeric,
            "class",
            "error",
            seed,
            progress,
            one.limits,
        )
        if one.method.perturbs:
            raise UsageError("a sweep measures cells, and noise has none: compare it in a scenario")
    threads = available_threads(n_threads)
    tell = progress or (lambda stage, done, total: None)

    tell("read", 0, 1)
    source = read_source(table)
    tell("encode", 0, 1)
    encoded = with_coded_sensitive(encode(source.table, schema, missing=missing, n_threads=threads))
    sweep = _prepared(encoded, tried, names, min_support, workload, seed, cache, threads)
    if any(name in OF_ATTACKS for name in names):
        sweep = replace(sweep, trial=_trial(source.table, schema, missing, seed, threads))
    pa.default_memory_pool().release_unused()
    tell("points", 0, len(SPECIAL) + len(tried))
    workers = min(threads, len(tried))
    outcomes: list[dict[Configuration, Outcome]] = []
    done = 0
    with ThreadPoolExecutor(workers) as pool:
        try:
            for some, of_each in ((SPECIAL.values(), threads), (_by_rules(tried), threads // workers)):
                # Beside the last one none is begun.
                n_threads_of = {one: of_each for one in some} | {[*some][-1]: threads}
                coming = {
                    one: pool.submit(_outcome, replace(sweep, n_threads=n), one)
                    for one, n in n_threads_of.items()
                }
                for each in as_completed(coming.values()):
                    each.result()
                    done += 1
                    tell("points", done, len(SPECIAL) + len(tried))
                outcomes.append({one: each.result() for one, each in coming.items()})
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    words = unique([one.name for one in tried])
    special = [_point(None, name, name, outcomes[0][one], privacy, utility) for name, one in SPECIAL.items()]
    points = [
        *(
            _point(one, name, one.requirement, outcomes[1][one], privacy, utility)
            for one, name in zip(tried, words, strict=True)
        ),
        *special,
    ]
    costs = [cost_of(one, privacy, utility) for one in points]
    efficient = undominated(costs)
    return Frontier(
        tuple(replace(one, efficient=best) for one, best in zip(points, efficient, strict=True)),
        privacy,
        utility,
        encoded.n_rows,
    )


def _prepared(
    encoded: Encoded,
    tried: Sequence[Configuration],
    names: tuple[str, ...],
    min_support: float,
    workload: Callable[[Encoded], Workload] | Sequence[str] | None,
    seed: int,
    cache: str | os.PathLike[str] | None,
    n_threads: int,
) -> _Sweep:
    """Everything that is computed once. Demands that make no sense for the table are refused here."""
    judged = Judged.whole(encoded)
    needy = [name for name in names if name in GREATEST_IS_WORST or name == "u_loss"]
    if needy and not encoded.sensitive:
        raise UsageError(f"{needy[0]} is about sensitive attributes: ", NAME_SENSITIVE)
    for one in tried:
        judged.rules(counting(one.require, encoded.schema.unit, one.method.counts_bags))
        if one.publish == "bucketization" and not encoded.sensitive:
            raise UsageError("a bucketization needs a sensitive attribute: ", NAME_SENSITIVE)
    original = encoded.original
    populations, queries, answers = None, None, None
    if "u_loss" in names:
        populations = large_populations(original, min_support, n_threads=n_threads)
    if "count_error" in names:
        if workload is None:
            queries = preset(original, "li", seed=seed, qd=min(4, len(with_values(original.quasi))))
        else:
            queries = workload(original) if callable(workload) else parse_queries(original, workload)
        answers = true_counts(queries, original, n_threads)
    kept, key = None, b""
    if cache is not None:
        kept = open_cache(cache)
        codes = (encoded.quasi_codes, encoded.sensitive_codes, encoded.suppressed)
        key = digest_of(build_id(), encoded.quasi, encoded.sensitive, codes, names, queries, seed)
        key += digest_of(None if populations is None else populations.min_support)
    return _Sweep(
        *(encoded, judged, names, min_support, populations, queries, answers),
        *(seed, n_threads, n_threads, Lock(), kept, key, _common(encoded, tried)),
    )


def _by_rules(tried: Sequence[Configuration]) -> list[Configuration]:
    """Those with the same requirements one after the other, as they have most in common; of these first
    Mondrian, which others wait for.
    """
    first = {one.require: i for i, one in reversed(list(enumerate(tried)))}
    return sorted(tried, key=lambda one: (first[one.require], not isinstance(one.method, Mondrian)))


def _common(encoded: Encoded, tried: Sequence[Configuration]) -> Common | None:
    """What points have in common; where units are counted nothing is."""
    if encoded.units is not None:
        return None
    keys = (shared_keys(one.method, one.require, one.publish, one.numeric) for one in tried)
    return Common(itertools.chain.from_iterable(keys))


def _trial(table: Any, schema: Schema, missing: Missing, seed: int, n_threads: int) -> _Trial:
    """People held out for attackers. Nothing of it is published, so that the seed may draw them."""
    if not isinstance(table, pa.Table):
        raise UsageError(
            "the risks of attacks need the table in memory, and this one stays in its files: ",
            Parameter('read_source(path, engine="local")', "--engine local"),
        )
    original, control = split(table, schema, HELD_OUT, keyed(bytes(KEY_BYTES), seed))
    encoded = with_coded_sensitive(encode(original, schema, missing=missing, n_threads=n_threads))
    return _Trial(encoded, Judged.whole(encoded), original, control, schema)


def _outcome(sweep: _Sweep, one: Configuration) -> Outcome:
    """From the cache, or made, measured and put there."""
    path = _cached_at(sweep, one)
    known = None if sweep.cache is None or path is None else sweep.cache.read(path)
    if known is not None:
        return Outcome(**known)
    try:
        outcome = _made(sweep, one)
    except Exception as error:
        # A fault of the tool: the other points stand, and this one is not kept: it may be mended by then.
        why = f"the method failed ({type(error).__name__}): run this configuration alone to see why"
        return Outcome({}, 0, 0.0, False, why)
    if sweep.cache is not None and path is not None:
        sweep.cache.write(path, {f.name: getattr(outcome, f.name) for f in fields(outcome)})
    return outcome


def _made(sweep: _Sweep, one: Configuration) -> Outcome:
    start = time.perf_counter()
    try:
        published = _published(sweep, one)
    except AnonError as error:
        return Outcome({}, 0, time.perf_counter() - start, False, str(error))
    seconds = time.perf_counter() - start
    return Outcome(
        _measured(sweep, published) | _attacked(sweep, one), published.classes.n_classes, seconds, True, None
    )


def _published(sweep: _Sweep, one: Configuration) -> Published:
    """What the release shows that `anonymize` makes, with all its checks; the original is intact."""
    encoded = sweep.encoded
    if one is SPECIAL[ORIGINAL]:
        encoded = encoded.original
        encoded = replace(encoded, quasi=tuple(replace(domain, coding=None) for domain in encoded.quasi))
        same = group(encoded.quasi_codes, encoded.suppressed, sweep.n_threads)
        return Published(encoded, same, counts_of(encoded, same), intact=encoded.quasi_codes)
    made = _partitioned(sweep, one, encoded, sweep.judged, sweep.common)
    return made.release(numeric=one.numeric, n_threads=sweep.n_threads).published


def _partitioned(
    sweep: _Sweep, one: Configuration, encoded: Encoded, judged: Judged, common: Common | None = None
) -> Made:
    alone = isinstance(one.method, Mondrian)
    with sweep.splitting if alone else nullcontext():
        return make(
            encoded,
            one.method,
            one.require,
            publish=one.publish,
            numeric=one.numeric,
            judged=judged,
            seed=sweep.seed,
            n_threads=sweep.all_threads if alone else sweep.n_threads,
            limits=one.limits,
            entropy=keyed(bytes(KEY_BYTES)),  # hides nothing: the release is measured, not published
            common=common,
        )


def _attacked(sweep: _Sweep, one: Configuration) -> dict[str, float]:
    """The risks of attacks that are asked for, on the release of the people who are not held out.

    0 where people in the table are hit less often than others; NaN where an attack cannot be tried, or there
    is no such release.
    """
    trial, names = sweep.trial, [name for name in sweep.measures if name in OF_ATTACKS]
    if trial is None or not names:
        return {}
    released: Any = trial.original
    try:
        if one is not SPECIAL[ORIGINAL]:
            made = _partitioned(sweep, one, trial.encoded, trial.judged)
            released = made.release(numeric=one.numeric, n_threads=sweep.n_threads)
        found = attack(
            trial.original,
            released,
            trial.schema,
            control=trial.control,
            attacks=[ATTACKERS[name] for name in names],
            targets=TARGETS,
            seed=sweep.seed,
            n_threads=sweep.n_threads,
        )
    except AnonError:
        return dict.fromkeys(names, math.nan)
    risks = {name: getattr(found, name.removeprefix("risk_")) for name in names}
    return {
        name: math.nan if each is None or each.risk is None else max(each.risk.rate, 0.0)
        for name, each in risks.items()
    }


def _measured(sweep: _Sweep, published: Published) -> dict[str, float]:
    """The measures asked for; NaN where the release does not allow one."""
    measured: dict[str, float] = {}
    of_privacy: Any = None
    of_utility: Any = None
    for name in (name for name in sweep.measures if name not in OF_ATTACKS):
        try:
            if name == "u_loss":
                loss = u_loss(published, populations=sweep.populations, n_threads=sweep.n_threads)
                value: Any = loss.u_loss
            elif name == "count_error":
                assert sweep.workload is not None
                answers = answer(sweep.workload, published, true=sweep.answers, n_threads=sweep.n_threads)
                value = answers.average
            elif name in OF_PRIVACY:
                of_privacy = of_privacy or _privacy(sweep, published)
                value = operator.attrgetter(name)(of_privacy)
            else:
                if of_utility is None:
                    counts = published.counts
                    if not any(each in OF_COUNTS for each in sweep.measures):  # they take their time
                        counts = (None,) * len(counts)
                    reduced = replace(published, counts=counts, n_threads=sweep.n_threads)
                    of_utility = measure_utility(reduced)
                value = operator.attrgetter(name)(of_utility)
        except UsageError:
            value = None
        measured[name] = math.nan if value is None else value
    return measured


def _privacy(sweep: _Sweep, published: Published) -> Any:
    """`Release.privacy` without what no axis is about: the joint attribute, nulls that match anything, and
    where none is, what is learned of sensitive values.
    """
    judged = sweep.judged.encoded
    known = [
        (domain, None if counts is None else codes)
        for domain, counts, codes in zip(
            judged.sensitive, published.counts, judged.sensitive_codes, strict=True
        )
        if any(name in GREATEST_IS_WORST for name in sweep.measures)
    ]
    measured = measure_privacy(
        published.classes,
        [domain for domain, _ in known],
        [codes for _, codes in known],
        joint=False,
        units=sweep.encoded.units,
        n_threads=sweep.n_threads,
    )
    if published.intact is not None and any(name in OF_INTACT for name in sweep.measures):
        intact = group(published.intact, sweep.encoded.suppressed, sweep.n_threads)
        measured = of_intact(measured, intact)
    return measured


def let_memory_go(least: int = 1 << 17, arenas: int = 0) -> None:
    """For a process of one sweep: freed arrays of `least` bytes go back to the system at once. glibc would
    raise the size from which they do, 128 KiB, as a program runs, and then keep for every thread what its
    largest point needed; smaller ones it keeps in as many `arenas` (0: several for each processor).
    """
    with suppress(OSError, TypeError, AttributeError):  # another C library has other ways
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, least)
        if arenas:
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, arenas)


def _point(
    configuration: Configuration | None,
    name: str,
    requirement: str,
    outcome: Outcome,
    privacy: str,
    utility: str,
) -> Point:
    return Point(
        configuration=configuration,
        name=name,
        requirement=requirement,
        parameters={} if configuration is None else configuration.parameters,
        measures=outcome.measures,
        privacy=outcome.measures.get(privacy, math.nan),
        utility=outcome.measures.get(utility, math.nan),
        classes=outcome.classes,
        seconds=outcome.seconds,
        satisfied=outcome.satisfied,
        why=outcome.why,
        efficient=False,
    )


# --- the cache


def _cached_at(sweep: _Sweep, one: Configuration) -> Path | None:
    """The file of a point, named by a keyed hash of all that its outcome depends on."""
    if sweep.cache is None or not all(each.cacheable for each in one.require):
        return None
    target = getattr(one.method, "target", None)
    codes = None
    if target is not None:  # it may be neutral, and so not among the codes
        try:
            sweep.encoded.check_published(target)
            codes = encode_column(sweep.encoded.column(target), Attribute(target, "nominal"))[1]
        except AnonError:
            return None  # the point tells why
    return sweep.cache.path(sweep.key + digest_of(repr(one), codes))
