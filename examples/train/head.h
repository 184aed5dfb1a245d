/*
 * head.h - the last stage's end: the final norm, the output head and the
 * cross-entropy. The head's rows (the vocabulary) are split over tp, so it is
 * column-parallel, and the logits [T, V / tp] never meet: the library reduces
 * the maximum of a row, its sum of exponentials and its target's logit instead.
 */
#ifndef TRAIN_HEAD_H
#define TRAIN_HEAD_H

#include "linear.h"

/* What a forward leaves for its backward. */
struct head_kept {
    const void *x;     /* [own, H], the input, not owned */
    void *norm;        /* [own, H] */
    void *mean, *rstd; /* [own], main */
    void *logits;      /* [T, V / tp], after the forward their gradient */
};

struct head {
    const struct region *region;
    const struct model *model;
    void *losses;     /* [T], main */
    void *workspace;  /* of the cross-entropy */
    void *dnorm;      /* [own, H] */
    double *loss_sum; /* one: of all tokens since the step began, in device memory */
};

/* Their memory is checked and cleared with the rest of `memory`. */
void head_allocate(struct head *head, const struct region *region, const struct model *model,
                   struct memory *memory);
void head_kept_allocate(struct head_kept *kept, struct memory *memory, const struct shape *shape);

/* For a new step. */
void head_start(struct head *head);

/* The sum of all tokens' losses since head_start(); waits for it. */
int head_loss(struct head *head, double *loss, struct dtrain_error *err);

/* Adds the losses of x[own, H] and labels[T] to loss_sum. */
int head_forward(struct head *head, struct head_kept *kept, const void *x, const int32_t *labels,
                 struct dtrain_error *err);

/* d[own, H] = the gradient of x. */
int head_backward(struct head *head, const struct head_kept *kept, void *d, struct dtrain_error *err);

/* What a split backward left. */
int head_backward_weights(struct head *head, const struct head_kept *kept, struct dtrain_error *err);

#endif
