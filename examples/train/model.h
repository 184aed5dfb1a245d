/*
 * model.h - the slices of the weights that this rank holds, with their
 * gradients and AdamW's state. They lie in the library's buckets (dtrain_dp.h):
 * values of the run's type, gradients of its main type, and the state, with the
 * weights that are updated, where the ZeRO stage has it. With parameter servers,
 * which have the state, values and gradients are in memory of the model's own.
 */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include "dtrain_dp.h"
#include "dtrain_pp.h"
#include "grid.h"
#include "memory.h"
#include "parameter.h"

struct tensor {
    struct slice slice; /* of the parameter with the same index */
    size_t count;       /* elements */
    size_t place;       /* among those that are held */
    bool held;          /* by this rank's stage */
};

struct model {
    struct grid *grid; /* borrowed */
    struct memory memory;
    struct parameter *parameters; /* of all stages */
    struct tensor *tensors;       /* beside them */
    size_t count;                 /* of both */
    struct dtrain_dp *dp;
    struct dtrain_zero *zero;
    struct dtrain_pp_parameter *held; /* values, in places */
    size_t held_count;
    void *const *values;  /* by place: those that layers see, see model_use() */
    void **own;           /* the newest ones */
    void **gradients;     /* by place, of a worker of parameter servers; others' are the library's */
    bool lends_gradients; /* ZeRO 2: see dtrain_dp_gradient() */
    void *transit;        /* room for the largest tensor, main */
};

/* The list of tensors. The caller ends it with model_destroy(), also after a failure. */
int model_create(struct model *model, struct grid *grid, const struct shape *shape, struct dtrain_error *err);
/* Collective: their memory, with the initial weights. Of a worker with parameter servers: local. */
int model_open(struct model *model, const struct options *options, struct dtrain_error *err);
void model_destroy(struct model *model);

/* Layers see these values, by place, from now on: an older version in PipeDream's backward. NULL: the newest.
 */
void model_use(struct model *model, void *const *values);

/* In device memory; the tensor is held. The gradient's place may change from pass to pass (dtrain_dp.h). */
void *model_weight(const struct model *model, size_t index);
int model_gradient(const struct model *model, size_t index, void **gradient, struct dtrain_error *err);
/* All = 0. */
int model_clear_gradients(const struct model *model, struct dtrain_error *err);

/*
 * A part of a held tensor's state, whole on this rank: from and to host memory, of main type. Export is
 * collective over the tensor's data parallel ranks. Not with parameter servers.
 */
int model_export(const struct model *model, size_t index, enum dtrain_zero_part part, void *host,
                 struct dtrain_error *err);
int model_import(const struct model *model, size_t index, enum dtrain_zero_part part, const void *host,
                 struct dtrain_error *err);

#endif
