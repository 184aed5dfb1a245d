#include "model.h"

#include <stdlib.h>

#include "error.h"

/* Tensors start at multiples of a cache line in the narrowest type. */
enum { ALIGN_ELEMENTS = 32 };

static size_t align(size_t elements)
{
    return (elements + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
}

static void place_tensors(struct model *model, const struct shape *shape)
{
    for (size_t i = model->count; i-- > 0;) {
        struct tensor *tensor = &model->tensors[i];

        tensor->slice = parameter_slice(&model->parameters[i], shape->layout.tp);
        tensor->count = tensor->slice.rows * tensor->slice.cols;
        tensor->held = model->parameters[i].stage == shape->layout.pp.rank;
        tensor->offset = model->elements;
        if (tensor->held)
            model->elements += align(tensor->count);
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

static bool is_rounded(const struct model *model)
{
    return model->compute->type != model->compute->main;
}

static int allocate(struct model *model, struct dtrain_error *err)
{
    for (int i = 0; i < MODEL_SAVED_PARTS; i++)
        model->parts[i] = memory_mains(&model->memory, model->elements);
    model->gradients = memory_mains(&model->memory, model->elements);
    model->weights = model->parts[MODEL_WEIGHTS];
    if (is_rounded(model))
        model->weights = memory_values(&model->memory, model->elements);
    return memory_check(&model->memory, err);
}

void model_round(const struct model *model)
{
    if (is_rounded(model))
        model->compute->ops->cast(model->compute, model->weights, model->parts[MODEL_WEIGHTS],
                                  model->elements);
}

static int initialise(struct model *model, uint64_t seed, struct dtrain_error *err)
{
    enum dtrain_type type = model->compute->main;
    size_t bytes = model->elements * dtrain_type_size(type);
    void *host = calloc(1, bytes);
    int rc;

    if (host == NULL)
        return error_memory(err, bytes, "the initial weights");
    for (size_t i = 0; i < model->count; i++) {
        const struct tensor *tensor = &model->tensors[i];

        if (tensor->held)
            parameter_initialise(&model->parameters[i], &tensor->slice, seed, type,
                                 compute_at(host, type, tensor->offset));
    }
    rc = compute_copy_in(model->compute, model->parts[MODEL_WEIGHTS], host, bytes, err);
    model_round(model);
    free(host);
    return rc;
}

int model_create(struct model *model, struct compute *compute, const struct shape *shape, uint64_t seed,
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

void *model_weight(const struct model *model, size_t index)
{
    return compute_at(model->weights, model->compute->type, model->tensors[index].offset);
}

void *model_gradient(const struct model *model, size_t index)
{
    return compute_at(model->gradients, model->compute->main, model->tensors[index].offset);
}

void *model_part(const struct model *model, enum model_part part, size_t index)
{
    return compute_at(model->parts[part], model->compute->main, model->tensors[index].offset);
}

void *model_copy(const struct model *model, size_t index)
{
    return is_rounded(model) ? model_weight(model, index) : NULL;
}

size_t model_end_of(const struct model *model, size_t index)
{
    return model->tensors[index].offset + align(model->tensors[index].count);
}
