/*
 * model.h - the slices of the weights that this rank holds, with their
 * gradients and AdamW's two moments: four flat buffers of the same layout.
 *
 * The tensors lie in reverse order of registration, which is about the order
 * in which the backward completes their gradients. So the complete ones are
 * always a prefix of the flat buffer, and a bucket is a range of it.
 */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include "compute.h"
#include "memory.h"
#include "parameter.h"

enum model_part { MODEL_WEIGHTS, MODEL_FIRST_MOMENT, MODEL_SECOND_MOMENT, MODEL_SAVED_PARTS };

struct tensor {
    struct slice slice; /* of the parameter with the same index */
    size_t offset;      /* floats from the start of each flat buffer */
    size_t count;       /* floats */
    bool held;          /* by this rank's stage */
};

struct model {
    const struct compute *compute;
    struct memory memory;
    struct parameter *parameters; /* of all stages */
    struct tensor *tensors;       /* beside them */
    size_t count;                 /* of both */
    size_t floats;                /* of each flat buffer */
    float *parts[MODEL_SAVED_PARTS];
    float *gradients;
};

/* With the initial weights. The caller ends it with model_destroy(), also after a failure. */
int model_create(struct model *model, const struct compute *compute, const struct shape *shape, uint64_t seed,
                 struct dtrain_error *err);
void model_destroy(struct model *model);

/* In device memory; the tensor is held. */
float *model_weight(const struct model *model, size_t index);
float *model_gradient(const struct model *model, size_t index);

/* Floats of the flat buffer up to the end of the tensor: all those registered after it, and itself. */
size_t model_end_of(const struct model *model, size_t index);

#endif
