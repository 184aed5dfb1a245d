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
    const void *x;     /* [T, H], the input, not owned */
    void *norm;        /* [T, H] */
    void *mean, *rstd; /* [T], main */
    void *logits;      /* [T, V / tp], after the forward their gradient */
    void *maximum;     /* [T], main */
    void *sums;        /* [2, T], main: targets' logits, then sums of exponentials: one all-reduce */
    void *losses;      /* [T], main */
    void *dnorm;       /* [T, H] */
    double *loss_sum;  /* one: of all tokens since the step began, in device memory */
};

/* Its memory is checked and cleared with the rest of `memory`. */
void head_allocate(struct head *head, struct grid *grid, const struct shape *shape, struct memory *memory);

/* For a new step. */
void head_start(struct head *head);

/* The sum of all tokens' losses since head_start(); waits for it. */
int head_loss(struct head *head, double *loss, struct dtrain_error *err);

/* Adds the losses of x[T, H] and labels[T] to loss_sum. */
int head_forward(struct head *head, const struct model *model, const void *x, const int32_t *labels,
                 struct dtrain_error *err);

/* d[T, H] = the gradient of x, of the mean loss over this rank's share of the batch. */
int head_backward(struct head *head, const struct model *model, void *d, struct dtrain_error *err);

#endif
