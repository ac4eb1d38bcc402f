# SPDX-License-Identifier: Apache-2.0
"""COUNT workloads: drawn, preset or written queries, and how well a release answers them."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import anoncore.queries as kernel
from anon.cells import keys, number, quote, texts
from anon.encode import Domain, Encoded, available_threads
from anon.errors import UsageError, did_you_mean
from anon.plain import as_plain
from anon.populations import Boxes, Predicates, boxes, overlaps

if TYPE_CHECKING:
    from anon.release import Release

Reading = Literal["anatomy", "literal"]
Indices = npt.NDArray[np.int32]
Held = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.int64]]  # counts in CSR form
Bounds = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

NOWHERE = 2**32 - 1  # the code of a run that no value of the domain lies in
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
TYPES = {
    "loukides-1": (("age", "sex", "salary-class"), Fraction(15, 1000)),
    "loukides-2": (("age", "sex", "salary-class", "race", "workclass"), Fraction(5, 1000)),
}


# Runs of consecutive values (float64, n x 4): first and last code (none if first > last), and where
# the run begins and ends on the attribute's line.
Runs = npt.NDArray[np.float64]
FIRST, LAST, LOWER, UPPER = range(4)


@dataclass(frozen=True, repr=False)
class Workload:
    """COUNT queries on one table, each a conjunction of at most one condition per attribute.

    Query i asks for rows that meet condition `chosen[i, a]` (int32, -1: any value) of `quasi[a]` and
    `asked[i, s]` of `sensitive[s]`, of which at most one is not -1.
    """

    quasi: tuple[Predicates, ...]
    chosen: Indices
    sensitive: tuple[Predicates, ...]
    asked: Indices

    def __len__(self) -> int:
        return len(self.chosen)

    def text(self, i: int) -> str:
        """Query i as it is written: `age in [17, 25] & sex=Male`."""
        sides = [
            *zip(self.quasi, self.chosen[i], strict=True),
            *zip(self.sensitive, self.asked[i], strict=True),
        ]
        return " & ".join(predicates.labels[p] for predicates, p in sides if p >= 0)

    def __repr__(self) -> str:
        return f"Workload({len(self)} queries)"


@dataclass(frozen=True, repr=False)
class Answers:
    """True and estimated counts of a workload, and the least and most that the release allows.

    `estimated` (float64) is under the uniform assumption, `true`, `least` and `most` are int64. Errors are
    relative, in percent, over the queries whose true count is above 0 (Li & Li 2009, 5.2); widths are
    (most - least)/true (Srivastava & Weis 2005). Without such a query they are 0.
    """

    workload: Workload
    true: npt.NDArray[np.int64]
    estimated: npt.NDArray[np.float64]
    least: npt.NDArray[np.int64]
    most: npt.NDArray[np.int64]

    @property
    def n_counted(self) -> int:
        """Queries whose true count is above 0."""
        return int(np.count_nonzero(self.true))

    @cached_property
    def errors(self) -> npt.NDArray[np.float64]:
        """|estimated - true| / true in percent, of the counted queries in their order."""
        counted = self.true > 0
        return np.asarray(100.0 * np.abs(self.estimated - self.true)[counted] / self.true[counted])

    @cached_property
    def widths(self) -> npt.NDArray[np.float64]:
        """(most - least) / true, of the counted queries in their order."""
        counted = self.true > 0
        return np.asarray((self.most - self.least)[counted] / self.true[counted])

    @property
    def average(self) -> float:
        """Average relative error in percent."""
        return _mean(self.errors)

    @property
    def median(self) -> float:
        """Median relative error in percent."""
        return self.quantiles()[0.5]

    @property
    def average_width(self) -> float:
        """Average of (most - least) / true."""
        return _mean(self.widths)

    def quantiles(self, at: Sequence[float] = QUANTILES) -> dict[float, float]:
        """Quantiles of the relative error in percent."""
        values = np.quantile(self.errors, at) if len(self.errors) else np.zeros(len(at))
        return dict(zip(at, values.tolist(), strict=True))

    def by_attribute(self) -> dict[str, float]:
        """Average relative error over the queries with a condition on each attribute."""
        counted = self.true > 0
        sides = (
            *zip(self.workload.quasi, self.workload.chosen.T, strict=True),
            *zip(self.workload.sensitive, self.workload.asked.T, strict=True),
        )
        return {
            predicates.domain.name: _mean(self.errors[chosen[counted] >= 0])
            for predicates, chosen in sides
            if (chosen >= 0).any()
        }

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names, ready for JSON."""
        told = {
            "n_queries": len(self.true),
            "n_counted": self.n_counted,
            "average": self.average,
            "median": self.median,
            "quantiles": {str(at): value for at, value in self.quantiles().items()},
            "average_width": self.average_width,
            "by_attribute": self.by_attribute(),
        }
        return dict(as_plain(told))

    def __repr__(self) -> str:
        return f"Answers({len(self.true)} queries, average={self.average}, median={self.median})"


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def normalized_errors(errors: Mapping[str, float]) -> dict[str, float]:
    """(x - best)/(worst - best) of each error: 0 is the best, 1 the worst (Loukides & Shao 2008, 4.1)."""
    best, worst = min(errors.values()), max(errors.values())
    return {name: (error - best) / (worst - best) if worst > best else 0.0 for name, error in errors.items()}


# Workloads


def random_queries(
    encoded: Encoded,
    qd: int,
    sel: float | Fraction,
    n: int = 1000,
    seed: int = 0,
    *,
    reading: Reading = "anatomy",
    attributes: Sequence[str] | None = None,
    sensitive: str | None = None,
) -> Workload:
    """`n` queries on `qd` quasi-identifiers and a sensitive attribute, all drawn (Li & Li 2009, 5.2).

    Each attribute gets b = ceil(|D| sel^(1/(qd + 1))) of its values (Xiao & Tao 2006), or ceil(|D| sel)
    with `reading="literal"`: consecutive ones if they are ordered, else any. The quasi-identifiers are
    drawn from `attributes` (None: all), the sensitive attribute is `sensitive` (None: drawn).
    """
    share = Fraction(str(sel)) if not isinstance(sel, Fraction) else sel
    among = [_position(encoded.quasi, name) for name in attributes or [d.name for d in encoded.quasi]]
    secrets = (
        range(len(encoded.sensitive)) if sensitive is None else [_position(encoded.sensitive, sensitive)]
    )
    if not 1 <= qd <= len(among):
        raise UsageError(f"qd must be from 1 to {len(among)}, the number of quasi-identifiers")
    if not 0 < share <= 1:
        raise UsageError("sel must be above 0 and at most 1")
    if not secrets:
        raise UsageError("a query asks for sensitive values, and the table has no sensitive attribute")
    if reading not in ("anatomy", "literal"):
        raise UsageError("reading must be 'anatomy' or 'literal'")
    rng = np.random.default_rng(seed)
    draft = _Draft(encoded)
    power = qd + 1 if reading == "anatomy" else 1
    for _ in range(n):
        drawn = rng.choice(len(among), qd, replace=False)
        secret = secrets[int(rng.integers(len(secrets)))]
        draft.add(
            {among[a]: _drawn(draft.quasi[among[a]], share, power, rng) for a in sorted(drawn)},
            {secret: _drawn(draft.sensitive[secret], share, power, rng)},
        )
    return draft.workload()


def n_chosen(n_values: int, sel: Fraction, power: int) -> int:
    """The least b with (b / n_values)^power >= sel, decided exactly."""
    b = min(max(math.ceil(n_values * math.pow(sel, 1 / power)), 1), n_values)
    while b > 1 and Fraction(b - 1, n_values) ** power >= sel:
        b -= 1
    while Fraction(b, n_values) ** power < sel:
        b += 1
    return b


def preset(
    encoded: Encoded,
    name: str,
    *,
    n: int | None = None,
    seed: int = 0,
    qd: int = 4,
    sel: float = 0.05,
    attributes: Sequence[str] | None = None,
) -> Workload:
    """A workload of a paper.

    "li": 1,000 random queries of qd 1..6, sel 0.01..0.1 (Li & Li 2009, 5.2). "loukides-1" and
    "loukides-2": 10,000 queries on age, sex and income (1.5 % of the rows), or on race and workclass
    too (0.5 %): one random value per attribute, and a range of ages around a random one that grows
    by one value below and above in turn until it holds that share (Loukides & Shao 2008, 4.1).
    `attributes` are the table's names for theirs, the age first.
    """
    if name == "li":
        return random_queries(encoded, qd, sel, n or 1000, seed, attributes=attributes)
    if name not in TYPES:
        raise UsageError(f"the presets are li, {', '.join(TYPES)}, not {name!r}")
    names, share = TYPES[name]
    columns = [_position(encoded.quasi, each) for each in attributes or names]
    if len(columns) != len(names):
        raise UsageError(f"{name} needs the table's names of {', '.join(names)}")
    return _range_queries(encoded, columns, share, 10_000 if n is None else n, np.random.default_rng(seed))


def selections(encoded: Encoded, name: str) -> Workload:
    """One query per value of a quasi-identifier: the selections by state or company of Srivastava & Weis."""
    draft = _Draft(encoded)
    a = _position(encoded.quasi, name)
    for code in range(encoded.quasi[a].n_values):
        draft.add({a: draft.quasi[a].range(code, code)}, {})
    return draft.workload()


def parse_queries(encoded: Encoded, queries: Iterable[str]) -> Workload:
    """Queries as text: conditions joined by `&`, each an attribute, an operator and values.

    Operators are =, !=, <, <=, >, >= and `in`, followed by a set `{a, b}` or an interval `[17, 25]`. A
    value may be a node of the attribute's hierarchy; labels and names may be JSON strings. Several
    conditions on one attribute must all hold.
    """
    draft = _Draft(encoded)
    for position, query in enumerate(queries):
        try:
            _parse(draft, query)
        except _Unreadable as error:
            raise UsageError(f"query {position + 1}: {error}") from None
    return draft.workload()


def _position(domains: Sequence[Domain], name: str) -> int:
    names = [domain.name for domain in domains]
    if name not in names:
        hint = did_you_mean(name, names)
        raise UsageError(f"no attribute {name!r} to ask for; {hint}there are {', '.join(map(repr, names))}")
    return names.index(name)


class _Side:
    """The conditions on one attribute that a workload uses, each listed once."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        plain = texts(domain.values)
        self.words = [_quoted(word) if "&" in word else quote(word) for word in plain]
        self.known: dict[bytes, int] = {}
        self.listed: list[Runs] = []
        self.labels: list[str] = []
        # nominal values in the order of their labels, which a hierarchy does not change
        self.by_label = np.argsort(np.array(plain, dtype=object), kind="stable")

    @cached_property
    def line(self) -> list[Any]:
        """What values compare as, in the order of the codes."""
        return keys(self.domain.values) if self.domain.kind == "numeric" else list(range(len(self.words)))

    def runs(self, first: npt.ArrayLike, last: npt.ArrayLike) -> Runs:
        """Runs from one value to another, with every place between them."""
        ends = np.asarray(first, np.intp), np.asarray(last, np.intp)
        line = self.domain.positions
        return np.stack([*ends, *(ends if line is None else (line[end] for end in ends))], axis=-1).astype(
            np.float64
        )

    def range(self, first: int, last: int) -> Runs:
        """The values first..last, and every place between them."""
        return self.runs([first], [last])

    def codes(self, codes: npt.ArrayLike) -> Runs:
        """Values in runs that follow each other in the domain."""
        ascending = np.unique(np.asarray(codes, np.intp))
        breaks = np.flatnonzero(np.diff(ascending) != 1)
        ends = np.append(breaks, len(ascending) - 1)[: len(ascending)]
        return self.runs(ascending[np.concatenate([[0], breaks + 1])[: len(ends)]], ascending[ends])

    def condition(self, runs: Runs, label: str | None = None) -> int:
        """The number of a condition, new or known."""
        key = runs.tobytes()
        if key not in self.known:
            self.known[key] = len(self.listed)
            self.listed.append(runs)
            self.labels.append(self._label(runs) if label is None else label)
        return self.known[key]

    def _label(self, runs: Runs) -> str:
        name = _quoted_name(self.domain.name)
        spans = runs[:, : LAST + 1].astype(int).tolist()
        if self.domain.kind != "nominal" and spans[0][0] < spans[0][1]:
            return f"{name} in [{self.words[spans[0][0]]}, {self.words[spans[0][1]]}]"
        words = [word for first, last in spans for word in self.words[first : last + 1]]
        return f"{name}={words[0]}" if len(words) == 1 else f"{name} in {{{', '.join(words)}}}"

    def predicates(self) -> Predicates:
        runs = np.concatenate([np.empty((0, 4)), *self.listed])
        nowhere = runs[:, FIRST] > runs[:, LAST]
        ordered = self.domain.kind != "nominal"
        return Predicates(
            self.domain,
            tuple(self.labels),
            np.concatenate([[0], np.cumsum([len(each) for each in self.listed])]).astype(np.int64),
            np.where(nowhere, NOWHERE, runs[:, FIRST]).astype(np.uint32),
            np.where(nowhere, NOWHERE, runs[:, LAST]).astype(np.uint32),
            runs[:, LOWER] if ordered else None,
            runs[:, UPPER] if ordered else None,
        )


class _Draft:
    """A workload in the making."""

    def __init__(self, encoded: Encoded) -> None:
        self.quasi = [_Side(domain) for domain in encoded.quasi]
        self.sensitive = [_Side(domain) for domain in encoded.sensitive]
        self.rows: list[tuple[list[int], list[int]]] = []

    def add(
        self,
        quasi: Mapping[int, Runs],
        sensitive: Mapping[int, Runs],
        labels: Mapping[str, str] | None = None,
    ) -> None:
        row: tuple[list[int], list[int]] = ([-1] * len(self.quasi), [-1] * len(self.sensitive))
        for sides, conditions, chosen in zip(
            (self.quasi, self.sensitive), (quasi, sensitive), row, strict=True
        ):
            for a, runs in conditions.items():
                side = sides[a]
                chosen[a] = side.condition(runs, None if labels is None else labels[side.domain.name])
        self.rows.append(row)

    def workload(self) -> Workload:
        chosen = np.array([row for row, _ in self.rows], np.int32).reshape(len(self.rows), len(self.quasi))
        asked = np.array([row for _, row in self.rows], np.int32).reshape(len(self.rows), len(self.sensitive))
        return Workload(
            tuple(side.predicates() for side in self.quasi),
            chosen,
            tuple(side.predicates() for side in self.sensitive),
            asked,
        )


def _drawn(side: _Side, share: Fraction, power: int, rng: np.random.Generator) -> Runs:
    n_values = side.domain.n_values
    b = n_chosen(n_values, share, power)
    if side.domain.kind == "nominal":
        return side.codes(side.by_label[rng.choice(n_values, b, replace=False)])
    start = int(rng.integers(n_values - b + 1))
    return side.range(start, start + b - 1)


def _range_queries(
    encoded: Encoded, columns: Sequence[int], share: Fraction, n: int, rng: np.random.Generator
) -> Workload:
    """Loukides & Shao's queries: see `preset`."""
    draft = _Draft(encoded)
    sizes = [encoded.quasi[a].n_codes for a in columns]
    flat = np.zeros(encoded.n_rows, np.int64)
    for a, size in zip([*columns[1:], columns[0]], [*sizes[1:], sizes[0]], strict=True):
        flat = flat * size + encoded.quasi_codes[a]
    counts = np.bincount(flat, minlength=math.prod(sizes)).reshape(*sizes[1:], sizes[0])
    n_values = [encoded.quasi[a].n_values for a in columns]
    counts = counts[tuple(slice(values) for values in (*n_values[1:], n_values[0]))]
    wanted = math.ceil(share * encoded.n_rows)
    if int(counts.sum(axis=-1).max()) < wanted:
        raise UsageError(
            f"no value of each attribute together with any range of {encoded.quasi[columns[0]].name!r} "
            f"holds {wanted} rows"
        )
    while len(draft.rows) < n:
        codes = [int(draft.quasi[a].by_label[rng.integers(encoded.quasi[a].n_values)]) for a in columns[1:]]
        age = int(rng.integers(n_values[0]))
        found = _grown(counts[tuple(codes)], age, wanted)
        if found is not None:
            ranges = {a: draft.quasi[a].range(code, code) for a, code in zip(columns[1:], codes, strict=True)}
            draft.add({columns[0]: draft.quasi[columns[0]].range(*found)} | ranges, {})
    return draft.workload()


def _grown(counts: npt.NDArray[np.int64], at: int, wanted: int) -> tuple[int, int] | None:
    """The range around `at`, grown by one value below and above in turn, that first holds the count."""
    if int(counts.sum()) < wanted:
        return None
    low = high = at
    held = int(counts[at])
    below = True
    while held < wanted:
        if (below and low > 0) or high == len(counts) - 1:
            low -= 1
            held += int(counts[low])
        else:
            high += 1
            held += int(counts[high])
        below = not below
    return low, high


# Queries as text

_CONDITIONS = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^&"])+')
_CONDITION = re.compile(
    r'\s*(?P<name>"(?:[^"\\]|\\.)*"|[^"=<>!&]+?)\s*(?P<how><=|>=|!=|=|<|>|\bin\b)\s*(?P<value>.*\S)\s*',
    re.DOTALL,
)
_ATOM = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^",]*[^",\s])\s*(?:,|$)')
_PLAIN_NAME = re.compile(r'[^"=<>!&\s]+')


class _Unreadable(Exception):
    """What is wrong with a query."""


def _quoted(label: str) -> str:
    return json.dumps(label, ensure_ascii=False)


def _quoted_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _unquoted(atom: str) -> str:
    if not atom.startswith('"'):
        return atom
    try:
        return str(json.loads(atom))
    except ValueError:
        raise _Unreadable(f"{atom} is no JSON string") from None


def _parse(draft: _Draft, query: str) -> None:
    conditions: dict[tuple[int, int], Runs] = {}
    labels: dict[str, str] = {}
    sides = [
        *(((0, a), side) for a, side in enumerate(draft.quasi)),
        *(((1, s), side) for s, side in enumerate(draft.sensitive)),
    ]
    names = {side.domain.name: (where, side) for where, side in sides}
    parts = _CONDITIONS.findall(query)
    if "&".join(parts) != query or not query.strip():
        raise _Unreadable("conditions are joined by single &; a quotation mark may be left open")
    for part in parts:
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise _Unreadable(f"{part.strip()!r} is no condition such as age>=40 or sex in {{Female, Male}}")
        name = _unquoted(match["name"])
        if name not in names:
            raise _Unreadable(f"no quasi-identifier or sensitive attribute is called {name!r}")
        where, side = names[name]
        runs = _runs(side, match["how"], match["value"])
        conditions[where] = _both(side, conditions[where], runs) if where in conditions else runs
        written = f"{_quoted_name(name)}{' in ' if match['how'] == 'in' else match['how']}{match['value']}"
        labels[name] = f"{labels[name]} & {written}" if name in labels else written
    quasi, sensitive = (
        {a: runs for (kind, a), runs in conditions.items() if kind == each} for each in (0, 1)
    )
    if len(sensitive) > 1:
        raise _Unreadable("it asks for more than one sensitive attribute")
    draft.add(quasi, sensitive, labels)


def _both(side: _Side, one: Runs, other: Runs) -> Runs:
    """The runs common to two conditions on one attribute."""
    a, b = np.repeat(one, len(other), axis=0), np.tile(other, (len(one), 1))
    starts, ends = [FIRST, LOWER], [LAST, UPPER]
    common = np.empty_like(a)
    common[:, starts] = np.maximum(a[:, starts], b[:, starts])
    common[:, ends] = np.minimum(a[:, ends], b[:, ends])
    return _kept(side, common)


def _kept(side: _Side, runs: Runs) -> Runs:
    """Without the runs that hold neither a value nor, on an ordered attribute, any place."""
    kept = runs[:, FIRST] <= runs[:, LAST]
    if side.domain.kind != "nominal":
        kept |= runs[:, LOWER] < runs[:, UPPER] + side.domain.unit_lattice
    return runs[kept]


def _runs(side: _Side, how: str, value: str) -> Runs:
    domain = side.domain
    if how == "in":
        opened, closed = value[0], value[-1]
        if (opened, closed) not in (("{", "}"), ("[", "]")):
            raise _Unreadable(f"'in' takes a set {{a, b}} or an interval [a, b], not {value}")
        atoms = _atoms(value[1:-1])
        if opened == "{":
            return _union([_runs(side, "=", atom) for atom in atoms])
        if len(atoms) != 2:
            raise _Unreadable(f"an interval has two ends, not {len(atoms)}")
        return _both(side, _runs(side, ">=", atoms[0]), _runs(side, "<=", atoms[1]))
    if domain.kind == "nominal":
        if how not in ("=", "!="):
            raise _Unreadable(f"the values of {domain.name!r} have no order; use =, != or in")
        inside = _nominal(side, _unquoted(value))
        if how == "=":
            return side.codes(inside)
        return side.codes(np.setdiff1d(np.arange(domain.n_values), inside))
    return _compared(side, how, value)


def _atoms(listed: str) -> list[str]:
    atoms, end = [], 0
    while end < len(listed):
        match = _ATOM.match(listed, end)
        if match is None:
            raise _Unreadable(f"{{{listed}}} is no list of values")
        atoms.append(match.group(1))
        end = match.end()
    return atoms


def _nominal(side: _Side, label: str) -> list[int]:
    """The codes of a value or node."""
    words = texts(side.domain.values)
    if label in words:
        return [words.index(label)]
    tree = side.domain.tree
    if tree is not None and label in tree.labels:
        node = tree.labels.index(label)
        return list(range(int(tree.first[node]), int(tree.last[node]) + 1))
    raise _Unreadable(f"{side.domain.name!r} has no value or node {label!r}")


def _node(side: _Side, value: str) -> Runs:
    """The runs of the set of a numeric attribute's levels that a value names."""
    levels = side.domain.levels
    label = _unquoted(value)
    if levels is None or label not in levels.labels:
        raise _Unreadable(
            f"{value} is no {side.domain.values.type} and no node, as {side.domain.name!r} needs"
        )
    s = levels.labels.index(label)
    of_code = levels.of_code[levels.level[s]]
    runs = side.codes(np.flatnonzero(of_code == s))
    if len(runs) == 1:
        runs[0, LOWER:] = levels.lower[s], levels.upper[s]
    return runs


def _without(side: _Side, node: Runs, how: str) -> Runs:
    if how != "!=":
        raise _Unreadable(f"a node of {side.domain.name!r} takes =, != or in")
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


def _compared(side: _Side, how: str, value: str) -> Runs:
    """The runs of a comparison with one value of an ordered attribute."""
    domain, line = side.domain, side.line
    assert domain.positions is not None
    end = float(domain.positions[-1])
    if domain.kind == "ordinal":
        words = texts(domain.values)
        if _unquoted(value) not in words:
            raise _Unreadable(f"{domain.name!r} has no value {value}")
        key: Any = words.index(_unquoted(value))
        place = Fraction(key)
    else:
        try:
            key = number(_unquoted(value), domain.values.type)
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


# Answers


def matching_rows(workload: Workload, i: int, encoded: Encoded) -> npt.NDArray[np.bool_]:
    """Which rows of an original meet query i."""
    meets = np.ones(encoded.n_rows, np.bool_)
    for predicates, codes, p in zip(
        (*workload.quasi, *workload.sensitive),
        (*encoded.quasi_codes, *encoded.sensitive_codes),
        np.concatenate([workload.chosen[i], workload.asked[i]]).tolist(),
        strict=True,
    ):
        if p >= 0:
            meets &= _members(predicates, predicates.domain.n_codes)[p][codes]
    return meets


def answer(
    workload: Workload,
    release: Release,
    *,
    true: npt.NDArray[np.int64] | None = None,
    n_threads: int | None = None,
) -> Answers:
    """The true counts of a workload in the original and what a release of it makes of them.

    Estimates assume that every value of a cell is equally likely and attributes independent; in a
    bucket every row may have every sensitive value of it. `true` are the `true_counts`, where known.
    """
    threads = available_threads(n_threads)
    return answer_from(workload, release.encoded, boxes(release, n_threads=threads), threads, true)


def true_counts(workload: Workload, original: Encoded, n_threads: int = 1) -> npt.NDArray[np.int64]:
    """Rows of the original that meet each query (int64)."""
    if len(workload.quasi) != len(original.quasi) or len(workload.sensitive) != len(original.sensitive):
        raise UsageError("the workload was made for a table with other attributes")
    return kernel.count(
        (*original.quasi_codes, *original.sensitive_codes),
        [_listed(predicates) for predicates in (*workload.quasi, *workload.sensitive)],
        np.concatenate([workload.chosen, workload.asked], axis=1),
        n_threads,
    )


def answer_from(
    workload: Workload,
    original: Encoded,
    shown: Boxes,
    n_threads: int = 1,
    true: npt.NDArray[np.int64] | None = None,
) -> Answers:
    """The true counts of a workload in an original, and those that what a release shows lets expect."""
    if true is None:
        true = true_counts(workload, original, n_threads)
    for predicates, held, asked in zip(workload.sensitive, shown.held, workload.asked.T, strict=True):
        if held is None and (asked >= 0).any():
            raise UsageError(f"the queries ask for {predicates.domain.name!r}, which is not published")
    estimate = _estimator(workload, shown, n_threads)
    estimated = np.zeros(len(workload))
    least, most = np.zeros(len(workload), np.int64), np.zeros(len(workload), np.int64)
    secret = np.full(len(workload), -1)
    at, secret_of = np.nonzero(workload.asked >= 0)
    secret[at] = secret_of
    for s in np.unique(secret).tolist():
        alike = np.flatnonzero(secret == s)
        held = shown.held[s] if s >= 0 else None
        if held is None:  # every row of a class counts
            n_classes = len(shown.sizes)
            lists = (np.arange(n_classes + 1), np.zeros(n_classes, np.uint32), shown.sizes)
            asked, asks = np.ones((1, 1), np.bool_), np.zeros(len(alike), np.int32)
        else:
            lists = (held.offsets, held.values, held.counts)
            asked, asks = _members(workload.sensitive[s], len(held.table)), workload.asked[alike, s]
        estimated[alike], least[alike], most[alike] = estimate(workload.chosen[alike], lists, asked, asks)
    return Answers(workload, true, estimated, least, most)


def _listed(
    predicates: Predicates,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The runs of codes of each predicate, without those in which no value lies."""
    somewhere = predicates.first != NOWHERE
    offsets = np.concatenate([[0], np.cumsum(somewhere)])[predicates.offsets].astype(np.int64)
    return offsets, predicates.first[somewhere], predicates.last[somewhere]


def _members(predicates: Predicates, n_codes: int) -> npt.NDArray[np.bool_]:
    """Which codes each predicate holds (predicates x codes)."""
    member = np.zeros((len(predicates), n_codes), np.bool_)
    for p, (start, stop) in enumerate(zip(predicates.offsets, predicates.offsets[1:], strict=False)):
        for run in range(start, stop):
            member[p, predicates.first[run] : int(predicates.last[run]) + 1] = True
    return member


def _estimator(workload: Workload, shown: Boxes, n_threads: int) -> Callable[..., Bounds]:
    """Estimate, least and most of queries (as `chosen`) for given counts of sensitive values.

    Those are the counts per class in CSR form, the sets of values asked for (sets x codes) and the set
    that each query asks for.
    """
    groups = shown.groups
    if groups is None:
        parts = [
            overlaps(cells, reach, predicates)
            for cells, reach, predicates in zip(shown.shown, shown.reaches, workload.quasi, strict=True)
        ]
        shares, kinds = [share for share, _ in parts], [kind for _, kind in parts]

        def of_classes(chosen: Indices, held: Held, asked: npt.NDArray[np.bool_], asks: Indices) -> Bounds:
            return kernel.estimate(shown.cells, shares, kinds, chosen, *held, asked, asks, n_threads)

        return of_classes
    predicates = [_listed(each) for each in workload.quasi]
    # a query without a condition on a quasi-identifier asks for any value of the first
    offsets, first, last = predicates[0]
    predicates[0] = (
        np.append(offsets, offsets[-1] + 1),
        np.append(first, np.uint32(0)),
        np.append(last, np.uint32(NOWHERE)),
    )

    def of_buckets(chosen: Indices, held: Held, asked: npt.NDArray[np.bool_], asks: Indices) -> Bounds:
        chosen = chosen.copy()
        chosen[(chosen < 0).all(axis=1), 0] = len(offsets) - 1
        return kernel.count_buckets(
            list(shown.cells), predicates, chosen, groups, *held, asked, asks, n_threads
        )

    return of_buckets
