# SPDX-License-Identifier: Apache-2.0
"""Slow twin of `anoncore.tgc`.

Rows are lists of codes, sensitive ones last. An objective is a dict: attributes (as in
`reference.diversity`, with a weight), sensitive = [(attribute, r, printed, weight)], w_u, w_p.
"""

from itertools import pairwise

from reference.diversity import spread, width


def column(rows, a):
    """The codes of some rows on one attribute."""
    return [row[a] for row in rows]


def wtd(objective, rows):
    """Weighted tuple diversity of some rows (LS definition 3.1)."""
    attributes, sensitive = objective["attributes"], objective["sensitive"]
    q = s = 0.0
    for a, attribute in enumerate(attributes):
        q += width(attribute, column(rows, a), "q-diversity", attribute["weight"])
    for b, (attribute, r, printed, weight) in enumerate(sensitive, len(attributes)):
        s += weight * spread(attribute, column(rows, b), r, printed)
    total = 0.0
    if attributes:
        total += objective["w_u"] * (q / len(attributes))
    if sensitive:
        total += objective["w_p"] * (s / len(sensitive))
    return total


def first_of_least(values):
    """Where the least value stands, the first time."""
    return values.index(min(values))


def split(codes, attributes, sensitive, s, limit=None, limited=None, mend=False):
    """Subspaces (lists of row numbers) of LS algorithm 2, or as the default variant makes them."""

    def wide(rows, a):
        return width(attributes[a], column([codes[row] for row in rows], a), "ncp", attributes[a]["weight"])

    def is_protected(part):
        near = 0.0
        for b, (attribute, r, printed) in enumerate(sensitive, len(attributes)):
            near += spread(attribute, column([codes[row] for row in part], b), r, printed)
        return near <= limit + 1e-9

    def halves(rows):
        widths = [wide(rows, a) for a in range(len(attributes))]
        widest = widths.index(max(widths))
        by_code = sorted(rows, key=lambda row: (codes[row][widest], row))
        half = (len(rows) + 1) // 2
        if max(widths) == 0:
            return (rows[::2], rows[1::2]) if mend and len(rows) > 512 else None
        return sorted(by_code[:half]), sorted(by_code[half:])

    def narrowest(rows):
        most, best = 0.0, None
        for a in range(len(attributes)):
            for code in sorted({codes[row][a] for row in rows})[1:]:
                left = [row for row in rows if codes[row][a] < code]
                right = [row for row in rows if codes[row][a] >= code]
                gain = len(rows) * wide(rows, a) - (len(left) * wide(left, a) + len(right) * wide(right, a))
                if min(len(left), len(right)) >= max(s, len(rows) // 64) and gain > most:
                    most, best = gain, (left, right)
        return best

    def parts(rows):
        if len(rows) // 2 < s:
            return [rows]
        large = len(rows) > 4 * s
        cut = narrowest(rows) if mend else None
        if cut is None and (large or not mend):
            cut = halves(rows)
        if cut is None:
            return [rows]
        tested = limit is not None and sensitive and (limited is None or len(rows) <= limited)
        if tested and not all(map(is_protected, cut)):
            return [rows]
        return [*parts(cut[0]), *parts(cut[1])]

    return parts(list(range(len(codes)))) if codes else []


def cluster(codes, rows, objective, k, most=None, delta=None):
    """(Accepted clusters, rows of rejected ones) of LS algorithm 1, clusters being closed at `most` rows."""

    def with_row(members, row):
        return wtd(objective, [codes[member] for member in [*members, row]])

    live, accepted, rejected = list(rows), [], []
    while live:
        members = [live.pop(0)]
        while live and (most is None or len(members) < most):
            values = [with_row(members, row) for row in live]
            best = first_of_least(values)
            if delta is not None and values[best] > delta + 1e-9:
                break
            members.append(live.pop(best))
        if len(members) >= k:
            accepted.append(members)
        else:
            rejected += members
    return accepted, sorted(rejected)


def place(codes, clusters, rows, objective, by_size):
    """Put each row in turn where (size times) weighted tuple diversity grows least."""
    for row in rows:
        increases = []
        for members in clusters:
            now = wtd(objective, [codes[member] for member in members])
            then = wtd(objective, [codes[member] for member in [*members, row]])
            if by_size:
                increases.append((len(members) + 1) * then - len(members) * now)
            else:
                increases.append(then - now)
        clusters[first_of_least(increases)].append(row)


def homes(clusters, n):
    """The cluster of every row; -1: none."""
    home = [-1] * n
    for c, members in enumerate(clusters):
        for row in members:
            home[row] = c
    return home


def grow(codes, offsets, objective, k, delta, most=None, mend=False):
    """The class of every row, and the number of classes."""
    classes = []
    for start, stop in pairwise(offsets):
        rows = list(range(start, stop))
        accepted, rejected = cluster(codes, rows, objective, k, most, delta)
        if mend:
            again, left = cluster(codes, rejected, objective, k, k)
            accepted += again
            if accepted:
                place(codes, accepted, left, objective, True)
            else:
                accepted = [rows]
        classes += accepted
    return homes(classes, len(codes)), len(classes)


def reinsert(codes, home, objective):
    """The class of every row after those without one joined."""
    clusters = [[row for row, c in enumerate(home) if c == each] for each in range(max(home, default=-1) + 1)]
    if not clusters:
        return [0] * len(codes)
    place(codes, clusters, [row for row, c in enumerate(home) if c == -1], objective, False)
    return homes(clusters, len(codes))


def deal(values, k):
    """The class of every row, rows being dealt out in the order of their sensitive values (lists)."""
    n, p = len(values), len(values[0])
    by_values = sorted(range(p), key=lambda a: len(set(column(values, a))))

    def turned(row):
        key, turns = [], 0
        for a in by_values:
            key.append(-values[row][a] if turns % 2 else values[row][a])
            turns += values[row][a]
        return key

    home = [0] * n
    for place, row in enumerate(sorted(range(n), key=turned)):
        home[row] = place % max(n // k, 1)
    return home


def neighbors(codes, clusters, c, objective):
    """Up to 4 other clusters: whose joining c adds least width times rows, or some that lie evenly."""
    attributes, n = objective["attributes"], len(clusters)
    if not attributes:
        steps = [max(j * n // 5, j) for j in range(1, 5)]
        return [(c + step) % n for step in steps if step < n]

    def wide(rows):
        widths = [
            width(attribute, column([codes[row] for row in rows], a), "q-diversity", attribute["weight"])
            for a, attribute in enumerate(attributes)
        ]
        return len(rows) * sum(widths, 0.0)

    costs = {
        d: wide(clusters[c] + clusters[d]) - wide(clusters[c]) - wide(clusters[d]) for d in range(n) if d != c
    }
    return sorted(costs, key=lambda d: (costs[d], d))[:4]


def exchange(codes, one, two, objective, k):
    """Swap rows of two clusters, or move them from the first to the second, as long as it helps."""

    def weight(rows):
        return len(rows) * wtd(objective, [codes[row] for row in rows])

    i, changed = 0, False
    while i < len(one):
        best, made, before = 1e-9, None, weight(one) + weight(two)
        pairs = []
        if len(one) > k and len(two) < 2 * k - 1:
            pairs.append((one[:i] + [one[-1]] * (i < len(one) - 1) + one[i + 1 : -1], [*two, one[i]], 0))
        for j, row in enumerate(two):
            pairs.append(([*one[:i], row, *one[i + 1 :]], [*two[:j], one[i], *two[j + 1 :]], 1))
        for pair in pairs:
            gain = before - (weight(pair[0]) + weight(pair[1]))
            if gain > best:
                best, made = gain, pair
        if made is None:
            i += 1
            continue
        one[:], two[:] = made[:2]
        i += made[2]
        changed = True
    return changed


def improve(codes, offsets, home, objective, k):
    """The class of every row after up to 3 passes of swaps and moves in every subspace."""
    classes = []
    for start, stop in pairwise(offsets):
        numbers = sorted(set(home[start:stop]))
        clusters = [[row for row in range(start, stop) if home[row] == c] for c in numbers]
        last_change = [0] * len(clusters)
        for turn in range(1, 4):
            changed = False
            for c in range(len(clusters)):
                for d in neighbors(codes, clusters, c, objective):
                    if max(last_change[c], last_change[d]) < turn - 1:
                        continue
                    if exchange(codes, clusters[c], clusters[d], objective, k):
                        last_change[c] = last_change[d] = turn
                        changed = True
            if not changed:
                break
        classes += clusters
    return homes(classes, len(codes))
