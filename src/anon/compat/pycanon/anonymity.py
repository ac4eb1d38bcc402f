# SPDX-License-Identifier: Apache-2.0
"""`pycanon.anonymity`: the tightest parameter of each requirement that a table meets.

`data` is a table, `quasi_ident` and `sens_att` name its columns. With several sensitive attributes
the answer is the worst over them; `gen=False` takes the other sensitive attributes as further
quasi-identifiers of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from anon.check import check
from anon.classes import group, sensitive_counts
from anon.encode import encode
from anon.errors import UsageError
from anon.privacy import Disclosure, Privacy
from anon.read import read_table
from anon.schema import Schema

TOLERANCE = 1e-12  # of entropies


def k_anonymity(data: Any, quasi_ident: Iterable[str]) -> int:
    """Rows of the smallest equivalence class."""
    return measured(data, quasi_ident).k


def alpha_k_anonymity(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> tuple[float, int]:
    """Greatest share of one sensitive value in a class, and k."""
    alpha = max(_number(found.alpha) for found in _each(data, quasi_ident, sens_att, gen))
    return alpha, k_anonymity(data, quasi_ident)


def l_diversity(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True) -> int:
    """Fewest distinct sensitive values in a class."""
    return int(min(_number(found.l_distinct) for found in _each(data, quasi_ident, sens_att, gen)))


def entropy_l_diversity(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> int:
    """Greatest whole l for which entropy l-diversity holds.

    pycanon truncates exp(H) as rounded, so that a class of three equal shares scores 2.
    """
    least = min(_number(found.l_entropy) for found in _each(data, quasi_ident, sens_att, gen))
    return math.floor(least * (1 + TOLERANCE))


def recursive_c_l_diversity(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], imp: bool = False, gen: bool = True
) -> tuple[float, int]:
    """Least whole c for which recursive (c,l)-diversity holds at l = `l_diversity`; c is NaN at l = 1.

    pycanon sorts a class's counts upwards and takes the rarest value for r_1, the most frequent. `imp`
    prints a line where c cannot be told.
    """
    quasi, sensitive = _names(data, quasi_ident, sens_att)
    l = l_diversity(data, quasi, sensitive)
    if l == 1:
        if imp:
            print("c for (c,l)-diversity cannot be calculated as l=1")
        return math.nan, 1
    worst = 0.0
    for others, name in _roles(quasi, sensitive, gen):
        encoded = encode(read_table(data), Schema(others, [name]))
        classes = group(encoded.quasi_codes)
        counts = sensitive_counts(classes, encoded.sensitive_codes[0], encoded.sensitive[0].n_codes)
        class_of = np.repeat(np.arange(classes.n_classes), np.diff(counts.offsets))
        falling = counts.counts[np.lexsort((-counts.counts, class_of))]
        rank = np.arange(len(falling)) - counts.offsets[class_of]
        rest = np.bincount(class_of, np.where(rank >= l - 1, falling, 0), classes.n_classes)
        worst = max(worst, float((falling[counts.offsets[:-1]] / rest).max()))
    return math.floor(worst) + 1, l


def basic_beta_likeness(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> float:
    """Greatest relative gain of a sensitive value's share in a class over its share in the table."""
    return max(_number(found.beta) for found in _each(data, quasi_ident, sens_att, gen))


def enhanced_beta_likeness(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> float:
    """Least beta for which enhanced beta-likeness holds; infinite if a gain exceeds -ln p.

    pycanon caps the greatest gain by the greatest -ln p, whichever value it belongs to, and so gives
    a number where no beta holds.
    """
    return max(_number(found.beta_enhanced) for found in _each(data, quasi_ident, sens_att, gen))


def t_closeness(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True) -> float:
    """Greatest distance of a class from the table: ordered EMD for numbers, equal distance for labels."""
    return max(
        _number(found.t_equal if found.t_ordered is None else found.t_ordered)
        for found in _each(data, quasi_ident, sens_att, gen)
    )


def delta_disclosure(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> float:
    """Greatest |ln(share in the class / share in the table)|; infinite if a class lacks a value.

    pycanon leaves out the values that a class lacks, though each of them rules disclosure privacy out.
    """
    return max(_number(found.delta) for found in _each(data, quasi_ident, sens_att, gen))


def measured(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str] = (), **how: Any) -> Privacy:
    """Every privacy measure of the table; its columns are checked first, in pycanon's words."""
    quasi, sensitive = _names(data, quasi_ident, sens_att)
    return check(read_table(data), Schema(quasi, sensitive), **how)


def _each(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool) -> Iterator[Disclosure]:
    quasi, sensitive = _names(data, quasi_ident, sens_att)
    if gen:
        yield from measured(data, quasi, sensitive).by_sensitive.values()
        return
    for others, name in _roles(quasi, sensitive, gen):
        yield measured(data, others, [name])


def _roles(quasi: list[str], sensitive: list[str], gen: bool) -> Iterator[tuple[list[str], str]]:
    """For each sensitive attribute the quasi-identifiers it is measured against."""
    for name in sensitive:
        yield quasi if gen else [*quasi, *(other for other in sensitive if other != name)], name


def _names(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str]) -> tuple[list[str], list[str]]:
    known = read_table(data).column_names
    found = []
    for names, role in ((quasi_ident, "quasi-identifiers"), (sens_att, "sensitive attributes")):
        listed = [str(name) for name in names]
        unknown = [name for name in listed if name not in known]
        if unknown:
            raise UsageError(f"Values not defined: {unknown}. Cannot be {role}")
        found.append(listed)
    return found[0], found[1]


def _number(value: float | None) -> float:
    assert value is not None  # None is for a table without sensitive attributes
    return value
