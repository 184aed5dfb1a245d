/*
 * layer.h - one transformer block on this tensor-parallel rank, forward and
 * backward:
 *
 *   middle = x + projection(attention(qkv(norm1(x))))
 *   out    = middle + narrow(gelu(wide(norm2(middle))))
 *
 * qkv and wide are column-parallel: each rank computes its heads, its part of
 * the 4H columns. projection and narrow are row-parallel: each rank's product
 * is a partial sum, and an all-reduce adds them up; the bias is added once,
 * after it. In the backward the all-reduce is in front of the column-parallel
 * ones, for the gradient of their input. (Megatron-LM's g and f.)
 *
 * So x, middle, out and their gradients are the same on all ranks of the group,
 * bit by bit, and so are the gradients of what every rank has a copy of: the
 * norms and the biases of the row-parallel products. They need no reduction
 * over tp.
 */
#ifndef TRAIN_LAYER_H
#define TRAIN_LAYER_H

#include "grid.h"
#include "memory.h"
#include "model.h"
#include "shape.h"

/* What a forward leaves for its backward; h = H / tp, a = heads / tp, n = sequences. */
struct layer_kept {
    const void *x;       /* [T, H], the input, not owned */
    void *norm1;         /* [T, H] */
    void *mean1, *rstd1; /* [T], main */
    void *qkv;           /* [T, 3h] */
    void *probabilities; /* [n, a, S, S] */
    void *mixed;         /* [T, h] attention's output */
    void *middle;        /* [T, H] */
    void *norm2;         /* [T, H] */
    void *mean2, *rstd2; /* [T], main */
    void *wide;          /* [T, 4h] before GELU */
    void *active;        /* [T, 4h] after it */
    void *out;           /* [T, H] */
};

/* Room for one backward at a time, shared by the layers of a stage. */
struct layer_scratch {
    void *dwide;          /* [T, 4h] */
    void *dnorm;          /* [T, H] */
    void *dmixed;         /* [T, h] */
    void *dqkv;           /* [T, 3h] */
    void *dprobabilities; /* [n, a, S, S] */
};

struct layer {
    struct grid *grid;
    const struct shape *shape;
    const struct layer_scratch *scratch;
    void *w[LAYER_PARAMETERS]; /* weights */
    void *g[LAYER_PARAMETERS]; /* gradients, main */
};

void layer_bind(struct layer *layer, const struct model *model, size_t index);
void layer_kept_allocate(struct layer_kept *kept, struct memory *memory, const struct shape *shape);
void layer_scratch_allocate(struct layer_scratch *scratch, struct memory *memory, const struct shape *shape);

/* kept->out from x[T, H]. */
int layer_forward(const struct layer *layer, struct layer_kept *kept, const void *x,
                  struct dtrain_error *err);

/* d[T, H], the gradient of the output, becomes that of the input; weights' gradients are added up. */
int layer_backward(const struct layer *layer, const struct layer_kept *kept, void *d,
                   struct dtrain_error *err);

#endif
