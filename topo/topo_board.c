#include "topo_board.h"

#include <string.h>

#include "topo_path.h"

#define PCI_CLASS_BRIDGE_OTHER 0x0680u
#define PCI_NVIDIA 0x10deu
#define MODULE_LINKS 4u /* between two GCDs of a module */
#define BOARD_GPUS_MAX 8u

enum platform { ANY, X86, POWER };

/* A node with exactly `gpus` GPUs of one device id. Each pair has `count` links, or what `wires` says. */
struct board {
    unsigned device_id, gpus;
    enum dt_path path;
    unsigned count;
    const unsigned char (*wires)[BOARD_GPUS_MAX];
    enum platform platform; /* POWER: the links to the other socket's GPUs go to the CPU instead */
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

#define V100_SXM2_16 0x1db1
#define V100_SXM2_32 0x1db5
#define A100_SXM_40 0x20b0
#define A100_SXM_80 0x20b2
#define H100_SXM 0x2330
#define H100_SXM_64 0x2339
#define H200_SXM 0x2335
#define GH200 0x2342
#define MI250X 0x7408
#define MI300A 0x74a0
#define MI300X 0x74a1

static const struct board boards[] = {
    {V100_SXM2_16, 4, DT_PATH_NVLINK, 2, NULL, X86},
    {V100_SXM2_32, 4, DT_PATH_NVLINK, 2, NULL, X86},
    {V100_SXM2_16, 4, DT_PATH_NVLINK, 3, NULL, POWER},
    {V100_SXM2_16, 6, DT_PATH_NVLINK, 2, NULL, POWER},
    {V100_SXM2_16, 8, DT_PATH_NVLINK, 0, cube_mesh, X86},
    {V100_SXM2_32, 8, DT_PATH_NVLINK, 0, cube_mesh, X86},
    {A100_SXM_40, 4, DT_PATH_NVLINK, 4, NULL, ANY},
    {A100_SXM_80, 4, DT_PATH_NVLINK, 4, NULL, ANY},
    {A100_SXM_40, 8, DT_PATH_NVSWITCH, 12, NULL, ANY},
    {A100_SXM_80, 8, DT_PATH_NVSWITCH, 12, NULL, ANY},
    {H100_SXM, 4, DT_PATH_NVLINK, 6, NULL, ANY},
    {H100_SXM_64, 4, DT_PATH_NVLINK, 6, NULL, ANY},
    {H200_SXM, 4, DT_PATH_NVLINK, 6, NULL, ANY},
    {GH200, 4, DT_PATH_NVLINK, 6, NULL, ANY},
    {H100_SXM, 8, DT_PATH_NVSWITCH, 18, NULL, ANY},
    {H200_SXM, 8, DT_PATH_NVSWITCH, 18, NULL, ANY},
    {MI250X, 8, DT_PATH_XGMI, 0, mi250x, ANY},
    {MI300A, 4, DT_PATH_XGMI, 0, NULL, ANY},
    {MI300X, 8, DT_PATH_XGMI, 1, NULL, ANY},
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

static enum platform platform_of(const struct dt_topo_devices *devices)
{
    const char *architecture = hwloc_obj_get_info_by_name(hwloc_get_root_obj(devices->hwloc), "Architecture");

    if (architecture == NULL)
        return ANY;
    if (strncmp(architecture, "ppc", 3) == 0)
        return POWER;
    return strcmp(architecture, "x86_64") == 0 ? X86 : ANY;
}

static bool is_board(const struct board *board, const struct dt_topo *topo,
                     const struct dt_topo_devices *devices)
{
    return topo->gpu_count == board->gpus &&
           (board->platform == ANY || board->platform == platform_of(devices)) &&
           are_all(topo, devices, board->device_id);
}

static unsigned count_wires(const struct board *board, const struct dt_topo *topo, uint32_t a, uint32_t b)
{
    if (board->wires != NULL)
        return board->wires[a][b];
    if (board->platform == POWER && topo->gpus[a].numa != topo->gpus[b].numa)
        return 0;
    return board->count;
}

/* A count that is not published is 0 for every pair of the board. */
static void link_board(struct dt_topo *topo, const struct board *board)
{
    bool is_counted = board->wires != NULL || board->count > 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            unsigned count = count_wires(board, topo, i, j);

            if (count > 0 || !is_counted)
                dt_topo_path_set(topo, i, j, board->path, count);
        }
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
        if (is_board(&boards[i], topo, devices)) {
            link_board(topo, &boards[i]);
            return true;
        }
    if (has_nvswitch(devices))
        link_switched(topo, devices);
    return false;
}
