/*
 * model.h - the slices of the weights that this rank holds, with their
 * gradients and AdamW's two moments: flat buffers of the same layout. All are of
 * the run's main type; where that is not the type that layers compute in, a
 * fifth holds the weights rounded to it.
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
    size_t offset;      /* elements from the start of each flat buffer */
    size_t count;       /* elements */
    bool held;          /* by this rank's stage */
};

struct model {
    struct compute *compute;
    struct memory memory;
    struct parameter *parameters; /* of all stages */
    struct tensor *tensors;       /* beside them */
    size_t count;                 /* of both */
    size_t elements;              /* of each flat buffer */
    void *parts[MODEL_SAVED_PARTS];
    void *gradients;
    void *weights; /* that layers see, of the run's type: parts[MODEL_WEIGHTS], or rounded from it */
};

/* With the initial weights. The caller ends it with model_destroy(), also after a failure. */
int model_create(struct model *model, struct compute *compute, const struct shape *shape, uint64_t seed,
                 struct dtrain_error *err);
void model_destroy(struct model *model);

/* After the master weights were changed by another than compute->ops->adamw: rounds them again. */
void model_round(const struct model *model);

/* In device memory; the tensor is held. The weight is of the run's type, the others are main. */
void *model_weight(const struct model *model, size_t index);
void *model_gradient(const struct model *model, size_t index);
void *model_part(const struct model *model, enum model_part part, size_t index);

/* Where adamw is to round the tensor's weights to; NULL where there is no such copy. */
void *model_copy(const struct model *model, size_t index);

/* Elements of the flat buffer up to the end of the tensor: all those registered after it, and itself. */
size_t model_end_of(const struct model *model, size_t index);

#endif
