/*
 * optimizer.h - AdamW (Loshchilov and Hutter) with decoupled weight decay on
 * the matrices, beta 0.9 and 0.95, epsilon 1e-8, and the clipping of the
 * gradient's norm. Every rank updates what it holds.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "grid.h"
#include "model.h"
#include "options.h"

/* Step number `step`, from 1, with the averaged gradients of the model. */
int optimizer_step(struct grid *grid, const struct model *model, const struct options *options, uint64_t step,
                   struct dtrain_error *err);

/*
 * Norm of the whole model's gradient: what tp ranks have copies of is counted
 * once, the sum goes over tp and pp. The same on every rank.
 */
int optimizer_gradient_norm(struct grid *grid, const struct model *model, double *norm,
                            struct dtrain_error *err);

#endif
