/*
 * cuda_device.h - what the kernels of cuda_*.cu share: one element as the type
 * that sums run in (the main type) and back, and sums over a block.
 */
#ifndef TRAIN_CUDA_DEVICE_H
#define TRAIN_CUDA_DEVICE_H

#include <cuda_bf16.h>

#include "cuda.h"

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP }; /* of every block */

template <typename T> struct main_of {
    using type = float;
};
template <> struct main_of<double> {
    using type = double;
};
template <typename T> using main_t = typename main_of<T>::type;

__device__ __forceinline__ double load(double x)
{
    return x;
}
__device__ __forceinline__ float load(float x)
{
    return x;
}
__device__ __forceinline__ float load(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <typename T> __device__ __forceinline__ T store(main_t<T> x)
{
    return x;
}
template <> __device__ __forceinline__ __nv_bfloat16 store<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

/* The place of this thread among all, and how many there are. */
__device__ __forceinline__ size_t thread_index()
{
    return (size_t)blockIdx.x * THREADS + threadIdx.x;
}
__device__ __forceinline__ size_t thread_count()
{
    return (size_t)gridDim.x * THREADS;
}

struct adds {
    template <typename M> __device__ M operator()(M a, M b) const
    {
        return a + b;
    }
};
struct greater {
    template <typename M> __device__ M operator()(M a, M b) const
    {
        return a > b ? a : b;
    }
};

/* One value of each thread made one, which every thread gets. A fixed tree; all threads of the block call it.
 */
template <typename M, typename Op> __device__ M block_reduce(M x, Op op)
{
    __shared__ M warps[WARPS];
    M all;

    for (int step = WARP / 2; step > 0; step /= 2)
        x = op(x, __shfl_xor_sync(0xffffffffu, x, step));
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = x;
    __syncthreads();
    all = warps[0];
    for (int i = 1; i < WARPS; i++)
        all = op(all, warps[i]);
    __syncthreads();
    return all;
}

/* Blocks for n elements of which each thread takes one or several, or for rows of which each block does. */
static inline unsigned blocks_of(size_t n)
{
    size_t blocks = (n + THREADS - 1) / THREADS;

    return (unsigned)(blocks < 4096 ? blocks : 4096);
}

static inline unsigned blocks_of_rows(size_t rows)
{
    return (unsigned)(rows < 65535 ? rows : 65535);
}

/* fill<T>(ops) for the type. */
#define CUDA_FILL(fill, ops, type)          \
    do {                                    \
        if ((type) == DTRAIN_FLOAT64)       \
            fill<double>(ops);              \
        else if ((type) == DTRAIN_BFLOAT16) \
            fill<__nv_bfloat16>(ops);       \
        else                                \
            fill<float>(ops);               \
    } while (0)

#endif
