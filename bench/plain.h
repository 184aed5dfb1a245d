/*
 * plain.h - the parts of plain_train, the yardstick of bench/train.sh: the model of examples/train in one
 * process and for one process, flat arrays and loops around the same BLAS, thread and state. A lack of
 * memory ends it.
 */
#ifndef DT_BENCH_PLAIN_H
#define DT_BENCH_PLAIN_H

#include <stddef.h>
#include <stdint.h>

enum { PLAIN_VOCABULARY = 256 };

extern struct plain_options {
    const char *data;
    size_t layers, hidden, heads, seq, batch, microbatches, steps;
    double lr;
    uint64_t seed;
} plain_options;

/* Zeroed; the program ends when there is none. */
void *plain_allocate(size_t count, size_t size);

/* ---- Parameters: train's, in its order and with its initial values ------------------------------------ */

enum { TOKENS, POSITIONS, LAYERS };
enum {
    GAIN1,
    BIAS1,
    QKV,
    QKV_BIAS,
    PROJECTION,
    PROJECTION_BIAS,
    GAIN2,
    BIAS2,
    WIDE,
    WIDE_BIAS,
    NARROW,
    NARROW_BIAS,
    OF_LAYER
};
enum { HEAD_GAIN, HEAD_BIAS, HEAD, OF_HEAD };

/* Index of a parameter of the layer, and of one of the head's. */
size_t plain_of_layer(size_t layer, size_t which);
size_t plain_of_head(size_t which);

/* A function of the three only: train's. */
uint64_t plain_random_bits(uint64_t seed, uint64_t stream, uint64_t index);

void plain_create_parameters(void);
void plain_zero_gradients(void);
void plain_adamw(uint64_t step);
float *plain_weight(size_t index);
float *plain_gradient(size_t index);

/* ---- Operations: rows x hidden matrices; w, bias and gain are indices of parameters ------------------- */

enum plain_form { PLAIN_NN, PLAIN_NT, PLAIN_TN };

/* c[m, n] = alpha op(a) op(b) + beta c, rows lda, ldb, ldc apart. */
void plain_product(enum plain_form form, size_t m, size_t n, size_t k, float alpha, const float *a,
                   size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc);

/* out[rows, n] = x[rows, k] w[k, n] + bias; backward: dx = , and the gradients of w and bias += . */
void plain_linear(float *out, const float *x, size_t w, size_t bias, size_t rows, size_t k, size_t n);
void plain_linear_backward(float *dx, const float *x, const float *d, size_t w, size_t bias, size_t rows,
                           size_t k, size_t n);

/* Layer norm; backward: dx += , and the gradients of gain and bias += . */
void plain_norm(float *out, float *mean, float *rstd, const float *x, size_t gain, size_t bias, size_t rows);
void plain_norm_backward(float *dx, const float *d, const float *x, const float *mean, const float *rstd,
                         size_t gain, size_t bias, size_t rows);

/* The tanh form; backward: d *= its derivative at x. */
void plain_gelu(float *out, const float *x, size_t n);
void plain_gelu_backward(float *d, const float *x, size_t n);

/* Causal attention, a row of qkv being [heads, 3, head size]; p[sequences, heads, S, S], scratch[S, S]. */
void plain_attention(float *out, float *p, const float *qkv, size_t sequences);
void plain_attention_backward(float *dqkv, float *scratch, const float *d, const float *qkv, const float *p,
                              size_t sequences);

void plain_add(float *y, const float *x, size_t n);

/* Sum of the rows' losses; logits become scale times the gradient. */
double plain_cross_entropy(float *logits, const int32_t *labels, size_t rows, float scale);

#endif
