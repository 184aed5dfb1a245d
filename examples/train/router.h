/*
 * router.h - which experts a token goes to and with which weights, on the CPU,
 * by the rule of experts.h. Pure.
 */
#ifndef TRAIN_ROUTER_H
#define TRAIN_ROUTER_H

#include <stddef.h>
#include <stdint.h>

#include "dtrain.h"

struct router {
    size_t tokens, experts, top_k;
    int32_t *chosen; /* [tokens, top_k], the largest logit first; of equal ones the lower number */
    double *share;   /* [tokens, experts]: the softmax that gives the weights; 0 for who is not in it */
};

/* chosen, share and weights[tokens, top_k] from logits[tokens, experts]; type: float32 or float64. */
void router_forward(const struct router *router, enum dtrain_type type, const void *logits, float *weights);

/* dlogits[tokens, experts] from dweights[tokens, top_k]. */
void router_backward(const struct router *router, enum dtrain_type type, void *dlogits,
                     const float *dweights);

#endif
