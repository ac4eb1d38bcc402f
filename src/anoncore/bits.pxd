# SPDX-License-Identifier: Apache-2.0
"""Bits set in a word, and in the common part of two bitmaps; by the processor's instruction where it has one."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    #if defined(__GNUC__) && defined(__x86_64__)
    #define ANON_DISPATCH __attribute__((target("popcnt")))
    #else
    #define ANON_DISPATCH
    #endif

    #define ANON_COUNT_COMMON(name, target)                                                        \\
        target static int64_t name(const uint64_t* words, const uint32_t* index,                    \\
                                   const uint64_t* bits, int64_t n) {                               \\
            int64_t total = 0;                                                                      \\
            for (int64_t i = 0; i < n; i++)                                                         \\
                total += __builtin_popcountll(words[i] & bits[index[i]]);                           \\
            return total;                                                                           \\
        }
    ANON_COUNT_COMMON(anon_count_common_plain, )
    ANON_COUNT_COMMON(anon_count_common_fast, ANON_DISPATCH)

    #define ANON_COUNT_BITS(name, target)                                                          \\
        target static int64_t name(const uint64_t* words, int64_t n) {                              \\
            int64_t total = 0;                                                                      \\
            for (int64_t i = 0; i < n; i++)                                                         \\
                total += __builtin_popcountll(words[i]);                                            \\
            return total;                                                                           \\
        }
    ANON_COUNT_BITS(anon_count_bits_plain, )
    ANON_COUNT_BITS(anon_count_bits_fast, ANON_DISPATCH)

    static inline int anon_has_popcount(void) {
    #if defined(__GNUC__) && defined(__x86_64__)
        return __builtin_cpu_supports("popcnt");
    #else
        return 0;
    #endif
    }

    static inline int64_t anon_count_common(const uint64_t* words, const uint32_t* index,
                                            const uint64_t* bits, int64_t n) {
        return anon_has_popcount() ? anon_count_common_fast(words, index, bits, n)
                                   : anon_count_common_plain(words, index, bits, n);
    }
    static inline int64_t anon_count_bits(const uint64_t* words, int64_t n) {
        return anon_has_popcount() ? anon_count_bits_fast(words, n) : anon_count_bits_plain(words, n);
    }
    static inline int anon_lowest_bit(uint64_t word) { return __builtin_ctzll(word); }
    """
    # the bits set in words[i] & bits[index[i]], i < n
    int64_t count_common "anon_count_common"(const uint64_t* words, const uint32_t* index,
                                             const uint64_t* bits, int64_t n) noexcept nogil
    # the bits set in words[0..n-1]
    int64_t count_bits "anon_count_bits"(const uint64_t* words, int64_t n) noexcept nogil
    # position of the lowest bit set in a word that is not 0
    int lowest_bit "anon_lowest_bit"(uint64_t word) noexcept nogil
