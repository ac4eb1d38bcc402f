# SPDX-License-Identifier: Apache-2.0
"""What can be learned from a release: re-identification risk and sensitive disclosure (spec 2).

T is the published rows: suppressed rows count nowhere but in `n_suppressed`. Logarithms are
natural. A release without rows scores 0 throughout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import anoncore.classes as classes_kernel
import anoncore.divergence as divergence_kernel
from anon.classes import Classes, Counts, group, group_numbers, sensitive_counts, take
from anon.encode import Codes, Domain
from anon.errors import UsageError
from anon.measures import BY_ALL, BY_CLASS
from anon.plain import as_plain

Column = npt.NDArray[Any]  # one number per class

_CLASSES_AT_ONCE = 1 << 14

# Is the greatest value the least private one? The first are set by one class, the others by all.
_BY_CLASS, _BY_ALL = (
    {name: measure.greatest_is_worst for name, measure in measures.items()} for measures in (BY_CLASS, BY_ALL)
)
ROLES_FROM_FILE = (
    "The roles of the columns are the file's own claim: whoever wrote the file may have left a "
    "quasi-identifier or a sensitive attribute out."
)
GREATEST_IS_WORST = _BY_CLASS | _BY_ALL


@dataclass(frozen=True, kw_only=True, repr=False)
class Disclosure:
    """How much a release tells about one sensitive attribute.

    Fields named after a requirement are the tightest parameter that every class meets; recursive
    (c,l)-diversity holds at l = 2..5 for every c greater than `recursive_c2`..`recursive_c5`, and
    `l_recursive` is the greatest l at c = 3. `delta` is infinite when a class lacks a value of the
    table, `beta_enhanced` when a gain exceeds -ln p. `t_ordered` is None for an attribute without an
    order, `t_hierarchical` for one without a tree; both are None where published rows hold null.
    `p_loss` is the greatest JS divergence (Li & Li 4.1); `a_know`, `a_acc` and `gain` = H(S) - H(S|Q)
    are Brickell & Shmatikov's (4.4, lemma 1); `ls_c` (r_1 over the rest, 0 where there is no rest) and
    `ls_l` (distinct values) are Loukides & Shao's (c,l), means over classes.
    `worst` gives, per field set by one class, the number of that class (the lowest of several).
    """

    l_distinct: int | None = None
    l_probabilistic: float | None = None
    l_entropy: float | None = None
    l_recursive: int | None = None
    recursive_c2: float | None = None
    recursive_c3: float | None = None
    recursive_c4: float | None = None
    recursive_c5: float | None = None
    alpha: float | None = None
    t_js: float | None = None
    t_equal: float | None = None
    t_ordered: float | None = None
    t_hierarchical: float | None = None
    delta: float | None = None
    beta: float | None = None
    beta_enhanced: float | None = None
    p_loss: float | None = None
    a_know: float | None = None
    a_acc: float | None = None
    gain: float | None = None
    ls_c: float | None = None
    ls_l: float | None = None
    worst: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names, ready for JSON."""
        return dict(as_plain(self))

    def __repr__(self) -> str:
        return f"Disclosure(l_distinct={self.l_distinct}, p_loss={self.p_loss}, a_know={self.a_know})"


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
    """Risk against a population with F rows inside a row's cells.

    `journalist` is 1/F per row and `marketer` its mean; `n_below` counts the classes with more rows in
    the release than in the population, of which there are none if the population holds the release.
    """

    journalist: Risk
    marketer: float
    n_below: int


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Privacy(Disclosure):
    """Every privacy measure of a release.

    The inherited fields are the worst over sensitive attributes (None without one),
    `worst_sensitive` names the attribute that sets each, `by_sensitive` holds each attribute's own.
    `n_suppressed` rows belong to no class. Of them `n_starred` have `*` in every quasi-identifier, in
    a file made by another tool; `k_with_starred` is k with those as one more class.
    `null_matching` is None where no quasi-identifier holds null. `per_class` is an Arrow table with
    `class`, `size` and `<attribute>.<measure>`, where it was asked for. `worst_cells` shows, for every
    measure in `worst`, the published cells of its class. `unmet` names the requirements that some class
    does not meet, None where none was asked about. `roles_from` says of a table that was checked whether
    its roles were "given", or are the claim of the "file" itself.
    `notes` tell of columns whose values were not read as
    they are written.
    """

    n_rows: int
    n_suppressed: int
    n_classes: int
    k: int
    sizes: Sizes
    prosecutor: Risk
    sample_uniques: int
    by_sensitive: Mapping[str, Disclosure]
    worst_sensitive: Mapping[str, str]
    combined: Disclosure | None = None
    n_starred: int = 0
    k_with_starred: int | None = None
    null_matching: NullMatching | None = None
    population: PopulationRisk | None = None
    per_class: pa.Table | None = None
    worst_cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unmet: tuple[str, ...] | None = None
    roles_from: Literal["given", "file"] | None = None
    notes: tuple[str, ...] = ()

    @property
    def joint(self) -> Disclosure:
        """The combination of the sensitive attributes taken as one attribute."""
        if self.combined is None:
            raise UsageError(
                "There are no joint measures: the release has no sensitive attribute, or publishes each "
                "one apart (bucketization). Use by_sensitive instead."
            )
        return self.combined

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names, ready for JSON."""
        plain = dict(as_plain(self))
        plain["joint"] = plain.pop("combined")
        del plain["per_class"]
        return plain

    def _repr_html_(self) -> str:
        from anon.report import html_of, privacy_tables

        return html_of(*privacy_tables(self.to_dict()))

    def __repr__(self) -> str:
        return (
            f"Privacy(n_rows={self.n_rows}, n_classes={self.n_classes}, k={self.k}, "
            f"l_distinct={self.l_distinct}, p_loss={self.p_loss})"
        )


def measure(
    classes: Classes,
    sensitive: Sequence[Domain],
    sensitive_codes: Sequence[Codes | None],
    *,
    at_risk: Sequence[float] = (2, 5, 10),
    joint: bool = True,
    per_class: bool = False,
    n_threads: int = 1,
) -> Privacy:
    """Measure a release from its classes.

    `sensitive[i]` describes `sensitive_codes[i]`, one code per row of the table; None in place of the
    codes says that the release leaves the attribute out, and all its measures are 0. `joint=False` is
    for a release that publishes every sensitive attribute apart.
    """
    by_sensitive: dict[str, Disclosure] = {}
    table: dict[str, Column] = {"class": np.arange(classes.n_classes), "size": classes.sizes}
    measured: list[str] = []
    for domain, codes in zip(sensitive, sensitive_codes, strict=True):
        if codes is None or classes.n_classes == 0:
            by_sensitive[domain.name] = _zero()
            continue
        counts = sensitive_counts(classes, codes, domain.n_codes, n_threads)
        by_sensitive[domain.name] = _disclosure(counts, domain, n_threads)
        measured.append(domain.name)
        if per_class:
            columns = _columns(counts, domain, n_threads)
            table |= {f"{domain.name}.{name}": columns[name] for name in _BY_CLASS if name in columns}
    combined = None
    if joint and by_sensitive:
        combined = by_sensitive[measured[0]] if measured else _zero()
        if len(measured) > 1:
            combined = _joint(classes, [codes for codes in sensitive_codes if codes is not None], n_threads)
    worst, worst_sensitive = _worst({name: by_sensitive[name] for name in measured} or by_sensitive)
    sizes = classes.sizes
    if len(sizes):
        worst["worst"]["k"] = int(sizes.argmin())
    return Privacy(
        **worst,
        n_rows=len(classes.rows),
        n_suppressed=len(classes.suppressed),
        n_classes=classes.n_classes,
        k=int(sizes.min()) if len(sizes) else 0,
        sizes=_sizes(sizes),
        prosecutor=_risk(sizes, sizes, Fraction(1), at_risk),
        sample_uniques=int(np.count_nonzero(sizes == 1)),
        by_sensitive=by_sensitive,
        worst_sensitive=worst_sensitive,
        combined=combined,
        per_class=pa.table(table) if per_class else None,
    )


def measure_columns(
    quasi: Sequence[Domain],
    quasi_codes: Sequence[Codes],
    sensitive: Sequence[Domain],
    sensitive_codes: Sequence[Codes | None],
    *,
    suppressed: npt.NDArray[np.uint32] | None = None,
    starred: npt.NDArray[np.bool_] | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
    joint: bool = True,
    per_class: bool = False,
    n_threads: int = 1,
) -> tuple[Privacy, Classes]:
    """Measure a table made by anyone: its classes are the rows with equal codes in every `quasi`.

    `suppressed` (uint32) rows are left out, and so are `starred` ones (one bool per row: `*` in every
    quasi-identifier), which are reported apart. Where quasi-identifiers hold null, the ordinary
    reading (null is a value of its own) is joined by `null_matching`.
    """
    if not quasi_codes:
        raise UsageError("Name at least one quasi-identifier: without one there are no classes to measure.")
    left_out = np.empty(0, np.uint32) if suppressed is None else suppressed
    n_starred = 0
    if starred is not None:
        n_starred = int(np.count_nonzero(starred))
        left_out = np.union1d(left_out, np.flatnonzero(starred).astype(np.uint32))
    classes = group(quasi_codes, left_out, n_threads)
    privacy = measure(
        classes,
        sensitive,
        sensitive_codes,
        at_risk=at_risk,
        joint=joint,
        per_class=per_class,
        n_threads=n_threads,
    )
    first = classes.rows[classes.offsets[:-1]]
    shown = [codes[first] for codes in quasi_codes]
    missing = [column == domain.n_values for domain, column in zip(quasi, shown, strict=True)]
    return replace(
        privacy,
        n_starred=n_starred,
        k_with_starred=min(privacy.k or n_starred, n_starred) if n_starred else None,
        null_matching=null_matching(shown, missing, classes, sensitive, sensitive_codes, n_threads),
    ), classes


def of_intact(privacy: Privacy, intact: Classes, at_risk: Sequence[float] = (2, 5, 10)) -> Privacy:
    """The measures of a bucketization with the risk of its quasi-identifiers, which it publishes intact.

    `intact` are the rows that are equal in them: the prosecutor's risk and sample uniques are of these, not
    of buckets (spec 2).
    """
    sizes = intact.sizes
    return replace(
        privacy,
        prosecutor=_risk(sizes, sizes, Fraction(1), at_risk),
        sample_uniques=int(np.count_nonzero(sizes == 1)),
    )


def population_risk(
    classes: Classes,
    population: npt.NDArray[np.int64] | None = None,
    sampling_fraction: float | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
) -> PopulationRisk:
    """Journalist and marketer risk: 1/F per row, and its mean over rows.

    F is `population[c]`, the rows of a population inside the cells of class c (see
    `anon.classes.population_counts`), or the class's size over `sampling_fraction`. Where F is 0 no one
    can be found, and the risk is 0.
    """
    if (population is None) == (sampling_fraction is None):
        raise UsageError("Give either the population's rows per class or a sampling fraction.")
    sizes = classes.sizes
    scale = Fraction(1)
    if sampling_fraction is not None:
        scale = Fraction(str(sampling_fraction))
        if not 0 < scale <= 1:
            raise UsageError(
                f"A sampling fraction lies above 0 and at most at 1, not at {sampling_fraction}."
            )
        population = sizes
    assert population is not None
    if len(population) != classes.n_classes:
        raise UsageError("The population needs one count per class.")
    risk = _risk(sizes, population, scale, at_risk)
    return PopulationRisk(risk, risk.mean, int(np.count_nonzero(population < sizes)))


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
    found: dict[str, tuple[int, float]] = {}
    for pattern, held in zip(patterns, present, strict=True):
        pairs = [
            _meet([columns[i] for i in sorted(held & other_held)], pattern, other)
            for other, other_held in zip(patterns, present, strict=True)
        ]
        matching = sum(
            np.bincount(to, sizes[other], int(own.max()) + 1)[own]
            for (own, to), other in zip(pairs, patterns, strict=True)
        )
        k = min(k, int(np.min(matching)))
        for name, count in counts.items():
            l_distinct, max_share = _matching_values(count, pairs, patterns)
            known = found.get(name, (l_distinct, max_share))
            found[name] = min(known[0], l_distinct), max(known[1], max_share)
    return NullMatching(
        k=k,
        risk=1 / k,
        l_distinct=min((pair[0] for pair in found.values()), default=None),
        max_share=max((pair[1] for pair in found.values()), default=None),
        by_sensitive=found,
    )


def _meet(
    columns: Sequence[Codes], ours: npt.NDArray[np.uint32], theirs: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Ids of the classes `ours` and `theirs`, equal where they agree in all `columns`."""
    both = np.concatenate([ours, theirs])
    ids = np.zeros(len(both), np.uint32)
    if columns:
        ids = group_numbers(*classes_kernel.group([column[both] for column in columns]))
    return ids[: len(ours)], ids[len(ours) :]


def _matching_values(
    counts: Counts,
    pairs: Sequence[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]],
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
    for start in range(0, n, _CLASSES_AT_ONCE):
        ids_of, values_of, counts_of = [], [], []
        for own, offsets, values, held in tables:
            picked = own[start : start + _CLASSES_AT_ONCE]
            lengths, at = take(offsets, np.arange(len(values), dtype=np.uint32), picked)
            ids_of.append(np.repeat(np.arange(len(picked), dtype=np.uint32), np.diff(lengths)))
            values_of.append(values[at])
            counts_of.append(held[at])
        ids, _, held = _sum_by([np.concatenate(ids_of), np.concatenate(values_of)], np.concatenate(counts_of))
        starts = np.flatnonzero(np.diff(ids, prepend=ids[:1] + 1))
        l_distinct = min(l_distinct, int(np.diff(starts, append=len(ids)).min()))
        max_share = max(
            max_share, float((np.maximum.reduceat(held, starts) / np.add.reduceat(held, starts)).max())
        )
    return l_distinct, max_share


def _sum_by(
    keys: Sequence[npt.NDArray[np.uint32]], amounts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Amounts summed over equal pairs of keys: the distinct pairs, ascending, and their sums."""
    members, bounds = classes_kernel.group(keys)
    first = members[bounds[:-1]]
    return keys[0][first], keys[1][first], np.add.reduceat(amounts[members], bounds[:-1])


def _columns(counts: Counts, domain: Domain | None, n_threads: int) -> dict[str, Column]:
    """Every measure of every class about one sensitive attribute (`domain` None: a plain set)."""
    csr = (counts.offsets, counts.values, counts.counts)
    size, largest, entropy, recursive, l_recursive = divergence_kernel.concentration(
        counts.offsets, counts.counts, n_threads
    )
    js, equal, quotient, gain, enhanced = divergence_kernel.distances(*csr, counts.table, n_threads)
    columns: dict[str, Column] = {
        "l_distinct": np.diff(counts.offsets),
        "l_probabilistic": size / largest,
        "l_entropy": np.exp(entropy),
        "l_recursive": l_recursive,
        **{f"recursive_c{i + 2}": recursive[:, i] for i in range(4)},
        "alpha": largest / size,
        "t_js": js,
        "t_equal": equal,
        "delta": quotient,
        "beta": gain,
        "beta_enhanced": enhanced,
        "entropy": entropy,
        "largest": largest,
    }
    if domain is not None and not counts.table[domain.n_values :].any():
        table = counts.table[: domain.n_values]
        if domain.kind != "nominal":
            columns["t_ordered"] = divergence_kernel.ordered(*csr, table, n_threads)
        elif domain.tree is not None:
            tree = domain.tree
            columns["t_hierarchical"] = divergence_kernel.hierarchical(
                *csr, table, tree.parent, tree.depth, tree.leaf, n_threads
            )
    return columns


def _disclosure(counts: Counts, domain: Domain | None, n_threads: int) -> Disclosure:
    """The measures of a release about one sensitive attribute, from those of its classes, block by block."""
    n_classes = len(counts.offsets) - 1
    parts = [
        part_of(_block(counts, first, min(first + _CLASSES_AT_ONCE, n_classes)), domain, first, n_threads)
        for first in range(0, n_classes, _CLASSES_AT_ONCE)
    ]
    return disclosure_of(parts, counts.table, n_classes)


def part_of(counts: Counts, domain: Domain | None, first: int = 0, n_threads: int = 1) -> dict[str, Any]:
    """What some classes add to the measures of a release about one sensitive attribute.

    `worst` is (value, class) per measure set by one class, where the classes are numbered from `first`; the
    others are sums over the classes. `counts.table` is that of the whole release.
    """
    columns = _columns(counts, domain, n_threads)
    worst = {}
    for name, greatest in _BY_CLASS.items():
        if name in columns:
            at = int(columns[name].argmax() if greatest else columns[name].argmin())
            worst[name] = (columns[name][at].item(), first + at)
    sizes = np.add.reduceat(counts.counts, counts.offsets[:-1])
    rest = columns["recursive_c2"]
    return {
        "worst": worst,
        "know": float(np.sum(sizes * columns["t_equal"])),
        "left": float(np.sum(sizes * columns["entropy"])),
        "rest": float(np.where(np.isinf(rest), 0.0, rest).sum()),
        "largest": int(columns["largest"].sum()),
        "distinct": int(columns["l_distinct"].sum()),
    }


def disclosure_of(
    parts: Sequence[Mapping[str, Any]], table: npt.NDArray[np.int64], n_classes: int
) -> Disclosure:
    """The measures of a release from its parts (see `part_of`), of which there is at least one."""
    worst: dict[str, tuple[Any, int]] = {}
    for part in parts:
        for name, (value, number) in part["worst"].items():
            if name not in worst or (value > worst[name][0] if _BY_CLASS[name] else value < worst[name][0]):
                worst[name] = value, number
    know, left, rest, largest, distinct = (
        math.fsum(part[name] for part in parts) for name in ("know", "left", "rest", "largest", "distinct")
    )
    n_rows = int(table.sum())
    present = table[table > 0]
    entropy = divergence_kernel.concentration(np.array([0, len(present)]), present)[2][0]
    return Disclosure(
        **{name: value for name, (value, _) in worst.items()},
        p_loss=float(worst["t_js"][0]),
        a_know=know / n_rows,
        a_acc=(largest - int(table.max())) / n_rows,
        gain=max(float(entropy - left / n_rows), 0.0),
        ls_c=rest / n_classes,
        ls_l=distinct / n_classes,
        worst={name: class_id for name, (_, class_id) in worst.items()},
    )


def _block(counts: Counts, first: int, last: int) -> Counts:
    """The counts of classes first..last-1; the table stays whole."""
    start, stop = counts.offsets[first], counts.offsets[last]
    return replace(
        counts,
        offsets=counts.offsets[first : last + 1] - start,
        values=counts.values[start:stop],
        counts=counts.counts[start:stop],
    )


def _joint(classes: Classes, codes: Sequence[Codes], n_threads: int) -> Disclosure:
    members, bounds = classes_kernel.group(codes, None, n_threads)
    ids = group_numbers(members, bounds)
    counts = sensitive_counts(classes, ids, len(bounds) - 1, n_threads)
    return _disclosure(counts, None, n_threads)


def _zero() -> Disclosure:
    """Nothing is published about the attribute."""
    return Disclosure(**dict.fromkeys([*_BY_CLASS, *_BY_ALL], 0), worst={})


def _worst(by_sensitive: Mapping[str, Disclosure]) -> tuple[dict[str, Any], dict[str, str]]:
    """Per measure the least private of the attributes' values, and the attribute that has it."""
    values: dict[str, Any] = {}
    attribute: dict[str, str] = {}
    classes: dict[str, int] = {}
    for measure_name, greatest in (_BY_CLASS | _BY_ALL).items():
        known = {n: v for n, d in by_sensitive.items() if (v := getattr(d, measure_name)) is not None}
        if not known:
            continue
        name = (max if greatest else min)(known, key=known.__getitem__)
        values[measure_name] = known[name]
        attribute[measure_name] = name
        if measure_name in by_sensitive[name].worst:
            classes[measure_name] = by_sensitive[name].worst[measure_name]
    return values | {"worst": classes}, attribute


def _sizes(sizes: npt.NDArray[np.int64]) -> Sizes:
    if not len(sizes):
        return Sizes(0, 0.0, 0.0, 0)
    return Sizes(int(sizes.min()), float(sizes.mean()), float(np.median(sizes)), int(sizes.max()))


def _risk(
    sizes: npt.NDArray[np.int64],
    population: npt.NDArray[np.int64],
    fraction: Fraction,
    at_risk: Sequence[float],
) -> Risk:
    """Risk of rows in classes of `sizes` rows, each looked for among `population / fraction` rows."""
    n_rows = int(sizes.sum())
    exists = population > 0
    risk = np.where(exists, float(fraction) / np.maximum(population, 1), 0.0)
    shares: dict[float, float] = {}
    for x in at_risk:
        if not x > 0:
            raise UsageError(f"A risk threshold is a share or a class size above 0, not {x}.")
        # risk > 1/bound exactly when population < bound * fraction
        bound = Fraction(str(x)) if x >= 1 else 1 / Fraction(str(x))
        found = exists & (population < math.ceil(bound * fraction))
        shares[x] = int(sizes[found].sum()) / n_rows if n_rows else 0.0
    return Risk(
        max=float(risk.max(initial=0.0)),
        mean=float(np.sum(sizes * risk) / n_rows) if n_rows else 0.0,
        at_risk=shares,
    )
