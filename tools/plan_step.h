/*
 * plan_step.h - the step that srun would make of the options: its nodes, their
 * tasks, and Slurm's number of each task.
 */
#ifndef DT_TOOLS_PLAN_STEP_H
#define DT_TOOLS_PLAN_STEP_H

#include "core/switches.h"
#include "tools/plan_options.h"

struct dt_plan_step;

/* The caller frees with dt_plan_step_destroy(). */
int dt_plan_step_create(struct dt_plan_step **step, const struct dt_plan_options *options,
                        struct dtrain_error *err);
void dt_plan_step_destroy(struct dt_plan_step *step);

/* Whether the nodes' names were made up. */
bool dt_plan_step_is_anonymous(const struct dt_plan_step *step);

/* Puts the nodes in the order of the switches, as srun does. */
int dt_plan_step_order(struct dt_plan_step *step, const struct dt_switches *switches,
                       struct dtrain_error *err);

/* Fills nodes, tasks and task ids; they are borrowed from the step. */
void dt_plan_step_inputs(const struct dt_plan_step *step, struct dt_plan_inputs *inputs);

/* The plan of the step with the layout of the options. The caller frees with dt_plan_destroy(). */
int dt_plan_step_plan(struct dt_plan **plan, const struct dt_plan_step *step,
                      const struct dt_plan_options *options, struct dtrain_error *err);

#endif
