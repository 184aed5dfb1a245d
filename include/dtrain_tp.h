/*
 * dtrain_tp.h - tensor parallel: the shards of a tensor, what moves before and
 * after a sharded product (Megatron-LM, Shoeybi et al. 2019; sequence parallel,
 * Korthikanti et al. 2022), and a vocabulary that is split over the ranks.
 *
 * The rules of dtrain.h hold, and these:
 *
 * Arrays.  Dense, by rows: [rows, n] has row i at i * n. Buffers are the caller's,
 *          in memory that the backend moves (dtrain_memory_alloc()); tokens and
 *          labels too. Nothing is allocated there. Buffers do not overlap unless said.
 * Order.   A call is queued on tp->stream, after what is queued on tp->compute by
 *          now, and returns. What is queued on tp->compute after dtrain_tp_finish()
 *          sees its results; what is queued before runs beside it.
 *          compute NULL: the caller computes on the CPU when it calls, so what a call
 *          reads is there by then, and dtrain_tp_finish() waits for the results.
 * Failure. What fails after the call is returned by the next call on tp->comm and by
 *          dtrain_stream_synchronize() of tp->stream.
 * Ranks.   All ranks of the group make the same calls in the same order, with the
 *          same sizes.
 */
#ifndef DTRAIN_TP_H
#define DTRAIN_TP_H

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Shards: arithmetic only -------------------------------------------- */

/*
 * What to do with sizes that do not divide.
 *   EVEN    refuse them.
 *   UNEVEN  the first ranks take one multiple more; the last multiple may be a part of one.
 *   PADDED  every rank holds as much memory as the largest shard, in order: rank r's starts at
 *           r * padded, and the last ones may be partly or wholly empty (Megatron-LM's vocabulary).
 */
enum dtrain_tp_policy { DTRAIN_TP_EVEN, DTRAIN_TP_UNEVEN, DTRAIN_TP_PADDED };

/* Elements first .. first + count - 1 of the whole. padded: the largest count of all ranks, in multiples. */
struct dtrain_tp_shard {
    size_t first, count, padded;
};

/*
 * The shard of one rank of size. multiple: what is never cut (a head's columns); 0 means 1.
 * Fails for a rank out of range, an unknown policy, a padded size that memory cannot hold, and
 * for EVEN when total is no multiple of size * multiple.
 */
int dtrain_tp_shard(size_t total, int size, int rank, size_t multiple, enum dtrain_tp_policy policy,
                    struct dtrain_tp_shard *shard, struct dtrain_error *err);

/*
 * Seeds of random numbers, by Megatron-LM's rule (with s = seed + 100 * pp_rank): replicated = s, for
 * what all ranks of a tensor parallel group compute alike; sharded = s + 2718 + tp_rank, for what each
 * has a shard of (dropout inside attention); expert = s + 1024 + 100 * ep_rank + etp_rank.
 */
struct dtrain_tp_seeds {
    uint64_t replicated, sharded, expert;
};
struct dtrain_tp_place {
    int tp_rank, pp_rank, ep_rank, etp_rank;
};
struct dtrain_tp_seeds dtrain_tp_seeds(uint64_t seed, const struct dtrain_tp_place *place);

/* ---- Regions ------------------------------------------------------------ */

/* How this rank takes part. All is borrowed; the struct is only read. */
struct dtrain_tp {
    struct dtrain_comm *comm;      /* of DTRAIN_TP */
    struct dtrain_stream *stream;  /* what moves the data */
    struct dtrain_stream *compute; /* the caller's products; NULL: the CPU at the call */
    enum dtrain_type type;         /* of all elements: float32, float64, bfloat16 or float16 */
    /* Sequence parallel: outside of a region each rank has its UNEVEN shard of the rows. */
    bool is_sequence;
};

/* See "Order" above. */
int dtrain_tp_finish(const struct dtrain_tp *tp, struct dtrain_error *err);

/*
 * f, into a region of sharded products, and g, out of it. rows, n: those of the whole. "own": [rows, n],
 * with sequence parallel the own shard of the rows; own and whole may be the same buffer without it.
 *   f forward   whole = own            with sequence parallel all-gather
 *   f backward  own = sum of wholes    with sequence parallel reduce-scatter
 *   g forward   own = sum of wholes    with sequence parallel reduce-scatter
 *   g backward  whole = own            with sequence parallel all-gather
 * Where the ranks' shards differ in size the sum is made in `whole`, which is overwritten.
 */
int dtrain_tp_f_forward(const struct dtrain_tp *tp, const void *own, void *whole, size_t rows, size_t n,
                        struct dtrain_error *err);
int dtrain_tp_f_backward(const struct dtrain_tp *tp, void *whole, void *own, size_t rows, size_t n,
                         struct dtrain_error *err);
int dtrain_tp_g_forward(const struct dtrain_tp *tp, void *whole, void *own, size_t rows, size_t n,
                        struct dtrain_error *err);
int dtrain_tp_g_backward(const struct dtrain_tp *tp, const void *own, void *whole, size_t rows, size_t n,
                         struct dtrain_error *err);

/*
 * A matrix [rows, columns] of which each rank has the UNEVEN shard of one dimension, in multiples.
 * Gather makes it whole on every rank, scatter takes the own shard of it (nothing moves between ranks);
 * each is the other's backward. workspace: rows * columns elements, for COLUMNS only.
 */
enum dtrain_tp_dimension { DTRAIN_TP_ROWS, DTRAIN_TP_COLUMNS };
struct dtrain_tp_split {
    size_t rows, columns;
    enum dtrain_tp_dimension dimension;
    size_t multiple; /* 0 means 1 */
};
int dtrain_tp_gather(const struct dtrain_tp *tp, const struct dtrain_tp_split *split, const void *own,
                     void *whole, void *workspace, struct dtrain_error *err);
int dtrain_tp_scatter(const struct dtrain_tp *tp, const struct dtrain_tp_split *split, const void *whole,
                      void *own, struct dtrain_error *err);

/* ---- Products with what moves beside them ------------------------------- */

/*
 * y[rows, out] = x[rows, in] w, of whose weights this rank holds a shard: of the columns (column
 * parallel, f before it) or of the rows (row parallel, g after it). The products are the caller's: they
 * are queued on tp->compute, or done at the call where that is NULL, on `count` rows from `first` on;
 * count > 0. -1 of theirs, with the reason in err, ends the call with -1.
 */
struct dtrain_tp_linear {
    size_t rows; /* of the whole */
    /* y = x w */
    int (*product)(void *context, size_t first, size_t count, struct dtrain_error *err);
    /* dx = dy w' */
    int (*input_gradient)(void *context, size_t first, size_t count, struct dtrain_error *err);
    /* dw += x' dy, of all rows */
    int (*weight_gradient)(void *context, struct dtrain_error *err);
    void *context;
};

/*
 * Column parallel. x: this rank's part as f has it, n elements a row; whole: what the products read, which
 * is x itself without sequence parallel. With it x goes round in a ring while the product of what has come
 * already runs; for the backward it is gathered again during the input gradient.
 * Backward: the input gradient writes dwhole; its sum, dx, moves while the weight gradient runs.
 * The results are there for tp->compute when the call returns (for the CPU: really there).
 */
int dtrain_tp_column_forward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, const void *x,
                             void *whole, size_t n, struct dtrain_error *err);
int dtrain_tp_column_backward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear,
                              const void *x, void *whole, void *dwhole, void *dx, size_t n,
                              struct dtrain_error *err);

/*
 * Row parallel. The product writes its part to whole; own = the sum as g has it, n elements a row. Without
 * sequence parallel the rows go in `chunks` (1 or more) parts: one is summed while the next is computed.
 * Backward: whole is what the gradients read, dy itself without sequence parallel; with it dy goes round in
 * a ring beside the input gradient. own == whole is allowed without sequence parallel.
 */
int dtrain_tp_row_forward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, int chunks,
                          void *whole, void *own, size_t n, struct dtrain_error *err);
int dtrain_tp_row_backward(const struct dtrain_tp *tp, const struct dtrain_tp_linear *linear, const void *dy,
                           void *whole, size_t n, struct dtrain_error *err);

/* ---- A vocabulary over the ranks ---------------------------------------- */

/* This rank's rows of an embedding: tokens shard.first .. shard.first + shard.count - 1. */
struct dtrain_tp_embedding {
    struct dtrain_tp_shard shard;
    size_t rows, n;        /* tokens, of the whole; elements of each one's row */
    const int32_t *tokens; /* [rows], the same on all ranks; one that no rank holds gives 0 */
    void *table;           /* [at least shard.count, n] */
    enum dtrain_type table_type;
};

/*
 * Forward: own = the tokens' rows, as g has it, with whole [rows, n] in between (may be own without
 * sequence parallel). Backward: the gradient of own is added to the table, which is that of the gradients;
 * with sequence parallel it is gathered in whole (may be NULL without).
 */
int dtrain_tp_embedding_forward(const struct dtrain_tp *tp, const struct dtrain_tp_embedding *embedding,
                                void *whole, void *own, struct dtrain_error *err);
int dtrain_tp_embedding_backward(const struct dtrain_tp *tp, const struct dtrain_tp_embedding *embedding,
                                 const void *own, void *whole, struct dtrain_error *err);

/*
 * Cross-entropy of logits over the vocabulary, with the gradient. For each row, p the softmax over all
 * tokens, V = vocabulary and e = smoothing (Szegedy et al. 2016, over the whole vocabulary):
 *   loss = -(1 - e) log p[label] - e / V sum of log p,   gradient = scale * (p - (1 - e) [is label] - e / V)
 * A label below 0 (-100) is ignored: its loss and gradient are 0; the caller chooses the scale (1 / rows
 * for a mean). Computed from differences to the row's maximum, so that large logits stay finite.
 */
struct dtrain_tp_loss {
    struct dtrain_tp_shard shard; /* the tokens of the columns from 0 on; the others are padding */
    size_t vocabulary;            /* tokens of all ranks */
    size_t rows, columns;
    void *logits;          /* [rows, columns]; the gradient replaces them, 0 in the padding */
    const int32_t *labels; /* [rows], below vocabulary; the same on all ranks */
    void *losses;          /* [rows], of the sums' type; the same on all ranks */
    void *workspace;       /* dtrain_tp_loss_workspace() bytes */
    double scale, smoothing;
};

/* float64 for float64 logits, else float32. */
enum dtrain_type dtrain_tp_loss_type(enum dtrain_type logits);
size_t dtrain_tp_loss_workspace(size_t rows, enum dtrain_type logits);

/* All of it: two all-reduces. */
int dtrain_tp_loss(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss, struct dtrain_error *err);

/* Its pieces, in this order: the maximum over all ranks; the sums over all ranks; losses and gradient. */
int dtrain_tp_loss_maximum(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss,
                           struct dtrain_error *err);
int dtrain_tp_loss_sums(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss,
                        struct dtrain_error *err);
int dtrain_tp_loss_finish(const struct dtrain_tp *tp, const struct dtrain_tp_loss *loss,
                          struct dtrain_error *err);

#ifdef __cplusplus
}
#endif

#endif
