# SPDX-License-Identifier: Apache-2.0
"""Queries as text: a line of conditions each."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import number, texts
from anon.encoding import Domain, Encoded
from anon.errors import UsageError
from anon.measures.queries import (
    FIRST,
    LAST,
    LOWER,
    UPPER,
    Draft,
    Runs,
    Side,
    Unreadable,
    Workload,
    quoted_name,
    unquoted,
)


def parse_queries(encoded: Encoded, queries: Iterable[str]) -> Workload:
    """Queries as text: conditions joined by `&`, each an attribute, an operator and values.

    Operators are =, !=, <, <=, >, >= and `in`, followed by a set `{a, b}` or an interval `[17, 25]`. A
    value may be a node of the attribute's hierarchy; labels and names may be JSON strings. Several
    conditions on one attribute must all hold.
    """
    draft = Draft(encoded)
    for position, query in enumerate(queries):
        try:
            _parse(draft, query)
        except Unreadable as error:
            raise UsageError(f"query {position + 1}: {error}") from None
    return draft.workload()


# Queries as text

_CONDITIONS = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^&"])+')
_CONDITION = re.compile(
    r'\s*(?P<name>"(?:[^"\\]|\\.)*"|[^"=<>!&]+?)\s*(?P<how><=|>=|!=|=|<|>|\bin\b)\s*(?P<value>.*\S)\s*',
    re.DOTALL,
)
_ATOM = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^",]*[^",\s])\s*(?:,|$)')


def _parse(draft: Draft, query: str) -> None:
    conditions: dict[tuple[int, int], Runs] = {}
    labels: dict[str, str] = {}
    sides = [
        *(((0, a), side) for a, side in enumerate(draft.quasi)),
        *(((1, s), side) for s, side in enumerate(draft.sensitive)),
    ]
    names = {side.domain.name: (where, side) for where, side in sides}
    parts = _CONDITIONS.findall(query)
    if "&".join(parts) != query or not query.strip():
        raise Unreadable("conditions are joined by single &; a quotation mark may be left open")
    for part in parts:
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise Unreadable(f"{part.strip()!r} is no condition such as age>=40 or sex in {{Female, Male}}")
        name = unquoted(match["name"])
        if name not in names:
            raise Unreadable(f"no quasi-identifier or sensitive attribute is called {name!r}")
        where, side = names[name]
        runs = _runs(side, match["how"], match["value"])
        conditions[where] = _both(side, conditions[where], runs) if where in conditions else runs
        written = f"{quoted_name(name)}{' in ' if match['how'] == 'in' else match['how']}{match['value']}"
        labels[name] = f"{labels[name]} & {written}" if name in labels else written
    quasi, sensitive = (
        {a: runs for (kind, a), runs in conditions.items() if kind == each} for each in (0, 1)
    )
    if len(sensitive) > 1:
        raise Unreadable("it asks for more than one sensitive attribute")
    draft.add(quasi, sensitive, labels)


def _both(side: Side, one: Runs, other: Runs) -> Runs:
    """The runs common to two conditions on one attribute."""
    a, b = np.repeat(one, len(other), axis=0), np.tile(other, (len(one), 1))
    starts, ends = [FIRST, LOWER], [LAST, UPPER]
    common = np.empty_like(a)
    common[:, starts] = np.maximum(a[:, starts], b[:, starts])
    common[:, ends] = np.minimum(a[:, ends], b[:, ends])
    return _kept(side, common)


def _kept(side: Side, runs: Runs) -> Runs:
    """Without the runs that hold neither a value nor, on an ordered attribute, any place."""
    kept = runs[:, FIRST] <= runs[:, LAST]
    if side.domain.kind != "nominal":
        kept |= runs[:, LOWER] < runs[:, UPPER] + side.domain.unit_lattice
    return runs[kept]


def _runs(side: Side, how: str, value: str) -> Runs:
    domain = side.domain
    if how == "in":
        opened, closed = value[0], value[-1]
        if (opened, closed) not in (("{", "}"), ("[", "]")):
            raise Unreadable(f"'in' takes a set {{a, b}} or an interval [a, b], not {value}")
        atoms = _atoms(value[1:-1])
        if opened == "{":
            return _union([_runs(side, "=", atom) for atom in atoms])
        if len(atoms) != 2:
            raise Unreadable(f"an interval has two ends, not {len(atoms)}")
        return _both(side, _runs(side, ">=", atoms[0]), _runs(side, "<=", atoms[1]))
    if domain.kind == "nominal":
        if how not in ("=", "!="):
            raise Unreadable(f"the values of {domain.name!r} have no order; use =, != or in")
        inside = _nominal(side, unquoted(value))
        if how == "=":
            return side.codes(inside)
        return side.codes(np.setdiff1d(np.arange(domain.n_values), inside))
    return _compared(side, how, value)


def _atoms(listed: str) -> list[str]:
    atoms, end = [], 0
    while end < len(listed):
        match = _ATOM.match(listed, end)
        if match is None:
            raise Unreadable(f"{{{listed}}} is no list of values")
        atoms.append(match.group(1))
        end = match.end()
    return atoms


def _nominal(side: Side, label: str) -> list[int]:
    """The codes of a value or node."""
    words = texts(side.domain.values)
    if label in words:
        return [words.index(label)]
    tree = side.domain.tree
    if tree is not None and label in tree.labels:
        node = tree.labels.index(label)
        return list(range(int(tree.first[node]), int(tree.last[node]) + 1))
    raise Unreadable(f"{side.domain.name!r} has no value or node {label!r}")


def _node(side: Side, value: str) -> Runs:
    """The runs of the set of a numeric attribute's levels that a value names."""
    levels = side.domain.levels
    label = unquoted(value)
    if levels is None or label not in levels.labels:
        raise Unreadable(
            f"{value} is no {side.domain.values.type} and no node, as {side.domain.name!r} needs"
        )
    s = levels.labels.index(label)
    of_code = levels.of_code[levels.level[s]]
    runs = side.codes(np.flatnonzero(of_code == s))
    if len(runs) == 1:
        runs[0, LOWER:] = levels.lower[s], levels.upper[s]
    return runs


def _without(side: Side, node: Runs, how: str) -> Runs:
    if how != "!=":
        raise Unreadable(f"a node of {side.domain.name!r} takes =, != or in")
    inside = [np.arange(first, last + 1) for first, last in node[:, : LAST + 1]]
    return side.codes(np.setdiff1d(np.arange(side.domain.n_values), np.concatenate(inside)))


def _union(parts: Sequence[Runs]) -> Runs:
    """The runs of any of several conditions, in order and apart; places that do not occur stay."""
    runs = np.unique(np.concatenate([np.empty((0, 4)), *parts]), axis=0)
    joined: list[npt.NDArray[np.float64]] = []
    for run in runs[np.lexsort((runs[:, UPPER], runs[:, LOWER]))]:
        last = joined[-1] if joined else None
        if last is not None and run[LOWER] <= last[UPPER]:
            last[FIRST] = min(last[FIRST], run[FIRST])
            last[[LAST, UPPER]] = np.maximum(last, run)[[LAST, UPPER]]
        else:
            joined.append(run.copy())
    return np.array(joined, np.float64).reshape(-1, 4)


def _compared(side: Side, how: str, value: str) -> Runs:
    """The runs of a comparison with one value of an ordered attribute."""
    domain, line = side.domain, side.line
    assert domain.positions is not None
    end = float(domain.positions[-1])
    if domain.kind == "ordinal":
        words = texts(domain.values)
        if unquoted(value) not in words:
            raise Unreadable(f"{domain.name!r} has no value {value}")
        key: Any = words.index(unquoted(value))
        place = Fraction(key)
    else:
        try:
            key = number(unquoted(value), domain.values.type)
        except ValueError:
            node = _node(side, value)
            return node if how == "=" else _without(side, node, how)
        place = _place(domain, key, line[0], line[-1])
    before, after = bisect_left(line, key), bisect_right(line, key)
    points = domain.unit_lattice
    below, up_to = (math.ceil(place) - 1, math.floor(place)) if points else (place, place)
    above, up_from = (math.floor(place) + 1, math.ceil(place)) if points else (place, place)
    comparisons: dict[str, list[tuple[int, int, Any, Any]]] = {
        "<": [(0, before - 1, Fraction(0), below)],
        "<=": [(0, after - 1, Fraction(0), up_to)],
        ">": [(after, len(line) - 1, above, end)],
        ">=": [(before, len(line) - 1, up_from, end)],
        "=": [(before, after - 1, up_from, up_to)],
        "!=": [(0, before - 1, Fraction(0), below), (after, len(line) - 1, above, end)],
    }
    runs = []
    for first, last, lower, upper in comparisons[how]:
        lowest, highest = max(lower, 0), min(upper, end)
        if lowest <= highest:
            runs.append([first, last, float(lowest), float(highest)])
    return _kept(side, np.array(runs, np.float64).reshape(-1, 4))


def _place(domain: Domain, key: Any, first: Any, last: Any) -> Fraction:
    """Where a value lies on the line of the domain's positions."""
    types = pa.types
    place = Fraction(key) - Fraction(first)
    if types.is_decimal(domain.values.type):
        place *= Fraction(Decimal(10) ** domain.values.type.scale)
    if types.is_floating(domain.values.type) and math.isinf(float(last) - float(first)):
        place /= 2
    return place
