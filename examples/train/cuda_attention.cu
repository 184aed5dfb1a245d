/* Causal attention: products for all heads of a sequence together, softmax by a block for each row. */
#include <math.h>

#include "cuda_device.h"

/* x[rows, S] = softmax of each row up to the diagonal of its square, 0 after it. */
template <typename T> static __global__ void softmax_kernel(T *x, size_t rows, size_t seq)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        T *at = x + row * seq;
        size_t count = row % seq + 1;
        M top = -INFINITY, sum = 0;

        for (size_t i = threadIdx.x; i < count; i += THREADS)
            top = greater()(top, (M)load(at[i]));
        top = block_reduce(top, greater());
        for (size_t i = threadIdx.x; i < count; i += THREADS)
            sum += exp(load(at[i]) - top);
        sum = block_reduce(sum, adds());
        for (size_t i = threadIdx.x; i < seq; i += THREADS)
            at[i] = store<T>(i < count ? exp(load(at[i]) - top) / sum : (M)0);
    }
}

/* d = p (d - sum(d p)) in each row: the gradient through the softmax. */
template <typename T>
static __global__ void softmax_backward_kernel(T *d, const T *p, size_t rows, size_t seq)
{
    using M = main_t<T>;

    for (size_t row = blockIdx.x; row < rows; row += gridDim.x) {
        T *at = d + row * seq;
        const T *weights = p + row * seq;
        size_t count = row % seq + 1;
        M dot = 0;

        for (size_t i = threadIdx.x; i < count; i += THREADS)
            dot += load(at[i]) * load(weights[i]);
        dot = block_reduce(dot, adds());
        for (size_t i = threadIdx.x; i < seq; i += THREADS)
            at[i] = store<T>(i < count ? load(weights[i]) * (load(at[i]) - dot) : (M)0);
    }
}

/* Distances in elements: between rows of qkv and of the output, between heads of each. */
struct strides {
    size_t qkv, out, qkv_head, out_head, square;
};

static struct strides strides_of(const struct attention *shape)
{
    size_t width = shape->heads * shape->head_size;

    return {3 * width, width, 3 * shape->head_size, shape->head_size, shape->seq * shape->seq};
}

/* Products of all heads; k is what their sums run over. */
static struct cuda_product product_of(const struct attention *shape, enum matmul_form form, size_t n,
                                      size_t k, double alpha)
{
    struct cuda_product p = {};

    p.shape.form = form;
    p.shape.m = shape->seq;
    p.shape.n = n;
    p.shape.k = k;
    p.alpha = alpha;
    p.batch = shape->heads;
    return p;
}

static void set_rows(struct cuda_product *p, size_t lda, size_t ldb, size_t ldc)
{
    p->lda = lda;
    p->ldb = ldb;
    p->ldc = ldc;
}

static void set_heads(struct cuda_product *p, size_t a, size_t b, size_t c)
{
    p->next_a = a;
    p->next_b = b;
    p->next_c = c;
}

static double scale_of(const struct attention *shape)
{
    return 1 / sqrt((double)shape->head_size);
}

template <typename T>
static void attention_forward(struct compute *c, const struct attention *shape, void *out,
                              void *probabilities, const void *qkv)
{
    struct strides s = strides_of(shape);
    size_t size = shape->head_size, squares = shape->heads * s.square;
    size_t rows = shape->sequences * shape->heads * shape->seq;
    struct cuda_product scores = product_of(shape, MATMUL_NT, shape->seq, size, scale_of(shape));
    struct cuda_product mix = product_of(shape, MATMUL_NN, size, shape->seq, 1);

    if (rows == 0)
        return;
    set_rows(&scores, s.qkv, s.qkv, shape->seq);
    set_heads(&scores, s.qkv_head, s.qkv_head, s.square);
    set_rows(&mix, shape->seq, s.qkv, s.out);
    set_heads(&mix, s.square, s.qkv_head, s.out_head);
    for (size_t i = 0; i < shape->sequences; i++) {
        const T *query = (const T *)qkv + i * shape->seq * s.qkv;

        cuda_product(c, &scores, (T *)probabilities + i * squares, query, query + size);
    }
    softmax_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>((T *)probabilities,
                                                                                      rows, shape->seq);
    cuda_launched(c, "attention_forward");
    for (size_t i = 0; i < shape->sequences; i++) {
        const T *value = (const T *)qkv + i * shape->seq * s.qkv + 2 * size;

        cuda_product(c, &mix, (T *)out + i * shape->seq * s.out, (T *)probabilities + i * squares, value);
    }
}

template <typename T>
static void attention_backward(struct compute *c, const struct attention *shape, void *dqkv, void *scratch,
                               const void *dout, const void *qkv, const void *probabilities)
{
    struct strides s = strides_of(shape);
    size_t size = shape->head_size, squares = shape->heads * s.square;
    size_t rows = shape->sequences * shape->heads * shape->seq;
    struct cuda_product to_value = product_of(shape, MATMUL_TN, size, shape->seq, 1);
    struct cuda_product to_scores = product_of(shape, MATMUL_NT, shape->seq, size, 1);
    struct cuda_product to_query = product_of(shape, MATMUL_NN, size, shape->seq, scale_of(shape));
    struct cuda_product to_key = product_of(shape, MATMUL_TN, size, shape->seq, scale_of(shape));

    if (rows == 0)
        return;
    set_rows(&to_value, shape->seq, s.out, s.qkv);
    set_heads(&to_value, s.square, s.out_head, s.qkv_head);
    set_rows(&to_scores, s.out, s.qkv, shape->seq);
    set_heads(&to_scores, s.out_head, s.qkv_head, s.square);
    set_rows(&to_query, shape->seq, s.qkv, s.qkv);
    set_heads(&to_query, s.square, s.qkv_head, s.qkv_head);
    set_rows(&to_key, shape->seq, s.qkv, s.qkv);
    set_heads(&to_key, s.square, s.qkv_head, s.qkv_head);
    for (size_t i = 0; i < shape->sequences; i++) {
        const T *value = (const T *)qkv + i * shape->seq * s.qkv + 2 * size;
        const T *d = (const T *)dout + i * shape->seq * s.out;

        cuda_product(c, &to_value, (T *)dqkv + i * shape->seq * s.qkv + 2 * size,
                     (const T *)probabilities + i * squares, d);
        cuda_product(c, &to_scores, (T *)scratch + i * squares, d, value);
    }
    softmax_backward_kernel<T><<<blocks_of_rows(rows), THREADS, 0, cuda_state_of(c)->stream>>>(
        (T *)scratch, (const T *)probabilities, rows, shape->seq);
    cuda_launched(c, "attention_backward");
    for (size_t i = 0; i < shape->sequences; i++) {
        const T *query = (const T *)qkv + i * shape->seq * s.qkv;
        T *dquery = (T *)dqkv + i * shape->seq * s.qkv;

        cuda_product(c, &to_query, dquery, (T *)scratch + i * squares, query + size);
        cuda_product(c, &to_key, dquery + size, (T *)scratch + i * squares, query);
    }
}

template <typename T> static void fill(struct compute_ops *ops)
{
    ops->attention_forward = attention_forward<T>;
    ops->attention_backward = attention_backward<T>;
}

extern "C" void cuda_attention_ops(struct compute_ops *ops, enum dtrain_type type)
{
    CUDA_FILL(fill, ops, type);
}
