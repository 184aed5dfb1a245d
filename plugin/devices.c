#include "devices.h"

#include <stdio.h>
#include <string.h>

#include "core/parse.h"

#define NUMBER_MAX 65535u

uint32_t dt_devices_count(const struct dt_topo *topo, enum dt_vendor vendor)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        count += topo->gpus[i].vendor == vendor;
    return count;
}

/* The nth GPU of the vendor by PCI address, which is the topology's order; gpu_count: there is none. */
static uint32_t nth_gpu(const struct dt_topo *topo, enum dt_vendor vendor, uint32_t n)
{
    uint32_t i = 0;

    while (i < topo->gpu_count && (topo->gpus[i].vendor != vendor || n-- > 0))
        i++;
    return i;
}

/* The library's number of a GPU among all of the node's. */
static uint32_t number_of(const struct dt_topo *topo, uint32_t gpu)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < gpu; i++)
        number += topo->gpus[i].vendor == topo->gpus[gpu].vendor;
    return number;
}

static int find_pci(uint32_t *gpu, const struct dt_devices_source *source, const char *pci,
                    struct dtrain_error *err)
{
    const struct dt_topo *topo = source->topo;

    for (uint32_t i = 0; i < topo->gpu_count; i++)
        if (strcasecmp(topo->gpus[i].pci, pci) == 0) {
            *gpu = i;
            return 0;
        }
    return dt_error_set(err, "%s: the GPU at %s is not in the topology of %s: expected one of this node",
                        source->variable, pci, topo->source);
}

/* ---- Numbers ---- */

static int parse_numbers(uint32_t numbers[DT_VISIBLE_ENTRIES_MAX], const struct dt_visible *visible,
                         const char *variable, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < visible->count; i++)
        if (dt_parse_u32(&numbers[i], visible->entries[i], 0, NUMBER_MAX, variable, err))
            return -1;
    return 0;
}

static bool has_number(const uint32_t *numbers, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static bool is_subset(const uint32_t *numbers, uint32_t count, const uint32_t *of, uint32_t of_count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!has_number(of, of_count, numbers[i]))
            return false;
    return true;
}

static bool counts_from_0(const uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] >= count)
            return false;
    return true;
}

/*
 * numbers becomes those of the node. *is_relative: Slurm counts the step's own from 0. The whole step's
 * numbers are what a list that counts from 0 stands for, whichever is whose.
 */
static int make_absolute(uint32_t *numbers, bool *is_relative, uint32_t count,
                         const struct dt_devices_source *source, struct dtrain_error *err)
{
    uint32_t step[DT_VISIBLE_ENTRIES_MAX];

    *is_relative = false;
    if (source->step->count == 0)
        return 0;
    if (parse_numbers(step, source->step, "SLURM_STEP_GPUS", err))
        return -1;
    if (is_subset(numbers, count, step, source->step->count))
        return 0;
    if (count != source->step->count || !counts_from_0(numbers, count))
        return dt_error_set(err, "%s has devices that SLURM_STEP_GPUS has not: expected Slurm's list",
                            source->variable);
    memcpy(numbers, step, count * sizeof(*numbers));
    *is_relative = true;
    return 0;
}

static int find_number(uint32_t *gpu, const struct dt_devices_source *source, uint32_t number,
                       struct dtrain_error *err)
{
    const struct dt_topo *topo = source->topo;
    const struct dt_driver *driver = source->driver;

    if (source->vendor == DT_VENDOR_NVIDIA && driver->count > 0) {
        for (uint32_t i = 0; i < driver->count; i++)
            if (driver->gpus[i].minor == number)
                return find_pci(gpu, source, driver->gpus[i].pci, err);
        return dt_error_set(err, "%s: the driver has no GPU /dev/nvidia%u", source->variable, number);
    }
    *gpu = nth_gpu(topo, source->vendor, number);
    if (*gpu < topo->gpu_count)
        return 0;
    return dt_error_set(err,
                        "%s has device %u, the topology of %s has %u such GPUs: is it another machine's?",
                        source->variable, number, topo->source, dt_devices_count(topo, source->vendor));
}

static void sort(uint32_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0 && values[j - 1] > values[j]; j--) {
            uint32_t value = values[j];

            values[j] = values[j - 1];
            values[j - 1] = value;
        }
}

static int resolve_numbers(uint32_t gpus[DT_VISIBLE_ENTRIES_MAX], struct dt_visible *visible,
                           const struct dt_devices_source *source, struct dtrain_error *err)
{
    uint32_t numbers[DT_VISIBLE_ENTRIES_MAX];
    bool is_relative;

    if (parse_numbers(numbers, visible, source->variable, err) ||
        make_absolute(numbers, &is_relative, visible->count, source, err))
        return -1;
    for (uint32_t i = 0; i < visible->count; i++)
        if (find_number(&gpus[i], source, numbers[i], err))
            return -1;
    sort(gpus, visible->count);
    for (uint32_t i = 0; i < visible->count; i++)
        snprintf(visible->entries[i], sizeof(visible->entries[i]), "%u",
                 is_relative ? i : number_of(source->topo, gpus[i]));
    return 0;
}

/* ---- Names ---- */

/* The GPU part of "GPU-<uuid>" or "MIG-GPU-<uuid>/1/0"; NULL: the name does not tell it. */
static const char *uuid_in(const char *entry, size_t *length)
{
    if (strncmp(entry, "MIG-GPU-", 8) == 0)
        entry += 4;
    *length = strcspn(entry, "/");
    return strncmp(entry, "GPU-", 4) == 0 && *length > 4 ? entry : NULL;
}

/* As CUDA, which takes the beginning of a name that fits one GPU only. */
static int find_name(uint32_t *gpu, const struct dt_devices_source *source, const char *entry,
                     struct dtrain_error *err)
{
    const struct dt_driver *driver = source->driver;
    const struct dt_driver_gpu *found = NULL;
    size_t length;
    const char *uuid = uuid_in(entry, &length);

    if (uuid == NULL)
        return dt_error_set(err,
                            "%s: the GPU of %s is known to its vendor's library only: expected numbers, or "
                            "names that begin with GPU-",
                            source->variable, entry);
    for (uint32_t i = 0; i < driver->count; i++) {
        if (strncasecmp(driver->gpus[i].uuid, uuid, length) != 0)
            continue;
        if (found != NULL)
            return dt_error_set(err, "%s: %s fits several GPUs: expected one", source->variable, entry);
        found = &driver->gpus[i];
    }
    if (found == NULL)
        return dt_error_set(err, "%s: no GPU in " DT_DRIVER_GPUS " has the name %s", source->variable, entry);
    return find_pci(gpu, source, found->pci, err);
}

static int resolve_names(uint32_t gpus[DT_VISIBLE_ENTRIES_MAX], const struct dt_visible *visible,
                         const struct dt_devices_source *source, struct dtrain_error *err)
{
    for (uint32_t i = 0; i < visible->count; i++)
        if (find_name(&gpus[i], source, visible->entries[i], err))
            return -1;
    return 0;
}

static int check_distinct(const uint32_t *gpus, const struct dt_visible *visible,
                          const struct dt_devices_source *source, struct dtrain_error *err)
{
    for (uint32_t i = 1; i < visible->count; i++)
        if (has_number(gpus, i, gpus[i]))
            return dt_error_set(err, "%s: %s is on a GPU that the list has already: expected whole GPUs",
                                source->variable, visible->entries[i]);
    return 0;
}

int dt_devices_resolve(uint32_t gpus[DT_VISIBLE_ENTRIES_MAX], struct dt_visible *visible,
                       const struct dt_devices_source *source, struct dtrain_error *err)
{
    bool are_numbers = visible->count > 0 && strspn(visible->entries[0], "0123456789") > 0;
    int rc = are_numbers ? resolve_numbers(gpus, visible, source, err)
                         : resolve_names(gpus, visible, source, err);

    return rc ? -1 : check_distinct(gpus, visible, source, err);
}
