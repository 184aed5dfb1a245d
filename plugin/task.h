/*
 * task.h - one task, in its own process before it becomes the user's program:
 * who it is, checked, its environment and its devices.
 */
#ifndef DT_PLUGIN_TASK_H
#define DT_PLUGIN_TASK_H

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "core/plan.h"

#define DT_TASK_VALUE_MAX 512 /* bytes of one of Slurm's short variables with the NUL */

struct dt_task {
    const struct dt_plan *plan;
    uint32_t rank, node, local;
    bool is_speaker; /* says what holds for all tasks of the node */
};

/* Finds the task's rank. Refuses one that the plan, Slurm's items and Slurm's variables do not agree on. */
int dt_task_identify(struct dt_task *task, const struct dt_plan *plan, spank_t spank,
                     struct dtrain_error *err);

/* Sets the variables of core/env.h. */
int dt_task_set_environment(const struct dt_task *task, spank_t spank, struct dtrain_error *err);

#endif
