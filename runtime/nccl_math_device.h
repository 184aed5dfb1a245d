/*
 * nccl_math_device.h - what the kernels of nccl_math_*.cu share: one element of
 * any floating-point type as the type that sums run in and back, several at once,
 * and sums over a block whose order never changes.
 */
#ifndef DT_RUNTIME_NCCL_MATH_DEVICE_H
#define DT_RUNTIME_NCCL_MATH_DEVICE_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "runtime/math.h"

enum {
    DT_MATH_THREADS = 256, /* of every block: the sums below rely on it */
    DT_MATH_WARP = 32,
    DT_MATH_WARPS = DT_MATH_THREADS / DT_MATH_WARP,
};

/* float64 is computed in float64, all else in float32. */
template <typename T> struct dt_sum {
    using type = float;
};
template <> struct dt_sum<double> {
    using type = double;
};
template <typename T> using dt_sum_t = typename dt_sum<T>::type;

__device__ __forceinline__ double dt_get(double x)
{
    return x;
}
__device__ __forceinline__ float dt_get(float x)
{
    return x;
}
__device__ __forceinline__ float dt_get(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
__device__ __forceinline__ float dt_get(__half x)
{
    return __half2float(x);
}

/* Rounded once, to the nearest. */
template <typename T> __device__ __forceinline__ T dt_put(double x)
{
    return (T)x;
}
template <> __device__ __forceinline__ __nv_bfloat16 dt_put<__nv_bfloat16>(double x)
{
    return __float2bfloat16_rn((float)x);
}
template <> __device__ __forceinline__ __half dt_put<__half>(double x)
{
    return __float2half_rn((float)x);
}
template <typename T> __device__ __forceinline__ T dt_put(float x)
{
    return (T)x;
}
template <> __device__ __forceinline__ __nv_bfloat16 dt_put<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}
template <> __device__ __forceinline__ __half dt_put<__half>(float x)
{
    return __float2half_rn(x);
}

/* Elements that are loaded and stored together, where the address allows it. */
enum { DT_MATH_PACK = 4 };
template <typename T> struct alignas(sizeof(T) * DT_MATH_PACK) dt_pack {
    T x[DT_MATH_PACK];
};

/* The place of this thread among all, and how many there are. */
__device__ __forceinline__ size_t dt_thread()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ size_t dt_threads()
{
    return (size_t)gridDim.x * blockDim.x;
}

__device__ __forceinline__ double dt_factor(struct dt_math_factor by)
{
    double norm = by.squares != NULL ? sqrt(*by.squares) : 0;

    return norm > by.limit ? by.factor * by.limit / norm : by.factor;
}

struct dt_add {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};
struct dt_greater {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

/*
 * One value of each thread of the block made one, which every thread gets. A fixed tree: the same values
 * give the same bits. All threads of the block call it.
 */
template <typename T, typename Op> __device__ T dt_block_reduce(T x, Op op)
{
    __shared__ T warps[DT_MATH_WARPS];
    T all;

    for (int step = DT_MATH_WARP / 2; step > 0; step /= 2)
        x = op(x, __shfl_xor_sync(0xffffffffu, x, step));
    if (threadIdx.x % DT_MATH_WARP == 0)
        warps[threadIdx.x / DT_MATH_WARP] = x;
    __syncthreads();
    all = warps[0];
    for (int i = 1; i < DT_MATH_WARPS; i++)
        all = op(all, warps[i]);
    __syncthreads();
    return all;
}

#endif
