# SPDX-License-Identifier: Apache-2.0
"""`pycanon.anonymity`: the tightest parameter of each requirement that a table meets.

`data` is a table, `quasi_ident` and `sens_att` name its columns. With several sensitive attributes
the answer is the worst over them; `gen=False` takes the other sensitive attributes as further
quasi-identifiers of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from anon.classes import group, sensitive_counts
from anon.encoding import encode
from anon.errors import UsageError
from anon.measures import Privacy
from anon.measures import measure_privacy as measure
from anon.schema import Schema
from anon.tables import read_table

TOLERANCE = 1e-12  # of entropies


def k_anonymity(data: Any, quasi_ident: Iterable[str]) -> int:
    """Rows of the smallest equivalence class."""
    return measured(data, quasi_ident).k


def alpha_k_anonymity(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> tuple[float, int]:
    """Greatest share of one sensitive value in a class, and k."""
    return tightest(data, quasi_ident, sens_att, gen).alpha, k_anonymity(data, quasi_ident)


def l_diversity(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True) -> int:
    """Fewest distinct sensitive values in a class."""
    return tightest(data, quasi_ident, sens_att, gen).l


def entropy_l_diversity(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> int:
    """Greatest whole l for which entropy l-diversity holds.

    pycanon truncates exp(H) as rounded, so that a class of three equal shares scores 2.
    """
    return tightest(data, quasi_ident, sens_att, gen).entropy_l


def recursive_c_l_diversity(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], imp: bool = False, gen: bool = True
) -> tuple[float, int]:
    """Least whole c for which recursive (c,l)-diversity holds at l = `l_diversity` (of `gen=True`).

    c is NaN at l = 1, and infinite where, with `gen=False`, a class has fewer than l values. pycanon
    sorts a class's counts upwards and takes the rarest value for r_1, the most frequent. `imp` prints a
    line where c cannot be told.
    """
    table, quasi, sensitive = read_table(data), list(quasi_ident), list(sens_att)
    l = l_diversity(table, quasi, sensitive)
    if l == 1 and imp:
        print("c for (c,l)-diversity cannot be calculated as l=1")
    return least_c(table, quasi, sensitive, gen, l), l


def least_c(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool, l: int) -> float:
    """The c of `recursive_c_l_diversity` at this l."""
    if l == 1:
        return math.nan
    quasi, sensitive = _names(data, quasi_ident, sens_att)
    worst = 0.0
    for others, name in _roles(quasi, sensitive, gen):
        encoded = encode(read_table(data), Schema(others, [name]))
        classes = group(encoded.quasi_codes)
        counts = sensitive_counts(classes, encoded.sensitive_codes[0], encoded.sensitive[0].n_codes)
        class_of = np.repeat(np.arange(classes.n_classes), np.diff(counts.offsets))
        falling = counts.counts[np.lexsort((-counts.counts, class_of))]
        rank = np.arange(len(falling)) - counts.offsets[class_of]
        rest = np.bincount(class_of, np.where(rank >= l - 1, falling, 0), classes.n_classes)
        if not rest.all():
            return math.inf
        worst = max(worst, float((falling[counts.offsets[:-1]] / rest).max()))
    return math.floor(worst) + 1


def basic_beta_likeness(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> float:
    """Greatest relative gain of a sensitive value's share in a class over its share in the table."""
    return tightest(data, quasi_ident, sens_att, gen).beta


def enhanced_beta_likeness(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> float:
    """Least beta for which enhanced beta-likeness holds; infinite if a gain exceeds -ln p.

    pycanon caps the greatest gain by the greatest -ln p, whichever value it belongs to, and so gives
    a number where no beta holds.
    """
    return tightest(data, quasi_ident, sens_att, gen).beta_enhanced


def t_closeness(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True) -> float:
    """Greatest distance of a class from the table: ordered EMD for numbers, equal distance for labels."""
    return tightest(data, quasi_ident, sens_att, gen).t


def delta_disclosure(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> float:
    """Greatest |ln(share in the class / share in the table)|; infinite if a class lacks a value.

    pycanon leaves out the values that a class lacks, though each of them rules disclosure privacy out.
    """
    return tightest(data, quasi_ident, sens_att, gen).delta


def measured(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str] = (), **how: Any) -> Privacy:
    """Every privacy measure of the table; its columns are checked first, in pycanon's words.

    Rows of `*` only are a class like any other, as for pycanon; `anon.check` sets them apart.
    """
    quasi, sensitive = _names(data, quasi_ident, sens_att)
    encoded = encode(read_table(data), Schema(quasi, sensitive))
    classes = group(encoded.quasi_codes)
    return measure(classes, encoded.sensitive, encoded.sensitive_codes, joint=False, **how)


@dataclass(frozen=True)
class Tightest:
    """The tightest parameters that a table meets, each the worst over its sensitive attributes."""

    alpha: float
    l: int
    entropy_l: int
    beta: float
    beta_enhanced: float
    delta: float
    t: float


def tightest(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool) -> Tightest:
    """All parameters but k and c, measured once for each set of quasi-identifiers."""
    quasi, sensitive = _names(data, quasi_ident, sens_att)
    split = [(others, [name]) for others, name in _roles(quasi, sensitive, gen)]
    roles = [(quasi, sensitive)] if gen else split
    measures = [each for role in roles for each in measured(data, *role).by_sensitive.values()]

    def known(name: str) -> list[Any]:
        return [value for each in measures if (value := getattr(each, name)) is not None]

    distances = [each.t_equal if each.t_ordered is None else each.t_ordered for each in measures]
    return Tightest(
        alpha=max(known("alpha")),
        l=min(known("l_distinct")),
        entropy_l=math.floor(min(known("l_entropy")) * (1 + TOLERANCE)),
        beta=max(known("beta")),
        beta_enhanced=max(known("beta_enhanced")),
        delta=max(known("delta")),
        t=max(distance for distance in distances if distance is not None),
    )


def _roles(quasi: list[str], sensitive: list[str], gen: bool) -> Iterator[tuple[list[str], str]]:
    """For each sensitive attribute the quasi-identifiers it is measured against."""
    for name in sensitive:
        yield quasi if gen else [*quasi, *(other for other in sensitive if other != name)], name


def _names(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str]) -> tuple[list[str], list[str]]:
    known = read_table(data).column_names
    roles = []
    for names, role in ((quasi_ident, "quasi-identifiers"), (sens_att, "sensitive attributes")):
        listed = [str(name) for name in names]
        unknown = [name for name in listed if name not in known]
        if unknown:
            raise UsageError(f"Values not defined: {unknown}. Cannot be {role}")
        roles.append(listed)
    return roles[0], roles[1]
