/* Every shared topology against gpu_locality.tsv: GPUs, their NUMA nodes, CPUs, and the NICs nearest to them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "topo_file.h"

#define TABLE "gpu_locality.tsv"
#define COLUMNS 10
#define GPUS_MAX 64

enum column { FILE_NAME, GPU_PCI, PCI_ID, OS_DEVICES, NUMA, CPUS, PACKAGE, L3, AT_SWITCH, AT_BRIDGE };

/* One line of the table, cut at its tabs. */
struct row {
    char *cells[COLUMNS + 1];
};

struct table {
    char *text;
    struct row rows[512];
    unsigned count;
};

/* What the table cannot say: GPUs of a function, and how two of them are linked. */
struct machine {
    const char *name;
    unsigned gpus;
    int first, second;
    enum dt_path path;
    unsigned links;
};

static const struct machine machines[] = {
    {"fluxcore_sierra.xml", 4, 0, 1, DT_PATH_NVLINK, 3},
    {"fluxcore_sierra.xml", 4, 0, 2, DT_PATH_SYSTEM, 0},
    {"fluxcore_tuo.SPX.xml", 4, 0, 3, DT_PATH_XGMI, 0},
    {"hwloc_64intel64-3g2n+2n-irregulargroups+pci.v2.xml", 2, 0, 1, DT_PATH_SYSTEM, 0},
    {"hwloc_96em64t-4n4d3ca2co-pci.v2.xml", 0, -1, -1, DT_PATH_SELF, 0},
    {"hwloc_nvidiaDGX2.v2.xml", 16, 0, 15, DT_PATH_NVSWITCH, 6},
    {"hwloc_power8gpudistances.v2.xml", 4, 0, 1, DT_PATH_NVLINK, 2},
    {"hwloc_power8gpudistances.v2.xml", 4, 1, 2, DT_PATH_SYSTEM, 0},
    {"mpibind_coral-lassen.xml", 4, 0, 1, DT_PATH_NVLINK, 3},
    {"mpibind_coral-lassen.xml", 4, 1, 2, DT_PATH_SYSTEM, 0},
    {"mpibind_cts1-pascal.xml", 2, 0, 1, DT_PATH_SWITCH, 0},
    {"mpibind_eas-tioga.xml", 8, 0, 1, DT_PATH_XGMI, 4},
    {"mpibind_eas-tioga.xml", 8, 0, 6, DT_PATH_XGMI, 2},
    {"mpibind_eas-tioga.xml", 8, 2, 4, DT_PATH_XGMI, 2},
    {"mpibind_eas-tioga.xml", 8, 5, 7, DT_PATH_XGMI, 1},
    {"mpibind_eas-tioga.xml", 8, 0, 7, DT_PATH_SOCKET, 0},
    {"mpibind_epyc-corona-p2.xml", 8, 0, 1, DT_PATH_NUMA, 0},
    {"mpibind_g4dnmetal.xml", 8, 0, 1, DT_PATH_BRIDGE, 0},
    {"pmix_drm-4gpu.xml", 4, 0, 3, DT_PATH_NVLINK, 6},
    {"pmix_intel-flat-4gpu.xml", 8, 0, 1, DT_PATH_XELINK, 0},
    {"pmix_intel-flat-4gpu.xml", 8, 1, 4, DT_PATH_SYSTEM, 0},
    {"pmix_nvml-4gpu.xml", 4, 1, 2, DT_PATH_NVLINK, 6},
    {"pmix_summit.h17n08.lstopo-2.2.0.xml", 6, 0, 2, DT_PATH_NVLINK, 2},
    {"pmix_summit.h17n08.lstopo-2.2.0.xml", 6, 2, 3, DT_PATH_SYSTEM, 0},
    {"psmgmt_topo.jwb0001.xml", 4, 0, 3, DT_PATH_NVLINK, 4},
    {"psmgmt_topo.jwc09n003.xml", 4, 0, 3, DT_PATH_NVLINK, 2},
    {"psmgmt_topo.mel3001.xml", 0, -1, -1, DT_PATH_SELF, 0},
};

/* NUMA nodes that machines.md gives where a cgroup hid the CPUs from the table. */
static const struct {
    const char *name, *pci;
    int numa;
} hidden[] = {
    {"pmix_nvml-4gpu.xml", "0000:06:00.0", 1}, {"pmix_nvml-4gpu.xml", "0000:16:00.0", 2},
    {"pmix_nvml-4gpu.xml", "0000:96:00.0", 6}, {"pmix_nvml-4gpu.xml", "0000:e6:00.0", 7},
    {"pmix_drm-4gpu.xml", "0000:06:00.0", 1},  {"pmix_drm-4gpu.xml", "0000:16:00.0", 2},
    {"pmix_drm-4gpu.xml", "0000:96:00.0", 6},  {"pmix_drm-4gpu.xml", "0000:e6:00.0", 7},
};

static void cut_row(struct row *row, char *line)
{
    for (int i = 0; i <= COLUMNS; i++) {
        row->cells[i] = line;
        line += strcspn(line, "\t");
        if (*line != '\0')
            *line++ = '\0';
    }
}

static bool read_table(struct table *table)
{
    size_t size = 0;
    char *line, *rest;

    table->text = topo_file_read(TABLE, &size);
    if (table->text == NULL)
        return false;
    line = strtok_r(table->text, "\n", &rest);
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL && table->count < 512)
        cut_row(&table->rows[table->count++], line);
    return true;
}

static int find_gpu(const struct dt_topo *topo, const char *pci)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (strcmp(topo->gpus[i].pci, pci) == 0)
            return (int)i;
    return -1;
}

/* "mlx5_0" is in "ib0+mlx5_0 ib1+mlx5_1". */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at++)
        if ((at == list || strchr("+ ", at[-1]) != NULL) && strchr("+ ", at[length]) != NULL)
            return true;
    return false;
}

/* The NICs on the best path are just those in the nearest of the table's columns that has any. */
static bool nics_are_nearest(const struct dt_topo *topo, int gpu, const struct row *row)
{
    const char *expected = "-";
    enum dt_path best = DT_PATH_UNKNOWN;
    uint32_t found = 0;

    for (int i = AT_SWITCH; i <= AT_SWITCH + 2 && strcmp(expected, "-") == 0; i++)
        expected = row->cells[i];
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (topo->nics[i].is_used && topo->nic_path[gpu][i].path < best)
            best = topo->nic_path[gpu][i].path;
    for (uint32_t i = 0; i < topo->nic_count; i++) {
        bool is_best = topo->nics[i].is_used && topo->nic_path[gpu][i].path == best && best <= DT_PATH_NUMA;

        found += is_best;
        if (strcmp(expected, "-") != 0 && is_best != has_word(expected, topo->nics[i].name))
            return false;
    }
    return strcmp(expected, "-") == 0 || found > 0;
}

static void test_row(const struct dt_topo *topo, const struct row *row)
{
    int gpu = find_gpu(topo, row->cells[GPU_PCI]);
    char *cpus = NULL;

    if (!tap_ok(gpu >= 0, "%s: %s is a GPU", row->cells[FILE_NAME], row->cells[GPU_PCI]))
        return;
    if (row->cells[NUMA][0] != '\0') {
        tap_ok(topo->gpus[gpu].numa == atoi(row->cells[NUMA]), "%s: %s is at NUMA node %s, found %d",
               row->cells[FILE_NAME], row->cells[GPU_PCI], row->cells[NUMA], topo->gpus[gpu].numa);
        hwloc_bitmap_list_asprintf(&cpus, topo->gpus[gpu].cpus);
        tap_ok(strcmp(cpus, row->cells[CPUS]) == 0, "%s: %s is beside CPUs %s, found %s",
               row->cells[FILE_NAME], row->cells[GPU_PCI], row->cells[CPUS], cpus);
        free(cpus);
    }
    tap_ok(nics_are_nearest(topo, gpu, row), "%s: %s has the nearest NICs", row->cells[FILE_NAME],
           row->cells[GPU_PCI]);
}

static void test_machine(const struct table *table, const struct machine *machine)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    struct dt_path_info found;

    if (!tap_ok(topo_file_load(&topo, machine->name, &err) == 0, "%s is read%s", machine->name, err.text))
        return;
    tap_ok(topo->gpu_count == machine->gpus, "%s has %u GPUs, found %u", machine->name, machine->gpus,
           topo->gpu_count);
    if (machine->first >= 0 && topo->gpu_count == machine->gpus) {
        found = topo->gpu_path[machine->first][machine->second];
        tap_ok(found.path == machine->path && found.count == machine->links,
               "%s: GPU %d to %d is %s with %u links, found %s with %u", machine->name, machine->first,
               machine->second, dt_path_words[machine->path], machine->links, dt_path_words[found.path],
               found.count);
    }
    for (unsigned i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].cells[FILE_NAME], machine->name) == 0)
            test_row(topo, &table->rows[i]);
    dt_topo_destroy(topo);
}

static void test_hidden(void)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        int gpu = -1;

        if (topo_file_load(&topo, hidden[i].name, &err) == 0)
            gpu = find_gpu(topo, hidden[i].pci);
        tap_ok(gpu >= 0 && topo->gpus[gpu].numa == hidden[i].numa, "%s: %s is at NUMA node %d",
               hidden[i].name, hidden[i].pci, hidden[i].numa);
        dt_topo_destroy(topo);
    }
}

/* The table has each function once, so parts of one stay apart from it. */
static void test_storage_and_management(void)
{
    static const struct {
        const char *file, *nic;
        bool is_used;
    } rows[] = {
        {"psmgmt_topo.mel3001.xml", "mlx5_0", true},   {"psmgmt_topo.mel3001.xml", "mlx5_2", false},
        {"psmgmt_topo.mel3001.xml", "eno1", false},    {"pmix_nvml-4gpu.xml", "mlx5_0", true},
        {"pmix_nvml-4gpu.xml", "mlx5_1", false},       {"pmix_nvml-4gpu.xml", "eno6", false},
        {"mpibind_g4dnmetal.xml", "rdmap197s0", true}, {"mpibind_g4dnmetal.xml", "eth0", false},
        {"mpibind_eas-tioga.xml", "hsi0", true},       {"mpibind_eas-tioga.xml", "ens2", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        int found = -1;

        if (topo_file_load(&topo, rows[i].file, &err) == 0)
            for (uint32_t n = 0; n < topo->nic_count; n++)
                if (strcmp(topo->nics[n].name, rows[i].nic) == 0)
                    found = topo->nics[n].is_used;
        tap_ok(found == rows[i].is_used, "%s: %s %s", rows[i].file, rows[i].nic,
               rows[i].is_used ? "carries data" : "is left alone");
        dt_topo_destroy(topo);
    }
}

int main(void)
{
    static struct table table;

    if (!read_table(&table)) {
        tap_skip("shared topologies", "$DT_SRCDIR/../shared/topologies is not there");
        return tap_done();
    }
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        test_machine(&table, &machines[i]);
    test_hidden();
    test_storage_and_management();
    free(table.text);
    return tap_done();
}
