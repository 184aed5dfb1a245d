/*
 * gradients.h - a step's gradients: added up over microbatches, summed over tp
 * where each rank has a part of one (sequence parallel), averaged over data
 * parallel ranks in the library's buckets while the backward goes on; not with
 * parameter servers, which average them.
 *
 * A pass ends in a reduction. It is the whole step, or each microbatch's
 * backward: with ZeRO 2, which keeps no whole gradients, and with PipeDream,
 * where each microbatch is a batch.
 */
#ifndef TRAIN_GRADIENTS_H
#define TRAIN_GRADIENTS_H

#include "model.h"

struct gradients {
    struct grid *grid;
    struct model *model;
    int microbatches;
    bool has_passes;                /* each microbatch's backward is one */
    bool is_kept;                   /* from one pass to the next: they add up to the step's */
    int left[DTRAIN_PP_CHUNKS_MAX]; /* microbatches of each chunk whose gradients are to come */
};

void gradients_create(struct gradients *gradients, struct model *model, const struct options *options);

int gradients_start_step(struct gradients *gradients, struct dtrain_error *err);
int gradients_start_microbatch(struct gradients *gradients, int chunk, struct dtrain_error *err);

/* The microbatch's part of `count` tensors from `first` on was added. Without effect but in a pass's last
 * one. */
int gradients_ready(struct gradients *gradients, int chunk, size_t first, size_t count,
                    struct dtrain_error *err);

/* What is computed after the end of a pass sees its gradients averaged. */
int gradients_end_microbatch(struct gradients *gradients, struct dtrain_error *err);
int gradients_end_step(struct gradients *gradients, struct dtrain_error *err);

#endif
