/*
 * plan_crossings.h - where the neighbours of each axis meet: on one node, below
 * one leaf switch, or higher. What the order of the nodes makes few.
 *
 * Neighbours of tp, cp, ep and dp are the members of a group as a ring: each
 * member and the next, the last and the first; a group of n has n such edges. Of
 * pp they are the stages of a pipeline in turn: n-1 edges. A group of one has none.
 */
#ifndef DT_CORE_PLAN_CROSSINGS_H
#define DT_CORE_PLAN_CROSSINGS_H

#include "plan.h"
#include "switches.h"

struct dt_plan_crossings {
    uint32_t levels; /* of the switches; 0: without any */
    /* By level: [0] on one node, [1] below one leaf, ..., [levels + 1] no switch in common. */
    uint64_t edges[DT_GRID_COUNT][DT_AXIS_COUNT][DT_SWITCHES_LEVELS_MAX + 2];
};

/* switches may be NULL. */
int dt_plan_crossings(struct dt_plan_crossings *crossings, const struct dt_plan *plan,
                      const struct dt_switches *switches, struct dtrain_error *err);

#endif
