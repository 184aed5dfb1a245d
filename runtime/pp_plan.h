/*
 * pp_plan.h - one stage's actions with the buffers that they use, laid out before anything runs. Pure.
 *
 * A buffer is taken where its data come to be and given back by the action that needs them last. What is
 * being sent is given back when something waited for the operation, or taken again by what then waits for it;
 * so sends run beside computing, but only a few of them. All buffers are of one size.
 */
#ifndef DT_RUNTIME_PP_PLAN_H
#define DT_RUNTIME_PP_PLAN_H

#include "schedule.h"

#define DT_PP_SENDS_MAX 2 /* under way before computing waits for the oldest */

/* Buffers and slots are indices, -1: none. */
struct dt_pp_step {
    struct dtrain_pp_action action;
    int slot;
    int input, output, output_gradient, input_gradient; /* a transfer has the one that it sends or receives */
    int version; /* stash of the weights it uses or fills; -1: the live ones */
    int wait;    /* operation that must have ended before; -1: none */
};

struct dt_pp_plan {
    struct dt_pp_step *steps;
    size_t count;
    int slots, buffers, stashes;
};

int dt_pp_plan_create(struct dt_pp_plan *plan, const struct dt_schedule *schedule, int stage,
                      struct dtrain_error *err);
/* Also after a failure. */
void dt_pp_plan_clear(struct dt_pp_plan *plan);

#endif
