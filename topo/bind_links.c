#include "topo/bind_links.h"

uint64_t dt_bind_links_sum(const struct dt_bind_links *links, const uint8_t part[DT_TOPO_GPUS_MAX])
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < links->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (part[i] == part[j] && part[i] != DT_BIND_IDLE)
                sum += links->quality[i][j];
    return sum;
}

uint64_t dt_bind_links_bound(const struct dt_bind_links *links, const struct dt_bind_groups *groups)
{
    uint64_t pairs = 0;
    uint32_t best = 0;

    for (uint32_t i = 0; i < links->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (links->quality[i][j] > best)
                best = links->quality[i][j];
    for (uint32_t group = 0; group < groups->count; group++)
        pairs += (uint64_t)groups->size[group] * (groups->size[group] - 1) / 2;
    return pairs * best;
}

/* The first group of this size that no set has yet. */
static uint8_t next_group(const struct dt_bind_groups *groups, uint64_t taken, uint32_t size)
{
    uint32_t group = 0;

    while (groups->size[group] != size || taken >> group & 1)
        group++;
    return (uint8_t)group;
}

void dt_bind_links_sort(uint8_t part[DT_TOPO_GPUS_MAX], uint32_t gpu_count,
                        const struct dt_bind_groups *groups)
{
    uint8_t renamed[DT_TOPO_GPUS_MAX];
    uint64_t seen = 0, taken = 0;

    for (uint32_t gpu = 0; gpu < gpu_count; gpu++) {
        uint8_t group = part[gpu];

        if (group == DT_BIND_IDLE)
            continue;
        if (!(seen >> group & 1)) {
            seen |= UINT64_C(1) << group;
            renamed[group] = next_group(groups, taken, groups->size[group]);
            taken |= UINT64_C(1) << renamed[group];
        }
        part[gpu] = renamed[group];
    }
}
