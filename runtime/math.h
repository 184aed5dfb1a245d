/*
 * math.h - the arithmetic that the ways of training need beside communication,
 * on memory of the backend and in the order of a stream. A call is data: the
 * host backend runs it on the stream's thread with dt_math_run(), which is also
 * the reference; the NCCL module launches a kernel (nccl_math.h).
 *
 * Arrays are dense and do not overlap unless said. "+=" adds to what is there.
 * Floating-point sums run in float64 on the host; a device's may differ by
 * rounding. Nothing is checked here: counts, types and pointers were.
 */
#ifndef DT_RUNTIME_MATH_H
#define DT_RUNTIME_MATH_H

#include "dtrain.h"

enum dt_math_kind {
    DT_MATH_FILL,
    DT_MATH_SCALE,
    DT_MATH_SUM_SQUARES,
    DT_MATH_ADAMW,
    DT_MATH_COPY_2D,
    DT_MATH_EMBEDDING,
    DT_MATH_EMBEDDING_GRADIENT,
    DT_MATH_LOSS_MAXIMUM,
    DT_MATH_LOSS_SUMS,
    DT_MATH_LOSS_FINISH,
    DT_MATH_SOFTMAX_MERGE,
    DT_MATH_GATHER_ROWS,
    DT_MATH_SCATTER_ROWS,
    DT_MATH_DOT_ROWS,
    DT_MATH_KINDS,
};

/*
 * A factor that may come from a norm which only the device knows: factor, times
 * min(1, limit / sqrt(*squares)) when squares is not NULL. squares: one float64
 * in the backend's memory.
 */
struct dt_math_factor {
    double factor;
    const double *squares;
    double limit;
};

/* x[n] = value; x is float64, float32, bfloat16 or float16, as everywhere below where nothing is said. */
struct dt_math_fill {
    void *x;
    enum dtrain_type type;
    size_t n;
    double value;
};

/*
 * to[n] = or += by * from[n], in float64 for float64, else in float32, rounded once to to_type.
 * Also a cast (by = 1). to == from is allowed for one type.
 */
struct dt_math_scale {
    void *to;
    const void *from;
    enum dtrain_type to_type, from_type;
    size_t n;
    struct dt_math_factor by;
    bool accumulate;
};

/* *sum += weight * sum of x[n]^2; sum is one float64 in the backend's memory. */
struct dt_math_sum_squares {
    double *sum;
    const void *x;
    enum dtrain_type type;
    size_t n;
    double weight;
};

/*
 * A step of AdamW (Loshchilov and Hutter, 2019) on n weights with gradient g' = by * g:
 *   m = beta1 m + (1 - beta1) g',  v = beta2 v + (1 - beta2) g'^2
 *   w = w - lr (m / correction1 / (sqrt(v / correction2) + epsilon) + decay w)
 * w, m, v have state_type (float32 or float64); g has gradient_type. When copy is not NULL,
 * copy[n] of copy_type = w.
 */
struct dt_math_adamw {
    void *w, *m, *v;
    const void *g;
    void *copy;
    enum dtrain_type state_type, gradient_type, copy_type;
    size_t n;
    double lr, beta1, beta2, epsilon, decay, correction1, correction2;
    struct dt_math_factor by;
};

/* rows of width bytes, from_pitch bytes apart, to rows to_pitch bytes apart. */
struct dt_math_copy_2d {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, rows;
};

/*
 * The tokens first .. first + real - 1 of a vocabulary lie here, as rows of memory.
 * EMBEDDING: out[rows, n] = the token's row of table[., n], 0 where it is not held.
 * EMBEDDING_GRADIENT: table's row of the token += out's, rows in order. The table's type may be
 * another than out's: gradients are often kept in float32.
 */
struct dt_math_embedding {
    void *out;
    void *table; /* written by the gradient only */
    enum dtrain_type type, table_type;
    const int32_t *tokens; /* [rows] */
    size_t first, real, rows, n;
};

/*
 * Cross-entropy over a vocabulary that is split over ranks (Megatron-LM), in pieces with an
 * all-reduce between them; logits[rows, n], of whose columns `real` are tokens, from `first` on.
 *   LOSS_MAXIMUM  maximum[rows] of the real columns                         (then MAX over ranks)
 *   LOSS_SUMS     logits = e^(logit - maximum) in place, 0 past real;
 *                 sums[3, rows]: the target's logit - maximum (0 if not held), the sum of the
 *                 exponentials, the sum of (logit - maximum)                (then SUM over ranks)
 *   LOSS_FINISH   with p = exponential / sum, V = vocabulary, e = smoothing:
 *                 losses[rows] = log sum - (1 - e) target - e / V * sum of (logit - maximum)
 *                 logits = scale * (p - (1 - e) [is target] - e / V), 0 past real
 * A label below 0 is ignored: loss 0, gradient 0. maximum, sums and losses are float32, or
 * float64 for float64 logits; smoothing as of Szegedy et al. (2016), over the whole vocabulary.
 */
struct dt_math_loss {
    void *logits;
    enum dtrain_type type;
    const int32_t *labels; /* [rows] */
    size_t first, real, rows, n;
    void *maximum, *sums, *losses;
    double scale, smoothing;
    size_t vocabulary;
};

/*
 * Online softmax (Milakov and Gimelshein, 2018): two parts of an attention's sum become one.
 * out[rows, n] with lse[rows] = log of the sum of exponentials over the keys so far; add and
 * add_lse over other keys. -infinity: no keys. Both lse are float32, or float64 for float64 rows.
 *   lse' = log(e^lse + e^add_lse),  out = e^(lse - lse') out + e^(add_lse - lse') add
 */
struct dt_math_softmax_merge {
    void *out, *lse;
    const void *add, *add_lse;
    enum dtrain_type type;
    size_t rows, n;
};

/*
 * GATHER_ROWS: to[i] = weight[i] * from[index[i]]; SCATTER_ROWS: to[index[i]] += weight[i] * from[i],
 * i < rows in order; rows of n elements. weight (float32) may be NULL: 1. A negative index: the gathered
 * row is 0, the scattered one goes nowhere.
 */
struct dt_math_rows {
    void *to;
    const void *from;
    enum dtrain_type type;
    const int32_t *index; /* [rows] */
    const float *weight;  /* [rows] or NULL */
    size_t rows, n;
};

/*
 * dots[to_index[i]] = sum over the n elements of a[a_index[i]] * b[i], i < rows; dots is float32. A
 * negative a_index: 0. to_index names each place at most once.
 */
struct dt_math_dot_rows {
    float *dots;
    const void *a, *b;
    enum dtrain_type type;
    const int32_t *to_index, *a_index; /* [rows] */
    size_t rows, n;
};

struct dt_math {
    enum dt_math_kind kind;
    union {
        struct dt_math_fill fill;
        struct dt_math_scale scale;
        struct dt_math_sum_squares sum_squares;
        struct dt_math_adamw adamw;
        struct dt_math_copy_2d copy_2d;
        struct dt_math_embedding embedding;
        struct dt_math_loss loss;
        struct dt_math_softmax_merge softmax_merge;
        struct dt_math_rows rows;
        struct dt_math_dot_rows dot_rows;
    };
};

/* Runs it now, on the calling thread, on memory that the CPU can reach. */
void dt_math_run(const struct dt_math *math);

/* Queues it on the stream. The struct is copied. */
int dt_math_enqueue(const struct dt_math *math, struct dtrain_stream *stream, struct dtrain_error *err);

#endif
