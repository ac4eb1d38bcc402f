# SPDX-License-Identifier: Apache-2.0
"""What a class must satisfy: k-anonymity, l-diversity, t-closeness and the others.

A requirement that is not about sizes alone applies to every sensitive attribute, or to the one
named by `sensitive`. Parameters are read as decimals: 0.29 is 29/100.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Number
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from anon.encode import Domain
from anon.errors import DataError, InfeasibleError, UsageError
from anoncore.requirement import Conjunction, passing_classes

Real = int | float | Fraction
Counts = npt.NDArray[np.int64]

SMALLEST = Fraction(1, 10**15)  # of a parameter that is not 0

SIGNATURE = (
    "int32(CPointer(int64), CPointer(int64), int64, CPointer(int64), int64, int64, int64, CPointer(float64))"
)
"""For `numba.cfunc`: (values, counts, n_present, table_counts, n_values, class_size, n_rows, params)."""

_COUNTS_POINTER = ctypes.POINTER(ctypes.c_int64)
_ARGUMENTS = (
    *(_COUNTS_POINTER, _COUNTS_POINTER, ctypes.c_int64, _COUNTS_POINTER),
    *(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_double)),
)


class Requirement:
    """A test that every published class must pass."""

    sensitive: str | None = None

    def attributes(self, domains: Sequence[Domain]) -> list[int]:
        """Which of the sensitive attributes are tested; an error if there is none to test."""
        if not domains:
            raise UsageError(f"{self} needs a sensitive attribute: name one in the schema (sensitive=[...])")
        if self.sensitive is None:
            return list(range(len(domains)))
        names = [domain.name for domain in domains]
        if self.sensitive not in names:
            known = ", ".join(map(repr, names))
            raise UsageError(
                f"{self}: {self.sensitive!r} is not a sensitive attribute; choose one of {known}, "
                "or add it to the schema (sensitive=[...])"
            )
        return [names.index(self.sensitive)]

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        """The requirement as rules of the kernel's `Conjunction`."""
        return [self._rule(a, domains[a], table_counts[a]) for a in self.attributes(domains)]

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        raise NotImplementedError

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        """Why the table as one class fails on the sensitive attribute `name`.

        (a number that is least for the attribute hardest to satisfy, the reason, the tightest parameter)
        """
        return 0, f"the whole table as one class fails it on {name!r}", None

    def _describe(self, text: str) -> str:
        return text if self.sensitive is None else f"{text} of {self.sensitive!r}"


@dataclass(frozen=True)
class KAnonymity(Requirement):
    """At least k rows in every class."""

    k: int

    def __post_init__(self) -> None:
        _set(self, "k", _integer("k", self.k))

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("size", self.k)]

    def __str__(self) -> str:
        return f"{self.k}-anonymity"


@dataclass(frozen=True)
class LDiversity(Requirement):
    """Diverse sensitive values in every class.

    `kind`: "probabilistic" (no value has more than the share 1/l), "distinct" (at least l values),
    "entropy" (entropy at least ln l), "recursive" (the most frequent value has fewer than c times
    the rows of the l-th and all rarer ones together; l is an integer, l = 1 always passes).
    """

    l: Real
    kind: Literal["probabilistic", "distinct", "entropy", "recursive"] = "probabilistic"
    c: Real = 3.0
    sensitive: str | None = None

    def __post_init__(self) -> None:
        kinds = ("probabilistic", "distinct", "entropy", "recursive")
        if self.kind not in kinds:
            raise UsageError(f"kind={self.kind!r}: choose one of {', '.join(map(repr, kinds))}")
        recursive = self.kind == "recursive"
        _set(self, "l", _integer("l", self.l) if recursive else _real("l", self.l, least=1))
        _set(self, "c", _real("c", self.c, above=0))

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
                f"{name!r} has {_plural(values, 'value')}, so the largest l is {values}",
                values,
            )
        if self.kind == "probabilistic":
            largest = _whole(Fraction(n_rows, most))
            reason = (
                f"one value of {name!r} has {most} of {n_rows} rows, so the largest l is {_number(largest)}"
            )
            return float(largest), reason, largest
        if self.kind == "entropy":
            share = present / n_rows
            perplexity = math.exp(-float(share @ np.log(share)))
            return perplexity, f"{name!r} has little entropy, the largest l is {perplexity!r}", perplexity
        needed = _whole(Fraction(most, rest))
        return -float(needed), f"{name!r} needs c > {_number(needed)} for l = {self.l}", needed

    def __str__(self) -> str:
        if self.kind == "recursive":
            return self._describe(f"({_number(self.c)},{self.l})-diversity (recursive)")
        return self._describe(f"{_number(self.l)}-diversity ({self.kind})")


@dataclass(frozen=True)
class TCloseness(Requirement):
    """In every class the distribution of the sensitive values is within t of the table's.

    `distance`: "js" (Jensen-Shannon divergence, natural logarithm), "equal" (half the sum of
    absolute differences), "ordered" (earth mover's over the ranks of a numeric or ordinal
    attribute), "hierarchical" (earth mover's over the hierarchy of a nominal one).
    """

    t: Real
    distance: Literal["js", "equal", "ordered", "hierarchical"] = "js"
    sensitive: str | None = None

    def __post_init__(self) -> None:
        distances = ("js", "equal", "ordered", "hierarchical")
        if self.distance not in distances:
            raise UsageError(f"distance={self.distance!r}: choose one of {', '.join(map(repr, distances))}")
        _set(self, "t", _real("t", self.t, least=0))

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        if self.distance == "js":
            return "js", a, float(self.t)
        if self.distance == "equal":
            return "equal", a, exact(self.t)
        if self.distance == "ordered":
            if domain.kind == "nominal":
                raise UsageError(
                    f"{self}: {domain.name!r} has no order; declare it ordinal or numeric, "
                    'or use distance="hierarchical", "equal" or "js"'
                )
            _refuse_missing(self, domain, counts)
            return "ordered", a, exact(self.t)
        if domain.kind != "nominal":
            raise UsageError(f'{self}: {domain.name!r} is {domain.kind}; use distance="ordered"')
        _refuse_missing(self, domain, counts)
        if domain.tree is None:  # one level: the distance is "equal"
            return "equal", a, exact(self.t)
        return "hierarchical", a, exact(self.t), _tree(domain)

    def __str__(self) -> str:
        return self._describe(f"{_number(self.t)}-closeness ({self.distance})")


@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """|ln(p/q)| < delta for every sensitive value of the table: p its share in the class, q in the table."""

    delta: Real
    sensitive: str | None = None

    def __post_init__(self) -> None:
        _set(self, "delta", _real("delta", self.delta, above=0))

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "delta", a, float(self.delta)

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        return 0, "delta must be greater than 1e-12", 1e-12

    def __str__(self) -> str:
        return self._describe(f"{_number(self.delta)}-disclosure privacy")


@dataclass(frozen=True)
class AlphaK(Requirement):
    """At least k rows in every class, and no sensitive value with more than the share alpha."""

    alpha: Real
    k: int
    sensitive: str | None = None

    def __post_init__(self) -> None:
        _set(self, "alpha", _real("alpha", self.alpha, above=0, most=1))
        _set(self, "k", _integer("k", self.k))

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("size", self.k), *super().rules(domains, table_counts)]

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "share", a, exact(self.alpha)

    def _explain(self, name: str, counts: Counts, n_rows: int) -> tuple[float, str, Any]:
        most = int(counts.max())
        least = _whole(Fraction(most, n_rows))
        reason = f"one value of {name!r} has {most} of {n_rows} rows, so the least alpha is {_number(least)}"
        return -float(least), reason, least

    def __str__(self) -> str:
        return self._describe(f"({_number(self.alpha)},{self.k})-anonymity")


@dataclass(frozen=True)
class BetaLikeness(Requirement):
    """In every class, no sensitive value's share exceeds the table's by more than beta times the table's.

    `enhanced` also bounds the gain by -ln of the table's share (Cao & Karras 2012).
    """

    beta: Real
    enhanced: bool = False
    sensitive: str | None = None

    def __post_init__(self) -> None:
        _set(self, "beta", _real("beta", self.beta, above=0))
        _set(self, "enhanced", bool(self.enhanced))

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "enhanced_beta" if self.enhanced else "beta", a, exact(self.beta)

    def __str__(self) -> str:
        kind = "enhanced" if self.enhanced else "basic"
        return self._describe(f"{kind} {_number(self.beta)}-likeness")


@dataclass(frozen=True)
class SDiversityBound(Requirement):
    """The S-diversities of a class, summed over the sensitive attributes, are at most `bound`.

    S-diversity is the mean closeness of pairs of rows, pairs with a closeness below 1 - r counted
    as 0 (Loukides & Shao 2008, defs 2.3 and 2.4); low is good. `sensitive` restricts the sum to one
    attribute. With r < 1 merging two passing classes may fail.
    """

    bound: Real
    r: Real = 1.0
    sensitive: str | None = None

    def __post_init__(self) -> None:
        _set(self, "bound", _real("bound", self.bound, least=0))
        _set(self, "r", _real("r", self.r, least=0, most=1))

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        lines: list[tuple[int, Any]] = []
        for a in self.attributes(domains):
            domain = domains[a]
            _refuse_missing(self, domain, table_counts[a])
            if domain.kind != "nominal":
                lines.append((a, domain.positions))
            else:
                lines.append((a, None if domain.tree is None else _tree(domain)))
        return [("s_diversity", float(self.bound), float(self.r), lines)]

    def __str__(self) -> str:
        return self._describe(f"S-diversity at most {_number(self.bound)} (r = {_number(self.r)})")


@dataclass(frozen=True, repr=False)
class Custom(Requirement):
    """A user's own test, a Numba `cfunc` with `SIGNATURE`; non-zero means that the class passes.

    `params` (floats) is handed to it. It is called from several threads at once, without Python. A
    table that fails it as one class is taken as infeasible.
    """

    cfunc: Any
    params: tuple[float, ...] = ()
    name: str = "custom requirement"
    sensitive: str | None = None

    def __post_init__(self) -> None:
        try:
            _set(self, "params", tuple(map(float, self.params)))
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{self.name}: params must be a list of numbers") from None
        signature = getattr(self.cfunc, "ctypes", None)
        if (
            not isinstance(getattr(self.cfunc, "address", None), int)
            or tuple(getattr(signature, "argtypes", ())) != _ARGUMENTS
            or getattr(signature, "restype", None) is not ctypes.c_int32
        ):
            raise UsageError(f"{self.name}: cfunc must be made by numba.cfunc(anon.requirements.SIGNATURE)")

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "custom", a, self.cfunc, np.array(self.params, dtype=np.float64)

    def __str__(self) -> str:
        return self._describe(self.name)

    def __repr__(self) -> str:
        return f"Custom({self.name!r}, params={self.params!r}, sensitive={self.sensitive!r})"


def check_list(require: Any) -> None:
    """Raise UsageError unless `require` is a list of requirements."""
    if isinstance(require, Requirement):
        raise UsageError(f"require takes a list: write require=[{require!r}]")
    if not isinstance(require, Sequence):
        raise UsageError(f"require must be a list of requirements, not {type(require).__name__}")
    for requirement in require:
        if not isinstance(requirement, Requirement):
            raise UsageError(
                f"require takes requirements such as KAnonymity(10), not {type(requirement).__name__}"
            )


def exact(x: Real) -> Fraction:
    """A parameter as the decimal fraction that it is written as."""
    return Fraction(str(x))


def compile(
    requirements: Sequence[Requirement],
    domains: Sequence[Domain],
    table_counts: Sequence[Counts],
    n_rows: int,
) -> Conjunction:
    """The requirements as one test for the kernels.

    `domains` are the sensitive attributes', `table_counts` (int64, one per code) count the `n_rows`
    published rows; a value that only suppressed rows have counts 0 and is not in the table.
    """
    rules = [rule for requirement in requirements for rule in requirement.rules(domains, table_counts)]
    return Conjunction(table_counts, n_rows, rules)


def infeasible(
    requirements: Sequence[Requirement],
    domains: Sequence[Domain],
    table_counts: Sequence[Counts],
    n_rows: int,
) -> InfeasibleError | None:
    """The first requirement that the table as one class fails, with the tightest value that can be met.

    Arguments as for `compile`. A table without rows fails nothing.
    """
    if n_rows == 0:
        return None
    for requirement in requirements:
        conjunction = compile([requirement], domains, table_counts, n_rows)
        if _one_class_passes(conjunction, table_counts, n_rows):
            continue
        if isinstance(requirement, KAnonymity | AlphaK) and requirement.k > n_rows:
            reason = f"the table has {_plural(n_rows, 'row')}, so the largest k is {n_rows}"
            tightest: Any = n_rows
        elif isinstance(requirement, SDiversityBound):
            tightest = conjunction.table_diversities[0]
            reason = f"the whole table as one class has {tightest!r}, and that is the least bound"
        else:
            failing = [
                requirement._explain(domains[a].name, table_counts[a], n_rows)
                for a in requirement.attributes(domains)
                if not _one_class_passes(
                    Conjunction(table_counts, n_rows, [requirement._rule(a, domains[a], table_counts[a])]),
                    table_counts,
                    n_rows,
                )
            ]
            _, reason, tightest = min(failing, key=operator.itemgetter(0))
        return InfeasibleError(
            f"{requirement} cannot be met: {reason}", requirement=requirement, tightest=tightest
        )
    return None


def _one_class_passes(conjunction: Conjunction, table_counts: Sequence[Counts], n_rows: int) -> bool:
    codes = [np.flatnonzero(counts).astype(np.int64) for counts in table_counts]
    counts = [table[table > 0] for table in table_counts]
    offsets = [np.array([0, len(present)], dtype=np.int64) for present in codes]
    sizes = np.array([n_rows], dtype=np.int64)
    return bool(passing_classes(conjunction, sizes, offsets, codes, counts)[0])


def _refuse_missing(requirement: Requirement, domain: Domain, counts: Counts) -> None:
    missing = int(counts[domain.n_values :].sum())
    if missing:
        raise DataError(
            f"{requirement}: sensitive attribute {domain.name!r} has {_plural(missing, 'missing value')}, "
            'without a place in its order or hierarchy; leave those rows out with missing="suppress"',
            column=domain.name,
            count=missing,
        )


def _tree(domain: Domain) -> tuple[npt.NDArray[np.int32], ...]:
    tree = domain.tree
    assert tree is not None
    return tree.parent, tree.first, tree.last, tree.depth, tree.leaf


def _set(requirement: Requirement, field: str, value: Any) -> None:
    object.__setattr__(requirement, field, value)


def _integer(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be a whole number, not {value!r}") from None
    if number < 1:
        raise UsageError(f"{name} = {number}: must be at least 1")
    return number


def _real(
    name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf
) -> Real:
    """A finite int, float or Fraction within the bounds; other number types become one of these.

    A number other than 0 is at least 1e-15 from it: nearer to it no count of rows tells the difference.
    """
    number: Real
    if isinstance(value, bool | np.bool_) or not isinstance(value, Number):
        raise UsageError(f"{name} must be a number, not {value!r}")
    if isinstance(value, int | Fraction) or (isinstance(value, float) and not isinstance(value, np.floating)):
        number = value
    elif isinstance(value, Integral):
        number = int(value)
    else:
        try:
            number = float(str(value))
            if number == 0 and value:
                number = math.ulp(0.0)
            elif SMALLEST <= abs(number) < math.inf and not isinstance(value, np.floating):
                number = Fraction(str(value))
        except ValueError:
            raise UsageError(f"{name} must be a finite number, not {value!r}") from None
    if not -sys.float_info.max <= number <= sys.float_info.max:
        raise UsageError(f"{name} must be a finite number, not {value!r}")
    if number < least or number > most:
        limits = f"at least {least:g}" if most == math.inf else f"between {max(least, 0):g} and {most:g}"
        raise UsageError(f"{name} = {_number(number)}: must be {limits}")
    if number <= above:
        raise UsageError(f"{name} = {_number(number)}: must be greater than {above:g}")
    if 0 < number < SMALLEST:
        raise UsageError(
            f"{name} is too small: must be {'0 or ' if above < 0 else ''}at least {float(SMALLEST):g}"
        )
    return number


def _whole(x: Fraction) -> int | Fraction:
    return x.numerator if x.denominator == 1 else x


def _number(x: Real) -> str:
    if isinstance(x, Fraction) and x.denominator > 1:
        return f"{x} (about {float(x):.6g})"
    return str(int(x)) if isinstance(x, float) and x == int(x) and abs(x) < 1e16 else str(x)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
