/*
 * node.h - this node's part of a step, in slurmstepd: the facts that Slurm
 * gives there, and the plan that arrived from srun, checked against them.
 */
#ifndef DT_PLUGIN_NODE_H
#define DT_PLUGIN_NODE_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "core/plan.h"
#include "core/request.h"

struct dt_node_facts {
    uint32_t id, count; /* place of this node in Slurm's list of the step's nodes */
    uint32_t local_tasks, all_tasks;
    uint32_t *procids; /* Slurm's global id of each local task */
};

/* Whether this is a step of tasks: no batch script, interactive shell or extern step. In srun too. */
bool dt_node_runs_step(spank_t spank);

/* The caller frees with dt_node_facts_free(), also after a failure. */
int dt_node_facts_load(struct dt_node_facts *facts, spank_t spank, struct dtrain_error *err);
void dt_node_facts_free(struct dt_node_facts *facts);

/*
 * The place of this node in the plan, found by its tasks: the plan's order of nodes
 * can follow the switches, Slurm's does not. Pure.
 */
int dt_node_find(uint32_t *node, const struct dt_plan *plan, const struct dt_node_facts *facts,
                 struct dtrain_error *err);

/* Pure. Names both values where the plan disagrees with the facts or with what the options ask for. */
int dt_node_check_facts(const struct dt_plan *plan, const struct dt_node_facts *facts,
                        struct dtrain_error *err);
int dt_node_check_request(const struct dt_plan *plan, const struct dt_request *request,
                          struct dtrain_error *err);

/* The plan of this step, decoded and checked. The caller frees with dt_plan_destroy(). */
int dt_node_load_plan(struct dt_plan **plan, spank_t spank, const struct dt_request *request,
                      struct dtrain_error *err);

#endif
