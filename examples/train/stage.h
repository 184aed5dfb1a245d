/*
 * stage.h - this rank's part of the model: its layers, on the first stage the
 * embedding before them, on the last the head after them. Forward and backward
 * of one microbatch; what a forward leaves stays in a slot until its backward.
 */
#ifndef TRAIN_STAGE_H
#define TRAIN_STAGE_H

#include "data.h"
#include "gradients.h"
#include "grid.h"
#include "head.h"
#include "layer.h"
#include "model.h"

/* Of one microbatch in flight. */
struct slot {
    void *in;                /* [T, H] of the stage */
    struct layer_kept *kept; /* of each layer */
    void *out;               /* [T, H] of the stage: the last layer's */
};

struct stage {
    struct grid *grid;
    const struct shape *shape;
    struct model *model;
    struct gradients *gradients;
    struct memory memory;
    struct layer_scratch scratch;
    struct layer *layers;
    struct slot *slots;
    size_t slot_count;
    struct head head;
    void *d;         /* [T, H]: gradient on its way backward through the stage */
    int32_t *tokens; /* [2, microbatches, T]: a step's tokens, then its labels */
    int32_t *host;   /* the same in host memory */
};

/* What a step's microbatches are drawn from. */
struct batch {
    const struct data *data;
    uint64_t seed;
    uint64_t step;
};

/* Everything given is borrowed. The caller ends it with stage_destroy(), also after a failure. */
int stage_create(struct stage *stage, struct grid *grid, const struct shape *shape, struct model *model,
                 struct gradients *gradients, int slots, struct dtrain_error *err);
void stage_destroy(struct stage *stage);

struct slot *stage_slot(struct stage *stage, int microbatch);

/* For a new step: zero gradients and loss, the tokens of all microbatches. */
int stage_start(struct stage *stage, const struct batch *batch, struct dtrain_error *err);

/* From the slot's `in` (the first stage makes it from tokens) to its `out`, on the last one to the loss. */
int stage_forward(struct stage *stage, int microbatch, struct dtrain_error *err);

/* From the gradient of `out` in stage->d (the last stage makes it) to that of `in`, in stage->d too. */
int stage_backward(struct stage *stage, int microbatch, struct dtrain_error *err);

#endif
