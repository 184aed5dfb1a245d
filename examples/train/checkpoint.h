/*
 * checkpoint.h - a checkpoint between all ranks and the file of world rank 0,
 * which alone reads and writes: no file system needs to be shared.
 *
 * Saving, tensor by tensor: the tp ranks of the stage that holds it put their
 * slices together, and the stage hands the whole to stage 0; only data-parallel
 * rank 0 takes part, the others have the same weights. Loading: every tensor
 * goes to all ranks, each keeps its slice. So a checkpoint saved under one
 * layout is read under any other, and one saved by a run of one type by runs of
 * the others. What is saved is of the run's main type.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "grid.h"
#include "model.h"
#include "shape.h"

/* Whether rank 0 could write there: asked before the training, not after it. Collective. */
int checkpoint_check(struct grid *grid, const char *path, struct dtrain_error *err);

/* Both are collective. After a failure the last good file is still there. */
int checkpoint_save(struct grid *grid, const struct shape *shape, const struct model *model, uint64_t step,
                    const char *path, struct dtrain_error *err);
int checkpoint_load(struct grid *grid, const struct shape *shape, struct model *model, uint64_t *step,
                    const char *path, struct dtrain_error *err);

#endif
