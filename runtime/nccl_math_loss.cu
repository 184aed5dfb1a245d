/* Cross-entropy over a split vocabulary and the merge of softmaxes: a block for each row. */
#include "runtime/nccl_math_launch.h"

/* Where the label lies among the held columns; at or past `real` where it does not. */
static __device__ __forceinline__ size_t place_of(int32_t label, size_t first)
{
    return label < 0 ? SIZE_MAX : (size_t)label - first;
}

template <typename T> static __global__ void loss_maximum(struct dt_math_loss loss)
{
    using S = dt_sum_t<T>;

    for (size_t row = blockIdx.x; row < loss.rows; row += gridDim.x) {
        const T *logits = (const T *)loss.logits + row * loss.n;
        S top = -INFINITY;

        for (size_t i = threadIdx.x; i < loss.real; i += DT_MATH_THREADS)
            top = dt_greater()(top, (S)dt_get(logits[i]));
        top = dt_block_reduce(top, dt_greater());
        if (threadIdx.x == 0)
            ((S *)loss.maximum)[row] = top;
    }
}

template <typename T> static __global__ void loss_sums(struct dt_math_loss loss)
{
    using S = dt_sum_t<T>;
    S *sums = (S *)loss.sums;

    for (size_t row = blockIdx.x; row < loss.rows; row += gridDim.x) {
        T *logits = (T *)loss.logits + row * loss.n;
        size_t place = place_of(loss.labels[row], loss.first);
        S top = ((const S *)loss.maximum)[row], target = 0, exponentials = 0, differences = 0;

        for (size_t i = threadIdx.x; i < loss.n; i += DT_MATH_THREADS) {
            S difference = i < loss.real ? (S)dt_get(logits[i]) - top : 0;
            S exponential = i < loss.real ? exp(difference) : 0;

            target += i == place && i < loss.real ? difference : 0;
            exponentials += exponential;
            differences += difference;
            logits[i] = dt_put<T>(exponential);
        }
        target = dt_block_reduce(target, dt_add());
        exponentials = dt_block_reduce(exponentials, dt_add());
        differences = dt_block_reduce(differences, dt_add());
        if (threadIdx.x == 0) {
            sums[row] = target;
            sums[loss.rows + row] = exponentials;
            sums[2 * loss.rows + row] = differences;
        }
    }
}

template <typename T> static __global__ void loss_finish(struct dt_math_loss loss)
{
    using S = dt_sum_t<T>;
    const S *sums = (const S *)loss.sums;
    S rest = (S)(1 - loss.smoothing), share = (S)(loss.smoothing / (double)loss.vocabulary);
    S scale = (S)loss.scale;

    for (size_t row = blockIdx.x; row < loss.rows; row += gridDim.x) {
        T *logits = (T *)loss.logits + row * loss.n;
        size_t place = place_of(loss.labels[row], loss.first);
        bool is_counted = loss.labels[row] >= 0;
        S exponentials = sums[loss.rows + row];

        for (size_t i = threadIdx.x; i < loss.n; i += DT_MATH_THREADS) {
            S p = (S)dt_get(logits[i]) / exponentials;
            S gradient = scale * (p - (i == place ? rest : 0) - share);

            logits[i] = dt_put<T>(is_counted && i < loss.real ? gradient : (S)0);
        }
        if (threadIdx.x == 0)
            ((S *)loss.losses)[row] =
                is_counted ? log(exponentials) - rest * sums[row] - share * sums[2 * loss.rows + row] : 0;
    }
}

cudaError_t dt_nccl_math_loss_maximum(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_loss *loss = &math->loss;

    if (loss->rows == 0)
        return cudaSuccess;
    dt_with_type(loss->type, [&](auto t) {
        loss_maximum<typename decltype(t)::type>
            <<<dt_blocks_of_rows(loss->rows), DT_MATH_THREADS, 0, stream>>>(*loss);
    });
    return cudaGetLastError();
}

cudaError_t dt_nccl_math_loss_sums(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_loss *loss = &math->loss;

    if (loss->rows == 0)
        return cudaSuccess;
    dt_with_type(loss->type, [&](auto t) {
        loss_sums<typename decltype(t)::type>
            <<<dt_blocks_of_rows(loss->rows), DT_MATH_THREADS, 0, stream>>>(*loss);
    });
    return cudaGetLastError();
}

cudaError_t dt_nccl_math_loss_finish(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_loss *loss = &math->loss;

    if (loss->rows == 0)
        return cudaSuccess;
    dt_with_type(loss->type, [&](auto t) {
        loss_finish<typename decltype(t)::type>
            <<<dt_blocks_of_rows(loss->rows), DT_MATH_THREADS, 0, stream>>>(*loss);
    });
    return cudaGetLastError();
}

/* Where both parts have no keys -infinity - -infinity would be no number: the row stays as it is. */
template <typename T> static __global__ void softmax_merge(struct dt_math_softmax_merge merge)
{
    using S = dt_sum_t<T>;
    S *lse = (S *)merge.lse;

    for (size_t row = blockIdx.x; row < merge.rows; row += gridDim.x) {
        S old = lse[row], add = ((const S *)merge.add_lse)[row];
        S top = dt_greater()(old, add);

        if (top != (S)-INFINITY) {
            S sum = top + log(exp(old - top) + exp(add - top));
            S kept = exp(old - sum), added = exp(add - sum);
            T *out = (T *)merge.out + row * merge.n;
            const T *from = (const T *)merge.add + row * merge.n;

            for (size_t i = threadIdx.x; i < merge.n; i += DT_MATH_THREADS)
                out[i] = dt_put<T>(kept * (S)dt_get(out[i]) + added * (S)dt_get(from[i]));
            __syncthreads(); /* all have read the old one */
            if (threadIdx.x == 0)
                lse[row] = sum;
        }
    }
}

cudaError_t dt_nccl_math_softmax_merge(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_softmax_merge *merge = &math->softmax_merge;

    if (merge->rows == 0)
        return cudaSuccess;
    dt_with_type(merge->type, [&](auto t) {
        softmax_merge<typename decltype(t)::type>
            <<<dt_blocks_of_rows(merge->rows), DT_MATH_THREADS, 0, stream>>>(*merge);
    });
    return cudaGetLastError();
}
