/*
 * bind_exact.h - the best partition of up to DT_BIND_EXACT_GPUS_MAX GPUs into
 * groups, by dynamic programming over subsets. Pure.
 *
 * Groups of one size are a class. A set of GPUs is cut into groups of a class by
 * choosing the group of its lowest GPU, the rest being solved already; sets are
 * shared out between classes in the same way. Groups of one GPU have no pairs and
 * take what is left. 16 GPUs cost at most two million choices (5 to 7 ms; 10 ms for
 * groups of four different sizes), never the number of partitions.
 */
#ifndef DT_TOPO_BIND_EXACT_H
#define DT_TOPO_BIND_EXACT_H

#include "topo/bind_links.h"

/* Among equally good partitions the one whose groups hold the lowest GPUs, read in the order of classes. */
int dt_bind_exact(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                  const struct dt_bind_groups *groups, struct dtrain_error *err);

#endif
