/*
 * ps_clock.h - how far the workers are in each piece of one server, who must wait,
 * and when a step is complete: pure, of one thread at a time.
 */
#ifndef DT_RUNTIME_PS_CLOCK_H
#define DT_RUNTIME_PS_CLOCK_H

#include "dtrain_ps.h"

struct dt_ps_clock {
    size_t workers, pieces;
    int staleness;               /* DTRAIN_PS_UNBOUNDED: nobody waits */
    enum dtrain_ps_state *state; /* [workers] */
    uint64_t *pushed;            /* [workers][pieces] steps */
    uint64_t *updates;           /* [pieces]; with staleness 0 the steps that are complete */
};

/* dt_ps_clock_destroy() ends it, also after -1. */
int dt_ps_clock_create(struct dt_ps_clock *clock, size_t workers, size_t pieces, int staleness,
                       struct dtrain_error *err);
void dt_ps_clock_destroy(struct dt_ps_clock *clock);

uint64_t dt_ps_clock_pushed(const struct dt_ps_clock *clock, size_t worker, size_t piece);
/* Of all pieces; 0 when there are none. */
uint64_t dt_ps_clock_steps(const struct dt_ps_clock *clock, size_t worker);
/* How many work. */
size_t dt_ps_clock_working(const struct dt_ps_clock *clock);

/*
 * Whether the worker may begin the step after those that it pushed: it is not more
 * than staleness ahead of the slowest that works. Its pulls and its next push wait for it.
 */
bool dt_ps_clock_may_go(const struct dt_ps_clock *clock, size_t worker, size_t piece);

/* All that work have pushed the step after the last update, and somebody works. */
bool dt_ps_clock_is_complete(const struct dt_ps_clock *clock, size_t piece);
/* Whether the worker's gradient is in the update that comes next; also one's that works no more. */
bool dt_ps_clock_contributes(const struct dt_ps_clock *clock, size_t worker, size_t piece);

#endif
