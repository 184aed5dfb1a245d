/*
 * layer.h - one transformer block on this tensor-parallel rank, forward and
 * backward:
 *
 *   middle = x + projection(attention(qkv(norm1(x))))
 *   out    = middle + narrow(gelu(wide(norm2(middle))))
 *
 * or, with experts, out = middle + experts(norm2(middle)) (experts.h).
 *
 * qkv and wide are column-parallel: each rank computes its heads, its part of
 * the 4H columns. projection and narrow are row-parallel (linear.h).
 *
 * The backward comes whole, or in two: first the gradient of the input, later
 * that of the weights, for schedules that fill their bubbles with the second.
 */
#ifndef TRAIN_LAYER_H
#define TRAIN_LAYER_H

#include "context.h"
#include "experts.h"

/* What a forward leaves for its backward; h = H / tp, a = heads / tp, n = sequences; "own": see linear.h. */
struct layer_kept {
    const void *x;                /* [own, H], the input, not owned */
    void *norm1;                  /* [own, H] */
    void *mean1, *rstd1;          /* [own], main */
    void *qkv;                    /* [T, 3h], as the attention sees it (context.h) */
    void *probabilities;          /* [n, a, S, S] */
    void *mixed;                  /* [T, h] attention's output */
    void *middle;                 /* [own, H] */
    void *norm2;                  /* [own, H] */
    void *mean2, *rstd2;          /* [own], main */
    void *wide;                   /* [T, 4h] before GELU */
    void *active;                 /* [T, 4h] after it */
    struct experts_kept *experts; /* in place of these two; of the same owner as this */
    void *out; /* [own, H]; not owned in a chunk's last layer, whose output the pipeline sends */
};

/* Gradients on their way: shared by the layers, or one for each layer in flight where the backward is split.
 */
struct layer_flow {
    void *dout;    /* [own, H], split backward only */
    void *dwide;   /* [T, 4h] */
    void *dmiddle; /* [own, H], split backward only */
    void *dqkv;    /* [T, 3h] */
};

/* Room for one backward at a time, shared by the layers of a stage. */
struct layer_scratch {
    void *dnorm;          /* [own, H] */
    void *dmixed;         /* [T, h] */
    void *dprobabilities; /* [n, a, S, S] */
    struct context context;
    struct experts_scratch *experts; /* borrowed */
};

struct layer {
    const struct region *region;
    const struct model *model;
    const struct layer_scratch *scratch;
    size_t index; /* in the model */
};

void layer_kept_allocate(struct layer_kept *kept, struct memory *memory, const struct shape *shape);
void layer_flow_allocate(struct layer_flow *flow, struct memory *memory, const struct region *region);
void layer_scratch_allocate(struct layer_scratch *scratch, struct memory *memory, const struct shape *shape);

/* kept->out from x[own, H]. */
int layer_forward(const struct layer *layer, struct layer_kept *kept, const void *x,
                  struct dtrain_error *err);

/* d[own, H], the gradient of the output, becomes that of the input; weights' gradients are added up. */
int layer_backward(const struct layer *layer, const struct layer_kept *kept, const struct layer_flow *flow,
                   void *d, struct dtrain_error *err);

/* What a split backward left: the gradients of the matrices and their biases. */
int layer_backward_weights(const struct layer *layer, const struct layer_kept *kept,
                           const struct layer_flow *flow, struct dtrain_error *err);

#endif
