/*
 * dtrain_cp.h - context parallel: the tokens of a sequence lie over the ranks.
 * Ring attention (Liu et al. 2023): keys and values go round while the caller's
 * attention of the own queries computes on those that came, and the parts become
 * one softmax. Or all-to-all (DeepSpeed-Ulysses, Jacobs et al. 2023): tokens split
 * over ranks become heads split over ranks, and back.
 *
 * The rules of dtrain.h hold, and of dtrain_tp.h those on order and failure, with
 * cp->stream and cp->compute. Arrays are dense and token-major: [tokens, ...]
 * (Megatron-LM's sequence first); all buffers are the caller's, in memory that the
 * backend moves.
 */
#ifndef DTRAIN_CP_H
#define DTRAIN_CP_H

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Which tokens: arithmetic only --------------------------------------- */

/*
 *   CONTIGUOUS  rank r has the r-th of `size` runs.
 *   ZIGZAG      of 2 * size runs rank r has those at r and 2 * size - 1 - r, so that under a causal mask
 *               all ranks have the same work.
 * Runs differ by one token at most, the longer ones first; they may be empty.
 */
enum dtrain_cp_layout { DTRAIN_CP_CONTIGUOUS, DTRAIN_CP_ZIGZAG };

/* A rank's tokens, in the order in which it holds them. */
struct dtrain_cp_run {
    size_t first, count; /* in the whole sequence */
};
struct dtrain_cp_tokens {
    size_t count; /* of all runs */
    int runs;     /* 1 or 2 */
    struct dtrain_cp_run run[2];
};
int dtrain_cp_tokens(size_t total, int size, int rank, enum dtrain_cp_layout layout,
                     struct dtrain_cp_tokens *tokens, struct dtrain_error *err);

/* The inverse: who holds a token (below total), and at which index among its own. */
int dtrain_cp_owner(size_t total, int size, enum dtrain_cp_layout layout, size_t token, int *rank,
                    size_t *index, struct dtrain_error *err);

/* ---- Attention over a ring ----------------------------------------------- */

/* How this rank takes part. All is borrowed; the struct is only read. */
struct dtrain_cp {
    struct dtrain_comm *comm;      /* of DTRAIN_CP */
    struct dtrain_stream *stream;  /* what moves the data */
    struct dtrain_stream *compute; /* the caller's attention; NULL: the CPU at the call */
    enum dtrain_type type;         /* of keys and values: float32, float64, bfloat16 or float16 */
    enum dtrain_type sum_type;     /* of out, parts and gradients; float32 is right for the halves */
    enum dtrain_cp_layout layout;
    bool is_causal;                   /* a token sees those up to itself; ZIGZAG is for this only */
    size_t tokens;                    /* of the whole sequence */
    size_t q_width, k_width, v_width; /* elements of a token's queries, keys, values: batch, heads and all */
    size_t rows, n;                   /* a token's out: rows (batch * heads) of n elements and one lse */
};

/* Which of the own queries a rank's keys are for. */
enum dtrain_cp_mask {
    DTRAIN_CP_EMPTY,
    DTRAIN_CP_CAUSAL, /* the own block: query i of the block sees its keys 0 .. i */
    DTRAIN_CP_FULL,
};

/* One step's work: own queries query_first .. on a rank's keys key_first .., as indices among theirs. */
struct dtrain_cp_block {
    int owner; /* rank of the keys */
    enum dtrain_cp_mask mask;
    size_t query_first, query_count, key_first, key_count;
    const void *k, *v; /* of the first of these keys */
};

/* The block of rank's queries and owner's keys, without k and v; EMPTY has counts of 0. */
int dtrain_cp_block(size_t total, int size, enum dtrain_cp_layout layout, bool is_causal, int rank, int owner,
                    struct dtrain_cp_block *block, struct dtrain_error *err);

/*
 * The caller's attention, called once for each block that is not empty, the own one first. It writes; the
 * sum over blocks is the library's. Queued on cp->compute, or done at the call where that is NULL. -1 of
 * theirs, with the reason in err, ends the call with -1.
 *   forward   out[query_count, rows, n] = softmax over these keys; lse[query_count, rows] = log of the sum
 *             of exponentials of the scaled scores over them (float64 when sum_type is, else float32)
 *   backward  dq[query_count, q_width], dk[key_count, k_width], dv[key_count, v_width], from the
 *             probabilities e^(score - lse) with the lse of the whole, which the forward gave
 */
struct dtrain_cp_attention {
    int (*forward)(void *context, const struct dtrain_cp_block *block, void *out, void *lse,
                   struct dtrain_error *err);
    int (*backward)(void *context, const struct dtrain_cp_block *block, void *dq, void *dk, void *dv,
                    struct dtrain_error *err);
    void *context;
};

/* Bytes of workspace that either call needs. */
int dtrain_cp_workspace(const struct dtrain_cp *cp, size_t *bytes, struct dtrain_error *err);

/*
 * out, lse = attention of the own queries over all keys. k, v: the own ones. The next block moves while
 * the attention computes. The results are there for cp->compute when the call returns (for the CPU: really).
 */
int dtrain_cp_forward(const struct dtrain_cp *cp, const struct dtrain_cp_attention *attention, const void *k,
                      const void *v, void *out, void *lse, void *workspace, struct dtrain_error *err);

/* dq, dk, dv of the own tokens, written. A block's gradients travel with it and come home. */
int dtrain_cp_backward(const struct dtrain_cp *cp, const struct dtrain_cp_attention *attention, const void *k,
                       const void *v, void *dq, void *dk, void *dv, void *workspace,
                       struct dtrain_error *err);

/* ---- Tokens to heads and back -------------------------------------------- */

/*
 * by_tokens: [own tokens, heads, n]; by_heads: [all tokens, own heads, n], tokens in the order of the
 * sequence, heads by dtrain_tp_shard(heads, ..., UNEVEN). type, tokens and layout are cp's; workspace:
 * own tokens * heads * n elements. Each is the other's backward. Started like a call of dtrain_tp.h:
 * dtrain_cp_finish() before what needs the result.
 */
int dtrain_cp_to_heads(const struct dtrain_cp *cp, size_t heads, size_t n, const void *by_tokens,
                       void *by_heads, void *workspace, struct dtrain_error *err);
int dtrain_cp_to_tokens(const struct dtrain_cp *cp, size_t heads, size_t n, const void *by_heads,
                        void *by_tokens, void *workspace, struct dtrain_error *err);
int dtrain_cp_finish(const struct dtrain_cp *cp, struct dtrain_error *err);

#ifdef __cplusplus
}
#endif

#endif
