/*
 * nccl_math_launch.h - how nccl_math_*.cu launch: a function for each kind, and
 * a kernel for each type. Like dt_nccl_math_enqueue() they return once queued; 0
 * or the error of CUDA.
 */
#ifndef DT_RUNTIME_NCCL_MATH_LAUNCH_H
#define DT_RUNTIME_NCCL_MATH_LAUNCH_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "runtime/nccl_math_device.h"

typedef cudaError_t dt_nccl_math_launch(const struct dt_math *math, cudaStream_t stream);

dt_nccl_math_launch dt_nccl_math_fill, dt_nccl_math_scale, dt_nccl_math_sum_squares, dt_nccl_math_adamw,
    dt_nccl_math_copy_2d, dt_nccl_math_embedding, dt_nccl_math_embedding_gradient, dt_nccl_math_loss_maximum,
    dt_nccl_math_loss_sums, dt_nccl_math_loss_finish, dt_nccl_math_softmax_merge, dt_nccl_math_gather_rows,
    dt_nccl_math_scatter_rows, dt_nccl_math_dot_rows;

template <typename T> struct dt_type {
    using type = T;
};

/* f with the dt_type<> of a floating-point type. */
template <typename F> static inline void dt_with_type(enum dtrain_type type, F f)
{
    switch (type) {
    case DTRAIN_FLOAT64:
        return f(dt_type<double>());
    case DTRAIN_BFLOAT16:
        return f(dt_type<__nv_bfloat16>());
    case DTRAIN_FLOAT16:
        return f(dt_type<__half>());
    default:
        return f(dt_type<float>());
    }
}

/* Blocks for n items of which each thread takes one or several, or for n rows of which each block does. */
static inline unsigned dt_blocks(size_t n, size_t most)
{
    return (unsigned)(n < most ? n : most);
}

static inline unsigned dt_blocks_of(size_t items)
{
    return dt_blocks((items + DT_MATH_THREADS - 1) / DT_MATH_THREADS, 4096);
}

static inline unsigned dt_blocks_of_rows(size_t rows)
{
    return dt_blocks(rows, 65535);
}

template <typename T> static inline bool dt_is_packed(const T *x)
{
    return (uintptr_t)x % sizeof(dt_pack<T>) == 0;
}

#endif
