# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A conjunction of requirements, evaluated on the sensitive counts of one class.

A class has c[s] rows with sensitive value s, |C| in total; the table has t[s] of n. p = c[s]/|C|,
q = t[s]/n. Only the values present in the class are visited: what the absent ones add has a closed
form, so the work is O(present) and never O(domain); the rules on trees visit the nodes above the present
values, at most the sum of their depths. A value with t[s] = 0 is not in the table.

Exact rules. A real parameter arrives as a fraction x, and every such rule has the form a <= x*y
with integers a and 1 <= y <= N known in advance (the class size, or size times count). Of all
fractions a/y with y <= N that are <= x there is a greatest one, a Farey neighbor of x, and
replacing x by it changes no decision. So parameters of any precision fit in 64 bits, the products
in 128, and the result is always that of exact arithmetic.

Floating rules. Sums run over the present values in ascending order, in double precision; those with
logarithms are compensated, so that the number of values adds no error:
    entropy       ln|C| - (sum c ln c)/|C|  >=  ln l - 1e-12
    js            1/2 (sum[p ln p + q ln q - (p+q) ln((p+q)/2)] + ln 2 (1 - sum q))  <=  t + 1e-12
    delta         exp(-d) < (c n)/(|C| t[s]) < exp(d)  with  d = delta - 1e-12; every value of the table is
                  present, but for delta_present
    enhanced beta (c n)/(|C| t[s]) - 1  <=  ln(n / t[s]) + 1e-12, beside the exact test of beta
    S-diversity   sum over attributes of (sum over pairs c c' pc)/|C|^2  <=  bound + 1e-9
"""

from libc.math cimport M_LN2, exp, log

from anoncore.arithmetic cimport Line, Sum, add_to, area, int128, uint128
from anoncore.attribute cimport Attribute, Extent, depths_of
from anoncore.memory cimport take
from anoncore.types cimport int32_t, int64_t, test_t, uint8_t, uint64_t

from fractions import Fraction
from numbers import Rational

import numpy as np

from anoncore.doors import all_of, array_of, one_of, real, whole

cdef double TOLERANCE = 1e-12
cdef double DIVERSITY_TOLERANCE = 1e-9

cdef double[512] N_LOG_N  # n ln n
cdef int64_t _n
N_LOG_N[0] = 0
for _n in range(1, 512):
    N_LOG_N[_n] = _n * log(<double> _n)


# x = whole + part/parts, the greatest fraction below the asked one that any a/y can reach.
cdef struct Limit:
    uint64_t whole
    uint64_t part
    uint64_t parts


cdef struct Ranks:
    Limit limit
    int64_t l  # recursive: the rank l


cdef struct Real:
    double bound
    int64_t least          # entropy: fewer distinct values never pass; delta: values of the table, or 0
    double low             # entropy: l; delta: exp(-d)
    double high            # delta: exp(d)
    const double* share    # js: q of every value
    const double* term     # js: q ln q


cdef struct Order:
    Limit limit
    Line line


cdef struct Hierarchy:
    Limit limit
    Extent nodes            # `leaf` of null too, which no class has
    const int64_t* counts   # t of every node
    const int64_t* weights  # level of the parent minus level of the node


cdef struct Spread:
    int32_t sensitive
    int32_t on_line         # numeric or ordinal, else a tree
    const double* positions
    double length           # greatest minus least position in the table
    double reach            # the greatest distance that counts
    Extent nodes
    const double* weights   # closeness at a node minus closeness at its parent


cdef struct Diversity:
    double bound
    int32_t n
    const Spread* spreads
    const Diversity* next   # another such requirement, or NULL


# a <= x*y for 0 <= y <= the N that the limit was made for.
cdef inline bint within(int128 a, const Limit* x, uint64_t y) noexcept nogil:
    cdef int128 rest = a - <int128> x.whole * y
    if rest <= 0:
        return True
    if rest >= y:
        return False
    return <uint128> rest * x.parts <= <uint128> x.part * y


cdef int32_t test_distinct(const int64_t* values, const int64_t* counts, int64_t n_present,
                           const int64_t* table_counts, int64_t n_values,
                           int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    return n_present >= (<const int64_t*> params)[0]


cdef inline int64_t greatest(const int64_t* counts, int64_t n) noexcept nogil:
    cdef int64_t i, most = 0
    for i in range(n):
        if counts[i] > most:
            most = counts[i]
    return most


cdef int32_t test_share(const int64_t* values, const int64_t* counts, int64_t n_present,
                        const int64_t* table_counts, int64_t n_values,
                        int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    return within(greatest(counts, n_present), <const Limit*> params, class_size)


# r_1 < c (r_l + ... + r_m), tested as not (rest <= r_1 / c).
cdef int32_t test_recursive(const int64_t* values, const int64_t* counts, int64_t n_present,
                            const int64_t* table_counts, int64_t n_values,
                            int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef const Ranks* p = <const Ranks*> params
    if p.l <= 1:
        return True
    if n_present < p.l:
        return False
    # The l - 1 greatest counts, one distinct count (and all that tie with it) at a time.
    cdef int64_t most = greatest(counts, n_present)
    cdef int64_t level = most, below, ties, i
    cdef int64_t left = p.l - 1, top = 0
    while left > 0:
        below = 0
        ties = 0
        for i in range(n_present):
            if counts[i] == level:
                ties += 1
            elif below < counts[i] < level:
                below = counts[i]
        if ties > left:
            ties = left
        top += ties * level
        left -= ties
        level = below
    return not within(class_size - top, &p.limit, most)


cdef int32_t test_entropy(const int64_t* values, const int64_t* counts, int64_t n_present,
                          const int64_t* table_counts, int64_t n_values,
                          int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef const Real* p = <const Real*> params
    if n_present < p.least:
        return False
    if greatest(counts, n_present) * p.low <= class_size * (1 - 1e-9):
        return True  # H >= -ln max p
    cdef double size = <double> class_size
    cdef Sum sum = Sum(0, 0)
    cdef int64_t i
    for i in range(n_present):
        add_to(&sum, N_LOG_N[counts[i]] if counts[i] < 512 else counts[i] * log(<double> counts[i]))
    return log(size) - (sum.total + sum.lost) / size >= p.bound


cdef int32_t test_equal(const int64_t* values, const int64_t* counts, int64_t n_present,
                        const int64_t* table_counts, int64_t n_values,
                        int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    # 1/2 sum |p - q| = sum of the positive p - q, and those are of present values
    cdef uint64_t total = 0, here, there
    cdef int64_t i
    for i in range(n_present):
        here = <uint64_t> counts[i] * n_rows
        there = <uint64_t> class_size * table_counts[values[i]]
        if here > there:
            total += here - there
    return within(total, <const Limit*> params, class_size)


cdef int32_t test_js(const int64_t* values, const int64_t* counts, int64_t n_present,
                     const int64_t* table_counts, int64_t n_values,
                     int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef const Real* r = <const Real*> params
    cdef double scale = 1.0 / class_size, p, q, u, term
    cdef double first = 0, second = 0, third = 0, low, absent
    cdef double slack = TOLERANCE + n_present * 3e-16  # what the three sums round
    cdef Sum sum = Sum(0, 0)
    cdef int64_t i, covered = 0
    # 2 JS = sum over v >= 1 of sum (p+q) u^v / (2v (2v-1)), u = ((p-q)/(p+q))^2 (Topsoe 2000): three
    # terms leave at most ln 2 - 37/60 of the third sum open, and mostly decide without a logarithm.
    for i in range(n_present):
        p = counts[i] * scale
        q = r.share[values[i]]
        covered += table_counts[values[i]]
        u = (p - q) / (p + q)
        u *= u
        term = (p + q) * u
        first += term
        term *= u
        second += term
        third += term * u
    absent = M_LN2 * (n_rows - covered) / n_rows
    low = first * 0.5 + second / 12 + third / 30 + absent
    if 0.5 * (low + (M_LN2 - 37.0 / 60) * third) <= r.bound - slack:
        return True
    if 0.5 * low > r.bound + slack:
        return False
    for i in range(n_present):
        p = counts[i] * scale
        q = r.share[values[i]]
        add_to(&sum, p * log(p) + r.term[values[i]] - (p + q) * log(0.5 * (p + q)))
    return 0.5 * (sum.total + sum.lost + absent) <= r.bound


cdef int32_t test_ordered(const int64_t* values, const int64_t* counts, int64_t n_present,
                          const int64_t* table_counts, int64_t n_values,
                          int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef const Order* p = <const Order*> params
    cdef uint64_t reached = 0
    cdef int64_t i, start = 0
    cdef int128 total = 0
    for i in range(n_present):
        total += area(&p.line, start, values[i], reached, class_size)
        start = values[i]
        reached += <uint64_t> counts[i] * n_rows
    total += area(&p.line, start, n_values, reached, class_size)
    return within(total, &p.limit, class_size)


cdef int32_t test_hierarchical(const int64_t* values, const int64_t* counts, int64_t n_present,
                               const int64_t* table_counts, int64_t n_values,
                               int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    # Sum over nodes of level * min(pos, neg) = sum over nodes of weight * max(0, p - q): each
    # positive part is counted at the parent's level and taken away again at the node's own.
    cdef const Hierarchy* p = <const Hierarchy*> params
    cdef int64_t i, j, previous = -1, inside
    cdef int32_t node
    cdef uint64_t here, there
    cdef int128 total = 0
    for i in range(n_present):
        node = p.nodes.leaf[values[i]]
        inside = 0
        j = i
        while node >= 0 and p.nodes.first[node] > previous:  # nodes whose first present value is this
            while j < n_present and values[j] <= p.nodes.last[node]:
                inside += counts[j]
                j += 1
            here = <uint64_t> inside * n_rows
            there = <uint64_t> class_size * p.counts[node]
            if here > there:
                total += <int128> (here - there) * p.weights[node]
            node = p.nodes.parent[node]
        previous = values[i]
    return within(total, &p.limit, class_size)


cdef int32_t test_delta(const int64_t* values, const int64_t* counts, int64_t n_present,
                        const int64_t* table_counts, int64_t n_values,
                        int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef const Real* p = <const Real*> params
    cdef double ratio
    cdef int64_t i
    if p.least and n_present != p.least:
        return False
    for i in range(n_present):
        if table_counts[values[i]] == 0:
            return False
        ratio = (<double> counts[i] * n_rows) / (<double> class_size * table_counts[values[i]])
        if not p.low < ratio < p.high:
            return False
    return True


# (p - q)/q <= beta, tested as c <= (1 + beta)/n * (|C| t)
cdef int32_t test_beta(const int64_t* values, const int64_t* counts, int64_t n_present,
                       const int64_t* table_counts, int64_t n_values,
                       int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef int64_t i
    for i in range(n_present):
        if not within(counts[i], <const Limit*> params, <uint64_t> class_size * table_counts[values[i]]):
            return False
    return True


cdef int32_t test_enhanced_beta(const int64_t* values, const int64_t* counts, int64_t n_present,
                                const int64_t* table_counts, int64_t n_values,
                                int64_t class_size, int64_t n_rows, const void* params) noexcept nogil:
    cdef int64_t i, t
    cdef double gain
    for i in range(n_present):
        t = table_counts[values[i]]
        if not within(counts[i], <const Limit*> params, <uint64_t> class_size * t):
            return False
        gain = (<double> counts[i] * n_rows) / (<double> class_size * t) - 1
        if gain > 0 and gain > log(<double> n_rows / t) + TOLERANCE:
            return False
    return True


cdef double spread(const Spread* s, const int64_t* values, const int64_t* counts, int64_t n_present,
                   int64_t class_size) noexcept nogil:
    """S-diversity of one attribute in one class: mean closeness over ordered pairs of rows."""
    cdef double size = <double> class_size
    cdef double total = 0, x, rows = 0, moment = 0
    cdef int64_t i, j = 0, inside, previous = -1
    cdef int32_t node
    if s.on_line:
        if s.length <= 0:
            return 1
        for i in range(n_present):
            x = s.positions[values[i]]
            while x - s.positions[values[j]] > s.reach:
                rows -= counts[j]
                moment -= counts[j] * s.positions[values[j]]
                j += 1
            # pairs with the `rows` values before this one, each counted in both orders
            total += counts[i] * (counts[i] + 2 * (rows - (rows * x - moment) / s.length))
            rows += counts[i]
            moment += counts[i] * x
        return total / (size * size)
    for i in range(n_present):
        node = s.nodes.leaf[values[i]]
        inside = 0
        j = i
        while node >= 0 and s.nodes.first[node] > previous:
            while j < n_present and values[j] <= s.nodes.last[node]:
                inside += counts[j]
                j += 1
            total += s.weights[node] * (<double> inside * inside)
            node = s.nodes.parent[node]
        previous = values[i]
    return total / (size * size)


cdef inline int64_t counted(const Rules* rules, int64_t size, const int64_t* counts, int64_t n) noexcept nogil:
    # What a class of `size` rows has of one attribute: a value for every row, or those of its units.
    cdef int64_t i, total = 0
    if not rules.by_units:
        return size
    for i in range(n):
        total += counts[i]
    return total


cdef double total_spread(const Rules* rules, const Diversity* d, int64_t size, const int64_t* const* values,
                         const int64_t* const* counts, const int64_t* n_present) noexcept nogil:
    cdef double total = 0
    cdef int32_t i, a
    for i in range(d.n):
        a = d.spreads[i].sensitive
        total += spread(&d.spreads[i], values[a], counts[a], n_present[a],
                        counted(rules, size, counts[a], n_present[a]))
    return total


cdef bint passes(const Rules* rules, int64_t size,
                 const int64_t* const* values, const int64_t* const* counts,
                 const int64_t* n_present) noexcept nogil:
    cdef int32_t i, a
    cdef const Rule* rule
    if size < rules.min_size:
        return False
    for i in range(rules.n_rules):
        rule = &rules.rules[i]
        a = rule.sensitive
        if not rule.test(values[a], counts[a], n_present[a], rules.table_counts[a], rules.n_values[a],
                         counted(rules, size, counts[a], n_present[a]), rules.totals[a], rule.params):
            return False
    cdef const Diversity* diversity = <const Diversity*> rules.s_diversity
    while diversity != NULL:
        if total_spread(rules, diversity, size, values, counts, n_present) > diversity.bound:
            return False
        diversity = diversity.next
    return True


cdef tuple floor_fraction(x, most):
    """The greatest fraction <= x (a Fraction >= 0) whose denominator is at most `most`, as (whole, part, parts)."""
    whole = x.numerator // x.denominator
    rest = x - whole
    if rest.denominator > most:
        below = rest.limit_denominator(most)
        if below > rest:
            # its left Farey neighbor a/b solves below.numerator * b - a * below.denominator = 1
            p, q = below.numerator, below.denominator
            b = pow(p, -1, q) if q > 1 else 0
            b += (most - b) // q * q
            below = Fraction((p * b - 1) // q, b)
        rest = below
    return whole, rest.numerator, rest.denominator


cdef const int64_t* longs(list keep, values) except NULL:
    """A copy of the values."""
    cdef const int64_t[::1] view = np.ascontiguousarray(values, np.int64)
    cdef int64_t* copy = <int64_t*>take(keep, view.shape[0], sizeof(int64_t))
    cdef int64_t i
    for i in range(view.shape[0]):
        copy[i] = view[i]
    return copy


cdef const uint64_t* unsigned_longs(list keep, values) except NULL:
    cdef const uint64_t[::1] view = np.ascontiguousarray(values, np.uint64)
    cdef uint64_t* copy = <uint64_t*>take(keep, view.shape[0], sizeof(uint64_t))
    cdef int64_t i
    for i in range(view.shape[0]):
        copy[i] = view[i]
    return copy


cdef const int32_t* ints(list keep, values, int64_t n) except NULL:
    """A copy of the values, followed by zeros up to n of them."""
    cdef const int32_t[::1] view = np.ascontiguousarray(values, np.int32)
    cdef int32_t* copy = <int32_t*>take(keep, max(n, view.shape[0]), sizeof(int32_t))
    cdef int64_t i
    for i in range(view.shape[0]):
        copy[i] = view[i]
    return copy


cdef const double* reals(list keep, values) except NULL:
    cdef const double[::1] view = np.ascontiguousarray(values, np.float64)
    cdef double* copy = <double*>take(keep, view.shape[0], sizeof(double))
    cdef int64_t i
    for i in range(view.shape[0]):
        copy[i] = view[i]
    return copy


def _count_of(x):
    # A number of rows or values, at least 0.
    if isinstance(x, bool) or not isinstance(x, int | np.integer) or x < 0:
        raise ValueError("a rule's count must be a whole number, at least 0")
    return int(x)


def _exact(x):
    # A number that is compared exactly.
    if not isinstance(x, Rational | float | np.floating) or not 0 <= x < float("inf"):
        raise ValueError("a rule's bound must be a finite number, at least 0")
    return x


def _rounded(x):
    return real(x, "a rule's bound")


def _logarithm(x):
    x = real(x, "a rule's bound")
    if not 0 < x < float("inf"):
        raise ValueError("a rule's bound must be finite and above 0")
    return x


def _tree(x):
    if one_of(Attribute, x, "a rule's attribute").tree is None:
        raise ValueError("a rule's attribute must have a tree")
    return x


def _function(x):
    address = getattr(x, "address", None)
    if not isinstance(address, int) or address <= 0:
        raise ValueError("a rule of one's own must be a compiled function with an address")
    return x


def _parameters(x):
    return array_of(x, np.float64, 1, "params")


def _reach(r):
    if not isinstance(r, int | float | np.integer | np.floating) or not 0 <= r <= 1:
        raise ValueError("r must be between 0 and 1")
    return float(r)


def _lines(lines):
    listed = all_of(lines, object, "lines")
    if any(not isinstance(line, tuple | list) or len(line) != 2 for line in listed):
        raise ValueError("each of lines must be a sensitive attribute and how near its values are")
    all_of([line[1] for line in listed], Attribute, "lines")
    return listed


# Per kind, in the order in which they are tested: what follows it, after the sensitive attribute where it names one.
_KINDS = {
    "size": (_count_of,),
    "units": (_count_of,),
    "distinct": (_count_of,),
    "share": (_exact,),
    "recursive": (_exact, _count_of),
    "equal": (_exact,),
    "beta": (_exact,),
    "entropy": (_logarithm,),
    "delta": (_rounded,),
    "delta_present": (_rounded,),
    "hierarchical": (_exact, _tree),
    "ordered": (_exact,),
    "enhanced_beta": (_exact,),
    "js": (_rounded,),
    "custom": (_function, _parameters),
    "s_diversity": (_rounded, _reach, _lines),
}


def _rule_of(rule, n_tables):
    # A rule as (kind, ...), every part of it checked.
    if not isinstance(rule, tuple | list) or not rule or rule[0] not in _KINDS:
        raise ValueError(f"no such rule: {rule[0] if isinstance(rule, tuple | list) and rule else rule!r}")
    kind, *rest = rule
    checks = _KINDS[kind]
    if kind not in ("size", "units", "s_diversity"):
        if not rest or not isinstance(rest[0], int | np.integer) or not 0 <= rest[0] < n_tables:
            raise ValueError(f"no sensitive attribute {rest[0] if rest else None}")
        checks = (int, *checks)
    if len(rest) != len(checks):
        raise ValueError(f"a rule {kind!r} has {len(checks)} parts, not {len(rest)}")
    return kind, *(check(part) for check, part in zip(checks, rest))


cdef int set_limit(Limit* limit, x, most, cap) except -1:
    """Store x for comparisons a <= x*y with y <= most; x > cap decides like cap."""
    whole, part, parts = floor_fraction(min(Fraction(x), Fraction(cap)), max(1, most))
    limit.whole = whole
    limit.part = part
    limit.parts = parts
    return 0


cdef int set_nodes(list keep, Extent* nodes, Attribute attribute, n_values) except -1:
    if attribute.extent.n_values > n_values:
        raise ValueError("an attribute has at most as many values as its table counts")
    nodes[0] = attribute.extent
    nodes.leaf = ints(keep, attribute.tree[3], n_values)
    keep.append(attribute)
    return 0


cdef int add(list keep, Rules* rules, Rule* rule, kind, table, x, extra) except -1:
    cdef Limit* limit
    cdef Ranks* ranks
    cdef Real* real
    cdef Order* order
    cdef Hierarchy* hierarchy
    n = int(table.sum())
    present = table > 0
    n_present = int(present.sum())
    if kind == "distinct":
        rule.test = test_distinct
        least = min(x, n + 1)
        rule.params = longs(keep, [least])
        rules.min_size = max(rules.min_size, least)
    elif kind == "share":
        rule.test = test_share
        limit = <Limit*>take(keep, 1, sizeof(Limit))
        rule.params = limit
        set_limit(limit, x, n, 1)
        if x > 0:
            rules.min_size = max(rules.min_size, min(-(-1 // Fraction(x)), n + 1))
    elif kind == "recursive":
        rule.test = test_recursive
        ranks = <Ranks*>take(keep, 1, sizeof(Ranks))
        rule.params = ranks
        ranks.l = min(extra, n + 1)
        set_limit(&ranks.limit, 1 / Fraction(x), n, n + 1)
        rules.min_size = max(rules.min_size, ranks.l)
    elif kind == "entropy":
        rule.test = test_entropy
        real = <Real*>take(keep, 1, sizeof(Real))
        rule.params = real
        real.low = x
        real.bound = log(real.low) - TOLERANCE
        real.least = min(int(x), n + 1)
        while real.least <= n and log(<double> real.least) < real.bound:
            real.least += 1
        rules.min_size = max(rules.min_size, real.least)
    elif kind == "js":
        rule.test = test_js
        real = <Real*>take(keep, 1, sizeof(Real))
        rule.params = real
        real.bound = x + TOLERANCE
        share = table / max(1, n)
        term = np.zeros(len(table))
        term[present] = share[present] * np.log(share[present])
        real.share = reals(keep, share)
        real.term = reals(keep, term)
    elif kind in ("delta", "delta_present"):
        rule.test = test_delta
        real = <Real*>take(keep, 1, sizeof(Real))
        rule.params = real
        real.least = n_present if kind == "delta" else 0
        real.low = exp(TOLERANCE - <double> x)
        real.high = exp(<double> x - TOLERANCE)
        rules.min_size = max(rules.min_size, real.least)
    elif kind == "equal":
        rule.test = test_equal
        limit = <Limit*>take(keep, 1, sizeof(Limit))
        rule.params = limit
        set_limit(limit, Fraction(x) * n, n, n)
    elif kind == "ordered":
        rule.test = test_ordered
        order = <Order*>take(keep, 1, sizeof(Order))
        rule.params = order
        set_limit(&order.limit, Fraction(x) * n * max(0, n_present - 1), n, n * max(0, n_present - 1))
        cumulative = np.cumsum(table)
        before = np.zeros(len(table) + 1, dtype=np.int64)
        np.cumsum(present, out=before[1:])
        areas = np.zeros(len(table) + 1, dtype=np.uint64)
        np.cumsum(np.where(present, cumulative, 0).astype(np.uint64), out=areas[1:])
        order.line.ranks = longs(keep, before)
        order.line.cumulative = longs(keep, cumulative)
        order.line.areas = unsigned_longs(keep, areas)
    elif kind == "hierarchical":
        rule.test = test_hierarchical
        hierarchy = <Hierarchy*>take(keep, 1, sizeof(Hierarchy))
        rule.params = hierarchy
        set_nodes(keep, &hierarchy.nodes, extra, len(table))
        parent, first, last, leaf = (np.asarray(part, dtype=np.int64) for part in extra.tree)
        depth = np.asarray(depths_of(extra.tree))
        below = np.concatenate([[0], np.cumsum(table)])
        counts = below[last + 1] - below[first]
        deepest = int(depth[leaf][present[:len(leaf)]].max(initial=0))
        root = int(depth[counts == n].max(initial=0))
        levels = deepest - depth
        levels[leaf] = 0
        weights = np.where(parent < 0, 0, np.maximum(levels[parent] - levels, 0))
        height = max(0, deepest - root)
        set_limit(&hierarchy.limit, Fraction(x) * n * height, n, n * height)
        hierarchy.counts = longs(keep, counts)
        hierarchy.weights = longs(keep, weights)
    elif kind == "beta" or kind == "enhanced_beta":
        rule.test = test_beta if kind == "beta" else test_enhanced_beta
        limit = <Limit*>take(keep, 1, sizeof(Limit))
        rule.params = limit
        set_limit(limit, (1 + Fraction(x)) / max(1, n), n * n, 1)
    else:
        rule.test = <test_t> <size_t> x.address
        keep.append(x)
        rule.params = reals(keep, extra)
    return 0


cdef double add_diversity(list keep, Rules* rules, tables, bound, r, lines) except -1:
    """Add a bound; the sum of S-diversities of the whole table as one class."""
    cdef double total = 0
    cdef const int64_t[::1] codes, counts
    cdef Diversity* diversity = <Diversity*>take(keep, 1, sizeof(Diversity))
    cdef Spread* spreads = <Spread*>take(keep, len(lines), sizeof(Spread))
    diversity.bound = bound + DIVERSITY_TOLERANCE
    diversity.n = len(lines)
    diversity.spreads = spreads
    diversity.next = <const Diversity*> rules.s_diversity
    for i, (a, attribute) in enumerate(lines):
        if not isinstance(a, int | np.integer) or not 0 <= a < len(tables):
            raise ValueError(f"no sensitive attribute {a}")
        table = tables[a]
        present = table > 0
        spreads[i].sensitive = a
        spreads[i].on_line = attribute.positions is not None
        if spreads[i].on_line:
            if attribute.n_values > len(table):
                raise ValueError("an attribute has at most as many values as its table counts")
            positions = np.zeros(len(table))
            positions[:attribute.n_values] = attribute.positions
            spreads[i].positions = reals(keep, positions)
            inside = positions[present]
            spreads[i].length = np.ptp(inside) if len(inside) else 0
            spreads[i].reach = (r + DIVERSITY_TOLERANCE) * spreads[i].length
        else:
            if attribute.tree is None:
                leaves = np.arange(len(table))
                attribute = Attribute(len(table), tree=(
                    np.append(-1, 0 * leaves), np.append(0, leaves), np.append(len(table) - 1, leaves), leaves + 1))
            set_nodes(keep, &spreads[i].nodes, attribute, len(table))
            parent, first, last, _ = (np.asarray(part, dtype=np.int64) for part in attribute.tree)
            before = np.concatenate([[0], np.cumsum(present)])
            below = before[last + 1] - before[first]
            closeness = 1 - np.maximum(below - 1, 0) / max(1, int(present.sum()))
            closeness[closeness < 1 - r - DIVERSITY_TOLERANCE] = 0
            weights = closeness - np.where(parent < 0, 0, closeness[parent])
            spreads[i].weights = reals(keep, weights)
        if present.any():
            codes = np.flatnonzero(present)
            counts = table[present]
            total += spread(&spreads[i], &codes[0], &counts[0], codes.shape[0], table.sum())
    rules.s_diversity = diversity
    return total


cdef class Conjunction:
    """Requirements that a class must pass all together; immutable.

    `table_counts`: per sensitive attribute, int64, how many of the table's `n_rows` rows have each
    code (null's included). `rules`: tuples (kind, ...), `a` an index into `table_counts`, real
    parameters as ints or Fractions where they are decided exactly, floats otherwise:
        ("size", k)                       at least k rows
        ("units", k)                      rows of at least k units
        ("distinct", a, l)                at least l distinct values
        ("share", a, x)                   no value has more than the share x
        ("entropy", a, l)                 entropy at least ln l (float)
        ("recursive", a, c, l)            r_1 < c (r_l + ... + r_m)
        ("equal" | "ordered", a, t)       distance to the table at most t
        ("hierarchical", a, t, tree)      an `attribute.Attribute` with a tree
        ("js", a, t)                      (float)
        ("delta" | "delta_present", a, delta)  all values of the table, or those of the class (float)
        ("beta" | "enhanced_beta", a, beta)
        ("s_diversity", bound, r, lines)  an (a, `attribute.Attribute`) each
        ("custom", a, cfunc, params)      a `test_t` at cfunc.address, params a float64 array
    With `by_units` a unit (a person with several rows) counts once per sensitive value that it has, in
    classes as in the table, so that counts sum to at most the rows.
    `min_size` is the least size at which any class could pass; `table_diversities` holds, for each
    S-diversity bound, the sum that the whole table as one class has.
    """

    def __cinit__(self, table_counts, n_rows, rules, by_units=False):  # not __init__: it runs exactly once
        n_rows = whole(n_rows, 0, 2**32 - 1, "n_rows")
        cdef list keep = []
        self.keep = keep
        self.table_diversities = ()
        tables = [array_of(t, np.int64, 1, "table_counts") for t in all_of(table_counts, object, "table_counts")]
        for t in tables:
            total = t.sum()
            if (t < 0).any() or (t > n_rows).any() or total > n_rows or (total < n_rows and not by_units):
                raise ValueError("table_counts must be non-negative and sum to n_rows")
        self.c.n_rows = n_rows
        self.c.min_size = 1
        self.c.min_units = 0
        self.c.by_units = bool(by_units)
        self.c.n_rules = 0
        self.c.s_diversity = NULL
        checked = [_rule_of(one, len(tables)) for one in all_of(rules, object, "rules")]
        order = list(_KINDS)
        cdef Rule* rule = <Rule*>take(keep, len(checked), sizeof(Rule))
        self.c.rules = rule
        sensitive = False
        for kind, *rest in sorted(checked, key=lambda one: order.index(one[0])):
            if kind in ("size", "units"):
                self.c.min_size = max(self.c.min_size, min(rest[0], 2**62))
                if kind == "units":
                    self.c.min_units = max(self.c.min_units, min(rest[0], 2**62))
                continue
            sensitive = True
            if kind == "s_diversity":
                bound, r, lines = rest
                self.table_diversities += (add_diversity(keep, &self.c, tables, bound, r, lines),)
                continue
            a = rest[0]
            rule[self.c.n_rules].sensitive = a
            add(keep, &self.c, &rule[self.c.n_rules], kind, tables[a], rest[1], rest[2] if len(rest) > 2 else None)
            self.c.n_rules += 1
        self.c.n_sensitive = len(tables) if sensitive else 0
        cdef int64_t* n_values = <int64_t*>take(keep, len(tables), sizeof(int64_t))
        cdef int64_t* totals = <int64_t*>take(keep, len(tables), sizeof(int64_t))
        cdef const int64_t** counts = <const int64_t**>take(keep, len(tables), sizeof(int64_t*))
        for a in range(len(tables)):
            n_values[a] = len(tables[a])
            counts[a] = longs(keep, tables[a])
            totals[a] = tables[a].sum()
        self.c.n_values = n_values
        self.c.totals = totals
        self.c.table_counts = <const int64_t* const*> counts

    @property
    def min_size(self):
        """No class with fewer rows passes; at least 1."""
        return self.c.min_size

    @property
    def min_units(self):
        """No class with rows of fewer units passes; 0 where units are not counted."""
        return self.c.min_units

    @property
    def by_units(self):
        """Whether sensitive counts are of units."""
        return self.c.by_units

    @property
    def n_sensitive(self):
        """Number of sensitive attributes whose counts are read; 0 when only sizes are asked for."""
        return self.c.n_sensitive

    @property
    def n_rows(self):
        """Rows of the table."""
        return self.c.n_rows


# OUT result: 1 for each class that passes. `values`, `counts` and `n_present` are scratch, one per
# sensitive attribute: what `passes` reads of the current class.
cdef void test_all(const Rules* rules, int64_t n_classes, const int64_t* sizes, const int64_t* units,
                   const int64_t** offsets,
                   const int64_t** values, const int64_t** counts, int64_t* n_present,
                   const int64_t** first_values, const int64_t** first_counts,
                   uint8_t* result) noexcept nogil:
    cdef int64_t i
    cdef int32_t a
    for i in range(n_classes):
        for a in range(rules.n_sensitive):
            values[a] = first_values[a] + offsets[a][i]
            counts[a] = first_counts[a] + offsets[a][i]
            n_present[a] = offsets[a][i + 1] - offsets[a][i]
        result[i] = (units == NULL or units[i] >= rules.min_units) and passes(
            rules, sizes[i], <const int64_t* const*> values, <const int64_t* const*> counts, n_present)


cdef bint well_formed(const int64_t[::1] sizes, const int64_t[::1] offsets, const int64_t[::1] values,
                      const int64_t[::1] counts, int64_t n_values, int64_t n_rows, bint by_units) except -1 nogil:
    cdef int64_t i, j, previous, total
    if offsets.shape[0] != sizes.shape[0] + 1 or values.shape[0] != counts.shape[0] or offsets[0] != 0 \
            or offsets[sizes.shape[0]] != values.shape[0]:
        return False
    for i in range(sizes.shape[0]):
        if offsets[i + 1] < offsets[i] or offsets[i + 1] > values.shape[0] or sizes[i] > n_rows:
            return False
        previous = -1
        total = 0
        for j in range(offsets[i], offsets[i + 1]):
            if values[j] <= previous or values[j] >= n_values or counts[j] <= 0 or counts[j] > sizes[i]:
                return False
            previous = values[j]
            total += counts[j]
            if total > sizes[i]:
                return False
        if total < (sizes[i] > 0) or (total < sizes[i] and not by_units):
            return False
    return True


def passing_classes(conjunction, sizes, offsets, values, counts, units=None):
    """Which classes pass every requirement? uint8, one per class.

    `sizes` (int64): rows of each class. Per sensitive attribute one int64 array in `offsets`
    (n_classes + 1), `values` (the codes present in class i, ascending, at offsets[i]:offsets[i + 1])
    and `counts` (rows with each, > 0; units, where the conjunction counts by units). The three are not read
    where only sizes are asked for. `units` (int64): units of each class, where a rule counts them.
    """
    cdef Conjunction asked = one_of(Conjunction, conjunction, "conjunction")
    cdef const Rules* rules = &asked.c
    cdef int32_t n = rules.n_sensitive, a
    cdef const int64_t[::1] view_s = array_of(sizes, np.int64, 1, "sizes"), view_o, view_v, view_c
    cdef list keep = []
    result = np.zeros(view_s.shape[0], dtype=np.uint8)
    cdef uint8_t[::1] out = result
    cdef const int64_t** first_offsets = <const int64_t**>take(keep, n, sizeof(int64_t*))
    cdef const int64_t** first_values = <const int64_t**>take(keep, n, sizeof(int64_t*))
    cdef const int64_t** first_counts = <const int64_t**>take(keep, n, sizeof(int64_t*))
    cdef const int64_t** here_values = <const int64_t**>take(keep, n, sizeof(int64_t*))
    cdef const int64_t** here_counts = <const int64_t**>take(keep, n, sizeof(int64_t*))
    cdef int64_t* n_present = <int64_t*>take(keep, n, sizeof(int64_t))
    cdef const int64_t[::1] view_u
    cdef const int64_t* first_units = NULL
    if view_s.shape[0] and int(np.min(view_s)) < 0:
        raise ValueError("sizes must be at least 0")
    if rules.min_units:
        if units is None:
            raise ValueError("a rule counts units: give those of each class")
        view_u = array_of(units, np.int64, 1, "units")
        if view_u.shape[0] != view_s.shape[0]:
            raise ValueError("units must be one number per class")
        if view_u.shape[0]:
            first_units = &view_u[0]
    if n:
        offsets, values, counts = (
            all_of(arrays, object, name)
            for arrays, name in ((offsets, "offsets"), (values, "values"), (counts, "counts")))
        if not len(offsets) == len(values) == len(counts) == n:
            raise ValueError("offsets, values and counts need one array per sensitive attribute")
    for a in range(n):
        view_o = array_of(offsets[a], np.int64, 1, "offsets")
        view_v = array_of(values[a], np.int64, 1, "values")
        view_c = array_of(counts[a], np.int64, 1, "counts")
        if not well_formed(view_s, view_o, view_v, view_c, rules.n_values[a], rules.n_rows,
                           rules.by_units):
            raise ValueError("values must be ascending codes, counts positive with the class's size as sum, "
                             "and no class larger than the table")
        keep.append((view_o, view_v, view_c))
        first_offsets[a] = &view_o[0]
        first_values[a] = &view_v[0] if view_v.shape[0] else NULL
        first_counts[a] = &view_c[0] if view_c.shape[0] else NULL
    if view_s.shape[0]:
        with nogil:
            test_all(rules, view_s.shape[0], &view_s[0], first_units, first_offsets, here_values, here_counts, n_present,
                     first_values, first_counts, &out[0])
    return result
