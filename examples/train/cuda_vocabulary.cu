/* The embedding and the cross-entropy over a vocabulary that is split over ranks: a block for each row. */
#include <math.h>

#include "cuda_device.h"

/* Row of what is held that the token is; at or past `real` when another rank holds it. */
static __device__ __forceinline__ size_t place_of(struct vocabulary held, int32_t token)
{
    return (size_t)token - held.first;
}

/* ---- Embedding ----------------------------------------------------------------- */

template <typename T>
static __global__ void embedding_kernel(struct vocabulary held, T *out, const T *table, const int32_t *tokens,
                                        size_t rows, size_t n)
{
    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        size_t place = place_of(held, tokens[row]);
        bool is_held = place < held.real;

        for (size_t i = threadIdx.x; i < n; i += THREADS)
            out[row * n + i] = is_held ? table[place * n + i] : store<T>(0);
    }
}

template <typename T>
static void embedding_forward(struct compute *c, const struct vocabulary *held, void *out, const void *table,
                              const int32_t *tokens, size_t rows, size_t n)
{
    if (rows == 0)
        return;
    embedding_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>(
        *held, (T *)out, (const T *)table, tokens, rows, n);
    cuda_launched(c, "embedding_forward");
}

/* A block for each row of the table: it looks at all tokens in order, so no two add to one place at once. */
template <typename T>
static __global__ void embedding_backward_kernel(struct vocabulary held, main_t<T> *dtable, const T *dout,
                                                 const int32_t *tokens, size_t rows, size_t n)
{
    for (size_t place = blockIdx.x; place < held.real; place += gridDim.x) {
        for (size_t i = threadIdx.x; i < n; i += THREADS) {
            main_t<T> sum = dtable[place * n + i];

            for (size_t row = 0; row < rows; row++)
                sum += place_of(held, tokens[row]) == place ? load(dout[row * n + i]) : 0;
            dtable[place * n + i] = sum;
        }
    }
}

template <typename T>
static void embedding_backward(struct compute *c, const struct vocabulary *held, void *dtable,
                               const void *dout, const int32_t *tokens, size_t rows, size_t n)
{
    if (held->real == 0)
        return;
    embedding_backward_kernel<T><<<blocks_of_rows(held->real), THREADS, 0, cuda_state_of(c)->stream>>>(
        *held, (main_t<T> *)dtable, (const T *)dout, tokens, rows, n);
    cuda_launched(c, "embedding_backward");
}

/* ---- Cross-entropy --------------------------------------------------------------- */

template <typename T>
static __global__ void maximum_kernel(struct vocabulary held, main_t<T> *maximum, const T *logits,
                                      size_t rows)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        M top = -INFINITY; /* of a rank that holds padding only */

        for (size_t i = threadIdx.x; i < held.real; i += THREADS)
            top = greater()(top, (M)load(logits[row * held.rows + i]));
        top = block_reduce(top, greater());
        if (threadIdx.x == 0)
            maximum[row] = top;
    }
}

template <typename T>
static void loss_maximum(struct compute *c, const struct vocabulary *held, void *maximum, const void *logits,
                         size_t rows)
{
    if (rows == 0)
        return;
    maximum_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>(
        *held, (main_t<T> *)maximum, (const T *)logits, rows);
    cuda_launched(c, "loss_maximum");
}

template <typename T>
static __global__ void sums_kernel(struct vocabulary held, main_t<T> *sums, T *logits,
                                   const main_t<T> *maximum, const int32_t *labels, size_t rows)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        T *at = logits + row * held.rows;
        size_t place = place_of(held, labels[row]);
        M top = maximum[row], target = 0, total = 0;

        for (size_t i = threadIdx.x; i < held.real; i += THREADS) {
            M difference = load(at[i]) - top, power = exp(difference);

            target += i == place ? difference : 0;
            total += power;
            at[i] = store<T>(power);
        }
        target = block_reduce(target, adds());
        total = block_reduce(total, adds());
        if (threadIdx.x == 0) {
            sums[row] = target;
            sums[rows + row] = total;
        }
    }
}

template <typename T>
static void loss_sums(struct compute *c, const struct vocabulary *held, void *sums, void *logits,
                      const void *maximum, const int32_t *labels, size_t rows)
{
    if (rows == 0)
        return;
    sums_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>(
        *held, (main_t<T> *)sums, (T *)logits, (const main_t<T> *)maximum, labels, rows);
    cuda_launched(c, "loss_sums");
}

template <typename T>
static __global__ void finish_kernel(struct vocabulary held, main_t<T> *losses, T *logits,
                                     const main_t<T> *sums, const int32_t *labels, double scale, size_t rows)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        T *at = logits + row * held.rows;
        size_t place = place_of(held, labels[row]);
        M total = sums[rows + row];

        for (size_t i = threadIdx.x; i < held.rows; i += THREADS) {
            M p = i < held.real ? load(at[i]) / total : 0;
            M target = i == place && i < held.real ? 1 : 0;

            at[i] = store<T>((M)scale * (p - target));
        }
        if (threadIdx.x == 0)
            losses[row] = log(total) - sums[row];
    }
}

template <typename T>
static void loss_finish(struct compute *c, const struct vocabulary *held, void *losses, void *logits,
                        const void *sums, const int32_t *labels, double scale, size_t rows)
{
    if (rows == 0)
        return;
    finish_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>(
        *held, (main_t<T> *)losses, (T *)logits, (const main_t<T> *)sums, labels, scale, rows);
    cuda_launched(c, "loss_finish");
}

template <typename T> static void fill(struct compute_ops *ops)
{
    ops->embedding_forward = embedding_forward<T>;
    ops->embedding_backward = embedding_backward<T>;
    ops->loss_maximum = loss_maximum<T>;
    ops->loss_sums = loss_sums<T>;
    ops->loss_finish = loss_finish<T>;
}

extern "C" void cuda_vocabulary_ops(struct compute_ops *ops, enum dtrain_type type)
{
    CUDA_FILL(fill, ops, type);
}
