#include "stage.h"

#include <stdlib.h>

#include "embedding.h"
#include "error.h"

/* Of all microbatches of a step. */
static size_t step_rows(const struct shape *shape)
{
    return (size_t)shape->microbatches * shape->rows;
}

static int allocate_lists(struct stage *stage, struct dtrain_error *err)
{
    size_t layers = stage->shape->stage_layers;

    stage->layers = calloc(layers, sizeof(*stage->layers));
    stage->slots = calloc(stage->slot_count, sizeof(*stage->slots));
    stage->host = calloc(2 * step_rows(stage->shape), sizeof(*stage->host));
    if (stage->layers == NULL || stage->slots == NULL || stage->host == NULL)
        return error_memory(err, layers * sizeof(*stage->layers), "the layers of a stage");
    for (size_t i = 0; i < stage->slot_count; i++) {
        stage->slots[i].kept = calloc(layers, sizeof(*stage->slots[i].kept));
        if (stage->slots[i].kept == NULL)
            return error_memory(err, layers * sizeof(*stage->slots[i].kept), "a microbatch's activations");
    }
    return 0;
}

static void allocate_slot(struct stage *stage, struct slot *slot)
{
    const struct shape *shape = stage->shape;

    slot->in = memory_values(&stage->memory, shape->rows * shape->hidden);
    for (size_t i = 0; i < shape->stage_layers; i++)
        layer_kept_allocate(&slot->kept[i], &stage->memory, shape);
    slot->out = slot->kept[shape->stage_layers - 1].out;
}

static int allocate_buffers(struct stage *stage, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;

    layer_scratch_allocate(&stage->scratch, &stage->memory, shape);
    stage->d = memory_values(&stage->memory, shape->rows * shape->hidden);
    stage->tokens = memory_integers(&stage->memory, 2 * step_rows(shape));
    for (size_t i = 0; i < stage->slot_count; i++)
        allocate_slot(stage, &stage->slots[i]);
    if (shape_is_last_stage(shape))
        head_allocate(&stage->head, stage->grid, shape, &stage->memory);
    return memory_check(&stage->memory, err);
}

static void bind_layers(struct stage *stage)
{
    for (size_t i = 0; i < stage->shape->stage_layers; i++) {
        struct layer *layer = &stage->layers[i];

        *layer = (struct layer){.grid = stage->grid, .shape = stage->shape, .scratch = &stage->scratch};
        layer_bind(layer, stage->model, stage->shape->first_layer + i);
    }
}

int stage_create(struct stage *stage, struct grid *grid, const struct shape *shape, struct model *model,
                 struct gradients *gradients, int slots, struct dtrain_error *err)
{
    *stage = (struct stage){
        .grid = grid,
        .shape = shape,
        .model = model,
        .gradients = gradients,
        .memory.compute = grid->compute,
        .slot_count = (size_t)slots,
    };
    if (allocate_lists(stage, err) != 0 || allocate_buffers(stage, err) != 0)
        return -1;
    bind_layers(stage);
    return 0;
}

void stage_destroy(struct stage *stage)
{
    memory_clear(&stage->memory);
    for (size_t i = 0; stage->slots != NULL && i < stage->slot_count; i++)
        free(stage->slots[i].kept);
    free(stage->slots);
    free(stage->layers);
    free(stage->host);
    *stage = (struct stage){0};
}

struct slot *stage_slot(struct stage *stage, int microbatch)
{
    return &stage->slots[(size_t)microbatch % stage->slot_count];
}

static int32_t *tokens_of(const struct stage *stage, int microbatch)
{
    return stage->tokens + (size_t)microbatch * stage->shape->rows;
}

static int32_t *labels_of(const struct stage *stage, int microbatch)
{
    return tokens_of(stage, microbatch) + step_rows(stage->shape);
}

static void draw(struct stage *stage, const struct batch *batch, int microbatch)
{
    const struct shape *shape = stage->shape;
    uint64_t first = shape_first_sequence(shape, microbatch);
    int32_t *tokens = stage->host + (size_t)microbatch * shape->rows, *labels = tokens + step_rows(shape);

    for (size_t i = 0; i < shape->sequences; i++)
        data_sequence(batch->data, batch->seed, batch->step, first + i, shape->seq, tokens + i * shape->seq,
                      labels + i * shape->seq);
}

/* The first and the last stage draw the same sequences by themselves; nothing is sent. */
static int load_tokens(struct stage *stage, const struct batch *batch, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;

    if (!shape_is_first_stage(shape) && !shape_is_last_stage(shape))
        return 0;
    for (int i = 0; i < shape->microbatches; i++)
        draw(stage, batch, i);
    return compute_copy_in(stage->grid->compute, stage->tokens, stage->host,
                           2 * step_rows(shape) * sizeof(*stage->tokens), err);
}

int stage_start(struct stage *stage, const struct batch *batch, struct dtrain_error *err)
{
    gradients_start(stage->gradients);
    if (shape_is_last_stage(stage->shape))
        head_start(&stage->head);
    return load_tokens(stage, batch, err);
}

int stage_forward(struct stage *stage, int microbatch, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;
    struct slot *slot = stage_slot(stage, microbatch);
    const void *x = slot->in;

    if (shape_is_first_stage(shape) &&
        embedding_forward(stage->grid, shape, stage->model, slot->in, tokens_of(stage, microbatch), err) != 0)
        return -1;
    for (size_t i = 0; i < shape->stage_layers; i++) {
        if (layer_forward(&stage->layers[i], &slot->kept[i], x, err) != 0)
            return -1;
        x = slot->kept[i].out;
    }
    if (shape_is_last_stage(shape))
        return head_forward(&stage->head, stage->model, x, labels_of(stage, microbatch), err);
    return 0;
}

/* Gradients are complete only once the last microbatch has added to them. */
static int mark_ready(struct stage *stage, int microbatch, size_t index, struct dtrain_error *err)
{
    if (microbatch != stage->shape->microbatches - 1)
        return 0;
    return gradients_ready(stage->gradients, index, err);
}

static int head_part(struct stage *stage, int microbatch, struct dtrain_error *err)
{
    if (!shape_is_last_stage(stage->shape))
        return 0;
    if (head_backward(&stage->head, stage->model, stage->d, err) != 0)
        return -1;
    return mark_ready(stage, microbatch, parameter_of_head(stage->shape, HEAD_NORM_GAIN), err);
}

static int embedding_part(struct stage *stage, int microbatch, struct dtrain_error *err)
{
    if (!shape_is_first_stage(stage->shape))
        return 0;
    embedding_backward(stage->grid, stage->shape, stage->model, stage->d, tokens_of(stage, microbatch));
    return mark_ready(stage, microbatch, PARAMETER_TOKENS, err);
}

int stage_backward(struct stage *stage, int microbatch, struct dtrain_error *err)
{
    const struct slot *slot = stage_slot(stage, microbatch);

    if (head_part(stage, microbatch, err) != 0)
        return -1;
    for (size_t i = stage->shape->stage_layers; i-- > 0;) {
        size_t first = parameter_of_layer(stage->shape->first_layer + i, LAYER_NORM1_GAIN);

        if (layer_backward(&stage->layers[i], &slot->kept[i], stage->d, err) != 0 ||
            mark_ready(stage, microbatch, first, err) != 0)
            return -1;
    }
    return embedding_part(stage, microbatch, err);
}
