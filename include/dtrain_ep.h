/*
 * dtrain_ep.h - expert parallel: tokens go to the ranks of the experts that a router chose for them, and
 * come back (GShard, Lepikhin et al. 2020; without capacities as in MegaBlocks, Gale et al. 2022).
 *
 * The rules of dtrain.h hold, and of dtrain_tp.h those on order and failure, with the options' stream and
 * compute. Buffers are the caller's, in memory that the backend moves; arrays are dense, by rows.
 *
 *     dtrain_ep_plan(ep, experts, tokens)       who sends how many rows where
 *     dtrain_ep_dispatch(ep, x, rows, room)     x[tokens, n] -> rows[dtrain_ep_rows(), n]
 *     the own experts compute on their rows
 *     dtrain_ep_combine(ep, rows, weights, returned, out)   -> out[tokens, n]
 *     and back: dtrain_ep_combine_backward(), the experts' backward, dtrain_ep_dispatch_backward()
 *
 * A handle has one plan at a time: one handle for each microbatch whose backward is still to come.
 */
#ifndef DTRAIN_EP_H
#define DTRAIN_EP_H

#include "dtrain.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dtrain_ep;

/* The same on all ranks but for tokens_max, capacity and the handles. */
struct dtrain_ep_options {
    struct dtrain_comm *comm;      /* of DTRAIN_EXPERT | DTRAIN_EP */
    struct dtrain_stream *stream;  /* what moves the data */
    struct dtrain_stream *compute; /* the caller's experts; NULL: the CPU at the call */
    enum dtrain_type type;         /* of tokens' rows: float32, float64, bfloat16 or float16 */
    int experts;                   /* of all ranks, in order of ranks by dtrain_tp_shard(..., UNEVEN) */
    int top_k;                     /* experts for each token */
    size_t n;                      /* elements of a token's row */
    size_t tokens_max;             /* the most tokens of this rank in one plan */
    size_t capacity;               /* the most rows that this rank sends to one expert; 0: all */
    void *workspace;               /* dtrain_ep_workspace() bytes, for as long as the handle lives */
};

/* Of these options, whose workspace is not looked at. */
int dtrain_ep_workspace(const struct dtrain_ep_options *options, size_t *bytes, struct dtrain_error *err);

/* Local. The caller destroys it, before the communicator and the streams; NULL is allowed there. */
int dtrain_ep_create(struct dtrain_ep **ep, const struct dtrain_ep_options *options,
                     struct dtrain_error *err);
void dtrain_ep_destroy(struct dtrain_ep *ep);

/*
 * experts[tokens, top_k]: those that the router chose, 0 .. experts - 1, or below 0 for none. The counts are
 * exchanged, and the CPU must know them: the call is collective and waits. Rows past the capacity are
 * dropped, the later tokens' first. A rank that cannot plan (an expert out of range, more than tokens_max)
 * makes the call fail on all ranks.
 */
int dtrain_ep_plan(struct dtrain_ep *ep, const int32_t *experts, size_t tokens, struct dtrain_error *err);

/* Of the last plan, 0 before. Rows that come here; of one of the own experts, whose rows lie together. */
size_t dtrain_ep_rows(const struct dtrain_ep *ep);
size_t dtrain_ep_expert_rows(const struct dtrain_ep *ep, int own_expert);
/* The own experts: the first one among all, and how many. */
int dtrain_ep_first_expert(const struct dtrain_ep *ep);
int dtrain_ep_expert_count(const struct dtrain_ep *ep);

/* Over all ranks of the group; the same on each. */
struct dtrain_ep_balance {
    const int64_t *routed; /* [experts]: how often each was chosen, dropped rows too; borrowed */
    int64_t total;         /* their sum */
    int64_t dropped;       /* rows that capacities left out */
    double imbalance;      /* the most over the mean of routed: 1 is even, 0 is without any */
};
void dtrain_ep_balance(const struct dtrain_ep *ep, struct dtrain_ep_balance *balance);

/*
 * The auxiliary loss of the Switch Transformer (Fedus et al. 2021), experts * sum of f * P, with f the
 * routed share of an expert and P[experts] the mean of the router's probabilities; 1 when even. Its
 * gradient for P of an expert is experts * f. On the CPU.
 */
double dtrain_ep_balance_loss(const struct dtrain_ep *ep, const double *probabilities);

/*
 * x[tokens, n] -> rows[dtrain_ep_rows(), n]: expert by expert, in each by source rank, then token. room: rows
 * that the buffer can hold. Too few is an error that names how many are needed, before anything moves: the
 * rank can call again with a larger buffer.
 */
int dtrain_ep_dispatch(struct dtrain_ep *ep, const void *x, void *rows, size_t room,
                       struct dtrain_error *err);

/* dx[tokens, n] = sum of the gradients of a token's rows. */
int dtrain_ep_dispatch_backward(struct dtrain_ep *ep, const void *drows, void *dx, struct dtrain_error *err);

/*
 * out[tokens, n] = sum over a token's experts of weight * the row that comes back; 0 for what was dropped.
 * weights: float32 [tokens, top_k]. returned: [tokens * top_k, n], what came back, kept for the backward.
 */
int dtrain_ep_combine(struct dtrain_ep *ep, const void *rows, const float *weights, void *returned, void *out,
                      struct dtrain_error *err);

/* drows[dtrain_ep_rows(), n] and dweights[tokens, top_k] (0 for what was dropped) from dout[tokens, n]. */
int dtrain_ep_combine_backward(struct dtrain_ep *ep, const void *dout, const float *weights,
                               const void *returned, void *drows, float *dweights, struct dtrain_error *err);

/* As dtrain_tp_finish(): before what needs the results of the four calls. */
int dtrain_ep_finish(struct dtrain_ep *ep, struct dtrain_error *err);

#ifdef __cplusplus
}
#endif

#endif
