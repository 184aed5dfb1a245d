/* plan_table.h - who is where: a line for each node, or for each part of it that is a box of the grid. */
#ifndef DT_CORE_PLAN_TABLE_H
#define DT_CORE_PLAN_TABLE_H

#include "out.h"
#include "plan.h"

/* "tp", ..., or "etp" and "edp" for those of the expert grid. */
const char *dt_axis_title(enum dt_grid grid, enum dt_axis axis);

void dt_plan_table_print(struct dt_out *out, const struct dt_plan *plan, enum dt_grid grid);

#endif
