#include "random.h"

#include <math.h>

static const double two_pi = 6.283185307179586;

/* The finaliser of splitmix64: every bit of x changes every bit of the result. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    return mix(mix(mix(seed) ^ stream) ^ index);
}

/* In (0, 1): 53 bits and a half. */
static double uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

double random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    double radius = sqrt(-2.0 * log(uniform(random_bits(seed, stream, 2 * index))));

    return radius * cos(two_pi * uniform(random_bits(seed, stream, 2 * index + 1)));
}
