/*
 * devices.h - which GPU of the topology each entry of a list of Slurm's is. Pure.
 *
 * Slurm's numbers are those of its GRES files, /dev/nvidiaN, counted from 0 again
 * where a cgroup shows a step its own devices only; SLURM_STEP_GPUS keeps the
 * node's. CUDA's numbers follow the PCI addresses of what a process can see, once
 * CUDA_DEVICE_ORDER says so. Without the driver's word on it, file N is taken for
 * the Nth GPU by PCI address.
 */
#ifndef DT_PLUGIN_DEVICES_H
#define DT_PLUGIN_DEVICES_H

#include "driver.h"
#include "topo/visible.h"

struct dt_devices_source {
    const struct dt_topo *topo;
    const struct dt_driver *driver;
    enum dt_vendor vendor;     /* whose list it is */
    const char *variable;      /* for messages */
    const struct dt_visible *step; /* SLURM_STEP_GPUS; none: not known */
};

/*
 * gpus[i] becomes the index into topo->gpus of entry i. Entries that are numbers
 * are put into PCI order and become the vendor's library's numbers. Refuses what
 * is not in the topology, and entries whose GPU cannot be told, such as MIG's.
 */
int dt_devices_resolve(uint32_t gpus[DT_VISIBLE_ENTRIES_MAX], struct dt_visible *visible,
                       const struct dt_devices_source *source, struct dtrain_error *err);

/* How many GPUs of this vendor the topology has. */
uint32_t dt_devices_count(const struct dt_topo *topo, enum dt_vendor vendor);

#endif
