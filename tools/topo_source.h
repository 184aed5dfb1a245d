/* topo_source.h - the topology that the options name. */
#ifndef DT_TOOLS_TOPO_SOURCE_H
#define DT_TOOLS_TOPO_SOURCE_H

#include "tools/plan_options.h"
#include "topo/topo.h"

/* This machine when nothing is named. The caller frees with dt_topo_destroy(). */
int dt_topo_source_load(struct dt_topo **topo, const struct dt_plan_source *source, struct dtrain_error *err);

/* The machines and the formats of files, a line each. */
void dt_topo_source_print_known(struct dt_out *out);

#endif
