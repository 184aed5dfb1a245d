/*
 * bound.h - what the tasks of one node are bound to, worked out by each of them
 * from the same facts, and the words that tell it.
 */
#ifndef DT_PLUGIN_BOUND_H
#define DT_PLUGIN_BOUND_H

#include "core/bind_choice.h"
#include "lists.h"
#include "topo/bind.h"

#define DT_BOUND_LINE_MAX 512   /* bytes of one task's words with the NUL */
#define DT_BOUND_NODE_MAX 8192u /* bytes of a node's line; what is longer ends in "..." */

struct dt_bound {
    uint32_t task_count;
    unsigned items;       /* what is bound: DT_BIND_* */
    const char *cpus_kept; /* why Slurm's CPUs stay whatever the topology says; NULL: they need not */
    struct dt_list *list; /* the node's list of devices, borrowed; NULL: none */
    uint32_t gpus[DT_VISIBLE_ENTRIES_MAX]; /* index into topo->gpus of each of its entries */
    uint32_t *groups;     /* of each task: its tensor-parallel group */
    hwloc_bitmap_t cpus;  /* what Slurm allows; empty: not asked */
    struct dt_binding *binding;
};

/* NULL with the error set. The caller frees with dt_bound_destroy(). */
struct dt_bound *dt_bound_create(uint32_t task_count, unsigned items, struct dtrain_error *err);
void dt_bound_destroy(struct dt_bound *bound);

/* The entry of the list that is this task's own; -1: it has none. */
int dt_bound_entry(const struct dt_bound *bound, uint32_t local);

/* Pure. "GPU 0000:07:00.0, CPUs 0-7, NIC mlx5_0, memory of NUMA node 0" */
void dt_bound_describe(char text[DT_BOUND_LINE_MAX], const struct dt_bound *bound, const struct dt_topo *topo,
                       uint32_t local);

/* Says of one task, with the reasons, or in one line of all. */
void dt_bound_say_task(const struct dt_bound *bound, const struct dt_topo *topo,
                       const struct dt_bind_choice *choice, const struct dt_task *task);
void dt_bound_say_node(const struct dt_bound *bound, const struct dt_topo *topo, const struct dt_task *task);

#endif
