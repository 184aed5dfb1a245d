/* bind_ring.h - the order of a group's GPUs around its ring. Pure. */
#ifndef DT_TOPO_BIND_RING_H
#define DT_TOPO_BIND_RING_H

#include "topo/bind_links.h"

#define DT_BIND_RING_EXACT_MAX 8u /* up to here every order is tried */

/*
 * Reorders gpus[1 ...] so that the worst link of the ring is as good as can be,
 * then the sum of its links; the given order stays where no other is better.
 * Above DT_BIND_RING_EXACT_MAX: turns of stretches while they raise the sum.
 */
void dt_bind_ring(uint32_t *gpus, uint32_t count, const struct dt_bind_links *links);

#endif
