#include "context.h"

static size_t own_width(const struct shape *shape)
{
    return shape->own_heads * shape->head_size;
}

static size_t all_rows(const struct shape *shape)
{
    return shape->sequences * shape->seq;
}

size_t context_qkv_size(const struct shape *shape)
{
    return all_rows(shape) * 3 * own_width(shape);
}

size_t context_probabilities_size(const struct shape *shape)
{
    return all_rows(shape) * shape->own_heads * shape->seq;
}

void context_allocate(struct context *context, struct memory *memory, const struct shape *shape)
{
    size_t part = shape->rows * shape->local_hidden;

    if (shape->layout.cp.size == 1)
        return;
    context->by_tokens = memory_values(memory, 3 * part);
    context->by_heads = memory_values(memory, context_qkv_size(shape));
    context->mixed = memory_values(memory, all_rows(shape) * own_width(shape));
    context->workspace = memory_values(memory, shape->tokens.count * 3 * shape->local_hidden);
}

void *context_product(const struct context *context, void *qkv)
{
    return context->by_tokens != NULL ? context->by_tokens : qkv;
}

static struct attention attention_of(const struct shape *shape)
{
    return (struct attention){shape->sequences, shape->seq, shape->own_heads, shape->head_size};
}

static struct dtrain_cp moves_of(const struct region *region)
{
    const struct grid *grid = region->grid;

    return (struct dtrain_cp){
        .comm = grid->cp,
        .stream = grid->main,
        .compute = grid->compute->stream,
        .type = grid->compute->type,
        .sum_type = grid->compute->main,
        .layout = DTRAIN_CP_CONTIGUOUS,
        .is_causal = true,
        .tokens = region->shape->seq,
    };
}

/* Of one sequence after the other: [tokens, heads, n] -> [S, own heads, n]. */
static int to_heads(const struct region *region, const struct context *context, size_t n,
                    const void *by_tokens, void *by_heads, struct dtrain_error *err)
{
    const struct shape *shape = region->shape;
    struct dtrain_cp cp = moves_of(region);

    for (size_t i = 0; i < shape->sequences; i++) {
        const void *from = compute_at(by_tokens, cp.type, i * shape->tokens.count * shape->local_heads * n);
        void *to = compute_at(by_heads, cp.type, i * shape->seq * shape->own_heads * n);

        if (dtrain_cp_to_heads(&cp, shape->local_heads, n, from, to, context->workspace, err) != 0 ||
            dtrain_cp_finish(&cp, err) != 0)
            return -1;
    }
    return 0;
}

static int to_tokens(const struct region *region, const struct context *context, size_t n,
                     const void *by_heads, void *by_tokens, struct dtrain_error *err)
{
    const struct shape *shape = region->shape;
    struct dtrain_cp cp = moves_of(region);

    for (size_t i = 0; i < shape->sequences; i++) {
        const void *from = compute_at(by_heads, cp.type, i * shape->seq * shape->own_heads * n);
        void *to = compute_at(by_tokens, cp.type, i * shape->tokens.count * shape->local_heads * n);

        if (dtrain_cp_to_tokens(&cp, shape->local_heads, n, from, to, context->workspace, err) != 0 ||
            dtrain_cp_finish(&cp, err) != 0)
            return -1;
    }
    return 0;
}

int context_forward(const struct region *region, const struct context *context, void *mixed,
                    void *probabilities, void *qkv, struct dtrain_error *err)
{
    struct compute *c = region->grid->compute;
    struct attention attention = attention_of(region->shape);

    if (context->by_tokens == NULL) {
        c->ops->attention_forward(c, &attention, mixed, probabilities, qkv);
        return 0;
    }
    if (to_heads(region, context, 3 * region->shape->head_size, context->by_tokens, qkv, err) != 0)
        return -1;
    c->ops->attention_forward(c, &attention, context->mixed, probabilities, qkv);
    return to_tokens(region, context, region->shape->head_size, context->mixed, mixed, err);
}

int context_backward(const struct region *region, const struct context *context, void *dqkv, void *scratch,
                     const void *dmixed, const void *qkv, const void *probabilities, struct dtrain_error *err)
{
    struct compute *c = region->grid->compute;
    struct attention attention = attention_of(region->shape);

    if (context->by_tokens == NULL) {
        c->ops->attention_backward(c, &attention, dqkv, scratch, dmixed, qkv, probabilities);
        return 0;
    }
    if (to_heads(region, context, region->shape->head_size, dmixed, context->mixed, err) != 0)
        return -1;
    c->ops->attention_backward(c, &attention, context->by_heads, scratch, context->mixed, qkv, probabilities);
    return to_tokens(region, context, 3 * region->shape->head_size, context->by_heads, dqkv, err);
}
