/*
 * topo_device.h - the PCI devices of an hwloc topology that a topology is made
 * from, and where each sits. Used in the child of topo_child.h only.
 */
#ifndef DT_TOPO_TOPO_DEVICE_H
#define DT_TOPO_TOPO_DEVICE_H

#include "topo.h"

/* The PCI device behind each entry of topo->gpus and topo->nics, by the same index. */
struct dt_topo_devices {
    hwloc_topology_t hwloc;
    hwloc_obj_t gpus[DT_TOPO_GPUS_MAX];
    hwloc_obj_t nics[DT_TOPO_NICS_MAX];
};

/* "0000:c4:00.0" */
void dt_topo_device_pci(char pci[DT_TOPO_PCI_MAX], hwloc_obj_t device);

/* NUMA node and socket (os indices, -1: not known) and the CPUs beside a device (empty: not known). */
void dt_topo_device_place(int *numa, int *socket, hwloc_bitmap_t cpus, hwloc_topology_t hwloc,
                          hwloc_obj_t device);

/* Memory that belongs to a device, not to CPUs. */
bool dt_topo_device_owns_memory(hwloc_obj_t numa);

/* The PCI device above an os device, or the device itself; NULL: it has none. */
hwloc_obj_t dt_topo_device_above(hwloc_obj_t device);

#endif
