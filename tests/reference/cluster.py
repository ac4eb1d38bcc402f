# SPDX-License-Identifier: Apache-2.0
"""Slow twins of `anoncore.cluster`."""


def deal(counts, l):
    """Buckets of l distinct values, one row each of the l most frequent, while l values are left."""
    left = list(counts)
    buckets = []
    while sum(count > 0 for count in left) >= l and l > 0:
        # Ties: the highest value number first, which keeps the counts descending.
        chosen = sorted(range(len(left)), key=lambda value: (-left[value], -value))[:l]
        for value in chosen:
            left[value] -= 1
        buckets.append(chosen)
    return buckets, left
