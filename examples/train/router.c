#include "router.h"

#include <math.h>
#include <stdbool.h>

static double value_at(enum dtrain_type type, const void *x, size_t i)
{
    return type == DTRAIN_FLOAT64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void store(enum dtrain_type type, void *x, size_t i, double value)
{
    if (type == DTRAIN_FLOAT64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

/* share[experts] holds logits; those that were chosen before are not. */
static size_t best(const struct router *router, const double *logits, const int32_t *chosen, size_t count)
{
    size_t found = router->experts;

    for (size_t i = 0; i < router->experts; i++) {
        bool is_taken = false;

        for (size_t k = 0; k < count; k++)
            is_taken = is_taken || chosen[k] == (int32_t)i;
        if (!is_taken && (found == router->experts || logits[i] > logits[found]))
            found = i;
    }
    return found;
}

static bool is_chosen(const struct router *router, const int32_t *chosen, size_t expert)
{
    for (size_t k = 0; k < router->top_k; k++) {
        if (chosen[k] == (int32_t)expert)
            return true;
    }
    return false;
}

/* Logits become the softmax over the chosen ones, or over all for a single one. */
static void share_out(const struct router *router, double *share, const int32_t *chosen)
{
    double most = share[chosen[0]], sum = 0;

    for (size_t i = 0; i < router->experts; i++) {
        bool is_in = router->top_k == 1 || is_chosen(router, chosen, i);

        share[i] = is_in ? exp(share[i] - most) : 0;
        sum += share[i];
    }
    for (size_t i = 0; i < router->experts; i++)
        share[i] /= sum;
}

void router_forward(const struct router *router, enum dtrain_type type, const void *logits, float *weights)
{
    for (size_t t = 0; t < router->tokens; t++) {
        double *share = router->share + t * router->experts;
        int32_t *chosen = router->chosen + t * router->top_k;

        for (size_t i = 0; i < router->experts; i++)
            share[i] = value_at(type, logits, t * router->experts + i);
        for (size_t k = 0; k < router->top_k; k++)
            chosen[k] = (int32_t)best(router, share, chosen, k);
        share_out(router, share, chosen);
        for (size_t k = 0; k < router->top_k; k++)
            weights[t * router->top_k + k] = (float)share[chosen[k]];
    }
}

void router_backward(const struct router *router, enum dtrain_type type, void *dlogits, const float *dweights)
{
    for (size_t t = 0; t < router->tokens; t++) {
        const double *share = router->share + t * router->experts;
        const int32_t *chosen = router->chosen + t * router->top_k;
        const float *d = dweights + t * router->top_k;
        double mean = 0;

        for (size_t k = 0; k < router->top_k; k++)
            mean += share[chosen[k]] * (double)d[k];
        for (size_t i = 0; i < router->experts; i++)
            store(type, dlogits, t * router->experts + i, -share[i] * mean);
        for (size_t k = 0; k < router->top_k; k++) {
            size_t expert = (size_t)chosen[k];

            store(type, dlogits, t * router->experts + expert, share[expert] * ((double)d[k] - mean));
        }
    }
}
