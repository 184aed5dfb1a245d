/* topo_nic.h - the NICs of an hwloc topology, and which of them carry the job's data. */
#ifndef DT_TOPO_TOPO_NIC_H
#define DT_TOPO_TOPO_NIC_H

#include "topo_device.h"

/* Fills topo->nics and devices->nics. Used in the child of topo_child.h only. */
int dt_topo_nic_find(struct dt_topo *topo, struct dt_topo_devices *devices, struct dtrain_error *err);

/*
 * Sets is_used of every NIC from kinds and nic_path: the best fabric that the
 * node has, without plain Ethernet; where every GPU has a NIC at its own PCIe
 * switch, the others are for storage. For any source of a topology.
 */
void dt_topo_nic_choose(struct dt_topo *topo);

#endif
