/* topo_gpu.h - the GPUs among an hwloc topology's PCI devices. Used in the child of topo_child.h only. */
#ifndef DT_TOPO_TOPO_GPU_H
#define DT_TOPO_TOPO_GPU_H

#include "topo_device.h"

/* Fills topo->gpus by PCI id and part, and devices->gpus. */
int dt_topo_gpu_find(struct dt_topo *topo, struct dt_topo_devices *devices, struct dtrain_error *err);

#endif
