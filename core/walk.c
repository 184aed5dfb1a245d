#include "walk.h"

struct dt_walk dt_walk_start(const struct dt_layout *layout, enum dt_grid grid, unsigned axes)
{
    struct dt_walk walk = {0};

    for (unsigned i = 0; i < DT_AXIS_COUNT; i++) {
        unsigned axis = layout->order[i];

        if ((axes & 1u << axis) == 0 || layout->size[grid][axis] == 1)
            continue;
        walk.size[walk.n] = layout->size[grid][axis];
        walk.stride[walk.n] = layout->stride[grid][axis];
        walk.n++;
    }
    return walk;
}

bool dt_walk_step(struct dt_walk *walk)
{
    for (unsigned i = 0; i < walk->n; i++) {
        walk->value += walk->stride[i];
        if (++walk->at[i] < walk->size[i])
            return true;
        walk->value -= walk->size[i] * walk->stride[i];
        walk->at[i] = 0;
    }
    return false;
}
