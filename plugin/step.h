/*
 * step.h - what the controller says of a step, asked in srun: its true layout
 * (also an arbitrary, cyclic or plane one), its request, its restart count.
 */
#ifndef DT_PLUGIN_STEP_H
#define DT_PLUGIN_STEP_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "core/plan.h"

struct dt_hostlist;

struct dt_step {
    uint32_t job_id, step_id, restart_count;
    uint32_t node_count, task_count;
    struct dt_hostlist *hosts;
    const char **nodes;     /* names in the layout's order, borrowed from hosts */
    uint32_t *tasks;        /* of each node */
    uint32_t *procids;      /* global task ids, node by node, in the order of local ids */
    uint32_t gpus_per_node; /* at most; 0: not known */
};

/* In local_user_init. dt_step_free() frees what it holds, also after a failure. */
int dt_step_load(struct dt_step *step, spank_t spank, struct dtrain_error *err);
void dt_step_free(struct dt_step *step);

/* What the controller calls the node's address: a name or numeric. malloc'd; NULL: it does not say. */
char *dt_step_node_address(const char *node);

#endif
