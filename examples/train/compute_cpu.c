#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention_cpu.h"
#include "compute.h"
#include "matmul_cpu.h"

static const float gelu_scale = 0.7978845608028654f; /* sqrt(2 / pi) */
static const float gelu_cubic = 0.044715f;
static const float norm_epsilon = 1e-5f;

static int cpu_open(int local_rank, struct dtrain_error *err)
{
    (void)local_rank;
    (void)err;
    /* The ranks of a node share its cores: a pool of threads in each would fight over them. */
    openblas_set_num_threads(1);
    return 0;
}

static void cpu_close(void)
{
}

static void *cpu_alloc(size_t bytes)
{
    return calloc(1, bytes ? bytes : 1);
}

static void cpu_release(void *memory)
{
    free(memory);
}

static void cpu_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static int cpu_synchronize(struct dtrain_error *err)
{
    (void)err;
    return 0;
}

static void cpu_fill(float *x, float value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static void cpu_add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static double cpu_sum_of_squares(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void cpu_matmul(const struct matmul *shape, float *c, const float *a, const float *b)
{
    struct strided s = {
        .shape = *shape,
        .alpha = 1,
        .lda = shape->form == MATMUL_TN ? shape->m : shape->k,
        .ldb = shape->form == MATMUL_NT ? shape->k : shape->n,
        .ldc = shape->n,
    };

    matmul_cpu(&s, c, a, b);
}

static void cpu_bias_add(float *x, const float *bias, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        cpu_add(x + r * n, bias, n);
}

static void cpu_bias_gradient(float *dbias, const float *dx, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        cpu_add(dbias, dx + r * n, n);
}

static float mean_of(const float *x, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (float)n;
}

static float variance_of(const float *x, float mean, size_t n)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (float)n;
}

static void cpu_norm_forward(float *out, float *mean, float *rstd, const float *x, const float *gain,
                             const float *bias, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, out += n, x += n) {
        mean[r] = mean_of(x, n);
        rstd[r] = 1.0f / sqrtf(variance_of(x, mean[r], n) + norm_epsilon);
        for (size_t i = 0; i < n; i++)
            out[i] = (x[i] - mean[r]) * rstd[r] * gain[i] + bias[i];
    }
}

/* dx = rstd (d - mean(d) - y mean(d y)), y the normalised row, d = dout gain. */
static void norm_backward_row(float *dx, const float *dout, const float *x, float mean, float rstd,
                              const float *gain, size_t n)
{
    float sum = 0, dot = 0;

    for (size_t i = 0; i < n; i++) {
        sum += dout[i] * gain[i];
        dot += dout[i] * gain[i] * (x[i] - mean) * rstd;
    }
    sum /= (float)n;
    dot /= (float)n;
    for (size_t i = 0; i < n; i++)
        dx[i] += rstd * (dout[i] * gain[i] - sum - (x[i] - mean) * rstd * dot);
}

static void cpu_norm_backward(float *dx, float *dgain, float *dbias, const float *dout, const float *x,
                              const float *mean, const float *rstd, const float *gain, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, dx += n, dout += n, x += n) {
        for (size_t i = 0; i < n; i++) {
            dgain[i] += dout[i] * (x[i] - mean[r]) * rstd[r];
            dbias[i] += dout[i];
        }
        norm_backward_row(dx, dout, x, mean[r], rstd[r], gain, n);
    }
}

static float gelu_tanh(float x)
{
    return tanhf(gelu_scale * (x + gelu_cubic * x * x * x));
}

static void cpu_gelu_forward(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0.5f * x[i] * (1.0f + gelu_tanh(x[i]));
}

static void cpu_gelu_backward(float *dx, const float *dout, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float t = gelu_tanh(x[i]);
        float inner = gelu_scale * (1.0f + 3.0f * gelu_cubic * x[i] * x[i]);

        dx[i] = dout[i] * (0.5f * (1.0f + t) + 0.5f * x[i] * (1.0f - t * t) * inner);
    }
}

/* Row of the table that holds the token; -1 when another rank does. */
static ptrdiff_t held_row(const struct vocabulary *held, int32_t token)
{
    size_t row = (size_t)token - held->first;

    return (size_t)token >= held->first && row < held->real ? (ptrdiff_t)row : -1;
}

static void cpu_embedding_forward(const struct vocabulary *held, float *out, const float *table,
                                  const int32_t *tokens, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, out += n) {
        ptrdiff_t row = held_row(held, tokens[r]);

        if (row >= 0)
            memcpy(out, table + (size_t)row * n, n * sizeof(*out));
        else
            memset(out, 0, n * sizeof(*out));
    }
}

static void cpu_embedding_backward(const struct vocabulary *held, float *dtable, const float *dout,
                                   const int32_t *tokens, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++, dout += n) {
        ptrdiff_t row = held_row(held, tokens[r]);

        if (row >= 0)
            cpu_add(dtable + (size_t)row * n, dout, n);
    }
}

static void cpu_loss_maximum(const struct vocabulary *held, float *maximum, const float *logits, size_t rows)
{
    for (size_t r = 0; r < rows; r++, logits += held->rows) {
        maximum[r] = -INFINITY; /* of a rank that holds padding only */
        for (size_t i = 0; i < held->real; i++)
            maximum[r] = fmaxf(maximum[r], logits[i]);
    }
}

static void cpu_loss_sums(const struct vocabulary *held, float *targets, float *sums, float *logits,
                          const float *maximum, const int32_t *labels, size_t rows)
{
    for (size_t r = 0; r < rows; r++, logits += held->rows) {
        ptrdiff_t target = held_row(held, labels[r]);

        targets[r] = target >= 0 ? logits[target] - maximum[r] : 0.0f;
        sums[r] = 0;
        for (size_t i = 0; i < held->real; i++)
            sums[r] += logits[i] = expf(logits[i] - maximum[r]);
    }
}

static void cpu_loss_finish(const struct vocabulary *held, float *losses, float *logits, const float *targets,
                            const float *sums, const int32_t *labels, float scale, size_t rows)
{
    for (size_t r = 0; r < rows; r++, logits += held->rows) {
        ptrdiff_t target = held_row(held, labels[r]);

        losses[r] = logf(sums[r]) - targets[r];
        for (size_t i = 0; i < held->real; i++)
            logits[i] *= scale / sums[r];
        for (size_t i = held->real; i < held->rows; i++)
            logits[i] = 0;
        if (target >= 0)
            logits[target] -= scale;
    }
}

static void cpu_adamw(const struct adamw *step, float *w, float *m, float *v, const float *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float gradient = g[i] * step->gradient_scale;

        m[i] = step->beta1 * m[i] + (1.0f - step->beta1) * gradient;
        v[i] = step->beta2 * v[i] + (1.0f - step->beta2) * gradient * gradient;
        w[i] -= step->lr * step->decay * w[i];
        w[i] -= step->lr * (m[i] / step->correction1) / (sqrtf(v[i] / step->correction2) + step->epsilon);
    }
}

const struct compute compute_cpu = {
    .backend = "host",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .copy_in = cpu_copy,
    .copy_out = cpu_copy,
    .synchronize = cpu_synchronize,
    .fill = cpu_fill,
    .add = cpu_add,
    .sum_of_squares = cpu_sum_of_squares,
    .matmul = cpu_matmul,
    .bias_add = cpu_bias_add,
    .bias_gradient = cpu_bias_gradient,
    .norm_forward = cpu_norm_forward,
    .norm_backward = cpu_norm_backward,
    .gelu_forward = cpu_gelu_forward,
    .gelu_backward = cpu_gelu_backward,
    .attention_forward = attention_cpu_forward,
    .attention_backward = attention_cpu_backward,
    .embedding_forward = cpu_embedding_forward,
    .embedding_backward = cpu_embedding_backward,
    .loss_maximum = cpu_loss_maximum,
    .loss_sums = cpu_loss_sums,
    .loss_finish = cpu_loss_finish,
    .adamw = cpu_adamw,
};
