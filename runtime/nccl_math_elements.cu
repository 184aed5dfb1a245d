/* Fill, scale, sum of squares, AdamW and copies: one element after another, several at once where they lie
 * so. */
#include "runtime/nccl_math_launch.h"

/* ---- Fill ---------------------------------------------------------------- */

template <typename T> static __global__ void fill(T *x, size_t n, double value)
{
    T rounded = dt_put<T>(value);

    for (size_t i = dt_thread(); i < n; i += dt_threads())
        x[i] = rounded;
}

cudaError_t dt_nccl_math_fill(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_fill *f = &math->fill;

    if (f->n == 0)
        return cudaSuccess;
    if (f->value == 0)
        return cudaMemsetAsync(f->x, 0,
                               f->n * (f->type == DTRAIN_FLOAT64   ? sizeof(double)
                                       : f->type == DTRAIN_FLOAT32 ? sizeof(float)
                                                                   : sizeof(uint16_t)),
                               stream);
    dt_with_type(f->type, [&](auto t) {
        using T = typename decltype(t)::type;

        fill<<<dt_blocks_of(f->n), DT_MATH_THREADS, 0, stream>>>((T *)f->x, f->n, f->value);
    });
    return cudaGetLastError();
}

/* ---- Scale --------------------------------------------------------------- */

template <typename To, typename From, typename S>
static __device__ __forceinline__ To scaled(To to, From from, S by, bool accumulate)
{
    S value = by * (S)dt_get(from);

    return dt_put<To>(accumulate ? value + (S)dt_get(to) : value);
}

/* The first `packed` elements go in packs; to and from may be one array. */
template <typename To, typename From, typename S>
static __global__ void scale(To *to, const From *from, size_t n, size_t packed, struct dt_math_factor factor,
                             bool accumulate)
{
    S by = (S)dt_factor(factor);
    dt_pack<To> *to_packs = (dt_pack<To> *)to;
    const dt_pack<From> *from_packs = (const dt_pack<From> *)from;

    for (size_t i = dt_thread(); i < packed / DT_MATH_PACK; i += dt_threads()) {
        dt_pack<From> in = from_packs[i];
        dt_pack<To> out = {};

        if (accumulate)
            out = to_packs[i];
        for (int k = 0; k < DT_MATH_PACK; k++)
            out.x[k] = scaled(out.x[k], in.x[k], by, accumulate);
        to_packs[i] = out;
    }
    for (size_t i = packed + dt_thread(); i < n; i += dt_threads())
        to[i] = scaled(accumulate ? to[i] : To(), from[i], by, accumulate);
}

template <typename To, typename From>
static void launch_scale(const struct dt_math_scale *s, cudaStream_t stream)
{
    using S = typename dt_sum<std::conditional_t<sizeof(To) == 8, To, From>>::type;
    To *to = (To *)s->to;
    const From *from = (const From *)s->from;
    bool is_packed = dt_is_packed(to) && dt_is_packed(from);
    size_t packed = is_packed ? s->n / DT_MATH_PACK * DT_MATH_PACK : 0;
    size_t items = is_packed ? s->n / DT_MATH_PACK + DT_MATH_PACK : s->n;

    scale<To, From, S>
        <<<dt_blocks_of(items), DT_MATH_THREADS, 0, stream>>>(to, from, s->n, packed, s->by, s->accumulate);
}

cudaError_t dt_nccl_math_scale(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_scale *s = &math->scale;

    if (s->n == 0)
        return cudaSuccess;
    dt_with_type(s->to_type, [&](auto to) {
        dt_with_type(s->from_type, [&](auto from) {
            launch_scale<typename decltype(to)::type, typename decltype(from)::type>(s, stream);
        });
    });
    return cudaGetLastError();
}

/* ---- Sum of squares -------------------------------------------------------- */

/* Blocks, by n alone: the same array gives the same bits on every device. */
enum { SUM_BLOCKS_MAX = 1024, SUM_PER_THREAD = 16 };

/* Squares of a pack are added in T's own sums, packs in float64. */
template <typename T> static __global__ void square_parts(double *parts, const T *x, size_t n, size_t packed)
{
    const dt_pack<T> *packs = (const dt_pack<T> *)x;
    double sum = 0;

    for (size_t i = dt_thread(); i < packed / DT_MATH_PACK; i += dt_threads()) {
        dt_pack<T> in = packs[i];
        dt_sum_t<T> squares = 0;

        for (int k = 0; k < DT_MATH_PACK; k++)
            squares += dt_get(in.x[k]) * dt_get(in.x[k]);
        sum += (double)squares;
    }
    for (size_t i = packed + dt_thread(); i < n; i += dt_threads())
        sum += (double)dt_get(x[i]) * (double)dt_get(x[i]);
    sum = dt_block_reduce(sum, dt_add());
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

/* One block. */
static __global__ void add_parts(double *sum, const double *parts, unsigned count, double weight)
{
    double all = 0;

    for (unsigned i = threadIdx.x; i < count; i += DT_MATH_THREADS)
        all += parts[i];
    all = dt_block_reduce(all, dt_add());
    if (threadIdx.x == 0)
        *sum += weight * all;
}

cudaError_t dt_nccl_math_sum_squares(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_sum_squares *s = &math->sum_squares;
    unsigned blocks = dt_blocks(s->n / (DT_MATH_THREADS * SUM_PER_THREAD) + 1, SUM_BLOCKS_MAX);
    double *parts = NULL;
    cudaError_t error, freed;

    if (s->n == 0)
        return cudaSuccess;
    /* Of the stream's order, so that streams do not share it. */
    error = cudaMallocAsync((void **)&parts, blocks * sizeof(*parts), stream);
    if (error != cudaSuccess)
        return error;
    dt_with_type(s->type, [&](auto t) {
        using T = typename decltype(t)::type;
        const T *x = (const T *)s->x;
        size_t packed = dt_is_packed(x) ? s->n / DT_MATH_PACK * DT_MATH_PACK : 0;

        square_parts<<<blocks, DT_MATH_THREADS, 0, stream>>>(parts, x, s->n, packed);
    });
    error = cudaGetLastError();
    if (error == cudaSuccess) {
        add_parts<<<1, DT_MATH_THREADS, 0, stream>>>(s->sum, parts, blocks, s->weight);
        error = cudaGetLastError();
    }
    freed = cudaFreeAsync(parts, stream);
    return error == cudaSuccess ? freed : error;
}

/* ---- AdamW ------------------------------------------------------------------ */

/* In the state's type; the gradient's and the copy's are few, so they are asked for at each element. */
static __device__ __forceinline__ double load_any(const void *x, enum dtrain_type type, size_t i)
{
    if (type == DTRAIN_FLOAT32)
        return (double)((const float *)x)[i];
    if (type == DTRAIN_FLOAT64)
        return ((const double *)x)[i];
    return type == DTRAIN_BFLOAT16 ? (double)dt_get(((const __nv_bfloat16 *)x)[i])
                                   : (double)dt_get(((const __half *)x)[i]);
}

template <typename S>
static __device__ __forceinline__ void store_any(void *x, enum dtrain_type type, size_t i, S value)
{
    if (type == DTRAIN_FLOAT32)
        ((float *)x)[i] = (float)value;
    else if (type == DTRAIN_FLOAT64)
        ((double *)x)[i] = (double)value;
    else if (type == DTRAIN_BFLOAT16)
        ((__nv_bfloat16 *)x)[i] = dt_put<__nv_bfloat16>(value);
    else
        ((__half *)x)[i] = dt_put<__half>(value);
}

template <typename S> static __global__ void adamw(struct dt_math_adamw step)
{
    S by = (S)dt_factor(step.by), beta1 = (S)step.beta1, beta2 = (S)step.beta2, lr = (S)step.lr;
    S epsilon = (S)step.epsilon, decay = (S)step.decay;
    S correction1 = (S)step.correction1, correction2 = (S)step.correction2;
    S *w = (S *)step.w, *m = (S *)step.m, *v = (S *)step.v;

    for (size_t i = dt_thread(); i < step.n; i += dt_threads()) {
        S g = by * (S)load_any(step.g, step.gradient_type, i);
        S first = beta1 * m[i] + (1 - beta1) * g;
        S second = beta2 * v[i] + (1 - beta2) * g * g;
        S weight = w[i];

        weight -= lr * (first / correction1 / (sqrt(second / correction2) + epsilon) + decay * weight);
        m[i] = first;
        v[i] = second;
        w[i] = weight;
        if (step.copy != NULL)
            store_any(step.copy, step.copy_type, i, weight);
    }
}

cudaError_t dt_nccl_math_adamw(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_adamw *step = &math->adamw;

    if (step->n == 0)
        return cudaSuccess;
    if (step->state_type == DTRAIN_FLOAT64)
        adamw<double><<<dt_blocks_of(step->n), DT_MATH_THREADS, 0, stream>>>(*step);
    else
        adamw<float><<<dt_blocks_of(step->n), DT_MATH_THREADS, 0, stream>>>(*step);
    return cudaGetLastError();
}

/* ---- Copy in two dimensions -------------------------------------------------- */

/* Rows of `units` of U. */
template <typename U> static __global__ void copy_2d(struct dt_math_copy_2d copy, size_t units)
{
    for (size_t i = dt_thread(); i < copy.rows * units; i += dt_threads()) {
        size_t row = i / units, at = i % units;
        U *to = (U *)((char *)copy.to + row * copy.to_pitch);
        const U *from = (const U *)((const char *)copy.from + row * copy.from_pitch);

        to[at] = from[at];
    }
}

template <typename U> static bool launch_copy(const struct dt_math_copy_2d *copy, cudaStream_t stream)
{
    uintptr_t bits =
        (uintptr_t)copy->to | (uintptr_t)copy->from | copy->to_pitch | copy->from_pitch | copy->width;
    size_t units = copy->width / sizeof(U);

    if (bits % sizeof(U) != 0)
        return false;
    copy_2d<U><<<dt_blocks_of(copy->rows * units), DT_MATH_THREADS, 0, stream>>>(*copy, units);
    return true;
}

/* In the largest units that all addresses, pitches and the width allow. */
cudaError_t dt_nccl_math_copy_2d(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_copy_2d *copy = &math->copy_2d;

    if (copy->rows == 0 || copy->width == 0)
        return cudaSuccess;
    if (!launch_copy<uint4>(copy, stream) && !launch_copy<uint64_t>(copy, stream) &&
        !launch_copy<uint32_t>(copy, stream) && !launch_copy<uint16_t>(copy, stream))
        launch_copy<uint8_t>(copy, stream);
    return cudaGetLastError();
}
