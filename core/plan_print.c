#include "plan_print.h"

#include "plan_table.h"
#include "walk.h"

/* ---- JSON ---- */

struct coordinate {
    const char *key;
    enum dt_grid grid;
    enum dt_axis axis;
};

static const struct coordinate coordinates[] = {
    {"tp", DT_DENSE, DT_TP}, {"cp", DT_DENSE, DT_CP}, {"ep", DT_EXPERT, DT_EP},
    {"dp", DT_DENSE, DT_DP}, {"pp", DT_DENSE, DT_PP}, {"etp", DT_EXPERT, DT_TP},
    {"edp", DT_EXPERT, DT_DP},
};

#define COORDINATE_COUNT (sizeof(coordinates) / sizeof(coordinates[0]))

static void json_axes(struct dt_out *out, const struct dt_layout *layout)
{
    dt_out_text(out, "\"axes\": {");
    for (size_t i = 0; i < COORDINATE_COUNT; i++)
        dt_out_printf(out, "%s\"%s\": %u", i > 0 ? ", " : "", coordinates[i].key,
                      layout->size[coordinates[i].grid][coordinates[i].axis]);
    dt_out_text(out, "}");
}

void dt_plan_print_json_rank(struct dt_out *out, const struct dt_plan *plan, uint32_t node,
                             uint32_t local)
{
    const struct dt_layout *layout = dt_plan_layout(plan);
    uint32_t rank = dt_plan_node_first(plan, node) + local;

    dt_out_text(out, "{\"rank\": ");
    dt_out_u64(out, rank);
    dt_out_text(out, ", \"procid\": ");
    dt_out_u64(out, dt_plan_rank_procid(plan, rank));
    dt_out_text(out, ", \"node\": ");
    dt_out_json(out, dt_plan_node_name(plan, node));
    dt_out_text(out, ", \"local_rank\": ");
    dt_out_u64(out, local);
    for (size_t i = 0; i < COORDINATE_COUNT; i++) {
        const struct coordinate *c = &coordinates[i];

        dt_out_text(out, ", \"");
        dt_out_text(out, c->key);
        dt_out_text(out, "\": ");
        dt_out_u64(out, dt_layout_coord(layout, c->grid, c->axis, rank));
    }
}

static void json_ranks(struct dt_out *out, const struct dt_plan *plan)
{
    const char *separator = "\"ranks\": [\n ";

    for (uint32_t node = 0; node < dt_plan_node_count(plan); node++) {
        for (uint32_t local = 0; local < dt_plan_node_tasks(plan, node); local++) {
            dt_out_text(out, separator);
            dt_plan_print_json_rank(out, plan, node, local);
            separator = "},\n ";
        }
    }
    dt_out_text(out, "}]");
}

static void json_group(struct dt_out *out, struct dt_walk *members, uint32_t first)
{
    const char *separator = "[";

    do {
        dt_out_text(out, separator);
        dt_out_u64(out, first + members->value);
        separator = ", ";
    } while (dt_walk_step(members));
    dt_out_text(out, "]");
}

static void json_groups_of(struct dt_out *out, const struct dt_layout *layout, enum dt_grid grid,
                           unsigned axes)
{
    struct dt_walk firsts = dt_walk_start(layout, grid, ~axes);
    struct dt_walk members = dt_walk_start(layout, grid, axes);
    const char *separator = "[";

    do {
        dt_out_text(out, separator);
        json_group(out, &members, firsts.value);
        separator = ", ";
    } while (dt_walk_step(&firsts));
    dt_out_text(out, "]");
}

static void json_groups(struct dt_out *out, const struct dt_layout *layout, enum dt_grid grid,
                        const struct dt_plan_print_groups *groups)
{
    dt_out_text(out, grid == DT_DENSE ? "\"groups\": {" : "\"expert_groups\": {");
    for (uint32_t i = 0; i < groups->n[grid]; i++) {
        dt_out_text(out, i > 0 ? ",\n " : "\n ");
        dt_out_json(out, groups->names[grid][i]);
        dt_out_text(out, ": ");
        json_groups_of(out, layout, grid, groups->axes[grid][i]);
    }
    dt_out_text(out, "}");
}

void dt_plan_print_json_open(struct dt_out *out, const struct dt_plan *plan,
                             const struct dt_plan_print_groups *groups)
{
    const struct dt_layout *layout = dt_plan_layout(plan);
    char order[DT_ORDER_MAX];

    dt_out_printf(out, "{\"world\": %u,\n", dt_plan_world(plan));
    json_axes(out, layout);
    dt_out_printf(out, ",\n\"order\": \"%s\",\n", dt_layout_order_text(layout, order));
    json_ranks(out, plan);
    dt_out_text(out, ",\n");
    json_groups(out, layout, DT_DENSE, groups);
    dt_out_text(out, ",\n");
    json_groups(out, layout, DT_EXPERT, groups);
}

void dt_plan_print_json(struct dt_out *out, const struct dt_plan *plan,
                        const struct dt_plan_print_groups *groups)
{
    dt_plan_print_json_open(out, plan, groups);
    dt_out_text(out, "}\n");
}

/* ---- Text ---- */

/* How the groups of an axis lie on the nodes: over all groups, nodes of one and its members on one. */
struct reach {
    uint32_t nodes_min, nodes_max;
    uint32_t members_min, members_max;
};

static void reach_add_node(struct reach *reach, uint32_t members)
{
    if (members < reach->members_min)
        reach->members_min = members;
    if (members > reach->members_max)
        reach->members_max = members;
}

/* Members ascend and a node's ranks are neighbours: a group meets each of its nodes once. */
static void reach_add_group(struct reach *reach, const struct dt_plan *plan, uint32_t first,
                            struct dt_walk *members)
{
    uint32_t nodes = 0, here = 0, end = 0;

    do {
        uint32_t rank = first + members->value;

        if (nodes == 0 || rank >= end) {
            uint32_t node = dt_plan_rank_node(plan, rank);

            if (nodes++ > 0)
                reach_add_node(reach, here);
            here = 0;
            end = dt_plan_node_first(plan, node) + dt_plan_node_tasks(plan, node);
        }
        here++;
    } while (dt_walk_step(members));
    reach_add_node(reach, here);
    if (nodes < reach->nodes_min)
        reach->nodes_min = nodes;
    if (nodes > reach->nodes_max)
        reach->nodes_max = nodes;
}

static struct reach reach_of(const struct dt_plan *plan, enum dt_grid grid, enum dt_axis axis)
{
    const struct dt_layout *layout = dt_plan_layout(plan);
    struct reach reach = {UINT32_MAX, 0, UINT32_MAX, 0};
    struct dt_walk firsts = dt_walk_start(layout, grid, ~(1u << axis));
    struct dt_walk members = dt_walk_start(layout, grid, 1u << axis);

    do
        reach_add_group(&reach, plan, firsts.value, &members);
    while (dt_walk_step(&firsts));
    return reach;
}

static void text_reach(struct dt_out *out, const struct reach *reach)
{
    if (reach->nodes_max == 1) {
        dt_out_text(out, "inside a node");
        return;
    }
    if (reach->nodes_min < reach->nodes_max)
        dt_out_printf(out, "on %u to %u nodes", reach->nodes_min, reach->nodes_max);
    else
        dt_out_printf(out, "across %u nodes", reach->nodes_max);
    if (reach->members_max == 1)
        return;
    dt_out_printf(out, ", %u", reach->members_min);
    if (reach->members_min < reach->members_max)
        dt_out_printf(out, " to %u", reach->members_max);
    dt_out_text(out, " members on each");
}

static void text_axes(struct dt_out *out, const struct dt_plan *plan, enum dt_grid grid)
{
    const struct dt_layout *layout = dt_plan_layout(plan);

    for (unsigned i = 0; i < DT_AXIS_COUNT; i++) {
        enum dt_axis axis = layout->order[i];
        uint32_t size = layout->size[grid][axis];
        uint32_t groups = layout->world / size;
        struct reach reach;

        if (size == 1)
            continue;
        reach = reach_of(plan, grid, axis);
        dt_out_printf(out, "  %-3s %-6u ", dt_axis_title(grid, axis), size);
        text_reach(out, &reach);
        dt_out_printf(out, " (%u group%s)\n", groups, groups == 1 ? "" : "s");
    }
}

static void text_title(struct dt_out *out, const struct dt_plan *plan)
{
    uint32_t world = dt_plan_world(plan), nodes = dt_plan_node_count(plan);
    char order[DT_ORDER_MAX];

    dt_out_printf(out, "%u rank%s on %u node%s, order %s (the first varies fastest)\n", world,
                  world == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
                  dt_layout_order_text(dt_plan_layout(plan), order));
    if (dt_plan_master_addr(plan)[0] != '\0')
        dt_out_printf(out, "MASTER_ADDR=%s MASTER_PORT=%u\n", dt_plan_master_addr(plan),
                      dt_plan_master_port(plan));
}

bool dt_plan_print_has_experts(const struct dt_plan *plan)
{
    const struct dt_layout *layout = dt_plan_layout(plan);

    return layout->size[DT_EXPERT][DT_EP] > 1 ||
           layout->size[DT_EXPERT][DT_TP] != layout->size[DT_DENSE][DT_TP];
}

void dt_plan_print_text(struct dt_out *out, const struct dt_plan *plan)
{
    text_title(out, plan);
    text_axes(out, plan, DT_DENSE);
    dt_out_text(out, "\n");
    dt_plan_table_print(out, plan, DT_DENSE);
    if (!dt_plan_print_has_experts(plan))
        return;
    dt_out_text(out, "\nThe grid of the experts, over the same ranks\n");
    text_axes(out, plan, DT_EXPERT);
    dt_out_text(out, "\n");
    dt_plan_table_print(out, plan, DT_EXPERT);
}
