/*
 * experts.h - a mixture of N experts in place of a block's MLP:
 *
 *   out[t] = sum over the top_k experts e of token t of
 *            weight[t, e] * (narrow_e(gelu(wide_e(x[t]))))
 *
 * The router's logits are x . gate, and a token goes to the experts of its
 * top_k largest ones. Two or more share their weight by the softmax over these
 * logits, that is, probabilities made to sum up to 1 (GShard, Lepikhin et al.
 * 2020; Mixtral, Jiang et al. 2024). The weight of a single one is its
 * probability among all N, for the router to have a gradient (Switch, Fedus et
 * al. 2021). No token is dropped, and there is no loss for balance.
 *
 * Experts are split over ep (dtrain_ep.h). Their plan makes the CPU wait, so
 * that routing is the CPU's for all devices: logits are copied out, and their
 * gradients in. Weights are float32 in runs of all types.
 *
 *   T  tokens of this rank    R  rows that come to its experts
 */
#ifndef TRAIN_EXPERTS_H
#define TRAIN_EXPERTS_H

#include "dtrain_ep.h"
#include "linear.h"

/* Room for rows, which grows when more come than ever. */
struct experts_rows {
    struct memory memory;
    size_t room;  /* rows */
    void *narrow; /* [room, H] */
    void *wide;   /* [room, 4H] */
    void *active; /* [room, 4H]; NULL where it is not needed */
};

/* What a forward leaves for its backward. */
struct experts_kept {
    struct dtrain_ep *ep;
    struct memory memory;
    int32_t *chosen;          /* [T, top_k], host */
    double *share;            /* [T, N], host: the softmax that gives the weights; 0 for who is not in it */
    float *weights;           /* [T, top_k] */
    void *returned;           /* [T top_k, H] */
    struct experts_rows rows; /* inputs, before and after GELU */
};

/* Room for one forward or backward at a time, shared by the layers of a stage. */
struct experts_scratch {
    struct memory memory;
    void *host;               /* [T, N] main, host: logits or their gradients */
    float *values;            /* [T, top_k], host: weights or their gradients */
    void *mains;              /* [T, N] main */
    void *logits;             /* [T, N] their gradients */
    void *dx;                 /* [T, H] */
    float *dweights;          /* [T, top_k] */
    struct experts_rows rows; /* outputs, their gradients, then the inputs'; wide's gradients */
};

/* The tensors of one block, by index in the model. */
struct experts {
    const struct region *region;
    const struct model *model;
    struct experts_scratch *scratch;
    size_t gate, wide, narrow; /* weights; wide's and narrow's biases follow them */
};

/* Local. The caller ends both, also after a failure, before the grid closes. */
int experts_kept_create(struct experts_kept *kept, const struct region *region, struct dtrain_error *err);
void experts_kept_destroy(struct experts_kept *kept);
int experts_scratch_create(struct experts_scratch *scratch, const struct region *region,
                           struct dtrain_error *err);
void experts_scratch_destroy(struct experts_scratch *scratch);

/* out[T, H] from x[T, H]. Collective over ep; waits. */
int experts_forward(const struct experts *experts, struct experts_kept *kept, void *out, const void *x,
                    struct dtrain_error *err);

/* dx[T, H] from dout[T, H]; weights' gradients are added up. */
int experts_backward(const struct experts *experts, struct experts_kept *kept, void *dx, const void *dout,
                     const void *x, struct dtrain_error *err);

#endif
