/*
 * compute.h - the arithmetic of the model, as a table of operations, so that
 * another device is another file (compute_cpu.c is the one for CPUs).
 *
 * Pointers given to an operation lie in the device's own memory, from alloc();
 * the program does not look behind them but through copy_in and copy_out. They
 * can be offset, and given to dtrain's operations. Operations are queued in
 * order; synchronize() waits for them (before a communication reads what they
 * write, and copy_out does so by itself). Matrices are row-major and dense,
 * float32. "+=" adds to what is there, so that gradients sum up over
 * microbatches; "=" overwrites.
 *
 *   T  rows (sequences * S)    H  hidden    S  sequence    V  vocabulary rows
 */
#ifndef TRAIN_COMPUTE_H
#define TRAIN_COMPUTE_H

#include <stddef.h>
#include <stdint.h>

#include "dtrain.h"

/* Which factors of a product are transposed: c = a b, a b^T, a^T b. */
enum matmul_form { MATMUL_NN, MATMUL_NT, MATMUL_TN };

/* c is [m, n], k is the length of the sums. */
struct matmul {
    enum matmul_form form;
    size_t m, n, k;
    bool accumulate; /* c += instead of c = */
};

/* Heads held here; a row of qkv is [heads, 3 (query, key, value), head_size]. */
struct attention {
    size_t sequences, seq, heads, head_size;
};

/* The rows of a vocabulary that are held here: tokens first .. first + real - 1, of rows in memory. */
struct vocabulary {
    size_t first, real, rows;
};

struct adamw {
    float lr, beta1, beta2, epsilon;
    float decay;          /* decoupled weight decay; 0 for biases and norms */
    float correction1;    /* 1 - beta1^t, t the step from 1 */
    float correction2;    /* 1 - beta2^t */
    float gradient_scale; /* 1, or what clipping makes of it */
};

struct compute {
    const char *backend; /* the dtrain_backend() whose buffers these are */

    /* One device a process: the local_rank'th of those visible. */
    int (*open)(int local_rank, struct dtrain_error *err);
    void (*close)(void);

    void *(*alloc)(size_t bytes); /* zeroed; NULL when there is not enough */
    void (*release)(void *memory);
    void (*copy_in)(void *to, const void *host, size_t bytes);
    void (*copy_out)(void *host, const void *from, size_t bytes);
    int (*synchronize)(struct dtrain_error *err);

    void (*fill)(float *x, float value, size_t n);
    void (*add)(float *y, const float *x, size_t n); /* y += x */
    double (*sum_of_squares)(const float *x, size_t n); /* waits for the result */

    void (*matmul)(const struct matmul *shape, float *c, const float *a, const float *b);

    /* x[rows, n] += bias[n] in each row; dbias[n] += column sums of dx[rows, n]. */
    void (*bias_add)(float *x, const float *bias, size_t rows, size_t n);
    void (*bias_gradient)(float *dbias, const float *dx, size_t rows, size_t n);

    /*
     * out[T, H] = (x - mean) * rstd * gain + bias, mean and rstd [T] of each row, kept for the
     * backward: dx[T, H] += , dgain[H] +=, dbias[H] += .
     */
    void (*norm_forward)(float *out, float *mean, float *rstd, const float *x, const float *gain,
                         const float *bias, size_t rows, size_t n);
    void (*norm_backward)(float *dx, float *dgain, float *dbias, const float *dout, const float *x,
                          const float *mean, const float *rstd, const float *gain, size_t rows, size_t n);

    /* The tanh form. backward: dx[n] = dout[n] * gelu'(x[n]); dx == dout is allowed. */
    void (*gelu_forward)(float *out, const float *x, size_t n);
    void (*gelu_backward)(float *dx, const float *dout, const float *x, size_t n);

    /*
     * Causal attention within each sequence: probabilities [sequences, heads, S, S] =
     * softmax(q k^T / sqrt(head_size)) up to the diagonal, out[T, heads * head_size] = probabilities v.
     * backward: dqkv = ; scratch is as large as probabilities.
     */
    void (*attention_forward)(const struct attention *shape, float *out, float *probabilities,
                              const float *qkv);
    void (*attention_backward)(const struct attention *shape, float *dqkv, float *scratch, const float *dout,
                               const float *qkv, const float *probabilities);

    /* out[T, H] = the token's row of table[V, H], 0 where it is not held. backward: dtable += . */
    void (*embedding_forward)(const struct vocabulary *held, float *out, const float *table,
                              const int32_t *tokens, size_t rows, size_t n);
    void (*embedding_backward)(const struct vocabulary *held, float *dtable, const float *dout,
                               const int32_t *tokens, size_t rows, size_t n);

    /*
     * Cross-entropy over a vocabulary that is split over ranks, in pieces with
     * an all-reduce between them, finite however large the logits are:
     *   maximum[T] of the held logits[T, V]                      (then MAX over ranks)
     *   logits = e^(logit - maximum), sums[T] of them,
     *   targets[T] = target's logit - maximum, 0 if not held     (then SUM over ranks)
     *   losses[T] = log sums - targets,
     *   logits = scale * (softmax - one at the target), the loss's gradient times scale
     */
    void (*loss_maximum)(const struct vocabulary *held, float *maximum, const float *logits, size_t rows);
    void (*loss_sums)(const struct vocabulary *held, float *targets, float *sums, float *logits,
                      const float *maximum, const int32_t *labels, size_t rows);
    void (*loss_finish)(const struct vocabulary *held, float *losses, float *logits, const float *targets,
                        const float *sums, const int32_t *labels, float scale, size_t rows);

    /* One step of AdamW on n weights w with gradients g and moments m, v. */
    void (*adamw)(const struct adamw *step, float *w, float *m, float *v, const float *g, size_t n);
};

extern const struct compute compute_cpu;

/* The implementation for the world's backend. */
int compute_choose(const struct compute **compute, const char *backend, struct dtrain_error *err);

#endif
