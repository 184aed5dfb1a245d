#include "optimizer.h"

#include <math.h>

static const double beta1 = 0.9, beta2 = 0.95;
static const float weight_decay = 0.1f;

static bool counts(const struct grid *grid, const struct model *model, size_t index)
{
    bool is_copy = model->parameters[index].split == SPLIT_NONE && grid->layout.tp.rank != 0;

    return model->tensors[index].held && !is_copy;
}

int optimizer_gradient_norm(struct grid *grid, const struct model *model, double *norm,
                            struct dtrain_error *err)
{
    double sum = 0;

    for (size_t i = 0; i < model->count; i++) {
        if (counts(grid, model, i))
            sum += grid->compute->sum_of_squares(model_gradient(model, i), model->tensors[i].count);
    }
    if (grid_reduce_values(grid, grid->tp, &sum, 1, DTRAIN_SUM, err) != 0 ||
        grid_reduce_values(grid, grid->pp, &sum, 1, DTRAIN_SUM, err) != 0)
        return -1;
    *norm = sqrt(sum);
    return 0;
}

/* The factor that brings the norm down to the limit. */
static int clip_scale(struct grid *grid, const struct model *model, double limit, float *scale,
                      struct dtrain_error *err)
{
    double norm;

    *scale = 1;
    if (limit == 0)
        return 0;
    if (optimizer_gradient_norm(grid, model, &norm, err) != 0)
        return -1;
    if (norm > limit)
        *scale = (float)(limit / norm);
    return 0;
}

static void update(const struct grid *grid, const struct model *model, size_t index, const struct adamw *step)
{
    size_t offset = model->tensors[index].offset;
    struct adamw own = *step;

    own.decay = model->parameters[index].decay ? weight_decay : 0;
    grid->compute->adamw(
        &own, model->parts[MODEL_WEIGHTS] + offset, model->parts[MODEL_FIRST_MOMENT] + offset,
        model->parts[MODEL_SECOND_MOMENT] + offset, model->gradients + offset, model->tensors[index].count);
}

int optimizer_step(struct grid *grid, const struct model *model, const struct options *options, uint64_t step,
                   struct dtrain_error *err)
{
    struct adamw adamw = {
        .lr = (float)options->lr,
        .beta1 = (float)beta1,
        .beta2 = (float)beta2,
        .epsilon = 1e-8f,
        .correction1 = (float)(1 - pow(beta1, (double)step)),
        .correction2 = (float)(1 - pow(beta2, (double)step)),
    };

    if (clip_scale(grid, model, options->clip, &adamw.gradient_scale, err) != 0)
        return -1;
    for (size_t i = 0; i < model->count; i++) {
        if (model->tensors[i].held)
            update(grid, model, i, &adamw);
    }
    return 0;
}
