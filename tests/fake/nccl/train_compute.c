/*
 * What train_cuda.so is to examples/train, over the doubles' memory, which the
 * CPU can reach. Like a GPU it has a stream, and computes after what the stream
 * waits for: a missing order between computing and communicating shows.
 */
#include <stdlib.h>

#include "examples/train/cpu.h"

/* The CPU's table for the compute's type, once all that the stream has was run. */
static const struct compute_ops *settled(struct compute *c)
{
    struct dtrain_error err = {""};

    if (dtrain_stream_synchronize(c->stream, &err) != 0)
        compute_fail(c, "%s", err.text);
    if (c->type == DTRAIN_FLOAT64)
        return &cpu_float64_ops;
    return c->type == DTRAIN_BFLOAT16 ? &cpu_bfloat16_ops : &cpu_float32_ops;
}

static void double_close(struct compute *c)
{
    dtrain_stream_destroy(c->stream, NULL);
    cpu_close(c);
}

static void double_zero(struct compute *c, void *x, size_t bytes)
{
    settled(c)->zero(c, x, bytes);
}

static void double_add(struct compute *c, void *y, const void *x, size_t n)
{
    settled(c)->add(c, y, x, n);
}

static void double_cast(struct compute *c, void *to, const void *from, size_t n)
{
    settled(c)->cast(c, to, from, n);
}

static void double_sum(struct compute *c, double *to, const void *x, size_t n)
{
    settled(c)->sum(c, to, x, n);
}

static void double_sum_of_squares(struct compute *c, double *to, const void *x, size_t n)
{
    settled(c)->sum_of_squares(c, to, x, n);
}

static void double_matmul(struct compute *c, const struct matmul *shape, void *to, const void *a,
                          const void *b)
{
    settled(c)->matmul(c, shape, to, a, b);
}

static void double_bias_add(struct compute *c, void *x, const void *bias, size_t rows, size_t n)
{
    settled(c)->bias_add(c, x, bias, rows, n);
}

static void double_bias_gradient(struct compute *c, void *dbias, const void *dx, size_t rows, size_t n)
{
    settled(c)->bias_gradient(c, dbias, dx, rows, n);
}

static void double_norm_forward(struct compute *c, void *out, void *mean, void *rstd, const void *x,
                                const void *gain, const void *bias, size_t rows, size_t n)
{
    settled(c)->norm_forward(c, out, mean, rstd, x, gain, bias, rows, n);
}

static void double_norm_backward(struct compute *c, void *dx, void *dgain, void *dbias, const void *dout,
                                 const void *x, const void *mean, const void *rstd, const void *gain,
                                 size_t rows, size_t n)
{
    settled(c)->norm_backward(c, dx, dgain, dbias, dout, x, mean, rstd, gain, rows, n);
}

static void double_gelu_forward(struct compute *c, void *out, const void *x, size_t n)
{
    settled(c)->gelu_forward(c, out, x, n);
}

static void double_gelu_backward(struct compute *c, void *dx, const void *dout, const void *x, size_t n)
{
    settled(c)->gelu_backward(c, dx, dout, x, n);
}

static void double_attention_forward(struct compute *c, const struct attention *shape, void *out,
                                     void *probabilities, const void *qkv)
{
    settled(c)->attention_forward(c, shape, out, probabilities, qkv);
}

static void double_attention_backward(struct compute *c, const struct attention *shape, void *dqkv,
                                      void *scratch, const void *dout, const void *qkv,
                                      const void *probabilities)
{
    settled(c)->attention_backward(c, shape, dqkv, scratch, dout, qkv, probabilities);
}

static void double_embedding_forward(struct compute *c, const struct vocabulary *held, void *out,
                                     const void *table, const int32_t *tokens, size_t rows, size_t n)
{
    settled(c)->embedding_forward(c, held, out, table, tokens, rows, n);
}

static void double_embedding_backward(struct compute *c, const struct vocabulary *held, void *dtable,
                                      const void *dout, const int32_t *tokens, size_t rows, size_t n)
{
    settled(c)->embedding_backward(c, held, dtable, dout, tokens, rows, n);
}

static void double_loss_maximum(struct compute *c, const struct vocabulary *held, void *maximum,
                                const void *logits, size_t rows)
{
    settled(c)->loss_maximum(c, held, maximum, logits, rows);
}

static void double_loss_sums(struct compute *c, const struct vocabulary *held, void *sums, void *logits,
                             const void *maximum, const int32_t *labels, size_t rows)
{
    settled(c)->loss_sums(c, held, sums, logits, maximum, labels, rows);
}

static void double_loss_finish(struct compute *c, const struct vocabulary *held, void *losses, void *logits,
                               const void *sums, const int32_t *labels, double scale, size_t rows)
{
    settled(c)->loss_finish(c, held, losses, logits, sums, labels, scale, rows);
}

static void double_adamw(struct compute *c, const struct adamw *step, void *w, void *m, void *v,
                         const void *g, void *copy, size_t n)
{
    settled(c)->adamw(c, step, w, m, v, g, copy, n);
}

static const struct compute_ops double_ops = {
    .close = double_close,
    .zero = double_zero,
    .add = double_add,
    .cast = double_cast,
    .sum = double_sum,
    .sum_of_squares = double_sum_of_squares,
    .matmul = double_matmul,
    .bias_add = double_bias_add,
    .bias_gradient = double_bias_gradient,
    .norm_forward = double_norm_forward,
    .norm_backward = double_norm_backward,
    .gelu_forward = double_gelu_forward,
    .gelu_backward = double_gelu_backward,
    .attention_forward = double_attention_forward,
    .attention_backward = double_attention_backward,
    .embedding_forward = double_embedding_forward,
    .embedding_backward = double_embedding_backward,
    .loss_maximum = double_loss_maximum,
    .loss_sums = double_loss_sums,
    .loss_finish = double_loss_finish,
    .adamw = double_adamw,
};

int train_compute_open(struct compute *c, struct dtrain_error *err)
{
    if (compute_cpu_open(c, err) != 0)
        return -1;
    if (dtrain_stream_create(c->world, &c->stream, err) != 0) {
        cpu_close(c);
        return -1;
    }
    c->ops = &double_ops;
    return 0;
}
