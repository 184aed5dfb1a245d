/*
 * bind_part.h - the parts of the binder, in the order in which dt_bind() takes
 * them: each fills its fields of every task from those before it, and says why.
 */
#ifndef DT_TOPO_BIND_PART_H
#define DT_TOPO_BIND_PART_H

#include "topo/bind.h"

struct dt_bind_input {
    const struct dt_topo *topo;
    const struct dt_bind_request *request;
    uint32_t gpus[DT_TOPO_GPUS_MAX]; /* allowed, ascending: by PCI id */
    uint32_t gpu_count;
    hwloc_bitmap_t cpus; /* allowed and on this machine */
};

int dt_bind_gpu(struct dt_binding *binding, const struct dt_bind_input *input, struct dtrain_error *err);
int dt_bind_cpu(struct dt_binding *binding, const struct dt_bind_input *input, struct dtrain_error *err);
int dt_bind_nic(struct dt_binding *binding, const struct dt_bind_input *input, struct dtrain_error *err);

/* Adds to the task's reason, after "; ". What does not fit is cut and ends in "...". */
void dt_bind_say(struct dt_bind_task *task, const char *fmt, ...) DT_PRINTF(2, 3);

/* The topology's NUMA node; NULL: none has this index. */
const struct dt_topo_numa *dt_bind_numa(const struct dt_topo *topo, int os_index);

#endif
