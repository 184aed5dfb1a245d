#include "gradients.h"

#include <stdlib.h>

#include "error.h"

static void cut_buckets(struct gradients *gradients)
{
    const struct model *model = gradients->model;
    size_t start = 0, cap = GRADIENTS_FIRST_BUCKET, bytes = dtrain_type_size(model->compute->main);

    for (size_t i = model->count; i-- > 0;) {
        size_t end = model_end_of(model, i);

        if (!model->tensors[i].held)
            continue;
        if ((end - start) * bytes < cap && end != model->elements)
            continue;
        gradients->ends[gradients->count++] = end;
        start = end;
        cap = GRADIENTS_BUCKET;
    }
}

int gradients_create(struct gradients *gradients, struct grid *grid, const struct model *model,
                     struct dtrain_error *err)
{
    *gradients = (struct gradients){.grid = grid, .model = model};
    gradients->ends = calloc(model->count, sizeof(*gradients->ends));
    if (gradients->ends == NULL)
        return error_memory(err, model->count * sizeof(*gradients->ends), "the buckets of gradients");
    cut_buckets(gradients);
    return 0;
}

void gradients_destroy(struct gradients *gradients)
{
    free(gradients->ends);
    *gradients = (struct gradients){0};
}

void gradients_start(struct gradients *gradients)
{
    const struct model *model = gradients->model;
    struct compute *c = model->compute;

    gradients->next = 0;
    c->ops->zero(c, model->gradients, model->elements * dtrain_type_size(c->main));
}

static int send_bucket(struct gradients *gradients, struct dtrain_error *err)
{
    struct grid *grid = gradients->grid;
    struct compute *c = grid->compute;
    size_t start = gradients->next == 0 ? 0 : gradients->ends[gradients->next - 1];
    size_t count = gradients->ends[gradients->next] - start;
    void *bucket = compute_at(gradients->model->gradients, c->main, start);

    gradients->next++;
    if (dtrain_comm_size(grid->dp) == 1)
        return 0;
    if (compute_precede(c, grid->background, err) != 0)
        return -1;
    return dtrain_all_reduce(grid->dp, bucket, bucket, count, c->main, DTRAIN_AVG, grid->background, err);
}

int gradients_ready(struct gradients *gradients, size_t index, struct dtrain_error *err)
{
    size_t complete = model_end_of(gradients->model, index);

    while (gradients->next < gradients->count && gradients->ends[gradients->next] <= complete) {
        if (send_bucket(gradients, err) != 0)
            return -1;
    }
    return 0;
}

int gradients_finish(struct gradients *gradients, struct dtrain_error *err)
{
    return compute_follow(gradients->grid->compute, gradients->grid->background, err);
}
