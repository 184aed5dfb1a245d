#include "bind_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096
#define TASKS_MAX 512

static char text[TEXT_MAX];

struct dt_topo *node_create(uint32_t numas, uint32_t cores)
{
    struct dt_topo *topo = dt_topo_create("a test's node", NULL);
    uint32_t all = numas * cores;

    topo->cores = calloc(all, sizeof(*topo->cores));
    topo->core_count = all;
    topo->numa_count = numas;
    for (uint32_t core = 0; core < all; core++) {
        topo->cores[core] = hwloc_bitmap_alloc();
        hwloc_bitmap_set(topo->cores[core], core);
        hwloc_bitmap_set(topo->cores[core], core + all);
        hwloc_bitmap_or(topo->numas[core / cores].cpus, topo->numas[core / cores].cpus, topo->cores[core]);
    }
    for (uint32_t numa = 0; numa < numas; numa++)
        topo->numas[numa].os_index = (int)numa;
    hwloc_bitmap_set_range(topo->cpus, 0, (int)(2 * all) - 1);
    return topo;
}

void node_link(struct dt_topo *topo, uint32_t a, uint32_t b, enum dt_path path, uint16_t count)
{
    topo->gpu_path[a][b] = topo->gpu_path[b][a] = (struct dt_path_info){path, count};
}

void node_link_all(struct dt_topo *topo, enum dt_path path, uint16_t count)
{
    for (uint32_t a = 0; a < topo->gpu_count; a++)
        for (uint32_t b = 0; b < a; b++)
            node_link(topo, a, b, path, count);
}

static enum dt_path path_of_numas(int a, int b)
{
    if (a < 0 || b < 0)
        return DT_PATH_UNKNOWN;
    return a == b ? DT_PATH_SWITCH : DT_PATH_SYSTEM;
}

uint32_t node_add_gpu(struct dt_topo *topo, int numa)
{
    uint32_t i = topo->gpu_count++;
    struct dt_topo_gpu *gpu = &topo->gpus[i];

    snprintf(gpu->pci, sizeof(gpu->pci), "0000:%02x:00.0", 16 + i);
    snprintf(gpu->name, sizeof(gpu->name), "cuda%u", i);
    gpu->part = gpu->package = gpu->socket = -1;
    gpu->numa = numa;
    if (numa >= 0)
        hwloc_bitmap_copy(gpu->cpus, topo->numas[numa].cpus);
    for (uint32_t other = 0; other < i; other++)
        node_link(topo, i, other, path_of_numas(-1, numa), 0);
    for (uint32_t nic = 0; nic < topo->nic_count; nic++)
        topo->nic_path[i][nic] = (struct dt_path_info){path_of_numas(numa, topo->nics[nic].numa), 0};
    return i;
}

uint32_t node_add_nic(struct dt_topo *topo, int numa, const char *name)
{
    uint32_t i = topo->nic_count++;
    struct dt_topo_nic *nic = &topo->nics[i];

    snprintf(nic->name, sizeof(nic->name), "%s", name);
    nic->is_used = true;
    nic->numa = numa;
    nic->socket = -1;
    if (numa >= 0)
        hwloc_bitmap_copy(nic->cpus, topo->numas[numa].cpus);
    for (uint32_t gpu = 0; gpu < topo->gpu_count; gpu++)
        topo->nic_path[gpu][i] = (struct dt_path_info){path_of_numas(topo->gpus[gpu].numa, numa), 0};
    return i;
}

/* Two GPUs and two NICs a switch, on every second NUMA node; storage NICs elsewhere. */
struct dt_topo *node_dgx_a100(void)
{
    static const int numas[] = {3, 3, 1, 1, 7, 7, 5, 5};
    static const char *const nics[] = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3",
                                       "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"};
    struct dt_topo *topo = node_create(8, 16);

    for (uint32_t i = 0; i < 8; i++)
        node_add_gpu(topo, numas[i]);
    node_link_all(topo, DT_PATH_NVSWITCH, 12);
    topo->nics[node_add_nic(topo, 3, "mlx5_4")].is_used = false;
    for (uint32_t i = 0; i < 8; i++)
        node_add_nic(topo, numas[i], nics[i]);
    return topo;
}

/* The hybrid cube mesh: digits are links, 0 is PCIe. */
struct dt_topo *node_dgx_1v(void)
{
    static const char *const links[] = {"-1122000", "1-210200", "12-20010", "212-0001",
                                        "2000-112", "02001-21", "001012-2", "0001212-"};
    struct dt_topo *topo = node_create(2, 20);

    for (uint32_t i = 0; i < 8; i++)
        node_add_gpu(topo, i < 4 ? 0 : 1);
    for (uint32_t a = 0; a < 8; a++)
        for (uint32_t b = 0; b < a; b++)
            if (links[a][b] != '0')
                node_link(topo, a, b, DT_PATH_NVLINK, (uint16_t)(links[a][b] - '0'));
    return topo;
}

/* Bridges join pairs that are no neighbours; three GPUs on one socket, five on the other. */
struct dt_topo *node_pcie_pairs(void)
{
    static const uint32_t pairs[][2] = {{0, 5}, {1, 2}, {3, 4}, {6, 7}};
    struct dt_topo *topo = node_create(2, 32);

    for (uint32_t i = 0; i < 8; i++)
        node_add_gpu(topo, i < 3 ? 0 : 1);
    for (uint32_t i = 0; i < 4; i++)
        node_link(topo, pairs[i][0], pairs[i][1], DT_PATH_NVLINK, 12);
    return topo;
}

/* Modules of two GCDs; a NIC beside each odd one; one cache of 8 cores for each GCD. */
struct dt_topo *node_mi250x(void)
{
    static const int caches[] = {6, 7, 2, 3, 0, 1, 4, 5};
    static const uint8_t links[][3] = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 6, 2}, {2, 4, 2},
                                       {0, 2, 1}, {1, 3, 1}, {1, 5, 1}, {3, 7, 1}, {4, 6, 1}, {5, 7, 1}};
    static const char *const nics[] = {"hsi0", "hsi1", "hsi2", "hsi3"};
    struct dt_topo *topo = node_create(4, 16);

    for (uint32_t i = 0; i < 8; i++) {
        struct dt_topo_gpu *gpu = &topo->gpus[node_add_gpu(topo, caches[i] / 2)];

        hwloc_bitmap_zero(gpu->cpus);
        hwloc_bitmap_set_range(gpu->cpus, (unsigned)caches[i] * 8, caches[i] * 8 + 7);
        hwloc_bitmap_set_range(gpu->cpus, (unsigned)caches[i] * 8 + 64, caches[i] * 8 + 71);
        gpu->package = (int)i / 2;
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        node_link(topo, links[i][0], links[i][1], DT_PATH_XGMI, links[i][2]);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t nic = node_add_nic(topo, topo->gpus[2 * i].numa, nics[i]);

        topo->nic_path[2 * i][nic].path = DT_PATH_SOCKET;
        topo->nic_path[2 * i + 1][nic].path = DT_PATH_BRIDGE;
    }
    return topo;
}

struct dt_binding *node_bind(const struct dt_topo *topo, uint32_t tasks, uint32_t size, const char *cpus,
                             const uint32_t *gpus, uint32_t gpu_count)
{
    struct dt_bind_request request = {.task_count = tasks, .gpus = gpus, .gpu_count = gpu_count};
    struct dtrain_error err = {""};
    struct dt_binding *binding;
    uint32_t group[TASKS_MAX];
    hwloc_bitmap_t mask = NULL;

    for (uint32_t i = 0; i < tasks; i++)
        group[i] = i / size;
    request.group = group;
    request.what = DT_BIND_GPU | DT_BIND_CPU | DT_BIND_NIC | DT_BIND_MEM;
    if (cpus != NULL) {
        mask = hwloc_bitmap_alloc();
        hwloc_bitmap_list_sscanf(mask, cpus);
        request.cpus = mask;
    }
    if (dt_topo_check(topo, &err) || dt_bind(&binding, topo, &request, &err)) {
        printf("# %s\n", err.text);
        binding = NULL;
    }
    hwloc_bitmap_free(mask);
    return binding;
}

const char *node_gpus(const struct dt_binding *binding)
{
    size_t used = 0;

    for (uint32_t i = 0; i < binding->task_count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
                                 binding->tasks[i].gpu);
    return text;
}

const char *node_cpus(const struct dt_binding *binding)
{
    size_t used = 0;

    for (uint32_t i = 0; i < binding->task_count; i++) {
        const struct dt_bind_task *task = &binding->tasks[i];

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                                 task->keeps_cpus ? "-" : "");
        if (!task->keeps_cpus)
            used += (size_t)hwloc_bitmap_list_snprintf(text + used, sizeof(text) - used, task->cpus);
    }
    return text;
}

const char *node_nics(const struct dt_binding *binding, const struct dt_topo *topo)
{
    size_t used = 0;

    for (uint32_t i = 0; i < binding->task_count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                                 binding->tasks[i].nic < 0 ? "-" : topo->nics[binding->tasks[i].nic].name);
    return text;
}

bool node_is(const char *got, const char *expected)
{
    bool is_equal = strcmp(got, expected) == 0;

    if (!is_equal)
        printf("# expected %s\n# got      %s\n", expected, got);
    return is_equal;
}
