#include "gradients.h"

void gradients_create(struct gradients *gradients, struct model *model, const struct options *options)
{
    bool is_pipedream = options->schedule == DTRAIN_PP_PIPEDREAM;

    *gradients = (struct gradients){
        .grid = model->grid,
        .model = model,
        .microbatches = options->microbatches,
        .has_passes = is_pipedream || options->zero == 2,
        .is_kept = !is_pipedream,
    };
}

static int begin_pass(struct gradients *gradients, struct dtrain_error *err)
{
    return gradients->grid->is_apart ? 0 : dtrain_dp_begin(gradients->model->dp, true, err);
}

static int end_pass(struct gradients *gradients, struct dtrain_error *err)
{
    if (gradients->grid->is_apart)
        return 0;
    if (dtrain_dp_finish(gradients->model->dp, grid_stream(gradients->grid), err) != 0)
        return -1;
    return grid_follow(gradients->grid, err);
}

int gradients_start_step(struct gradients *gradients, struct dtrain_error *err)
{
    for (int i = 0; i < DTRAIN_PP_CHUNKS_MAX; i++)
        gradients->left[i] = gradients->microbatches;
    if (model_clear_gradients(gradients->model, err) != 0)
        return -1;
    return gradients->has_passes ? 0 : begin_pass(gradients, err);
}

int gradients_start_microbatch(struct gradients *gradients, int chunk, struct dtrain_error *err)
{
    gradients->left[chunk]--;
    if (!gradients->has_passes)
        return 0;
    if (!gradients->is_kept && model_clear_gradients(gradients->model, err) != 0)
        return -1;
    return begin_pass(gradients, err);
}

/* What every tp rank holds a copy of, but has the gradient of its own rows only. */
static int sum_parts(struct gradients *gradients, size_t index, struct dtrain_error *err)
{
    struct grid *grid = gradients->grid;
    const struct model *model = gradients->model;
    void *gradient;

    if (!grid->moves.is_sequence || model->parameters[index].split != SPLIT_NONE)
        return 0;
    if (model_gradient(model, index, &gradient, err) != 0)
        return -1;
    return grid_reduce(grid, grid->tp, gradient, model->tensors[index].count, grid->compute->main, DTRAIN_SUM,
                       err);
}

int gradients_ready(struct gradients *gradients, int chunk, size_t first, size_t count,
                    struct dtrain_error *err)
{
    struct model *model = gradients->model;

    if (gradients->grid->is_apart || (!gradients->has_passes && gradients->left[chunk] > 0))
        return 0;
    /* The backward meets them in reverse order. */
    for (size_t i = first + count; i-- > first;) {
        if (sum_parts(gradients, i, err) != 0 ||
            dtrain_dp_ready(model->dp, model->tensors[i].place, gradients->grid->compute->stream, err) != 0)
            return -1;
    }
    return 0;
}

int gradients_end_microbatch(struct gradients *gradients, struct dtrain_error *err)
{
    return gradients->has_passes ? end_pass(gradients, err) : 0;
}

int gradients_end_step(struct gradients *gradients, struct dtrain_error *err)
{
    return gradients->has_passes ? 0 : end_pass(gradients, err);
}
