# SPDX-License-Identifier: Apache-2.0
"""Minimality (Wong, Fu, Wang & Pei 2007): a method that generalizes only where it must tells why it did.

An attacker who knows everybody's quasi-identifiers replays the method: a class that was not cut, or a level
that was not taken, would have failed. Of the ways in which the class's sensitive values can be dealt to its
rows only those remain in which it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.attackers.nearest import People
from anon.attackers.result import Attack, tried
from anon.attackers.seen import Seen
from anon.encoding import Domain, Encoded, encode, of_published_rows
from anon.errors import Parameter, UsageError
from anon.methods import FullDomain, Mondrian, at_levels
from anon.release import Release
from anon.requirements import Requirement, compile
from anon.schema import Schema
from anoncore.requirement import passing_classes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Passes = Callable[[Ints], Bools]

MOST_ROWS = 12  # of a class whose deals are all counted
MOST_DEALS = 200_000  # counted one by one; where there are more, some are drawn
DRAWS = 2_000
LEAST_DRAWS = 30  # in which the event came true, below which nothing is said


@dataclass(frozen=True, repr=False)
class Posterior:
    """What is left of the values of one class's rows, given that every finer partition of it failed.

    `before` (float64, one per value) are the shares of the class; `after` (rows x values) the chance of each
    value for each row. `chance` is that of the failure, over all deals of the values; `exact` says whether
    they were all counted.
    """

    before: Floats
    after: Floats
    chance: float
    exact: bool

    @property
    def gain(self) -> float:
        """The most by which a row's chance of a value rises above the value's share."""
        return float((self.after - self.before).max(initial=0.0))

    def __repr__(self) -> str:
        return f"Posterior(rows={len(self.after)}, gain={self.gain:.3g}, exact={self.exact})"


Told = tuple[npt.NDArray[np.uint32], Posterior]  # of these rows


@dataclass(frozen=True, repr=False)
class Replay:
    """What the replay of a release tells of one sensitive attribute, whose codes are `codes`.

    `n_replayed` of `n_classes` classes have a finer partition that k alone would have allowed; of `n_unknown`
    of them nothing is said, since drawn deals hardly ever fail there. `found` are rows and what is left of
    their values.
    """

    sensitive: str
    codes: npt.NDArray[Any]
    n_classes: int
    n_replayed: int
    n_unknown: int
    found: tuple[Told, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """In numbers: `greatest` is the greatest chance of a value for a row, `greatest_before` the greatest
        share of a value in these classes, `gain` the most by which a chance rises above the share; `n_exact`
        classes were counted, not drawn.
        """
        each = [one for _, one in self.found]
        return {
            "n_classes": self.n_classes,
            "n_replayed": self.n_replayed,
            "n_exact": sum(one.exact for one in each),
            "n_unknown": self.n_unknown,
            "greatest": max((float(one.after.max()) for one in each), default=0.0),
            "greatest_before": max((float(one.before.max()) for one in each), default=0.0),
            "gain": max((one.gain for one in each), default=0.0),
        }

    def guesses(self) -> tuple[Ints, Ints]:
        """The likeliest code of each row by its surest replay, and by its class alone (ties: the least code);
        -1 where nothing is told.
        """
        guess, before = np.full((2, len(self.codes)), -1, np.int64)
        surest = np.zeros(len(self.codes))
        for rows, one in self.found:
            before[rows] = one.before.argmax()
            after = np.round(one.after, 12)
            chance = after.max(axis=1)
            surer = chance > surest[rows]
            guess[rows[surer]], surest[rows[surer]] = after[surer].argmax(axis=1), chance[surer]
        return guess, before


@dataclass(frozen=True)
class Minimality:
    """One who knows everybody's quasi-identifiers and the method, and replays it (`replay`).

    Of the people whose class tells why it is as it is the value with the greatest chance is guessed. The
    naive attacker guesses the most frequent value of the class. People who never were in the table are in
    none of its classes, so that the risk is what the replay adds to the naive attacker's. It needs the
    `Release` itself, of FullDomain or Mondrian, with requirements on one sensitive attribute.
    """

    name = "minimality"

    def run(self, seen: Seen, people: People, asked: int, seed: int, confidence: float) -> Attack | str:
        """The attack, or why it cannot be tried."""
        if seen.release is None:
            raise UsageError(
                "minimality replays the method, which files do not have: attack the release that ",
                Parameter("anonymize()", "Python's anonymize()"),
                " returned",
            )
        made = replay(seen.release, seed=seed)
        known = {secret.domain.name: secret.original for secret in seen.secrets}
        encoded = seen.release.encoded
        names = [domain.name for domain in encoded.sensitive]
        codes = encoded.sensitive_codes[names.index(made.sensitive)]
        if not _relabelled(known.get(made.sensitive), codes):
            raise UsageError("minimality: the original is not the table that the release was made from")
        facts = made.facts
        if not made.n_replayed:
            return (
                f"minimality: no class tells why {made.sensitive!r} is spread as it is: where none could be "
                "finer by k, k alone gives nothing away"
            )
        targets = people.targets
        hit, guessed = (
            (guess[targets] == made.codes[targets])[guess[targets] >= 0] for guess in made.guesses()
        )
        found = tried(self.name, hit, None, guessed, confidence, over_naive=True, **facts)
        more = (
            f"Of {made.n_replayed:,} of {made.n_classes:,} classes it is known that finer ones failed; by "
            f"that the greatest chance of a value rises from {facts['greatest_before']:.3g} to "
            f"{facts['greatest']:.3g}, a single one by up to {facts['gain']:.3g}; requirements do not "
            "bound it"
        )
        more += f"; of {made.n_unknown:,} nothing is said." if made.n_unknown else "."
        return replace(found, worst=made.sensitive, more=more)


def _relabelled(codes: npt.NDArray[Any] | None, others: npt.NDArray[Any]) -> bool:
    """Whether two columns are the same but for how their values are numbered."""
    if codes is None or len(codes) != len(others):
        return False
    pairs = len(np.unique(np.stack([codes, others]), axis=1).T)
    return pairs == len(np.unique(codes)) == len(np.unique(others))


def posterior(
    partitions: Sequence[Sequence[int]], values: Sequence[int], passes: Passes, *, seed: int = 0
) -> Posterior | None:
    """The chance of each sensitive value for each row of a class, given that finer partitions failed.

    Parameters
    ----------
    partitions : list of lists of int
        Each gives the part of every row of the class; of each partition at least one part fails.
    values : list of int
        The sensitive codes of the class, in any order: whose they are is not known.
    passes : callable
        Of the counts of values of some parts (int64, parts x values) which of them would have passed.
    seed : int
        Where deals are drawn.

    Returns
    -------
    Posterior, or None where no deal was seen to fail: then the class was made for another reason. Classes of
    12 rows or fewer are counted exactly (unless they can be dealt in more than 200,000 ways), larger ones
    from 2,000 drawn deals.
    """
    parts = np.atleast_2d(np.asarray(partitions, np.int64))
    codes = np.asarray(values, np.int64)
    if parts.shape[1] != len(codes):
        raise UsageError(
            f"{len(codes)} values but {parts.shape[1]} rows in partitions: give one for each row"
        )
    counts = np.bincount(codes)
    atoms, atom_of = np.unique(parts, axis=1, return_inverse=True)
    atom_of = atom_of.reshape(-1)
    sizes = np.bincount(atom_of)
    made = _deals(sizes, counts, seed)
    weights = made.weights * _failed(atoms, made.tables, passes)
    n_seen = int(np.count_nonzero(weights))
    if n_seen < (1 if made.exact else LEAST_DRAWS):
        return None
    after = np.einsum("t,tav->av", weights / weights.sum(), made.tables) / sizes[:, None]
    after = np.minimum(after, 1)  # which rounding may pass
    before = counts / len(codes)
    return Posterior(before, after[atom_of], float(weights.sum() / made.weights.sum()), made.exact)


@dataclass(frozen=True)
class _Deals:
    """Ways to deal values to groups of rows: counts (deals x groups x values), and how likely each is."""

    tables: Ints
    weights: Floats
    exact: bool


def _deals(sizes: Ints, counts: Ints, seed: int) -> _Deals:
    if int(sizes.sum()) <= MOST_ROWS:
        tables = []
        for table in _tables(sizes.tolist(), counts.tolist()):
            tables.append(table)
            if len(tables) > MOST_DEALS:
                break
        else:
            listed = np.array(tables, np.int64).reshape(-1, len(sizes), len(counts))
            factorial = np.array([math.factorial(i) for i in range(MOST_ROWS + 1)], np.float64)
            return _Deals(listed, 1 / factorial[listed].prod(axis=(1, 2)), True)
    rng = np.random.default_rng(seed)
    drawn = np.zeros((DRAWS, len(sizes), len(counts)), np.int64)
    left = np.tile(counts, (DRAWS, 1))
    for a, size in enumerate(sizes.tolist()):
        wanted = np.full(DRAWS, size)
        rest = left.sum(axis=1)
        for v in range(len(counts)):
            rest = rest - left[:, v]
            drawn[:, a, v] = rng.hypergeometric(left[:, v], rest, wanted)
            wanted = wanted - drawn[:, a, v]
        left = left - drawn[:, a]
    return _Deals(drawn, np.ones(DRAWS), False)


def _tables(sizes: list[int], counts: list[int]) -> Iterator[list[list[int]]]:
    """All tables of whole numbers with these sums of rows and columns."""
    if len(sizes) == 1:
        yield [counts]
        return
    for first in _within(sizes[0], counts):
        left = [have - taken for have, taken in zip(counts, first, strict=True)]
        for others in _tables(sizes[1:], left):
            yield [first, *others]


def _within(total: int, most: list[int]) -> Iterator[list[int]]:
    """All lists of whole numbers up to `most` each that add up to `total`."""
    if len(most) == 1:
        if total <= most[0]:
            yield [total]
        return
    for first in range(max(total - sum(most[1:]), 0), min(total, most[0]) + 1):
        for others in _within(total - first, most[1:]):
            yield [first, *others]


def _failed(atoms: Ints, tables: Ints, passes: Passes) -> Bools:
    """The deals in which every partition has a part that fails."""
    failed = np.ones(len(tables), np.bool_)
    for parts in atoms:
        names, of_atom = np.unique(parts, return_inverse=True)
        sums = np.zeros((len(tables), len(names), tables.shape[2]), np.int64)
        for atom, part in enumerate(of_atom.reshape(-1).tolist()):
            sums[:, part] += tables[:, atom]
        flat = sums.reshape(-1, tables.shape[2])
        failed &= ~passes(flat).reshape(len(tables), len(names)).all(axis=1)
    return failed


# --- the replay of a release


def replay(release: Release, *, seed: int = 0) -> Replay:
    """Replay a release as an attacker does who knows the method and everybody's quasi-identifiers.

    Mondrian with the nearest cuts: every cut of a class that leaves at least k rows on either side has failed
    what is required of the sensitive attribute. Full-domain recoding: at each level combination one step
    finer some part of a published class has. That holds too where classes that fail were left out, which are
    known by their quasi-identifiers: if all parts of published classes passed, no more rows would be left out
    there and the loss would be less, whatever values those left out have, of which nothing is said. k alone
    gives nothing away, since it does not look at sensitive values.

    Parameters
    ----------
    release : Release
        Of FullDomain or Mondrian, with requirements on one sensitive attribute.
    seed : int
        Where deals are drawn, of classes of more than 12 rows.

    Raises
    ------
    UsageError
        The method cannot be replayed, or requirements speak of several sensitive attributes or count units.
    """
    encoded = of_published_rows(release.encoded)
    _refuse(release)
    number, require = _asked(release.requirements, encoded)
    domain, codes = encoded.sensitive[number], encoded.sensitive_codes[number]
    passes = _test(require, domain, np.bincount(codes[release.classes.rows], minlength=domain.n_codes))
    k = max((each.least_rows or 1 for each in release.requirements), default=1)
    if isinstance(release.method, FullDomain):
        found, n_unknown, n_replayed = _by_levels(release, codes, passes, seed)
    else:
        found, n_unknown, n_replayed = _by_cuts(release, codes, passes, k, seed)
    return Replay(domain.name, codes, release.classes.n_classes, n_replayed, n_unknown, tuple(found))


def _refuse(release: Release) -> None:
    """Raise UsageError where it is not known why a class is as it is."""
    encoded, method, left_out = release.encoded, release.method, release.left_out
    no_suppression = ": anonymize without suppress="
    what = None
    if isinstance(method, FullDomain):
        lattice = release.lattice
        is_coded = any(each.top is not None or each.bottom is not None for each in encoded.schema.quasi)
        if method.iterate is not None:
            what = "what is left over from one round to the next depends on all of them: leave out iterate="
        elif not (lattice.searched and lattice.optimal):
            what = "levels were given, or the search was cut short"
        elif any(lattice.lowest) or is_coded or any(each.ends is not None for each in encoded.schema.quasi):
            what = "columns are coded beforehand"
        elif "classes that fail" in left_out and any(each.of_table for each in release.requirements):
            what = "classes are compared with the table, and it is not known what rows left out have in it"
            what += no_suppression
    elif not isinstance(method, Mondrian):
        what = f"{type(method).__name__} does not cut where it can"
    elif encoded.schema.all_coded:
        what = "columns are coded beforehand"
    elif method.relaxed or method.cuts != "nearest" or release.numeric == "level":
        what = "relaxed cuts, those at the median alone, and those along levels are not tried one by one"
    elif "outliers" in left_out:
        what = "rows were left out of classes, and it is not known which, so that nobody's class is"
        what += no_suppression
    if encoded.units is not None or encoded.schema.household or encoded.schema.linked:
        what = "units are counted, or columns are linked"
    nulls = np.zeros(encoded.n_rows, np.bool_)
    for domain, codes in zip(encoded.quasi, encoded.original.quasi_codes, strict=True):
        nulls |= codes == domain.n_values
    if left_out.get("missing values", 0) > np.count_nonzero(nulls[encoded.suppressed]):
        what = "rows were left out whose sensitive value is missing, and it is not known whose that is"
        what += ': anonymize with missing="category"'
    if what is None and release.publish != "generalization":
        what = "a bucketization cuts nothing"
    if what is not None:
        raise UsageError(
            f"this release cannot be replayed: {what}; minimality is told of ",
            Parameter("FullDomain() and Mondrian()", "--method full-domain and mondrian"),
        )


def _asked(require: Sequence[Requirement], encoded: Encoded) -> tuple[int, list[Requirement]]:
    """The sensitive attribute that requirements look at, and those that they are."""
    names = [domain.name for domain in encoded.sensitive]
    if not names:
        raise UsageError("the release has no sensitive attribute, of which anything could be told")
    named = {name for each in require for name in [getattr(each, "sensitive", None)] if name is not None}
    if len(named) > 1 or (len(names) > 1 and not named):
        raise UsageError(
            "minimality is told of one sensitive attribute: ask each requirement of the same one (sensitive=)"
        )
    for each in require:
        if each.people is not None or each.by_levels or each.by_matching:
            raise UsageError(f"{each}: no test of one class decides it, so that it is not replayed")
    return names.index(named.pop() if named else names[0]), list(require)


def _test(require: Sequence[Requirement], domain: Domain, table: Ints) -> Passes:
    """Which counts of values pass, against the table's."""
    tests = compile(require, [domain], [table], int(table.sum()))

    def passes(counts: Ints) -> Bools:
        wide = np.zeros((len(counts), len(table)), np.int64)
        wide[:, : counts.shape[1]] = counts
        row, value = np.nonzero(wide)
        offsets = np.searchsorted(row, np.arange(len(wide) + 1)).astype(np.int64)
        used = [offsets], [value.astype(np.int64)], [wide[row, value]]
        if not tests.n_sensitive:
            used = [], [], []
        return passing_classes(tests, wide.sum(axis=1), *used).astype(np.bool_)

    return passes


def _by_cuts(
    release: Release, codes: npt.NDArray[Any], passes: Passes, k: int, seed: int
) -> tuple[list[Told], int, int]:
    """Of each class that could be cut by k alone: every such cut failed."""
    encoded, classes = release.encoded, release.classes
    found, n_unknown, n_replayed = [], 0, 0
    for c in np.flatnonzero(classes.sizes >= 2 * k).tolist():
        rows = classes.rows[classes.offsets[c] : classes.offsets[c + 1]]
        cuts = [
            cut
            for domain, column in zip(encoded.quasi, encoded.quasi_codes, strict=True)
            for cut in _cuts(domain, column[rows].astype(np.int64))
            if k <= np.count_nonzero(cut) <= len(rows) - k
        ]
        if not cuts:
            continue
        n_replayed += 1
        one = posterior(
            np.unique(np.array(cuts, np.int64), axis=0).tolist(), codes[rows].tolist(), passes, seed=seed
        )
        found += [] if one is None else [(rows, one)]
        n_unknown += one is None
    return found, n_unknown, n_replayed


def _cuts(domain: Domain, codes: Ints) -> Iterator[Bools]:
    """The cuts in two that Mondrian tries on one attribute: above a value, or between children of a node."""
    present = np.unique(codes)
    tree = domain.tree
    values = present[present < domain.n_values]
    if tree is None or len(values) < 2:
        yield from (codes > value for value in present[:-1].tolist())
        return
    node = int(tree.leaf[values[0]])
    while tree.last[node] < values[-1]:
        node = int(tree.parent[node])
    children = np.flatnonzero(tree.parent == node)
    children = children[np.argsort(tree.first[children])]
    child = np.searchsorted(tree.first[children], codes, side="right") - 1
    child[codes == domain.n_values] = len(children)
    parts = np.unique(child)
    for i, part in enumerate(parts[:-1].tolist()):
        if i == 0 or i == len(parts) - 2:  # one side is a single child
            yield child > part


def _by_levels(
    release: Release, codes: npt.NDArray[Any], passes: Passes, seed: int
) -> tuple[list[Told], int, int]:
    """Of each level combination one step finer: some part of a published class failed there."""
    classes, levels = release.classes, release.levels
    assert levels is not None
    fine = _uncoded(release)
    found: list[Told] = []
    replayed: set[int] = set()
    unknown: set[int] = set()
    for a, lowest in enumerate(release.lattice.lowest):
        if levels[a] == lowest:
            continue
        node = tuple(level - (i == a) for i, level in enumerate(levels))
        finer = at_levels(fine, node).quasi_codes[a]
        parts = [
            (c, rows, np.unique(finer[rows], return_inverse=True)[1].reshape(-1))
            for c in range(classes.n_classes)
            for rows in [classes.rows[classes.offsets[c] : classes.offsets[c + 1]]]
        ]
        split = [(c, rows, part) for c, rows, part in parts if part.any()]
        failed = []
        for c, rows, part in split:
            counts = np.bincount(codes[rows])
            sizes = np.bincount(part)
            made = _deals(sizes, counts, seed)
            fails = _failed(np.arange(len(sizes))[None, :], made.tables, passes)
            failed.append((c, rows, part, counts, sizes, made, made.weights * fails))
        chances = np.array([weights.sum() / made.weights.sum() for *_, made, weights in failed])
        if not len(chances) or (chances == 1).any():
            continue  # nothing was finer, or rows alone say that it fails
        replayed |= {c for c, *_ in failed}
        others = np.array([np.prod(np.delete(1 - chances, i)) for i in range(len(chances))])
        whole = 1 - float(np.prod(1 - chances))
        for (c, rows, part, counts, sizes, made, weights), chance, rest in zip(
            failed, chances, others, strict=True
        ):
            hits = np.count_nonzero(weights)
            if whole <= 0 or (not made.exact and 0 < hits < LEAST_DRAWS):
                unknown.add(c)
                continue
            share = counts / counts.sum()
            failing = np.einsum("t,tav->av", weights / made.weights.sum(), made.tables) / sizes[:, None]
            # all deals but those in which this class passes, and all others too
            after = np.minimum((share * (1 - rest) + failing * rest) / whole, 1)
            found.append((rows, Posterior(share, after[part], float(chance), made.exact)))
    return found, len(unknown), len(replayed)


def _uncoded(release: Release) -> Encoded:
    """The table before the levels were taken."""
    quasi = [replace(attribute, least=None) for attribute in release.encoded.schema.quasi]
    return encode(release.encoded.table, Schema(quasi))
