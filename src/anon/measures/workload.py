# SPDX-License-Identifier: Apache-2.0
"""COUNT workloads: drawn, preset or written queries, and how well a release answers them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from anon.encoding import Domain, Encoded
from anon.errors import UsageError
from anon.measures.queries import TYPES, Draft, Reading, Runs, Side, Workload, position_of


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
    drawn from `attributes` (None: all with values), the sensitive attribute is `sensitive` (None: drawn).
    """
    share = Fraction(str(sel)) if not isinstance(sel, Fraction) else sel
    among, secrets = (
        with_values(domains) if names is None else [_asked_for(domains, name) for name in names]
        for domains, names in (
            (encoded.quasi, attributes or None),
            (encoded.sensitive, None if sensitive is None else [sensitive]),
        )
    )
    if not 1 <= qd <= len(among):
        raise UsageError(f"qd must be from 1 to {len(among)}, the number of quasi-identifiers with values")
    if not 0 < share <= 1:
        raise UsageError("sel must be above 0 and at most 1")
    if not secrets:
        raise UsageError(
            "a query asks for sensitive values, and the table has no sensitive attribute with any"
        )
    if reading not in ("anatomy", "literal"):
        raise UsageError("reading must be 'anatomy' or 'literal'")
    rng = np.random.default_rng(seed)
    draft = Draft(encoded)
    power = qd + 1 if reading == "anatomy" else 1
    for _ in range(n):
        drawn = rng.choice(len(among), qd, replace=False)
        secret = secrets[int(rng.integers(len(secrets)))]
        draft.add(
            {among[a]: _drawn(draft.quasi[among[a]], share, power, rng) for a in sorted(drawn)},
            {secret: _drawn(draft.sensitive[secret], share, power, rng)},
        )
    return draft.workload()


def with_values(domains: Sequence[Domain]) -> list[int]:
    """Positions of the attributes that can be asked for: those that are not null in every row."""
    return [a for a, domain in enumerate(domains) if domain.n_values]


def _asked_for(domains: Sequence[Domain], name: str) -> int:
    at = position_of(domains, name)
    if not domains[at].n_values:
        raise UsageError(f"attribute {name!r} is null in every row: no query asks for a value of it")
    return at


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
    columns = [_asked_for(encoded.quasi, each) for each in attributes or names]
    if len(columns) != len(names):
        raise UsageError(f"{name} needs the table's names of {', '.join(names)}")
    return _range_queries(encoded, columns, share, 10_000 if n is None else n, np.random.default_rng(seed))


def selections(encoded: Encoded, name: str) -> Workload:
    """One query per value of a quasi-identifier: the selections by state or company of Srivastava & Weis."""
    draft = Draft(encoded)
    a = position_of(encoded.quasi, name)
    for code in range(encoded.quasi[a].n_values):
        draft.add({a: draft.quasi[a].range(code, code)}, {})
    return draft.workload()


def _drawn(side: Side, share: Fraction, power: int, rng: np.random.Generator) -> Runs:
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
    draft = Draft(encoded)
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
        ends = _grown(counts[tuple(codes)], age, wanted)
        if ends is not None:
            ranges = {a: draft.quasi[a].range(code, code) for a, code in zip(columns[1:], codes, strict=True)}
            draft.add({columns[0]: draft.quasi[columns[0]].range(*ends)} | ranges, {})
    return draft.workload()


def _grown(counts: npt.NDArray[np.int64], at: int, wanted: int) -> tuple[int, int] | None:
    """The range around `at`, grown by one value below and above in turn, that first holds the count."""
    if int(counts.sum()) < wanted:
        return None
    low = high = at
    n_rows = int(counts[at])
    below = True
    while n_rows < wanted:
        if (below and low > 0) or high == len(counts) - 1:
            low -= 1
            n_rows += int(counts[low])
        else:
            high += 1
            n_rows += int(counts[high])
        below = not below
    return low, high
