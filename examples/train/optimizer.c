#include "optimizer.h"

#include <math.h>

static const double beta1 = 0.9, beta2 = 0.95;
static const double weight_decay = 0.1;

static bool counts(const struct grid *grid, const struct model *model, size_t index)
{
    bool is_copy = model->parameters[index].split == SPLIT_NONE && grid->layout.tp.rank != 0;

    return model->tensors[index].held && !is_copy;
}

int optimizer_gradient_norm(struct grid *grid, const struct model *model, double *norm,
                            struct dtrain_error *err)
{
    struct compute *c = grid->compute;
    double sum = 0;

    c->ops->zero(c, grid->staging, sizeof(sum));
    for (size_t i = 0; i < model->count; i++) {
        if (counts(grid, model, i))
            c->ops->sum_of_squares(c, grid->staging, model_gradient(model, i), model->tensors[i].count);
    }
    if (compute_copy_out(c, &sum, grid->staging, sizeof(sum), err) != 0 ||
        grid_reduce_values(grid, grid->tp, &sum, 1, DTRAIN_SUM, err) != 0 ||
        grid_reduce_values(grid, grid->pp, &sum, 1, DTRAIN_SUM, err) != 0)
        return -1;
    *norm = sqrt(sum);
    return 0;
}

/* The factor that brings the norm down to the limit. */
static int clip_scale(struct grid *grid, const struct model *model, double limit, double *scale,
                      struct dtrain_error *err)
{
    double norm;

    *scale = 1;
    if (limit == 0)
        return 0;
    if (optimizer_gradient_norm(grid, model, &norm, err) != 0)
        return -1;
    if (norm > limit)
        *scale = limit / norm;
    return 0;
}

static void update(const struct grid *grid, const struct model *model, size_t index, const struct adamw *step)
{
    struct compute *c = grid->compute;
    struct adamw own = *step;

    own.decay = model->parameters[index].decay ? weight_decay : 0;
    c->ops->adamw(c, &own, model_part(model, MODEL_WEIGHTS, index),
                  model_part(model, MODEL_FIRST_MOMENT, index), model_part(model, MODEL_SECOND_MOMENT, index),
                  model_gradient(model, index), model_copy(model, index), model->tensors[index].count);
}

int optimizer_step(struct grid *grid, const struct model *model, const struct options *options, uint64_t step,
                   struct dtrain_error *err)
{
    struct adamw adamw = {
        .lr = options->lr,
        .beta1 = beta1,
        .beta2 = beta2,
        .epsilon = 1e-8,
        .correction1 = 1 - pow(beta1, (double)step),
        .correction2 = 1 - pow(beta2, (double)step),
    };

    if (clip_scale(grid, model, options->clip, &adamw.gradient_scale, err) != 0)
        return -1;
    for (size_t i = 0; i < model->count; i++) {
        if (model->tensors[i].held)
            update(grid, model, i, &adamw);
    }
    return 0;
}
