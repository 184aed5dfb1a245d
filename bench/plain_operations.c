#include <cblas.h>
#include <math.h>
#include <string.h>

#include "bench/plain.h"

#define NORM_EPSILON 1e-5f

void plain_product(enum plain_form form, size_t m, size_t n, size_t k, float alpha, const float *a,
                   size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    cblas_sgemm(CblasRowMajor, form == PLAIN_TN ? CblasTrans : CblasNoTrans,
                form == PLAIN_NT ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha, a,
                (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

void plain_linear(float *out, const float *x, size_t w, size_t bias, size_t rows, size_t k, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * n, plain_weight(bias), n * sizeof(*out));
    plain_product(PLAIN_NN, rows, n, k, 1, x, k, plain_weight(w), n, 1, out, n);
}

void plain_linear_backward(float *dx, const float *x, const float *d, size_t w, size_t bias, size_t rows,
                           size_t k, size_t n)
{
    float *dbias = plain_gradient(bias);

    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < n; i++)
            dbias[i] += d[r * n + i];
    }
    plain_product(PLAIN_TN, k, n, rows, 1, x, k, d, n, 1, plain_gradient(w), n);
    plain_product(PLAIN_NT, rows, k, n, 1, d, n, plain_weight(w), n, 0, dx, k);
}

void plain_norm(float *out, float *mean, float *rstd, const float *x, size_t gain, size_t bias, size_t rows)
{
    const float *g = plain_weight(gain), *b = plain_weight(bias);
    size_t n = plain_options.hidden;

    for (size_t r = 0; r < rows; r++, x += n, out += n) {
        float sum = 0, squares = 0;

        for (size_t i = 0; i < n; i++)
            sum += x[i];
        mean[r] = sum / (float)n;
        for (size_t i = 0; i < n; i++)
            squares += (x[i] - mean[r]) * (x[i] - mean[r]);
        rstd[r] = 1.0f / sqrtf(squares / (float)n + NORM_EPSILON);
        for (size_t i = 0; i < n; i++)
            out[i] = (x[i] - mean[r]) * rstd[r] * g[i] + b[i];
    }
}

void plain_norm_backward(float *dx, const float *d, const float *x, const float *mean, const float *rstd,
                         size_t gain, size_t bias, size_t rows)
{
    const float *g = plain_weight(gain);
    float *dgain = plain_gradient(gain), *dbias = plain_gradient(bias);
    size_t n = plain_options.hidden;

    for (size_t r = 0; r < rows; r++, x += n, d += n, dx += n) {
        float sum = 0, dot = 0;

        for (size_t i = 0; i < n; i++) {
            float y = (x[i] - mean[r]) * rstd[r];

            dgain[i] += d[i] * y;
            dbias[i] += d[i];
            sum += d[i] * g[i];
            dot += d[i] * g[i] * y;
        }
        for (size_t i = 0; i < n; i++)
            dx[i] += rstd[r] * (d[i] * g[i] - sum / (float)n - (x[i] - mean[r]) * rstd[r] * dot / (float)n);
    }
}

static float gelu_tanh(float x)
{
    return tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x));
}

void plain_gelu(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0.5f * x[i] * (1 + gelu_tanh(x[i]));
}

void plain_gelu_backward(float *d, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float t = gelu_tanh(x[i]), inner = 0.7978845608028654f * (1 + 3 * 0.044715f * x[i] * x[i]);

        d[i] *= 0.5f * (1 + t) + 0.5f * x[i] * (1 - t * t) * inner;
    }
}

static void causal_softmax(float *p, size_t seq)
{
    for (size_t r = 0; r < seq; r++, p += seq) {
        float top = p[0], sum = 0;

        for (size_t i = 1; i <= r; i++)
            top = fmaxf(top, p[i]);
        for (size_t i = 0; i <= r; i++)
            sum += p[i] = expf(p[i] - top);
        for (size_t i = 0; i <= r; i++)
            p[i] /= sum;
        memset(p + r + 1, 0, (seq - r - 1) * sizeof(*p));
    }
}

void plain_attention(float *out, float *p, const float *qkv, size_t sequences)
{
    size_t s = plain_options.seq, h = plain_options.hidden, size = h / plain_options.heads;

    for (size_t i = 0; i < sequences * plain_options.heads; i++, p += s * s) {
        size_t row = i / plain_options.heads * s, head = i % plain_options.heads;
        const float *query = qkv + row * 3 * h + head * 3 * size;

        plain_product(PLAIN_NT, s, s, size, 1 / sqrtf((float)size), query, 3 * h, query + size, 3 * h, 0, p,
                      s);
        causal_softmax(p, s);
        plain_product(PLAIN_NN, s, size, s, 1, p, s, query + 2 * size, 3 * h, 0, out + row * h + head * size,
                      h);
    }
}

void plain_attention_backward(float *dqkv, float *scratch, const float *d, const float *qkv, const float *p,
                              size_t sequences)
{
    size_t s = plain_options.seq, h = plain_options.hidden, size = h / plain_options.heads;
    float scale = 1 / sqrtf((float)size);

    for (size_t i = 0; i < sequences * plain_options.heads; i++, p += s * s) {
        size_t row = i / plain_options.heads * s, head = i % plain_options.heads;
        const float *query = qkv + row * 3 * h + head * 3 * size, *dout = d + row * h + head * size;
        float *dquery = dqkv + row * 3 * h + head * 3 * size;

        plain_product(PLAIN_TN, s, size, s, 1, p, s, dout, h, 0, dquery + 2 * size, 3 * h);
        plain_product(PLAIN_NT, s, s, size, 1, dout, h, query + 2 * size, 3 * h, 0, scratch, s);
        for (size_t r = 0; r < s; r++) {
            float dot = 0;

            for (size_t c = 0; c <= r; c++)
                dot += scratch[r * s + c] * p[r * s + c];
            for (size_t c = 0; c < s; c++)
                scratch[r * s + c] = p[r * s + c] * (scratch[r * s + c] - dot);
        }
        plain_product(PLAIN_NN, s, size, s, scale, scratch, s, query + size, 3 * h, 0, dquery, 3 * h);
        plain_product(PLAIN_TN, s, size, s, scale, scratch, s, query, 3 * h, 0, dquery + size, 3 * h);
    }
}

void plain_add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

double plain_cross_entropy(float *logits, const int32_t *labels, size_t rows, float scale)
{
    double sum = 0;

    for (size_t r = 0; r < rows; r++) {
        float *x = logits + r * PLAIN_VOCABULARY, top = x[0], total = 0, target;

        for (size_t i = 1; i < PLAIN_VOCABULARY; i++)
            top = fmaxf(top, x[i]);
        target = x[labels[r]] - top;
        for (size_t i = 0; i < PLAIN_VOCABULARY; i++)
            total += x[i] = expf(x[i] - top);
        for (size_t i = 0; i < PLAIN_VOCABULARY; i++)
            x[i] *= scale / total;
        x[labels[r]] -= scale;
        sum += (double)(logf(total) - target);
    }
    return sum;
}
