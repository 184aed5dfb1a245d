/* dp_exchange.h - numbers of the host's between ranks of a communicator; both calls are collective and block.
 */
#ifndef DT_RUNTIME_DP_EXCHANGE_H
#define DT_RUNTIME_DP_EXCHANGE_H

#include "dtrain.h"

struct dt_dp_exchange {
    struct dtrain_world *world;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream;
};

/* all[size * n] = every rank's own[n]. */
int dt_dp_exchange_gather(const struct dt_dp_exchange *exchange, const int64_t *own, size_t n, int64_t *all,
                          struct dtrain_error *err);

/* values[n] of rank 0 on all ranks. */
int dt_dp_exchange_share(const struct dt_dp_exchange *exchange, int64_t *values, size_t n,
                         struct dtrain_error *err);

/*
 * Of size ranks' values, stride apart: the lowest rank whose value is not what most have (of two
 * that as many have, the lower rank's counts); -1: all are equal. *usual: a rank that has it.
 */
int dt_dp_exchange_odd(const int64_t *values, size_t stride, int size, int *usual);

#endif
