/* tp.h - what the files of tensor parallelism share: checked calls and shards of rows between ranks. */
#ifndef DT_RUNTIME_TP_H
#define DT_RUNTIME_TP_H

#include "dtrain_tp.h"
#include "runtime/lane.h"

/* tp's streams and communicator. tp is not NULL. */
struct dt_lane dt_tp_lane(const struct dtrain_tp *tp);

/* tp's handles and type, before anything else of a call. */
int dt_tp_check(const struct dtrain_tp *tp, const char *function, struct dtrain_error *err);

/* UNEVEN shard of one of the group's ranks, with arguments that were checked. */
struct dtrain_tp_shard dt_tp_shard_of(const struct dtrain_tp *tp, int rank, size_t total, size_t multiple);

/*
 * One call on a matrix [rows, n] of which each rank has its UNEVEN shard of the rows, in multiples. Checked
 * by dt_tp_rows_check(), which fills row_bytes; the others queue on tp->stream.
 */
struct dt_tp_rows {
    const struct dtrain_tp *tp;
    const char *function;
    size_t rows, n, multiple;
    size_t row_bytes;
};
int dt_tp_rows_check(struct dt_tp_rows *matrix, const void *whole, const void *own, struct dtrain_error *err);
/* whole = all ranks' own; own may be its place in whole. */
int dt_tp_rows_gather(const struct dt_tp_rows *matrix, const void *own, void *whole,
                      struct dtrain_error *err);
/* own = the own rows of the sum of all ranks' whole; overwrites whole where shards differ. */
int dt_tp_rows_reduce(const struct dt_tp_rows *matrix, void *whole, void *own, struct dtrain_error *err);

#endif
