/* topo_path.h - how the devices of an hwloc topology are linked. Used in the child of topo_child.h only. */
#ifndef DT_TOPO_TOPO_PATH_H
#define DT_TOPO_TOPO_PATH_H

#include "topo_device.h"

/* Fills topo->gpu_path and topo->nic_path from the PCI tree, then from what hwloc knows of links. */
void dt_topo_path_find(struct dt_topo *topo, const struct dt_topo_devices *devices);

/* Both ways. */
void dt_topo_path_set(struct dt_topo *topo, uint32_t a, uint32_t b, enum dt_path path, unsigned count);

#endif
