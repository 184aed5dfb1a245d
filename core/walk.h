/*
 * walk.h - counts through the coordinates of a set of axes without a division,
 * for listings of all groups of a large world.
 */
#ifndef DT_CORE_WALK_H
#define DT_CORE_WALK_H

#include <stdbool.h>

#include "layout.h"

struct dt_walk {
    uint32_t value; /* rank distance from the start */
    unsigned n;     /* axes of size > 1, fastest first */
    uint32_t size[DT_AXIS_COUNT], stride[DT_AXIS_COUNT], at[DT_AXIS_COUNT];
};

/* Bits of axes that the grid does not have count for nothing. */
struct dt_walk dt_walk_start(const struct dt_layout *layout, enum dt_grid grid, unsigned axes);

/* One step; false when that leads back to the start. */
bool dt_walk_step(struct dt_walk *walk);

#endif
