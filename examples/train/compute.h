/*
 * compute.h - the arithmetic of the model, as a table of operations, so that
 * another device is another file (cpu_*.c are those for CPUs, cuda_*.cu those
 * for NVIDIA's GPUs, in a module of their own).
 *
 * Pointers given to an operation lie in the memory of the world's backend, from
 * dtrain_memory_alloc(); the program does not look behind them but through
 * compute_copy_in() and compute_copy_out(). They can be offset, and given to
 * dtrain's operations. Matrices are row-major and dense. "+=" adds to what is
 * there, so that gradients sum up over microbatches; "=" overwrites.
 *
 * A run has two types (Megatron-LM's mixed precision):
 *   type   activations, their gradients, and the weights that they meet
 *   main   master weights, AdamW's moments, weights' gradients, statistics of
 *          norms and losses: float64 for float64, else float32
 * Pointers are of `type` unless marked "main". Sums run in `main` and are
 * rounded where they are stored.
 *
 *   T  rows (sequences * S)    H  hidden    S  sequence    V  vocabulary rows
 */
#ifndef TRAIN_COMPUTE_H
#define TRAIN_COMPUTE_H

#include <stddef.h>
#include <stdint.h>

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which factors of a product are transposed: c = a b, a b^T, a^T b. */
enum matmul_form { MATMUL_NN, MATMUL_NT, MATMUL_TN };

/* c is [m, n], k is the length of the sums. */
struct matmul {
    enum matmul_form form;
    size_t m, n, k;
    bool accumulate; /* c += instead of c = ; c is then of main type: a weight's gradient */
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
    double lr, beta1, beta2, epsilon;
    double decay;          /* decoupled weight decay; 0 for biases and norms */
    double correction1;    /* 1 - beta1^t, t the step from 1 */
    double correction2;    /* 1 - beta2^t */
    double gradient_scale; /* 1, or what clipping makes of it */
};

struct compute_ops;

struct compute {
    const struct compute_ops *ops;
    struct dtrain_world *world; /* borrowed; its backend's memory is what operations see */
    enum dtrain_type type, main;
    struct dtrain_stream *stream; /* that operations are queued on; NULL: they are done when they return */
    void *state;                  /* the implementation's */
    void *module;                 /* that it was loaded from, or NULL */
    bool failed;                  /* an operation could not be run; later ones may do nothing */
    struct dtrain_error failure;  /* the first */
};

struct compute_ops {
    void (*close)(struct compute *c);

    void (*zero)(struct compute *c, void *x, size_t bytes);
    void (*add)(struct compute *c, void *y, const void *x, size_t n);      /* y += x */
    void (*cast)(struct compute *c, void *to, const void *from, size_t n); /* from main, rounded to type */

    /* *to += the sum of x[n], or of its squares; to: one float64, x: main. */
    void (*sum)(struct compute *c, double *to, const void *x, size_t n);
    void (*sum_of_squares)(struct compute *c, double *to, const void *x, size_t n);

    void (*matmul)(struct compute *c, const struct matmul *shape, void *to, const void *a, const void *b);

    /* x[rows, n] += bias[n] in each row; dbias[n] (main) += column sums of dx[rows, n]. */
    void (*bias_add)(struct compute *c, void *x, const void *bias, size_t rows, size_t n);
    void (*bias_gradient)(struct compute *c, void *dbias, const void *dx, size_t rows, size_t n);

    /*
     * out[T, H] = (x - mean) * rstd * gain + bias, mean and rstd [T] (main) of each row, kept for the
     * backward: dx[T, H] += , dgain[H] and dbias[H] (main) += .
     */
    void (*norm_forward)(struct compute *c, void *out, void *mean, void *rstd, const void *x,
                         const void *gain, const void *bias, size_t rows, size_t n);
    void (*norm_backward)(struct compute *c, void *dx, void *dgain, void *dbias, const void *dout,
                          const void *x, const void *mean, const void *rstd, const void *gain, size_t rows,
                          size_t n);

    /* The tanh form. backward: dx[n] = dout[n] * gelu'(x[n]); dx == dout is allowed. */
    void (*gelu_forward)(struct compute *c, void *out, const void *x, size_t n);
    void (*gelu_backward)(struct compute *c, void *dx, const void *dout, const void *x, size_t n);

    /*
     * Causal attention within each sequence: probabilities [sequences, heads, S, S] =
     * softmax(q k^T / sqrt(head_size)) up to the diagonal, out[T, heads * head_size] = probabilities v.
     * backward: dqkv = ; scratch is as large as probabilities.
     */
    void (*attention_forward)(struct compute *c, const struct attention *shape, void *out,
                              void *probabilities, const void *qkv);
    void (*attention_backward)(struct compute *c, const struct attention *shape, void *dqkv, void *scratch,
                               const void *dout, const void *qkv, const void *probabilities);

    /* out[T, H] = the token's row of table[V, H], 0 where it is not held. backward: dtable (main) += . */
    void (*embedding_forward)(struct compute *c, const struct vocabulary *held, void *out, const void *table,
                              const int32_t *tokens, size_t rows, size_t n);
    void (*embedding_backward)(struct compute *c, const struct vocabulary *held, void *dtable,
                               const void *dout, const int32_t *tokens, size_t rows, size_t n);

    /*
     * Cross-entropy over a vocabulary that is split over ranks, in pieces with an all-reduce between
     * them, finite however large the logits are; maximum, sums and losses are main:
     *   maximum[T] of the held logits[T, V]                              (then MAX over ranks)
     *   logits = e^(logit - maximum); sums[2, T]: the target's logit - maximum, 0 if
     *   not held, then the sum of the exponentials                       (then SUM over ranks)
     *   losses[T] = log sum - target,
     *   logits = scale * (softmax - one at the target), the loss's gradient times scale
     */
    void (*loss_maximum)(struct compute *c, const struct vocabulary *held, void *maximum, const void *logits,
                         size_t rows);
    void (*loss_sums)(struct compute *c, const struct vocabulary *held, void *sums, void *logits,
                      const void *maximum, const int32_t *labels, size_t rows);
    void (*loss_finish)(struct compute *c, const struct vocabulary *held, void *losses, void *logits,
                        const void *sums, const int32_t *labels, double scale, size_t rows);

    /* One step of AdamW on n weights w with gradients g and moments m, v, all main; copy = w when not NULL.
     */
    void (*adamw)(struct compute *c, const struct adamw *step, void *w, void *m, void *v, const void *g,
                  void *copy, size_t n);
};

/*
 * What an implementation is: fills ops, stream and state of a *c that has world, type and main. After a
 * failure there is nothing to close.
 */
typedef int compute_open_function(struct compute *c, struct dtrain_error *err);
compute_open_function compute_cpu_open;

/* Of the world's nccl backend: a module beside the program, and the name of its open function. */
#define COMPUTE_MODULE "train_cuda.so"
#define COMPUTE_MODULE_SYMBOL "train_compute_open"
compute_open_function train_compute_open;

/*
 * The implementation for the world's backend. type: float32, float64 or bfloat16. The caller closes it, after
 * all memory that it works on; close takes NULL.
 */
int compute_open(struct compute **compute, struct dtrain_world *world, enum dtrain_type type,
                 struct dtrain_error *err);
void compute_close(struct compute *c);

/* float64 for float64, else float32. */
enum dtrain_type compute_main_type(enum dtrain_type type);

/* Keeps the first failure of an operation, which the functions below return. */
void compute_fail(struct compute *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * The order between computing and communicating, without waiting where the device has a stream: what is
 * queued on stream later runs after all operations by now; operations later run after what is queued on it.
 */
int compute_precede(struct compute *c, struct dtrain_stream *stream, struct dtrain_error *err);
int compute_follow(struct compute *c, struct dtrain_stream *stream, struct dtrain_error *err);

/* Copies from and to host memory, in the operations' order; wait for it. */
int compute_copy_in(struct compute *c, void *to, const void *host, size_t bytes, struct dtrain_error *err);
int compute_copy_out(struct compute *c, void *host, const void *from, size_t bytes, struct dtrain_error *err);

/* Element i of an array of a type. */
static inline void *compute_at(const void *x, enum dtrain_type type, size_t i)
{
    return (char *)x + i * dtrain_type_size(type);
}

#ifdef __cplusplus
}
#endif

#endif
