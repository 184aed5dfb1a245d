/*
 * host_coll.h - the algorithms of the host backend.
 *
 *   all_reduce      recursive doubling up to DT_HOST_SMALL_BYTES, else a ring
 *   all_gather      ring
 *   reduce_scatter  ring, block after block in segments
 *   broadcast       binomial tree, in segments
 *   all_to_all      pairs
 *   transfer        all at once
 *   barrier         dissemination
 *
 * For given sizes the order of a reduction is fixed, so a result is the same in
 * every run. bfloat16 and float16 are rounded after each step of it.
 */
#ifndef DT_RUNTIME_HOST_COLL_H
#define DT_RUNTIME_HOST_COLL_H

#include "runtime/host_call.h"

#define DT_HOST_SMALL_BYTES (16u * 1024u)    /* all_reduce: latency counts, not bytes */
#define DT_HOST_SEGMENT_BYTES (256u * 1024u) /* a multiple of every element's size */

int dt_host_coll_run(struct dt_host_call *call, struct dtrain_error *err);

/* In host_reduction.c. */
int dt_host_all_reduce(struct dt_host_call *call, struct dtrain_error *err);
int dt_host_reduce_scatter(struct dt_host_call *call, struct dtrain_error *err);

/* memcpy() of what may be in place. */
void dt_host_copy(void *to, const void *from, size_t bytes);

/* The rank `distance` behind (or, when negative, in front of) this one in the ring. */
int dt_host_ring(const struct dt_host_comm *comm, int distance);

#endif
