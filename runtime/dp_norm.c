#include <math.h>

#include "core/error.h"
#include "dp.h"
#include "runtime/math.h"

/* Whether this rank adds the parameter to the norm: of what tensor parallel ranks have copies of, the first.
 */
static bool counts(const struct dtrain_dp *dp, size_t index)
{
    unsigned flags = dp->parameters[index].given.flags;
    unsigned grid = (flags & DTRAIN_PARAMETER_EXPERT) != 0 ? DTRAIN_EXPERT : 0;

    if ((flags & DTRAIN_PARAMETER_UNCOUNTED) != 0)
        return false;
    return (flags & DTRAIN_PARAMETER_TP_SHARD) != 0 || dtrain_coord(dp->world, grid | DTRAIN_TP) == 0;
}

static int add_squares(struct dtrain_dp *dp, size_t index, struct dtrain_stream *stream,
                       struct dtrain_error *err)
{
    const struct dt_dp_parameter *parameter = &dp->parameters[index];
    struct dt_dp_piece piece = dt_dp_piece_get(dp, index);
    struct dt_math math = {
        .kind = DT_MATH_SUM_SQUARES,
        .sum_squares = {.sum = &dp->squares[parameter->lane - dp->lanes],
                        .x = piece.gradient,
                        .type = parameter->given.gradient_type,
                        .n = piece.count,
                        .weight = 1},
    };

    return piece.count == 0 || !counts(dp, index) ? 0 : dt_math_enqueue(&math, stream, err);
}

static int sum_own(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dt_math zero = {.kind = DT_MATH_FILL,
                           .fill = {.x = dp->squares, .type = DTRAIN_FLOAT64, .n = DT_DP_LANES}};

    if (dt_math_enqueue(&zero, stream, err) < 0)
        return -1;
    for (size_t i = 0; i < dp->n; i++)
        if (add_squares(dp, i, stream, err) < 0)
            return -1;
    return 0;
}

static int sum_over(struct dtrain_dp *dp, double *squares, unsigned axis, struct dtrain_stream *stream,
                    struct dtrain_error *err)
{
    struct dtrain_comm *comm;

    if (dtrain_comm_get(dp->world, axis, &comm, err) < 0)
        return -1;
    return dtrain_comm_size(comm) == 1
               ? 0
               : dtrain_all_reduce(comm, squares, squares, 1, DTRAIN_FLOAT64, DTRAIN_SUM, stream, err);
}

static int sum_shards(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    for (size_t i = 0; i < DT_DP_LANES && dp->options.zero_stage > 0; i++) {
        const struct dt_dp_lane *lane = &dp->lanes[i];

        if (lane->comm != NULL && lane->size > 1 &&
            dtrain_all_reduce(lane->comm, &dp->squares[i], &dp->squares[i], 1, DTRAIN_FLOAT64, DTRAIN_SUM,
                              stream, err) < 0)
            return -1;
    }
    return 0;
}

static int add_experts(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    double *dense = &dp->squares[DT_DP_DENSE], *expert = &dp->squares[DT_DP_EXPERT];
    struct dt_math add = {.kind = DT_MATH_SCALE,
                          .scale = {.to = dense,
                                    .from = expert,
                                    .to_type = DTRAIN_FLOAT64,
                                    .from_type = DTRAIN_FLOAT64,
                                    .n = 1,
                                    .by.factor = 1,
                                    .accumulate = true}};

    if (dp->lanes[DT_DP_EXPERT].comm == NULL)
        return 0;
    if (sum_over(dp, expert, DTRAIN_EXPERT | DTRAIN_TP, stream, err) < 0 ||
        sum_over(dp, expert, DTRAIN_EXPERT | DTRAIN_EP, stream, err) < 0)
        return -1;
    return dt_math_enqueue(&add, stream, err);
}

/* Queued: squares[0] becomes the whole norm's. */
static int queue_squares(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (dt_dp_reduce_wait(dp, stream, err) < 0 || sum_own(dp, stream, err) < 0 ||
        sum_shards(dp, stream, err) < 0 ||
        sum_over(dp, &dp->squares[DT_DP_DENSE], DTRAIN_TP, stream, err) < 0 ||
        add_experts(dp, stream, err) < 0 ||
        sum_over(dp, &dp->squares[DT_DP_DENSE], DTRAIN_PP, stream, err) < 0)
        return -1;
    dp->norm_is_current = true;
    return 0;
}

int dtrain_dp_norm(struct dtrain_dp *dp, struct dtrain_stream *stream, double *norm, struct dtrain_error *err)
{
    double squares;

    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    if (dp->in_pass)
        return dt_error_set(err, "dtrain_dp_norm: within a pass: call it after dtrain_dp_finish()");
    if (stream == NULL)
        return dt_error_set(err, "dtrain_dp_norm: stream is NULL: create one with dtrain_stream_create()");
    if (queue_squares(dp, stream, err) < 0)
        return dt_error_prefix(err, "the gradient's norm");
    if (norm == NULL)
        return 0;
    if (dtrain_copy(&squares, &dp->squares[DT_DP_DENSE], sizeof(squares), stream, err) < 0 ||
        dtrain_stream_synchronize(stream, err) < 0)
        return dt_error_prefix(err, "the gradient's norm");
    *norm = sqrt(squares);
    return 0;
}

static int scale_gradient(struct dtrain_dp *dp, size_t index, double limit, struct dtrain_stream *stream,
                          struct dtrain_error *err)
{
    enum dtrain_type type = dp->parameters[index].given.gradient_type;
    struct dt_dp_piece piece = dt_dp_piece_get(dp, index);
    struct dt_math math = {.kind = DT_MATH_SCALE,
                           .scale = {.to = piece.gradient,
                                     .from = piece.gradient,
                                     .to_type = type,
                                     .from_type = type,
                                     .n = piece.count,
                                     .by = {1, &dp->squares[DT_DP_DENSE], limit}}};

    return piece.count == 0 ? 0 : dt_math_enqueue(&math, stream, err);
}

/* The gradients are others then: a norm for the optimizer would have to be taken again. */
int dtrain_dp_clip(struct dtrain_dp *dp, double limit, struct dtrain_stream *stream, double *norm,
                   struct dtrain_error *err)
{
    if (!(limit > 0))
        return dt_error_set(err, "dtrain_dp_clip: limit is %g: expected more than 0", limit);
    if (dtrain_dp_norm(dp, stream, norm, err) < 0)
        return -1;
    for (size_t i = 0; i < dp->n; i++)
        if (scale_gradient(dp, i, limit, stream, err) < 0)
            return -1;
    dp->norm_is_current = false;
    return 0;
}
