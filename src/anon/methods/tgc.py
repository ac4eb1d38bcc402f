# SPDX-License-Identifier: Apache-2.0
"""TGC: threshold-based greedy clustering (Loukides & Shao 2008). docs/tgc.md says what the default mends."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, group, ranked_rows, sensitive_counts
from anon.encoding import Codes, Domain, Encoded
from anon.errors import NAME_SENSITIVE, UsageError
from anon.methods.kmembers import closeness, refuse_missing
from anon.methods.task import TIES, Method, Task, refuse_few
from anon.requirements import Option
from anoncore import diversity, tgc
from anoncore.diversity import Closeness
from anoncore.threads import in_threads

Variant = Literal["default", "printed"]
Ties = Literal["rank", "input"]
RowNumbers = npt.NDArray[np.uint32]

ITERATIONS = 5  # of algorithm 3: 2 + 4 + .. + 32 thresholds are tried
COMBINATIONS = 1024  # of sensitive values, up to which w_u = 0 needs no subspaces
DISTINCT = 0.5  # share of different rows from which subspaces are larger:
DISTINCT_ROWS, DISTINCT_TIMES = 200, 20  # so many rows, but at most so many times k
DEALT_CLUSTERS = 1024  # dealt clusters that exchange rows with each other, about
SLACK = 1.02  # what a subspace may be less diverse than the table, at least


@dataclass(frozen=True)
class TGC(Method):
    """Clusters that grow for as long as their weighted tuple diversity is at most `delta`.

    `w_u` weighs the width of quasi-identifiers, `w_p` the S-diversity (range `r`) of sensitive
    attributes; they sum to 1: TGC-U is (1, 0), TGC-B (1/2, 1/2), TGC-P (0, 1). With `prepartition`
    the rows are first cut, again and again, into subspaces of at least `s` rows (None: 5 k, and where
    most rows differ 20 k up to 200) whose sum of S-diversities stays within `delta_split`. `delta="auto"`
    is the best of 62 on a sample; `delta_split="auto"` is then taken from it, and otherwise, as with None,
    there is no limit. `normalize=False` compares attributes by range instead of share of the domain's range.

    `variant="printed"` is the paper to the letter; "default" mends what it does wrong: a delta that is
    given is obeyed, with "auto" every cluster is closed at k rows, and clusters then swap rows for as long
    as that lowers their weighted tuple diversity; with w_u = 0 rows are dealt out in the order of their
    sensitive values before. `ties="rank"` makes the classes independent of the order of the rows, `"input"`
    follows it.
    """

    name: ClassVar[str] = "tgc"
    grows: ClassVar[bool] = True
    needs_k: ClassVar[bool] = True
    repaired: ClassVar[bool] = True
    on_spark: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        TIES,
        Option("w_u", float, "TGC: weight of utility (0.5); --w-p is the rest."),
        Option("w_p", float, "TGC: weight of protection (0.5)."),
        Option("s", int, "TGC: least rows of a subspace (5 k, more where rows differ)."),
        Option("variant", Variant, "TGC: default, or printed as in the paper."),
    )

    w_u: float = 0.5
    w_p: float = 0.5
    r: float = 1.0
    delta: float | Literal["auto"] = "auto"
    delta_split: float | Literal["auto"] | None = "auto"
    s: int | None = None
    prepartition: bool = True
    normalize: bool = True
    variant: Variant = "default"
    ties: Ties = "rank"

    def __post_init__(self) -> None:
        for name in ("w_u", "w_p", "r"):
            if not _is_number(getattr(self, name)) or not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} must be a number between 0 and 1")
        if not math.isclose(self.w_u + self.w_p, 1, abs_tol=1e-9):
            raise UsageError("w_u and w_p must sum to 1")
        for name, words in (("delta", ("auto",)), ("delta_split", ("auto", None))):
            value = getattr(self, name)
            if value not in words and not (_is_number(value) and value >= 0):
                raise UsageError(f'{name} must be "auto" or a number that is not negative')
        if self.s is not None and (isinstance(self.s, bool) or not isinstance(self.s, int) or self.s < 1):
            raise UsageError("s must be a whole number of rows, at least 1")
        for name in ("prepartition", "normalize"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} must be True or False")
        for name, choices in (("variant", Variant), ("ties", Ties)):
            if getattr(self, name) not in get_args(choices):
                raise UsageError(f"{name} must be {' or '.join(map(repr, get_args(choices)))}")

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Self:
        for one, other in (("w_u", "w_p"), ("w_p", "w_u")):
            if values.get(one) is None and values.get(other) is not None:
                values = {**values, one: 1 - values[other]}
        return super().of(values, **fixed)

    @property
    def closes(self) -> bool:
        """Whether every cluster is closed at k rows, and then exchanges rows with others."""
        return self.variant == "default" and self.delta == "auto"

    @property
    def deals(self) -> bool:
        """Whether only sensitive values matter, so that rows are dealt out by them."""
        return self.closes and self.w_u == 0

    def needs_complete(self, sensitive: Sequence[Domain]) -> bool:
        if self.w_p > 0 and not sensitive:
            raise UsageError("w_p > 0 needs a sensitive attribute: ", NAME_SENSITIVE, ", or use w_u=1, w_p=0")
        limited = self.prepartition and self.delta_split not in ("auto", None)
        return self.w_p > 0 or self.delta == "auto" or limited

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return partition(encoded, self, task, k)


@dataclass(frozen=True)
class Trial:
    """What algorithm 1 made of the sample with one threshold: UM, PM and their sum as it was compared."""

    delta: float
    um: float
    pm: float
    score: float
    n_classes: int


@dataclass(frozen=True)
class Thresholds:
    """`delta` of clusters, `delta_split` of subspaces (None: no limit), and the trials behind them."""

    delta: float
    delta_split: float | None
    trials: tuple[Trial, ...] = ()


def partition(encoded: Encoded, method: TGC, task: Task, k: int) -> Classes:
    """Classes of at least k rows."""
    rows = _rows(encoded, method, task, k)
    s = _least_subspace(encoded, method, rows, k)
    taken, offsets = np.arange(len(rows), dtype=np.uint32), np.array([0, len(rows)])
    divides = method.prepartition and not _needs_no_subspaces(encoded, method, rows)
    thresholds = Thresholds(0.0, None)
    if divides or not method.deals:
        thresholds = _thresholds(encoded, method, task, k, rows)
    if divides:
        taken, offsets = _subspaces(encoded, method, task, rows, s, thresholds.delta_split)
    if method.deals:
        taken, offsets, home, n_classes = _deal(encoded, rows, taken, offsets, k)
    else:
        described = _objective(encoded, method, rows)
        home, n_classes = _cluster(method, *described, taken, offsets, k, thresholds.delta, task)
    if method.closes:
        home = _improve(encoded, method, rows, taken, offsets, home, k, task)
    return _classes(rows, home, n_classes, encoded.suppressed)


def _least_subspace(encoded: Encoded, method: TGC, rows: RowNumbers, k: int) -> int:
    """`s`: where most rows differ larger ones cost little and part fewer neighbors."""
    if method.s is not None:
        if method.s < k:
            raise UsageError(f"s = {method.s} is less than k = {k}: every subspace must hold a cluster")
        return method.s
    least, more = 5 * k, min(DISTINCT_TIMES * k, DISTINCT_ROWS)
    if method.variant == "printed" or more <= least:
        return least
    n_different = group([codes[rows] for codes in encoded.quasi_codes]).n_classes
    return more if n_different > DISTINCT * len(rows) else least


def select_thresholds(encoded: Encoded, method: TGC, task: Task, k: int) -> Thresholds:
    """The thresholds that `partition` uses with a generator in the same state (algorithm 3).

    On a sample of max(20 k, min(2.5 % of the rows, 1,000)) rows, drawn with replacement, every midpoint
    of 2, 4, .. 32 equal parts of [0, 1] is tried. The best has the least UM + PM, each divided by
    its number of attributes but in the printed variant; of equal ones the smallest. `delta_split` is
    its PM; by default at least 1.02 times the table's sum of S-diversities.
    """
    return _thresholds(encoded, method, task, k, _rows(encoded, method, task, k))


def _rows(encoded: Encoded, method: TGC, task: Task, k: int) -> RowNumbers:
    """The rows that are not suppressed, in row order."""
    kept = encoded.kept
    refuse_few(len(kept), k)
    if method.needs_complete(encoded.sensitive):
        refuse_missing(encoded, kept)
    if method.ties == "input":
        return kept
    return ranked_rows(encoded, task.n_threads)


def _closeness(encoded: Encoded, method: TGC) -> list[Closeness]:
    return closeness(encoded.sensitive, method.r, method.variant == "printed")


def _matrix(columns: Sequence[Codes], rows: RowNumbers) -> npt.NDArray[Any]:
    """Some rows of some columns, in one width."""
    codes = np.empty((len(rows), len(columns)), np.result_type(*columns))
    for a, column in enumerate(columns):
        codes[:, a] = column[rows]
    return codes


def _classes(
    rows: RowNumbers, home: npt.NDArray[np.int64], n_classes: int, suppressed: RowNumbers
) -> Classes:
    sizes = np.bincount(home, minlength=n_classes)
    return Classes(rows[np.argsort(home, kind="stable")], np.concatenate([[0], np.cumsum(sizes)]), suppressed)


def _subspaces(
    encoded: Encoded, method: TGC, task: Task, rows: RowNumbers, s: int, limit: float | None
) -> tuple[RowNumbers, npt.NDArray[np.int64]]:
    """Algorithm 2: places in `rows`, subspace by subspace, and offsets."""
    quasi = encoded.quasi
    if not method.normalize:
        quasi = tuple(replace(domain, weight=domain.weight * _range(domain)) for domain in quasi)
    columns, near = list(encoded.quasi_codes), []
    if limit is not None:
        columns += encoded.sensitive_codes
        near = _closeness(encoded, method)
    tell = task.progress
    return tgc.split(
        _matrix(columns, rows),
        [domain.attribute for domain in quasi],
        near,
        s=s,
        limit=math.inf if limit is None else limit,
        limited=None if method.variant == "printed" else 4 * s,
        mend=method.variant == "default",
        n_threads=task.n_threads,
        progress=None if tell is None else lambda done, total: tell("partition", done, total),
    )


def _needs_no_subspaces(encoded: Encoded, method: TGC, rows: RowNumbers) -> bool:
    """Where only few combinations of sensitive values matter, subspaces cost protection and save no time."""
    if method.variant == "printed" or method.w_u > 0 or method.s is not None or method.delta_split != "auto":
        return False
    combinations = [codes[rows] for codes in encoded.sensitive_codes]
    return method.deals or group(combinations).n_classes <= COMBINATIONS


def _range(domain: Domain) -> float:
    return domain.n_values - 1 if domain.positions is None else float(np.ptp(domain.positions))


def _objective(encoded: Encoded, method: TGC, rows: RowNumbers) -> tuple[npt.NDArray[Any], tgc.Objective]:
    """What weighted tuple diversity reads of these rows, and itself."""
    columns: list[Codes] = []
    quasi, near, weights = [], [], []
    if method.w_u > 0:
        columns += encoded.quasi_codes
        quasi = [domain.measured("q-diversity") for domain in encoded.quasi]
    if method.w_p > 0:
        columns += encoded.sensitive_codes
        near = _closeness(encoded, method)
        weights = [domain.weight for domain in encoded.sensitive]
    return _matrix(columns, rows), tgc.Objective(quasi, near, weights, w_u=method.w_u, w_p=method.w_p)


def _cluster(
    method: TGC,
    codes: npt.NDArray[Any],
    objective: tgc.Objective,
    taken: RowNumbers,
    offsets: npt.NDArray[np.int64],
    k: int,
    delta: float,
    task: Task,
) -> tuple[npt.NDArray[np.int64], int]:
    """Algorithm 1 in every subspace: the class of each row of `codes`, and the number of classes.

    `taken` are numbers of these rows, subspace by subspace as `offsets` divides them.
    """
    tell = task.progress
    home = np.empty(len(codes), np.int64)
    home[taken], n_classes = tgc.grow(
        codes[taken],
        offsets,
        objective,
        k,
        delta,
        mend=method.variant == "default",
        most=k if method.closes else None,
        n_threads=task.n_threads,
        progress=None if tell is None else lambda done, total: tell("clustering", done, total),
    )
    if method.variant == "printed":
        home = tgc.reinsert(  # in row order
            codes,
            home,
            objective,
            progress=None if tell is None else lambda done, total: tell("re-insertion", done, total),
        )
    return home, max(n_classes, 1)


def _deal(
    encoded: Encoded, rows: RowNumbers, taken: RowNumbers, offsets: npt.NDArray[np.int64], k: int
) -> tuple[RowNumbers, npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """The rows of every subspace dealt out in the order of their sensitive values.

    Each cluster has a row of every k-th of that order, and so the least S-diversity (r = 1) that one
    attribute allows. The attribute with fewest values comes first; the order of each further one turns with
    every step of those before it. Returns places in `rows` and their offsets, part by part (clusters of a
    large subspace are parted, each part having some from all over the order, which will exchange rows); the
    class of each of `rows`; and the number of classes.
    """
    columns = [codes[rows[taken]].astype(np.int64) for codes in encoded.sensitive_codes]
    columns.sort(key=lambda column: len(np.unique(column)))
    keys, turns = [], np.zeros(len(taken), np.int64)
    for column in columns:
        keys.append(np.where(turns % 2, -column, column))
        turns += column
    if encoded.draw is not None:
        keys.append(encoded.draw[rows[taken]].astype(np.int64))  # who of equals goes where is a secret
    sizes = np.diff(offsets)
    subspace = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((*reversed(keys), subspace))
    n_clusters = np.maximum(sizes // k, 1)
    n_parts = np.maximum(n_clusters // DEALT_CLUSTERS, 1)
    cluster = (np.arange(len(taken)) - offsets[subspace]) % n_clusters[subspace]
    part = (np.cumsum(n_parts) - n_parts)[subspace] + cluster % n_parts[subspace]
    together = np.lexsort((order, part))  # within a part in row order
    number = (np.cumsum(n_clusters) - n_clusters)[subspace] + cluster
    first = np.unique(number[together], return_index=True)[1]
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort((np.arange(len(first)), part[together][first]))] = np.arange(len(first))
    home = np.empty(len(rows), np.int64)
    home[taken[order]] = rank[number]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(part))])
    return taken[order[together]], bounds, home, len(first)


def _improve(
    encoded: Encoded,
    method: TGC,
    rows: RowNumbers,
    taken: RowNumbers,
    offsets: npt.NDArray[np.int64],
    home: npt.NDArray[np.int64],
    k: int,
    task: Task,
) -> npt.NDArray[np.int64]:
    """The class of each of `rows` once clusters have exchanged rows, each with others of its subspace."""
    codes, objective = _objective(encoded, method, rows[taken])
    tell = task.progress
    improved = np.empty_like(home)
    improved[taken] = tgc.improve(
        codes,
        offsets,
        home[taken],
        objective,
        k,
        n_threads=task.n_threads,
        progress=None if tell is None else lambda done, total: tell("exchanges", done, total),
    )
    return improved


def _thresholds(encoded: Encoded, method: TGC, task: Task, k: int, rows: RowNumbers) -> Thresholds:
    limit = method.delta_split
    if method.delta != "auto":
        return Thresholds(method.delta, None if limit == "auto" else limit)
    sampled = rows[np.sort(task.rng.integers(len(rows), size=max(20 * k, min(len(rows) // 40, 1000))))]
    alone = replace(task, n_threads=1, progress=None)
    taken, whole = np.arange(len(sampled), dtype=np.uint32), np.array([0, len(sampled)])
    described, quality = _objective(encoded, method, sampled), _quality(encoded, method)

    def trial(delta: float) -> Trial:
        home, n_classes = _cluster(method, *described, taken, whole, k, delta, alone)
        um, pm = quality(_classes(sampled, home, n_classes, encoded.suppressed))
        score = um + pm
        if method.variant == "default":
            score = um / len(encoded.quasi) + pm / max(len(encoded.sensitive), 1)
        return Trial(delta, um, pm, score, n_classes)

    deltas = [(j + 0.5) / 2**i for i in range(1, ITERATIONS + 1) for j in range(2**i)]
    tell = task.progress
    trials = in_threads(
        trial,
        [(delta,) for delta in deltas],
        task.n_threads,
        None if tell is None else lambda done: tell("thresholds", done, len(deltas)),
    )
    best = min(trials, key=lambda one: (one.score, one.delta))
    if limit == "auto":
        limit = best.pm if encoded.sensitive else None
        if limit is not None and method.variant == "default":
            everyone = Classes(rows, np.array([0, len(rows)]), encoded.suppressed)
            limit = max(limit, SLACK * quality(everyone)[1])
    return Thresholds(best.delta, limit, tuple(trials))


def _quality(encoded: Encoded, method: TGC) -> Callable[[Classes], tuple[float, float]]:
    """UM and PM (definitions 2.2 and 2.5) of classes: their means of the sums of Q- and of S-diversities."""
    quasi = [replace(domain, weight=1.0).measured("q-diversity") for domain in encoded.quasi]
    sensitive = _closeness(encoded, method)

    def measure(classes: Classes) -> tuple[float, float]:
        um = pm = 0.0
        for attribute, domain, codes in zip(quasi, encoded.quasi, encoded.quasi_codes, strict=True):
            counts = sensitive_counts(classes, codes, domain.n_codes)
            values = counts.values.astype(np.int64)
            um += float(diversity.q_diversity(attribute, counts.offsets, values).mean())
        for near, domain, codes in zip(sensitive, encoded.sensitive, encoded.sensitive_codes, strict=True):
            counts = sensitive_counts(classes, codes, domain.n_codes)
            values = counts.values.astype(np.int64)
            pm += float(diversity.s_diversity(near, counts.offsets, values, counts.counts).mean())
        return um, pm

    return measure


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
