/*
 * pipeline.h - runs the schedule of one stage for one step: forwards and
 * backwards of all microbatches, and the transfers between them.
 */
#ifndef TRAIN_PIPELINE_H
#define TRAIN_PIPELINE_H

#include "schedule.h"
#include "stage.h"

/* Leaves the averaged gradients in the model, and in *loss the global batch's mean loss, on every rank. */
int pipeline_run(const struct schedule *schedule, struct stage *stage, const struct batch *batch,
                 double *loss, struct dtrain_error *err);

#endif
