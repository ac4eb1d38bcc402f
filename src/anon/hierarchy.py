# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies: trees of labels for nominal attributes, levels of intervals for numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, repr=False)
class Tree:
    """A hierarchy of labels, pruned to the values of one domain.

    Nodes are numbered depth first (preorder), node 0 is the root; children keep the order of first
    appearance in the hierarchy. `labels[v]` is the node's label, `parent[v]` its parent (-1 for the
    root), `first[v]..last[v]` (inclusive) the codes of the leaves below it, `depth[v]` its distance
    from the root (all int32). `leaf[c]` is the node of code c. Chains of only children are kept.
    """

    labels: tuple[str, ...]
    parent: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    leaf: npt.NDArray[np.int32]

    @property
    def height(self) -> int:
        """H: the greatest depth of a leaf."""
        return int(self.depth.max())

    def __repr__(self) -> str:
        return f"Tree(nodes={len(self.labels)}, leaves={len(self.leaf)}, height={self.height})"


class Levels:
    """Levels of named sets of a numeric attribute's values (intervals, calendar units, CSV leaf sets)."""
