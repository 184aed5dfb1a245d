/* What a text leaves to be concluded: all CPUs, and which of them are one core. */
#include <stdlib.h>

#include "draft.h"

/* Two threads a core: CPU c and c + distance, for each c of firsts. distance 0: not seen yet. */
struct siblings {
    hwloc_bitmap_t firsts, seconds;
    unsigned distance;
};

/* A set of two equal runs at the distance that all have; else the numbers say nothing of cores. */
static bool note_siblings(struct siblings *siblings, hwloc_const_bitmap_t cpus)
{
    int first = hwloc_bitmap_first(cpus);
    int gap = hwloc_bitmap_next_unset(cpus, first);
    int second = hwloc_bitmap_next(cpus, gap);
    int end = second == -1 ? -1 : hwloc_bitmap_next_unset(cpus, second);

    if (hwloc_bitmap_iszero(cpus))
        return true;
    if (second == -1 || end - second != gap - first || hwloc_bitmap_next(cpus, end) != -1)
        return false;
    if (siblings->distance != 0 && siblings->distance != (unsigned)(second - first))
        return false;
    siblings->distance = (unsigned)(second - first);
    return hwloc_bitmap_set_range(siblings->firsts, (unsigned)first, gap - 1) == 0 &&
           hwloc_bitmap_set_range(siblings->seconds, (unsigned)second, end - 1) == 0;
}

static bool find_siblings(struct siblings *siblings, const struct dt_topo *topo)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (!note_siblings(siblings, topo->gpus[i].cpus))
            return false;
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (!note_siblings(siblings, topo->numas[i].cpus))
            return false;
    return siblings->distance != 0 && !hwloc_bitmap_intersects(siblings->firsts, siblings->seconds);
}

int dt_draft_add_core(struct dt_topo *topo, const unsigned *cpus, uint32_t threads, struct dtrain_error *err)
{
    hwloc_bitmap_t *cores = realloc(topo->cores, (topo->core_count + 1) * sizeof(*cores));

    if (cores == NULL)
        return dt_error_memory(err, (topo->core_count + 1) * sizeof(*cores), "the cores");
    topo->cores = cores;
    cores[topo->core_count] = hwloc_bitmap_alloc();
    if (cores[topo->core_count] == NULL)
        return dt_error_memory(err, sizeof(*cores), "a core");
    for (uint32_t i = 0; i < threads; i++)
        hwloc_bitmap_set(cores[topo->core_count], cpus[i]);
    topo->core_count++;
    return 0;
}

static int add_cores(struct dt_topo *topo, hwloc_const_bitmap_t firsts, unsigned distance,
                     struct dtrain_error *err)
{
    unsigned cpu;

    hwloc_bitmap_foreach_begin(cpu, firsts)
    {
        const unsigned pair[2] = {cpu, cpu + distance};

        if (dt_draft_add_core(topo, pair, distance != 0 ? 2 : 1, err) != 0)
            return -1;
    }
    hwloc_bitmap_foreach_end();
    return 0;
}

static int conclude_cores(struct dt_topo *topo, struct dtrain_error *err)
{
    struct siblings siblings = {hwloc_bitmap_alloc(), hwloc_bitmap_alloc(), 0};
    int rc = -1;

    if (siblings.firsts == NULL || siblings.seconds == NULL)
        dt_error_memory(err, DT_DRAFT_CPUS_MAX / 8, "a set of CPUs");
    else if (find_siblings(&siblings, topo))
        rc = add_cores(topo, siblings.firsts, siblings.distance, err);
    else
        rc = add_cores(topo, topo->cpus, 0, err);
    hwloc_bitmap_free(siblings.firsts);
    hwloc_bitmap_free(siblings.seconds);
    return rc;
}

static void sort_numas(struct dt_topo *topo)
{
    for (uint32_t i = 1; i < topo->numa_count; i++)
        for (uint32_t j = i; j > 0 && topo->numas[j].os_index < topo->numas[j - 1].os_index; j--) {
            struct dt_topo_numa numa = topo->numas[j];

            topo->numas[j] = topo->numas[j - 1];
            topo->numas[j - 1] = numa;
        }
}

int dt_draft_finish(struct dt_topo *topo, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < topo->gpu_count; i++)
        hwloc_bitmap_or(topo->cpus, topo->cpus, topo->gpus[i].cpus);
    for (uint32_t i = 0; i < topo->numa_count; i++)
        hwloc_bitmap_or(topo->cpus, topo->cpus, topo->numas[i].cpus);
    sort_numas(topo);
    if (topo->core_count == 0 && conclude_cores(topo, err) != 0)
        return -1;
    return dt_topo_check(topo, err);
}
