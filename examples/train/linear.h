/*
 * linear.h - a linear layer whose weights are split over tp, forward and
 * backward (Megatron-LM's column and row parallel): y = x w + bias.
 *
 * Column parallel: this rank has a part of the columns of y. Row parallel: a
 * part of the columns of x, so that its product is a part of a sum; the bias is
 * added once, after it. In between two of them nothing moves.
 *
 * "Own" rows are those outside of the region: all T, which every rank has a copy
 * of, or with sequence parallel its shard of them. Copies are the same bit by
 * bit, and so are the gradients of what every rank has a copy of. With sequence
 * parallel each rank has a part of such a gradient (gradients.h).
 */
#ifndef TRAIN_LINEAR_H
#define TRAIN_LINEAR_H

#include "grid.h"
#include "memory.h"
#include "model.h"

/* The weights, as this rank holds them. */
struct linear {
    size_t in, out;
    bool is_turned;            /* w is [out, in], not [in, out] */
    const struct model *model; /* whose parameters these are: */
    size_t weight, bias;       /* bias == LINEAR_NO_BIAS: none */
};
#define LINEAR_NO_BIAS SIZE_MAX

/* Where it runs: one at a time uses the buffers. */
struct region {
    struct grid *grid;
    const struct shape *shape;
    void *whole, *dwhole; /* [T, H] with sequence parallel, else NULL */
    bool splits_backward; /* weights' gradients come later, from linear_*_weights() */
};

void region_allocate(struct region *region, struct memory *memory);

/* y[T, out] from own x[own, in]; backward: own dx[own, in] from dy[T, out], weights' gradients added up. */
int linear_column_forward(const struct region *region, const struct linear *linear, void *y, const void *x,
                          struct dtrain_error *err);
int linear_column_backward(const struct region *region, const struct linear *linear, void *dx, const void *x,
                           const void *dy, struct dtrain_error *err);

/* Own y[own, out] from x[T, in]; backward: dx[T, in] from own dy[own, out]. */
int linear_row_forward(const struct region *region, const struct linear *linear, void *y, const void *x,
                       struct dtrain_error *err);
int linear_row_backward(const struct region *region, const struct linear *linear, void *dx, const void *x,
                        const void *dy, struct dtrain_error *err);

/* What a split backward leaves: the gradients of the weights, from what the backward was given. */
int linear_column_weights(const struct region *region, const struct linear *linear, const void *x,
                          const void *dy, struct dtrain_error *err);
int linear_row_weights(const struct region *region, const struct linear *linear, const void *x,
                       const void *dy, struct dtrain_error *err);

#endif
