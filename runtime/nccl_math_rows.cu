/* Rows that go where an index says: embeddings, gathers, scatters and dots. */
#include "runtime/nccl_math_launch.h"

/* ---- Reading rows ---------------------------------------------------------- */

/* out[rows, n] = weight of the row times the row `place` of from, 0 where there is none. */
template <typename To, typename From, typename Place>
static __global__ void gather(To *to, const From *from, size_t rows, size_t n, Place place)
{
    using S = dt_sum_t<To>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        ptrdiff_t at = place.row(row);
        S weight = (S)place.weight(row);

        for (size_t i = threadIdx.x; i < n; i += DT_MATH_THREADS)
            to[row * n + i] = dt_put<To>(at < 0 ? (S)0 : weight * (S)dt_get(from[(size_t)at * n + i]));
    }
}

/* ---- Adding rows ------------------------------------------------------------- */

/*
 * The rows j, from base on, of the next DT_MATH_THREADS that go to `place`, in order, in list; how many.
 * All threads of the block call it; the list is whole when it returns.
 */
template <typename Place>
static __device__ int list_matches(int *list, size_t base, size_t rows, ptrdiff_t place, Place places)
{
    __shared__ int counts[DT_MATH_WARPS];
    int warp = threadIdx.x / DT_MATH_WARP, lane = threadIdx.x % DT_MATH_WARP, before = 0, all = 0;
    size_t j = base + threadIdx.x;
    bool matches = j < rows && places.row(j) == place;
    unsigned ballot = __ballot_sync(0xffffffffu, matches);

    if (lane == 0)
        counts[warp] = __popc(ballot);
    __syncthreads();
    for (int i = 0; i < DT_MATH_WARPS; i++) {
        before += i < warp ? counts[i] : 0;
        all += counts[i];
    }
    if (matches)
        list[before + __popc(ballot & ((1u << lane) - 1))] = (int)threadIdx.x;
    __syncthreads();
    return all;
}

/* Whether a row before `row` goes to the same place: its block does the work of all of them. */
template <typename Place> static __device__ bool has_earlier(size_t row, ptrdiff_t place, Place places)
{
    for (size_t base = 0; base < row; base += DT_MATH_THREADS) {
        size_t j = base + threadIdx.x;

        if (__syncthreads_or(j < row && places.row(j) == place))
            return true;
    }
    return false;
}

/*
 * to[place] += weight * from's row, for all rows in order. The first row of a place adds all of its place's,
 * so no two blocks write one row and the order never changes. Costs rows^2 / 2 looks at the index, which lies
 * in the cache.
 */
template <typename To, typename From, typename Place>
static __global__ void scatter(To *to, const From *from, size_t rows, size_t n, Place places)
{
    using S = dt_sum_t<To>;
    __shared__ int list[DT_MATH_THREADS];

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        ptrdiff_t place = places.row(row);

        if (place < 0 || has_earlier(row, place, places))
            continue;
        for (size_t base = row; base < rows; base += DT_MATH_THREADS) {
            int count = list_matches(list, base, rows, place, places);

            for (size_t i = threadIdx.x; count > 0 && i < n; i += DT_MATH_THREADS) {
                S sum = (S)dt_get(to[(size_t)place * n + i]);

                for (int k = 0; k < count; k++) {
                    size_t j = base + (size_t)list[k];

                    sum += (S)places.weight(j) * (S)dt_get(from[j * n + i]);
                }
                to[(size_t)place * n + i] = dt_put<To>(sum);
            }
            __syncthreads(); /* before the list is written again */
        }
    }
}

/* ---- Embeddings ----------------------------------------------------------------- */

struct token_places {
    const int32_t *tokens;
    size_t first, real;

    __device__ ptrdiff_t row(size_t i) const
    {
        size_t place = tokens[i] < 0 ? SIZE_MAX : (size_t)tokens[i] - first;

        return place < real ? (ptrdiff_t)place : -1;
    }
    __device__ float weight(size_t) const
    {
        return 1;
    }
};

static struct token_places places_of(const struct dt_math_embedding *e)
{
    return {e->tokens, e->first, e->real};
}

cudaError_t dt_nccl_math_embedding(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_embedding *e = &math->embedding;

    if (e->rows == 0 || e->n == 0)
        return cudaSuccess;
    dt_with_type(e->type, [&](auto out) {
        dt_with_type(e->table_type, [&](auto table) {
            gather<<<dt_blocks_of_rows(e->rows), DT_MATH_THREADS, 0, stream>>>(
                (typename decltype(out)::type *)e->out, (const typename decltype(table)::type *)e->table,
                e->rows, e->n, places_of(e));
        });
    });
    return cudaGetLastError();
}

cudaError_t dt_nccl_math_embedding_gradient(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_embedding *e = &math->embedding;

    if (e->rows == 0 || e->n == 0)
        return cudaSuccess;
    dt_with_type(e->type, [&](auto out) {
        dt_with_type(e->table_type, [&](auto table) {
            scatter<<<dt_blocks_of_rows(e->rows), DT_MATH_THREADS, 0, stream>>>(
                (typename decltype(table)::type *)e->table, (const typename decltype(out)::type *)e->out,
                e->rows, e->n, places_of(e));
        });
    });
    return cudaGetLastError();
}

/* ---- Rows by index ---------------------------------------------------------------- */

struct index_places {
    const int32_t *index;
    const float *weights;

    __device__ ptrdiff_t row(size_t i) const
    {
        return index[i];
    }
    __device__ float weight(size_t i) const
    {
        return weights != NULL ? weights[i] : 1;
    }
};

cudaError_t dt_nccl_math_gather_rows(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_rows *r = &math->rows;

    if (r->rows == 0 || r->n == 0)
        return cudaSuccess;
    dt_with_type(r->type, [&](auto t) {
        using T = typename decltype(t)::type;

        gather<<<dt_blocks_of_rows(r->rows), DT_MATH_THREADS, 0, stream>>>(
            (T *)r->to, (const T *)r->from, r->rows, r->n, index_places{r->index, r->weight});
    });
    return cudaGetLastError();
}

cudaError_t dt_nccl_math_scatter_rows(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_rows *r = &math->rows;

    if (r->rows == 0 || r->n == 0)
        return cudaSuccess;
    dt_with_type(r->type, [&](auto t) {
        using T = typename decltype(t)::type;

        scatter<<<dt_blocks_of_rows(r->rows), DT_MATH_THREADS, 0, stream>>>(
            (T *)r->to, (const T *)r->from, r->rows, r->n, index_places{r->index, r->weight});
    });
    return cudaGetLastError();
}

template <typename T> static __global__ void dot(struct dt_math_dot_rows dots)
{
    using S = dt_sum_t<T>;

    for (size_t row = blockIdx.x; row < dots.rows; row += gridDim.x) {
        int32_t place = dots.a_index[row];
        const T *a = (const T *)dots.a + (size_t)(place < 0 ? 0 : place) * dots.n;
        const T *b = (const T *)dots.b + row * dots.n;
        S sum = 0;

        for (size_t i = threadIdx.x; place >= 0 && i < dots.n; i += DT_MATH_THREADS)
            sum += (S)dt_get(a[i]) * (S)dt_get(b[i]);
        sum = dt_block_reduce(sum, dt_add());
        if (threadIdx.x == 0)
            dots.dots[dots.to_index[row]] = (float)sum;
    }
}

cudaError_t dt_nccl_math_dot_rows(const struct dt_math *math, cudaStream_t stream)
{
    const struct dt_math_dot_rows *dots = &math->dot_rows;

    if (dots->rows == 0)
        return cudaSuccess;
    dt_with_type(dots->type, [&](auto t) {
        dot<typename decltype(t)::type><<<dt_blocks_of_rows(dots->rows), DT_MATH_THREADS, 0, stream>>>(*dots);
    });
    return cudaGetLastError();
}
