/*
 * stage.h - this rank's part of the model: chunks of layers, on the first stage
 * the embedding before them, on the last the head after them. Its work on one
 * microbatch, as the pipeline asks for it (dtrain_pp.h); what a forward leaves
 * stays in a slot until the microbatch's last piece of work.
 */
#ifndef TRAIN_STAGE_H
#define TRAIN_STAGE_H

#include "data.h"
#include "gradients.h"
#include "head.h"
#include "layer.h"

/* Of one microbatch and chunk in flight. */
struct slot {
    void *in;                     /* [own, H]: the embedding's output, on the first stage */
    void *out;                    /* [own, H]: the last layer's output, on the last stage */
    void *d;                      /* [own, H]: the embedding's gradient, on the first stage */
    struct layer_kept *kept;      /* of each layer */
    struct layer_flow *flow;      /* of each layer, where the backward is split */
    struct experts_kept *experts; /* of each layer */
    struct head_kept head;        /* on the last stage */
};

struct stage {
    struct grid *grid;
    const struct shape *shape;
    struct model *model;
    struct gradients *gradients;
    struct memory memory;
    struct region region;
    struct layer_scratch scratch;
    struct experts_scratch experts;
    struct layer_flow flow; /* shared, where the backward is not split */
    struct slot *slots;
    size_t slot_count;
    struct head head;
    int32_t *tokens; /* [2, microbatches, T]: a step's tokens, then its labels */
    int32_t *host;   /* the same in host memory */
    int32_t *whole;  /* [2, S]: one sequence's */
};

/* What a step's microbatches are drawn from. */
struct batch {
    const struct data *data;
    uint64_t seed;
    uint64_t step;
};

/* Everything given is borrowed. The caller ends it with stage_destroy(), also after a failure. */
int stage_create(struct stage *stage, const struct shape *shape, struct model *model,
                 struct gradients *gradients, const struct options *options, int slots,
                 struct dtrain_error *err);
void stage_destroy(struct stage *stage);

/* For a new step: zero gradients and loss, the tokens of all microbatches. */
int stage_start(struct stage *stage, const struct batch *batch, struct dtrain_error *err);

/* A microbatch's forward; its backward, whole or in two. */
int stage_forward(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err);
int stage_backward(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err);
int stage_backward_weights(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err);

#endif
