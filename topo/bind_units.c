#include "topo/bind_units.h"

#include <stdlib.h>

static int numa_of_unit(const struct dt_topo *topo, hwloc_const_bitmap_t cpus)
{
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (hwloc_bitmap_intersects(cpus, topo->numas[i].cpus))
            return topo->numas[i].os_index;
    return -1;
}

/* The part of `cpus` inside the mask becomes a unit, if there is one. */
static int add_unit(struct dt_bind_units *units, const struct dt_bind_input *input, hwloc_const_bitmap_t cpus)
{
    struct dt_bind_unit *unit = &units->units[units->count];

    unit->cpus = hwloc_bitmap_alloc();
    if (unit->cpus == NULL || hwloc_bitmap_and(unit->cpus, cpus, input->cpus)) {
        hwloc_bitmap_free(unit->cpus);
        return -1;
    }
    if (hwloc_bitmap_iszero(unit->cpus)) {
        hwloc_bitmap_free(unit->cpus);
        return 0;
    }
    unit->numa = numa_of_unit(input->topo, unit->cpus);
    units->count++;
    return 0;
}

static int add_cores(struct dt_bind_units *units, const struct dt_bind_input *input)
{
    const struct dt_topo *topo = input->topo;

    for (uint32_t i = 0; i < topo->core_count; i++)
        if (add_unit(units, input, topo->cores[i]))
            return -1;
    return 0;
}

static int add_cpus(struct dt_bind_units *units, const struct dt_bind_input *input)
{
    hwloc_bitmap_t one = hwloc_bitmap_alloc();
    int rc = one != NULL ? 0 : -1;

    for (int cpu = hwloc_bitmap_first(input->cpus); rc == 0 && cpu >= 0;
         cpu = hwloc_bitmap_next(input->cpus, cpu)) {
        rc = hwloc_bitmap_only(one, (unsigned)cpu);
        if (rc == 0)
            rc = add_unit(units, input, one);
    }
    hwloc_bitmap_free(one);
    return rc;
}

/* Stable: units of one NUMA node become neighbours, in the order of the topology's nodes. */
static void sort_by_numa(struct dt_bind_unit *to, const struct dt_bind_units *from,
                         const struct dt_topo *topo)
{
    uint32_t used = 0;

    for (uint32_t numa = 0; numa <= topo->numa_count; numa++)
        for (uint32_t i = 0; i < from->count; i++)
            if (from->units[i].numa == (numa < topo->numa_count ? topo->numas[numa].os_index : -1))
                to[used++] = from->units[i];
}

int dt_bind_units_read(struct dt_bind_units *units, const struct dt_bind_input *input,
                       struct dtrain_error *err)
{
    const struct dt_topo *topo = input->topo;
    int cpus = hwloc_bitmap_weight(input->cpus);
    size_t most = topo->core_count > 0 ? topo->core_count : (size_t)(cpus > 0 ? cpus : 0);
    struct dt_bind_unit *sorted = calloc(most + 1, sizeof(*sorted));

    units->count = 0;
    units->units = calloc(most + 1, sizeof(*units->units));
    if (sorted == NULL || units->units == NULL ||
        (topo->core_count > 0 ? add_cores(units, input) : add_cpus(units, input))) {
        free(sorted);
        dt_bind_units_clear(units);
        return dt_error_memory(err, (most + 1) * sizeof(*sorted), "cores");
    }
    sort_by_numa(sorted, units, topo);
    free(units->units);
    units->units = sorted;
    return 0;
}

void dt_bind_units_clear(struct dt_bind_units *units)
{
    for (uint32_t i = 0; i < units->count; i++)
        hwloc_bitmap_free(units->units[i].cpus);
    free(units->units);
    units->units = NULL;
    units->count = 0;
}

void dt_bind_units_share(uint32_t *from, uint32_t *to, uint32_t i, uint32_t count, uint32_t available)
{
    *from = (uint32_t)((uint64_t)i * available / count);
    *to = (uint32_t)(((uint64_t)i + 1) * available / count);
    if (*to == *from)
        (*to)++;
}
