#include <limits.h>

#include "world.h"

#define DENSE_AXES ((unsigned)(DTRAIN_TP | DTRAIN_CP | DTRAIN_DP | DTRAIN_PP))
#define EXPERT_AXES ((unsigned)(DTRAIN_TP | DTRAIN_EP | DTRAIN_DP | DTRAIN_PP))

_Static_assert(DTRAIN_TP == 1 << DT_TP && DTRAIN_CP == 1 << DT_CP && DTRAIN_EP == 1 << DT_EP &&
                   DTRAIN_DP == 1 << DT_DP && DTRAIN_PP == 1 << DT_PP,
               "a public axis is its index' bit");

static enum dt_grid grid_of(unsigned axes)
{
    return (axes & DTRAIN_EXPERT) != 0 ? DT_EXPERT : DT_DENSE;
}

static unsigned axes_of(unsigned axes)
{
    return axes & ~(unsigned)DTRAIN_EXPERT;
}

static int check_axes(unsigned axes, struct dtrain_error *err)
{
    unsigned known = grid_of(axes) == DT_EXPERT ? EXPERT_AXES : DENSE_AXES;

    if (axes_of(axes) == 0)
        return dt_error_set(err, "the set of axes 0x%x is empty: expected DTRAIN_TP and its like", axes);
    if ((axes_of(axes) & ~(EXPERT_AXES | DENSE_AXES)) != 0)
        return dt_error_set(err, "the set of axes 0x%x has bits that name no axis", axes);
    if (axes & DTRAIN_EP & ~known)
        return dt_error_set(err, "the set of axes 0x%x has DTRAIN_EP: it needs DTRAIN_EXPERT", axes);
    if (axes & DTRAIN_CP & ~known)
        return dt_error_set(err, "the set of axes 0x%x has DTRAIN_CP, which DTRAIN_EXPERT's grid has not",
                            axes);
    return 0;
}

int dtrain_group_get(const struct dtrain_world *world, unsigned axes, struct dtrain_group *group,
                     struct dtrain_error *err)
{
    const struct dt_layout *layout = dt_plan_layout(world->plan);
    enum dt_grid grid = grid_of(axes);
    unsigned set = axes_of(axes);

    if (check_axes(axes, err) < 0)
        return -1;
    group->size = (int)dt_group_size(layout, grid, set);
    group->rank = (int)dt_group_rank(layout, grid, set, world->rank);
    group->index = (int)dt_group_index(layout, grid, set, world->rank);
    group->count = (int)dt_group_count(layout, grid, set);
    group->axes = axes;
    return 0;
}

int dtrain_group_member(const struct dtrain_world *world, const struct dtrain_group *group, int i)
{
    const struct dt_layout *layout = dt_plan_layout(world->plan);
    enum dt_grid grid = grid_of(group->axes);
    unsigned set = axes_of(group->axes);

    if (check_axes(group->axes, NULL) < 0 || i < 0 || (uint32_t)i >= dt_group_size(layout, grid, set) ||
        group->index < 0 || (uint32_t)group->index >= dt_group_count(layout, grid, set))
        return -1;
    return (int)dt_group_member(layout, grid, set, (uint32_t)group->index, (uint32_t)i);
}

int dtrain_coord(const struct dtrain_world *world, unsigned axis)
{
    unsigned set = axes_of(axis);

    if (check_axes(axis, NULL) < 0 || (set & (set - 1)) != 0)
        return -1;
    return (int)dt_layout_coord(dt_plan_layout(world->plan), grid_of(axis), (enum dt_axis)__builtin_ctz(set),
                                world->rank);
}
