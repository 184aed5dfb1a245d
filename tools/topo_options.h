/* topo_options.h - the options of `dtrain topo`: what to look at, how to show it, and the tasks to bind. */
#ifndef DT_TOOLS_TOPO_OPTIONS_H
#define DT_TOOLS_TOPO_OPTIONS_H

#include "tools/plan_options.h"

const struct dt_plan_option *dt_topo_options_table(size_t *count);

/* Says on stderr what is wrong. */
enum dt_exit dt_topo_options_parse(struct dt_plan_options *options, int argc, char **argv);

void dt_topo_options_usage(struct dt_out *out);

#endif
