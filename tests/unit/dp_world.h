/*
 * dp_world.h - whole worlds of the host backend in threads of one process, so
 * that sanitizers see all ranks at once. A rank that fails says why; the others
 * end by their deadlines.
 */
#ifndef DT_TESTS_DP_WORLD_H
#define DT_TESTS_DP_WORLD_H

#include "dtrain_dp.h"
#include "runtime/backend.h"

struct dp_layout {
    uint32_t nodes, tasks;        /* tasks on each node */
    uint32_t tp, cp, pp, ep, etp; /* 0: 1 */
};

/* One rank while its body runs. */
struct dp_rank {
    struct dtrain_world *world;
    struct dtrain_stream *stream;
    int rank, size;
    void *argument;
    struct dtrain_error err;
};

/* false: the rank failed, and r->err or a printed line says why. */
typedef bool dp_body(struct dp_rank *r);

/* Runs the body on all ranks and returns how many failed. backend NULL: the host's. */
int dp_run(const struct dp_layout *layout, const struct dt_backend *backend, dp_body *body, void *argument);

/* A number in [-1, 1) that depends on all of these only. */
double dp_random(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* memory[n] of type = values: through the stream's order, and waits. */
bool dp_put(struct dp_rank *r, void *memory, enum dtrain_type type, size_t n, const double *values);
bool dp_take(struct dp_rank *r, double *values, const void *memory, enum dtrain_type type, size_t n);

#endif
