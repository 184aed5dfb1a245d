/*
 * head.h - the last stage's end: the final norm, the output head and the
 * cross-entropy. The head's rows (the vocabulary) are split over tp, and the
 * logits [T, V / tp] never meet: the maximum of a row, its sum of exponentials
 * and its target's logit are reduced instead.
 *
 * The last stage runs each backward right after its forward, so one
 * microbatch's intermediate values are kept, not more.
 */
#ifndef TRAIN_HEAD_H
#define TRAIN_HEAD_H

#include "grid.h"
#include "memory.h"
#include "model.h"
#include "shape.h"

struct head {
    struct grid *grid;
    const struct shape *shape;
    const float *x;     /* [T, H], the input, not owned */
    float *norm;        /* [T, H] */
    float *mean, *rstd; /* [T] */
    float *logits;      /* [T, V / tp], after the forward their gradient */
    float *maximum;     /* [T] */
    float *sums;        /* [2, T] targets' logits, then sums of exponentials: one all-reduce */
    float *losses;      /* [T] */
    float *dnorm;       /* [T, H] */
    float *host;        /* [T] losses in host memory */
    double loss_sum;    /* of all tokens since the step began */
};

int head_create(struct head *head, struct grid *grid, const struct shape *shape, struct memory *memory,
                struct dtrain_error *err);
void head_destroy(struct head *head);

/* Adds the losses of x[T, H] and labels[T] to loss_sum. */
int head_forward(struct head *head, const struct model *model, const float *x, const int32_t *labels,
                 struct dtrain_error *err);

/* d[T, H] = the gradient of x, of the mean loss over this rank's share of the batch. */
int head_backward(struct head *head, const struct model *model, float *d, struct dtrain_error *err);

#endif
