/* node.h - a node for tests of the binder: 8 GPUs on two sockets, bridged in pairs that are no neighbours. */
#ifndef DT_TESTS_FAKE_NODE_H
#define DT_TESTS_FAKE_NODE_H

#include <stdio.h>
#include <stdlib.h>

#include "topo/topo.h"

#define FAKE_NODE_CORES 16u

/* Published of a box with eight H100: 0-5, 1-2, 3-4 and 6-7 are bridged, three GPUs on the first socket. */
static const unsigned fake_node_bridged[8] = {5, 2, 1, 4, 3, 0, 7, 6};

static inline void fake_node_place(struct dt_topo *topo, uint32_t gpu)
{
    struct dt_topo_gpu *g = &topo->gpus[gpu];
    int numa = gpu < 3 ? 0 : 1;

    snprintf(g->pci, sizeof(g->pci), "0000:%02x:00.0", (unsigned)(0x10 * (gpu + 1)) & 0xff);
    g->vendor = DT_VENDOR_NVIDIA;
    g->part = g->package = -1;
    g->numa = g->socket = numa;
    hwloc_bitmap_copy(g->cpus, topo->numas[numa].cpus);
    for (uint32_t j = 0; j < 8; j++) {
        enum dt_path far = (j < 3) == (gpu < 3) ? DT_PATH_SOCKET : DT_PATH_SYSTEM;

        topo->gpu_path[gpu][j].path = j == gpu                     ? DT_PATH_SELF
                                      : j == fake_node_bridged[gpu] ? DT_PATH_NVLINK
                                                                    : far;
        topo->gpu_path[gpu][j].count = j == fake_node_bridged[gpu] ? 4 : 0;
    }
    for (uint32_t j = 0; j < topo->nic_count; j++)
        topo->nic_path[gpu][j].path = (int)j == numa ? DT_PATH_SOCKET : DT_PATH_SYSTEM;
}

/* CPUs are numbered from first_cpu. */
static inline struct dt_topo *fake_node(unsigned first_cpu)
{
    struct dt_topo *topo = dt_topo_create("the test's node", NULL);

    topo->core_count = FAKE_NODE_CORES;
    topo->cores = calloc(FAKE_NODE_CORES, sizeof(*topo->cores));
    topo->numa_count = topo->nic_count = 2;
    topo->gpu_count = 8;
    for (unsigned i = 0; i < FAKE_NODE_CORES; i++) {
        topo->cores[i] = hwloc_bitmap_alloc();
        hwloc_bitmap_set(topo->cores[i], first_cpu + i);
        hwloc_bitmap_set(topo->cpus, first_cpu + i);
        hwloc_bitmap_set(topo->numas[i / 8].cpus, first_cpu + i);
    }
    for (unsigned i = 0; i < 2; i++) {
        topo->numas[i].os_index = topo->nics[i].numa = topo->nics[i].socket = (int)i;
        topo->nics[i].kind = DT_NIC_INFINIBAND;
        topo->nics[i].is_used = true;
        snprintf(topo->nics[i].name, sizeof(topo->nics[i].name), "mlx5_%u", i);
        hwloc_bitmap_copy(topo->nics[i].cpus, topo->numas[i].cpus);
    }
    for (uint32_t i = 0; i < 8; i++)
        fake_node_place(topo, i);
    return topo;
}

#endif
