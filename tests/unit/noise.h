/* noise.h - numbers for tests that every rank can make alike: a hash of a key (splitmix64), in [-1, 1). */
#ifndef DT_TESTS_NOISE_H
#define DT_TESTS_NOISE_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t noise_bits(uint64_t key)
{
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

static inline double noise(uint64_t key)
{
    return (double)(noise_bits(key) >> 11) * 0x1p-52 - 1;
}

/* x[n], of which seed chooses the values. */
static inline void __attribute__((unused)) noise_fill(double *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = noise(seed << 32 | i);
}

#endif
