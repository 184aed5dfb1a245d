/* topo_json.h - a node for programs. */
#ifndef DT_TOOLS_TOPO_JSON_H
#define DT_TOOLS_TOPO_JSON_H

#include "tools/topo_view.h"

/*
 * {"source", "gpus": [{"index", "pci", "vendor", "name", "part", "package", "numa", "socket", "cpus",
 * "nics": [nearest], "links": [{"peer", "pci", "kind", "count"}]}], "nics", "numas", "cpus", "cores",
 * "tasks": [...]}. Indices that are not known are null, counts that are not known are 0.
 */
void dt_topo_json_print(struct dt_out *out, const struct dt_topo_view *view);

/* [{"task", "rank", "tp_group", "gpu", "pci", "cpus", "numa" of memory, "nic", "reason"}, ...] */
void dt_topo_json_tasks(struct dt_out *out, const struct dt_topo_view *view);

#endif
