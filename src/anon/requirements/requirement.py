# SPDX-License-Identifier: Apache-2.0
"""What a class must satisfy: k-anonymity, l-diversity, t-closeness and the others.

A requirement that is not about sizes alone applies to every sensitive attribute, or to the one
named by `sensitive`. Parameters are read as decimals: 0.29 is 29/100.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Number
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from anon.encoding import Domain
from anon.errors import NAME_SENSITIVE, SUPPRESS, DataError, Parameter, UsageError
from anon.requirements.option import Declared, flag
from anoncore.requirement import Conjunction

Real = int | float | Fraction
Counts = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
People = Literal["table", "weights"]
"""How the people of the population who look like a class are counted."""

SMALLEST = Fraction(1, 10**15)  # of a parameter that is not 0


class Requirement(Declared):
    """A test that every published class must pass.

    The first of its `options` asks for it, the others need that one. `asks_k` is whether its `least_rows` are
    the k of k-anonymity, `cacheable` whether its parameters tell all that it does, `of_table` whether it
    compares a class with the table, `on_spark` whether it can be sent to other machines, `by_levels` whether
    no test of one class decides it, so that it is enforced where levels of whole columns are chosen, and
    nowhere else.

    One that the independent re-check of a release has no test of brings its own, in plain NumPy:
    `recheck(counts)` says which groups of rows pass, told by `anon.release.recheck_requirements.Counts`
    of one sensitive attribute.
    """

    asks_k: ClassVar[bool] = False
    cacheable: ClassVar[bool] = True
    of_table: ClassVar[bool] = False
    on_spark: ClassVar[bool] = True
    by_levels: ClassVar[bool] = False
    sensitive: str | None = None

    @property
    def least_rows(self) -> int | None:
        """The rows that every class must have; None where it asks for none."""
        return None

    @property
    def people(self) -> People | None:
        """How people of the population who look like a class are counted; None where they are not."""
        return None

    def enough(self, rows: Counts, people: npt.NDArray[np.float64]) -> Bools:
        """Which classes pass, by the rows and the people of each."""
        return np.ones(len(rows), np.bool_)

    def holds_together(self, rows: Counts, people: npt.NDArray[np.float64], n_people: float) -> bool:
        """Whether the published classes pass together, of a population of `n_people`."""
        return True

    def explain_people(self, rows: int, people: float) -> tuple[str, Any]:
        """Why the table as one class fails: the reason, the tightest parameter."""
        raise NotImplementedError

    def of_units(self) -> Requirement:
        """The same, whose k counts units; itself where it has none."""
        return self

    @property
    def by_matching(self) -> bool:
        """Whether it is of rows that are compatible where null matches anything, and so not of classes."""
        return False

    @property
    def tests_sensitive(self) -> bool:
        """Whether it bounds what a class tells of sensitive values."""
        return type(self)._rule is not Requirement._rule

    @property
    def absorbing(self) -> bool:
        """Whether a passing class united with any other passes."""
        return False

    @property
    def monotone(self) -> bool:
        """Whether two passing classes united pass."""
        return True

    @property
    def family(self) -> str:
        """The kind of requirement, without its parameters."""
        return type(self).__name__

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        """By parameter: what is asked, and the name of the measure that tells what holds.

        `privacy` has the measures of the sensitive attribute, or of all.
        """
        return {}

    @classmethod
    def refuse_alone(cls, values: Mapping[str, Any]) -> None:
        """Refuse a setting of what is not asked for: a slip, not to be passed over."""
        if not cls.options:
            return
        first, *others = cls.options
        is_asked = values.get(first.key) is not None
        for option in () if is_asked else others:
            if values.get(option.key) is not None:
                raise UsageError(f"{option.flag} needs {first.flag}")
        for key in cls.needs if is_asked else ():
            if values.get(key) is None:
                raise UsageError(f"{first.flag} needs {flag(key)}")

    def settings(self) -> dict[str, Any]:
        return {key: value for key, value in super().settings().items() if key != "sensitive"}

    def attributes(self, domains: Sequence[Domain]) -> list[int]:
        """Which of the sensitive attributes are tested; an error if there is none to test."""
        if not domains:
            raise UsageError(
                f"{self} needs a sensitive attribute: ",
                Parameter("name one in the schema (sensitive=[...])", NAME_SENSITIVE.flag),
            )
        if self.sensitive is None:
            return list(range(len(domains)))
        names = [domain.name for domain in domains]
        if self.sensitive not in names:
            known = ", ".join(map(repr, names))
            raise UsageError(
                f"{self}: {self.sensitive!r} is not a sensitive attribute; choose one of {known}, or ",
                Parameter("add it to the schema (sensitive=[...])", "name it with --sensitive"),
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

    def _explain_rows(self, n_rows: int) -> tuple[str, Any]:
        """Why a table of `n_rows` rows has too few of them: the reason, the tightest parameter."""
        return f"the table has {plural(n_rows, 'row')}, so the largest k is {n_rows}", n_rows

    def _explain_sum(self, conjunction: Conjunction) -> tuple[str, Any] | None:
        """The same of a requirement that is not tested by attribute: the reason, the tightest parameter."""
        return None

    def _describe(self, text: str) -> str:
        return text if self.sensitive is None else f"{text} of {self.sensitive!r}"


def exact(x: Real) -> Fraction:
    """A parameter as the decimal fraction that it is written as."""
    return Fraction(str(x))


def refuse_missing(requirement: Requirement, domain: Domain, counts: Counts) -> None:
    missing = int(counts[domain.n_values :].sum())
    if missing:
        raise DataError(
            f"{requirement}: sensitive attribute {domain.name!r} has {plural(missing, 'missing value')}, "
            "without a place in its order or hierarchy; leave those rows out with ",
            SUPPRESS,
            column=domain.name,
            count=missing,
        )


def set_parameter(requirement: Requirement, field: str, value: Any) -> None:
    object.__setattr__(requirement, field, value)


def integer(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be a whole number, not {value!r}") from None
    if number < 1:
        raise UsageError(f"{name} = {number}: must be at least 1")
    return number


def real(
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
        raise UsageError(f"{name} = {written(number)}: must be {limits}")
    if number <= above:
        raise UsageError(f"{name} = {written(number)}: must be greater than {above:g}")
    if 0 < number < SMALLEST:
        raise UsageError(
            f"{name} is too small: must be {'0 or ' if above < 0 else ''}at least {float(SMALLEST):g}"
        )
    return number


def whole(x: Fraction) -> int | Fraction:
    return x.numerator if x.denominator == 1 else x


def written(x: Real) -> str:
    if isinstance(x, Fraction) and x.denominator > 1:
        return f"{x} (about {float(x):.6g})"
    return str(int(x)) if isinstance(x, float) and x == int(x) and abs(x) < 1e16 else str(x)


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
