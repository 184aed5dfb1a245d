#include "topo/bind_ring.h"

#include <string.h>

#define TURNS_MAX 4096u

struct ring {
    const struct dt_bind_links *links;
    uint32_t count;
    uint32_t gpus[DT_BIND_RING_EXACT_MAX], best[DT_BIND_RING_EXACT_MAX];
    uint32_t best_worst;
    uint64_t best_sum;
    bool is_found;
};

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void ring_close(struct ring *ring, uint32_t worst, uint64_t sum)
{
    uint32_t last = ring->links->quality[ring->gpus[ring->count - 1]][ring->gpus[0]];

    worst = lesser(worst, last);
    sum += last;
    if (ring->is_found && (worst < ring->best_worst || (worst == ring->best_worst && sum <= ring->best_sum)))
        return;
    ring->is_found = true;
    ring->best_worst = worst;
    ring->best_sum = sum;
    memcpy(ring->best, ring->gpus, sizeof(ring->best));
}

/* Puts each of the GPUs from `at` on there in turn, the others keeping their order. */
static void ring_extend(struct ring *ring, uint32_t at, uint32_t worst, uint64_t sum)
{
    if (at == ring->count) {
        ring_close(ring, worst, sum);
        return;
    }
    for (uint32_t i = at; i < ring->count; i++) {
        uint32_t gpu = ring->gpus[i], link = ring->links->quality[ring->gpus[at - 1]][gpu];

        if (ring->is_found && lesser(worst, link) < ring->best_worst)
            continue;
        memmove(ring->gpus + at + 1, ring->gpus + at, (i - at) * sizeof(gpu));
        ring->gpus[at] = gpu;
        ring_extend(ring, at + 1, lesser(worst, link), sum + link);
        memmove(ring->gpus + at, ring->gpus + at + 1, (i - at) * sizeof(gpu));
        ring->gpus[i] = gpu;
    }
}

/* Turns the stretch from..to round if that raises the sum. */
static bool ring_turn(uint32_t *gpus, uint32_t count, const struct dt_bind_links *links, uint32_t from,
                      uint32_t to)
{
    uint32_t before = gpus[from - 1], after = gpus[(to + 1) % count];
    uint64_t now = (uint64_t)links->quality[before][gpus[from]] + links->quality[gpus[to]][after];
    uint64_t then = (uint64_t)links->quality[before][gpus[to]] + links->quality[gpus[from]][after];

    if (then <= now)
        return false;
    for (; from < to; from++, to--) {
        uint32_t kept = gpus[from];

        gpus[from] = gpus[to];
        gpus[to] = kept;
    }
    return true;
}

static bool ring_turn_any(uint32_t *gpus, uint32_t count, const struct dt_bind_links *links)
{
    for (uint32_t from = 1; from < count - 1; from++)
        for (uint32_t to = from + 1; to < count; to++)
            if (ring_turn(gpus, count, links, from, to))
                return true;
    return false;
}

void dt_bind_ring(uint32_t *gpus, uint32_t count, const struct dt_bind_links *links)
{
    struct ring ring = {.links = links, .count = count};

    if (count < 4)
        return;
    if (count > DT_BIND_RING_EXACT_MAX) {
        for (uint32_t turn = 0; turn < TURNS_MAX && ring_turn_any(gpus, count, links); turn++)
            continue;
        return;
    }
    memcpy(ring.gpus, gpus, count * sizeof(*gpus));
    ring_extend(&ring, 1, UINT32_MAX, 0);
    memcpy(gpus, ring.best, count * sizeof(*gpus));
}
