# SPDX-License-Identifier: Apache-2.0
"""l-diversity and (alpha, k)-anonymity: no sensitive value too frequent in a class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from anon.encoding import Domain
from anon.errors import Parameter, UsageError
from anon.requirements.anonymity import counted
from anon.requirements.option import Option, plain, whole_if
from anon.requirements.requirement import (
    Counts,
    Real,
    Requirement,
    exact,
    integer,
    plural,
    real,
    set_parameter,
    whole,
    written,
)

Kind = Literal["probabilistic", "distinct", "entropy", "recursive"]


@dataclass(frozen=True)
class LDiversity(Requirement):
    """Diverse sensitive values in every class.

    `kind`: "probabilistic" (no value has more than the share 1/l), "distinct" (at least l values),
    "entropy" (entropy at least ln l), "recursive" (the most frequent value has fewer than c times
    the rows of the l-th and all rarer ones together; l is an integer, l = 1 always passes).
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option("l", float, "l-diversity.", read=whole_if),
        Option("l_kind", Kind, "probabilistic (default), distinct, entropy or recursive.", "kind"),
        Option("c", float, "c of recursive (c,l)-diversity (3)."),
    )

    l: Real
    kind: Kind = "probabilistic"
    c: Real = 3.0
    sensitive: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            known = ", ".join(map(repr, get_args(Kind)))
            raise UsageError(
                Parameter(f"kind={self.kind!r}", f"--l-kind {self.kind}"), f": choose one of {known}"
            )
        recursive = self.kind == "recursive"
        set_parameter(self, "l", integer("l", self.l) if recursive else real("l", self.l, least=1))
        set_parameter(self, "c", real("c", self.c, above=0))

    @classmethod
    def refuse_alone(cls, values: Mapping[str, Any]) -> None:
        super().refuse_alone(values)
        if values.get("c") is not None and values.get("l_kind") != "recursive":
            raise UsageError("--c is a setting of --l-kind recursive")

    def settings(self) -> dict[str, Any]:
        return super().settings() | ({"c": plain(self.c)} if self.kind == "recursive" else {})

    @property
    def absorbing(self) -> bool:
        return self.kind == "distinct"

    @property
    def family(self) -> str:
        return "l-diversity" if self.kind == "probabilistic" else f"{self.kind} l-diversity"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        if self.kind == "recursive":
            return {"c, exclusive": (self.c, f"recursive_c{self.l}")}
        return {"l": (self.l, f"l_{self.kind}")}

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        if self.kind == "probabilistic":
            return "share", a, 1 / exact(self.l)
        if self.kind == "distinct":
            return "distinct", a, math.ceil(exact(self.l))
        if self.kind == "entropy":
            return "entropy", a, float(self.l)
        return "recursive", a, exact(self.c), self.l

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        present = np.sort(counts[counts > 0])[::-1]
        values, most = len(present), int(present[0])
        rest = int(present[int(self.l) - 1 :].sum())
        if self.kind == "distinct" or (self.kind == "recursive" and not rest):
            return (
                values - 1e12,
                f"{name!r} has {plural(values, 'value')}, so the largest l is {values}",
                values,
            )
        if self.kind == "probabilistic":
            largest = whole(Fraction(n_rows, most))
            reason = (
                f"one value of {name!r} has {most} of {n_rows} rows, so the largest l is {written(largest)}"
            )
            return float(largest), reason, largest
        if self.kind == "entropy":
            share = present / n_rows
            perplexity = math.exp(-float(share @ np.log(share)))
            return perplexity, f"{name!r} has little entropy, the largest l is {perplexity!r}", perplexity
        needed = whole(Fraction(most, rest))
        return -float(needed), f"{name!r} needs c > {written(needed)} for l = {self.l}", needed

    def __str__(self) -> str:
        if self.kind == "recursive":
            return self._describe(f"({written(self.c)},{self.l})-diversity (recursive)")
        return self._describe(f"{written(self.l)}-diversity ({self.kind})")


@dataclass(frozen=True)
class AlphaK(Requirement):
    """At least k rows in every class, and no sensitive value with more than the share alpha.

    `count` is whom k counts, as for `KAnonymity`.
    """

    asks_k: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (Option("alpha", float, "(α,k)-anonymity, with --k."),)
    needs: ClassVar[tuple[str, ...]] = ("k",)

    alpha: Real
    k: int
    sensitive: str | None = None
    count: str | None = None

    def __post_init__(self) -> None:
        counted(self.count)
        set_parameter(self, "alpha", real("alpha", self.alpha, above=0, most=1))
        set_parameter(self, "k", integer("k", self.k))

    @property
    def least_rows(self) -> int:
        return self.k

    def of_units(self) -> AlphaK:
        return replace(self, count="units")

    @property
    def family(self) -> str:
        return "(α,k)-anonymity"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"alpha": (self.alpha, "alpha"), "k": (self.k, "k_units" if self.count == "units" else "k")}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("units" if self.count == "units" else "size", self.k), *super().rules(domains, table_counts)]

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "share", a, exact(self.alpha)

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        most = int(counts.max())
        least = whole(Fraction(most, n_rows))
        reason = f"one value of {name!r} has {most} of {n_rows} rows, so the least alpha is {written(least)}"
        return -float(least), reason, least

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Self:
        return super().of(values, count=values.get("k_count"), **fixed)

    def settings(self) -> dict[str, Any]:
        return {"k_count" if key == "count" else key: value for key, value in super().settings().items()}

    def __str__(self) -> str:
        of_units = f" of {self.count}" if self.count else ""
        return self._describe(f"({written(self.alpha)},{self.k})-anonymity{of_units}")

    def __repr__(self) -> str:
        count = f", count={self.count!r}" if self.count else ""
        return f"AlphaK(alpha={self.alpha!r}, k={self.k}, sensitive={self.sensitive!r}{count})"
