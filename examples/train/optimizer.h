/*
 * optimizer.h - AdamW's hyperparameters: decoupled weight decay on the matrices,
 * beta 0.9 and 0.95, epsilon 1e-8, and the clipping of the gradient's norm. Every
 * rank updates what it holds, or with ZeRO its shard of that.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "model.h"
#include "options.h"

/* Of what decays, or of what does not. */
struct dtrain_adamw optimizer_rule(const struct options *options, bool decays);

/* With the gradients of the last pass. What is computed later sees the new weights. */
int optimizer_step(struct model *model, const struct options *options, struct dtrain_error *err);

#endif
