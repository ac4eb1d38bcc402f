# SPDX-License-Identifier: Apache-2.0
"""Slow twin of `anoncore.kmembers`: every row is compared with every cluster.

Attributes are dicts as in `reference.diversity`, with a `loss` and a `weight`. Costs are fractions:
equal ones tie.
"""

from fractions import Fraction

from reference.diversity import contribution, share


def loss(attributes, rows):
    """Sum of the widths of some rows (lists of codes), a fraction."""
    total = Fraction(0)
    for a, attribute in enumerate(attributes):
        part, whole = share(attribute, [row[a] for row in rows], attribute["loss"])
        total += Fraction(str(attribute["weight"])) * Fraction(part) / Fraction(whole)
    return total


def nearness(sensitive, rows):
    """Sum of the S-diversities of some rows (lists of sensitive codes), a fraction."""
    total = Fraction(0)
    for a, (attribute, r, printed) in enumerate(sensitive):
        values = [row[a] for row in rows]
        total += sum(contribution(attribute, u, v, r, printed) for u in values for v in values)
    return total / len(rows) ** 2


def first_of_least(candidates, values):
    """The first candidate with the least value."""
    return candidates[values.index(min(values))]


def grow(codes, attributes, k, start, sensitive=None, sensitive_codes=None):
    """Clusters of k rows in the order of growth, the leftovers, and the cluster of each leftover."""

    def objective(rows):
        if sensitive is not None:
            return nearness(sensitive, [sensitive_codes[row] for row in rows])
        return loss(attributes, [codes[row] for row in rows])

    def increase(cluster, row):
        if sensitive is not None:
            return objective([*cluster, row]) - objective(cluster)
        return (len(cluster) + 1) * objective([*cluster, row]) - len(cluster) * objective(cluster)

    live, seed, clusters = list(range(len(codes))), start, []
    while len(live) >= k:
        seed = first_of_least(live, [-loss(attributes, [codes[seed], codes[row]]) for row in live])
        live.remove(seed)
        cluster = [seed]
        while len(cluster) < k:
            row = first_of_least(live, [objective([*cluster, row]) for row in live])
            live.remove(row)
            cluster.append(row)
        clusters.append(cluster)

    grown, home = [list(cluster) for cluster in clusters], []
    for row in live:
        best = first_of_least(range(len(grown)), [increase(cluster, row) for cluster in grown])
        grown[best].append(row)
        home.append(best)
    return clusters, live, home
