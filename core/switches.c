#include "switches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "switches_build.h"

int dt_switches_create(struct dt_switches **switches, const struct dt_switches_record *records, uint32_t n,
                       struct dtrain_error *err)
{
    struct dt_switches_plan plan = {.records = records, .count = n};
    uint32_t at = 0;

    return dt_switches_build(switches, &plan, &at, err);
}

void dt_switches_destroy(struct dt_switches *switches)
{
    if (switches == NULL)
        return;
    for (uint32_t i = 0; i < switches->count; i++) {
        dt_hostlist_destroy(switches->all[i].name);
        dt_hostlist_destroy(switches->all[i].members);
    }
    free(switches->all);
    free(switches->nodes);
    free(switches);
}

uint32_t dt_switches_levels(const struct dt_switches *switches)
{
    return switches->levels;
}

uint32_t dt_switches_leaf(const struct dt_switches *switches, const char *node)
{
    return dt_switches_find(switches->nodes, switches->node_count, node);
}

uint32_t dt_switches_meet(const struct dt_switches *switches, uint32_t leaf_a, uint32_t leaf_b)
{
    const struct dt_switch *all = switches->all;
    uint32_t a = leaf_a, b = leaf_b;

    /* Levels grow on the way up, so the lower of the two is not yet where they meet. */
    while (a != DT_SWITCHES_NONE && b != DT_SWITCHES_NONE && a != b) {
        if (all[a].level <= all[b].level)
            a = all[a].parent;
        else
            b = all[b].parent;
    }
    if (a == DT_SWITCHES_NONE || b == DT_SWITCHES_NONE)
        return switches->levels + 1;
    return all[a].level;
}

uint32_t dt_switches_level(const struct dt_switches *switches, const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return 0;
    return dt_switches_meet(switches, dt_switches_leaf(switches, a), dt_switches_leaf(switches, b));
}

/* ---- Order ---- */

/*
 * Switches, then the given nodes, then what holds all: each has a list of what
 * is below it, in the order of the first nodes.
 */
struct arrangement {
    const struct dt_switches *switches;
    uint32_t *first, *last, *next;
    uint32_t all; /* the index of what holds all */
};

/* Whether it is the first below this parent. */
static bool append(struct arrangement *it, uint32_t parent, uint32_t child)
{
    bool is_first = it->first[parent] == DT_SWITCHES_NONE;

    if (is_first)
        it->first[parent] = child;
    else
        it->next[it->last[parent]] = child;
    it->last[parent] = child;
    return is_first;
}

static void append_node(struct arrangement *it, uint32_t node, uint32_t leaf)
{
    uint32_t child = node;
    uint32_t parent = leaf;

    while (parent != DT_SWITCHES_NONE && append(it, parent, child)) {
        child = parent;
        parent = it->switches->all[child].parent;
    }
    if (parent == DT_SWITCHES_NONE)
        append(it, it->all, child);
}

/* As deep as there are tiers. Returns where the next one goes. */
static uint32_t *write_below(uint32_t *to, const struct arrangement *it, uint32_t parent)
{
    for (uint32_t i = it->first[parent]; i != DT_SWITCHES_NONE; i = it->next[i]) {
        if (i < it->switches->count)
            to = write_below(to, it, i);
        else
            *to++ = i - it->switches->count;
    }
    return to;
}

int dt_switches_order(uint32_t *order, const struct dt_switches *switches, const char *const *nodes,
                      uint32_t n, struct dtrain_error *err)
{
    size_t count = (size_t)switches->count + n + 1;
    struct arrangement it = {.switches = switches, .all = switches->count + n};

    it.first = malloc(3 * count * sizeof(*it.first));
    if (it.first == NULL)
        return dt_error_memory(err, 3 * count * sizeof(*it.first), "the order of the nodes");
    memset(it.first, 0xff, 3 * count * sizeof(*it.first)); /* DT_SWITCHES_NONE */
    it.last = it.first + count;
    it.next = it.last + count;
    for (uint32_t i = 0; i < n; i++)
        append_node(&it, switches->count + i, dt_switches_leaf(switches, nodes[i]));
    write_below(order, &it, it.all);
    free(it.first);
    return 0;
}
