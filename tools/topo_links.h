/* topo_links.h - the links between GPUs in a drawing: lines below them, each with how many it stands for. */
#ifndef DT_TOOLS_TOPO_LINKS_H
#define DT_TOOLS_TOPO_LINKS_H

#include "tools/topo_layout.h"

/* Draws from y on. Returns where it ended. */
int dt_topo_links_draw(struct dt_out *out, const struct dt_topo *topo, const struct dt_topo_layout *layout,
                       int y, int gpu_bottom);

/* "#rrggbb" of a kind of link. */
const char *dt_topo_links_colour(enum dt_path path);

#endif
