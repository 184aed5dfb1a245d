/* topo_text.h - a node for people: its devices, their links, and the tasks. At most 100 columns. */
#ifndef DT_TOOLS_TOPO_TEXT_H
#define DT_TOOLS_TOPO_TEXT_H

#include "tools/topo_view.h"

int dt_topo_text_print(struct dt_out *out, const struct dt_topo_view *view, struct dtrain_error *err);

/* The tasks alone: what each gets, and why. */
int dt_topo_text_tasks(struct dt_out *out, const struct dt_topo_view *view, struct dtrain_error *err);

#endif
