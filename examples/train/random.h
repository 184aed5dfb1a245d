/*
 * random.h - random numbers without a state: the value at (seed, stream,
 * index) is a pure function, so every layout draws the same ones and a shard
 * needs only its own.
 */
#ifndef TRAIN_RANDOM_H
#define TRAIN_RANDOM_H

#include <stdint.h>

uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index);

/* Normal, mean 0, deviation 1 (Box-Muller). */
double random_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
