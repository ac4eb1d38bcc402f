# SPDX-License-Identifier: Apache-2.0
"""What the classes tell of sensitive values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import anoncore.classes as classes_kernel
import anoncore.divergence as divergence_kernel
from anon.classes import Classes, Counts, group_numbers, sensitive_counts
from anon.encoding import Codes, Domain
from anon.measures.declared import BY_ALL, BY_CLASS
from anon.plain import as_plain

Column = npt.NDArray[Any]  # one number per class

CLASSES_AT_ONCE = 1 << 14

# Is the greatest value the least private one? The first are set by one class, the others by all.
OF_CLASSES, _BY_ALL = (
    {name: measure.greatest_is_worst for name, measure in measures.items()} for measures in (BY_CLASS, BY_ALL)
)
ROLES_FROM_FILE = (
    "The roles of the columns are the file's own claim: whoever wrote the file may have left a "
    "quasi-identifier or a sensitive attribute out."
)
GREATEST_IS_WORST = OF_CLASSES | _BY_ALL


@dataclass(frozen=True, kw_only=True, repr=False)
class Disclosure:
    """How much a release tells about one sensitive attribute.

    Fields named after a requirement are the tightest parameter that every class meets; recursive
    (c,l)-diversity holds at l = 2..5 for every c greater than `recursive_c2`..`recursive_c5`, and
    `l_recursive` is the greatest l at c = 3. `delta` is infinite when a class lacks a value of the
    table (`delta_present` leaves such values out), `beta_enhanced` when a gain exceeds -ln p.
    `t_ordered` is None for an attribute without an order, `t_hierarchical` for one without a tree; both
    are None where published rows hold null.
    `p_loss` is the greatest JS divergence (Li & Li 4.1); `a_know`, `a_acc` and `gain` = H(S) - H(S|Q)
    are Brickell & Shmatikov's (4.4, lemma 1); `ls_c` (r_1 over the rest, infinite
    where there is none) and `ls_l` (distinct values) are Loukides & Shao's (c,l), means over classes.
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
    delta_present: float | None = None
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


def measured_columns(counts: Counts, domain: Domain | None, n_threads: int) -> dict[str, Column]:
    """Every measure of every class about one sensitive attribute (`domain` None: a plain set)."""
    csr = (counts.offsets, counts.values, counts.counts)
    size, largest, entropy, recursive, l_recursive = divergence_kernel.concentration(
        counts.offsets, counts.counts, n_threads
    )
    js, equal, quotient, present, gain, enhanced = divergence_kernel.distances(*csr, counts.table, n_threads)
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
        "delta_present": present,
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


def disclosure(counts: Counts, domain: Domain | None, n_threads: int) -> Disclosure:
    """The measures of a release about one sensitive attribute, from those of its classes, block by block."""
    n_classes = len(counts.offsets) - 1
    parts = [
        part_of(_block(counts, first, min(first + CLASSES_AT_ONCE, n_classes)), domain, first, n_threads)
        for first in range(0, n_classes, CLASSES_AT_ONCE)
    ]
    return disclosure_of(parts, counts.table, n_classes)


def part_of(counts: Counts, domain: Domain | None, first: int = 0, n_threads: int = 1) -> dict[str, Any]:
    """What some classes add to the measures of a release about one sensitive attribute.

    `worst` is (value, class) per measure set by one class, where the classes are numbered from `first`; the
    others are sums over the classes. `counts.table` is that of the whole release.
    """
    columns = measured_columns(counts, domain, n_threads)
    worst = {}
    for name, greatest in OF_CLASSES.items():
        if name in columns:
            at = int(columns[name].argmax() if greatest else columns[name].argmin())
            worst[name] = (columns[name][at].item(), first + at)
    sizes = np.add.reduceat(counts.counts, counts.offsets[:-1])
    return {
        "worst": worst,
        "know": float(np.sum(sizes * columns["t_equal"])),
        "left": float(np.sum(sizes * columns["entropy"])),
        "rest": float(columns["recursive_c2"].sum()),
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
            if name not in worst or (value > worst[name][0] if OF_CLASSES[name] else value < worst[name][0]):
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


def joint_disclosure(classes: Classes, codes: Sequence[Codes], n_threads: int) -> Disclosure:
    """The measures about all sensitive attributes together: each combination of values is one value."""
    members, bounds = classes_kernel.group(codes, None, n_threads)
    ids = group_numbers(members, bounds)
    counts = sensitive_counts(classes, ids, len(bounds) - 1, n_threads)
    return disclosure(counts, None, n_threads)


def zero() -> Disclosure:
    """Nothing is published about the attribute."""
    return Disclosure(**dict.fromkeys([*OF_CLASSES, *_BY_ALL], 0), worst={})


def worst_of(by_sensitive: Mapping[str, Disclosure]) -> tuple[dict[str, Any], dict[str, str]]:
    """Per measure the least private of the attributes' values, and the attribute that has it."""
    values: dict[str, Any] = {}
    attribute: dict[str, str] = {}
    classes: dict[str, int] = {}
    for measure_name, greatest in (OF_CLASSES | _BY_ALL).items():
        known = {n: v for n, d in by_sensitive.items() if (v := getattr(d, measure_name)) is not None}
        if not known:
            continue
        name = (max if greatest else min)(known, key=known.__getitem__)
        values[measure_name] = known[name]
        attribute[measure_name] = name
        if measure_name in by_sensitive[name].worst:
            classes[measure_name] = by_sensitive[name].worst[measure_name]
    return values | {"worst": classes}, attribute
