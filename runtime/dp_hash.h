/* dp_hash.h - FNV-1a of 64 bits, over bytes. */
#ifndef DT_RUNTIME_DP_HASH_H
#define DT_RUNTIME_DP_HASH_H

#include <stddef.h>
#include <stdint.h>

#define DT_DP_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t dt_dp_hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
