/*
 * bind_swap.h - a good partition of any number of GPUs into groups: from a start,
 * the best exchange of two GPUs (one may be idle) is made until none helps. Used
 * above DT_BIND_EXACT_GPUS_MAX. Pure.
 */
#ifndef DT_TOPO_BIND_SWAP_H
#define DT_TOPO_BIND_SWAP_H

#include "topo/bind_links.h"

/* Each group grows from the lowest free GPU by the GPU best linked to it; large groups first. */
void dt_bind_swap_start(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                        const struct dt_bind_groups *groups);

/* The sum never falls; the sizes stay. */
void dt_bind_swap_improve(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links);

#endif
