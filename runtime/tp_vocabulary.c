#include "core/error.h"
#include "runtime/math.h"
#include "tp.h"

/* ---- Embedding -------------------------------------------------------------- */

static int check_embedding(const struct dtrain_tp *tp, const struct dtrain_tp_embedding *embedding,
                           const char *function, struct dtrain_error *err)
{
    struct dt_lane lane;
    size_t bytes;

    if (dt_tp_check(tp, function, err) != 0)
        return -1;
    if (embedding == NULL)
        return dt_error_set(err, "%s: embedding is NULL", function);
    lane = dt_tp_lane(tp);
    if (dt_lane_check(&lane, function, embedding->table_type, err) != 0 ||
        dt_lane_bytes(embedding->shard.count, embedding->n, 1, embedding->table_type, "a table", &bytes,
                      err) != 0 ||
        dt_lane_check_buffer(function, "table", embedding->table, bytes, err) != 0)
        return -1;
    return dt_lane_check_buffer(function, "tokens", embedding->tokens, embedding->rows * sizeof(int32_t),
                                err);
}

static int enqueue_embedding(const struct dtrain_tp *tp, const struct dtrain_tp_embedding *embedding,
                             enum dt_math_kind kind, void *out, struct dtrain_error *err)
{
    struct dt_math math = {.kind = kind};

    math.embedding = (struct dt_math_embedding){
        .out = out,
        .table = embedding->table,
        .type = tp->type,
        .table_type = embedding->table_type,
        .tokens = embedding->tokens,
        .first = embedding->shard.first,
        .real = embedding->shard.count,
        .rows = embedding->rows,
        .n = embedding->n,
    };
    return embedding->rows == 0 || embedding->n == 0 ? 0 : dt_math_enqueue(&math, tp->stream, err);
}

/* Each rank's shard gives its tokens' rows and 0 for the others: their sum is the embedding. */
int dtrain_tp_embedding_forward(const struct dtrain_tp *tp, const struct dtrain_tp_embedding *embedding,
                                void *whole, void *own, struct dtrain_error *err)
{
    struct dt_tp_rows matrix = {.tp = tp, .function = "dtrain_tp_embedding_forward", .multiple = 1};
    struct dt_lane lane;

    if (check_embedding(tp, embedding, matrix.function, err) != 0)
        return -1;
    matrix.rows = embedding->rows;
    matrix.n = embedding->n;
    lane = dt_tp_lane(tp);
    if (dt_tp_rows_check(&matrix, whole, own, err) != 0 || dt_lane_start(&lane, err) != 0 ||
        enqueue_embedding(tp, embedding, DT_MATH_EMBEDDING, whole, err) != 0)
        return -1;
    return dtrain_tp_g_forward(tp, whole, own, embedding->rows, embedding->n, err);
}

int dtrain_tp_embedding_backward(const struct dtrain_tp *tp, const struct dtrain_tp_embedding *embedding,
                                 const void *own, void *whole, struct dtrain_error *err)
{
    void *d = tp != NULL && tp->is_sequence ? whole : (void *)own;

    if (check_embedding(tp, embedding, "dtrain_tp_embedding_backward", err) != 0 ||
        dtrain_tp_g_backward(tp, own, d, embedding->rows, embedding->n, err) != 0)
        return -1;
    return enqueue_embedding(tp, embedding, DT_MATH_EMBEDDING_GRADIENT, d, err);
}

/* ---- Cross-entropy ----------------------------------------------------------- */

enum { SUMS = 3 }; /* of LOSS_SUMS, beside the maximum */

enum dtrain_type dtrain_tp_loss_type(enum dtrain_type logits)
{
    return logits == DTRAIN_FLOAT64 ? DTRAIN_FLOAT64 : DTRAIN_FLOAT32;
}

size_t dtrain_tp_loss_workspace(size_t rows, enum dtrain_type logits)
{
    return (1 + SUMS) * rows * dtrain_type_size(dtrain_tp_loss_type(logits));
}

static int check_loss(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss, const char *function,
                      struct dtrain_error *err)
{
    size_t bytes, sums;

    if (dt_tp_check(tp, function, err) != 0)
        return -1;
    if (loss == NULL)
        return dt_error_set(err, "%s: loss is NULL", function);
    if (loss->shard.count > loss->columns)
        return dt_error_set(err, "%s: columns is %zu but the shard has %zu tokens", function, loss->columns,
                            loss->shard.count);
    if (loss->vocabulary < 1 || loss->shard.count > loss->vocabulary)
        return dt_error_set(err,
                            "%s: vocabulary is %zu: expected all ranks' tokens, of which the shard has %zu",
                            function, loss->vocabulary, loss->shard.count);
    if (!(loss->smoothing >= 0 && loss->smoothing <= 1))
        return dt_error_set(err, "%s: smoothing is %g: expected 0 to 1", function, loss->smoothing);
    if (dt_lane_bytes(loss->rows, loss->columns, 1, tp->type, "an array", &bytes, err) != 0 ||
        dt_lane_bytes(loss->rows, 1 + SUMS, 1, DTRAIN_FLOAT64, "a workspace", &sums, err) != 0 ||
        dt_lane_check_buffer(function, "logits", loss->logits, bytes, err) != 0 ||
        dt_lane_check_buffer(function, "labels", loss->labels, loss->rows * sizeof(int32_t), err) != 0 ||
        dt_lane_check_buffer(function, "losses", loss->losses, sums / (1 + SUMS), err) != 0)
        return -1;
    return dt_lane_check_buffer(function, "workspace", loss->workspace,
                                dtrain_tp_loss_workspace(loss->rows, tp->type), err);
}

static void *sums_of(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss)
{
    return (char *)loss->workspace + loss->rows * dtrain_type_size(dtrain_tp_loss_type(tp->type));
}

static int enqueue_loss(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss, enum dt_math_kind kind,
                        struct dtrain_error *err)
{
    struct dt_math math = {.kind = kind};

    math.loss = (struct dt_math_loss){
        .logits = loss->logits,
        .type = tp->type,
        .labels = loss->labels,
        .first = loss->shard.first,
        .real = loss->shard.count,
        .rows = loss->rows,
        .n = loss->columns,
        .maximum = loss->workspace,
        .sums = sums_of(tp, loss),
        .losses = loss->losses,
        .scale = loss->scale,
        .smoothing = loss->smoothing,
        .vocabulary = loss->vocabulary,
    };
    return loss->rows == 0 ? 0 : dt_math_enqueue(&math, tp->stream, err);
}

/* One piece's arithmetic, after what compute has done. */
static int start_piece(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss, const char *function,
                       enum dt_math_kind kind, struct dtrain_error *err)
{
    struct dt_lane lane;

    if (check_loss(tp, loss, function, err) != 0)
        return -1;
    lane = dt_tp_lane(tp);
    return dt_lane_start(&lane, err) != 0 ? -1 : enqueue_loss(tp, loss, kind, err);
}

static int reduce(const struct dtrain_tp *tp, void *x, size_t count, enum dtrain_op op,
                  struct dtrain_error *err)
{
    return dtrain_all_reduce(tp->comm, x, x, count, dtrain_tp_loss_type(tp->type), op, tp->stream, err);
}

int dtrain_tp_loss_maximum(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss,
                           struct dtrain_error *err)
{
    if (start_piece(tp, loss, "dtrain_tp_loss_maximum", DT_MATH_LOSS_MAXIMUM, err) != 0)
        return -1;
    return reduce(tp, loss->workspace, loss->rows, DTRAIN_MAX, err);
}

int dtrain_tp_loss_sums(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss,
                        struct dtrain_error *err)
{
    if (start_piece(tp, loss, "dtrain_tp_loss_sums", DT_MATH_LOSS_SUMS, err) != 0)
        return -1;
    return reduce(tp, sums_of(tp, loss), SUMS * loss->rows, DTRAIN_SUM, err);
}

int dtrain_tp_loss_finish(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss,
                          struct dtrain_error *err)
{
    return start_piece(tp, loss, "dtrain_tp_loss_finish", DT_MATH_LOSS_FINISH, err);
}

int dtrain_tp_loss(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss, struct dtrain_error *err)
{
    if (dtrain_tp_loss_maximum(tp, loss, err) != 0 || dtrain_tp_loss_sums(tp, loss, err) != 0)
        return -1;
    return dtrain_tp_loss_finish(tp, loss, err);
}
