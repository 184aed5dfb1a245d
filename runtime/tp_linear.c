#include "core/error.h"
#include "tp.h"

/* A product's callback on some rows. */
typedef int rows_callback(void *context, size_t first, size_t count, struct dtrain_error *err);

static int check(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, const char *function,
                 struct dtrain_error *err)
{
    if (dt_tp_check(tp, function, err) != 0)
        return -1;
    if (linear == NULL || linear->product == NULL || linear->input_gradient == NULL ||
        linear->weight_gradient == NULL)
        return dt_error_set(err, "%s: linear or one of its products is NULL", function);
    return 0;
}

static int call(const struct dtrain_tp_linear *linear, rows_callback *callback, size_t first, size_t count,
                struct dtrain_error *err)
{
    return count == 0 ? 0 : callback(linear->context, first, count, err);
}

/* ---- A ring of rows beside a product ------------------------------------------ */

/* One step of the ring: passes on the rows of rank `sent`, gets those of rank `received`. */
static int pass_rows(const struct dt_tp_rows *matrix, char *whole, int sent, int received,
                     struct dtrain_error *err)
{
    const struct dtrain_tp *tp = matrix->tp;
    int size = dtrain_comm_size(tp->comm), rank = dtrain_comm_rank(tp->comm);
    struct dtrain_tp_shard out = dt_tp_shard_of(tp, sent, matrix->rows, 1);
    struct dtrain_tp_shard in = dt_tp_shard_of(tp, received, matrix->rows, 1);
    struct dtrain_transfer transfers[2];
    size_t n = 0;

    if (out.count > 0)
        transfers[n++] = (struct dtrain_transfer){true, (rank + 1) % size, tp->type, out.count * matrix->n,
                                                  whole + out.first * matrix->row_bytes};
    if (in.count > 0)
        transfers[n++] = (struct dtrain_transfer){false, (rank + size - 1) % size, tp->type,
                                                  in.count * matrix->n, whole + in.first * matrix->row_bytes};
    return dtrain_transfer(tp->comm, transfers, n, tp->stream, err);
}

static int call_on_shard(const struct dt_tp_rows *matrix, const struct dtrain_tp_linear *linear,
                         rows_callback *callback, int owner, struct dtrain_error *err)
{
    struct dtrain_tp_shard shard = dt_tp_shard_of(matrix->tp, owner, matrix->rows, 1);

    return call(linear, callback, shard.first, shard.count, err);
}

/* Each step's rows are on their way while the callback computes on those of the step before. */
static int ring(const struct dt_tp_rows *matrix, const struct dtrain_tp_linear *linear,
                rows_callback *callback, char *whole, struct dtrain_error *err)
{
    const struct dtrain_tp *tp = matrix->tp;
    int size = dtrain_comm_size(tp->comm), rank = dtrain_comm_rank(tp->comm);
    struct dt_lane lane = dt_tp_lane(tp);

    for (int step = 0; step < size; step++) {
        int here = (rank + size - step) % size, next = (here + size - 1) % size;

        if (dt_lane_finish(&lane, err) != 0 ||
            (step + 1 < size && pass_rows(matrix, whole, here, next, err) != 0) ||
            call_on_shard(matrix, linear, callback, here, err) != 0)
            return -1;
    }
    return 0;
}

/* whole = all ranks' own, with the callback on each rank's rows as they come. */
static int gather_beside(struct dt_tp_rows *matrix, const struct dtrain_tp_linear *linear,
                         rows_callback *callback, const void *own, void *whole, struct dtrain_error *err)
{
    struct dt_lane lane;
    struct dtrain_tp_shard mine;

    if (dt_tp_rows_check(matrix, whole, own, err) != 0)
        return -1;
    lane = dt_tp_lane(matrix->tp);
    mine = dt_tp_shard_of(matrix->tp, dtrain_comm_rank(matrix->tp->comm), matrix->rows, 1);
    if (dt_lane_start(&lane, err) != 0 ||
        dtrain_copy((char *)whole + mine.first * matrix->row_bytes, own, mine.count * matrix->row_bytes,
                    matrix->tp->stream, err) != 0)
        return -1;
    return ring(matrix, linear, callback, whole, err);
}

/* ---- Column parallel ------------------------------------------------------------ */

int dtrain_tp_column_forward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, const void *x,
                             void *whole, size_t n, struct dtrain_error *err)
{
    struct dt_tp_rows matrix = {.tp = tp, .function = "dtrain_tp_column_forward", .n = n, .multiple = 1};

    if (check(tp, linear, matrix.function, err) != 0)
        return -1;
    if (!tp->is_sequence)
        return call(linear, linear->product, 0, linear->rows, err);
    matrix.rows = linear->rows;
    return gather_beside(&matrix, linear, linear->product, x, whole, err);
}

int dtrain_tp_column_backward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear,
                              const void *x, void *whole, void *dwhole, void *dx, size_t n,
                              struct dtrain_error *err)
{
    if (check(tp, linear, "dtrain_tp_column_backward", err) != 0 ||
        (tp->is_sequence && dtrain_tp_f_forward(tp, x, whole, linear->rows, n, err) != 0) ||
        call(linear, linear->input_gradient, 0, linear->rows, err) != 0 ||
        (tp->is_sequence && dtrain_tp_finish(tp, err) != 0) ||
        dtrain_tp_f_backward(tp, dwhole, dx, linear->rows, n, err) != 0 ||
        linear->weight_gradient(linear->context, err) != 0)
        return -1;
    return dtrain_tp_finish(tp, err);
}

/* ---- Row parallel --------------------------------------------------------------- */

/* The sum of one part moves while the next one is computed. */
static int product_by_parts(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, int chunks,
                            char *whole, char *own, size_t n, struct dtrain_error *err)
{
    size_t row_bytes = n * dtrain_type_size(tp->type);

    for (int i = 0; i < chunks; i++) {
        struct dtrain_tp_shard part;

        if (dtrain_tp_shard(linear->rows, chunks, i, 1, DTRAIN_TP_UNEVEN, &part, err) != 0 ||
            call(linear, linear->product, part.first, part.count, err) != 0)
            return -1;
        if (part.count > 0 && dtrain_tp_g_forward(tp, whole + part.first * row_bytes,
                                                  own + part.first * row_bytes, part.count, n, err) != 0)
            return -1;
    }
    return dtrain_tp_finish(tp, err);
}

int dtrain_tp_row_forward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, int chunks,
                          void *whole, void *own, size_t n, struct dtrain_error *err)
{
    struct dt_tp_rows matrix = {.tp = tp, .function = "dtrain_tp_row_forward", .n = n, .multiple = 1};

    if (check(tp, linear, matrix.function, err) != 0)
        return -1;
    matrix.rows = linear->rows;
    if (chunks < 1)
        return dt_error_set(err, "dtrain_tp_row_forward: chunks is %d: expected 1 or more", chunks);
    if (dt_tp_rows_check(&matrix, whole, own, err) != 0)
        return -1;
    if (!tp->is_sequence)
        return product_by_parts(tp, linear, chunks, whole, own, n, err);
    if (call(linear, linear->product, 0, linear->rows, err) != 0 ||
        dtrain_tp_g_forward(tp, whole, own, linear->rows, n, err) != 0)
        return -1;
    return dtrain_tp_finish(tp, err);
}

int dtrain_tp_row_backward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, const void *dy,
                           void *whole, size_t n, struct dtrain_error *err)
{
    struct dt_tp_rows matrix = {.tp = tp, .function = "dtrain_tp_row_backward", .n = n, .multiple = 1};

    if (check(tp, linear, matrix.function, err) != 0)
        return -1;
    matrix.rows = linear->rows;
    if (!tp->is_sequence) {
        if (call(linear, linear->input_gradient, 0, linear->rows, err) != 0)
            return -1;
    } else if (gather_beside(&matrix, linear, linear->input_gradient, dy, whole, err) != 0) {
        return -1;
    }
    return linear->weight_gradient(linear->context, err);
}
