/*
 * plan.h - the plan of one step: which task is which rank, on which node, at
 * which coordinates. srun, slurmstepd, the task and `dtrain plan` all call
 * dt_plan_create() on the same inputs, so what is printed is what is applied.
 *
 * The world is node-major in the plan's node order: node 0's tasks are ranks
 * 0 .. tasks[0]-1 in the order of their local ids, and so on, whatever Slurm's
 * distribution was. Immutable after creation; any thread may read.
 */
#ifndef DT_CORE_PLAN_H
#define DT_CORE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

#define DT_PLAN_NODES_MAX (1u << 20)
#define DT_PLAN_TASKS_PER_NODE_MAX 65535u /* Slurm's uint16_t */
#define DT_PLAN_ADDR_MAX 64               /* a numeric address with the NUL */

enum dt_span { DT_SPAN_NODE, DT_SPAN_ANY };
enum dt_backend_choice { DT_BACKEND_AUTO, DT_BACKEND_NCCL, DT_BACKEND_HOST };

/* Words of the options, indexed by the enums. */
extern const char *const dt_span_words[2];    /* "node", "any" */
extern const char *const dt_backend_words[3]; /* "auto", "nccl", "host" */

struct dt_plan_inputs {
    struct dt_layout_request request;
    enum dt_span tp_span;
    enum dt_backend_choice backend;
    uint32_t node_count;
    const char *const *nodes; /* names in the plan's order, copied */
    const uint32_t *tasks;    /* tasks of each node, at least 1 */
    /* Slurm's global task id (SLURM_PROCID) of each world rank: a permutation. NULL: the identity. */
    const uint32_t *procids;
    const char *master_addr;  /* numeric address of rank 0's node; NULL or "": none */
    uint16_t master_port;     /* 0: none */
    uint32_t gpus_per_node;   /* as far as the request shows it; 0: not known. Checked, not kept */
};

struct dt_plan;

/*
 * Refuses what cannot work: what dt_layout_init() refuses; a tensor-parallel
 * group that crosses nodes under DT_SPAN_NODE (uneven nodes that split one
 * included); more tasks on a node than gpus_per_node (not for DT_BACKEND_HOST);
 * task ids that are no permutation; a repeated node. The messages name the
 * numbers and the flag that mends it. The caller frees with dt_plan_destroy().
 */
int dt_plan_create(struct dt_plan **plan, const struct dt_plan_inputs *inputs,
                   struct dtrain_error *err);
void dt_plan_destroy(struct dt_plan *plan);

const struct dt_layout *dt_plan_layout(const struct dt_plan *plan);
uint32_t dt_plan_world(const struct dt_plan *plan);
enum dt_span dt_plan_tp_span(const struct dt_plan *plan);
enum dt_backend_choice dt_plan_backend(const struct dt_plan *plan);
const char *dt_plan_master_addr(const struct dt_plan *plan); /* "" when none */
uint16_t dt_plan_master_port(const struct dt_plan *plan);    /* 0 when none */

uint32_t dt_plan_node_count(const struct dt_plan *plan);
/* i in range in all of these (asserted). */
const char *dt_plan_node_name(const struct dt_plan *plan, uint32_t node);
uint32_t dt_plan_node_tasks(const struct dt_plan *plan, uint32_t node);
uint32_t dt_plan_node_first(const struct dt_plan *plan, uint32_t node); /* its first world rank */
/* Index of the node with this name, or -1. Linear. */
int64_t dt_plan_node_find(const struct dt_plan *plan, const char *name);

uint32_t dt_plan_rank_node(const struct dt_plan *plan, uint32_t rank); /* binary search */
uint32_t dt_plan_rank_local(const struct dt_plan *plan, uint32_t rank);
uint32_t dt_plan_rank_procid(const struct dt_plan *plan, uint32_t rank);
uint32_t dt_plan_procid_rank(const struct dt_plan *plan, uint32_t procid);
/* Whether RANK and SLURM_PROCID are the same for every task. */
bool dt_plan_is_identity(const struct dt_plan *plan);

#endif
