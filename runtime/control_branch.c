#include "control_branch.h"

#include <stdlib.h>

#include "control.h"

/* The first of each node, in survivors' order. */
static uint32_t find_leaders(uint32_t *leaders, const struct dt_plan *plan, const uint32_t *survivors,
                             uint32_t n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || dt_plan_rank_node(plan, survivors[i]) != dt_plan_rank_node(plan, survivors[i - 1]))
            leaders[count++] = survivors[i];
    return count;
}

/* Index of the last leader that is not above rank: its own node's. */
static uint32_t own_node(const uint32_t *leaders, uint32_t count, uint32_t rank)
{
    uint32_t i = 0;

    while (i + 1 < count && leaders[i + 1] <= rank)
        i++;
    return i;
}

static void add_local(struct dt_branch *branch, const uint32_t *survivors, uint32_t n, uint32_t rank,
                      uint32_t end)
{
    for (uint32_t i = 0; i < n; i++)
        if (survivors[i] > rank && survivors[i] < end)
            branch->children[branch->child_count++] = survivors[i];
}

static void add_leaders(struct dt_branch *branch, const uint32_t *leaders, uint32_t count, uint32_t own)
{
    uint64_t first = (uint64_t)own * DT_CONTROL_FANOUT + 1;

    for (uint64_t i = first; i < first + DT_CONTROL_FANOUT && i < count; i++)
        branch->children[branch->child_count++] = leaders[i];
    branch->height = 1;
    for (uint64_t below = first; below < count; below = below * DT_CONTROL_FANOUT + 1)
        branch->height++;
}

int dt_branch_create(struct dt_branch *branch, const struct dt_plan *plan, const uint32_t *survivors,
                     uint32_t n, uint32_t rank, struct dtrain_error *err)
{
    uint32_t *leaders = calloc(n, sizeof(*leaders));
    uint32_t count, own, end;

    *branch = (struct dt_branch){.children = malloc(n * sizeof(*branch->children))};
    if (leaders == NULL || branch->children == NULL) {
        free(leaders);
        free(branch->children);
        return dt_error_memory(err, n * sizeof(*leaders), "the tree of the survivors");
    }
    count = find_leaders(leaders, plan, survivors, n);
    own = own_node(leaders, count, rank);
    end = own + 1 < count ? leaders[own + 1] : UINT32_MAX;
    branch->depth = leaders[own] != rank;
    for (uint32_t i = own; i > 0; i = (i - 1) / DT_CONTROL_FANOUT)
        branch->depth++;
    if (leaders[own] != rank) {
        branch->parent = leaders[own];
    } else {
        branch->parent = own > 0 ? leaders[(own - 1) / DT_CONTROL_FANOUT] : DT_RANK_NONE;
        add_local(branch, survivors, n, rank, end);
        add_leaders(branch, leaders, count, own);
    }
    free(leaders);
    return 0;
}
