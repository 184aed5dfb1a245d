/*
 * pipeline.h - a step through the library's pipeline: the stage's work on all
 * microbatches in the order of the schedule, with the transfers between stages,
 * and the loss.
 */
#ifndef TRAIN_PIPELINE_H
#define TRAIN_PIPELINE_H

#include "stage.h"

struct pipeline {
    struct dtrain_pp *pp;
    struct stage *stage;
    const struct options *options;
};

/* Collective over pp. slots: of a stage. The caller ends it with pipeline_destroy(), also after a failure. */
int pipeline_create(struct pipeline *pipeline, const struct model *model, const struct shape *shape,
                    const struct options *options, int *slots, struct dtrain_error *err);
void pipeline_destroy(struct pipeline *pipeline);

/*
 * Leaves the averaged gradients in the model, and in *loss the global batch's mean loss, on every rank; with
 * parameter servers, this worker's gradients, and its part of that mean. With PipeDream each microbatch has
 * updated the weights already. When it fails on one rank, it fails on all, with
 * a reason that says where; the world's communicators cannot be used any more.
 */
int pipeline_run(struct pipeline *pipeline, struct stage *stage, const struct batch *batch, double *loss,
                 struct dtrain_error *err);

#endif
