# SPDX-License-Identifier: Apache-2.0
"""Information loss over whole tables, row by row and pair by pair, in plain Python.

An attribute is a dict: "kind" ("numeric", "ordinal", "tree" or "flat"), "values" (the original
column, None where it is missing), for an ordinal one "order", for a tree "parents" (label to the label
above it, the root's is None; children in the order of the dict), for floats "lattice": False. A
release is a list of classes, each a list of row numbers; rows in none are suppressed. A cell is a pair
(values of the domain it covers, in order; does it cover null?).
"""

from math import inf, log


def domain(attribute):
    """The values of the original, in order: ranks, depth-first leaves, or sorted labels."""
    present = {value for value in attribute["values"] if value is not None}
    if attribute["kind"] == "ordinal":
        return [value for value in attribute["order"] if value in present]
    if attribute["kind"] == "tree":
        return [leaf for leaf in below(attribute, root(attribute)) if leaf in present]
    return sorted(present)


def root(attribute):
    """The top of the whole hierarchy."""
    return next(label for label, above in attribute["parents"].items() if above is None)


def below(attribute, node):
    """Leaves under a node, depth first."""
    children = [label for label, above in attribute["parents"].items() if above == node]
    return [leaf for child in children for leaf in below(attribute, child)] if children else [node]


def common_ancestor(attribute, labels):
    """The lowest node above all labels; the node itself where it is one label."""
    node = next(iter(labels))
    while not set(labels) <= set(below(attribute, node)):
        node = attribute["parents"][node]
    return node


def cell_of(attribute, present):
    """The cell that a release shows for rows with these values."""
    values = [value for value in present if value is not None]
    null = None in present
    known = domain(attribute)
    if not values:
        return (), null
    if attribute["kind"] in ("numeric", "ordinal"):
        ranks = [known.index(value) for value in values]
        return tuple(known[min(ranks) : max(ranks) + 1]), null
    if attribute["kind"] == "tree":
        leaves = below(attribute, common_ancestor(attribute, values))
        return tuple(value for value in known if value in leaves), null
    return tuple(value for value in known if value in values), null


def cells_of(attributes, classes):
    """The cells of every class, per attribute; and the classes, those with equal cells joined."""
    joined = {}
    for rows in classes:
        shown = tuple(
            cell_of(attribute, [attribute["values"][row] for row in rows]) for attribute in attributes
        )
        joined.setdefault(shown, []).extend(rows)
    return list(joined.values()), list(joined)


def position(attribute, value):
    return value if attribute["kind"] == "numeric" else domain(attribute).index(value)


def ranged(attribute, cell, place):
    """Range share of a cell, `place` saying where a value lies."""
    (values, null), known = cell, domain(attribute)
    if not values:
        return 0.0
    if null:
        return 1.0
    span = place(known[-1]) - place(known[0])
    return (place(values[-1]) - place(values[0])) / span if span else 0.0


def ncp(attribute, cell):
    """Normalized certainty penalty of one cell."""
    if attribute["kind"] in ("numeric", "ordinal"):
        return float(ranged(attribute, cell, lambda value: position(attribute, value)))
    values, null = cell
    if not values:
        return 0.0
    n_values = len(domain(attribute))
    return 1.0 if null else (len(values) - 1) / (n_values - 1) if n_values > 1 else 0.0


def q_diversity(attribute, cell):
    """Loukides & Shao 2008, definition 2.1."""
    if attribute["kind"] in ("numeric", "ordinal"):
        return ncp(attribute, cell)
    values, null = cell
    return 0.0 if not values else 1.0 if null else len(values) / len(domain(attribute))


def level(attribute, cell):
    """Level of the cell's node over the height of the tree."""
    (values, null), known = cell, domain(attribute)
    if not values:
        return 0.0
    if null:
        return 1.0
    top = common_ancestor(attribute, known)

    def depth(node):
        return 0 if node == top else 1 + depth(attribute["parents"][node])

    height = max(map(depth, known))
    if len(values) == 1 or not height:
        return 0.0
    return (height - depth(common_ancestor(attribute, values))) / height


def discernibility(classes, n_rows):
    """A row costs the size of its class, a suppressed one the size of the table."""
    size_of = {row: len(rows) for rows in classes for row in rows}
    return sum(size_of.get(row, n_rows) for row in range(n_rows))


def c_avg(classes, k):
    """Mean class size over k."""
    return sum(map(len, classes)) / len(classes) / k if classes else 0.0


def mean_over_rows(attributes, classes, cells, loss):
    """Mean loss of all cells of the table; suppressed ones cost 1."""
    n_rows = len(attributes[0]["values"])
    total = 0.0
    for a, attribute in enumerate(attributes):
        cost = {
            row: loss(attribute, shown[a]) for rows, shown in zip(classes, cells, strict=True) for row in rows
        }
        total += sum(cost.get(row, 1.0) for row in range(n_rows))
    return total / (n_rows * len(attributes)) if attributes else 0.0


def gcp(attributes, classes, cells):
    """Global certainty penalty."""
    return mean_over_rows(attributes, classes, cells, ncp)


def ordered_loss(attributes, classes, cells):
    """The same with every attribute taken as ranks."""
    return mean_over_rows(
        attributes,
        classes,
        cells,
        lambda attribute, cell: ranged(attribute, cell, domain(attribute).index),
    )


def precision(attributes, classes, cells):
    """One minus the mean level over height, trees only."""
    trees = [a for a, attribute in enumerate(attributes) if attribute["kind"] == "tree"]
    if not trees:
        return None
    shown = [[cell[a] for a in trees] for cell in cells]
    return 1 - mean_over_rows([attributes[a] for a in trees], classes, shown, level)


def um(attributes, cells):
    """Mean over classes of the sum of Q-diversities (definition 2.2)."""
    sums = [sum(map(q_diversity, attributes, shown)) for shown in cells]
    return sum(sums) / len(sums) if sums else 0.0


def um_rows(attributes, classes, cells):
    """The same, mean over rows, a suppressed one costing 1 per attribute."""
    return mean_over_rows(attributes, classes, cells, q_diversity) * len(attributes)


def s_diversity(attribute, rows, r):
    """Definition 2.4, over ordered pairs of rows."""
    known = domain(attribute)
    total = 0.0
    for i in rows:
        for j in rows:
            u, v = attribute["values"][i], attribute["values"][j]
            if u == v:
                near = 1.0
            elif attribute["kind"] in ("numeric", "ordinal"):
                near = 1 - ncp(attribute, cell_of(attribute, [u, v]))
            elif attribute["kind"] == "tree":
                near = 1 - (len(cell_of(attribute, [u, v])[0]) - 1) / len(known)
            else:
                near = 1 - (len(known) - 1) / len(known)
            total += near if near >= 1 - r - 1e-9 else 0.0
    return total / len(rows) ** 2


def pm(sensitive, classes, r):
    """Mean over classes of the sum of S-diversities (definition 2.5)."""
    sums = [sum(s_diversity(attribute, rows, r) for attribute in sensitive) for rows in classes]
    return sum(sums) / len(sums) if sums else 0.0


def pm_rows(sensitive, classes, r):
    """The same, mean over published rows."""
    n_rows = sum(map(len, classes))
    total = sum(
        len(rows) * sum(s_diversity(attribute, rows, r) for attribute in sensitive) for rows in classes
    )
    return total / n_rows if n_rows else 0.0


def avg_wtd(attributes, sensitive, classes, cells, r, w_u, w_p):
    """Mean over classes of the weighted tuple diversity (definitions 3.1 and 3.2)."""
    total = 0.0
    for rows, shown in zip(classes, cells, strict=True):
        q = [q_diversity(attribute, cell) for attribute, cell in zip(attributes, shown, strict=True)]
        s = [s_diversity(attribute, rows, r) for attribute in sensitive]
        total += w_u * sum(q) / len(q) + w_p * sum(s) / max(len(s), 1)
    return total / len(classes) if classes else 0.0


def entropy(attributes, classes, cells):
    """Non-uniform entropy over that of the table with every cell at the root."""
    lost = whole = 0.0
    for a, attribute in enumerate(attributes):
        column = attribute["values"]
        shown_of = {row: shown[a] for rows, shown in zip(classes, cells, strict=True) for row in rows}
        for row, value in enumerate(column):
            values, null = shown_of.get(row, (domain(attribute), True))
            inside = sum(other in values or (other is None and null) for other in column)
            lost -= log(column.count(value) / inside)
            whole -= log(column.count(value) / len(column))
    return lost / whole if whole > 1e-12 else 0.0


def chance(attribute, cell, value):
    """The share of a cell that lies on one value."""
    values, null = cell
    lattice = attribute.get("lattice", True)
    if attribute["kind"] == "numeric" and lattice and values:
        n_places = values[-1] - values[0] + 1
    else:
        n_places = len(values)
    on_null = 0.0
    if null:
        on_null = 1.0 if not values else 1 / (n_places + 1) if lattice else 0.5
    if value is None:
        return on_null
    return (1 - on_null) / n_places if value in values else 0.0


def kl(attributes, sensitive, classes, cells):
    """KL divergence of the reconstructed QI-SA distribution, mean over sensitive attributes."""
    n_rows = len(attributes[0]["values"])
    n_published = sum(map(len, classes))
    if not n_published:
        return inf
    found = []
    for one in sensitive or [{"values": [0] * n_rows}]:
        points = [
            (*(attribute["values"][row] for attribute in attributes), one["values"][row])
            for row in range(n_rows)
        ]
        total = 0.0
        for point in set(points):
            expected = 0.0
            for rows, shown in zip(classes, cells, strict=True):
                weight = 1.0
                for attribute, cell, value in zip(attributes, shown, point[:-1], strict=True):
                    weight *= chance(attribute, cell, value)
                expected += weight * sum(one["values"][row] == point[-1] for row in rows)
            if expected == 0:
                return inf
            share = points.count(point) / n_rows
            total += share * log(share / (expected / n_published))
        found.append(total)
    return sum(found) / len(found)


def kl_of_buckets(attributes, sensitive, classes):
    """The same for a bucketization: every row of a bucket has each of its sensitive values in turn."""
    n_rows = len(attributes[0]["values"])
    n_published = sum(map(len, classes))
    if not n_published:
        return inf
    found = []
    quasi = [tuple(attribute["values"][row] for attribute in attributes) for row in range(n_rows)]
    for one in sensitive:
        points = list(zip(quasi, one["values"], strict=True))
        total = 0.0
        for point in set(points):
            expected = sum(
                sum(quasi[row] == point[0] for row in rows)
                * sum(one["values"][row] == point[1] for row in rows)
                / len(rows)
                for rows in classes
            )
            if expected == 0:
                return inf
            share = points.count(point) / n_rows
            total += share * log(share / (expected / n_published))
        found.append(total)
    return sum(found) / len(found)
