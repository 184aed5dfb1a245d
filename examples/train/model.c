#include "model.h"

#include <stdlib.h>

#include "error.h"

/* Tensors start at multiples of a cache line. */
enum { ALIGN_FLOATS = 16 };

static size_t align(size_t floats)
{
    return (floats + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

static void place_tensors(struct model *model, const struct shape *shape)
{
    for (size_t i = model->count; i-- > 0;) {
        struct tensor *tensor = &model->tensors[i];

        tensor->slice = parameter_slice(&model->parameters[i], shape->layout.tp);
        tensor->count = tensor->slice.rows * tensor->slice.cols;
        tensor->held = model->parameters[i].stage == shape->layout.pp.rank;
        tensor->offset = model->floats;
        if (tensor->held)
            model->floats += align(tensor->count);
    }
}

static int list_tensors(struct model *model, const struct shape *shape, struct dtrain_error *err)
{
    model->count = parameter_count(shape);
    model->parameters = calloc(model->count, sizeof(*model->parameters));
    model->tensors = calloc(model->count, sizeof(*model->tensors));
    if (model->parameters == NULL || model->tensors == NULL)
        return error_memory(err, model->count * sizeof(*model->parameters), "the list of parameters");
    parameter_list(model->parameters, shape);
    place_tensors(model, shape);
    return 0;
}

static int allocate(struct model *model, struct dtrain_error *err)
{
    for (int i = 0; i < MODEL_SAVED_PARTS; i++)
        model->parts[i] = memory_floats(&model->memory, model->floats);
    model->gradients = memory_floats(&model->memory, model->floats);
    return memory_check(&model->memory, err);
}

static int initialise(struct model *model, uint64_t seed, struct dtrain_error *err)
{
    float *host = calloc(model->floats, sizeof(*host));

    if (host == NULL)
        return error_memory(err, model->floats * sizeof(*host), "the initial weights");
    for (size_t i = 0; i < model->count; i++) {
        const struct tensor *tensor = &model->tensors[i];

        if (tensor->held)
            parameter_initialise(&model->parameters[i], &tensor->slice, seed, host + tensor->offset);
    }
    model->compute->copy_in(model->parts[MODEL_WEIGHTS], host, model->floats * sizeof(*host));
    free(host);
    return 0;
}

int model_create(struct model *model, const struct compute *compute, const struct shape *shape, uint64_t seed,
                 struct dtrain_error *err)
{
    *model = (struct model){.compute = compute, .memory.compute = compute};
    if (list_tensors(model, shape, err) != 0 || allocate(model, err) != 0)
        return -1;
    return initialise(model, seed, err);
}

void model_destroy(struct model *model)
{
    memory_clear(&model->memory);
    free(model->parameters);
    free(model->tensors);
    *model = (struct model){0};
}

float *model_weight(const struct model *model, size_t index)
{
    return model->parts[MODEL_WEIGHTS] + model->tensors[index].offset;
}

float *model_gradient(const struct model *model, size_t index)
{
    return model->gradients + model->tensors[index].offset;
}

size_t model_end_of(const struct model *model, size_t index)
{
    return model->tensors[index].offset + align(model->tensors[index].count);
}
