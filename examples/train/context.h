/*
 * context.h - attention over all tokens where each rank of cp has some of them:
 * tokens that are split over the ranks become heads that are split over them,
 * for as long as attention needs all tokens of a head, and back
 * (DeepSpeed-Ulysses, Jacobs et al. 2023). Without cp the same attention.
 */
#ifndef TRAIN_CONTEXT_H
#define TRAIN_CONTEXT_H

#include "linear.h"

/* Room for one attention at a time; all NULL without cp. */
struct context {
    void *by_tokens; /* [T, 3h] */
    void *by_heads;  /* [n S, 3 own heads * head_size] */
    void *mixed;     /* [n S, own heads * head_size] */
    void *workspace;
};

/* Elements of a microbatch's qkv and probabilities on this rank, as the attention sees them. */
size_t context_qkv_size(const struct shape *shape);
size_t context_probabilities_size(const struct shape *shape);

void context_allocate(struct context *context, struct memory *memory, const struct shape *shape);

/* Where the product before the attention is to write: qkv itself without cp. */
void *context_product(const struct context *context, void *qkv);

/* mixed[T, h] and probabilities, from what was written there; qkv is kept for the backward. */
int context_forward(const struct region *region, const struct context *context, void *mixed,
                    void *probabilities, void *qkv, struct dtrain_error *err);

/* dqkv[T, 3h] from dmixed[T, h]; scratch is as large as the probabilities. */
int context_backward(const struct region *region, const struct context *context, void *dqkv, void *scratch,
                     const void *dmixed, const void *qkv, const void *probabilities,
                     struct dtrain_error *err);

#endif
