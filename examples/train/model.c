#include "model.h"

#include <stdlib.h>

#include "error.h"

static void place_tensors(struct model *model, const struct shape *shape)
{
    for (size_t i = 0; i < model->count; i++) {
        struct tensor *tensor = &model->tensors[i];

        tensor->slice =
            parameter_slice(&model->parameters[i], parameter_axis(&model->parameters[i], &shape->layout));
        tensor->count = tensor->slice.rows * tensor->slice.cols;
        tensor->held = model->parameters[i].stage == shape->layout.pp.rank;
        tensor->place = model->held_count;
        model->held_count += tensor->held;
    }
}

int model_create(struct model *model, struct grid *grid, const struct shape *shape, struct dtrain_error *err)
{
    *model = (struct model){.grid = grid, .memory.compute = grid->compute, .count = parameter_count(shape)};
    model->parameters = calloc(model->count, sizeof(*model->parameters));
    model->tensors = calloc(model->count, sizeof(*model->tensors));
    model->held = calloc(model->count, sizeof(*model->held));
    model->own = calloc(model->count, sizeof(*model->own));
    model->gradients = calloc(model->count, sizeof(*model->gradients));
    if (model->parameters == NULL || model->tensors == NULL || model->held == NULL || model->own == NULL ||
        model->gradients == NULL)
        return error_memory(err, model->count * sizeof(*model->parameters), "the list of parameters");
    parameter_list(model->parameters, shape);
    place_tensors(model, shape);
    return 0;
}

static unsigned flags_of(const struct parameter *parameter)
{
    if (parameter->split == SPLIT_EXPERTS)
        return DTRAIN_PARAMETER_EXPERT;
    return parameter->split == SPLIT_NONE ? 0 : DTRAIN_PARAMETER_TP_SHARD;
}

/* Groups of hyperparameters: the matrices, and what does not decay. */
static struct dtrain_parameter describe(const struct model *model, size_t index)
{
    const struct parameter *parameter = &model->parameters[index];

    return (struct dtrain_parameter){
        .name = parameter->name,
        .count = model->tensors[index].count,
        .type = model->grid->compute->type,
        .gradient_type = model->grid->compute->main,
        .flags = flags_of(parameter),
        .group = parameter->decay ? 0 : 1,
    };
}

static int open_dp(struct model *model, const struct options *options, struct dtrain_error *err)
{
    struct dtrain_dp_options how = {.holds_storage = true, .zero_stage = options->zero};
    struct dtrain_parameter *list = calloc(model->held_count, sizeof(*list));
    int rc;

    if (list == NULL)
        return error_memory(err, model->held_count * sizeof(*list), "the list of parameters");
    for (size_t i = 0; i < model->count; i++) {
        if (model->tensors[i].held)
            list[model->tensors[i].place] = describe(model, i);
    }
    rc = dtrain_dp_create(&model->dp, model->grid->world, list, model->held_count, &how, err);
    free(list);
    return rc;
}

static void place_values(struct model *model, const struct tensor *tensor)
{
    if (model->grid->is_apart) {
        model->own[tensor->place] = memory_values(&model->memory, tensor->count);
        model->gradients[tensor->place] = memory_mains(&model->memory, tensor->count);
    } else {
        model->own[tensor->place] = dtrain_dp_value(model->dp, tensor->place);
    }
}

static void find_values(struct model *model)
{
    size_t size = dtrain_type_size(model->grid->compute->type);

    for (size_t i = 0; i < model->count; i++) {
        const struct tensor *tensor = &model->tensors[i];

        if (!tensor->held)
            continue;
        place_values(model, tensor);
        model->held[tensor->place] =
            (struct dtrain_pp_parameter){model->own[tensor->place], tensor->count * size};
    }
    model_use(model, NULL);
}

static size_t largest(const struct model *model)
{
    size_t most = 0;

    for (size_t i = 0; i < model->count; i++) {
        if (model->tensors[i].held && model->tensors[i].count > most)
            most = model->tensors[i].count;
    }
    return most;
}

static size_t state_bytes(const struct model *model, size_t index)
{
    return model->tensors[index].count * dtrain_type_size(model->grid->compute->main);
}

/* With parameter servers both types are the same. */
static int put_weight(struct model *model, size_t index, const void *host, struct dtrain_error *err)
{
    if (model->grid->is_apart)
        return compute_copy_in(model->grid->compute, model->own[model->tensors[index].place], host,
                               state_bytes(model, index), err);
    return model_import(model, index, DTRAIN_ZERO_WEIGHT, host, err);
}

static int initialise(struct model *model, uint64_t seed, struct dtrain_error *err)
{
    enum dtrain_type type = model->grid->compute->main;
    size_t bytes = largest(model) * dtrain_type_size(type);
    void *host = malloc(bytes);
    int rc = 0;

    if (host == NULL)
        return error_memory(err, bytes, "the initial weights");
    for (size_t i = 0; rc == 0 && i < model->count; i++) {
        if (!model->tensors[i].held)
            continue;
        parameter_initialise(&model->parameters[i], &model->tensors[i].slice, seed, type, host);
        rc = put_weight(model, i, host, err);
    }
    free(host);
    return rc;
}

int model_open(struct model *model, const struct options *options, struct dtrain_error *err)
{
    if (!model->grid->is_apart &&
        (open_dp(model, options, err) != 0 || dtrain_zero_create(&model->zero, model->dp, err) != 0))
        return -1;
    model->lends_gradients = options->zero == 2;
    find_values(model);
    model->transit = memory_mains(&model->memory, largest(model));
    if (memory_check(&model->memory, err) != 0)
        return -1;
    return initialise(model, options->seed, err);
}

void model_destroy(struct model *model)
{
    dtrain_zero_destroy(model->zero);
    dtrain_dp_destroy(model->dp);
    memory_clear(&model->memory);
    free(model->parameters);
    free(model->tensors);
    free(model->held);
    free(model->own);
    free(model->gradients);
    *model = (struct model){0};
}

void model_use(struct model *model, void *const *values)
{
    model->values = values != NULL ? values : model->own;
}

void *model_weight(const struct model *model, size_t index)
{
    return model->values[model->tensors[index].place];
}

int model_gradient(const struct model *model, size_t index, void **gradient, struct dtrain_error *err)
{
    struct grid *grid = model->grid;

    if (grid->is_apart) {
        *gradient = model->gradients[model->tensors[index].place];
        return 0;
    }
    if (dtrain_dp_gradient(model->dp, model->tensors[index].place, grid_stream(grid), gradient, err) != 0)
        return -1;
    /* Not without need: what moves on the stream goes on beside the products. */
    return model->lends_gradients ? grid_follow(grid, err) : 0;
}

int model_clear_gradients(const struct model *model, struct dtrain_error *err)
{
    struct compute *c = model->grid->compute;

    if (!model->grid->is_apart) {
        if (dtrain_dp_zero(model->dp, grid_stream(model->grid), err) != 0)
            return -1;
        return grid_follow(model->grid, err);
    }
    for (size_t i = 0; i < model->count; i++) {
        if (model->tensors[i].held)
            c->ops->zero(c, model->gradients[model->tensors[i].place], state_bytes(model, i));
    }
    return 0;
}

int model_export(const struct model *model, size_t index, enum dtrain_zero_part part, void *host,
                 struct dtrain_error *err)
{
    struct grid *grid = model->grid;

    if (dtrain_zero_export(model->zero, model->tensors[index].place, part, model->transit, grid_stream(grid),
                           err) != 0 ||
        grid_follow(grid, err) != 0)
        return -1;
    return compute_copy_out(grid->compute, host, model->transit, state_bytes(model, index), err);
}

int model_import(const struct model *model, size_t index, enum dtrain_zero_part part, const void *host,
                 struct dtrain_error *err)
{
    struct grid *grid = model->grid;

    if (compute_copy_in(grid->compute, model->transit, host, state_bytes(model, index), err) != 0 ||
        dtrain_zero_import(model->zero, model->tensors[index].place, part, model->transit, grid_stream(grid),
                           err) != 0)
        return -1;
    return grid_follow(grid, err);
}
