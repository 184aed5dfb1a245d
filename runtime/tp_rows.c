#include <stdlib.h>

#include "core/error.h"
#include "tp.h"

struct dt_lane dt_tp_lane(const struct dtrain_tp *tp)
{
    return (struct dt_lane){tp->comm, tp->stream, tp->compute};
}

int dt_tp_check(const struct dtrain_tp *tp, const char *function, struct dtrain_error *err)
{
    struct dt_lane lane;

    if (tp == NULL)
        return dt_error_set(err, "%s: tp is NULL", function);
    lane = dt_tp_lane(tp);
    return dt_lane_check(&lane, function, tp->type, err);
}

int dtrain_tp_finish(const struct dtrain_tp *tp, struct dtrain_error *err)
{
    struct dt_lane lane;

    if (dt_tp_check(tp, "dtrain_tp_finish", err) != 0)
        return -1;
    lane = dt_tp_lane(tp);
    return dt_lane_finish(&lane, err);
}

struct dtrain_tp_shard dt_tp_shard_of(const struct dtrain_tp *tp, int rank, size_t total, size_t multiple)
{
    struct dtrain_tp_shard shard = {0};

    dtrain_tp_shard(total, dtrain_comm_size(tp->comm), rank, multiple, DTRAIN_TP_UNEVEN, &shard, NULL);
    return shard;
}

static struct dtrain_tp_shard shard_of(const struct dt_tp_rows *matrix, int rank)
{
    return dt_tp_shard_of(matrix->tp, rank, matrix->rows, matrix->multiple);
}

static struct dtrain_tp_shard own_shard(const struct dt_tp_rows *matrix)
{
    return shard_of(matrix, dtrain_comm_rank(matrix->tp->comm));
}

int dt_tp_rows_check(struct dt_tp_rows *matrix, const void *whole, const void *own, struct dtrain_error *err)
{
    struct dtrain_tp_shard shard;
    size_t bytes;

    if (dt_tp_check(matrix->tp, matrix->function, err) != 0 ||
        dt_lane_bytes(matrix->rows, matrix->n, 1, matrix->tp->type, "an array", &bytes, err) != 0 ||
        dtrain_tp_shard(matrix->rows, dtrain_comm_size(matrix->tp->comm), dtrain_comm_rank(matrix->tp->comm),
                        matrix->multiple, DTRAIN_TP_UNEVEN, &shard, err) != 0)
        return -1;
    matrix->row_bytes = matrix->n * dtrain_type_size(matrix->tp->type);
    if (dt_lane_check_buffer(matrix->function, "whole", whole, bytes, err) != 0)
        return -1;
    return dt_lane_check_buffer(matrix->function, "own", own, shard.count * matrix->row_bytes, err);
}

/* All shards are of one size. */
static bool is_even(const struct dt_tp_rows *matrix)
{
    struct dtrain_tp_shard last = shard_of(matrix, dtrain_comm_size(matrix->tp->comm) - 1);

    return last.count == last.padded;
}

static char *place_of(const struct dt_tp_rows *matrix, const void *whole, const struct dtrain_tp_shard *shard)
{
    return (char *)whole + shard->first * matrix->row_bytes;
}

/* Everyone sends its rows to everyone; shards without rows are left out on both sides. */
static int gather_uneven(const struct dt_tp_rows *matrix, const void *own, void *whole,
                         struct dtrain_error *err)
{
    struct dtrain_comm *comm = matrix->tp->comm;
    int size = dtrain_comm_size(comm), rank = dtrain_comm_rank(comm), rc;
    struct dtrain_transfer *transfers = malloc(2 * (size_t)size * sizeof(*transfers));
    struct dtrain_tp_shard mine = own_shard(matrix);
    size_t n = 0;

    if (transfers == NULL)
        return dt_error_memory(err, 2 * (size_t)size * sizeof(*transfers), "transfers");
    for (int i = 1; i < size; i++) {
        int to = (rank + i) % size, from = (rank + size - i) % size;
        struct dtrain_tp_shard theirs = shard_of(matrix, from);

        if (mine.count > 0)
            transfers[n++] =
                (struct dtrain_transfer){true, to, matrix->tp->type, mine.count * matrix->n, (void *)own};
        if (theirs.count > 0)
            transfers[n++] = (struct dtrain_transfer){false, from, matrix->tp->type, theirs.count * matrix->n,
                                                      place_of(matrix, whole, &theirs)};
    }
    rc = dtrain_transfer(comm, transfers, n, matrix->tp->stream, err);
    free(transfers);
    return rc != 0 ? -1
                   : dtrain_copy(place_of(matrix, whole, &mine), own, mine.count * matrix->row_bytes,
                                 matrix->tp->stream, err);
}

int dt_tp_rows_gather(const struct dt_tp_rows *matrix, const void *own, void *whole, struct dtrain_error *err)
{
    if (!is_even(matrix))
        return gather_uneven(matrix, own, whole, err);
    return dtrain_all_gather(matrix->tp->comm, own, whole, own_shard(matrix).count * matrix->n,
                             matrix->tp->type, matrix->tp->stream, err);
}

int dt_tp_rows_reduce(const struct dt_tp_rows *matrix, void *whole, void *own, struct dtrain_error *err)
{
    const struct dtrain_tp *tp = matrix->tp;
    struct dtrain_tp_shard mine = own_shard(matrix);

    if (is_even(matrix))
        return dtrain_reduce_scatter(tp->comm, whole, own, mine.count * matrix->n, tp->type, DTRAIN_SUM,
                                     tp->stream, err);
    if (dtrain_all_reduce(tp->comm, whole, whole, matrix->rows * matrix->n, tp->type, DTRAIN_SUM, tp->stream,
                          err) != 0)
        return -1;
    return dtrain_copy(own, place_of(matrix, whole, &mine), mine.count * matrix->row_bytes, tp->stream, err);
}
