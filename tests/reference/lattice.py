# SPDX-License-Identifier: Apache-2.0
"""Slow twins of `anoncore.lattice`, and full-domain recoding by enumeration."""

from collections import Counter
from itertools import product


def roll_up(codes, labels, node, members, counts):
    """Classes of equal labels by their first member, with their rows, and the class of each member."""
    looks = [tuple(labels[a][g][codes[i][a]] for a, g in enumerate(node)) for i in members]
    classes = list(dict.fromkeys(looks))
    first = [members[looks.index(look)] for look in classes]
    rows = [
        sum(count for count, other in zip(counts, looks, strict=True) if other == look) for look in classes
    ]
    return first, rows, [classes.index(look) for look in looks]


def suppressed(classes, passes):
    """The rows of the classes that fail against those of the others, until nothing fails more."""
    kept = list(classes)
    while True:
        table = [row for one in kept for row in one]
        passing = [one for one in kept if passes(one, table)]
        if len(passing) == len(kept):
            return [row for one in classes if one not in kept for row in one]
        kept = passing


def best_node(rows, ladders, passes, score, most):
    """The feasible node of least score, ties by sum of levels and levels; None where there is none.

    `ladders[a][g]` maps a value to its label; `passes(class, table)`; `score(node, classes, suppressed)`.
    """
    found = []
    for node in product(*(range(len(ladder)) for ladder in ladders)):
        looks = {}
        for i, row in enumerate(rows):
            looks.setdefault(tuple(ladders[a][g][row[a]] for a, g in enumerate(node)), []).append(i)
        out = suppressed(list(looks.values()), passes)
        if len(out) <= most and len(out) < len(rows):
            found.append((score(node, list(looks.values()), set(out)), node))
    if not found:
        return None
    least = min(value for value, _ in found)
    return min((sum(node), node) for value, node in found if value <= least + 1e-9)[1]


def iterated(rows, ladders, passes, weights, least):
    """The rounds of local recoding, as (node, row numbers published), and the row numbers that are left.

    Arguments as for `best_node`; every round but the first publishes at least `least` rows, or all. A value
    None is missing: it has labels, and is not counted below them.
    """
    sizes = [len(ladder[0].keys() - {None}) for ladder in ladders]

    def lost(node, some):
        total = 0.0
        for a, g in enumerate(node):
            below = Counter(label for value, label in ladders[a][g].items() if value is not None)
            n_below = [below[ladders[a][g][rows[i][a]]] for i in some]
            total += weights[a] * sum(max(n - 1, 0) / max(sizes[a] - 1, 1) for n in n_below)
        return total / len(some) / sum(weights)

    def published(node, some):
        looks = {}
        for i in some:
            looks.setdefault(tuple(ladders[a][g][rows[i][a]] for a, g in enumerate(node)), []).append(i)
        return sorted(i for one in looks.values() if passes(one, some) for i in one)

    left = list(range(len(rows)))
    rounds = [((0,) * len(ladders), published((0,) * len(ladders), left))]
    left = sorted(set(left) - set(rounds[0][1]))
    while left:
        nodes = product(*(range(len(ladder)) for ladder in ladders))
        able = [node for node in nodes if len(published(node, left)) >= min(len(left), least)]
        if not able:
            break
        loss = {node: lost(node, left) for node in able}
        best = min(loss.values())
        node = min((sum(node), node) for node in able if loss[node] <= best + 1e-9)[1]
        rounds.append((node, published(node, left)))
        left = sorted(set(left) - set(rounds[-1][1]))
    return rounds, left
