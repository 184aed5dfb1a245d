#include "math.h"

#include <assert.h>

#include "comm_call.h"
#include "math_elements.h"
#include "math_rows.h"
#include "math_vocabulary.h"

static void (*const runners[DT_MATH_KINDS])(const struct dt_math *math) = {
    [DT_MATH_FILL] = dt_math_fill_run,
    [DT_MATH_SCALE] = dt_math_scale_run,
    [DT_MATH_SUM_SQUARES] = dt_math_sum_squares_run,
    [DT_MATH_ADAMW] = dt_math_adamw_run,
    [DT_MATH_COPY_2D] = dt_math_copy_2d_run,
    [DT_MATH_EMBEDDING] = dt_math_embedding_run,
    [DT_MATH_EMBEDDING_GRADIENT] = dt_math_embedding_gradient_run,
    [DT_MATH_LOSS_MAXIMUM] = dt_math_loss_maximum_run,
    [DT_MATH_LOSS_SUMS] = dt_math_loss_sums_run,
    [DT_MATH_LOSS_FINISH] = dt_math_loss_finish_run,
    [DT_MATH_SOFTMAX_MERGE] = dt_math_softmax_merge_run,
    [DT_MATH_GATHER_ROWS] = dt_math_gather_rows_run,
    [DT_MATH_SCATTER_ROWS] = dt_math_scatter_rows_run,
    [DT_MATH_DOT_ROWS] = dt_math_dot_rows_run,
};

void dt_math_run(const struct dt_math *math)
{
    assert(math->kind < DT_MATH_KINDS && runners[math->kind] != NULL);
    runners[math->kind](math);
}

int dt_math_enqueue(const struct dt_math *math, struct dtrain_stream *stream, struct dtrain_error *err)
{
    return stream->backend->enqueue_math(math, stream->state, err);
}
