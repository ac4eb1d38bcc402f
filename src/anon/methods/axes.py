# SPDX-License-Identifier: Apache-2.0
"""The attributes of a lattice of full-domain recodings: the levels of each, and what one is at a level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from anon.encoding import Codes, Domain, Encoded, at_level
from anon.errors import Parameter, UsageError
from anon.methods.households import sizes_of
from anon.schema import Attribute, Dates, Intervals, Ladder, Prefix, as_word, ladder_of, levels_of

Reach = Literal["data", "file"]


@dataclass(frozen=True, repr=False)
class Axis:
    """One attribute: its levels, of which it takes `lowest` at least, and the codes of its values (`fine`)
    and of these as the schema codes them.
    """

    attribute: Attribute
    domain: Domain
    ladder: Ladder
    lowest: int
    codes: Codes
    fine: Codes

    def column(self, g: int) -> Attribute | None:
        """The attribute with the level as its least one; None where all values are one."""
        if g == self.ladder.height:
            return None
        return (
            self.attribute if g <= self.lowest else replace(self.attribute, least=_least(self.attribute, g))
        )


def axes_of(encoded: Encoded, reach: Reach) -> list[Axis]:
    """Those of a table in schema order; columns linked to others follow them, and have none. The last is the
    size of households, where the schema names any.
    """
    follows, axes = encoded.schema.follows, []
    for attribute, domain, codes, fine in zip(
        encoded.schema.quasi,
        encoded.quasi,
        encoded.quasi_codes,
        encoded.original.quasi_codes,
        strict=True,
    ):
        if attribute.name in follows:
            continue
        if attribute.kind == "numeric" and not isinstance(attribute.hierarchy, Intervals | Dates | None):
            raise UsageError(
                f"column {attribute.name!r} is numeric with labels of a file or dict: ",
                Parameter(
                    "declare it nominal to recode it to these labels, or give it intervals()",
                    f"to recode it to these labels say --kind {as_word(attribute.name, 'nominal')}; or give "
                    "it intervals:5,10",
                ),
            )
        ladder = _plain_ladder(attribute, domain, reach)
        lowest = _lowest(attribute, ladder)
        axis = Axis(attribute, domain, ladder, lowest, codes, fine)
        if attribute.kind == "numeric" and attribute.is_coded:
            axis = replace(axis, ladder=_coded_ladder(axis))
        axes.append(axis)
    if encoded.schema.household and encoded.units is not None:
        size, codes = sizes_of(encoded.units)
        ladder = ladder_of(None, size.values, None, size.name)
        axes.append(Axis(Attribute(size.name, "numeric"), size, ladder, 0, codes, codes))
    return axes


def _plain_ladder(attribute: Attribute, domain: Domain, reach: Reach) -> Ladder:
    """All levels of the hierarchy, those below the least one too."""
    levels = domain.levels
    if attribute.kind == "numeric" and not domain.n_values:  # nulls alone have no intervals
        return ladder_of(None, domain.values, None, domain.name, reach)
    if attribute.kind == "numeric" and attribute.hierarchy is not None and attribute.least is not None:
        assert domain.positions is not None
        of_values = domain.values, domain.positions, domain.unit_lattice
        levels = levels_of(attribute.hierarchy, *of_values, domain.name)
    return ladder_of(attribute.hierarchy, domain.values, levels, domain.name, reach)


def _lowest(attribute: Attribute, ladder: Ladder) -> int:
    """The level that the attribute's least one is."""
    if attribute.least is None or attribute.hierarchy is None:
        return 0
    return next(
        (g for g in range(1, ladder.height) if _least(attribute, g) == attribute.least), ladder.height
    )


def _coded_ladder(axis: Axis) -> Ladder:
    """The levels of numbers that the schema codes: values from `top` on are one at each of them."""
    ladder, n = axis.ladder, axis.domain.n_values
    labels, of_code, below = [], [], []
    for g in range(ladder.height):
        coding = at_level(axis.domain, axis.column(max(g, axis.lowest))).coding
        assert coding is not None
        first, blocks, sizes = np.unique(coding.first, return_inverse=True, return_counts=True)
        labels.append(tuple(map(str, first)))
        of_code.append(blocks.astype(np.uint32).reshape(n))
        below.append(sizes.astype(np.int64))
    return Ladder(
        ladder.name,
        (*labels, ladder.labels[-1]),
        (*of_code, ladder.of_code[-1]),
        (*below, ladder.below[-1]),
        ladder.n_below,
    )


def _least(attribute: Attribute, g: int) -> Any:
    """The level as an attribute's `least` names it."""
    match attribute.hierarchy:
        case Intervals(widths):
            return sorted(widths)[g - 1]
        case Dates():
            return attribute.hierarchy.ordered[g - 1]
        case Prefix(lengths):
            return sorted(lengths, reverse=True)[g - 1]
    return g
