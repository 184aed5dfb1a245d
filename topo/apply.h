/*
 * apply.h - the one place that binds: the calling task to CPUs and memory. A
 * failure changes nothing and says why; the caller warns and leaves it to Slurm.
 */
#ifndef DT_TOPO_APPLY_H
#define DT_TOPO_APPLY_H

#include <hwloc.h>

#include "core/error.h"

/* The calling thread's affinity: these CPUs (os indices) and no others. */
int dt_apply_cpus(hwloc_const_bitmap_t cpus, struct dtrain_error *err);

/* The calling thread's memory: from NUMA node `numa` (os index) while it has some, then from others. */
int dt_apply_memory(int numa, struct dtrain_error *err);

#endif
