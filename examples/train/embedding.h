/*
 * embedding.h - tokens to activations on the first stage. The table's rows are
 * split over tp; the library looks up what this rank holds and puts the rows
 * together. Positions are on every rank and are added after that.
 */
#ifndef TRAIN_EMBEDDING_H
#define TRAIN_EMBEDDING_H

#include "linear.h"

/* Own out[own, H] from tokens[T]. */
int embedding_forward(const struct region *region, const struct model *model, void *out,
                      const int32_t *tokens, struct dtrain_error *err);

/* Adds to the gradients of both tables, from own d[own, H]. */
int embedding_backward(const struct region *region, const struct model *model, const void *d,
                       const int32_t *tokens, struct dtrain_error *err);

#endif
