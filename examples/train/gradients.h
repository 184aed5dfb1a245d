/*
 * gradients.h - averages the gradients over data-parallel ranks while the
 * backward goes on. The flat buffer is cut into buckets at the ends of tensors:
 * one closes when it reaches its cap, 1 MiB for the first (so that the first
 * all-reduce starts early) and 25 MiB for the others. A bucket travels once all
 * that is in it is complete.
 */
#ifndef TRAIN_GRADIENTS_H
#define TRAIN_GRADIENTS_H

#include "grid.h"
#include "model.h"

#define GRADIENTS_FIRST_BUCKET (1u << 20) /* bytes */
#define GRADIENTS_BUCKET (25u << 20)

struct gradients {
    struct grid *grid;
    const struct model *model;
    size_t *ends; /* of the buckets, in elements from the start of the flat buffer */
    size_t count;
    size_t next; /* the first bucket that has not been sent off */
};

int gradients_create(struct gradients *gradients, struct grid *grid, const struct model *model,
                     struct dtrain_error *err);
void gradients_destroy(struct gradients *gradients);

/* All zero, for a new step. */
void gradients_start(struct gradients *gradients);

/* The gradients of tensor `index` and of all registered after it are complete. */
int gradients_ready(struct gradients *gradients, size_t index, struct dtrain_error *err);

/* What is computed after this sees all of them averaged. */
int gradients_finish(struct gradients *gradients, struct dtrain_error *err);

#endif
