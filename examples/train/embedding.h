/*
 * embedding.h - tokens to activations on the first stage. The table's rows are
 * split over tp: each rank looks up what it holds, and a sum puts the rows
 * together. Positions are on every rank and are added after that.
 */
#ifndef TRAIN_EMBEDDING_H
#define TRAIN_EMBEDDING_H

#include "grid.h"
#include "model.h"
#include "shape.h"

/* The rows of the vocabulary that this rank holds, of the embedding and of the head alike. */
struct vocabulary embedding_vocabulary(const struct shape *shape);

/* out[T, H] from tokens[T]. */
int embedding_forward(struct grid *grid, const struct shape *shape, const struct model *model, void *out,
                      const int32_t *tokens, struct dtrain_error *err);

/* Adds to the gradients of both tables; d[T, H] is the same on all ranks of tp. */
void embedding_backward(const struct grid *grid, const struct shape *shape, const struct model *model,
                        const void *d, const int32_t *tokens);

#endif
