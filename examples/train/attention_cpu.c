#include "attention_cpu.h"

#include <math.h>
#include <string.h>

#include "matmul_cpu.h"

/* Where one head of one sequence lies. */
struct head {
    size_t seq, size;
    size_t stride;     /* between rows of qkv */
    size_t out_stride; /* between rows of the output */
    size_t qkv;        /* offset of the query; key and value follow at size and 2 size */
    size_t out;
    size_t square; /* offset of the [S, S] probabilities */
};

static struct head head_at(const struct attention *shape, size_t sequence, size_t head)
{
    size_t width = shape->heads * shape->head_size;
    size_t row = sequence * shape->seq;

    return (struct head){
        .seq = shape->seq,
        .size = shape->head_size,
        .stride = 3 * width,
        .out_stride = width,
        .qkv = row * 3 * width + head * 3 * shape->head_size,
        .out = row * width + head * shape->head_size,
        .square = (sequence * shape->heads + head) * shape->seq * shape->seq,
    };
}

static float head_scale(const struct head *h)
{
    return 1.0f / sqrtf((float)h->size);
}

/* x[S, S] = softmax of each row up to the diagonal, 0 after it. */
static void causal_softmax(float *x, size_t seq)
{
    for (size_t r = 0; r < seq; r++, x += seq) {
        float top = x[0], sum = 0;

        for (size_t i = 1; i <= r; i++)
            top = fmaxf(top, x[i]);
        for (size_t i = 0; i <= r; i++)
            sum += x[i] = expf(x[i] - top);
        for (size_t i = 0; i <= r; i++)
            x[i] /= sum;
        memset(x + r + 1, 0, (seq - r - 1) * sizeof(*x));
    }
}

/* d = p (d - sum(d p)) in each row: the gradient through the softmax. */
static void softmax_backward(float *d, const float *p, size_t seq)
{
    for (size_t r = 0; r < seq; r++, d += seq, p += seq) {
        float dot = 0;

        for (size_t i = 0; i <= r; i++)
            dot += d[i] * p[i];
        for (size_t i = 0; i < seq; i++)
            d[i] = p[i] * (d[i] - dot);
    }
}

static void head_forward(const struct head *h, float *out, float *probabilities, const float *qkv)
{
    const float *query = qkv + h->qkv, *key = query + h->size, *value = key + h->size;
    float *p = probabilities + h->square;
    struct strided scores = {
        {MATMUL_NT, h->seq, h->seq, h->size, false}, head_scale(h), h->stride, h->stride, h->seq};
    struct strided mix = {{MATMUL_NN, h->seq, h->size, h->seq, false}, 1, h->seq, h->stride, h->out_stride};

    matmul_cpu(&scores, p, query, key);
    causal_softmax(p, h->seq);
    matmul_cpu(&mix, out + h->out, p, value);
}

void attention_cpu_forward(const struct attention *shape, float *out, float *probabilities, const float *qkv)
{
    for (size_t sequence = 0; sequence < shape->sequences; sequence++) {
        for (size_t i = 0; i < shape->heads; i++) {
            struct head h = head_at(shape, sequence, i);

            head_forward(&h, out, probabilities, qkv);
        }
    }
}

static void head_backward(const struct head *h, float *dqkv, float *scratch, const float *dout,
                          const float *qkv, const float *probabilities)
{
    const float *query = qkv + h->qkv, *key = query + h->size, *value = key + h->size;
    float *dquery = dqkv + h->qkv, *dkey = dquery + h->size, *dvalue = dkey + h->size;
    const float *p = probabilities + h->square, *d = dout + h->out;
    struct strided to_value = {
        {MATMUL_TN, h->seq, h->size, h->seq, false}, 1, h->seq, h->out_stride, h->stride};
    struct strided to_scores = {
        {MATMUL_NT, h->seq, h->seq, h->size, false}, 1, h->out_stride, h->stride, h->seq};
    struct strided to_query = {
        {MATMUL_NN, h->seq, h->size, h->seq, false}, head_scale(h), h->seq, h->stride, h->stride};
    struct strided to_key = {
        {MATMUL_TN, h->seq, h->size, h->seq, false}, head_scale(h), h->seq, h->stride, h->stride};

    matmul_cpu(&to_value, dvalue, p, d);
    matmul_cpu(&to_scores, scratch, d, value);
    softmax_backward(scratch, p, h->seq);
    matmul_cpu(&to_query, dquery, scratch, key);
    matmul_cpu(&to_key, dkey, scratch, query);
}

void attention_cpu_backward(const struct attention *shape, float *dqkv, float *scratch, const float *dout,
                            const float *qkv, const float *probabilities)
{
    for (size_t sequence = 0; sequence < shape->sequences; sequence++) {
        for (size_t i = 0; i < shape->heads; i++) {
            struct head h = head_at(shape, sequence, i);

            head_backward(&h, dqkv, scratch, dout, qkv, probabilities);
        }
    }
}
