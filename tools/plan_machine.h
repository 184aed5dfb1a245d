/*
 * plan_machine.h - `dtrain plan --machine` and `--topology`: the plan on nodes of
 * one kind, what each task gets there, and what each axis costs.
 */
#ifndef DT_TOOLS_PLAN_MACHINE_H
#define DT_TOOLS_PLAN_MACHINE_H

#include "core/plan.h"
#include "core/switches.h"
#include "tools/plan_options.h"

/* Text and JSON print nothing where the options name no machine. A part behind the plan's text. */
int dt_plan_machine_print_text(struct dt_out *out, const struct dt_plan *plan,
                               const struct dt_plan_options *options, const struct dt_switches *switches,
                               struct dtrain_error *err);
/* ", "placement": [...], "cost": {...}" for the plan's object. */
int dt_plan_machine_print_json(struct dt_out *out, const struct dt_plan *plan,
                               const struct dt_plan_options *options, const struct dt_switches *switches,
                               struct dtrain_error *err);
int dt_plan_machine_print_svg(struct dt_out *out, const struct dt_plan *plan,
                              const struct dt_plan_options *options, const struct dt_switches *switches,
                              struct dtrain_error *err);

#endif
