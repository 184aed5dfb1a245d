#include "topo_board.h"

#include "topo_path.h"

#define PCI_CLASS_BRIDGE_OTHER 0x0680u
#define PCI_NVIDIA 0x10deu
#define MODULE_LINKS 4u /* between two GCDs of a module */
#define BOARD_GPUS_MAX 8u

/* A node with exactly `gpus` GPUs of one device id. Each pair has `count` links, or what `wires` says. */
struct board {
    unsigned device_id, gpus;
    enum dt_path path;
    unsigned count;
    const unsigned char (*wires)[BOARD_GPUS_MAX];
};

/* 8x V100 SXM2, in PCI order. */
static const unsigned char cube_mesh[BOARD_GPUS_MAX][BOARD_GPUS_MAX] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

/* 4x MI250X, in PCI order of their GCDs: x4 inside a module, x2 and x1 between. */
static const unsigned char mi250x[BOARD_GPUS_MAX][BOARD_GPUS_MAX] = {
    {0, 4, 1, 0, 0, 0, 2, 0}, {4, 0, 0, 1, 0, 1, 0, 0}, {1, 0, 0, 4, 2, 0, 0, 0}, {0, 1, 4, 0, 0, 0, 0, 1},
    {0, 0, 2, 0, 0, 4, 1, 0}, {0, 1, 0, 0, 4, 0, 0, 1}, {2, 0, 0, 0, 1, 0, 0, 4}, {0, 0, 0, 1, 0, 1, 4, 0},
};

static const struct board boards[] = {
    {0x1db1, 8, DT_PATH_NVLINK, 0, cube_mesh}, /* V100 SXM2 16 GB */
    {0x1db5, 8, DT_PATH_NVLINK, 0, cube_mesh}, /* V100 SXM2 32 GB */
    {0x20b0, 4, DT_PATH_NVLINK, 4, NULL},      /* A100 SXM4 40 GB */
    {0x20b2, 4, DT_PATH_NVLINK, 4, NULL},      /* A100 SXM4 80 GB */
    {0x20b0, 8, DT_PATH_NVSWITCH, 12, NULL},   {0x20b2, 8, DT_PATH_NVSWITCH, 12, NULL},
    {0x2330, 4, DT_PATH_NVLINK, 6, NULL}, /* H100 SXM5 */
    {0x2335, 4, DT_PATH_NVLINK, 6, NULL}, /* H200 SXM */
    {0x2330, 8, DT_PATH_NVSWITCH, 18, NULL},   {0x2335, 8, DT_PATH_NVSWITCH, 18, NULL},
    {0x7408, 8, DT_PATH_XGMI, 0, mi250x},      {0x74a0, 4, DT_PATH_XGMI, 0, NULL}, /* MI300A */
    {0x74a1, 8, DT_PATH_XGMI, 1, NULL},                                            /* MI300X */
};

/* NVLink's links by generation of the GPU: P100, V100, A100, H100. */
static const struct {
    unsigned first, last, links;
} generations[] = {
    {0x15f0, 0x15ff, 4},
    {0x1d80, 0x1dff, 6},
    {0x2080, 0x20ff, 12},
    {0x2300, 0x23ff, 18},
};

unsigned dt_topo_board_links_max(unsigned device_id)
{
    for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
        if (device_id >= generations[i].first && device_id <= generations[i].last)
            return generations[i].links;
    return 0;
}

static unsigned device_of(const struct dt_topo_devices *devices, uint32_t gpu)
{
    return devices->gpus[gpu]->attr->pcidev.device_id;
}

static bool has_nvswitch(const struct dt_topo_devices *devices)
{
    for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(devices->hwloc, pci));)
        if (pci->attr->pcidev.vendor_id == PCI_NVIDIA && pci->attr->pcidev.class_id == PCI_CLASS_BRIDGE_OTHER)
            return true;
    return false;
}

static bool are_all(const struct dt_topo *topo, const struct dt_topo_devices *devices, unsigned device_id)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (device_of(devices, i) != device_id || topo->gpus[i].part >= 0)
            return false;
    return topo->gpu_count > 0;
}

static void link_board(struct dt_topo *topo, const struct board *board)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (board->wires == NULL || board->wires[i][j] > 0)
                dt_topo_path_set(topo, i, j, board->path,
                                 board->wires == NULL ? board->count : board->wires[i][j]);
}

/* Switches that can be seen link what board is not known, too. */
static void link_switched(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (topo->gpus[i].vendor == DT_VENDOR_NVIDIA && device_of(devices, i) == device_of(devices, j))
                dt_topo_path_set(topo, i, j, DT_PATH_NVSWITCH,
                                 dt_topo_board_links_max(device_of(devices, i)));
}

void dt_topo_board_link_packages(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const struct dt_topo_gpu *gpu = &topo->gpus[i];

            if (gpu->package < 0 || gpu->package != topo->gpus[j].package)
                continue;
            if (gpu->vendor == DT_VENDOR_INTEL)
                dt_topo_path_set(topo, i, j, DT_PATH_XELINK, 0);
            else if (gpu->vendor == DT_VENDOR_AMD)
                dt_topo_path_set(topo, i, j, DT_PATH_XGMI,
                                 devices->gpus[i] == devices->gpus[j] ? 0 : MODULE_LINKS);
        }
}

bool dt_topo_board_link(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    for (size_t i = 0; i < sizeof(boards) / sizeof(boards[0]); i++)
        if (topo->gpu_count == boards[i].gpus && are_all(topo, devices, boards[i].device_id)) {
            link_board(topo, &boards[i]);
            return true;
        }
    if (has_nvswitch(devices))
        link_switched(topo, devices);
    return false;
}
