# SPDX-License-Identifier: Apache-2.0
"""The one way to hold memory: every array is an allocation of its own, and belongs to a list `keep`.

A fixed array is what `take` gives: zeros, as many as asked for. Who stores the pointer stores beside it
the number from which the length follows. A growing array is an `Array` made by `growing`: `reserve`
makes room, `extend` claims some of it. Both are freed when `keep` is, with the call or the object
that has it, however it ends; `release` frees a growing array's elements before.

No array is carved out of another, so that a sanitizer sees every step beyond an end. Nothing is appended
beyond a capacity, in any build: `extend`, and `fits` for fixed arrays that are filled step by step,
compare, and end the process rather than let it be written. When memory is short `take` and `growing` raise
`MemoryError`; `reserve`, which runs without the interpreter, returns False and changes nothing, and its
callers hand that up to one who raises.

In a build with the C macro ANON_TIGHT a growing array never has room for more than was asked for: every
append is a growth, so that small inputs take all the paths of large ones.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New, PyCapsule_SetContext
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #ifdef ANON_TIGHT
    #define ANON_IS_TIGHT 1
    #else
    #define ANON_IS_TIGHT 0
    #endif

    /* Large fixed arrays are mapped by themselves, in whole large pages: a kernel that touches 32 MB once
       spends a tenth of its time on page faults otherwise. Sanitizers need them on their heap. */
    #if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
    #include <stdint.h>
    #include <sys/mman.h>
    #endif
    #if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && defined(MADV_HUGEPAGE)
    #define ANON_PAGE ((size_t)1 << 21)
    static inline size_t anon_pages(size_t bytes) {
        return bytes < 2 * ANON_PAGE ? 0 : (bytes + ANON_PAGE - 1) / ANON_PAGE * ANON_PAGE;
    }
    static inline void* anon_zeros(size_t n, size_t size) {
        size_t pages = anon_pages(n * size), before;
        char* at;
        if (!pages)
            return PyMem_RawCalloc(n, size);
        at = (char*)mmap(NULL, pages + ANON_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == (char*)MAP_FAILED)
            return NULL;
        before = -(uintptr_t)at % ANON_PAGE;
        if (before)
            munmap(at, before);
        munmap(at + before + pages, ANON_PAGE - before);
        madvise(at + before, pages, MADV_HUGEPAGE);
        return at + before;
    }
    static inline void anon_free(void* at, size_t bytes) {
        if (anon_pages(bytes))
            munmap(at, anon_pages(bytes));
        else
            PyMem_RawFree(at);
    }
    #else
    static inline void* anon_zeros(size_t n, size_t size) { return PyMem_RawCalloc(n, size); }
    static inline void anon_free(void* at, size_t bytes) { (void)bytes; PyMem_RawFree(at); }
    #endif
    """
    const bint TIGHT "ANON_IS_TIGHT"
    void* mapped_zeros "anon_zeros"(size_t n, size_t size) noexcept nogil
    void free_zeros "anon_free"(void* at, size_t bytes) noexcept nogil

cdef extern from "Python.h":
    # NULL is no error: a destructor may run while one is on its way, which must not be taken for its own
    void* context_of "PyCapsule_GetContext"(object capsule) noexcept
    void end_process "Py_FatalError" (const char* message) noexcept nogil
    const int64_t MOST_BYTES "PY_SSIZE_T_MAX"


# Elements 0..length-1 are in use, `capacity` of them fit. `reserve` voids pointers to them.
cdef struct Array:
    void* at
    int64_t length
    int64_t capacity
    int64_t size        # bytes of an element


cdef inline void free_fixed(object capsule) noexcept:
    free_zeros(PyCapsule_GetPointer(capsule, NULL), <size_t>context_of(capsule))


cdef inline void free_growing(object capsule) noexcept:
    cdef Array* arrays = <Array*>PyCapsule_GetPointer(capsule, NULL)
    cdef int64_t i
    for i in range(<int64_t><size_t>context_of(capsule)):
        PyMem_RawFree(arrays[i].at)
    free_zeros(arrays, <size_t>context_of(capsule) * sizeof(Array))


cdef inline void* zeros(int64_t n, int64_t size) except NULL:
    cdef void* at = NULL
    if 0 <= n <= MOST_BYTES // size:
        at = mapped_zeros(n if n else 1, size)
    if at == NULL:
        raise MemoryError
    return at


cdef inline void* take(list keep, int64_t n, int64_t size) except NULL:
    """A fixed array of `n` elements of `size` bytes, all zero; it has an address for n = 0 too."""
    cdef void* at = zeros(n, size)
    cdef size_t bytes = (n if n else 1) * size
    try:
        capsule = PyCapsule_New(at, NULL, free_fixed)
    except:
        free_zeros(at, bytes)
        raise
    PyCapsule_SetContext(capsule, <void*>bytes)
    keep.append(capsule)
    return at


cdef inline Array* growing(list keep, int64_t n, int64_t size) except NULL:
    """`n` growing arrays of elements of `size` bytes, each of length 0."""
    cdef Array* arrays = <Array*>zeros(n, sizeof(Array))
    cdef int64_t i
    for i in range(n):
        arrays[i].size = size
    try:
        capsule = PyCapsule_New(arrays, NULL, free_growing)
    except:
        free_zeros(arrays, n * sizeof(Array))
        raise
    PyCapsule_SetContext(capsule, <void*><size_t>n)
    keep.append(capsule)
    return arrays


cdef inline bint reserve(Array* array, int64_t more) noexcept nogil:
    """Make room for `more` elements behind the last one. False: memory is short, and nothing has changed."""
    cdef int64_t capacity = array.capacity, most = MOST_BYTES // array.size
    cdef void* at
    if more <= capacity - array.length:
        return True
    if more > most - array.length:
        return False
    if TIGHT:
        capacity = array.length + more
    else:
        # twice as much as before, or what is asked for
        capacity = max(min(2 * capacity, most), array.length + more)
    at = PyMem_RawRealloc(array.at, capacity * array.size)
    if at == NULL:
        return False
    array.at = at
    array.capacity = capacity
    return True


cdef inline void fits(int64_t length, int64_t capacity) noexcept nogil:
    """To be called before the elements up to `length` of a fixed array are written one behind the other."""
    if length > capacity:
        end_process("anoncore: an array would be filled beyond its capacity")


cdef inline void* extend(Array* array, int64_t more) noexcept nogil:
    """The place of `more` further elements, for which `reserve` has made room; they are not set."""
    fits(array.length + more, array.capacity)
    array.length += more
    return <char*>array.at + (array.length - more) * array.size


cdef inline void release(Array* array) noexcept nogil:
    """Empty the array and free its elements; it may grow again."""
    PyMem_RawFree(array.at)
    array.at = NULL
    array.length = 0
    array.capacity = 0
