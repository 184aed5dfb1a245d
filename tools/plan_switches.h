/*
 * plan_switches.h - `dtrain plan --switches FILE`: the order of the nodes by the
 * cluster's switches, and how many edges of each axis cross which of them.
 */
#ifndef DT_TOOLS_PLAN_SWITCHES_H
#define DT_TOOLS_PLAN_SWITCHES_H

#include "core/out.h"
#include "core/plan.h"
#include "core/switches.h"
#include "tools/plan_step.h"

/*
 * Reads the file and puts the step's nodes in order. Refuses a file that is none
 * of Slurm's topology.conf, and one that has none of the nodes. The caller frees
 * with dt_switches_destroy(). path NULL: *switches is NULL, the order stays.
 */
int dt_plan_switches_apply(struct dt_switches **switches, struct dt_plan_step *step, const char *path,
                           struct dtrain_error *err);

/* Both print nothing without switches. A table behind the plan's text. */
int dt_plan_switches_print_text(struct dt_out *out, const struct dt_plan *plan,
                                const struct dt_switches *switches, struct dtrain_error *err);
/* ", "crossings": {...}" for the plan's object: by axis, the edges by level. */
int dt_plan_switches_print_json(struct dt_out *out, const struct dt_plan *plan,
                                const struct dt_switches *switches, struct dtrain_error *err);

#endif
