#include "core/error.h"
#include "runtime/math.h"
#include "tp.h"

/* ---- f and g ---------------------------------------------------------------- */

/* Checks the call and lets tp->stream see what compute has done. */
static int start(struct dt_tp_rows *matrix, const void *whole, const void *own, struct dtrain_error *err)
{
    struct dt_lane lane;

    if (dt_tp_rows_check(matrix, whole, own, err) != 0)
        return -1;
    lane = dt_tp_lane(matrix->tp);
    return dt_lane_start(&lane, err);
}

static int widen(const struct dtrain_tp *tp, const char *function, const void *own, void *whole, size_t rows,
                 size_t n, struct dtrain_error *err)
{
    struct dt_tp_rows matrix = {.tp = tp, .function = function, .rows = rows, .n = n, .multiple = 1};

    if (start(&matrix, whole, own, err) != 0)
        return -1;
    if (tp->is_sequence)
        return dt_tp_rows_gather(&matrix, own, whole, err);
    return dtrain_copy(whole, own, rows * matrix.row_bytes, tp->stream, err);
}

static int sum(const struct dtrain_tp *tp, const char *function, void *whole, void *own, size_t rows,
               size_t n, struct dtrain_error *err)
{
    struct dt_tp_rows matrix = {.tp = tp, .function = function, .rows = rows, .n = n, .multiple = 1};

    if (start(&matrix, whole, own, err) != 0)
        return -1;
    if (tp->is_sequence)
        return dt_tp_rows_reduce(&matrix, whole, own, err);
    return dtrain_all_reduce(tp->comm, whole, own, rows * n, tp->type, DTRAIN_SUM, tp->stream, err);
}

int dtrain_tp_f_forward(const struct dtrain_tp *tp, const void *own, void *whole, size_t rows, size_t n,
                        struct dtrain_error *err)
{
    return widen(tp, "dtrain_tp_f_forward", own, whole, rows, n, err);
}

int dtrain_tp_f_backward(const struct dtrain_tp *tp, void *whole, void *own, size_t rows, size_t n,
                         struct dtrain_error *err)
{
    return sum(tp, "dtrain_tp_f_backward", whole, own, rows, n, err);
}

int dtrain_tp_g_forward(const struct dtrain_tp *tp, void *whole, void *own, size_t rows, size_t n,
                        struct dtrain_error *err)
{
    return sum(tp, "dtrain_tp_g_forward", whole, own, rows, n, err);
}

int dtrain_tp_g_backward(const struct dtrain_tp *tp, const void *own, void *whole, size_t rows, size_t n,
                         struct dtrain_error *err)
{
    return widen(tp, "dtrain_tp_g_backward", own, whole, rows, n, err);
}

/* ---- Gather and scatter ------------------------------------------------------- */

/*
 * Columns are moved as the rows of the transposed order: block after block, rows * (a rank's columns)
 * elements each, which rows of n = rows elements describe.
 */
static struct dt_tp_rows blocks_of(const struct dtrain_tp *tp, const char *function,
                                   const struct dtrain_tp_split *split)
{
    bool is_rows = split->dimension == DTRAIN_TP_ROWS;

    return (struct dt_tp_rows){.tp = tp,
                               .function = function,
                               .rows = is_rows ? split->rows : split->columns,
                               .n = is_rows ? split->columns : split->rows,
                               .multiple = split->multiple};
}

static int start_split(struct dt_tp_rows *blocks, const struct dtrain_tp *tp, const char *function,
                       const struct dtrain_tp_split *split, const void *whole, const void *own,
                       struct dtrain_error *err)
{
    if (split == NULL)
        return dt_error_set(err, "%s: split is NULL", function);
    if (split->dimension != DTRAIN_TP_ROWS && split->dimension != DTRAIN_TP_COLUMNS)
        return dt_error_set(err,
                            "%s: dimension %d is not known: expected DTRAIN_TP_ROWS or DTRAIN_TP_COLUMNS",
                            function, (int)split->dimension);
    *blocks = blocks_of(tp, function, split);
    return start(blocks, whole, own, err);
}

/* One rank's block [rows, its columns] in, or out of, its place in whole. */
static int copy_columns(const struct dtrain_tp *tp, const struct dtrain_tp_split *split,
                        const struct dtrain_tp_shard *shard, char *whole, char *block, bool is_out,
                        struct dtrain_error *err)
{
    size_t element = dtrain_type_size(tp->type), pitch = split->columns * element,
           width = shard->count * element;
    char *place = whole + shard->first * element;
    struct dt_math math = {.kind = DT_MATH_COPY_2D};

    math.copy_2d = (struct dt_math_copy_2d){
        .to = is_out ? block : place,
        .from = is_out ? place : block,
        .to_pitch = is_out ? width : pitch,
        .from_pitch = is_out ? pitch : width,
        .width = width,
        .rows = split->rows,
    };
    return width == 0 || split->rows == 0 ? 0 : dt_math_enqueue(&math, tp->stream, err);
}

static int place_columns(const struct dtrain_tp *tp, const struct dtrain_tp_split *split, char *workspace,
                         char *whole, struct dtrain_error *err)
{
    size_t element = dtrain_type_size(tp->type);

    for (int i = 0; i < dtrain_comm_size(tp->comm); i++) {
        struct dtrain_tp_shard shard = dt_tp_shard_of(tp, i, split->columns, split->multiple);

        if (copy_columns(tp, split, &shard, whole, workspace + shard.first * split->rows * element, false,
                         err) != 0)
            return -1;
    }
    return 0;
}

int dtrain_tp_gather(const struct dtrain_tp *tp, const struct dtrain_tp_split *split, const void *own,
                     void *whole, void *workspace, struct dtrain_error *err)
{
    struct dt_tp_rows blocks;

    if (start_split(&blocks, tp, "dtrain_tp_gather", split, whole, own, err) != 0)
        return -1;
    if (split->dimension == DTRAIN_TP_ROWS)
        return dt_tp_rows_gather(&blocks, own, whole, err);
    if (dt_lane_check_buffer("dtrain_tp_gather", "workspace", workspace, blocks.rows * blocks.row_bytes,
                             err) != 0 ||
        dt_tp_rows_gather(&blocks, own, workspace, err) != 0)
        return -1;
    return place_columns(tp, split, workspace, whole, err);
}

int dtrain_tp_scatter(const struct dtrain_tp *tp, const struct dtrain_tp_split *split, const void *whole,
                      void *own, struct dtrain_error *err)
{
    struct dt_tp_rows blocks;
    struct dtrain_tp_shard shard;

    if (start_split(&blocks, tp, "dtrain_tp_scatter", split, whole, own, err) != 0)
        return -1;
    shard = dt_tp_shard_of(tp, dtrain_comm_rank(tp->comm), blocks.rows, blocks.multiple);
    if (split->dimension == DTRAIN_TP_ROWS)
        return dtrain_copy(own, (const char *)whole + shard.first * blocks.row_bytes,
                           shard.count * blocks.row_bytes, tp->stream, err);
    return copy_columns(tp, split, &shard, (char *)whole, own, true, err);
}
