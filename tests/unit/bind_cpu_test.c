/* Which cores, NICs and memory tasks get, on machines built in memory. */
#include <stdio.h>

#include "bind_node.h"
#include "tap.h"

static struct dt_topo *two_numas(void)
{
    return node_create(2, 4);
}

static struct dt_topo *eight_numas(void)
{
    return node_create(8, 2);
}

static struct dt_topo *three_numas(void)
{
    return node_create(3, 8);
}

/* Two GPUs, no word on where they are. */
static struct dt_topo *nowhere(void)
{
    struct dt_topo *topo = node_create(2, 4);

    node_add_gpu(topo, -1);
    node_add_gpu(topo, -1);
    node_add_nic(topo, -1, "mlx5_0");
    node_add_nic(topo, -1, "mlx5_1");
    return topo;
}

/* One GPU whose NUMA node is not known but its CPUs are, one of which not even that is known, one known. */
static struct dt_topo *half_known(void)
{
    struct dt_topo *topo = node_create(2, 4);
    uint32_t gpu = node_add_gpu(topo, -1);

    hwloc_bitmap_set_range(topo->gpus[gpu].cpus, 0, 7);
    hwloc_bitmap_set_range(topo->gpus[gpu].cpus, 8, 15);
    node_add_gpu(topo, 0);
    node_add_gpu(topo, -1);
    return topo;
}

/* CPUs known, cores not: as a text of nvidia-smi tells. */
static struct dt_topo *without_cores(void)
{
    struct dt_topo *topo = dt_topo_create("a text", NULL);

    hwloc_bitmap_set_range(topo->cpus, 0, 7);
    topo->numa_count = 1;
    topo->numas[0].os_index = 0;
    hwloc_bitmap_set_range(topo->numas[0].cpus, 0, 7);
    node_add_gpu(topo, 0);
    node_add_gpu(topo, 0);
    return topo;
}

/* One GPU a CPU socket, its memory a NUMA node without CPUs that a source might name as nearest. */
static struct dt_topo *gpu_memory(void)
{
    struct dt_topo *topo = node_create(2, 4);

    topo->numa_count = 4;
    topo->numas[2].os_index = 4;
    topo->numas[3].os_index = 12;
    topo->numas[2].is_gpu_memory = topo->numas[3].is_gpu_memory = true;
    node_add_gpu(topo, 0);
    node_add_gpu(topo, 1);
    return topo;
}

/* A view of a job's cgroup: of two NUMA nodes only the first shows its CPUs. */
static struct dt_topo *narrowed_view(void)
{
    struct dt_topo *topo = node_create(2, 4);

    hwloc_bitmap_zero(topo->numas[1].cpus);
    node_add_gpu(topo, 0);
    node_add_gpu(topo, 1);
    return topo;
}

static const struct row {
    const char *name;
    struct dt_topo *(*create)(void);
    uint32_t tasks, size;
    const char *mask; /* NULL: all */
    const char *cpus, *numas;
    uint32_t task; /* whose reason */
    const char *words;
} rows[] = {
    {"two GPUs a NUMA node", node_dgx_a100, 8, 8, NULL,
     "48-55,176-183 56-63,184-191 16-23,144-151 24-31,152-159 112-119,240-247 120-127,248-255 "
     "80-87,208-215 88-95,216-223",
     "3 3 1 1 7 7 5 5", 5, "8 of 16 cores of its GPU's NUMA node 7"},
    {"one GPU of a NUMA node gets all of it", node_dgx_a100, 1, 1, NULL, "48-63,176-191", "3", 0,
     "16 of 16 cores of its GPU's NUMA node 3"},
    {"bridged pairs across sockets", node_pcie_pairs, 8, 2, NULL,
     "0-9,64-73 44-50,108-114 10-20,74-84 21-31,85-95 32-37,96-101 38-43,102-107 51-56,115-120 57-63,121-127",
     "0 1 0 0 1 1 1 1", 1, "7 of 32 cores of its GPU's NUMA node 1"},
    {"a GPU beside a cache gets that cache's cores", node_mi250x, 8, 8, NULL,
     "48-55,112-119 56-63,120-127 24-31,88-95 16-23,80-87 0-7,64-71 8-15,72-79 40-47,104-111 32-39,96-103",
     "3 3 1 1 0 0 2 2", 4, "8 of 16 cores of its GPU's NUMA node 0"},
    {"1 CPU a task, in one place", node_dgx_a100, 8, 8, "48-55", "48-51 52-55 - - - - - -",
     "3 3 1 1 7 7 5 5", 2, "Slurm's cores kept: none of them is of its GPU's NUMA node 1"},
    {"1 CPU a task, one core for two", node_dgx_a100, 8, 8, "48,16,112,80", "48 48 16 16 112 112 80 80",
     "3 3 1 1 7 7 5 5", 0, "1 core, not its own: 2 tasks share 1 core of its GPU's NUMA node 3"},
    {"threads of a core stay together", node_dgx_a100, 2, 2, "48-49,176-177", "48,176 49,177", "3 3", 1,
     "1 of 2 cores"},
    {"a mask beyond this machine", node_dgx_a100, 2, 2, "512-520", "- -", "3 3", 0, "Slurm's cores kept"},
    {"no locality: spread by groups", nowhere, 2, 2, NULL, "0-3,8-11 4-7,12-15", "0 1", 1,
     "4 of 4 cores of NUMA node 1"},
    {"some locality: who knows goes first", half_known, 3, 1, "0-7", "4-7 0-3 0-7", "1 0 -1", 0,
     "4 of 4 cores of its GPU's CPUs"},
    {"some locality: who knows nothing shares", half_known, 3, 1, "0-7", "4-7 0-3 0-7", "1 0 -1", 2,
     "8 of 8 cores of several NUMA nodes, with other tasks"},
    {"a NUMA node whose CPUs do not show", narrowed_view, 2, 1, NULL, "0-3,8-11 -", "0 -1", 1,
     "Slurm's cores kept: none of them is of its GPU's NUMA node 1"},
    {"CPUs without cores", without_cores, 2, 1, NULL, "0-3 4-7", "0 0", 0, "4 of 8 cores"},
    {"NUMA nodes without CPUs", gpu_memory, 2, 1, NULL, "0-3,8-11 4-7,12-15", "0 1", 1,
     "memory of NUMA node 1, its GPU's"},
    {"no GPU, one task", two_numas, 1, 1, NULL, "0-15", "-1", 0, "8 of 8 cores of several NUMA nodes"},
    {"no GPU, two tasks", two_numas, 2, 1, NULL, "0-3,8-11 4-7,12-15", "0 1", 0,
     "memory of NUMA node 0, its cores'"},
    {"no GPU, three tasks", two_numas, 3, 1, NULL, "0-3,8-11 4-5,12-13 6-7,14-15", "0 1 1", 2,
     "2 of 4 cores of NUMA node 1"},
    {"no GPU, groups of two", two_numas, 4, 2, NULL, "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15", "0 0 1 1", 0,
     "2 of 4 cores of NUMA node 0"},
    {"no GPU, more tasks than cores", two_numas, 10, 1, "0-1,4-5,8-9,12-13",
     "0,8 0,8 0,8 1,9 1,9 4,12 4,12 4,12 5,13 5,13", "0 0 0 0 0 1 1 1 1 1", 9,
     "1 core, not its own: 5 tasks share 2 cores of NUMA node 1"},
    {"no GPU, a narrow mask is shared by its cores", two_numas, 4, 1, "0,4-6", "0 4 5 6", "0 1 1 1", 3,
     "1 of 3 cores of NUMA node 1"},
    {"no GPU, two tasks over eight NUMA nodes", eight_numas, 2, 1, NULL, "0-7,16-23 8-15,24-31", "-1 -1", 0,
     "8 of 16 cores of several NUMA nodes"},
    {"no GPU, three tasks over eight NUMA nodes", eight_numas, 3, 1, NULL, "0-3,16-19 4-9,20-25 10-15,26-31",
     "-1 -1 -1", 1, "6 of 16 cores of several NUMA nodes"},
    {"no GPU, two tasks over three NUMA nodes", three_numas, 2, 1, NULL, "0-11,24-35 12-23,36-47", "-1 -1", 1,
     "12 of 24 cores of several NUMA nodes"},
    {"no GPU, nothing allowed here", two_numas, 2, 1, "64", "- -", "-1 -1", 0,
     "Slurm's cores kept: none of them is of this topology"},
};

static const char *numas_of(const struct dt_binding *binding)
{
    static char text[256];
    size_t used = 0;

    for (uint32_t i = 0; i < binding->task_count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
                                 binding->tasks[i].numa);
    return text;
}

static void test_row(const struct row *row)
{
    struct dt_topo *topo = row->create();
    struct dt_binding *binding = node_bind(topo, row->tasks, row->size, row->mask, NULL, 0);

    if (tap_ok(binding != NULL, "%s: bound", row->name)) {
        tap_ok(node_is(node_cpus(binding), row->cpus), "%s", row->name);
        tap_ok(node_is(numas_of(binding), row->numas), "memory");
        tap_holds(binding->tasks[row->task].reason, row->words, "and why");
    }
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

/* Two GPUs as near to two NICs as each other; a third NIC is storage. */
static struct dt_topo *meagre(void)
{
    struct dt_topo *topo = node_create(2, 4);

    node_add_gpu(topo, 0);
    node_add_gpu(topo, 0);
    node_add_gpu(topo, 1);
    topo->nics[node_add_nic(topo, 1, "mlx5_9")].is_used = false;
    node_add_nic(topo, 0, "mlx5_0");
    return topo;
}

/* The first GPU is as near to both NICs, the second has one that is nearer. */
static struct dt_topo *least_choice(void)
{
    struct dt_topo *topo = node_create(2, 4);

    node_add_gpu(topo, 0);
    node_add_gpu(topo, 0);
    node_add_nic(topo, 0, "mlx5_0");
    node_add_nic(topo, 0, "mlx5_1");
    topo->nic_path[1][1].path = DT_PATH_SYSTEM;
    return topo;
}

static struct dt_topo *only_storage(void)
{
    struct dt_topo *topo = node_create(1, 4);

    node_add_gpu(topo, 0);
    topo->nics[node_add_nic(topo, 0, "eno1")].is_used = false;
    return topo;
}

static struct dt_topo *no_gpus(void)
{
    struct dt_topo *topo = node_create(2, 4);

    node_add_nic(topo, 1, "mlx5_0");
    node_add_nic(topo, 0, "mlx5_1");
    node_add_nic(topo, 0, "mlx5_2");
    return topo;
}

static const struct nic_row {
    const char *name;
    struct dt_topo *(*create)(void);
    uint32_t tasks, size;
    const char *nics;
    uint32_t task;
    const char *words;
} nic_rows[] = {
    {"two a switch", node_dgx_a100, 8, 8, "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_6 mlx5_7 mlx5_8 mlx5_9", 1,
     "NIC mlx5_1 (switch), least used of 2 as near"},
    {"four tasks take one each", node_dgx_a100, 4, 1, "mlx5_0 mlx5_1 mlx5_2 mlx5_3", 0, "NIC mlx5_0"},
    {"with the odd GCD", node_mi250x, 8, 2, "hsi0 hsi0 hsi1 hsi1 hsi2 hsi2 hsi3 hsi3", 3,
     "NIC hsi1 (bridge), the nearest"},
    {"one for all, never storage", meagre, 3, 1, "mlx5_0 mlx5_0 mlx5_0", 2,
     "NIC mlx5_0 (system), the nearest"},
    {"who has no choice comes first", least_choice, 2, 1, "mlx5_1 mlx5_0", 1, "NIC mlx5_0"},
    {"places not known: evenly", nowhere, 2, 1, "mlx5_0 mlx5_1", 1, "NIC mlx5_1 (unknown)"},
    {"storage only", only_storage, 1, 1, "-", 0, "memory of NUMA node 0"},
    {"no GPU: beside the cores", no_gpus, 4, 1, "mlx5_1 mlx5_2 mlx5_0 mlx5_0", 2, "NIC mlx5_0"},
    {"no NIC", node_dgx_1v, 2, 1, "- -", 0, "GPU 0000:10:00.0"},
};

static void test_nic(const struct nic_row *row)
{
    struct dt_topo *topo = row->create();
    struct dt_binding *binding = node_bind(topo, row->tasks, row->size, NULL, NULL, 0);

    if (tap_ok(binding != NULL, "NICs, %s: bound", row->name)) {
        tap_ok(node_is(node_nics(binding, topo), row->nics), "%s", row->name);
        tap_holds(binding->tasks[row->task].reason, row->words, "and why");
    }
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

/* Longer names than any machine has still end in a reason. */
static void test_long_reason(void)
{
    struct dt_topo *topo = node_dgx_a100();
    struct dt_binding *binding;

    memset(topo->gpus[0].pci, 0, sizeof(topo->gpus[0].pci));
    memset(topo->gpus[0].name, 'g', sizeof(topo->gpus[0].name) - 1);
    for (uint32_t i = 0; i < topo->nic_count; i++)
        memset(topo->nics[i].name, 'n', sizeof(topo->nics[i].name) - 1);
    binding = node_bind(topo, 8, 8, NULL, NULL, 0);
    if (tap_ok(binding != NULL, "long names: bound"))
        tap_ok(strlen(binding->tasks[0].reason) == DT_BIND_REASON_MAX - 1 &&
                   strcmp(binding->tasks[0].reason + DT_BIND_REASON_MAX - 4, "...") == 0,
               "and the reason is cut where it ends");
    dt_binding_destroy(binding);
    dt_topo_destroy(topo);
}

static void test_endless(void)
{
    static const uint32_t group[1] = {0};
    struct dt_bind_request request = {.task_count = 1, .group = group, .what = DT_BIND_CPU};
    struct dt_topo *topo = without_cores();
    struct dtrain_error err = {""};
    struct dt_binding *binding;

    hwloc_bitmap_fill(topo->cpus);
    tap_ok(dt_bind(&binding, topo, &request, &err) == -1, "CPUs without end are refused");
    tap_holds(err.text, "the CPUs of a text are a set without end", "and it says so");
    dt_topo_destroy(topo);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        test_row(&rows[i]);
    for (size_t i = 0; i < sizeof(nic_rows) / sizeof(nic_rows[0]); i++)
        test_nic(&nic_rows[i]);
    test_long_reason();
    test_endless();
    return tap_done();
}
