# SPDX-License-Identifier: Apache-2.0
"""The report of attacks on a release; it is the owner's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anon import figures
from anon.attackers import ATTACKERS, NOT_SAFE, Attacked, attack_tables
from anon.html import Section, rows, sentence
from anon.pages.decision import Cover, cover_alone
from anon.pages.origin import Origin, Report, origin_section

MEANINGS = (
    '"Singling out" asks whether a condition written from the release alone holds for exactly one person of '
    "the table; "
    '"linkability" whether two parts of what is known of a person lead to one row; "inference" whether '
    'a secret is guessed; "membership" whether it can be told who is in the table.',
    "Who knows how a release was made (learning, which all buckets teach, and minimality, which replays the "
    "method) is tried on people of the table alone: others are in none of its classes, and the risk is what "
    "is left over the naive attacker, who looks at one class.",
    "A naive attacker does not look at single rows. Where it does as well, the attack failed.",
    "What these words do not mean: " + NOT_SAFE + " A risk of zero is one that was not found with so many "
    "tries; its interval says how great it may still be.",
)

CONTROLLED = (
    "Every attack was also tried on people who never were in the table. What succeeds on them as often is "
    "learned about people as such, and not about those whose rows were released: the risk is what is left."
)
UNCONTROLLED = (
    "No attack was tried on people who never were in the table: what succeeded may be true of people as "
    "such, and not learned from the release. To tell the two apart, give a control group (--control)."
)


def of_attacks(attacked: Attacked, *, origin: Origin | None = None, cover: Cover | None = None) -> Report:
    """How often attackers succeed, and words that may be quoted."""
    plain, cover = attacked.to_dict(), cover or Cover()
    drawn = [figures.attack_rates(list(_bars(plain)))]
    by_secret = [name for name in ("inference", "learning") if len(plain.get(name, {}).get("parts", {})) > 1]
    for name in by_secret:
        secrets = plain[name]["parts"]
        bars = [bar for secret, one in secrets.items() for bar in _sides(f"{name} of {secret}", one)]
        drawn.append(figures.attack_rates(bars))
    facts: dict[str, Any] = {
        "audience": "owner",
        **plain,
        "figures": {
            title: rows(figure)
            for title, figure in zip(
                [drawn[0].title, *(f"{name.capitalize()} of each sensitive attribute" for name in by_secret)],
                drawn,
                strict=True,
            )
        },
        "origin": (origin or Origin()).to_dict(),
        "cover": cover.to_dict(),
        "verdict": "Nothing was required.",
    }
    first, *others = attack_tables(plain)
    not_tried = tuple(sentence(note) for note in attacked.notes)
    compared = CONTROLLED if plain["controls"] else UNCONTROLLED
    sections = [
        Section("In short", attacked.words, (first,), tuple(drawn)),
        Section("What this means, and what it does not", (compared, *MEANINGS)),
        *([Section("Attackers one by one", (), tuple(others))] if others else []),
        *([Section("What was not tried", not_tried)] if not_tried else []),
        origin_section(facts),
    ]
    return Report(cover.title or "Report of attacks", facts, tuple(sections), cover_alone(cover, ()))


def _bars(plain: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ATTACKERS:
        if name in plain:
            yield from _sides(name.replace("_", " "), plain[name])


def _sides(name: str, attack: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for side, key in zip(figures.SIDES, ("target", "control", "naive"), strict=True):
        rate = attack[key]
        if rate is not None:
            yield {"attack": name, "side": side, **{each: rate[each] for each in ("rate", "low", "high")}}
