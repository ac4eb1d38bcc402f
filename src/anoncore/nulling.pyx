# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Local suppression: cells become null until every row has k that are compatible with it, set by set.

Two rows are compatible on a set of attributes when they are equal, or one of them null, in each of them. Of
each set the rows that show the same are one node. A node's neighbors, which differ from it in one attribute
alone, are found by tables: that of the attributes X lists every node by its values on the others, the null
ones among these left out but named. A row is looked up there once for each such choice of nulls that occurs.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from anoncore.doors import MOST_ROWS, array_of, codes_of, whole
from anoncore.memory cimport Array, extend, growing, reserve, take
from anoncore.types cimport int64_t, uint32_t, uint64_t

MOST = 2**62

cdef uint32_t NONE = 0xFFFFFFFF
cdef int64_t MOST_LINKS = <int64_t>1 << 27  # of all tables together; beyond, all nodes are gone through
cdef int64_t OFTEN = 8  # a table of more than 3 attributes is made when it was asked for so often

cdef extern from *:
    int popcount "__builtin_popcountll" (unsigned long long x) noexcept nogil
    int lowest "__builtin_ctzll" (unsigned long long x) noexcept nogil
    void prefetch "__builtin_prefetch" (const void* at) noexcept nogil


# Rows that show the same on the set, `null` its attributes that are null there. `n_rows` of them are left;
# `near` rows are compatible, itself included, `weight` their weights and `own` those of its rows.
cdef struct Node:
    uint64_t null
    int64_t n_rows
    int64_t near
    int64_t weight
    int64_t own
    uint32_t row        # has its values
    uint32_t first      # of its rows


cdef struct Link:
    uint32_t next
    uint32_t tag


# `links[v]` is node v in the chain of its slot; `nulls` are the choices of nulls outside X that occur, and
# `hashes` has room for one number for each of them.
cdef struct Table:
    uint64_t x
    int64_t n_asked
    int64_t n_surveys
    bint is_made
    uint64_t n_slots
    uint32_t* slots
    Array* links
    Array* nulls
    Array* hashes


# `nulls` are the choices of nulls that occur in it; where these are many, tables are given up (`is_scanned`).
cdef struct World:
    uint64_t mask
    int64_t k
    bint is_scanned
    Array* nodes
    Array* nulls
    Array* tables
    uint32_t* node_of   # by row; NONE: null in the whole set
    uint32_t* next
    uint32_t* before


# A row below the k of a world, as it was when it was listed.
cdef struct Entry:
    int64_t near
    int64_t weight
    uint32_t row
    uint32_t world


cdef struct Placed:
    uint32_t row
    uint32_t attribute


cdef struct Search:
    int64_t n
    int64_t m
    int64_t n_worlds
    int64_t n_links
    const uint32_t* codes
    const int64_t* weights
    int64_t unit
    uint64_t* null      # by row
    uint64_t* hashed    # of the values of the row at hand
    int64_t* gains      # by attribute, as the next two
    int64_t* more
    int64_t* below
    World* worlds
    Array* heap
    Array* hits
    Array* placed


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t hash_of(Search* s, int64_t row, int64_t a) noexcept nogil:
    return mixed(<uint64_t>s.codes[row * s.m + a] + (<uint64_t>(a + 1) << 33))


cdef inline uint64_t sum_of(const uint64_t* hashed, uint64_t attributes) noexcept nogil:
    cdef uint64_t total = 0
    while attributes:
        total += hashed[lowest(attributes)]
        attributes &= attributes - 1
    return total


cdef void take_up(Search* s, int64_t row) noexcept nogil:
    """Make the row that at hand."""
    cdef int64_t a
    for a in range(s.m):
        s.hashed[a] = hash_of(s, row, a)


cdef inline bint alike(Search* s, int64_t row, int64_t other, uint64_t attributes) noexcept nogil:
    cdef const uint32_t* x = s.codes + row * s.m
    cdef const uint32_t* y = s.codes + other * s.m
    cdef int64_t a
    while attributes:
        a = lowest(attributes)
        if x[a] != y[a]:
            return False
        attributes &= attributes - 1
    return True


# --- tables

cdef bint note(Array* nulls, uint64_t null) noexcept nogil:
    """Keep a choice of nulls that was not seen before. False: memory is short."""
    cdef uint64_t* known = <uint64_t*>nulls.at
    cdef int64_t i
    for i in range(nulls.length):
        if known[i] == null:
            return True
    if not reserve(nulls, 1):
        return False
    (<uint64_t*>extend(nulls, 1))[0] = null
    return True


cdef bint link(World* w, Table* t, uint32_t v, const uint64_t* hashed) noexcept nogil:
    """List a node in a table, for which its values are hashed. False: memory is short."""
    cdef Node* node = <Node*>w.nodes.at + v
    cdef uint64_t shown = w.mask & ~t.x, null = node.null & shown, h, slot
    cdef Link* added
    if not reserve(t.links, 1):
        return False
    h = mixed(sum_of(hashed, shown & ~null) + null)
    slot = h & (t.n_slots - 1)
    added = <Link*>extend(t.links, 1)
    added.next, added.tag = t.slots[slot], <uint32_t>(h >> 32)
    t.slots[slot] = v + 1
    return True


cdef Table* table_of(World* w, uint64_t x, list keep) except NULL:
    """The table of X, which is there from now on; not made yet where it was not."""
    cdef Table* tables = <Table*>w.tables.at
    cdef Table* t
    cdef int64_t i
    for i in range(w.tables.length):
        if tables[i].x == x:
            return tables + i
    if not reserve(w.tables, 1):
        raise MemoryError
    t = <Table*>extend(w.tables, 1)
    t.x, t.n_asked, t.n_surveys, t.is_made, t.n_slots, t.slots = x, 0, 0, False, 0, NULL
    t.links = growing(keep, 1, sizeof(Link))
    t.nulls = growing(keep, 1, sizeof(uint64_t))
    t.hashes = growing(keep, 1, sizeof(uint64_t))
    return t


cdef bint make(Search* s, World* w, Table* t, int64_t n_nodes, list keep) except False:
    """Make the table of all nodes that there are, with room for about `n_nodes`."""
    cdef uint64_t hashed[64]
    cdef Node* nodes = <Node*>w.nodes.at
    cdef uint64_t shown, n_slots = 16
    cdef int64_t v, a
    cdef bint enough = True
    while <int64_t>n_slots < 2 * n_nodes:
        n_slots *= 2
    t.slots = <uint32_t*>take(keep, n_slots, sizeof(uint32_t))
    t.n_slots, t.is_made = n_slots, True
    s.n_links += n_nodes
    with nogil:
        enough = reserve(t.links, w.nodes.length)
        for v in range(w.nulls.length):
            enough = enough and note(t.nulls, (<uint64_t*>w.nulls.at)[v] & w.mask & ~t.x)
        for v in range(w.nodes.length if enough else 0):
            shown = w.mask & ~t.x & ~nodes[v].null
            while shown:
                a = lowest(shown)
                hashed[a] = hash_of(s, nodes[v].row, a)
                shown &= shown - 1
            if not link(w, t, <uint32_t>v, hashed):
                enough = False
                break
    if not enough:
        raise MemoryError
    return True


cdef bint gather(Search* s, World* w, int64_t row, uint64_t x, list keep) except False:
    """Into `hits`: the nodes that are compatible with the row at hand on all attributes of the set but X."""
    cdef Node* nodes = <Node*>w.nodes.at
    cdef Table* t = table_of(w, x, keep)
    cdef uint64_t shown = w.mask & ~x, null, h, base
    cdef Link* links
    cdef uint64_t* hashes
    cdef uint32_t v
    cdef int64_t i
    s.hits.length = 0
    if not t.is_made and not w.is_scanned:
        t.n_asked += 1
        if ((popcount(x) <= 3 or t.n_asked > OFTEN) and s.n_links + w.nodes.length <= MOST_LINKS):
            make(s, w, t, w.nodes.length, keep)
    t.hashes.length = 0
    if not reserve(s.hits, w.nodes.length) or not reserve(t.hashes, t.nulls.length):
        raise MemoryError
    with nogil:
        if not t.is_made or w.is_scanned:
            for i in range(w.nodes.length):
                if alike(s, row, nodes[i].row, shown & ~nodes[i].null):
                    (<uint32_t*>extend(s.hits, 1))[0] = <uint32_t>i
        else:
            base = sum_of(s.hashed, shown)
            links = <Link*>t.links.at
            hashes = <uint64_t*>extend(t.hashes, t.nulls.length)
            for i in range(t.nulls.length):
                null = (<uint64_t*>t.nulls.at)[i]
                hashes[i] = mixed(base - sum_of(s.hashed, null) + null)
                prefetch(t.slots + (hashes[i] & (t.n_slots - 1)))
            for i in range(t.nulls.length):
                null, h = (<uint64_t*>t.nulls.at)[i], hashes[i]
                v = t.slots[h & (t.n_slots - 1)]
                while v:
                    v -= 1
                    if links[v].tag == <uint32_t>(h >> 32) and nodes[v].null & shown == null and \
                            alike(s, row, nodes[v].row, shown & ~null):
                        (<uint32_t*>extend(s.hits, 1))[0] = v
                    v = links[v].next
    return True


cdef int64_t find(Search* s, World* w, int64_t row, uint64_t null) noexcept nogil:
    """The node that shows the values of the row at hand but for those null; -1 if there is none."""
    cdef Table* t = <Table*>w.tables.at  # the first one is that of no attributes
    cdef Node* nodes = <Node*>w.nodes.at
    cdef Link* links = <Link*>t.links.at
    cdef uint64_t h = mixed(sum_of(s.hashed, w.mask & ~null) + null)
    cdef uint32_t v = t.slots[h & (t.n_slots - 1)]
    while v:
        v -= 1
        if links[v].tag == <uint32_t>(h >> 32) and nodes[v].null == null and \
                alike(s, row, nodes[v].row, w.mask & ~null):
            return v
        v = links[v].next
    return -1


cdef int64_t add(Search* s, World* w, int64_t row, uint64_t null) noexcept nogil:
    """A node of its own for what the row at hand shows with these nulls, without rows. -1: memory is short."""
    cdef Table* tables = <Table*>w.tables.at
    cdef Node* node
    cdef int64_t i, v = w.nodes.length, n_nulls = w.nulls.length
    if v >= <int64_t>NONE - 1 or not reserve(w.nodes, 1):
        return -1
    node = <Node*>extend(w.nodes, 1)
    node.null, node.row, node.first = null, <uint32_t>row, NONE
    node.n_rows = node.near = node.weight = node.own = 0
    if not w.is_scanned and not note(w.nulls, null):
        return -1
    w.is_scanned = w.is_scanned or 32 * w.nulls.length > w.nodes.length + 128
    for i in range(w.tables.length):
        if not tables[i].is_made or (w.is_scanned and i > 0):
            continue
        if w.nulls.length > n_nulls and not note(tables[i].nulls, null & ~tables[i].x):
            return -1
        if not link(w, tables + i, <uint32_t>v, s.hashed):
            return -1
    return v


# --- rows of nodes, and those below k

cdef void enter(Search* s, World* w, int64_t row, int64_t v) noexcept nogil:
    cdef Node* node = <Node*>w.nodes.at + v
    w.next[row], w.before[row] = node.first, NONE
    if node.first != NONE:
        w.before[node.first] = <uint32_t>row
    node.first = <uint32_t>row
    node.n_rows += 1
    node.own += s.weights[row]
    w.node_of[row] = <uint32_t>v


cdef void leave(Search* s, World* w, int64_t row) noexcept nogil:
    cdef Node* node
    if w.node_of[row] == NONE:
        return
    node = <Node*>w.nodes.at + w.node_of[row]
    if w.before[row] == NONE:
        node.first = w.next[row]
    else:
        w.next[w.before[row]] = w.next[row]
    if w.next[row] != NONE:
        w.before[w.next[row]] = w.before[row]
    node.n_rows -= 1
    node.own -= s.weights[row]
    w.node_of[row] = NONE


cdef inline bint sooner(const Entry* x, const Entry* y) noexcept nogil:
    if x.near != y.near:
        return x.near < y.near
    if x.weight != y.weight:
        return x.weight < y.weight
    return x.row < y.row


cdef bint push(Search* s, int64_t world, int64_t row) noexcept nogil:
    """List the row, if it is below k. False: memory is short."""
    cdef World* w = s.worlds + world
    cdef Node* node
    cdef Entry entry
    cdef Entry* heap
    cdef int64_t at, up
    if w.node_of[row] == NONE:
        return True
    node = <Node*>w.nodes.at + w.node_of[row]
    if node.near >= w.k:
        return True
    if not reserve(s.heap, 1):
        return False
    extend(s.heap, 1)
    entry.near, entry.weight = node.near, max(node.weight, node.near * s.unit)
    entry.row, entry.world = <uint32_t>row, <uint32_t>world
    heap = <Entry*>s.heap.at
    at = s.heap.length - 1
    while at > 0:
        up = (at - 1) // 2
        if not sooner(&entry, heap + up):
            break
        heap[at] = heap[up]
        at = up
    heap[at] = entry
    return True


cdef bint push_rows(Search* s, int64_t world, int64_t v) noexcept nogil:
    cdef World* w = s.worlds + world
    cdef Node* node = <Node*>w.nodes.at + v
    cdef uint32_t row = node.first
    if node.near >= w.k:
        return True
    while row != NONE:
        if not push(s, world, row):
            return False
        row = w.next[row]
    return True


cdef bint pop(Search* s, Entry* worst) noexcept nogil:
    """The row below k with the least count, the least weight and the lowest number; False if there is none."""
    cdef Entry* heap
    cdef Entry last
    cdef Node* node
    cdef World* w
    cdef int64_t at, down
    while s.heap.length:
        heap = <Entry*>s.heap.at
        worst[0] = heap[0]
        s.heap.length -= 1
        last = heap[s.heap.length]
        at = 0
        while True:
            down = 2 * at + 1
            if down >= s.heap.length:
                break
            if down + 1 < s.heap.length and sooner(heap + down + 1, heap + down):
                down += 1
            if not sooner(heap + down, &last):
                break
            heap[at] = heap[down]
            at = down
        heap[at] = last
        w = s.worlds + worst.world
        if w.node_of[worst.row] == NONE:
            continue
        node = <Node*>w.nodes.at + w.node_of[worst.row]
        if node.near == worst.near and node.near < w.k and \
                max(node.weight, node.near * s.unit) == worst.weight:
            return True
    return False


# --- cells

cdef bint differs(Search* s, World* w, int64_t row, uint32_t v, int64_t a) noexcept nogil:
    cdef Node* node = <Node*>w.nodes.at + v
    return not node.null >> a & 1 and s.codes[row * s.m + a] != s.codes[<int64_t>node.row * s.m + a]


cdef bint survey(Search* s, World* w, int64_t row, list keep) except -1:
    """Whether a look at every node told, for all attributes, `more` and `below` of `gain_in`.

    So it does where tables are given up, and for rows with many nulls as long as few have the same.
    """
    cdef Node* nodes = <Node*>w.nodes.at
    cdef uint64_t null = nodes[w.node_of[row]].null, both
    cdef const uint32_t* x = s.codes + row * s.m
    cdef const uint32_t* y
    cdef Table* t
    cdef int64_t i, a, differing
    if not w.is_scanned:
        if popcount(null) < 3:
            return False
        t = table_of(w, null, keep)
        if t.n_surveys >= OFTEN:
            return False
        t.n_surveys += 1
    with nogil:
        for a in range(s.m):
            s.more[a] = s.below[a] = 0
        for i in range(w.nodes.length):
            if not nodes[i].n_rows:
                continue
            both = w.mask & ~(null | nodes[i].null)
            y = s.codes + <int64_t>nodes[i].row * s.m
            differing = -1
            while both:
                a = lowest(both)
                both &= both - 1
                if x[a] != y[a]:
                    if differing >= 0:
                        differing = -1
                        break
                    differing = a
            if differing >= 0:
                s.more[differing] += nodes[i].n_rows
                if nodes[i].near < w.k:
                    s.below[differing] += nodes[i].n_rows
    return True


cdef int64_t gain_in(Search* s, World* w, int64_t row, int64_t a, bint surveyed, list keep) except? -1:
    """How much nearer to k all rows of a world come where the cell at hand becomes null.

    `more` rows differ from the row at hand in this attribute alone, and `below` of them are below k.
    """
    cdef Node* nodes = <Node*>w.nodes.at
    cdef uint32_t u = w.node_of[row], v
    cdef uint32_t* hits
    cdef uint64_t null = nodes[u].null
    cdef int64_t i, near = nodes[u].near, more = 0, below = 0
    if null | (<uint64_t>1 << a) == w.mask:  # then it is null in the whole set, and helps nobody
        gather(s, w, row, null, keep)
        hits = <uint32_t*>s.hits.at
        for i in range(s.hits.length):
            v = hits[i]
            if nodes[v].near <= w.k:
                below += nodes[v].n_rows - (v == u)
        return max(w.k - near, 0) - below
    if surveyed:
        return min(w.k, near + s.more[a]) - min(w.k, near) + s.below[a]
    gather(s, w, row, null | (<uint64_t>1 << a), keep)
    hits = <uint32_t*>s.hits.at
    for i in range(s.hits.length):
        v = hits[i]
        if nodes[v].n_rows and differs(s, w, row, v, a):
            more += nodes[v].n_rows
            if nodes[v].near < w.k:
                below += nodes[v].n_rows
    return min(w.k, near + more) - min(w.k, near) + below


cdef int64_t choose(Search* s, int64_t row, uint64_t every, const int64_t* tiers, const int64_t* costs,
                    list keep) except -1:
    """The attribute of the row's cell of greatest gain, per cost, of the last tier that has any."""
    cdef int64_t a, w, best = -1, gain, most = 0
    cdef World* world
    cdef bint is_better, surveyed
    for a in range(s.m):
        s.gains[a] = 0
    for w in range(s.n_worlds):
        world = s.worlds + w
        if world.node_of[row] == NONE:
            continue
        surveyed = survey(s, world, row, keep)
        for a in range(s.m):
            if world.mask >> a & 1 and not s.null[row] >> a & 1:
                s.gains[a] += gain_in(s, world, row, a, surveyed, keep)
    for a in range(s.m):
        if not every >> a & 1 or s.null[row] >> a & 1:
            continue
        gain = s.gains[a]
        if best < 0:
            is_better = True
        elif (gain > 0) != (most > 0):
            is_better = gain > 0
        elif tiers[a] != tiers[best]:
            is_better = tiers[a] > tiers[best]
        elif gain * costs[best] != most * costs[a]:
            is_better = gain * costs[best] > most * costs[a]
        else:
            is_better = costs[a] <= costs[best]
        if is_better:
            best, most = a, gain
    return best


cdef bint settle(Search* s, int64_t world, int64_t row, uint64_t null, int64_t near, int64_t weight) except False:
    """Put the row into the node of what it shows now; a new one has these counts."""
    cdef World* w = s.worlds + world
    cdef int64_t v = find(s, w, row, null)
    if v < 0:
        v = add(s, w, row, null)
        if v < 0:
            raise MemoryError
        (<Node*>w.nodes.at + v).near, (<Node*>w.nodes.at + v).weight = near, weight
    enter(s, w, row, v)
    return True


cdef bint null_in(Search* s, int64_t world, int64_t row, int64_t a, list keep) except False:
    """The cell becomes null in one world: who could not be the row may be it now."""
    cdef World* w = s.worlds + world
    cdef Node* nodes = <Node*>w.nodes.at
    cdef uint32_t u = w.node_of[row], v
    cdef uint32_t* hits
    cdef uint64_t null = nodes[u].null | (<uint64_t>1 << a)
    cdef int64_t i, near = nodes[u].near, weight = nodes[u].weight
    cdef bint is_void = null == w.mask
    gather(s, w, row, nodes[u].null if is_void else null, keep)
    nodes, hits = <Node*>w.nodes.at, <uint32_t*>s.hits.at
    leave(s, w, row)
    for i in range(s.hits.length):
        v = hits[i]
        if is_void:
            nodes[v].near -= 1
            nodes[v].weight -= s.weights[row]
        elif differs(s, w, row, v, a):
            nodes[v].near += 1
            nodes[v].weight += s.weights[row]
            near += nodes[v].n_rows
            weight += nodes[v].own
        else:
            continue
        if not push_rows(s, world, v):
            raise MemoryError
    if is_void:
        return True
    settle(s, world, row, null, near, weight)
    if not push(s, world, row):
        raise MemoryError
    return True


cdef int64_t may_show(Search* s, int64_t world, int64_t row, int64_t a, list keep) except -1:
    """Whether all rows of a world still have k where the cell shows its value again."""
    cdef World* w = s.worlds + world
    cdef Node* nodes
    cdef uint32_t u = w.node_of[row], v
    cdef uint32_t* hits
    cdef int64_t i, near
    if u == NONE:  # it was null in the whole set
        gather(s, w, row, w.mask & ~(<uint64_t>1 << a), keep)
        nodes, hits = <Node*>w.nodes.at, <uint32_t*>s.hits.at
        near = 1
        for i in range(s.hits.length):
            near += nodes[hits[i]].n_rows
        return near >= w.k
    nodes = <Node*>w.nodes.at
    near = nodes[u].near
    gather(s, w, row, nodes[u].null, keep)
    nodes, hits = <Node*>w.nodes.at, <uint32_t*>s.hits.at
    for i in range(s.hits.length):
        v = hits[i]
        if nodes[v].n_rows and differs(s, w, row, v, a):
            near -= nodes[v].n_rows
            if nodes[v].near <= w.k or near < w.k:
                return False
    return True


cdef bint show_in(Search* s, int64_t world, int64_t row, int64_t a, list keep) except False:
    """The cell shows its value again in one world."""
    cdef World* w = s.worlds + world
    cdef Node* nodes = <Node*>w.nodes.at
    cdef uint32_t u = w.node_of[row], v
    cdef uint32_t* hits
    cdef bint was_void = u == NONE
    cdef uint64_t null = (w.mask if was_void else nodes[u].null) & ~(<uint64_t>1 << a)
    cdef int64_t i, near = 1 if was_void else nodes[u].near
    cdef int64_t weight = s.weights[row] if was_void else nodes[u].weight
    gather(s, w, row, null if was_void else nodes[u].null, keep)
    nodes, hits = <Node*>w.nodes.at, <uint32_t*>s.hits.at
    leave(s, w, row)
    for i in range(s.hits.length):
        v = hits[i]
        if was_void:
            near += nodes[v].n_rows
            weight += nodes[v].own
            nodes[v].near += 1
            nodes[v].weight += s.weights[row]
        elif differs(s, w, row, v, a):
            near -= nodes[v].n_rows
            weight -= nodes[v].own
            nodes[v].near -= 1
            nodes[v].weight -= s.weights[row]
    return settle(s, world, row, null, near, weight)


cdef bint start(Search* s, int64_t world, int64_t n_nodes, list keep) except False:
    """The nodes of a world, their counts, and the rows that are below k."""
    cdef World* w = s.worlds + world
    cdef Table* t = table_of(w, 0, keep)
    cdef Node* nodes
    cdef uint32_t* hits
    cdef uint64_t null
    cdef int64_t row, v, i
    cdef bint enough = True, has_nulls
    make(s, w, t, n_nodes, keep)
    with nogil:
        for row in range(s.n):
            null = s.null[row] & w.mask
            w.node_of[row] = NONE
            if null == w.mask:
                continue
            take_up(s, row)
            v = find(s, w, row, null)
            if v < 0:
                v = add(s, w, row, null)
            if v < 0:
                enough = False
                break
            enter(s, w, row, v)
    if not enough:
        raise MemoryError
    t = <Table*>w.tables.at
    has_nulls = t.nulls.length > 1
    for v in range(w.nodes.length):
        nodes = <Node*>w.nodes.at
        if not has_nulls:
            nodes[v].near, nodes[v].weight = nodes[v].n_rows, nodes[v].own
        else:
            PyErr_CheckSignals()
            take_up(s, nodes[v].row)
            gather(s, w, nodes[v].row, nodes[v].null, keep)
            hits = <uint32_t*>s.hits.at
            for i in range(s.hits.length):
                nodes[v].near += nodes[hits[i]].n_rows
                nodes[v].weight += nodes[hits[i]].own
        if not push_rows(s, world, v):
            raise MemoryError
    return True


cdef bint run(Search* s, uint64_t every, const int64_t* tiers, const int64_t* costs, list keep) except False:
    cdef Entry worst
    cdef Placed* placed
    cdef Placed one
    cdef int64_t a, w, t
    cdef bint may
    while pop(s, &worst):
        PyErr_CheckSignals()
        take_up(s, worst.row)
        a = choose(s, worst.row, every, tiers, costs, keep)
        for w in range(s.n_worlds):
            if s.worlds[w].mask >> a & 1 and s.worlds[w].node_of[worst.row] != NONE:
                null_in(s, w, worst.row, a, keep)
        s.null[worst.row] |= <uint64_t>1 << a
        if not push(s, worst.world, worst.row) or not reserve(s.placed, 1):
            raise MemoryError
        placed = <Placed*>extend(s.placed, 1)
        placed.row, placed.attribute = worst.row, <uint32_t>a
    for t in range(s.placed.length - 1, -1, -1):
        one = (<Placed*>s.placed.at)[t]
        a = one.attribute
        take_up(s, one.row)
        may = True
        for w in range(s.n_worlds):
            if s.worlds[w].mask >> a & 1 and not may_show(s, w, one.row, a, keep):
                # what a whole set lacks elsewhere stays void there, whatever this cell shows
                may = False
                break
        if not may:
            continue
        for w in range(s.n_worlds):
            if s.worlds[w].mask >> a & 1:
                show_in(s, w, one.row, a, keep)
        s.null[one.row] &= ~(<uint64_t>1 << a)
    return True


def null_cells(codes, nulls, weights, unit, sets, ks, tiers, costs):
    """Cells made null, greedily, until every row has k compatible rows on every set of attributes.

    `codes` (n x m, m up to 64; uint8, uint16 or uint32) has the rows by their numbers; the code `nulls[a]`
    (int64, -1 for none) is null. Rows are compatible on a set that are equal, or one of them null, in each
    attribute; a row that is null in the whole set helps nobody there, and needs nobody. Set i (`sets`,
    uint64: bit a for attribute a) asks for `ks[i]` (int64).

    While a row has too few, that with the fewest is taken, then that with the least weight of compatible
    rows, each row's `weights` (int64, at least 0) in units of 1/`unit` people and no less than their
    number, then the lowest number. Its cell becomes null that adds most to the sum of min(k, compatible rows)
    over sets and rows: of those that add, the ones of the greatest `tiers` (int64); the most per `costs`
    (int64, at least 1), then the least cost, then the last attribute. In the end each new null is given back,
    last first, without which all rows still have k. Returns the null cells of each row (uint64, as sets).
    """
    codes = codes_of(codes, 2, "codes")
    n, m = codes.shape
    whole(m, 1, 64, "the number of columns")
    whole(n, 0, MOST_ROWS - 1, "the number of rows")
    nulls, weights = array_of(nulls, np.int64, 1, "nulls"), array_of(weights, np.int64, 1, "weights")
    sets, ks = array_of(sets, np.uint64, 1, "sets"), array_of(ks, np.int64, 1, "ks")
    tiers, costs = array_of(tiers, np.int64, 1, "tiers"), array_of(costs, np.int64, 1, "costs")
    unit = whole(unit, 0, MOST // max(n, 1), "unit")
    if not len(nulls) == len(tiers) == len(costs) == m or len(weights) != n:
        raise ValueError("nulls, tiers and costs are one per column, and weights one per row")
    if nulls.min() < -1 or nulls.max() > MOST_ROWS:
        raise ValueError("nulls must be codes, or -1")
    if costs.min() < 1 or costs.max() > 1 << 20:
        raise ValueError("costs must lie between 1 and 2**20")
    if n and (weights.min() < 0 or int(weights.max()) > MOST // n):
        raise ValueError("weights must be at least 0, and small enough to be summed")
    if not 0 < len(sets) == len(ks) <= 1 << 20 or sets.min() < 1 or int(sets.max()) >> m:
        raise ValueError("sets hold some of the columns each, and ks one number for each set")
    if ks.min() < 1 or ks.max() > MOST_ROWS:
        raise ValueError("ks must be numbers of rows")
    if n * len(sets) + int(ks.sum()) > 1 << 42:  # gains, times costs, are below 2**62
        raise ValueError("so many rows and sets cannot be taken at once")
    masks = np.zeros(n, np.uint64)
    if n == 0:
        return masks
    for a in range(m):
        masks |= (codes[:, a] == nulls[a]).astype(np.uint64) << np.uint64(a)
    n_values = [int(codes[:, a].max()) + 2 for a in range(m)]
    _null_cells(np.ascontiguousarray(codes, np.uint32), masks, weights, unit, sets, ks, tiers, costs, n_values)
    return masks


cdef _null_cells(const uint32_t[:, ::1] codes, uint64_t[::1] masks, const int64_t[::1] weights, int64_t unit,
                 const uint64_t[::1] sets, const int64_t[::1] ks, const int64_t[::1] tiers,
                 const int64_t[::1] costs, n_values):
    cdef list keep = []
    cdef Search s
    cdef uint64_t every = 0
    cdef int64_t i, a
    s.n, s.m, s.n_worlds, s.n_links = codes.shape[0], codes.shape[1], sets.shape[0], 0
    s.codes, s.weights, s.unit, s.null = &codes[0, 0], &weights[0], unit, &masks[0]
    s.hashed = <uint64_t*>take(keep, 64, sizeof(uint64_t))
    s.gains = <int64_t*>take(keep, 64, sizeof(int64_t))
    s.more = <int64_t*>take(keep, 64, sizeof(int64_t))
    s.below = <int64_t*>take(keep, 64, sizeof(int64_t))
    s.worlds = <World*>take(keep, s.n_worlds, sizeof(World))
    s.heap = growing(keep, 1, sizeof(Entry))
    s.hits = growing(keep, 1, sizeof(uint32_t))
    s.placed = growing(keep, 1, sizeof(Placed))
    for i in range(s.n_worlds):
        s.worlds[i].mask, s.worlds[i].k = sets[i], ks[i]
        s.worlds[i].nodes = growing(keep, 1, sizeof(Node))
        s.worlds[i].nulls = growing(keep, 1, sizeof(uint64_t))
        s.worlds[i].tables = growing(keep, 1, sizeof(Table))
        s.worlds[i].node_of = <uint32_t*>take(keep, s.n, sizeof(uint32_t))
        s.worlds[i].next = <uint32_t*>take(keep, s.n, sizeof(uint32_t))
        s.worlds[i].before = <uint32_t*>take(keep, s.n, sizeof(uint32_t))
        every |= sets[i]
        n_nodes = 1
        for a in range(s.m):
            if sets[i] >> a & 1:
                n_nodes = min(n_nodes * n_values[a], s.n)
        start(&s, i, n_nodes, keep)
    run(&s, every, &tiers[0], &costs[0], keep)
