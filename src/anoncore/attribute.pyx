# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the kernels know of an attribute: its values, their line or tree, its weight; checked once."""

from fractions import Fraction
from functools import partial
from math import lcm

import numpy as np

from anoncore.doors import line_of, node_widths_of, real, tree_of, whole

from anoncore.memory cimport take
from anoncore.types cimport FLAT, ORDERED, TREE, int32_t, int64_t

MOST_EXACT = 2**53  # whole numbers below it, and their sums and products below it, are exact


cdef class Attribute:
    """An attribute as the kernels read it, and how wide a set of its codes is; immutable.

    Codes are 0..n_values - 1 and n_values for null. `positions` (float64, ascending) make it ordered,
    `tree` = (parent, first, last, leaf) (int32, as in `anon.schema.Tree`) a tree; with neither it is
    a flat set. `loss` says how a set of values is measured; every width is multiplied by `weight`:

    - "ncp": range share; (leaves below the LCA - 1) / (n_values - 1); (distinct - 1) / (n_values - 1)
    - "byun": range share; level of the LCA / height of the tree, a leaf 0; 1 for two or more labels
    - "q-diversity" (Loukides & Shao 2008, definition 2.1): range share; leaves / n_values; distinct / n_values

    `widths` (float64, one per node) say instead how wide the values below each node of the tree are, 1 at most and
    never less than below a child. Nulls alone are 0 wide, nulls together with values 1.
    """

    def __cinit__(self, n_values, positions=None, tree=None, *, loss="ncp", weight=1.0, widths=None):  # it runs once
        n_values = whole(n_values, 0, 2**30, "n_values")
        weight = real(weight, "weight")
        if positions is not None and tree is not None:
            raise ValueError("an attribute has positions or a tree, not both")
        if loss not in ("ncp", "byun", "q-diversity"):
            raise ValueError("loss must be ncp, byun or q-diversity")
        if not (weight >= 0 and np.isfinite(weight)):
            raise ValueError("weight must be finite and at least 0")
        if widths is not None and tree is None:
            raise ValueError("widths are of the nodes of a tree")
        self.loss = loss
        self.keep = []
        self.extent.n_values = n_values
        self.extent.weight = self.extent.full = weight
        self.extent.base, self.extent.cap, self.extent.whole = 1.0, n_values, max(n_values - 1, 1)
        self.denominator = max(n_values, 1) if loss == "q-diversity" else max(n_values - 1, 1)
        self.is_whole = True
        counts = None
        if positions is not None:
            self.extent.kind = ORDERED
            self.positions = line_of(positions, n_values, "positions")
            self.extent.positions = self.own_reals(self.positions)
            length = float(self.positions[n_values - 1] - self.positions[0]) if n_values else 0.0
            self.extent.whole = length if length > 0 else 1.0
            self.is_whole = length < MOST_EXACT and (self.positions == np.floor(self.positions)).all()
            self.denominator = self.extent.whole if self.is_whole else 1.0
        elif tree is not None:
            self.extent.kind = TREE
            self.tree = parent, first, last, leaf = tree_of(tree, n_values, "tree")
            self.extent.parent = self.own(parent)
            self.extent.first = self.own(first)
            self.extent.last = self.own(last)
            self.extent.leaf = self.own(leaf)
            counts = last.astype(np.float64) - first + (loss == "q-diversity")
            if widths is not None:
                self.widths = counts = node_widths_of(widths, parent, "widths")
                self.denominator, self.is_whole = 1.0, False
            elif loss == "byun":
                counts, self.denominator = _levels(self.tree)
            self.extent.node_width = self.own_reals(counts / self.denominator)
        else:
            self.extent.kind = FLAT
            if loss == "q-diversity":
                self.extent.base = 0.0
            elif loss == "byun":
                self.extent.cap = self.denominator = 1.0
            self.extent.whole = self.denominator
        self.counted = self.extent
        self.counted.weight = 1.0
        self.counted.full = self.denominator
        self.counted.whole = self.extent.whole / self.denominator
        if counts is not None:
            self.counted.node_width = self.own_reals(counts)

    cdef const int32_t* own(self, values) except? NULL:
        cdef const int32_t[::1] view = values
        values.flags.writeable = False
        self.keep.append(view)
        return &view[0] if view.shape[0] else NULL

    cdef const double* own_reals(self, values) except? NULL:
        cdef const double[::1] view = values
        values.flags.writeable = False
        self.keep.append(view)
        return &view[0] if view.shape[0] else NULL

    def __reduce__(self):
        more = {"loss": self.loss, "weight": self.weight, "widths": self.widths}
        return partial(Attribute, **more), (self.n_values, self.positions, self.tree)

    @property
    def n_values(self):
        """Number of values, null not counted."""
        return self.extent.n_values

    @property
    def node_widths(self):
        """How wide the values below each node of the tree are (float64), or None."""
        if self.tree is None:
            return None
        cdef int64_t v, n = len(self.tree[0])
        return np.array([self.extent.node_width[v] for v in range(n)], np.float64)

    @property
    def weight(self):
        """What every width is multiplied by."""
        return self.extent.weight


cdef const Extent* extents_of(tuple attributes, list keep) except NULL:
    cdef Extent* extents = <Extent*>take(keep, len(attributes), sizeof(Extent))
    cdef Attribute attribute
    cdef int64_t a
    for a in range(len(attributes)):
        attribute = attributes[a]
        extents[a] = attribute.extent
    keep.append(attributes)
    return extents


cdef const Extent* counted_extents_of(tuple attributes, int64_t most, double* units, list keep) except NULL:
    cdef Extent* extents = <Extent*>take(keep, len(attributes), sizeof(Extent))
    cdef Attribute attribute
    cdef int64_t a
    each = _units([(one.weight, one.denominator, one.is_whole) for one in attributes], most)
    for a in range(len(attributes)):
        attribute = attributes[a]
        extents[a] = attribute.counted
        units[a] = each[a]
    keep.append(attributes)
    return extents


def _units(attributes, most):
    # Of each (weight, denominator, is it whole?) weight / denominator; or so many times as much that all are whole
    # and `most` times the sum of all widths is exact.
    steps = [Fraction(str(weight)) / int(denominator) for weight, denominator, _ in attributes]
    times = lcm(*(step.denominator for step in steps))
    total = sum(times * step * int(denominator) for step, (_, denominator, _) in zip(steps, attributes))
    if most * total < MOST_EXACT and all(is_whole for _, _, is_whole in attributes):
        return [float(times * step) for step in steps]
    return [weight / denominator for weight, denominator, _ in attributes]


cdef const int64_t[::1] depths_of(tree) except *:
    cdef const int32_t[::1] parent = tree[0]
    depth = np.zeros(len(parent), np.int64)
    cdef int64_t[::1] view = depth
    cdef int64_t node
    for node in range(1, parent.shape[0]):
        view[node] = view[parent[node]] + 1
    return view


def _levels(tree):
    # Height - depth of every node, 0 for leaves, short branches being padded there; and the height.
    depth = np.asarray(depths_of(tree))
    height = max(int(depth.max()), 1)
    level = (height - depth).astype(np.float64)
    level[tree[3]] = 0.0
    return level, height
