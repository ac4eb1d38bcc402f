# SPDX-License-Identifier: Apache-2.0
"""The rules of a release, found from its classes and levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from anon.classes import keys, texts
from anon.encoding import Domain
from anon.errors import Parameter, UsageError
from anon.methods import FullDomain, Method, Mondrian
from anon.release.recoded import Recoded
from anon.release.rules import Ints, Known, Regions, Rules
from anon.schema import Attribute, Schema, places, value_type, values_at
from anoncore.classes import boxes


def refuse_rules(
    method: Method, bound: Schema, types: Mapping[str, pa.DataType], publish: str, numeric: str
) -> None:
    """Raise UsageError where a release of columns of these types has no rules that rows alone decide."""
    what = None
    if not isinstance(method, FullDomain | Mondrian):
        what = f"{type(method).__name__} makes classes of the rows that are there, not by rules"
    elif publish != "generalization":
        what = "a bucketization shows no cells"
    elif isinstance(method, FullDomain) and method.iterate is not None:
        what = "the round of a row depends on the other rows of its class"
    elif isinstance(method, Mondrian) and method.relaxed:
        what = "relaxed cuts share rows out that have equal values"
    elif isinstance(method, Mondrian) and (numeric != "interval" or bound.all_coded):
        what = (
            "regions of Mondrian are intervals: least levels, top and bottom codes, rounded ends and "
            f"numeric={numeric!r} are not part of them"
        )
    elif bound.household or bound.linked:
        what = "columns of households, and linked ones, follow others"
    if what is not None:
        raise UsageError(
            f"this release has no rules: {what}; use ",
            Parameter("FullDomain() or Mondrian()", "--method full-domain or mondrian"),
        )
    for each in bound.quasi:
        kind = value_type(types[each.name])
        if each.kind == "numeric" and (pa.types.is_decimal(kind) or getattr(kind, "tz", None)):
            raise UsageError(
                f"column {each.name!r} is {kind}, which rules do not hold: convert it to numbers, or to "
                "times without a zone"
            )


def rules_of(release: Recoded) -> Rules:
    """The rules of a release; UsageError where its method has none that rows alone decide."""
    encoded, method = release.encoded, release.method
    types = {domain.name: domain.values.type for domain in encoded.quasi}
    refuse_rules(method, encoded.schema, types, release.publish, release.numeric)
    asked = tuple(map(str, release.requirements))
    if isinstance(method, FullDomain):
        assert method.levels is not None
        lattice = release.lattice
        known = [
            _of_column(attribute, domain, g == height)
            for attribute, domain, g, height in zip(
                encoded.schema.quasi, encoded.quasi, method.levels, lattice.heights, strict=True
            )
        ]
        return Rules(encoded.schema, tuple(known), method.levels, lattice.heights, None, asked)
    parts, regions = _regions(release)
    return Rules(encoded.schema, parts, None, None, regions, asked)


def _of_column(attribute: Attribute, domain: Domain, is_star: bool) -> Known:
    """What full-domain rules know: where there is a hierarchy that decides, of one level all values."""
    if attribute.kind == "ordinal":
        values = pa.array([str(each) for each in attribute.order or ()], pa.string())
    elif domain.kind == "numeric":
        values = domain.values.take(pa.array([0, domain.n_values - 1]))
    else:
        values = pa.array(texts(domain.values), pa.string())
    decides = attribute.kind == "ordinal" or (attribute.hierarchy is None and not is_star)
    return Known(attribute.name, values, domain.has_null, decides)


def _regions(release: Recoded) -> tuple[tuple[Known, ...], Regions]:
    """The boxes between cuts that part the release's classes, each cut as near to the middle as may be.

    Any such cuts part them as the method's own do. Classes that no cut parts, since they were merged after
    it, share a region.
    """
    domains, classes = release.encoded.quasi, release.classes
    low, high = [], []
    for codes in release.encoded.quasi_codes:
        least, most, _ = boxes(codes, classes.rows, classes.offsets)
        low.append(least)
        high.append(most)
    first, last = (np.array(each, np.int64) for each in (low, high))
    ends = np.array([[0] * len(domains), [domain.n_codes - 1 for domain in domains]], np.int64)
    found = [box for _, box in _parted(first, last, np.arange(classes.n_classes), ends)]
    whole = np.array(found, np.int64).reshape(-1, 2, len(domains))
    known, sides = [], []
    for a, domain in enumerate(domains):
        begin, end = whole[:, 0, a], whole[:, 1, a]
        null = (end == domain.n_values) & domain.has_null
        end = np.minimum(end, domain.n_values - 1)
        values = domain.values
        if domain.kind == "numeric":
            begin, end, values = _closed(values, begin, end)
        else:
            values = pa.array(texts(values), pa.string())
        known.append(Known(domain.name, values, domain.has_null, True))
        sides.append((np.where(begin > end, 1, begin), np.where(begin > end, 0, end), null))
    regions = Regions(*(np.array(each) for each in zip(*sides, strict=True)))
    return tuple(known), regions


def _parted(low: Ints, high: Ints, members: Ints, ends: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Groups of boxes that no cut parts further, each with the box of the cuts around it."""
    waiting = [(members, ends)]
    while waiting:
        inside, around = waiting.pop()
        best: tuple[int, int, Ints, int] | None = None
        for a in range(len(low)) if len(inside) > 1 else ():
            order = inside[np.argsort(low[a, inside], kind="stable")]
            reach = np.maximum.accumulate(high[a, order])[:-1]
            cuts = np.flatnonzero(reach < low[a, order[1:]]) + 1
            if len(cuts):
                off = np.abs(2 * cuts - len(order))
                at = int(off.argmin())
                if best is None or int(off[at]) < best[0]:
                    best = int(off[at]), a, order, int(cuts[at])
        if best is None:
            yield inside, around
            continue
        _, a, order, at = best
        left, right = around.copy(), around.copy()
        right[0, a] = low[a, order[at]]
        left[1, a] = right[0, a] - 1
        waiting += [(order[:at], left), (order[at:], right)]


def _closed(values: pa.Array, begin: Ints, end: Ints) -> tuple[Ints, Ints, pa.Array]:
    """Ranges of codes as ranges of these and the last values before them, which leave nothing between.

    A range of codes holds all from its first value to just before that of the next code.
    """
    n = len(values)
    if not n:
        return np.ones_like(begin), np.zeros_like(end), values
    following = values.take(pa.array(np.minimum(np.arange(1, n + 1), n - 1)))
    if pa.types.is_floating(values.type):
        numbers = following.to_numpy()
        before = pa.array(np.nextafter(numbers, numbers.dtype.type(-np.inf)), values.type)
    else:
        before = values_at([int(tick) - 1 for tick in places(following)[0]], values.type)
    before = pa.concat_arrays([before[: n - 1], values[n - 1 :]])
    empty = begin > end
    first, last = np.where(empty, 0, begin), np.where(empty, 0, end)
    taken = pa.concat_arrays([values.take(pa.array(first)), before.take(pa.array(last))])
    both = keys(taken)
    distinct, index = np.unique(np.array(both, dtype=object), return_inverse=True)
    place = {key: i for i, key in enumerate(both)}
    sorted_values = taken.take(pa.array([place[key] for key in distinct.tolist()], pa.int64()))
    at = index.reshape(2, -1)
    return np.where(empty, 1, at[0]), np.where(empty, 0, at[1]), sorted_values
