/*
 * dtrain_dp.h - data parallel training: gradients that are averaged in buckets
 * while the backward pass goes on (as PyTorch's DistributedDataParallel, Li et
 * al. 2020), the norm and the clipping of a gradient that is spread over all
 * axes, and AdamW with its state and gradients in shards (ZeRO stages 1 and 2,
 * Rajbhandari et al. 2020).
 *
 * The rules of dtrain.h hold here. Functions of one struct dtrain_dp, and of the
 * struct dtrain_zero on it, are called by one thread at a time; where nothing
 * else is said they queue work and return. "Collective" means: over the
 * parameters' data parallel ranks, in the same order on all of them.
 *
 *     dtrain_dp_zero(dp, stream, err);                  gradients = 0
 *     for each microbatch:
 *         dtrain_dp_begin(dp, is_last, err);
 *         backward pass; after each gradient was queued on stream:
 *             dtrain_dp_ready(dp, index, stream, err);
 *         dtrain_dp_finish(dp, stream, err);
 *     dtrain_zero_step(zero, groups, 1, 1.0, stream, err);
 *     before the next use of a value:
 *         dtrain_zero_wait(zero, index, stream, err);
 */
#ifndef DTRAIN_DP_H
#define DTRAIN_DP_H

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dtrain_dp;
struct dtrain_zero;

/* ---- Parameters ----------------------------------------------------------- */

enum {
    /* The rank holds its own part of a tensor that is split over tp. Otherwise tp ranks have copies. */
    DTRAIN_PARAMETER_TP_SHARD = 1 << 0,
    /*
     * Belongs to an expert: its axes are those of the expert grid, its copies are on the edp ranks,
     * and DTRAIN_PARAMETER_TP_SHARD is about etp.
     */
    DTRAIN_PARAMETER_EXPERT = 1 << 1,
    /* Not in the norm: another rank counts it (the second copy of a tied embedding). */
    DTRAIN_PARAMETER_UNCOUNTED = 1 << 2,
};

struct dtrain_parameter {
    const char *name;               /* for messages; copied */
    void *value;                    /* count elements of type; NULL where the storage is dp's */
    void *gradient;                 /* count elements of gradient_type; the same */
    size_t count;                   /* of this rank; 0 is allowed */
    enum dtrain_type type;          /* float32, float64, bfloat16 or float16 */
    enum dtrain_type gradient_type; /* one of these, too */
    unsigned flags;                 /* DTRAIN_PARAMETER_* */
    int group;                      /* index of its hyperparameters in dtrain_zero_step() */
};

/* Zero-initialise for the defaults. */
struct dtrain_dp_options {
    size_t first_bucket_bytes; /* a bucket closes when it is as large; 0: 1 MiB */
    size_t bucket_bytes;       /* the other buckets; 0: 25 MiB */
    bool sum;                  /* gradients are summed, not averaged */
    bool find_unused;          /* a parameter may be left out of a pass: its gradient counts as zero */
    bool reduce_in_float32;    /* bfloat16 and float16 gradients travel and are summed in float32 */
    bool holds_storage;        /* values and gradients lie in buckets, dtrain_dp_value() says where */
    int zero_stage;            /* 0: no shards; 1: state; 2: state and gradients; both need holds_storage */
};

/*
 * Registers n parameters, in the order in which the forward pass uses them. The
 * array is copied. options may be NULL. Collective, over dp and cp, and over edp
 * for experts; blocks. Fails on all ranks, with the name of the rank and of the
 * parameter, where two ranks do not agree on names, counts, types or options.
 * The caller ends it with dtrain_dp_destroy(), after its dtrain_zero and before
 * the world.
 *
 * A gradient is averaged over the ranks of dp and cp. An expert's is summed over
 * edp and divided by the same number, because the tokens of all these ranks are
 * in the sum.
 */
int dtrain_dp_create(struct dtrain_dp **dp, struct dtrain_world *world,
                     const struct dtrain_parameter *parameters, size_t n,
                     const struct dtrain_dp_options *options, struct dtrain_error *err);

/* Once what the caller's streams do with its memory has run; waits for its own. NULL is allowed. */
void dtrain_dp_destroy(struct dtrain_dp *dp);

/* Bytes that dp holds in the backend's memory now. */
size_t dtrain_dp_memory(const struct dtrain_dp *dp);

/* How many buckets there are, and which one, in the order of reduction, a parameter is in. */
size_t dtrain_dp_bucket_count(const struct dtrain_dp *dp);
size_t dtrain_dp_bucket(const struct dtrain_dp *dp, size_t index);

/* Where a parameter's value lies: as registered, or in dp's storage. NULL when there is no such one. */
void *dtrain_dp_value(const struct dtrain_dp *dp, size_t index);

/*
 * Where its gradient lies: as registered, or in dp's storage for as long as dp.
 * With zero_stage 2 it is lent within a pass, from this call until
 * dtrain_dp_ready(), and is zero when stream comes to it: only so many buckets
 * exist as are open or under way at the same time.
 */
int dtrain_dp_gradient(struct dtrain_dp *dp, size_t index, struct dtrain_stream *stream, void **gradient,
                       struct dtrain_error *err);

/* ---- A step --------------------------------------------------------------- */

/* All gradients = 0, in the stream's order. */
int dtrain_dp_zero(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err);

/*
 * Begins a backward pass. reduces: its gradients are reduced; otherwise another
 * pass follows whose gradients are added to the same buffers (accumulation). The
 * same on all ranks. Stage 2 keeps no whole gradients: it reduces and adds up
 * each pass.
 */
int dtrain_dp_begin(struct dtrain_dp *dp, bool reduces, struct dtrain_error *err);

/*
 * The gradient of parameter `index` is complete once what is queued on stream
 * now has run; stream may be NULL: it is already. In any order, once a pass.
 * A bucket is reduced on a stream of dp's own as soon as it is complete and its
 * predecessors were queued, which keeps the order the same on all ranks.
 */
int dtrain_dp_ready(struct dtrain_dp *dp, size_t index, struct dtrain_stream *stream,
                    struct dtrain_error *err);

/*
 * Ends the pass: stream waits for all reductions; with stream NULL the caller
 * does. Without find_unused a parameter that did not become ready is an error
 * that names it, and the other ranks' operations fail with the same words.
 *
 * The first pass that reduces ends with a look at rank 0's order of readiness,
 * which is the order of the buckets from then on (of the parameters, too, unless
 * dp holds the storage). That one is collective and blocks.
 */
int dtrain_dp_finish(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err);

/*
 * Norm of the whole model's gradient after dtrain_dp_finish(): what tp ranks
 * have copies of is counted once, stages and experts add up. Collective over all
 * ranks of the world. norm may be NULL; otherwise the caller waits for it. The
 * same on every rank.
 */
int dtrain_dp_norm(struct dtrain_dp *dp, struct dtrain_stream *stream, double *norm,
                   struct dtrain_error *err);

/*
 * The same, and scales all gradients by limit / norm where norm > limit > 0. The
 * factor stays on the device. For optimizers of the application's own.
 */
int dtrain_dp_clip(struct dtrain_dp *dp, double limit, struct dtrain_stream *stream, double *norm,
                   struct dtrain_error *err);

/* ---- Replicas ------------------------------------------------------------- */

/* All values from data parallel rank 0. Collective. */
int dtrain_dp_broadcast(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err);

/*
 * Whether all copies of all parameters have the same bits, those on tp ranks
 * too; fails on all of a group's ranks with the name of the parameter and of the
 * rank that differs from most. Collective, over tp and etp as well; waits for stream.
 */
int dtrain_dp_check(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err);

/* ---- AdamW and ZeRO ------------------------------------------------------- */

/*
 * Hyperparameters (Loshchilov and Hutter, 2019) of a group of parameters:
 *   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2, step t from 1
 *   w = w - lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay w)
 */
struct dtrain_adamw {
    double lr, beta1, beta2, epsilon, decay;
};

/*
 * AdamW on dp's parameters, whose current values it starts from (set or
 * broadcast them before); blocks. The moments, and for bfloat16 and float16
 * values the weights, are float32; float64 for float64. With zero_stage 1 or 2
 * each data parallel rank holds 1/d of them; with 0 this is plain AdamW. The
 * caller ends it with dtrain_zero_destroy() before dp, once its steps have run.
 */
int dtrain_zero_create(struct dtrain_zero **zero, struct dtrain_dp *dp, struct dtrain_error *err);
void dtrain_zero_destroy(struct dtrain_zero *zero);

/*
 * A step with the gradients of the last dtrain_dp_finish(), on stream; groups[n]
 * by dtrain_parameter.group. clip > 0: limit of the norm, which is collective
 * over the world unless dtrain_dp_norm() was called since the finish. In shards
 * each bucket's values are then gathered on a stream of dp's own, next to the
 * update of the next one, in the order of the forward pass, and may be under way
 * when the call returns. Collective.
 */
int dtrain_zero_step(struct dtrain_zero *zero, const struct dtrain_adamw *groups, size_t n, double clip,
                     struct dtrain_stream *stream, struct dtrain_error *err);

/* stream waits for the values of parameter `index`; before their first use after a step. */
int dtrain_zero_wait(struct dtrain_zero *zero, size_t index, struct dtrain_stream *stream,
                     struct dtrain_error *err);
/* For all values. */
int dtrain_zero_wait_all(struct dtrain_zero *zero, struct dtrain_stream *stream, struct dtrain_error *err);

/*
 * Bytes of each parameter on each of d ranks: value, gradient, weights and
 * moments. bfloat16 values with float32 gradients: 18 in stage 0, 6 + 12/d in
 * stage 1, 2 + 16/d in stage 2 (there without the buckets that are under way).
 * 0 for a stage, a number of ranks or a type that there is not.
 */
double dtrain_zero_bytes(int stage, int d, enum dtrain_type type, enum dtrain_type gradient_type);

/* Bytes that the state holds in the backend's memory on this rank. */
size_t dtrain_zero_memory(const struct dtrain_zero *zero);

/* ---- Its state ------------------------------------------------------------ */

enum dtrain_zero_part { DTRAIN_ZERO_WEIGHT, DTRAIN_ZERO_FIRST_MOMENT, DTRAIN_ZERO_SECOND_MOMENT };

/*
 * What of a parameter this rank updates: elements first .. first + count - 1 of
 * the tensor (count may be 0), each part with count elements of state_type in the
 * backend's memory. Of float32 and float64 parameters the weight is the value.
 */
struct dtrain_zero_range {
    size_t first, count;
    enum dtrain_type state_type;
    void *parts[3]; /* by enum dtrain_zero_part */
};
int dtrain_zero_range_get(const struct dtrain_zero *zero, size_t index, struct dtrain_zero_range *range,
                          struct dtrain_error *err);

/* full[count], of state_type in the backend's memory, = the whole tensor's part. Collective. */
int dtrain_zero_export(struct dtrain_zero *zero, size_t index, enum dtrain_zero_part part, void *full,
                       struct dtrain_stream *stream, struct dtrain_error *err);
/* The other way; local. The weights set the parameter's value, too. */
int dtrain_zero_import(struct dtrain_zero *zero, size_t index, enum dtrain_zero_part part, const void *full,
                       struct dtrain_stream *stream, struct dtrain_error *err);

/* Steps done so far: t of the last one. */
uint64_t dtrain_zero_steps(const struct dtrain_zero *zero);
void dtrain_zero_set_steps(struct dtrain_zero *zero, uint64_t steps);

#ifdef __cplusplus
}
#endif

#endif
