# SPDX-License-Identifier: Apache-2.0
"""Slow twins of `anoncore.diversity`.

An attribute is a dict: kind "ordered", "tree" or "flat"; n_values; for an ordered one positions; for a
tree parent (by node, -1 for the root) and leaf (by value); null is the value n_values.
"""

from fractions import Fraction


def path(attribute, value):
    """The nodes from a value's leaf up to the root."""
    node, nodes = attribute["leaf"][value], []
    while node != -1:
        nodes.append(node)
        node = attribute["parent"][node]
    return nodes


def common_ancestor(attribute, values):
    """The lowest node above all of the values."""
    shared = set.intersection(*(set(path(attribute, value)) for value in values))
    return next(node for node in path(attribute, next(iter(values))) if node in shared)


def leaves(attribute, node):
    """Number of values below a node."""
    return sum(node in path(attribute, value) for value in range(attribute["n_values"]))


def level(attribute, node):
    """(Height of the tree - depth of the node, 0 for a leaf; height)."""
    depths = [len(path(attribute, value)) - 1 for value in range(attribute["n_values"])]
    height = max(depths)
    if node in attribute["leaf"]:
        return 0, height
    depth = 0
    while attribute["parent"][node] != -1:
        node = attribute["parent"][node]
        depth += 1
    return height - depth, height


def share(attribute, values, loss):
    """(a, b): a set of values is a/b wide, by NCP, Byun's loss, or Q-diversity (LS definition 2.1)."""
    size, values = attribute["n_values"], set(values)
    if not values or values == {size}:
        return 0, 1
    if size in values:
        return 1, 1
    if attribute["kind"] == "ordered":
        places = attribute["positions"]
        held = [places[value] for value in values]
        return max(held) - min(held), max(places) - min(places) or 1
    if attribute["kind"] == "tree":
        node = common_ancestor(attribute, values)
        if loss == "byun":
            return level(attribute, node)
        held = leaves(attribute, node)
    else:
        held = len(values)
        if loss == "byun":
            return int(held > 1), 1
    return (held, size) if loss == "q-diversity" else (held - 1, max(size - 1, 1))


def width(attribute, values, loss, weight=1.0):
    """Width of a set of values."""
    part, whole = share(attribute, values, loss)
    return weight * (part / whole) if part else 0.0


def q_diversity(attribute, classes, loss="q-diversity", weight=1.0):
    """Width of every class (a list of values)."""
    return [width(attribute, values, loss, weight) for values in classes]


def q_diversity_of_prefixes(attribute, values, loss="q-diversity", weight=1.0):
    """Width of the first 1, 2, ... values."""
    return [width(attribute, values[: i + 1], loss, weight) for i in range(len(values))]


def contribution(attribute, u, v, r, printed=False):
    """Pairwise contribution of two values (LS definition 2.3), a fraction; 0 below 1 - r."""
    size = attribute["n_values"]
    if u == v:
        return Fraction(1)
    if attribute["kind"] == "ordered":
        places = [Fraction(place) for place in attribute["positions"]]
        whole = max(places) - min(places)
        distance = abs(places[u] - places[v]) / whole if whole else Fraction(0)
    elif attribute["kind"] == "tree":
        distance = Fraction(leaves(attribute, common_ancestor(attribute, [u, v])) - 1, size)
    else:
        distance = Fraction(1 if printed else size - 1, size)
    return 1 - distance if distance <= Fraction(str(r)) else Fraction(0)


def pairwise_contribution(attribute, u, v, r, printed=False):
    """The contribution of every pair u[i], v[i]."""
    return [float(contribution(attribute, a, b, r, printed)) for a, b in zip(u, v, strict=True)]


def spread(attribute, values, r, printed=False):
    """S-diversity of one class (LS definition 2.4): the mean over ordered pairs, with repetition."""
    if not values:
        return 0.0
    total = sum(contribution(attribute, u, v, r, printed) for u in values for v in values)
    return float(total / len(values) ** 2)


def s_diversity(attribute, classes, r, printed=False):
    """S-diversity of every class (a list of values, one per row)."""
    return [spread(attribute, values, r, printed) for values in classes]


def s_diversity_of_prefixes(attribute, values, r, printed=False):
    """S-diversity of the first 1, 2, ... rows."""
    return [spread(attribute, values[: i + 1], r, printed) for i in range(len(values))]
