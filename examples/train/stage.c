#include "stage.h"

#include <stdlib.h>

#include "embedding.h"
#include "error.h"

/* Of all microbatches of a step. */
static size_t step_rows(const struct shape *shape)
{
    return (size_t)shape->microbatches * shape->rows;
}

/* ---- Memory -------------------------------------------------------------------- */

static int allocate_slot_lists(struct slot *slot, size_t layers, struct dtrain_error *err)
{
    slot->kept = calloc(layers, sizeof(*slot->kept));
    slot->flow = calloc(layers, sizeof(*slot->flow));
    slot->experts = calloc(layers, sizeof(*slot->experts));
    if (slot->kept == NULL || slot->flow == NULL || slot->experts == NULL)
        return error_memory(err, layers * sizeof(*slot->kept), "a microbatch's activations");
    return 0;
}

static int allocate_lists(struct stage *stage, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;
    size_t tokens = 2 * step_rows(shape);

    stage->slots = calloc(stage->slot_count, sizeof(*stage->slots));
    stage->host = calloc(tokens, sizeof(*stage->host));
    stage->whole = calloc(2 * shape->seq, sizeof(*stage->whole));
    if (stage->slots == NULL || stage->host == NULL || stage->whole == NULL)
        return error_memory(err, tokens * sizeof(*stage->host), "the tokens of a step");
    for (size_t i = 0; i < stage->slot_count; i++) {
        if (allocate_slot_lists(&stage->slots[i], shape->chunk_layers, err) != 0)
            return -1;
    }
    return 0;
}

static void allocate_slot(struct stage *stage, struct slot *slot)
{
    const struct shape *shape = stage->shape;
    size_t count = shape->own.count * shape->hidden;

    for (size_t i = 0; i < shape->chunk_layers; i++) {
        layer_kept_allocate(&slot->kept[i], &stage->memory, shape);
        if (i + 1 < shape->chunk_layers)
            slot->kept[i].out = memory_values(&stage->memory, count);
        if (stage->region.splits_backward)
            layer_flow_allocate(&slot->flow[i], &stage->memory, &stage->region);
    }
    if (shape_is_first_stage(shape)) {
        slot->in = memory_values(&stage->memory, count);
        slot->d = memory_values(&stage->memory, count);
    }
    if (shape_is_last_stage(shape)) {
        slot->out = memory_values(&stage->memory, count);
        head_kept_allocate(&slot->head, &stage->memory, shape);
    }
}

static int allocate_buffers(struct stage *stage, struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;

    region_allocate(&stage->region, &stage->memory);
    layer_scratch_allocate(&stage->scratch, &stage->memory, shape);
    if (!stage->region.splits_backward)
        layer_flow_allocate(&stage->flow, &stage->memory, &stage->region);
    stage->tokens = memory_integers(&stage->memory, 2 * step_rows(shape));
    for (size_t i = 0; i < stage->slot_count; i++)
        allocate_slot(stage, &stage->slots[i]);
    if (shape_is_last_stage(shape))
        head_allocate(&stage->head, &stage->region, stage->model, &stage->memory);
    return memory_check(&stage->memory, err);
}

static int create_experts(struct stage *stage, struct dtrain_error *err)
{
    stage->scratch.experts = &stage->experts;
    if (experts_scratch_create(&stage->experts, &stage->region, err) != 0)
        return -1;
    for (size_t i = 0; i < stage->slot_count; i++) {
        struct slot *slot = &stage->slots[i];

        for (size_t k = 0; k < stage->shape->chunk_layers; k++) {
            slot->kept[k].experts = &slot->experts[k];
            if (experts_kept_create(&slot->experts[k], &stage->region, err) != 0)
                return -1;
        }
    }
    return 0;
}

int stage_create(struct stage *stage, const struct shape *shape, struct model *model,
                 struct gradients *gradients, const struct options *options, int slots,
                 struct dtrain_error *err)
{
    *stage = (struct stage){
        .grid = model->grid,
        .shape = shape,
        .model = model,
        .gradients = gradients,
        .memory.compute = model->grid->compute,
        .region = {.grid = model->grid,
                   .shape = shape,
                   .splits_backward = options->schedule == DTRAIN_PP_ZB_H1},
        .slot_count = (size_t)slots,
    };
    if (allocate_lists(stage, err) != 0 || allocate_buffers(stage, err) != 0)
        return -1;
    return shape->experts > 0 ? create_experts(stage, err) : 0;
}

static void destroy_experts(struct slot *slot, size_t layers)
{
    for (size_t i = 0; slot->experts != NULL && i < layers; i++)
        experts_kept_destroy(&slot->experts[i]);
    free(slot->experts);
}

void stage_destroy(struct stage *stage)
{
    experts_scratch_destroy(&stage->experts);
    memory_clear(&stage->memory);
    for (size_t i = 0; stage->slots != NULL && i < stage->slot_count; i++) {
        free(stage->slots[i].kept);
        free(stage->slots[i].flow);
        destroy_experts(&stage->slots[i], stage->shape->chunk_layers);
    }
    free(stage->slots);
    free(stage->host);
    free(stage->whole);
    *stage = (struct stage){0};
}

/* ---- Tokens -------------------------------------------------------------------- */

static int32_t *tokens_of(const struct stage *stage, int microbatch)
{
    return stage->tokens + (size_t)microbatch * stage->shape->rows;
}

static int32_t *labels_of(const struct stage *stage, int microbatch)
{
    return tokens_of(stage, microbatch) + step_rows(stage->shape);
}

/* This rank's tokens of a sequence. */
static void draw_sequence(struct stage *stage, const struct batch *batch, uint64_t index, int32_t *tokens,
                          int32_t *labels)
{
    const struct shape *shape = stage->shape;
    size_t n = 0;

    data_sequence(batch->data, batch->seed, batch->step, index, shape->seq, stage->whole,
                  stage->whole + shape->seq);
    for (int run = 0; run < shape->tokens.runs; run++) {
        size_t first = shape->tokens.run[run].first;

        for (size_t i = 0; i < shape->tokens.run[run].count; i++, n++) {
            tokens[n] = stage->whole[first + i];
            labels[n] = stage->whole[shape->seq + first + i];
        }
    }
}

static void draw(struct stage *stage, const struct batch *batch, int microbatch)
{
    const struct shape *shape = stage->shape;
    uint64_t first = shape_first_sequence(shape, microbatch);
    int32_t *tokens = stage->host + (size_t)microbatch * shape->rows, *labels = tokens + step_rows(shape);

    for (size_t i = 0; i < shape->sequences; i++)
        draw_sequence(stage, batch, first + i, tokens + i * shape->tokens.count,
                      labels + i * shape->tokens.count);
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
    if (gradients_start_step(stage->gradients, err) != 0)
        return -1;
    if (shape_is_last_stage(stage->shape))
        head_start(&stage->head);
    return load_tokens(stage, batch, err);
}

/* ---- Work ------------------------------------------------------------------------ */

static size_t layer_count(const struct stage *stage, const struct dtrain_pp_work *work)
{
    return stage->shape->chunk[work->chunk].count;
}

static struct layer layer_at(const struct stage *stage, const struct dtrain_pp_work *work, size_t i)
{
    return (struct layer){
        .region = &stage->region,
        .model = stage->model,
        .scratch = &stage->scratch,
        .index = stage->shape->chunk[work->chunk].first + i,
    };
}

static const struct layer_flow *flow_at(const struct stage *stage, const struct slot *slot, size_t i)
{
    return stage->region.splits_backward ? &slot->flow[i] : &stage->flow;
}

static bool is_first(const struct dtrain_pp_work *work)
{
    return work->model_stage == 0;
}

static bool is_last(const struct stage *stage, const struct dtrain_pp_work *work)
{
    return work->model_stage == stage->shape->layout.pp.size * stage->shape->chunks - 1;
}

/* The chunk's input: what came, or what the embedding makes. */
static int embed(struct stage *stage, const struct dtrain_pp_work *work, const void **x,
                 struct dtrain_error *err)
{
    struct slot *slot = &stage->slots[work->slot];

    *x = is_first(work) ? slot->in : work->input;
    if (!is_first(work))
        return 0;
    return embedding_forward(&stage->region, stage->model, slot->in, tokens_of(stage, work->microbatch), err);
}

int stage_forward(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    struct slot *slot = &stage->slots[work->slot];
    size_t count = layer_count(stage, work);
    const void *x;

    model_use(stage->model, work->parameters);
    if (embed(stage, work, &x, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct layer layer = layer_at(stage, work, i);
        struct layer_kept *kept = &slot->kept[i];
        void *own = kept->out;
        int rc;

        if (i + 1 == count)
            kept->out = is_last(stage, work) ? slot->out : work->output;
        rc = layer_forward(&layer, kept, x, err);
        x = kept->out;
        kept->out = own;
        if (rc != 0)
            return -1;
    }
    if (is_last(stage, work))
        return head_forward(&stage->head, &slot->head, x, labels_of(stage, work->microbatch), err);
    return 0;
}

/* The gradient of the chunk's output in d: what came, or what the head makes. */
static int head_part(struct stage *stage, const struct dtrain_pp_work *work, void *d,
                     struct dtrain_error *err)
{
    const struct shape *shape = stage->shape;
    struct compute *c = stage->grid->compute;

    if (is_last(stage, work))
        return head_backward(&stage->head, &stage->slots[work->slot].head, d, err);
    return compute_copy(c, d, work->output_gradient,
                        shape->own.count * shape->hidden * dtrain_type_size(c->type), err);
}

static int head_ready(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    if (!is_last(stage, work))
        return 0;
    return gradients_ready(stage->gradients, work->chunk, parameter_of_head(stage->shape, HEAD_NORM_GAIN),
                           HEAD_PARAMETERS, err);
}

static int layer_ready(struct stage *stage, const struct dtrain_pp_work *work, const struct layer *layer,
                       struct dtrain_error *err)
{
    return gradients_ready(stage->gradients, work->chunk,
                           parameter_of_layer(stage->shape, layer->index, LAYER_NORM1_GAIN),
                           parameter_layer_count(stage->shape), err);
}

/* The embedding's part, which needs no input's gradient, and the end of the microbatch. */
static int end_backward(struct stage *stage, const struct dtrain_pp_work *work, const void *d,
                        struct dtrain_error *err)
{
    if (is_first(work) &&
        (embedding_backward(&stage->region, stage->model, d, tokens_of(stage, work->microbatch), err) != 0 ||
         gradients_ready(stage->gradients, work->chunk, PARAMETER_TOKENS, PARAMETER_FIRST_LAYER, err) != 0))
        return -1;
    return gradients_end_microbatch(stage->gradients, err);
}

int stage_backward(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    const struct slot *slot = &stage->slots[work->slot];
    bool is_whole = !stage->region.splits_backward;
    void *d = is_first(work) ? slot->d : work->input_gradient;

    model_use(stage->model, work->parameters);
    if ((is_whole && gradients_start_microbatch(stage->gradients, work->chunk, err) != 0) ||
        head_part(stage, work, d, err) != 0 || (is_whole && head_ready(stage, work, err) != 0))
        return -1;
    for (size_t i = layer_count(stage, work); i-- > 0;) {
        struct layer layer = layer_at(stage, work, i);

        if (layer_backward(&layer, &slot->kept[i], flow_at(stage, slot, i), d, err) != 0 ||
            (is_whole && layer_ready(stage, work, &layer, err) != 0))
            return -1;
    }
    return is_whole ? end_backward(stage, work, d, err) : 0;
}

int stage_backward_weights(struct stage *stage, const struct dtrain_pp_work *work, struct dtrain_error *err)
{
    const struct slot *slot = &stage->slots[work->slot];

    if (gradients_start_microbatch(stage->gradients, work->chunk, err) != 0 ||
        (is_last(stage, work) && head_backward_weights(&stage->head, &slot->head, err) != 0) ||
        head_ready(stage, work, err) != 0)
        return -1;
    for (size_t i = layer_count(stage, work); i-- > 0;) {
        struct layer layer = layer_at(stage, work, i);

        if (layer_backward_weights(&layer, &slot->kept[i], &slot->flow[i], err) != 0 ||
            layer_ready(stage, work, &layer, err) != 0)
            return -1;
    }
    return end_backward(stage, work, slot->d, err);
}
