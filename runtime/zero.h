/* zero.h - a struct dtrain_zero from inside. All fields are of the thread that calls. */
#ifndef DT_RUNTIME_ZERO_H
#define DT_RUNTIME_ZERO_H

#include "runtime/dp.h"

#define DT_ZERO_PARTS 3 /* as in enum dtrain_zero_part */

/* A parameter's state: piece.count elements in each part. */
struct dt_zero_state {
    enum dtrain_type type;
    struct dt_dp_piece piece;
    void *parts[DT_ZERO_PARTS]; /* the weight may be the value itself */
};

struct dtrain_zero {
    struct dtrain_dp *dp;
    struct dt_zero_state *states; /* [parameters] */
    void *memory;                 /* all parts that are not values */
    size_t bytes;                 /* of it */
    uint64_t steps;
    int groups; /* the highest group that a parameter names, + 1 */
    struct dt_zero_fences *fences[DT_DP_LANES];
};

/* float64 for float64, else float32: also the type of the weights that are updated. */
enum dtrain_type dt_zero_state_type(enum dtrain_type type);

/* Whether the weights that are updated are others than the values. */
bool dt_zero_has_weight(enum dtrain_type type);

/* to[n] = from[n], cast. */
int dt_zero_cast(void *to, enum dtrain_type to_type, const void *from, enum dtrain_type from_type, size_t n,
                 struct dtrain_stream *stream, struct dtrain_error *err);

/* ---- zero_gather.c ----------------------------------------------------------------- */

/*
 * One fence is a stream that has nothing to do but to wait for a run of neighbouring buckets: who
 * waits for it does not wait for the buckets behind them.
 */
#define DT_ZERO_FENCES_MAX 8

int dt_zero_fences_create(struct dt_zero_fences **fences, struct dtrain_dp *dp, const struct dt_dp_lane *lane,
                          struct dtrain_error *err);
void dt_zero_fences_destroy(struct dt_zero_fences *fences);

/* Gathers the bucket's values once what is queued on stream has run. In the order of places, 0 first. */
int dt_zero_gather(struct dt_zero_fences *fences, size_t bucket, size_t place, struct dtrain_stream *stream,
                   struct dtrain_error *err);

/* stream waits for the bucket's values. */
int dt_zero_gather_wait(struct dt_zero_fences *fences, size_t bucket, struct dtrain_stream *stream,
                        struct dtrain_error *err);

#endif
