/*
 * topo_link.h - links between GPUs from hwloc's distances: NVLinkBandwidth,
 * XGMIBandwidth, XeLinkBandwidth. Used in the child of topo_child.h only.
 */
#ifndef DT_TOPO_TOPO_LINK_H
#define DT_TOPO_TOPO_LINK_H

#include "topo_device.h"

/* Whether the driver was asked about NVLink: then the answer is all that there is. */
bool dt_topo_link_nvlink(struct dt_topo *topo, const struct dt_topo_devices *devices);

/* xGMI and Xe Link, between GPUs that no link joins yet. */
void dt_topo_link_others(struct dt_topo *topo, const struct dt_topo_devices *devices);

#endif
