# SPDX-License-Identifier: Apache-2.0
"""How far two rows are apart: numbers by weighted squares, codes by Gower's distance (1971)."""

from anoncore.attribute cimport Attribute, Extent, extents_of, span
from anoncore.types cimport int64_t


# Numbers: the sum of weight * (scale * x - q)**2 for a row x and a query q; codes, where there are extents: the sum
# of the widths of the pair's codes.
cdef struct Metric:
    int64_t m
    const Extent* extents
    const double* weight
    double scale


cdef inline double pair(const Extent* extent, double one, double two) noexcept nogil:
    # The width of two codes.
    cdef int64_t low = <int64_t>one, high = <int64_t>two
    if low > high:
        low, high = high, low
    return span(extent, low, high, 2)


cdef inline double apart(const Metric* metric, const double* q, const double* x) noexcept nogil:
    cdef double total = 0.0, t
    cdef int64_t a
    if metric.extents != NULL:
        for a in range(metric.m):
            total += pair(&metric.extents[a], q[a], x[a])
        return total
    for a in range(metric.m):
        t = metric.scale * x[a] - q[a]
        total += metric.weight[a] * (t * t)
    return total


cdef inline Metric metric_of(codes, tuple attributes, list keep) except *:
    # Gower's, of these codes (n x m, n > 0) of attributes whose loss is "byun"; `keep` owns what it points to.
    cdef Metric metric
    cdef int64_t a, m = codes.shape[1]
    metric.m, metric.extents, metric.weight, metric.scale = m, extents_of(attributes, keep), NULL, 1.0
    if len(attributes) != m:
        raise ValueError("attributes must be one per column")
    for a in range(m):
        if (<Attribute>attributes[a]).loss != "byun":
            raise ValueError("the loss of the attributes must be byun")
        if codes[:, a].max() > metric.extents[a].n_values:
            raise ValueError("codes must be codes of their attributes")
    return metric
