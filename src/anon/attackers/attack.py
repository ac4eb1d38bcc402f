# SPDX-License-Identifier: Apache-2.0
"""Every attack on a release, on people in the table and on people who never were in it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anon.attackers.inference import Inference
from anon.attackers.learning import Learning
from anon.attackers.linkability import Linkability
from anon.attackers.membership import Membership
from anon.attackers.minimality import Minimality
from anon.attackers.nearest import People
from anon.attackers.rates import CONFIDENCE, z_of
from anon.attackers.result import Attack
from anon.attackers.seen import Ints, see
from anon.attackers.singling_out import SinglingOut
from anon.attackers.tables import attack_tables
from anon.errors import DataError, Parameter, UsageError, did_you_mean
from anon.html import result_html
from anon.plain import as_plain
from anon.release import Release
from anon.schema import Schema
from anon.tables import read_source, read_table
from anon.threads import available_threads

Attacker = SinglingOut | Linkability | Inference | Membership | Learning | Minimality
ATTACKERS: dict[str, type[Attacker]] = {
    "singling_out": SinglingOut,
    "linkability": Linkability,
    "inference": Inference,
    "membership": Membership,
    "learning": Learning,
    "minimality": Minimality,
}
DEFAULT = tuple(name for name in ATTACKERS if name != "minimality")  # which few releases can be tried by
NOT_SAFE = (
    '"Attack failed" says that these attackers failed with what they knew. It does not say that the release '
    "is safe: others may know more, or be cleverer."
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Attacked:
    """What came of the attacks on a release; None for those that were not tried, for which `notes` say why.

    `targets` people of the table (`n_original` rows) and `controls` of the control group (`n_control`) were
    attacked.
    """

    singling_out: Attack | None = None
    linkability: Attack | None = None
    inference: Attack | None = None
    membership: Attack | None = None
    learning: Attack | None = None
    minimality: Attack | None = None
    n_released: int
    n_original: int
    n_control: int
    targets: int
    controls: int
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def attacks(self) -> dict[str, Attack]:
        """The attacks that were tried, by name."""
        found = {name: getattr(self, name) for name in ATTACKERS}
        return {name: attack for name, attack in found.items() if attack is not None}

    @property
    def words(self) -> tuple[str, ...]:
        """A sentence for each attack, and what none of them means."""
        return (*(attack.words for attack in self.attacks.values()), NOT_SAFE)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        counted = ("n_released", "n_original", "n_control", "targets", "controls", "confidence")
        return {
            **{name: as_plain(getattr(self, name)) for name in counted},
            **{name: attack.to_dict() for name, attack in self.attacks.items()},
            "words": list(self.words),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        return result_html("\n".join(self.words), *attack_tables(self.to_dict()))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={attack.verdict!r}" for name, attack in self.attacks.items())
        return f"Attacked({said}, targets={self.targets}, controls={self.controls})"


def attack(
    original: Any,
    released: Any = None,
    schema: Schema | None = None,
    *,
    control: Any = None,
    attacks: Sequence[str | Attacker] = DEFAULT,
    targets: int = 2000,
    sensitive_table: Any = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    n_threads: int | None = None,
) -> Attacked:
    """Attack a release as others would, and count how often that succeeds.

    Every attack is tried on people of the table, on people who were never in it, and by a naive attacker who
    guesses from margins. What harms everybody alike is not the release's doing: the risk is what is left.

    Parameters
    ----------
    original : as for `anonymize`, or a Release made with `control=`
        The table that the release was made from. A release with `control=` has all that is needed in it: then
        its `trial` is attacked.
    released : as `original`, or a Release
        The release, made by anyone, read as `compare` reads it. Columns without cells (means, noise,
        synthetic values) are taken at their word.
    schema : Schema, optional
        The roles; a release of this package says them itself.
    control : as `original`
        Rows of the same population that were never in `released`, with the same columns. Without it rates
        cannot be compared, and membership is not tried.
    attacks : names, or `SinglingOut(...)`, `Linkability(...)`, `Inference(...)`, `Membership(...)`,
            `Learning(...)`, `Minimality()`
        Of `anon.attackers`. Default: all but minimality, which needs a `Release` of few methods. Learning is
        of bucketizations.
    targets : int
        How many people of each side are attacked at most, drawn by `seed`.
    sensitive_table : as `original`, optional
        The second table of a bucketization, where it is not beside the first.
    confidence : float
        The level of all intervals (0.95).
    seed : int
        Which people are attacked, and what attackers draw. It hides nothing.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    UsageError, DataError
        The parameters or tables cannot be used as asked.
    """
    threads = available_threads(n_threads)
    z_of(confidence)
    chosen = _chosen(attacks)
    try:
        n_targets = 0 if isinstance(targets, bool) else operator.index(targets)
    except TypeError:
        n_targets = 0
    if n_targets < 1:
        raise UsageError(Parameter("targets", "--targets"), " must be a whole number of at least 1")
    if released is None:
        held = getattr(original, "held", None)
        if held is None:
            raise UsageError(
                "there is no release to attack: give the original and the release, or a release of "
                "anonymize(..., ",
                Parameter("control=0.2", "--control 0.2"),
                ")",
            )
        original, released = held.original, held.trial
        control = held.control if control is None else control
    release = released if isinstance(released, Release) else None
    if isinstance(released, Release):
        schema = _roles_of(released) if schema is None else schema
        if released.publish == "bucketization" and sensitive_table is None:
            sensitive_table = released.sensitive_table
        released = released.table
    source = read_source(released)
    before = read_table(original)
    others = None if control is None else read_table(control)
    for table, name in ((before, "original"), (others, "control table")):
        if table is not None and not table.num_rows:
            raise DataError(f"the {name} has no rows")
    seen = replace(see(before, others, source, schema, sensitive_table, threads), release=release)
    if not seen.n_released:
        raise DataError("the release has no rows, so that nothing can be learned from it")
    rng = np.random.default_rng([seed, 0])
    ours, theirs = (_drawn(rng, n, n_targets) for n in (seen.n_original, seen.n_control))
    notes = [f"column {name!r} is not shown by the release" for name in seen.left_out]
    notes += [f"column {name!r} has no values to compare" for name in seen.not_compared]
    found: dict[str, Attack] = {}
    for attacker in chosen:
        result = attacker.run(seen, People(ours, theirs), n_targets, seed, confidence)
        if isinstance(result, str):
            notes.append(result)
        else:
            found[attacker.name.replace(" ", "_")] = result
    if control is None and any(one.risk is None for one in found.values()):
        notes.append(
            "without a control group, people who never were in the table, it is not known how often the "
            "attacks succeed on anybody"
        )
    return Attacked(
        **found,
        n_released=seen.n_released,
        n_original=seen.n_original,
        n_control=seen.n_control,
        targets=len(ours),
        controls=len(theirs),
        confidence=confidence,
        notes=tuple(notes),
    )


def _roles_of(release: Release) -> Schema:
    """The roles that a release was made with, sensitive attributes as they were before they were coded."""
    encoded = release.encoded
    before = {one.attribute.name: one.attribute for one in encoded.uncoded}
    sensitive = tuple(before.get(one.name, one) for one in encoded.schema.sensitive)
    return replace(encoded.schema, sensitive=sensitive)


def _chosen(attacks: Sequence[str | Attacker]) -> list[Attacker]:
    listed = [attacks] if isinstance(attacks, str) else list(attacks)
    chosen: dict[str, Attacker] = {}
    for each in listed:
        if isinstance(each, str):
            name = each.replace("-", "_").replace(" ", "_")
            if name not in ATTACKERS:
                hint = did_you_mean(name, ATTACKERS)
                raise UsageError(f"there is no attack {each!r}; {hint}there are {', '.join(ATTACKERS)}")
            each = ATTACKERS[name]()
        if not isinstance(each, Attacker):
            raise UsageError(
                f"an attack is a name or an attacker of anon.attackers, not {type(each).__name__}"
            )
        chosen[each.name] = each
    if not chosen:
        raise UsageError(f"there is no attack to try; there are {', '.join(ATTACKERS)}")
    return list(chosen.values())


def _drawn(rng: np.random.Generator, n: int, most: int) -> Ints:
    """At most so many of n rows, in their order."""
    drawn: Ints = np.sort(rng.choice(n, min(n, most), replace=False)) if n else np.empty(0, np.int64)
    return drawn
