#include "topo/bind_swap.h"

#include <string.h>

/* Exchanges raise the sum each time; this bounds them on tables made to be slow. */
#define ROUNDS_MAX 1024

/* What GPU `gpu` adds to group `group`, `without` not counted. */
static int64_t gpu_value(const uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                         uint32_t gpu, uint8_t group, uint32_t without)
{
    int64_t value = 0;

    if (group == DT_BIND_IDLE)
        return 0;
    for (uint32_t i = 0; i < links->count; i++)
        if (part[i] == group && i != gpu && i != without)
            value += links->quality[gpu][i];
    return value;
}

static int64_t swap_gain(const uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links, uint32_t a,
                         uint32_t b)
{
    return gpu_value(part, links, a, part[b], b) + gpu_value(part, links, b, part[a], a) -
           gpu_value(part, links, a, part[a], b) - gpu_value(part, links, b, part[b], a);
}

static bool swap_best(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links)
{
    uint32_t best_a = 0, best_b = 0;
    int64_t best = 0;
    uint8_t kept;

    for (uint32_t a = 0; a < links->count; a++)
        for (uint32_t b = a + 1; b < links->count; b++) {
            int64_t gain = part[a] != part[b] ? swap_gain(part, links, a, b) : 0;

            if (gain > best) {
                best = gain;
                best_a = a;
                best_b = b;
            }
        }
    kept = part[best_a];
    part[best_a] = part[best_b];
    part[best_b] = kept;
    return best > 0;
}

void dt_bind_swap_improve(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links)
{
    for (uint32_t round = 0; round < ROUNDS_MAX; round++)
        if (!swap_best(part, links))
            return;
}

/* The free GPU that adds most to the group; the lowest among equals. */
static uint32_t best_free(const uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                          uint8_t group)
{
    uint32_t best = links->count;
    int64_t best_value = -1;

    for (uint32_t gpu = 0; gpu < links->count; gpu++) {
        int64_t value = part[gpu] == DT_BIND_IDLE ? gpu_value(part, links, gpu, group, gpu) : -1;

        if (value > best_value) {
            best_value = value;
            best = gpu;
        }
    }
    return best;
}

void dt_bind_swap_start(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                        const struct dt_bind_groups *groups)
{
    memset(part, DT_BIND_IDLE, DT_TOPO_GPUS_MAX);
    for (uint32_t size = links->count; size > 0; size--)
        for (uint32_t group = 0; group < groups->count; group++)
            for (uint32_t i = 0; groups->size[group] == size && i < size; i++)
                part[best_free(part, links, (uint8_t)group)] = (uint8_t)group;
}
