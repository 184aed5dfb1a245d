#include "switches_build.h"

#include <stdlib.h>
#include <string.h>

#include "hostlist.h"
#include "parse.h"

#define BEING_SETTLED UINT32_MAX /* as a level */

struct builder {
    struct dt_switches *made;
    const struct dt_switches_plan *plan;
    struct dt_switches_entry *names; /* of the records' switches */
    uint32_t children;               /* of all switches */
    uint32_t at;                     /* the record that is looked at */
};

static void *build_alloc(size_t n, size_t size, const char *what, struct dtrain_error *err)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    if (memory == NULL)
        dt_error_memory(err, n * size, what);
    return memory;
}

/* ---- Tables of names ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct dt_switches_entry *x = a, *y = b;
    int names = strcmp(x->name, y->name);

    return names != 0 ? names : (x->index > y->index) - (x->index < y->index);
}

static int compare_name(const void *name, const void *entry)
{
    return strcmp(name, ((const struct dt_switches_entry *)entry)->name);
}

uint32_t dt_switches_find(const struct dt_switches_entry *table, uint32_t n, const char *name)
{
    const struct dt_switches_entry *found = bsearch(name, table, n, sizeof(*table), compare_name);

    return found != NULL ? found->index : DT_SWITCHES_NONE;
}

/* ---- The records ---- */

static const char *shown_name(char buf[DT_PARSE_SHOWN_MAX + 4], const struct builder *builder, uint32_t i)
{
    return dt_parse_shown(buf, dt_hostlist_name(builder->made->all[i].name, 0));
}

static int take_name(struct dt_hostlist **name, const char *text, struct dtrain_error *err)
{
    char shown[DT_PARSE_SHOWN_MAX + 4];

    if (dt_hostlist_parse(name, text, err) != 0)
        return dt_error_prefix(err, "a switch's name");
    if (dt_hostlist_count(*name) != 1)
        return dt_error_set(err, "'%s' names %u switches: expected one, with a line for each",
                            dt_parse_shown(shown, text), dt_hostlist_count(*name));
    return 0;
}

static int count_members(uint32_t *count, uint32_t more, uint32_t max, const char *what,
                         struct dtrain_error *err)
{
    if (more > max - *count)
        return dt_error_set(err, "more than %u %s are too many: expected at most that many", max, what);
    *count += more;
    return 0;
}

static int take_record(struct builder *builder, const struct dt_switches_record *record,
                       struct dtrain_error *err)
{
    struct dt_switch *own = &builder->made->all[builder->at];
    bool is_leaf = record->level == 0;
    const char *members = is_leaf ? record->nodes : record->switches;
    char shown[DT_PARSE_SHOWN_MAX + 4];

    own->parent = DT_SWITCHES_NONE;
    own->level = is_leaf;
    builder->made->count++;
    if (take_name(&own->name, record->name, err) != 0)
        return -1;
    if (members == NULL || members[0] == '\0')
        return dt_error_set(err, "switch %s has nothing below it: expected %s",
                            shown_name(shown, builder, builder->at), is_leaf ? "nodes" : "switches");
    if (dt_hostlist_parse(&own->members, members, err) != 0)
        return dt_error_prefix(err, "switch %s", shown_name(shown, builder, builder->at));
    if (is_leaf)
        return count_members(&builder->made->node_count, dt_hostlist_count(own->members),
                             DT_SWITCHES_NODES_MAX, "nodes", err);
    return count_members(&builder->children, dt_hostlist_count(own->members), DT_SWITCHES_CHILDREN_MAX,
                         "switches below switches", err);
}

static int take_records(struct builder *builder, struct dtrain_error *err)
{
    const struct dt_switches_plan *plan = builder->plan;

    for (builder->at = 0; builder->at < plan->count; builder->at++)
        if (take_record(builder, &plan->records[builder->at], err) != 0)
            return -1;
    return 0;
}

static int index_names(struct builder *builder, struct dtrain_error *err)
{
    struct dt_switches *made = builder->made;
    char shown[DT_PARSE_SHOWN_MAX + 4];

    builder->names = build_alloc(made->count, sizeof(*builder->names), "switches", err);
    if (builder->names == NULL)
        return -1;
    for (uint32_t i = 0; i < made->count; i++)
        builder->names[i] = (struct dt_switches_entry){dt_hostlist_name(made->all[i].name, 0), i};
    qsort(builder->names, made->count, sizeof(*builder->names), compare_entries);
    for (uint32_t i = 1; i < made->count; i++) {
        builder->at = builder->names[i].index;
        if (strcmp(builder->names[i - 1].name, builder->names[i].name) == 0)
            return dt_error_set(err, "switch %s is given again: expected one line for each",
                                shown_name(shown, builder, builder->at));
    }
    return 0;
}

static int index_nodes(struct dt_switches *made, struct dtrain_error *err)
{
    uint32_t used = 0, kept = 0;

    made->nodes = build_alloc(made->node_count, sizeof(*made->nodes), "the nodes of switches", err);
    if (made->nodes == NULL)
        return -1;
    for (uint32_t i = 0; i < made->count; i++)
        for (uint32_t k = 0; made->all[i].level == 1 && k < dt_hostlist_count(made->all[i].members); k++)
            made->nodes[used++] = (struct dt_switches_entry){dt_hostlist_name(made->all[i].members, k), i};
    qsort(made->nodes, used, sizeof(*made->nodes), compare_entries);
    for (uint32_t i = 0; i < used; i++)
        if (kept == 0 || strcmp(made->nodes[kept - 1].name, made->nodes[i].name) != 0)
            made->nodes[kept++] = made->nodes[i];
    made->node_count = kept;
    return 0;
}

/* ---- The tree ---- */

static int refuse_child(struct builder *builder, uint32_t i, const char *name, const char *wrong,
                        struct dtrain_error *err)
{
    char own[DT_PARSE_SHOWN_MAX + 4], child[DT_PARSE_SHOWN_MAX + 4];

    builder->at = i;
    return dt_error_set(err, "switch %s has %s below it, which %s", shown_name(own, builder, i),
                        dt_parse_shown(child, name), wrong);
}

static int refuse_depth(struct builder *builder, uint32_t i, struct dtrain_error *err)
{
    char own[DT_PARSE_SHOWN_MAX + 4];

    builder->at = i;
    return dt_error_set(err, "switch %s is in a tree of more than %u tiers: expected at most that many",
                        shown_name(own, builder, i), DT_SWITCHES_LEVELS_MAX);
}

/* Finds the parents and levels of all that is below. */
static int settle(struct builder *builder, uint32_t i, uint32_t depth, struct dtrain_error *err)
{
    struct dt_switch *own = &builder->made->all[i];
    uint32_t level = 0;

    if (own->level != 0)
        return 0;
    own->level = BEING_SETTLED;
    for (uint32_t k = 0; k < dt_hostlist_count(own->members); k++) {
        const char *name = dt_hostlist_name(own->members, k);
        uint32_t child = dt_switches_find(builder->names, builder->made->count, name);
        struct dt_switch *below = &builder->made->all[child != DT_SWITCHES_NONE ? child : i];

        if (child == DT_SWITCHES_NONE)
            return refuse_child(builder, i, name, "is no switch: give it a line, or leave it out", err);
        if (below->level == BEING_SETTLED)
            return refuse_child(builder, i, name, "is above it, too: expected a tree", err);
        if (depth == DT_SWITCHES_LEVELS_MAX)
            return refuse_depth(builder, i, err);
        if (settle(builder, child, depth + 1, err) != 0)
            return -1;
        if (below->parent == DT_SWITCHES_NONE)
            below->parent = i;
        if (below->level > level)
            level = below->level;
    }
    if (level == DT_SWITCHES_LEVELS_MAX)
        return refuse_depth(builder, i, err);
    own->level = level + 1;
    return 0;
}

static int settle_all(struct builder *builder, struct dtrain_error *err)
{
    struct dt_switches *made = builder->made;

    for (uint32_t i = 0; i < made->count; i++) {
        if (settle(builder, i, 1, err) != 0)
            return -1;
        if (made->all[i].level > made->levels)
            made->levels = made->all[i].level;
    }
    return 0;
}

/* Room for them was allocated with the records. */
static void add_tiers(struct dt_switches *made, const struct dt_switches_plan *plan)
{
    uint32_t first = 0, n = made->count;

    for (uint32_t tier = 0; tier < plan->fan_count; tier++) {
        for (uint32_t i = 0; i < n; i++) {
            struct dt_switch *below = &made->all[first + i];

            below->parent = first + n + i / plan->fans[tier];
            made->all[below->parent].parent = DT_SWITCHES_NONE;
            made->all[below->parent].level = below->level + 1;
        }
        first += n;
        n = (n + plan->fans[tier] - 1) / plan->fans[tier];
        made->count = first + n;
        made->levels++;
    }
}

static int build(struct builder *builder, struct dtrain_error *err)
{
    const struct dt_switches_plan *plan = builder->plan;
    struct dt_switches *made = builder->made;

    if (plan->count > DT_SWITCHES_MAX)
        return dt_error_set(err, "%u switches are too many: expected at most %u", plan->count,
                            DT_SWITCHES_MAX);
    made->all = build_alloc(2 * (size_t)plan->count + plan->fan_count, sizeof(*made->all), "switches", err);
    if (made->all == NULL)
        return -1;
    if (take_records(builder, err) != 0)
        return -1;
    builder->at = 0;
    if (index_names(builder, err) != 0 || settle_all(builder, err) != 0 || index_nodes(made, err) != 0)
        return -1;
    add_tiers(made, plan);
    return 0;
}

int dt_switches_build(struct dt_switches **switches, const struct dt_switches_plan *plan, uint32_t *at,
                      struct dtrain_error *err)
{
    struct builder builder = {.plan = plan};
    int rc;

    *switches = NULL;
    builder.made = build_alloc(1, sizeof(*builder.made), "switches", err);
    if (builder.made == NULL)
        return -1;
    rc = build(&builder, err);
    *at = builder.at;
    free(builder.names);
    if (rc == 0)
        *switches = builder.made;
    else
        dt_switches_destroy(builder.made);
    return rc;
}
