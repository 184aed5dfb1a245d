/*
 * bind.h - which local task gets which GPU, cores, NIC and memory. Pure: the
 * plan's groups + the node's topology + what Slurm allows -> a binding, with
 * the reason for each. apply.c is the one place with effects.
 */
#ifndef DT_TOPO_BIND_H
#define DT_TOPO_BIND_H

#include "topo/topo.h"

#define DT_BIND_EXACT_GPUS_MAX 16u /* up to here the sum of link quality is the best there is */
#define DT_BIND_REASON_MAX 256
#define DT_BIND_TASKS_MAX 65536u /* of one node */

enum { DT_BIND_GPU = 1 << 0, DT_BIND_CPU = 1 << 1, DT_BIND_NIC = 1 << 2, DT_BIND_MEM = 1 << 3 };

struct dt_bind_request {
    uint32_t task_count;      /* of this node */
    const uint32_t *group;    /* of each task: its tensor-parallel group, equal = together */
    const uint32_t *gpus;     /* indices into topo->gpus that Slurm allows; NULL: all */
    uint32_t gpu_count;
    hwloc_const_bitmap_t cpus; /* what Slurm allows this step on the node; NULL: all */
    unsigned what;            /* DT_BIND_* */
};

struct dt_bind_task {
    int gpu;  /* index into topo->gpus; -1: none */
    int nic;  /* index into topo->nics; -1: none */
    int numa; /* os index for memory; -1: left alone */
    bool keeps_cpus;     /* Slurm's mask stays; the reason says why */
    hwloc_bitmap_t cpus; /* whole cores inside Slurm's mask; empty when keeps_cpus */
    char reason[DT_BIND_REASON_MAX];
};

struct dt_binding {
    uint32_t task_count;
    struct dt_bind_task *tasks; /* by local rank */
    uint64_t quality;      /* sum of dt_path_quality() over pairs inside groups */
    bool is_exact;         /* the best there is; else a heuristic's */
};

/*
 * The caller frees with dt_binding_destroy(). Fewer GPUs than tasks leaves gpu -1
 * for all, and says so in the reasons. Failure: a request that is not of this node.
 */
int dt_bind(struct dt_binding **binding, const struct dt_topo *topo,
            const struct dt_bind_request *request, struct dtrain_error *err);
void dt_binding_destroy(struct dt_binding *binding);

#endif
