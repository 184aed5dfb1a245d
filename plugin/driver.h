/*
 * driver.h - what the NVIDIA kernel driver says of its GPUs in /proc: no vendor
 * library is needed for it. Slurm numbers GPUs by their device files, CUDA by
 * their PCI addresses; this leads from one to the other.
 */
#ifndef DT_PLUGIN_DRIVER_H
#define DT_PLUGIN_DRIVER_H

#include "topo/topo.h"

#define DT_DRIVER_GPUS "/proc/driver/nvidia/gpus"
#define DT_DRIVER_INFORMATION_MAX 4096 /* bytes read of a GPU's file */
#define DT_DRIVER_UUID_MAX 64

struct dt_driver_gpu {
    char pci[DT_TOPO_PCI_MAX];
    char uuid[DT_DRIVER_UUID_MAX]; /* "GPU-8f2a...", "" when not known */
    uint32_t minor;                /* N of /dev/nvidiaN */
};

struct dt_driver {
    uint32_t count; /* 0: no such driver here */
    struct dt_driver_gpu gpus[DT_TOPO_GPUS_MAX];
};

/* Reads folder/PCI/information of each GPU. What is not understood is left out. */
void dt_driver_load(struct dt_driver *driver, const char *folder);

/* Pure: the text of one file. False: no minor in it. */
bool dt_driver_parse(struct dt_driver_gpu *gpu, const char *text);

#endif
