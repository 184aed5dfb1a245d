/*
 * plan_place.h - the tasks of a whole plan on nodes of one kind: the binder's
 * answer for each node. Nodes whose tasks are grouped alike share one.
 */
#ifndef DT_TOOLS_PLAN_PLACE_H
#define DT_TOOLS_PLAN_PLACE_H

#include "tools/topo_view.h"

#define DT_PLAN_SHAPES_MAX 256u /* kinds of nodes, by how their tasks are grouped */

struct dt_plan_place;

/* Borrows both. The caller frees with dt_plan_place_destroy(). */
int dt_plan_place_create(struct dt_plan_place **place, const struct dt_topo *topo, const struct dt_plan *plan,
                         struct dtrain_error *err);
void dt_plan_place_destroy(struct dt_plan_place *place);

const struct dt_topo *dt_plan_place_topo(const struct dt_plan_place *place);
const struct dt_plan *dt_plan_place_plan(const struct dt_plan_place *place);
const struct dt_binding *dt_plan_place_binding(const struct dt_plan_place *place, uint32_t node);

/* Tables of GPU, cores and NIC of each task, one for all nodes that are alike. */
int dt_plan_place_print_text(struct dt_out *out, const struct dt_plan_place *place, struct dtrain_error *err);

/*
 * [{"nodes": ["n1", ...], "first_ranks": [0, ...], "tasks": [...]}, ...]: tasks
 * as dt_topo_json_tasks() prints those of the first of the nodes.
 */
void dt_plan_place_print_json(struct dt_out *out, const struct dt_plan_place *place);

#endif
