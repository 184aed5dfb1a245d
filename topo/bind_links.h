/*
 * bind_links.h - GPUs as a table of link qualities, and the tensor-parallel
 * groups that are to lie on them. What the ways of grouping share; pure.
 */
#ifndef DT_TOPO_BIND_LINKS_H
#define DT_TOPO_BIND_LINKS_H

#include "topo/topo.h"

#define DT_BIND_IDLE UINT8_MAX /* a GPU that no group uses */

struct dt_bind_links {
    uint32_t count;
    uint32_t quality[DT_TOPO_GPUS_MAX][DT_TOPO_GPUS_MAX]; /* symmetric; the diagonal is not read */
};

/* Groups in the order of their first task; their sizes add up to links->count at most. */
struct dt_bind_groups {
    uint32_t count;
    uint32_t size[DT_TOPO_GPUS_MAX];
};

/* part[gpu] is the GPU's group, or DT_BIND_IDLE. The sum of quality over the pairs inside groups. */
uint64_t dt_bind_links_sum(const struct dt_bind_links *links, const uint8_t part[DT_TOPO_GPUS_MAX]);

/* No partition into these groups has a larger sum. */
uint64_t dt_bind_links_bound(const struct dt_bind_links *links, const struct dt_bind_groups *groups);

/* Among groups of one size, the first gets the set that holds the lowest GPU, and so on. */
void dt_bind_links_sort(uint8_t part[DT_TOPO_GPUS_MAX], uint32_t gpu_count,
                        const struct dt_bind_groups *groups);

#endif
