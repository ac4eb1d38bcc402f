# SPDX-License-Identifier: Apache-2.0
"""What was measured, in a few sentences: what an owner of data asks first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MORE = "all measures: --all, or --json"
MOST_COLUMNS = 12  # of which each has a line


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
    found = _found(measures.get("population"))
    if found is not None:
        yield f"in the population: at most {_percent(found)}"
    for name, each in measures.get("by_sensitive", {}).items():
        parts = []
        if each.get("l_distinct") is not None:
            alone = "l = 1: in some class all have the same, which is no secret there"
            many = f"l = {each['l_distinct']:,} different values in each class at least"
            parts.append(alone if each["l_distinct"] == 1 else many)
        if each.get("alpha") is not None and each.get("l_distinct") != 1:
            parts.append(f"the commonest has up to {_percent(each['alpha'])}")
        if each.get("t_equal") is not None:
            parts.append(f"t = {each['t_equal']:.3g}")
        if parts:
            yield f"{name!r}: {', '.join(parts)}"
    known = measures.get("known")
    if known and known.get("k", k) < k:
        yield f"k = {known['k']:,} to who knows the neutral columns too"


def on_compared(measures: Mapping[str, Any]) -> Iterator[str]:
    """What a release lost of the original: rows, detail in all and of each column, and of statistics."""
    rows, gone, sizes = measures["n_rows"], measures["n_suppressed"], _number(measures["class_size"])
    kept = f"all {_many(rows, 'row')} are" if not gone else f"{rows - gone:,} of {_many(rows, 'row')} are"
    yield f"{kept} published, in {_many(measures['n_classes'], 'class', 'classes')} of {sizes} on average"
    yield from on_loss(measures["gcp"])
    if measures["gcp"] is None:
        yield "what single cells lost is not told: numbers are shown that are no intervals (means, noise)"
    if measures.get("weighted"):
        gcp = _number(measures["weighted"]["gcp"])
        yield f"loss {gcp}, counted in the people whom rows stand for (weighted.gcp)"
    lost = {name: each["ncp"] for name, each in (measures["by_attribute"] or {}).items()}
    for name in sorted(lost, key=lambda name: -lost[name])[:MOST_COLUMNS]:
        yield f"  {name!r} lost {_percent(lost[name]) if lost[name] else 'nothing'}"
    if len(lost) > MOST_COLUMNS:
        yield f"  {_many(len(lost) - MOST_COLUMNS, 'other column')} lost no more than that"
    if measures["u_loss"] is not None and measures["by_sensitive"]:
        yield (
            f"shares of sensitive values, in groups of {_percent(measures['min_support'])} of the rows or "
            f"more, are off by {_number(measures['u_loss'])}: 0 is nothing and 0.693 all (u_loss)"
        )
    numbers = measures.get("numbers") or {}
    if numbers.get("quantiles") is not None:
        yield f"quantiles of numbers are off by {_number(numbers['quantiles'])} standard deviations"
    if numbers.get("correlation_max") is not None:
        yield f"correlations of two columns are off by {_number(numbers['correlation_max'])} at most"
    yield from _on_matched(measures.get("aligned") or {})
    now, before = (_found(measures.get(name)) for name in ("population", "population_before"))
    if now is not None:
        old = "" if before is None else f", in the original {_percent(before)}"
        yield f"risk of being found in the population: at most {_percent(now)}{old}"


def _on_matched(aligned: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What is seen once each row is matched with its own in the original."""
    for name, share in aligned.get("outside", {}).items():
        if share:
            yield f"{name!r}: {_percent(share)} of the cells do not hold the value of their row"
    for name, distance in aligned.get("error", {}).items():
        if distance is not None:
            yield f"{name!r}: cells, or their middles, are {_number(distance)} from their values on average"
    for name, share in aligned.get("changed", {}).items():
        if share is not None:
            yield f"{name!r}: {_percent(share) if share else 'none'} of the values changed"


def on_unmet(unmet: Sequence[str] | None) -> Iterator[str]:
    """Whether what was asked for holds."""
    if unmet is not None:
        yield f"not met: {'; '.join(unmet)}" if unmet else "every requirement is met"


def _found(population: Mapping[str, Any] | None) -> float | None:
    """The greatest risk of being found in the population."""
    told = (population or {}).get("journalist") or (population or {}).get("individual") or {}
    return told.get("max")


def _many(n: int, what: str, many: str | None = None) -> str:
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"  # infinity is a text


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
