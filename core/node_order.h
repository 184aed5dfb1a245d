/*
 * node_order.h - the nodes of a step in the order of the cluster's switches, with
 * their tasks, before the plan is made: srun and `dtrain plan` do it alike.
 */
#ifndef DT_CORE_NODE_ORDER_H
#define DT_CORE_NODE_ORDER_H

#include <stdbool.h>

#include "switches.h"

/* Borrowed arrays of a step, changed in place. */
struct dt_node_order {
    uint32_t node_count;
    const char **nodes;
    uint32_t *tasks;   /* of each node */
    uint32_t *procids; /* node by node */
};

/* dt_switches_order(), applied. On failure nothing is changed. */
int dt_node_order_apply(bool *is_changed, struct dt_node_order *step, const struct dt_switches *switches,
                        struct dtrain_error *err);

#endif
