# SPDX-License-Identifier: Apache-2.0
"""What was measured, in a few sentences: what an owner of data asks first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MORE = "all measures: --all, or --json"


def on_release(summary: Mapping[str, Any], required: Sequence[str], is_met: bool) -> Iterator[str]:
    """What was made: rows, classes, what holds."""
    rows, n_suppressed = summary.get("rows", 0), summary.get("suppressed", 0)
    left = f", {n_suppressed:,} not published" if n_suppressed else ""
    yield f"{_many(rows, 'row')} in {_many(summary.get('classes', 0), 'class', 'classes')}{left}"
    if required:
        yield f"{'holds' if is_met else 'does not hold'}: {', '.join(required)}"
    if summary.get("published unchanged"):
        yield f"published as they are: {', '.join(map(repr, summary['published unchanged']))}"
    if "method" in summary:
        yield f"made by {summary['method']}"


def on_loss(gcp: float | None) -> Iterator[str]:
    """What was lost of the cells of quasi-identifiers."""
    if gcp is not None:
        yield f"loss {gcp:.3g}: of the detail of the quasi-identifiers, 0 is nothing and 1 all (gcp)"


def on_privacy(measures: Mapping[str, Any]) -> Iterator[str]:
    """The smallest class, the risk of being found, and what is learned of each sensitive attribute."""
    k, risk = measures["k"], measures.get("prosecutor") or {}
    if measures.get("intact"):
        yield "everybody sees the quasi-identifiers, which are published as they are, in buckets"
    what = "smallest bucket" if measures.get("intact") else "smallest class"
    of = f" of {_many(measures['n_rows'], 'row')}" if "n_rows" in measures else " rows"
    alone = ": somebody is alone" if k == 1 else ""
    yield f"k = {k:,}, the {what} has {k:,}{of}{alone}" if k else "k = 0, no class is published"
    for other, what in (("n_suppressed", "not in any class"), ("n_starred", "of * only, apart")):
        if measures.get(other):
            yield f"{_many(measures[other], 'row')} {what}"
    if measures.get("null_matching"):
        yield f"k = {measures['null_matching']['k']:,} where a missing value matches anything"
    units = measures.get("units")
    if units:
        yield f"k = {units['k']:,} in units, whose rows these are"
    if "max" in risk:
        mean = f", on average {_percent(risk['mean'])}" if risk.get("mean") is not None else ""
        yield f"risk of being found: at most {_percent(risk['max'])}{mean}"
    population = measures.get("population")
    if population:
        told = population.get("journalist") or population.get("individual") or {}
        if told.get("max") is not None:
            yield f"in the population: at most {_percent(told['max'])}"
    for name, each in measures.get("by_sensitive", {}).items():
        parts = []
        if each.get("l_distinct") is not None:
            parts.append(f"l = {each['l_distinct']:,} different values in each class at least")
        if each.get("alpha") is not None:
            parts.append(f"the commonest has up to {_percent(each['alpha'])}")
        if each.get("t_equal") is not None:
            parts.append(f"t = {each['t_equal']:.3g}")
        if parts:
            yield f"{name!r}: {', '.join(parts)}"
    known = measures.get("known")
    if known and known.get("k", k) < k:
        yield f"k = {known['k']:,} to who knows the neutral columns too"


def on_unmet(unmet: Sequence[str] | None) -> Iterator[str]:
    """Whether what was asked for holds."""
    if unmet is not None:
        yield f"not met: {'; '.join(unmet)}" if unmet else "every requirement is met"


def _many(n: int, what: str, many: str | None = None) -> str:
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
