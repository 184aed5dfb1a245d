/* Kernels by kind; each of them is math.h's text, and dt_math_run()'s result but for rounding. */
#include "runtime/nccl_math.h"

extern "C" {
#include "core/error.h"
}
#include "runtime/nccl_math_launch.h"

/* In the order of enum dt_math_kind. */
static const struct {
    const char *name;
    dt_nccl_math_launch *launch;
} kinds[] = {
    {"fill", dt_nccl_math_fill},
    {"scale", dt_nccl_math_scale},
    {"sum_squares", dt_nccl_math_sum_squares},
    {"adamw", dt_nccl_math_adamw},
    {"copy_2d", dt_nccl_math_copy_2d},
    {"embedding", dt_nccl_math_embedding},
    {"embedding_gradient", dt_nccl_math_embedding_gradient},
    {"loss_maximum", dt_nccl_math_loss_maximum},
    {"loss_sums", dt_nccl_math_loss_sums},
    {"loss_finish", dt_nccl_math_loss_finish},
    {"softmax_merge", dt_nccl_math_softmax_merge},
    {"gather_rows", dt_nccl_math_gather_rows},
    {"scatter_rows", dt_nccl_math_scatter_rows},
    {"dot_rows", dt_nccl_math_dot_rows},
};
static_assert(sizeof(kinds) / sizeof(kinds[0]) == DT_MATH_KINDS, "a kernel for each kind");

extern "C" int dt_nccl_math_enqueue(const struct dt_math *math, void *stream, struct dtrain_error *err)
{
    cudaError_t error = kinds[math->kind].launch(math, (cudaStream_t)stream);

    if (error == cudaSuccess)
        return 0;
    return dt_error_set(err, "cannot launch %s on the GPU: %s (%s)", kinds[math->kind].name,
                        cudaGetErrorString(error), cudaGetErrorName(error));
}
