# SPDX-License-Identifier: Apache-2.0
"""Queries: conjunctions of sets and ranges of values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from anon.classes import keys, quote, texts
from anon.encoding import Domain, Encoded
from anon.errors import UsageError, did_you_mean
from anon.measures.estimates import Predicates

Reading = Literal["anatomy", "literal"]
Indices = npt.NDArray[np.int32]
Held = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.int64]]  # counts in CSR form
Bounds = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

NOWHERE = 2**32 - 1  # the code of a run that no value of the domain lies in
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


def position_of(domains: Sequence[Domain], name: str) -> int:
    names = [domain.name for domain in domains]
    if name not in names:
        hint = did_you_mean(name, names)
        raise UsageError(f"no attribute {name!r} to ask for; {hint}there are {', '.join(map(repr, names))}")
    return names.index(name)


class Side:
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
        name = quoted_name(self.domain.name)
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


class Draft:
    """A workload in the making."""

    def __init__(self, encoded: Encoded) -> None:
        self.quasi = [Side(domain) for domain in encoded.quasi]
        self.sensitive = [Side(domain) for domain in encoded.sensitive]
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


_PLAIN_NAME = re.compile(r'[^"=<>!&\s]+')


class Unreadable(Exception):
    """What is wrong with a query."""


def _quoted(label: str) -> str:
    return json.dumps(label, ensure_ascii=False)


def quoted_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def unquoted(atom: str) -> str:
    if not atom.startswith('"'):
        return atom
    try:
        return str(json.loads(atom))
    except ValueError:
        raise Unreadable(f"{atom} is no JSON string") from None
