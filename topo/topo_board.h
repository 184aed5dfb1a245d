/*
 * topo_board.h - links that follow from which GPUs a node has, for where their
 * driver's library was not asked: modules are sold on boards whose wiring is
 * published. Used in the child of topo_child.h only.
 */
#ifndef DT_TOPO_TOPO_BOARD_H
#define DT_TOPO_TOPO_BOARD_H

#include "topo_device.h"

/* GPUs of one function or of one module. */
void dt_topo_board_link_packages(struct dt_topo *topo, const struct dt_topo_devices *devices);

/* Whether it is a board whose links are all known. */
bool dt_topo_board_link(struct dt_topo *topo, const struct dt_topo_devices *devices);

/* Links that a GPU of this PCI device id has at most; 0: not known. */
unsigned dt_topo_board_links_max(unsigned device_id);

#endif
