/*
 * bind_units.h - the cores that a step may use, as units that are never split,
 * and how they are shared out. Pure.
 */
#ifndef DT_TOPO_BIND_UNITS_H
#define DT_TOPO_BIND_UNITS_H

#include "topo/bind_part.h"

/* A core's CPUs inside Slurm's mask; a single CPU where the topology knows no cores. */
struct dt_bind_unit {
    hwloc_bitmap_t cpus;
    int numa; /* os index; -1: not known */
};

/* By NUMA node in the topology's order (those without one last), then by core. */
struct dt_bind_units {
    uint32_t count;
    struct dt_bind_unit *units;
};

int dt_bind_units_read(struct dt_bind_units *units, const struct dt_bind_input *input,
                       struct dtrain_error *err);
void dt_bind_units_clear(struct dt_bind_units *units);

/* Share i of count: units *from .. *to - 1 of `available`; never empty, disjoint when there are enough. */
void dt_bind_units_share(uint32_t *from, uint32_t *to, uint32_t i, uint32_t count, uint32_t available);

#endif
