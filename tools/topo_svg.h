/* topo_svg.h - a node as a drawing: what is where, how it is linked, and which task sits where. */
#ifndef DT_TOOLS_TOPO_SVG_H
#define DT_TOOLS_TOPO_SVG_H

#include "tools/svg.h"
#include "tools/topo_view.h"

int dt_topo_svg_print(struct dt_out *out, const struct dt_topo_view *view, struct dtrain_error *err);

/* A colour of a tensor-parallel group; neighbours differ. */
const char *dt_topo_svg_group_colour(uint32_t group);

/* What a task gets, in a box: "task 3, tp group 0", its CPUs, its NIC. */
void dt_topo_svg_task(struct dt_out *out, struct dt_box box, const struct dt_topo_view *view, uint32_t task);

#endif
