/*
 * nvidia_table.h - the table of `nvidia-smi topo -m` as it stands there:
 *
 *         GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity  GPU NUMA ID
 *   GPU0   X    NV12  PXB   48-63,176-191 3              N/A
 *   GPU1  NV12   X    PXB   48-63,176-191 3              N/A
 *   NIC0  PXB   PXB    X
 *   ...
 *   NIC Legend: NIC0: mlx5_0
 */
#ifndef DT_TOPO_IMPORT_NVIDIA_TABLE_H
#define DT_TOPO_IMPORT_NVIDIA_TABLE_H

#include "plain.h"
#include "topo/topo.h"

#define DT_NVIDIA_DEVICES_MAX (DT_TOPO_GPUS_MAX + DT_TOPO_NICS_MAX)
#define DT_NVIDIA_COLUMNS_MAX 8u /* behind those of the devices */

struct dt_nvidia_row {
    char name[DT_TOPO_NAME_MAX];
    char legend[DT_TOPO_NAME_MAX]; /* the NIC's name below the table; "" when there is none */
    bool is_gpu;
    const char *cpus, *numa, *gpu_numa; /* NULL: not said. Borrowed from the text */
};

enum dt_nvidia_column { DT_NVIDIA_CPUS, DT_NVIDIA_NUMA, DT_NVIDIA_GPU_NUMA, DT_NVIDIA_OTHER };

struct dt_nvidia_table {
    uint32_t count; /* of devices: columns and rows */
    struct dt_nvidia_row rows[DT_NVIDIA_DEVICES_MAX];
    struct dt_path_info paths[DT_NVIDIA_DEVICES_MAX][DT_NVIDIA_DEVICES_MAX]; /* symmetric */
    uint32_t column_count;
    enum dt_nvidia_column columns[DT_NVIDIA_COLUMNS_MAX];
};

/* The line's first word is a GPU and no path stands in it. */
bool dt_nvidia_table_is_header(const char *line);

/* Cuts the text into words that table then borrows. Refused: cut off, not square, not symmetric. */
int dt_nvidia_table_read(struct dt_nvidia_table *table, char *plain, struct dtrain_error *err);

#endif
