/* Operations on one element after another, their sums, and AdamW. */
#include "cuda_device.h"

template <typename T> static __global__ void add_kernel(T *y, const T *x, size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_count())
        y[i] = store<T>(load(y[i]) + load(x[i]));
}

template <typename T> static void add(struct compute *c, void *y, const void *x, size_t n)
{
    if (n == 0)
        return;
    add_kernel<T><<<blocks_of(n), THREADS, 0, cuda_state_of(c)->stream>>>((T *)y, (const T *)x, n);
    cuda_launched(c, "add");
}

template <typename T> static __global__ void cast_kernel(T *to, const main_t<T> *from, size_t n)
{
    for (size_t i = thread_index(); i < n; i += thread_count())
        to[i] = store<T>(from[i]);
}

template <typename T> static void cast(struct compute *c, void *to, const void *from, size_t n)
{
    if (n == 0)
        return;
    cast_kernel<T>
        <<<blocks_of(n), THREADS, 0, cuda_state_of(c)->stream>>>((T *)to, (const main_t<T> *)from, n);
    cuda_launched(c, "cast");
}

/* ---- Sums ------------------------------------------------------------------- */

/* A part for each block; then one block adds the parts. */
template <typename M, bool squares> static __global__ void sum_parts(double *parts, const M *x, size_t n)
{
    double sum = 0;

    for (size_t i = thread_index(); i < n; i += thread_count())
        sum += squares ? (double)x[i] * (double)x[i] : (double)x[i];
    sum = block_reduce(sum, adds());
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

static __global__ void add_parts(double *to, const double *parts, unsigned count)
{
    double sum = 0;

    for (unsigned i = threadIdx.x; i < count; i += THREADS)
        sum += parts[i];
    sum = block_reduce(sum, adds());
    if (threadIdx.x == 0)
        *to += sum;
}

template <typename M, bool squares> static void sum_of(struct compute *c, double *to, const void *x, size_t n)
{
    struct cuda_state *state = cuda_state_of(c);
    unsigned blocks = blocks_of(n / 8 + 1);

    if (blocks > CUDA_PARTS_MAX)
        blocks = CUDA_PARTS_MAX;
    sum_parts<M, squares><<<blocks, THREADS, 0, state->stream>>>(state->parts, (const M *)x, n);
    add_parts<<<1, THREADS, 0, state->stream>>>(to, state->parts, blocks);
    cuda_launched(c, squares ? "sum_of_squares" : "sum");
}

/* ---- Biases ------------------------------------------------------------------- */

template <typename T> static __global__ void bias_add_kernel(T *x, const T *bias, size_t rows, size_t n)
{
    for (size_t i = thread_index(); i < rows * n; i += thread_count())
        x[i] = store<T>(load(x[i]) + load(bias[i % n]));
}

template <typename T>
static void bias_add(struct compute *c, void *x, const void *bias, size_t rows, size_t n)
{
    if (rows * n == 0)
        return;
    bias_add_kernel<T>
        <<<blocks_of(rows * n), THREADS, 0, cuda_state_of(c)->stream>>>((T *)x, (const T *)bias, rows, n);
    cuda_launched(c, "bias_add");
}

/* A block takes WARP columns, each of its warps every WARPS'th row; then the warps' sums are added in order.
 */
template <typename T>
static __global__ void bias_gradient_kernel(main_t<T> *dbias, const T *dx, size_t rows, size_t n)
{
    __shared__ main_t<T> sums[WARPS][WARP];
    unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    size_t column = (size_t)blockIdx.x * WARP + lane;
    main_t<T> sum = 0;

    for (size_t row = warp; column < n && row < rows; row += WARPS)
        sum += load(dx[row * n + column]);
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || column >= n)
        return;
    sum = dbias[column];
    for (int i = 0; i < WARPS; i++)
        sum += sums[i][lane];
    dbias[column] = sum;
}

template <typename T>
static void bias_gradient(struct compute *c, void *dbias, const void *dx, size_t rows, size_t n)
{
    if (n == 0)
        return;
    bias_gradient_kernel<T><<<(unsigned)((n + WARP - 1) / WARP), THREADS, 0, cuda_state_of(c)->stream>>>(
        (main_t<T> *)dbias, (const T *)dx, rows, n);
    cuda_launched(c, "bias_gradient");
}

/* ---- GELU ------------------------------------------------------------------------ */

template <typename M> static __device__ __forceinline__ M gelu_scale()
{
    return (M)0.79788456080286535588;
}
template <typename M> static __device__ __forceinline__ M gelu_cubic()
{
    return (M)0.044715;
}

template <typename M> static __device__ __forceinline__ M gelu_tanh(M x)
{
    return tanh(gelu_scale<M>() * (x + gelu_cubic<M>() * x * x * x));
}

template <typename T> static __global__ void gelu_forward_kernel(T *out, const T *x, size_t n)
{
    using M = main_t<T>;

    for (size_t i = thread_index(); i < n; i += thread_count()) {
        M value = load(x[i]);

        out[i] = store<T>((M)0.5 * value * (1 + gelu_tanh(value)));
    }
}

template <typename T> static void gelu_forward(struct compute *c, void *out, const void *x, size_t n)
{
    if (n == 0)
        return;
    gelu_forward_kernel<T><<<blocks_of(n), THREADS, 0, cuda_state_of(c)->stream>>>((T *)out, (const T *)x, n);
    cuda_launched(c, "gelu_forward");
}

/* dx and dout may be one array. */
template <typename T> static __global__ void gelu_backward_kernel(T *dx, const T *dout, const T *x, size_t n)
{
    using M = main_t<T>;

    for (size_t i = thread_index(); i < n; i += thread_count()) {
        M value = load(x[i]), t = gelu_tanh(value);
        M inner = gelu_scale<M>() * (1 + 3 * gelu_cubic<M>() * value * value);

        dx[i] = store<T>(load(dout[i]) * ((M)0.5 * (1 + t) + (M)0.5 * value * (1 - t * t) * inner));
    }
}

template <typename T>
static void gelu_backward(struct compute *c, void *dx, const void *dout, const void *x, size_t n)
{
    if (n == 0)
        return;
    gelu_backward_kernel<T>
        <<<blocks_of(n), THREADS, 0, cuda_state_of(c)->stream>>>((T *)dx, (const T *)dout, (const T *)x, n);
    cuda_launched(c, "gelu_backward");
}

/* ---- AdamW -------------------------------------------------------------------------- */

template <typename T>
static __global__ void adamw_kernel(struct adamw step, main_t<T> *w, main_t<T> *m, main_t<T> *v,
                                    const main_t<T> *g, T *copy, size_t n)
{
    using M = main_t<T>;
    M lr = (M)step.lr, beta1 = (M)step.beta1, beta2 = (M)step.beta2, epsilon = (M)step.epsilon;
    M decay = (M)step.decay, scale = (M)step.gradient_scale;
    M correction1 = (M)step.correction1, correction2 = (M)step.correction2;

    for (size_t i = thread_index(); i < n; i += thread_count()) {
        M gradient = g[i] * scale;
        M first = beta1 * m[i] + (1 - beta1) * gradient;
        M second = beta2 * v[i] + (1 - beta2) * gradient * gradient;
        M weight = w[i];

        weight -= lr * decay * weight;
        weight -= lr * (first / correction1) / (sqrt(second / correction2) + epsilon);
        m[i] = first;
        v[i] = second;
        w[i] = weight;
        if (copy != NULL)
            copy[i] = store<T>(weight);
    }
}

template <typename T>
static void adamw(struct compute *c, const struct adamw *step, void *w, void *m, void *v, const void *g,
                  void *copy, size_t n)
{
    using M = main_t<T>;

    if (n == 0)
        return;
    adamw_kernel<T><<<blocks_of(n), THREADS, 0, cuda_state_of(c)->stream>>>(*step, (M *)w, (M *)m, (M *)v,
                                                                            (const M *)g, (T *)copy, n);
    cuda_launched(c, "adamw");
}

template <typename T> static void fill(struct compute_ops *ops)
{
    ops->add = add<T>;
    ops->cast = cast<T>;
    ops->sum = sum_of<main_t<T>, false>;
    ops->sum_of_squares = sum_of<main_t<T>, true>;
    ops->bias_add = bias_add<T>;
    ops->bias_gradient = bias_gradient<T>;
    ops->gelu_forward = gelu_forward<T>;
    ops->gelu_backward = gelu_backward<T>;
    ops->adamw = adamw<T>;
}

extern "C" void cuda_elements_ops(struct compute_ops *ops, enum dtrain_type type)
{
    CUDA_FILL(fill, ops, type);
}
