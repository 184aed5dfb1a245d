#include "node_order.h"

#include <stdlib.h>
#include <string.h>

static bool is_identity(const uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (order[i] != i)
            return false;
    return true;
}

/* The same arrays in the new order, in one block of memory. */
struct sorted {
    const char **nodes;
    uint32_t *tasks, *procids, *first;
};

static int sorted_alloc(struct sorted *sorted, uint32_t n, size_t world, struct dtrain_error *err)
{
    size_t bytes = n * sizeof(*sorted->nodes) + (2 * (size_t)n + world) * sizeof(uint32_t);

    sorted->nodes = malloc(bytes);
    if (sorted->nodes == NULL)
        return dt_error_memory(err, bytes, "the order of the nodes");
    sorted->tasks = (uint32_t *)(sorted->nodes + n);
    sorted->first = sorted->tasks + n;
    sorted->procids = sorted->first + n;
    return 0;
}

static void sort(struct sorted *sorted, const struct dt_node_order *step, const uint32_t *order)
{
    uint32_t *to = sorted->procids;
    uint32_t first = 0;

    for (uint32_t i = 0; i < step->node_count; i++) {
        sorted->first[i] = first;
        first += step->tasks[i];
    }
    for (uint32_t i = 0; i < step->node_count; i++) {
        uint32_t from = order[i];

        sorted->nodes[i] = step->nodes[from];
        sorted->tasks[i] = step->tasks[from];
        memcpy(to, step->procids + sorted->first[from], step->tasks[from] * sizeof(*to));
        to += step->tasks[from];
    }
}

static int arrange(struct dt_node_order *step, const uint32_t *order, struct dtrain_error *err)
{
    struct sorted sorted = {0};
    size_t world = 0;

    for (uint32_t i = 0; i < step->node_count; i++)
        world += step->tasks[i];
    if (sorted_alloc(&sorted, step->node_count, world, err) != 0)
        return -1;
    sort(&sorted, step, order);
    memcpy(step->nodes, sorted.nodes, step->node_count * sizeof(*sorted.nodes));
    memcpy(step->tasks, sorted.tasks, step->node_count * sizeof(*sorted.tasks));
    memcpy(step->procids, sorted.procids, world * sizeof(*sorted.procids));
    free(sorted.nodes);
    return 0;
}

int dt_node_order_apply(bool *is_changed, struct dt_node_order *step, const struct dt_switches *switches,
                        struct dtrain_error *err)
{
    uint32_t *order = malloc(step->node_count * sizeof(*order));
    int rc;

    *is_changed = false;
    if (order == NULL)
        return dt_error_memory(err, step->node_count * sizeof(*order), "the order of the nodes");
    rc = dt_switches_order(order, switches, step->nodes, step->node_count, err);
    if (rc == 0 && !is_identity(order, step->node_count)) {
        rc = arrange(step, order, err);
        *is_changed = rc == 0;
    }
    free(order);
    return rc;
}
