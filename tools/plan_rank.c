#include "tools/plan_rank.h"

#define MEMBERS_SHOWN_MAX 8

/* One rank's group for a set of axes. */
struct group {
    const struct dt_layout *layout;
    enum dt_grid grid;
    unsigned axes;
    uint32_t index, count, rank, size;
};

static struct group group_of(const struct dt_layout *layout, enum dt_grid grid, unsigned axes,
                             uint32_t rank)
{
    return (struct group){
        .layout = layout,
        .grid = grid,
        .axes = axes,
        .index = dt_group_index(layout, grid, axes, rank),
        .count = dt_group_count(layout, grid, axes),
        .rank = dt_group_rank(layout, grid, axes, rank),
        .size = dt_group_size(layout, grid, axes),
    };
}

static uint32_t member(const struct group *group, uint32_t i)
{
    return dt_group_member(group->layout, group->grid, group->axes, group->index, i);
}

static void print_members(struct dt_out *out, const struct group *group, uint32_t shown,
                          const char *separator)
{
    for (uint32_t i = 0; i < shown; i++) {
        dt_out_text(out, i > 0 ? separator : "");
        dt_out_u64(out, member(group, i));
    }
}

static void text_group(struct dt_out *out, const char *name, const struct group *group)
{
    uint32_t shown = group->size <= MEMBERS_SHOWN_MAX ? group->size : MEMBERS_SHOWN_MAX - 2;

    dt_out_printf(out, "  %-9s %u of %u in group %u of %u: ranks ", name, group->rank, group->size,
                  group->index, group->count);
    print_members(out, group, shown, ",");
    if (shown < group->size)
        dt_out_printf(out, ",...,%u", member(group, group->size - 1));
    dt_out_text(out, "\n");
}

static void text_place(struct dt_out *out, const struct dt_plan *plan, uint32_t rank)
{
    uint32_t node = dt_plan_rank_node(plan, rank);

    dt_out_printf(out, "rank %u of %u\n", rank, dt_plan_world(plan));
    dt_out_printf(out, "  %-9s %s, %u of %u\n", "node", dt_plan_node_name(plan, node), node,
                  dt_plan_node_count(plan));
    dt_out_printf(out, "  %-9s %u of %u\n", "local", dt_plan_rank_local(plan, rank),
                  dt_plan_node_tasks(plan, node));
    dt_out_printf(out, "  %-9s %u in SLURM_PROCID\n", "task", dt_plan_rank_procid(plan, rank));
}

void dt_plan_rank_print_text(struct dt_out *out, const struct dt_plan *plan,
                             const struct dt_plan_print_groups *groups, uint32_t rank)
{
    const struct dt_layout *layout = dt_plan_layout(plan);

    text_place(out, plan, rank);
    for (unsigned grid = 0; grid < DT_GRID_COUNT; grid++) {
        if (grid == DT_EXPERT && groups->n[grid] > 0)
            dt_out_text(out, "experts\n");
        for (uint32_t i = 0; i < groups->n[grid]; i++) {
            struct group group = group_of(layout, (enum dt_grid)grid, groups->axes[grid][i], rank);

            text_group(out, groups->names[grid][i], &group);
        }
    }
}

static void json_group(struct dt_out *out, const char *name, const struct group *group)
{
    dt_out_json(out, name);
    dt_out_printf(out, ": {\"index\": %u, \"count\": %u, \"rank\": %u, \"size\": %u, \"members\": [",
                  group->index, group->count, group->rank, group->size);
    print_members(out, group, group->size, ", ");
    dt_out_text(out, "]}");
}

void dt_plan_rank_print_json(struct dt_out *out, const struct dt_plan *plan,
                             const struct dt_plan_print_groups *groups, uint32_t rank)
{
    const struct dt_layout *layout = dt_plan_layout(plan);

    dt_plan_print_json_rank(out, plan, dt_plan_rank_node(plan, rank), dt_plan_rank_local(plan, rank));
    for (unsigned grid = 0; grid < DT_GRID_COUNT; grid++) {
        dt_out_text(out, grid == DT_DENSE ? ",\n\"groups\": {" : ",\n\"expert_groups\": {");
        for (uint32_t i = 0; i < groups->n[grid]; i++) {
            struct group group = group_of(layout, (enum dt_grid)grid, groups->axes[grid][i], rank);

            dt_out_text(out, i > 0 ? ",\n " : "\n ");
            json_group(out, groups->names[grid][i], &group);
        }
        dt_out_text(out, "}");
    }
    dt_out_text(out, "}\n");
}
