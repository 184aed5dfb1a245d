/* Layer norm: a block for each row; for the weights' gradients, for some columns. */
#include "cuda_device.h"

template <typename T>
static __global__ void forward_kernel(T *out, main_t<T> *mean, main_t<T> *rstd, const T *x, const T *gain,
                                      const T *bias, size_t rows, size_t n)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * n;
        M sum = 0, squares = 0, middle, scale;

        for (size_t i = threadIdx.x; i < n; i += THREADS)
            sum += load(from[i]);
        middle = block_reduce(sum, adds()) / (M)n;
        for (size_t i = threadIdx.x; i < n; i += THREADS)
            squares += (load(from[i]) - middle) * (load(from[i]) - middle);
        scale = 1 / sqrt(block_reduce(squares, adds()) / (M)n + (M)1e-5);
        for (size_t i = threadIdx.x; i < n; i += THREADS)
            out[row * n + i] = store<T>((load(from[i]) - middle) * scale * load(gain[i]) + load(bias[i]));
        if (threadIdx.x == 0) {
            mean[row] = middle;
            rstd[row] = scale;
        }
    }
}

template <typename T>
static void norm_forward(struct compute *c, void *out, void *mean, void *rstd, const void *x,
                         const void *gain, const void *bias, size_t rows, size_t n)
{
    using M = main_t<T>;

    if (rows == 0)
        return;
    forward_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>(
        (T *)out, (M *)mean, (M *)rstd, (const T *)x, (const T *)gain, (const T *)bias, rows, n);
    cuda_launched(c, "norm_forward");
}

/* dx += rstd (d - mean(d) - y mean(d y)), y the normalised row, d = dout gain. */
template <typename T>
static __global__ void backward_kernel(T *dx, const T *dout, const T *x, const main_t<T> *mean,
                                       const main_t<T> *rstd, const T *gain, size_t rows, size_t n)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * n, *d = dout + row * n;
        M middle = mean[row], scale = rstd[row], sum = 0, dot = 0;

        for (size_t i = threadIdx.x; i < n; i += THREADS) {
            M part = load(d[i]) * load(gain[i]);

            sum += part;
            dot += part * (load(from[i]) - middle) * scale;
        }
        sum = block_reduce(sum, adds()) / (M)n;
        dot = block_reduce(dot, adds()) / (M)n;
        for (size_t i = threadIdx.x; i < n; i += THREADS) {
            M part = load(d[i]) * load(gain[i]), y = (load(from[i]) - middle) * scale;

            dx[row * n + i] = store<T>(load(dx[row * n + i]) + scale * (part - sum - y * dot));
        }
    }
}

/* A block takes WARP columns, each of its warps every WARPS'th row; then the warps' sums are added in order.
 */
template <typename T>
static __global__ void weights_kernel(main_t<T> *dgain, main_t<T> *dbias, const T *dout, const T *x,
                                      const main_t<T> *mean, const main_t<T> *rstd, size_t rows, size_t n)
{
    using M = main_t<T>;
    __shared__ M gains[WARPS][WARP], biases[WARPS][WARP];
    unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    size_t column = (size_t)blockIdx.x * WARP + lane;
    M gain = 0, bias = 0;

    for (size_t row = warp; column < n && row < rows; row += WARPS) {
        M d = load(dout[row * n + column]);

        gain += d * (load(x[row * n + column]) - mean[row]) * rstd[row];
        bias += d;
    }
    gains[warp][lane] = gain;
    biases[warp][lane] = bias;
    __syncthreads();
    if (warp != 0 || column >= n)
        return;
    gain = dgain[column];
    bias = dbias[column];
    for (int i = 0; i < WARPS; i++) {
        gain += gains[i][lane];
        bias += biases[i][lane];
    }
    dgain[column] = gain;
    dbias[column] = bias;
}

template <typename T>
static void norm_backward(struct compute *c, void *dx, void *dgain, void *dbias, const void *dout,
                          const void *x, const void *mean, const void *rstd, const void *gain, size_t rows,
                          size_t n)
{
    using M = main_t<T>;
    cudaStream_t stream = cuda_state_of(c)->stream;

    if (rows == 0)
        return;
    weights_kernel<T><<<(unsigned)((n + WARP - 1) / WARP), THREADS, 0, stream>>>(
        (M *)dgain, (M *)dbias, (const T *)dout, (const T *)x, (const M *)mean, (const M *)rstd, rows, n);
    backward_kernel<T><<<blocks_of_rows(rows), THREADS, 0, stream>>>(
        (T *)dx, (const T *)dout, (const T *)x, (const M *)mean, (const M *)rstd, (const T *)gain, rows, n);
    cuda_launched(c, "norm_backward");
}

template <typename T> static void fill(struct compute_ops *ops)
{
    ops->norm_forward = norm_forward<T>;
    ops->norm_backward = norm_backward<T>;
}

extern "C" void cuda_norm_ops(struct compute_ops *ops, enum dtrain_type type)
{
    CUDA_FILL(fill, ops, type);
}
