/*
 * nvidia_smi.c - from the table of `nvidia-smi topo -m` to a topology. The text
 * knows neither PCI addresses nor sockets; nvidia_table.c reads it.
 */
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "nvidia_table.h"
#include "reader.h"

/* No GPU has more NVLinks of its own: with more in its row they lead into switches. */
#define NVLINKS_MAX 18u

bool dt_nvidia_smi_recognises(const char *text, size_t size)
{
    bool is_table = false;
    struct dtrain_error ignored;
    char *plain = NULL;

    if (dt_plain_copy(&plain, text, size, &ignored) == 0) {
        char *rest = plain;

        for (char *line = dt_plain_line(&rest); line != NULL && !is_table; line = dt_plain_line(&rest))
            is_table = dt_nvidia_table_is_header(line);
    }
    free(plain);
    return is_table;
}

static int add_numas(struct dt_topo *topo, const struct dt_topo_gpu *gpu, hwloc_const_bitmap_t nodes,
                     bool has_memory, struct dtrain_error *err)
{
    unsigned node;

    hwloc_bitmap_foreach_begin(node, nodes)
    {
        struct dt_topo_numa *numa = dt_draft_numa(topo, node, err);

        if (numa == NULL)
            return -1;
        if ((int)node == gpu->numa)
            hwloc_bitmap_or(numa->cpus, numa->cpus, gpu->cpus);
        else if (has_memory)
            numa->is_gpu_memory = true;
    }
    hwloc_bitmap_foreach_end();
    return 0;
}

static int read_affinity(struct dt_topo *topo, struct dt_topo_gpu *gpu, const struct dt_nvidia_row *row,
                         struct dtrain_error *err)
{
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    bool has_memory = row->gpu_numa != NULL;
    int rc = -1;

    if (nodes == NULL)
        return dt_error_memory(err, DT_DRAFT_CPUS_MAX / 8, "a set of NUMA nodes");
    if (row->cpus != NULL && dt_draft_cpus_list(gpu->cpus, row->cpus, err) != 0)
        goto out;
    if (row->numa != NULL && dt_draft_cpus_list(nodes, row->numa, err) != 0)
        goto out;
    /* Several nodes are one with CPUs and the memory of the GPU, or all that a job's cgroup left over. */
    if (hwloc_bitmap_weight(nodes) == 1 || (has_memory && !hwloc_bitmap_iszero(nodes)))
        gpu->numa = hwloc_bitmap_first(nodes);
    if (has_memory && dt_draft_cpus_list(nodes, row->gpu_numa, err) != 0)
        goto out;
    rc = add_numas(topo, gpu, nodes, has_memory, err);
out:
    hwloc_bitmap_free(nodes);
    return rc;
}

/* A node that one row calls memory, although it is another GPU's own. */
static void clear_own_memory(struct dt_topo *topo)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        for (uint32_t j = 0; j < topo->numa_count; j++)
            if (topo->numas[j].os_index == topo->gpus[i].numa)
                topo->numas[j].is_gpu_memory = false;
}

static int add_devices(struct dt_topo *topo, const struct dt_nvidia_table *table, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct dt_nvidia_row *row = &table->rows[i];

        if (row->is_gpu) {
            struct dt_topo_gpu *gpu = dt_draft_add_gpu(topo, err);

            if (gpu == NULL)
                return -1;
            memcpy(gpu->name, row->name, sizeof(gpu->name));
            gpu->vendor = DT_VENDOR_NVIDIA;
            if (read_affinity(topo, gpu, row, err) != 0)
                return dt_error_prefix(err, "the affinity of %s", row->name);
        } else {
            struct dt_topo_nic *nic = dt_draft_add_nic(topo, err);

            if (nic == NULL)
                return -1;
            memcpy(nic->name, row->legend[0] != '\0' ? row->legend : row->name, sizeof(nic->name));
            nic->kind = dt_draft_nic_kind(nic->name);
        }
    }
    return 0;
}

/* All NVLinks in the row of a device. */
static uint32_t count_nvlinks(const struct dt_nvidia_table *table, uint32_t row)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < table->count; i++)
        if (table->paths[row][i].path == DT_PATH_NVLINK)
            sum += table->paths[row][i].count;
    return sum;
}

static void set_paths(struct dt_topo *topo, const struct dt_nvidia_table *table)
{
    uint32_t gpu = 0;

    for (uint32_t i = 0; i < table->count; i++) {
        bool is_switched = count_nvlinks(table, i) > NVLINKS_MAX;
        uint32_t other_gpu = 0;
        uint32_t nic = 0;

        for (uint32_t j = 0; table->rows[i].is_gpu && j < table->count; j++) {
            struct dt_path_info info = table->paths[i][j];

            if (!table->rows[j].is_gpu) {
                topo->nic_path[gpu][nic++] = info;
                continue;
            }
            if (info.path == DT_PATH_NVLINK && (is_switched || count_nvlinks(table, j) > NVLINKS_MAX))
                info.path = DT_PATH_NVSWITCH;
            topo->gpu_path[gpu][other_gpu++] = info;
        }
        gpu += table->rows[i].is_gpu;
    }
}

static int fill(struct dt_topo *topo, void *state, char *plain, struct dtrain_error *err)
{
    struct dt_nvidia_table *table = state;

    if (dt_nvidia_table_read(table, plain, err) != 0 || add_devices(topo, table, err) != 0)
        return -1;
    clear_own_memory(topo);
    set_paths(topo, table);
    dt_draft_judge_nics(topo);
    return 0;
}

int dt_nvidia_smi_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                       struct dtrain_error *err)
{
    static const struct dt_draft_reader reader = {sizeof(struct dt_nvidia_table), fill};

    return dt_draft_read(topo, &reader, text, size, source, err);
}
