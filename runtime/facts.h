/*
 * facts.h - the plan against what the launcher says: never start with wrong
 * ranks. Pure. Each function says which two values differ.
 */
#ifndef DT_RUNTIME_FACTS_H
#define DT_RUNTIME_FACTS_H

#include "core/plan.h"
#include "runtime/boot.h"
#include "runtime/settings.h"

/* Whether the plan and the launcher speak of the same number of tasks; without that no rank is known. */
int dt_facts_check_size(const struct dt_boot_facts *facts, const struct dt_plan *plan,
                        struct dtrain_error *err);

/* Node, local rank and sizes of the task's rank. */
int dt_facts_check_place(const struct dt_boot_facts *facts, const struct dt_plan *plan,
                         struct dtrain_error *err);

/* RANK and its like, where the plugin or the user set them. */
int dt_facts_check_variables(const struct dt_settings *settings, const struct dt_plan *plan, uint32_t rank,
                             struct dtrain_error *err);

/*
 * SLURM_PMIX_MAPPING_SERV, "(vector,(first_node,nodes,tasks_per_node),...)": tasks
 * that share a node there share one in the plan. A text in another form says
 * nothing and passes.
 */
int dt_facts_check_mapping(const char *mapping, const struct dt_plan *plan, uint32_t rank,
                           struct dtrain_error *err);

#endif
