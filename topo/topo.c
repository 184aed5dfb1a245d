#include "topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above every quality of a PCIe path; the steps between kinds are above what the links of one kind add. */
#define QUALITY_KIND 10000u
#define QUALITY_LINK 100u
#define LINKS_COUNTED_MAX 64u

const char *const dt_path_words[DT_PATH_COUNT] = {
    [DT_PATH_SELF] = "self",         [DT_PATH_NVLINK] = "NVLink",  [DT_PATH_NVSWITCH] = "NVSwitch",
    [DT_PATH_XGMI] = "xGMI",         [DT_PATH_XELINK] = "Xe Link", [DT_PATH_SWITCH] = "switch",
    [DT_PATH_SWITCHES] = "switches", [DT_PATH_BRIDGE] = "bridge",  [DT_PATH_NUMA] = "NUMA node",
    [DT_PATH_SOCKET] = "socket",     [DT_PATH_SYSTEM] = "system",  [DT_PATH_UNKNOWN] = "unknown",
};

static int allocate_bitmaps(struct dt_topo *topo)
{
    topo->cpus = hwloc_bitmap_alloc();
    if (topo->cpus == NULL)
        return -1;
    for (unsigned i = 0; i < DT_TOPO_GPUS_MAX; i++)
        if ((topo->gpus[i].cpus = hwloc_bitmap_alloc()) == NULL)
            return -1;
    for (unsigned i = 0; i < DT_TOPO_NICS_MAX; i++)
        if ((topo->nics[i].cpus = hwloc_bitmap_alloc()) == NULL)
            return -1;
    for (unsigned i = 0; i < DT_TOPO_NUMAS_MAX; i++)
        if ((topo->numas[i].cpus = hwloc_bitmap_alloc()) == NULL)
            return -1;
    return 0;
}

struct dt_topo *dt_topo_create(const char *source, struct dtrain_error *err)
{
    struct dt_topo *topo = calloc(1, sizeof(*topo));

    if (topo == NULL || allocate_bitmaps(topo) != 0) {
        dt_error_memory(err, sizeof(*topo), "a topology");
        dt_topo_destroy(topo);
        return NULL;
    }
    snprintf(topo->source, sizeof(topo->source), "%s", source);
    return topo;
}

void dt_topo_destroy(struct dt_topo *topo)
{
    if (topo == NULL)
        return;
    for (uint32_t i = 0; topo->cores != NULL && i < topo->core_count; i++)
        hwloc_bitmap_free(topo->cores[i]);
    free(topo->cores);
    for (unsigned i = 0; i < DT_TOPO_GPUS_MAX; i++)
        hwloc_bitmap_free(topo->gpus[i].cpus);
    for (unsigned i = 0; i < DT_TOPO_NICS_MAX; i++)
        hwloc_bitmap_free(topo->nics[i].cpus);
    for (unsigned i = 0; i < DT_TOPO_NUMAS_MAX; i++)
        hwloc_bitmap_free(topo->numas[i].cpus);
    hwloc_bitmap_free(topo->cpus);
    free(topo);
}

static int check_counts(const struct dt_topo *topo, struct dtrain_error *err)
{
    const struct {
        const char *what;
        uint32_t count, max;
    } rows[] = {
        {"GPUs", topo->gpu_count, DT_TOPO_GPUS_MAX},
        {"NICs", topo->nic_count, DT_TOPO_NICS_MAX},
        {"NUMA nodes", topo->numa_count, DT_TOPO_NUMAS_MAX},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].count > rows[i].max)
            return dt_error_set(err, "%s has %u %s: expected at most %u", topo->source, rows[i].count,
                                rows[i].what, rows[i].max);
    return 0;
}

static bool has_numa(const struct dt_topo *topo, int os_index)
{
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (topo->numas[i].os_index == os_index)
            return true;
    return os_index == -1;
}

static int check_numas(const struct dt_topo *topo, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < topo->numa_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (topo->numas[i].os_index == topo->numas[j].os_index)
                return dt_error_set(err, "%s has NUMA node %d twice: expected each once", topo->source,
                                    topo->numas[i].os_index);
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (!has_numa(topo, topo->gpus[i].numa))
            return dt_error_set(err, "%s: GPU %u is at NUMA node %d: expected one that exists", topo->source,
                                i, topo->gpus[i].numa);
    for (uint32_t i = 0; i < topo->nic_count; i++)
        if (!has_numa(topo, topo->nics[i].numa))
            return dt_error_set(err, "%s: NIC %u is at NUMA node %d: expected one that exists", topo->source,
                                i, topo->nics[i].numa);
    return 0;
}

static int check_gpus(const struct dt_topo *topo, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        const struct dt_topo_gpu *a = &topo->gpus[i];

        for (uint32_t j = 0; j < i; j++) {
            const struct dt_topo_gpu *b = &topo->gpus[j];

            if (a->pci[0] != '\0' && strcmp(a->pci, b->pci) == 0 && a->part == b->part)
                return dt_error_set(err, "%s: GPUs %u and %u are both %s: expected each once", topo->source,
                                    j, i, a->pci);
        }
    }
    return 0;
}

static int check_paths(const struct dt_topo *topo, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        for (uint32_t j = 0; j < topo->gpu_count; j++) {
            const struct dt_path_info *there = &topo->gpu_path[i][j];
            const struct dt_path_info *back = &topo->gpu_path[j][i];

            if (there->path >= DT_PATH_COUNT || (there->path == DT_PATH_SELF) != (i == j))
                return dt_error_set(err, "%s: the path from GPU %u to GPU %u is of kind %u: expected %s",
                                    topo->source, i, j, there->path,
                                    i == j ? "itself" : "one to another GPU");
            if (there->path != back->path || there->count != back->count)
                return dt_error_set(
                    err, "%s: GPU %u to %u is %s (%u links) but back %s (%u): expected the same",
                    topo->source, i, j, dt_path_words[there->path], there->count,
                    back->path < DT_PATH_COUNT ? dt_path_words[back->path] : "of no kind", back->count);
        }
        for (uint32_t j = 0; j < topo->nic_count; j++)
            if (topo->nic_path[i][j].path >= DT_PATH_COUNT || topo->nic_path[i][j].path == DT_PATH_SELF)
                return dt_error_set(err, "%s: the path from GPU %u to NIC %u is of kind %u: expected another",
                                    topo->source, i, j, topo->nic_path[i][j].path);
    }
    return 0;
}

int dt_topo_check(const struct dt_topo *topo, struct dtrain_error *err)
{
    if (check_counts(topo, err) || check_numas(topo, err) || check_gpus(topo, err))
        return -1;
    return check_paths(topo, err);
}

uint32_t dt_path_quality(struct dt_path_info path)
{
    static const uint32_t base[DT_PATH_COUNT] = {
        [DT_PATH_SELF] = 5 * QUALITY_KIND,
        [DT_PATH_NVLINK] = 4 * QUALITY_KIND,
        [DT_PATH_NVSWITCH] = 3 * QUALITY_KIND,
        [DT_PATH_XGMI] = 2 * QUALITY_KIND,
        [DT_PATH_XELINK] = QUALITY_KIND,
        [DT_PATH_SWITCH] = 60,
        [DT_PATH_SWITCHES] = 50,
        [DT_PATH_BRIDGE] = 40,
        [DT_PATH_NUMA] = 30,
        [DT_PATH_SOCKET] = 20,
        [DT_PATH_SYSTEM] = 10,
        [DT_PATH_UNKNOWN] = 0,
    };
    uint32_t links = path.count < LINKS_COUNTED_MAX ? path.count : LINKS_COUNTED_MAX;

    if (path.path >= DT_PATH_COUNT)
        return 0;
    return base[path.path] + (base[path.path] >= QUALITY_KIND ? links * QUALITY_LINK : 0);
}
