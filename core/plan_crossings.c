#include "plan_crossings.h"

#include <stdlib.h>
#include <string.h>

#include "walk.h"

/* What a count of one axis knows. */
struct counter {
    const struct dt_plan *plan;
    const struct dt_switches *switches; /* NULL: none */
    const uint32_t *leaves;             /* of each node */
    uint64_t *edges;                    /* by level */
};

static void count_edge(struct counter *counter, uint32_t a, uint32_t b)
{
    uint32_t level = 1;

    if (a == b)
        level = 0;
    else if (counter->switches != NULL)
        level = dt_switches_meet(counter->switches, counter->leaves[a], counter->leaves[b]);
    counter->edges[level]++;
}

static bool holds_rank(const struct dt_plan *plan, uint32_t node, uint32_t rank)
{
    return rank >= dt_plan_node_first(plan, node) &&
           rank - dt_plan_node_first(plan, node) < dt_plan_node_tasks(plan, node);
}

static void count_group(struct counter *counter, uint32_t first, struct dt_walk *members, bool is_ring)
{
    uint32_t first_node = dt_plan_rank_node(counter->plan, first), node = first_node;

    while (dt_walk_step(members)) {
        uint32_t rank = first + members->value, next = node;

        if (!holds_rank(counter->plan, node, rank))
            next = dt_plan_rank_node(counter->plan, rank);
        count_edge(counter, node, next);
        node = next;
    }
    if (is_ring)
        count_edge(counter, node, first_node);
}

static void count_axis(struct counter *counter, enum dt_grid grid, enum dt_axis axis)
{
    const struct dt_layout *layout = dt_plan_layout(counter->plan);
    struct dt_walk firsts = dt_walk_start(layout, grid, ~(1u << axis));
    struct dt_walk members = dt_walk_start(layout, grid, 1u << axis);

    if (layout->size[grid][axis] == 1)
        return;
    do
        count_group(counter, firsts.value, &members, axis != DT_PP);
    while (dt_walk_step(&firsts));
}

int dt_plan_crossings(struct dt_plan_crossings *crossings, const struct dt_plan *plan,
                      const struct dt_switches *switches, struct dtrain_error *err)
{
    uint32_t n = dt_plan_node_count(plan);
    uint32_t *leaves = malloc(n * sizeof(*leaves));
    struct counter counter = {.plan = plan, .switches = switches, .leaves = leaves};

    memset(crossings, 0, sizeof(*crossings));
    if (leaves == NULL)
        return dt_error_memory(err, n * sizeof(*leaves), "the leaves of the nodes");
    for (uint32_t node = 0; switches != NULL && node < n; node++)
        leaves[node] = dt_switches_leaf(switches, dt_plan_node_name(plan, node));
    if (switches != NULL)
        crossings->levels = dt_switches_levels(switches);
    for (unsigned grid = 0; grid < DT_GRID_COUNT; grid++) {
        for (unsigned axis = 0; axis < DT_AXIS_COUNT; axis++) {
            counter.edges = crossings->edges[grid][axis];
            count_axis(&counter, (enum dt_grid)grid, (enum dt_axis)axis);
        }
    }
    free(leaves);
    return 0;
}
