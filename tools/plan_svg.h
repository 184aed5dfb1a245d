/* plan_svg.h - a plan as a drawing: each node its GPUs, each with its rank, coloured by tp group. */
#ifndef DT_TOOLS_PLAN_SVG_H
#define DT_TOOLS_PLAN_SVG_H

#include "tools/plan_cost.h"

#define DT_PLAN_SVG_NODES_MAX 64u /* nodes that are drawn; the others are counted */

void dt_plan_svg_print(struct dt_out *out, const struct dt_plan_place *place,
                       const struct dt_plan_cost *cost);

#endif
