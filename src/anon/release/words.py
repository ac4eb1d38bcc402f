# SPDX-License-Identifier: Apache-2.0
"""A release in words: its facts, what it shows in a notebook, and what is said of neutral columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anon.figures import class_sizes
from anon.figures import lattice as draw_lattice
from anon.html import Table, number, result_html
from anon.measures import Known, Privacy
from anon.release.recoded import Recoded
from anon.schema import as_word, quoted


def release_html(release: Recoded, summary: Mapping[str, Any]) -> str:
    """Rows and classes, the sizes of these, the lattice where one was searched, and the summary."""
    words = f"{number(release.n_rows)} rows in {number(summary['classes'])} "
    words += "buckets." if release.publish == "bucketization" else "classes."
    words += f" {number(summary['suppressed'])} rows are suppressed." if summary["suppressed"] else ""
    if not release.meets_requirements:
        words += " It does not meet its requirements, so that it can be measured, not written."
    smallest = int(release.classes.sizes.min(initial=release.n_rows))
    sizes = None if release.noise is not None else class_sizes(release.classes.sizes, smallest)
    is_searched = release.lattice is not None and release.lattice.searched
    return result_html(
        words, sizes, draw_lattice(release.lattice) if is_searched else None, release_table(summary)
    )


def levels_in_words(lattice: Any) -> dict[str, list[str]]:
    """Of full-domain recoding the level of each column, or the levels and rows of each round."""
    if lattice.rounds:
        return {
            "rounds": [f"{' '.join(map(str, each.levels))}: {each.n_rows} rows" for each in lattice.rounds]
        }
    levels = zip(lattice.names, lattice.best, lattice.heights, strict=True)
    return {"levels": [f"{name} {g} of {height}" for name, g, height in levels]}


def release_table(summary: Mapping[str, Any]) -> Table:
    """The table of `Release.summary()`."""
    rows = tuple((name, _in_a_cell(value)) for name, value in summary.items())
    return Table("The release", ("what", "value"), rows)


def _in_a_cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        value = [f"{of} {name}" for name, of in value.items()]
    return ", ".join(value) or "none" if isinstance(value, list) else value


def warnings_on_neutral(release: Recoded, judged: Known) -> list[str]:
    """Warnings of neutral columns that narrow a quasi-identifier inside classes, or copy a sensitive one."""
    k = max((one.least_rows for one in release.requirements if one.least_rows), default=None)
    fewer = "as few as the smallest class has" if k is None else f"fewer than {k}"
    notes = []
    for name, telling in judged.columns.items():
        if telling.n_narrowed:
            first = telling.narrows[0]
            notes.append(
                f"column {name!r} is neutral and narrows {' and '.join(map(repr, telling.narrows))} inside "
                f"classes: it leaves {fewer} candidates for {telling.n_narrowed:,} of {release.n_rows:,} "
                f"people; do not publish it, make it a quasi-identifier, or link it (linked=[[{first!r}, "
                f"{name!r}]] or --linked {as_word(first, quoted(name))})"
            )
        if telling.n_copied:
            copied = " and ".join(map(repr, telling.copies))
            notes.append(
                f"column {name!r} is neutral and goes with the sensitive {copied} in "
                f"{telling.n_copied:,} of {release.n_rows:,} rows, and no requirement protects it; do not "
                "publish it, or make it sensitive"
            )
    return notes


def note_on_known(privacy: Privacy) -> str | None:
    """How much less the classes hide from who knows the neutral columns; None where nothing was asked."""
    judged = privacy.known
    if judged is None or privacy.intact:
        return None
    return (
        f"known: k = {privacy.k:,}; with the neutral columns: k = {judged.k:,}, {judged.sample_uniques:,} of "
        f"{privacy.n_rows:,} rows unique, mean risk {judged.prosecutor.mean:.3g}"
    )
