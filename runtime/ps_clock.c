#include "ps_clock.h"

#include <stdlib.h>

#include "core/error.h"

int dt_ps_clock_create(struct dt_ps_clock *clock, size_t workers, size_t pieces, int staleness,
                       struct dtrain_error *err)
{
    *clock = (struct dt_ps_clock){.workers = workers, .pieces = pieces, .staleness = staleness};
    clock->state = calloc(workers, sizeof(*clock->state));
    clock->pushed = calloc(workers * pieces + 1, sizeof(*clock->pushed));
    clock->updates = calloc(pieces + 1, sizeof(*clock->updates));
    if (clock->state == NULL || clock->pushed == NULL || clock->updates == NULL)
        return dt_error_memory(err, workers * pieces * sizeof(*clock->pushed), "the workers' steps");
    return 0;
}

void dt_ps_clock_destroy(struct dt_ps_clock *clock)
{
    free(clock->state);
    free(clock->pushed);
    free(clock->updates);
}

uint64_t dt_ps_clock_pushed(const struct dt_ps_clock *clock, size_t worker, size_t piece)
{
    return clock->pushed[worker * clock->pieces + piece];
}

uint64_t dt_ps_clock_steps(const struct dt_ps_clock *clock, size_t worker)
{
    uint64_t least = clock->pieces > 0 ? UINT64_MAX : 0;

    for (size_t i = 0; i < clock->pieces; i++)
        if (dt_ps_clock_pushed(clock, worker, i) < least)
            least = dt_ps_clock_pushed(clock, worker, i);
    return least;
}

size_t dt_ps_clock_working(const struct dt_ps_clock *clock)
{
    size_t n = 0;

    for (size_t w = 0; w < clock->workers; w++)
        n += clock->state[w] == DTRAIN_PS_WORKS;
    return n;
}

/* Of those that work; UINT64_MAX: nobody does. */
static uint64_t slowest(const struct dt_ps_clock *clock, size_t piece)
{
    uint64_t least = UINT64_MAX;

    for (size_t w = 0; w < clock->workers; w++)
        if (clock->state[w] == DTRAIN_PS_WORKS && dt_ps_clock_pushed(clock, w, piece) < least)
            least = dt_ps_clock_pushed(clock, w, piece);
    return least;
}

bool dt_ps_clock_may_go(const struct dt_ps_clock *clock, size_t worker, size_t piece)
{
    uint64_t least = slowest(clock, piece), own = dt_ps_clock_pushed(clock, worker, piece);

    return clock->staleness == DTRAIN_PS_UNBOUNDED || own <= least ||
           own - least <= (uint64_t)clock->staleness;
}

bool dt_ps_clock_is_complete(const struct dt_ps_clock *clock, size_t piece)
{
    uint64_t least = slowest(clock, piece);

    return least != UINT64_MAX && least > clock->updates[piece];
}

bool dt_ps_clock_contributes(const struct dt_ps_clock *clock, size_t worker, size_t piece)
{
    return dt_ps_clock_pushed(clock, worker, piece) > clock->updates[piece];
}
