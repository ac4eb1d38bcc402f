# SPDX-License-Identifier: Apache-2.0
"""What attacks came to, as tables of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anon.html import Table

HEADER = ("attack", "verdict", "people in the table", "people never in it", "naive attacker", "risk added")


def attack_tables(plain: Mapping[str, Any]) -> list[Table]:
    """The attacks of `Attacked.to_dict()`, then what each attacker came to."""
    names = [name for name, one in plain.items() if isinstance(one, Mapping) and "verdict" in one]
    others = f" and {plain['controls']:,} others" if plain["controls"] else ""
    tables = [
        Table(
            f"Attacks on {plain['targets']:,} people in the table{others}",
            HEADER,
            tuple(_row(name.replace("_", " "), plain[name]) for name in names),
        )
    ]
    parts = [
        (f"{name.replace('_', ' ')}: {part}", one) for name in names for part, one in _parts(plain[name])
    ]
    if parts:
        tables.append(Table("Attackers", HEADER, tuple(_row(*each) for each in parts)))
    return tables


def _parts(attack: Mapping[str, Any], above: str = "") -> list[tuple[str, Mapping[str, Any]]]:
    """The innermost parts of an attack, by their names."""
    found = []
    for name, one in attack.get("parts", {}).items():
        inner = _parts(one, f"{above}{name}: ")
        found += inner or [(f"{above}{name}", one)]
    return found


def _row(name: str, attack: Mapping[str, Any]) -> tuple[Any, ...]:
    nothing = "nothing to try" if attack["target"]["tries"] == 0 else None
    rates = (nothing or interval(attack[side]) for side in ("target", "control", "naive", "risk"))
    return (name, attack["verdict"], *rates)


def interval(rate: Mapping[str, Any] | None) -> str | None:
    """A rate or risk and its interval in percent; below 0 it is shown as 0."""
    if rate is None:
        return None
    value, low, high = (max(100 * rate[name], 0.0) for name in ("rate", "low", "high"))
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"
