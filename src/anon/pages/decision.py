# SPDX-License-Identifier: Apache-2.0
"""The first screen of a report: what was promised to whom, whether it holds, and what qualifies that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from anon.html import First, State, number

if TYPE_CHECKING:
    from anon.measures import Privacy

SURE = 0.9  # the share of one sensitive value from which on a class as good as tells it
MOST_FACTS = 3  # in the box of the verdict; others stand below
LIKELY = 0.2  # the risk of one person in the population that is worth a word

_ROLES = {
    "quasi": "quasi-identifiers",
    "sensitive": "sensitive",
    "neutral": "published as they are (neutral)",
    "others": "other columns of the table",
    "unpublished": "not published",
}


@dataclass(frozen=True)
class Cover:
    """What people write on a report themselves; what is None is a blank to be filled by hand."""

    title: str | None = None
    purpose: str | None = None
    recipient: str | None = None
    responsible: str | None = None
    date: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Its fields, ready for JSON."""
        return asdict(self)

    @property
    def lines(self) -> tuple[tuple[str, str | None], ...]:
        """All but the title, under their names."""
        return (
            ("Purpose", self.purpose),
            ("Recipient", self.recipient),
            ("Responsible person", self.responsible),
            ("Date", self.date),
        )


@dataclass(frozen=True)
class Decision:
    """Whether what was required holds, in a sentence, and the facts that qualify it, the gravest first."""

    state: State
    verdict: str
    facts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Its fields, ready for JSON."""
        return {"state": self.state, "facts": list(self.facts)}

    @property
    def further(self) -> tuple[str, ...]:
        """The facts that the box has no room for."""
        return tuple(f"Also: {fact}" for fact in self.facts[MOST_FACTS:])


def decide(is_met: bool | None, met: str, not_met: str, facts: Sequence[str]) -> Decision:
    """`is_met` is None where nothing was required; `met` and `not_met` are the sentences."""
    if is_met is None:
        return Decision("open", met, tuple(facts))
    if not is_met:
        return Decision("not met", not_met, tuple(facts))
    return Decision("but" if facts else "met", met, tuple(facts))


def facts_of(
    measured: Mapping[str, Any],
    *,
    intact: bool,
    privacy: Privacy | None = None,
    neutral: Sequence[str] = (),
    others: Sequence[str] = (),
) -> list[str]:
    """What qualifies a release, from its measures, exact or rounded; `privacy` tells the owner more.

    `neutral` are the columns that are published as they are, `others` facts that the caller knows.
    """
    facts = []
    if measured["n_classes"] == 1 and measured["n_rows"] > 1:
        facts.append(
            "All rows are in one class: nothing is left of the quasi-identifiers that tells people apart."
            if not intact
            else "All rows are in one bucket: nothing ties a sensitive value to anybody."
        )
    if intact:
        alone = measured.get("sample_uniques")
        told = f", and {number(alone)} rows are alone with theirs" if alone else ""
        facts.append(
            "The quasi-identifiers are published as they are (bucketization): everybody sees who is in the "
            f"table{told}; what is learned across buckets is not bounded."
        )
    facts += others
    known = None if privacy is None else privacy.known
    if known is not None and known.k < measured["k"]:
        facts.append(
            f"For whoever knows the neutral columns too ({', '.join(neutral)}) k is {number(known.k)}, and "
            f"{number(known.sample_uniques)} rows are alone."
        )
    facts += _homogeneous(measured, privacy, "bucket" if intact else "class")
    facts += _in_population(measured.get("population"))
    return facts


def _homogeneous(measured: Mapping[str, Any], privacy: Privacy | None, what: str) -> list[str]:
    """Of each sensitive attribute where a class tells it, or as good as tells it."""
    facts = []
    table = None if privacy is None else privacy.per_class
    for name, each in measured["by_sensitive"].items():
        if each["l_distinct"] == 1 and table is not None and f"{name}.l_distinct" in table.column_names:
            is_one = table[f"{name}.l_distinct"].to_numpy() == 1
            sizes = table["size"].to_numpy()[is_one]
            several = {"class": "classes", "bucket": "buckets"}[what]
            facts.append(
                f"Everybody has the same {name} in {number(len(sizes))} "
                f"{what if len(sizes) == 1 else several}: it is known of {number(int(sizes.sum()))} people."
            )
        elif each["l_distinct"] == 1:
            facts.append(f"In a {what} everybody has the same {name}: whoever is in it has no secret there.")
        elif (each["alpha"] or 0) >= SURE:
            facts.append(
                f"In one {what} the share of one {name} is {number(each['alpha'])}: it is as good as known "
                "of whoever is in it."
            )
    return facts


def _in_population(population: Mapping[str, Any] | None) -> list[str]:
    if not population:
        return []
    facts = []
    uniques = population.get("uniques")
    if uniques and uniques["count"] >= 1:
        facts.append(
            f"About {number(uniques['count'])} people may be alone in the population with what is published "
            "of them (estimated)."
        )
    highest = population["journalist"]["max"]
    if highest > LIKELY:
        facts.append(f"In the population the greatest risk of one person is {number(highest)}.")
    return facts


def limits(names: Mapping[str, Sequence[str]], *, bounds_sensitive: bool) -> tuple[str, ...]:
    """What no such release promises, in plain words; `names` are the columns by role."""
    told = [
        "It does not hide that somebody is in the table.",
        "It holds against whoever knows the quasi-identifiers named here; who knows more of a person, such "
        "as a column that was not named one, may find more.",
        "It holds of this release alone: beside another one about the same people it may not.",
    ]
    if names.get("sensitive") and not bounds_sensitive:
        told.insert(
            0,
            f"Nothing that was required bounds what a class tells of {', '.join(names['sensitive'])}.",
        )
    return tuple(told)


def first_of(
    decision: Decision,
    cover: Cover,
    roles: Mapping[str, Sequence[str]],
    numbers: Sequence[tuple[Any, ...]],
    told_limits: Sequence[str],
) -> First:
    """The first screen, to be signed where what was required holds; numbers that are None are left out."""
    return replace(
        cover_alone(cover, numbers, **roles),
        state=decision.state,
        verdict=decision.verdict,
        facts=decision.facts[:MOST_FACTS],
        limits=tuple(told_limits),
        signed=decision.state != "not met",
    )


def cover_alone(cover: Cover, numbers: Sequence[tuple[Any, ...]], **roles: Sequence[str]) -> First:
    """The first screen of a page on which nothing is decided; numbers that are None are left out."""
    told = tuple((_ROLES.get(role, role), ", ".join(names)) for role, names in roles.items() if names)
    known = tuple(row for row in numbers if row[-1] is not None)
    return First(cover=cover.lines, numbers=known, roles=told)
