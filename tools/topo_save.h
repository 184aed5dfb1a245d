/* topo_save.h - this machine's topology as a file that the plugin trusts. */
#ifndef DT_TOOLS_TOPO_SAVE_H
#define DT_TOOLS_TOPO_SAVE_H

#include "core/out.h"

/*
 * Writes the hwloc XML of this machine: all of it or nothing, mode 0644. Makes
 * the last folder of the path where it is missing. Says what was saved.
 */
int dt_topo_save(struct dt_out *out, const char *path, struct dtrain_error *err);

#endif
